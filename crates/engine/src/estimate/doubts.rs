//! Shares and ratios of a model whose every doubt is known.
//!
//! A rule hunts for what the model is unsure of, and a few heavy draws stand for all the rest: if none of them is wrong they show no
//! variance, and say little of how often the rest is. But the model says where it could be wrong, of every item, drawn or not. With all
//! its odds to the power b it speaks of a *world* in which it is wrong more often (b < 1) or less (b > 1). In each world a score of the pool
//! has some value, and the error of its estimate a variance that the draws need not have shown. Worlds whose score is too many of those
//! deviations away are excluded, and the scores of the others make the interval: Wilson's way, with a world in the place of a share p.
//! What the model says decides on variances alone, and not on where the interval lies.

use super::levelled::Levels;
use super::possible::{SEEN_BELOW, sharpness};
use super::{Draw, Estimator, Foreseen, Invalid, Judgement};

/// Worlds that are looked at; ends between two of them are interpolated.
const WORLDS: usize = 61;
/// b of the first and of the last, as numbers between −1 and 1.
const FIRST: f64 = -0.8;
const LAST: f64 = 0.98;

/// What an item adds to the two sums of a ratio, by the class that was said and the class that it is.
pub(super) type Counts<'a> = &'a dyn Fn(usize, usize) -> (f64, f64);

/// What the draws say of worlds in which a model is wrong more often or less.
pub struct Doubts<'a> {
    worlds: Vec<World>,
    classes: usize,
    judged: &'a [Judgement],
    levels: Levels<'a>,
    noise: Vec<f64>,
}

struct World {
    /// The chance of each class, draw by draw.
    drawn: Vec<f64>,
    /// The share of the pool that is said to be of one class and is of another, [said, is].
    pool: Vec<f64>,
}

/// A ratio in some world, how far the draws are above it, and how far they may be below and above by chance.
#[derive(Clone, Copy)]
struct Trial {
    ratio: f64,
    above: f64,
    room_below: f64,
    room_above: f64,
}

impl Estimator {
    /// What these draws say of worlds in which the model is wrong more often or less than it foresees.
    pub fn doubts<'a>(
        &self,
        foreseen: &Foreseen<'_>,
        judged: &'a [Judgement],
        draws: &'a [Draw],
    ) -> Result<Doubts<'a>, Invalid> {
        self.check(judged.len(), draws)?;
        let classes = foreseen.classes;
        if foreseen.drawn.len() != classes * draws.len() {
            return Err(Invalid::Possible { losses: foreseen.drawn.len(), pool: draws.len() });
        }
        if let Some(draw) = judged.iter().position(|j| j.predicted >= classes || j.truth >= classes) {
            return Err(Invalid::Answer { draw });
        }
        let levels = Levels::new(self.pool, draws);
        let noise = levels.noise();
        Ok(Doubts { worlds: worlds(foreseen), classes, judged, levels, noise })
    }
}

impl Doubts<'_> {
    /// Ratios that the draws do not exclude; `t` deviations are too many. None where no world has it.
    pub(super) fn interval(&self, counts: Counts<'_>, t: f64) -> Option<(f64, f64)> {
        let trials: Vec<Trial> = self.worlds.iter().filter_map(|world| self.trial(world, counts)).collect();
        let (first, last) = (trials.first()?, trials.last()?);
        // Both fall as ratios rise: worlds above 0 in the first are too low, worlds below 0 in the second too high.
        let too_low = |trial: &Trial| trial.above - t * trial.room_above;
        let too_high = |trial: &Trial| trial.above + t * trial.room_below;
        let (mut low, mut high) = (None, None);
        for (one, next) in trials.iter().zip(&trials[1..]) {
            let crossing = |of: &dyn Fn(&Trial) -> f64| {
                let share = of(one) / (of(one) - of(next));
                one.ratio + (next.ratio - one.ratio) * share
            };
            if low.is_none() && too_low(one) > 0.0 && too_low(next) <= 0.0 {
                low = Some(crossing(&too_low));
            }
            if too_high(one) >= 0.0 && too_high(next) < 0.0 {
                high = Some(crossing(&too_high));
            }
        }
        let low = low.unwrap_or(if too_low(first) <= 0.0 { 0.0 } else { last.ratio });
        let high = high.unwrap_or(if too_high(last) >= 0.0 { 1.0 } else { first.ratio });
        Some((low.min(high), low.max(high)))
    }

    fn trial(&self, world: &World, counts: Counts<'_>) -> Option<Trial> {
        let k = self.classes;
        let (mut part, mut whole) = (0.0, 0.0);
        for (place, share) in world.pool.iter().enumerate() {
            let (of_part, of_whole) = counts(place / k, place % k);
            part += share * of_part;
            whole += share * of_whole;
        }
        let ratio = Some(part / whole).filter(|_| 0.0 < whole)?;
        let (mut above, mut expected, mut seen) = (0.0, 0.0, 0.0);
        for (m, (judged, chances)) in self.judged.iter().zip(world.drawn.chunks_exact(k)).enumerate() {
            let value = |is: usize| {
                let (part, whole) = counts(judged.predicted, is);
                part - ratio * whole
            };
            let square: f64 = chances.iter().enumerate().map(|(is, chance)| chance * value(is).powi(2)).sum();
            let error = value(judged.truth);
            above += self.levels.weights[m] * error;
            expected += self.noise[m] * square;
            seen += self.noise[m] * error * error;
        }
        let above = above / self.judged.len() as f64;
        // Draws with too many errors show too large a variance, those with too few hardly any.
        let (room_above, room_below) = (expected.max(seen).sqrt(), expected.max(SEEN_BELOW * seen).sqrt());
        Some(Trial { ratio, above, room_below, room_above })
    }
}

/// From the one with the most errors to the one with the fewest.
fn worlds(foreseen: &Foreseen<'_>) -> Vec<World> {
    let k = foreseen.classes;
    let b = |place: usize| sharpness(FIRST + (LAST - FIRST) * place as f64 / (WORLDS - 1) as f64);
    let sharpnesses: Vec<f64> = (0..WORLDS).map(b).collect();
    let mut worlds: Vec<World> = sharpnesses
        .iter()
        .map(|b| {
            let mut drawn = vec![0.0; foreseen.drawn.len()];
            for (losses, out) in foreseen.drawn.chunks_exact(k).zip(drawn.chunks_exact_mut(k)) {
                chances(losses, *b, out);
            }
            World { drawn, pool: vec![0.0; k * k] }
        })
        .collect();
    let (mut items, mut of_item) = (0.0, vec![0.0; k]);
    (foreseen.pool)(&mut |losses| {
        items += 1.0;
        let said = (1..k).fold(0, |least, class| if losses[class] < losses[least] { class } else { least });
        for (world, b) in worlds.iter_mut().zip(&sharpnesses) {
            chances(losses, *b, &mut of_item);
            world.pool[said * k..].iter_mut().zip(&of_item).for_each(|(sum, chance)| *sum += chance);
        }
    });
    worlds.iter_mut().flat_map(|world| &mut world.pool).for_each(|sum| *sum /= items);
    worlds
}

/// In proportion to e^{−b·loss}.
fn chances(losses: &[f64], b: f64, out: &mut [f64]) {
    let likeliest = losses.iter().copied().reduce(|a, c| if b * c < b * a { c } else { a }).unwrap_or(0.0);
    let mut total = 0.0;
    for (chance, loss) in out.iter_mut().zip(losses) {
        *chance = (-b * (loss - likeliest)).exp();
        total += *chance;
    }
    for chance in out {
        *chance /= total;
    }
}
