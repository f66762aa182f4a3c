//! Shares and ratios of a model whose every doubt is known.
//!
//! A rule hunts for what the model is unsure of, and a few heavy draws stand for all the rest: if none of them is wrong they show no
//! variance, and say little of how often the rest is. But the model says where it could be wrong, of every item, drawn or not. With all
//! its odds to the power b it speaks of a *world* in which it is wrong more often (b < 1) or less (b > 1). In each world a score of the pool
//! has some value, and the error of its estimate a variance that the draws need not have shown. Worlds whose score is too many of those
//! deviations away are excluded, and the scores of the others make the interval: Wilson's way, with a world in the place of a share p.
//! What the model says decides on variances alone, and not on where the interval lies.

use super::levelled::Levels;
use super::possible::SEEN_BELOW;
use super::{Draw, Estimator, Foreseen, Invalid, Judgement};

/// Losses of drawn items beyond which there are no doubts: each is looked at in every world, for every class.
const MOST_LOSSES: usize = 200_000;

/// What an item adds to the two sums of a ratio: whether it was said to be of some class, and whether it is.
#[derive(Clone, Copy)]
pub(super) struct Count {
    /// The class; `None` for whichever was said.
    pub(super) class: Option<usize>,
    /// What is added.
    pub(super) part: fn(bool, bool) -> Part,
}

/// What an item adds to a ratio's two sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) part: f64,
    pub(super) whole: f64,
}

/// What the draws say of worlds in which a model is wrong more often or less.
pub struct Doubts<'a> {
    worlds: Vec<World>,
    losses: Vec<f64>,
    classes: usize,
    judged: &'a [Judgement],
    levels: Levels<'a>,
    noise: Vec<f64>,
}

struct World {
    /// The power that odds are taken to.
    sharpness: f64,
    /// What a draw's e^{−b·loss} add up to, seen from the likeliest, draw by draw.
    totals: Vec<Total>,
    /// Shares of the pool by class: said and so, said, so.
    pool: Vec<[f64; 3]>,
}

/// Chances are e^{−b·(loss − likeliest)}/total, so that no power overflows.
#[derive(Clone, Copy)]
struct Total {
    likeliest: f64,
    total: f64,
}

impl Total {
    fn of(losses: &[f64], b: f64) -> Self {
        let likeliest = losses.iter().copied().reduce(|a, c| if b * c < b * a { c } else { a }).unwrap_or(0.0);
        let unit = Self { likeliest, total: 1.0 };
        Self { total: losses.iter().map(|loss| unit.chance(*loss, b)).sum(), ..unit }
    }

    fn chance(self, loss: f64, b: f64) -> f64 {
        (-b * (loss - self.likeliest)).exp() / self.total
    }
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
    /// What these draws say of worlds in which the model is wrong more often or less than it foresees; none where draws and classes are
    /// so many that it would take long.
    pub fn doubts<'a>(
        &self,
        foreseen: &Foreseen<'_>,
        judged: &'a [Judgement],
        draws: &'a [Draw],
    ) -> Result<Option<Doubts<'a>>, Invalid> {
        self.check(judged.len(), draws)?;
        let classes = foreseen.classes;
        if foreseen.drawn.len() != classes * draws.len() {
            return Err(Invalid::Possible { losses: foreseen.drawn.len(), pool: draws.len() });
        }
        if let Some(draw) = judged.iter().position(|j| j.predicted >= classes || j.truth >= classes) {
            return Err(Invalid::Answer { draw });
        }
        if foreseen.drawn.len() > MOST_LOSSES {
            return Ok(None);
        }
        let levels = Levels::new(self.pool, draws);
        let (noise, losses) = (levels.noise(), foreseen.drawn.to_vec());
        Ok(Some(Doubts { worlds: worlds(foreseen), losses, classes, judged, levels, noise }))
    }
}

impl Doubts<'_> {
    /// Ratios that the draws do not exclude; `t` deviations are too many. None where no world has it.
    pub(super) fn interval(&self, count: Count, t: f64) -> Option<(f64, f64)> {
        let trials: Vec<Trial> = self.worlds.iter().filter_map(|world| self.trial(world, count)).collect();
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

    fn trial(&self, world: &World, count: Count) -> Option<Trial> {
        let ratio = world.ratio(count)?;
        let value = |said: bool, is: bool| {
            let Part { part, whole } = (count.part)(said, is);
            part - ratio * whole
        };
        let (mut above, mut expected, mut seen) = (0.0, 0.0, 0.0);
        for (m, (judged, total)) in self.judged.iter().zip(&world.totals).enumerate() {
            let class = count.class.unwrap_or(judged.predicted);
            let (said, error) = (judged.predicted == class, value(judged.predicted == class, judged.truth == class));
            let chance = total.chance(self.losses[m * self.classes + class], world.sharpness);
            above += self.levels.weights[m] * error;
            let square = chance * value(said, true).powi(2) + (1.0 - chance) * value(said, false).powi(2);
            expected += self.noise[m] * square;
            seen += self.noise[m] * error * error;
        }
        let above = above / self.judged.len() as f64;
        // Draws with too many errors show too large a variance, those with too few hardly any.
        let (room_above, room_below) = (expected.max(seen).sqrt(), expected.max(SEEN_BELOW * seen).sqrt());
        Some(Trial { ratio, above, room_below, room_above })
    }
}

impl World {
    /// The ratio in this world; none where nothing counts in it.
    fn ratio(&self, count: Count) -> Option<f64> {
        let [found, said, is] = match count.class {
            Some(class) => self.pool[class],
            None => {
                let right = self.pool.iter().map(|[found, ..]| found).sum();
                [right, 1.0, right]
            }
        };
        let shares = [(true, true, found), (true, false, said - found), (false, true, is - found)];
        let (mut parts, mut wholes) = (0.0, 0.0);
        for (said, is, share) in shares {
            let Part { part, whole } = (count.part)(said, is);
            parts += share * part;
            wholes += share * whole;
        }
        (0.0 < wholes).then_some(parts / wholes)
    }
}

/// b of the worlds that are looked at, from the most errors to the fewest: dense about the model's own word, b = 1. Ends between two of
/// them are interpolated.
fn sharpnesses() -> Vec<f64> {
    let power = |third: i32| (f64::from(third) / 3.0).exp2();
    // Models that hardly tell classes apart say more or fewer errors by a large b only.
    let far = [90, 60, 45, 36, 30, 24, 18];
    let worse = far.into_iter().chain([12, 6, 3, 0, -3, -6]).map(|third| -power(third));
    let better = (-15..=15).chain(far.into_iter().rev()).map(power);
    worse.chain([0.0]).chain(better).collect()
}

fn worlds(foreseen: &Foreseen<'_>) -> Vec<World> {
    let k = foreseen.classes;
    let world = |b: &f64| World {
        sharpness: *b,
        totals: foreseen.drawn.chunks_exact(k).map(|losses| Total::of(losses, *b)).collect(),
        pool: vec![[0.0; 3]; k],
    };
    let mut worlds: Vec<World> = sharpnesses().iter().map(world).collect();
    let mut items = 0.0;
    (foreseen.pool)(&mut |losses| {
        items += 1.0;
        let likeliest = (1..k).fold(0, |least, class| if losses[class] < losses[least] { class } else { least });
        for world in &mut worlds {
            let total = Total::of(losses, world.sharpness);
            for ([.., so], loss) in world.pool.iter_mut().zip(losses) {
                *so += total.chance(*loss, world.sharpness);
            }
            let [found, said, _] = &mut world.pool[likeliest];
            *found += total.chance(losses[likeliest], world.sharpness);
            *said += 1.0;
        }
    });
    for share in worlds.iter_mut().flat_map(|world| world.pool.as_flattened_mut()) {
        *share /= items;
    }
    worlds
}
