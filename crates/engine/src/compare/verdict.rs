//! The verdict of a comparison, in words.

use super::summary::{Curve, SeedInterval, labels_to, paired, saving};
use crate::stats::mean;

/// The result of comparing entrants with random sampling.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparisonVerdict {
    /// The winner.
    pub winner: Winner,
    /// The verdict as a sentence.
    pub text: String,
}

/// The winner of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The entrant with this index.
    Entrant(usize),
    /// Random sampling.
    Random,
    /// None that these seeds can show.
    Undecided,
}

/// Compares entrants with the one at index `random`, which samples at random, and returns the verdict. `measure` is the
/// name of the score. Intervals are corrected for the number of entrants: together they miss with probability 5 %.
pub fn verdict(names: &[String], curves: &[Curve], random: usize, full: &[f64], measure: &str) -> ComparisonVerdict {
    let others: Vec<usize> = (0..curves.len()).filter(|entrant| *entrant != random).collect();
    let area = |entrant: usize| mean(&curves[entrant].areas);
    let Some(best) = others.iter().copied().reduce(|best, next| if area(best) < area(next) { next } else { best })
    else {
        return ComparisonVerdict {
            winner: Winner::Undecided,
            text: "there is only random: nothing to compare".to_owned(),
        };
    };
    if others.iter().all(|entrant| curves[*entrant].areas == curves[random].areas) {
        let text =
            "all asked for the same labels: the budget ends within the cold start, which asks at random".to_owned();
        return ComparisonVerdict { winner: Winner::Undecided, text };
    }
    let level = 0.05 / others.len() as f64;
    let ahead = paired(&curves[best].areas, &curves[random].areas, level);
    let name = &names[best];
    if curves[best].areas.len() < 2 {
        let text = format!(
            "one seed cannot tell: {name} is {} ahead of random over the run; try --seeds 20",
            points(ahead.middle, measure)
        );
        return ComparisonVerdict { winner: Winner::Undecided, text };
    }
    if 0.0 < ahead.low {
        let text = savings(name, &curves[best], &curves[random], full, level).unwrap_or_else(|| {
            format!(
                "{name} is better: {} more than random over the run {}",
                points(ahead.middle, measure),
                span(ahead, measure)
            )
        });
        return ComparisonVerdict { winner: Winner::Entrant(best), text };
    }
    if ahead.high < 0.0 {
        let text = format!(
            "random is better: {name}, the best of the others, loses {} over the run {}",
            points(-ahead.middle, measure),
            span(negated(ahead), measure)
        );
        return ComparisonVerdict { winner: Winner::Random, text };
    }
    let (side, shown) = if ahead.middle < 0.0 { ("behind", negated(ahead)) } else { ("ahead", ahead) };
    let text = format!(
        "random is as good here: {name}, the best of the others, is {} {side} over the run {}",
        points(shown.middle, measure),
        span(shown, measure)
    );
    ComparisonVerdict { winner: Winner::Undecided, text }
}

/// Returns the interval of the negated quantity.
fn negated(of: SeedInterval) -> SeedInterval {
    SeedInterval { middle: -of.middle, low: -of.high, high: -of.low }
}

/// Returns "margin saves 41 % of labels at 95 % (34 to 47)", at the lower of the goals for which the saving is
/// significant.
fn savings(name: &str, curve: &Curve, random: &Curve, full: &[f64], level: f64) -> Option<String> {
    let score = mean(full);
    [0.95, 0.98].into_iter().find_map(|share| {
        if !(0.0 < score) {
            return None;
        }
        let saved = saving(curve, random, full, share, level)?;
        labels_to(curve, share * score)?;
        let percent = |value: f64| (100.0 * value).round();
        let (middle, low, high) = (percent(saved.middle), percent(saved.low), percent(saved.high));
        let least = if labels_to(random, share * score).is_none() { "at least " } else { "" };
        (0.0 < saved.low)
            .then(|| format!("{name} saves {least}{middle} % of labels at {} % ({low} to {high})", percent(share)))
    })
}

/// Returns the factor and unit of differences: points for accuracy, none for other measures.
fn scale(measure: &str) -> (f64, &'static str) {
    if measure == "accuracy" { (100.0, " points") } else { (1.0, "") }
}

fn points(value: f64, measure: &str) -> String {
    let (scale, unit) = scale(measure);
    format!("{:.2}{unit} of {measure}", scale * value)
}

fn span(interval: SeedInterval, measure: &str) -> String {
    let (scale, _) = scale(measure);
    format!("({:.2} to {:.2})", scale * interval.low, scale * interval.high)
}
