//! Reliability of predicted probabilities: how often predictions of some probability are right, on the whole pool.

use super::leveled::leveled_weights;
use super::ratio::{Ratio, RatioTerm};
use super::{DrawProbability, Estimate, Estimator, Invalid};

/// A prediction for a drawn item, by a model that had not seen its label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidentPrediction {
    /// The predicted probability of the likeliest class.
    pub confidence: f64,
    /// Whether that class is the true one.
    pub is_right: bool,
}

/// The items whose predictions have about the same probability.
#[derive(Clone, Debug, PartialEq)]
pub struct ReliabilityBin {
    /// The mean predicted probability of their likeliest class.
    pub confidence: f64,
    /// The fraction of them for which that class is the true one.
    pub accuracy: Estimate,
}

/// The upper ends of the bins.
const ENDS: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.97, f64::INFINITY];
/// The least number of draws in a bin; those with fewer are joined with the next.
const FEWEST: usize = 15;

impl Estimator {
    /// Estimates how often predictions are right, for bins of ascending predicted probability.
    pub fn reliability(
        &self,
        predictions: &[ConfidentPrediction],
        draws: &[DrawProbability],
    ) -> Result<Vec<ReliabilityBin>, Invalid> {
        self.check(predictions.len(), draws)?;
        let weights = leveled_weights(self.pool, draws);
        let bin = |(from, to): &(f64, f64)| {
            let is_inside = |one: &ConfidentPrediction| *from <= one.confidence && one.confidence < *to;
            let term = |one: &ConfidentPrediction| RatioTerm::new(is_inside(one) && one.is_right, is_inside(one));
            let ratio = Ratio::of_shares(predictions.iter().map(term).collect(), draws);
            let (mut sum, mut total) = (0.0, 0.0);
            for (one, weight) in predictions.iter().zip(&weights).filter(|(one, _)| is_inside(one)) {
                sum += weight * one.confidence;
                total += weight;
            }
            let accuracy = ratio.with_anytime(ratio.estimate(self, None)?, self);
            Some(ReliabilityBin { confidence: sum / total, accuracy })
        };
        Ok(bins(predictions).iter().filter_map(bin).collect())
    }
}

/// Returns the ends of bins with enough predictions.
fn bins(predictions: &[ConfidentPrediction]) -> Vec<(f64, f64)> {
    let (mut bins, mut from) = (vec![], f64::NEG_INFINITY);
    for to in ENDS {
        let inside = |one: &&ConfidentPrediction| from <= one.confidence && one.confidence < to;
        if FEWEST <= predictions.iter().filter(inside).count() {
            bins.push((from, to));
            from = to;
        }
    }
    // Too few predictions above the last bin belong to it.
    match bins.last_mut() {
        Some(last) => last.1 = f64::INFINITY,
        None => bins.push((f64::NEG_INFINITY, f64::INFINITY)),
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    const POOL: usize = 4000;

    /// Returns predictions for all items: half of them are right with the predicted probability, the others with 0.5.
    fn predictions(seed: u64) -> Vec<ConfidentPrediction> {
        let coin = Coin::new(seed, "predictions");
        let one = |item: u64| {
            let confidence = 0.5 + 0.5 * coin.unit(2 * item);
            let probability = if confidence < 0.75 { confidence } else { 0.5 };
            ConfidentPrediction { confidence, is_right: coin.unit(2 * item + 1) < probability }
        };
        (0..POOL as u64).map(one).collect()
    }

    /// One light miss among heavy hits shows hardly any variance, but the hits are few.
    #[test]
    fn a_few_heavy_hits_do_not_make_a_bin_certain() {
        let confidence = 0.75;
        let predictions: Vec<ConfidentPrediction> =
            (0..20).map(|draw| ConfidentPrediction { confidence, is_right: draw != 3 }).collect();
        let probability = |draw: usize| if draw < 15 { 0.02 } else { 0.0002 };
        let draws: Vec<DrawProbability> =
            (0..20).map(|draw| DrawProbability::exact(probability(draw), 0.0001)).collect();
        let bins = Estimator::new(POOL).reliability(&predictions, &draws).unwrap();
        let [bin] = &bins[..] else { panic!("{bins:?}") };
        assert!(bin.accuracy.low < 0.75, "{bin:?}");
    }

    #[test]
    fn intervals_of_bins_cover_the_truth() {
        let (mut covered, mut all) = (0_u32, 0_u32);
        for seed in 0..60 {
            let everything = predictions(seed);
            let pick = Coin::new(seed, "draw");
            let mut left: Vec<usize> = (0..POOL).collect();
            let (mut drawn, mut draws) = (vec![], vec![]);
            for time in 0..400 {
                draws.push(DrawProbability::uniform(left.len()));
                drawn.push(everything[left.swap_remove(pick.below(time, left.len()))]);
            }
            let found = Estimator::new(POOL).reliability(&drawn, &draws).unwrap();
            assert!(4 < found.len() && found.is_sorted_by(|one, next| one.confidence < next.confidence));
            for (bin, (from, to)) in found.iter().zip(bins(&drawn)) {
                let inside = |one: &&ConfidentPrediction| from <= one.confidence && one.confidence < to;
                let (count, right) = everything
                    .iter()
                    .filter(inside)
                    .fold((0.0, 0.0), |(count, right), one| (count + 1.0, right + f64::from(one.is_right)));
                covered += u32::from(bin.accuracy.low <= right / count && right / count <= bin.accuracy.high);
                all += 1;
            }
        }
        // Four standard deviations below 95 %.
        let least = 0.95 - 4.0 * (0.95 * 0.05 / f64::from(all)).sqrt();
        assert!(least < f64::from(covered) / f64::from(all), "{covered} of {all}");
    }

    #[test]
    fn few_predictions_share_one_bin() {
        let few: Vec<ConfidentPrediction> = predictions(1).into_iter().take(9).collect();
        let draws: Vec<DrawProbability> = (0..9).map(|drawn| DrawProbability::uniform(POOL - drawn)).collect();
        assert_eq!(Estimator::new(POOL).reliability(&few, &draws).unwrap().len(), 1);
    }
}
