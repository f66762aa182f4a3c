//! The verdict of a comparison, and its words.

use super::joint::{EntrantTest, JointTest};
use super::metric::Metric;
use super::summary::{Curve, SeedInterval, labels_to, saving};
use crate::stats::mean;

/// The result of comparing all entrants with random sampling. Indices are those of the entrants.
///
/// ```
/// use querist_engine::compare::{ComparisonVerdict, Metric, Undecided};
///
/// let names = ["random".to_owned(), "boundary".to_owned()];
/// let verdict = ComparisonVerdict::Undecided(Undecided::OneSeed { leader: 1, gain: 0.012 });
/// assert_eq!(verdict.winner(0), None);
/// let text = verdict.text(&names, &Metric::Accuracy);
/// assert!(text.starts_with("undecided: at least 2 seeds are needed, better 20"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ComparisonVerdict {
    /// An entrant is significantly better than random. Of several, the one with the largest mean gain.
    Better {
        /// The entrant.
        entrant: usize,
        /// The gain over random: the difference of the mean scores over the run, positive for every metric.
        by: SeedInterval,
        /// The labels that it saves, if the saving is significant.
        saved: Option<LabelsSaved>,
    },
    /// Every entrant is significantly worse than random.
    Random {
        /// The entrant that is closest to random.
        closest: usize,
        /// The amount that it loses over the run, a positive number.
        by: SeedInterval,
    },
    /// The seeds do not decide.
    Undecided(Undecided),
}

/// The saving of labels on the way to a share of the score with all labels.
///
/// ```
/// use querist_engine::compare::{
///     ClassCounts, ComparisonVerdict, Criterion, EntrantRun, Metric, TestScores, summarize, verdict,
/// };
/// use querist_engine::task::{self, Labels};
///
/// let run = |at_10: u64, at_20: u64| {
///     let scores = |correct| TestScores::of_classes(vec![ClassCounts { labeled: 100, decided: 100, correct }]);
///     let mut run = EntrantRun::default();
///     run.points = vec![(10, scores(at_10)), (20, scores(at_20))];
///     run
/// };
/// let task = task::parse("logistic", Labels::Binary)?;
/// let accuracy = Criterion::new(Metric::Accuracy, &*task, &[])?;
/// let random = summarize(&[run(60, 79), run(61, 80), run(59, 80), run(60, 81)], &accuracy);
/// let boundary = summarize(&[run(80, 82), run(80, 83), run(81, 83), run(79, 82)], &accuracy);
/// let verdict = verdict(&[random, boundary], 0, &[0.80, 0.80, 0.80, 0.80]);
/// let ComparisonVerdict::Better { entrant: 1, saved: Some(saved), .. } = verdict else { panic!("{verdict:?}") };
/// // Boundary reaches 95 % of 0.80 with 10 labels, and random with 18.
/// assert_eq!(saved.share, 0.95);
/// assert!((saved.fraction.middle - 8.0 / 18.0).abs() < 1e-12);
/// # Ok::<(), querist_engine::name::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelsSaved {
    /// The share of the score with all labels that is the goal.
    pub share: f64,
    /// The fraction of labels saved.
    pub fraction: SeedInterval,
    /// Random does not reach the goal within the budget, so the true saving is larger.
    pub is_bound: bool,
}

/// The reason why a comparison is undecided.
///
/// ```
/// use querist_engine::compare::Undecided;
///
/// assert_eq!(Undecided::OneSeed { leader: 1, gain: 0.01 }.more_seeds(), Some(19));
/// assert_eq!(Undecided::TooClose { largest_gain: 0.001 }.more_seeds(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Undecided {
    /// There is no entrant other than random.
    OnlyRandom,
    /// All entrants but random query the same labels: the budget ends within the cold start.
    SameLabels,
    /// All entrants have the same scores as random.
    SameScores,
    /// The metric is undefined for some seeds.
    NoScores,
    /// There is only one seed, which has no deviation.
    OneSeed {
        /// The entrant with the largest gain.
        leader: usize,
        /// Its gain.
        gain: f64,
    },
    /// More seeds are likely to decide.
    SeedsNeeded {
        /// The entrant with the largest mean gain.
        leader: usize,
        /// Its gain and the simultaneous interval.
        gain: SeedInterval,
        /// The number of further seeds; see [`JointTest::more_seeds`].
        more_seeds: u64,
    },
    /// The differences are too small for [`JointTest::MAX_MORE_SEEDS`] further seeds.
    TooClose {
        /// No entrant gains more than this over random: the largest upper end of the simultaneous intervals.
        largest_gain: f64,
    },
}

/// The number of seeds to try first.
const ENOUGH_SEEDS: u64 = 20;

impl Undecided {
    /// Returns the number of further seeds that are likely to decide; `None` if seeds cannot, or too few of them.
    pub fn more_seeds(&self) -> Option<u64> {
        match self {
            Undecided::OneSeed { .. } => Some(ENOUGH_SEEDS - 1),
            Undecided::SeedsNeeded { more_seeds, .. } => Some(*more_seeds),
            _ => None,
        }
    }
}

/// Compares all entrants with the one at index `random`, which samples at random, and returns the verdict. `full` has
/// the score with all labels for each seed.
pub fn verdict(curves: &[Curve], random: usize, full: &[f64]) -> ComparisonVerdict {
    let test = JointTest::new(curves, random);
    if let Some(best) = test.best() {
        let level = JointTest::LEVEL / test.entrants.len() as f64;
        let saved = savings(&curves[best.entrant], &curves[random], full, level);
        return ComparisonVerdict::Better { entrant: best.entrant, by: best.gain, saved };
    }
    let Some(leader) = test.leader() else { return ComparisonVerdict::Undecided(Undecided::OnlyRandom) };
    if test.all_are_worse() {
        return ComparisonVerdict::Random { closest: leader.entrant, by: negated(leader.gain) };
    }
    ComparisonVerdict::Undecided(undecided(&test, leader, curves, random))
}

fn undecided(test: &JointTest, leader: &EntrantTest, curves: &[Curve], random: usize) -> Undecided {
    let others: Vec<&Curve> = curves.iter().enumerate().filter(|(index, _)| *index != random).map(|(_, c)| c).collect();
    let is_same = |curve: &&Curve| curve.stages == others[0].stages && curve.areas == others[0].areas;
    if 1 < others.len() && others.iter().all(is_same) {
        return Undecided::SameLabels;
    }
    let gains = || test.entrants.iter().map(|test| test.gain);
    if gains().any(|gain| !gain.middle.is_finite()) {
        return Undecided::NoScores;
    }
    if curves[random].areas.len() < 2 {
        return Undecided::OneSeed { leader: leader.entrant, gain: leader.gain.middle };
    }
    if curves.iter().all(|curve| curve.areas == curves[random].areas) {
        return Undecided::SameScores;
    }
    match test.more_seeds() {
        Some(more_seeds) => Undecided::SeedsNeeded { leader: leader.entrant, gain: leader.gain, more_seeds },
        None => Undecided::TooClose { largest_gain: gains().map(|gain| gain.high).fold(f64::NAN, f64::max) },
    }
}

/// Returns the saving at the lower of the goals for which it is significant.
fn savings(curve: &Curve, random: &Curve, full: &[f64], level: f64) -> Option<LabelsSaved> {
    [0.95, 0.98].into_iter().find_map(|share| {
        let goal = curve.goal(mean(full), share);
        labels_to(curve, goal)?;
        let fraction = saving(curve, random, full, share, level)?;
        let is_bound = labels_to(random, goal).is_none();
        (0.0 < fraction.low).then_some(LabelsSaved { share, fraction, is_bound })
    })
}

/// Returns the interval of the negated quantity.
fn negated(of: SeedInterval) -> SeedInterval {
    SeedInterval { middle: -of.middle, low: -of.high, high: -of.low }
}

impl ComparisonVerdict {
    /// Returns the index of the winner, which is `random` for random sampling; `None` if undecided.
    pub fn winner(&self, random: usize) -> Option<usize> {
        match self {
            ComparisonVerdict::Better { entrant, .. } => Some(*entrant),
            ComparisonVerdict::Random { .. } => Some(random),
            ComparisonVerdict::Undecided(_) => None,
        }
    }

    /// Returns the verdict in words. `names` has the names of all entrants.
    pub fn text(&self, names: &[String], metric: &Metric) -> String {
        match self {
            ComparisonVerdict::Better { entrant, by, saved } => {
                let saved = saved.map_or_else(String::new, |saved| format!(", and saves {}", saved.text()));
                let (name, by, span) = (&names[*entrant], amount(by.middle, metric), span(*by, metric));
                format!("{name} is better: by {by} over the run ({span}){saved}")
            }
            ComparisonVerdict::Random { closest, by } => {
                let (name, by, span) = (&names[*closest], amount(by.middle, metric), span(*by, metric));
                format!("random is better: {name}, the best of the others, loses {by} over the run ({span})")
            }
            ComparisonVerdict::Undecided(reason) => format!("undecided: {}", reason.text(names, metric)),
        }
    }
}

impl LabelsSaved {
    /// Returns "at least 41 % of labels at 95 % (34 to 47)".
    fn text(&self) -> String {
        let percent = |value: f64| (100.0 * value).round();
        let SeedInterval { middle, low, high } = self.fraction;
        let least = if self.is_bound { "at least " } else { "" };
        let (middle, low, high) = (percent(middle), percent(low), percent(high));
        format!("{least}{middle} % of labels at {} % ({low} to {high})", percent(self.share))
    }
}

impl Undecided {
    fn text(&self, names: &[String], metric: &Metric) -> String {
        let position = |leader: usize, gain: f64| {
            let side = if gain < 0.0 { "behind" } else { "ahead of" };
            format!("{} is {} {side} random over the run", names[leader], amount(gain.abs(), metric))
        };
        match self {
            Undecided::OnlyRandom => "there is only random, so nothing to compare".to_owned(),
            Undecided::SameLabels => {
                "all rules but random query the same labels, because the budget ends within the cold start; use a larger \
                 --budget"
                    .to_owned()
            }
            Undecided::SameScores => format!("all rules have the same {} with every seed", metric.title()),
            Undecided::NoScores => format!("{} is undefined for some test rows; use another --metric", metric.title()),
            Undecided::OneSeed { leader, gain } => format!(
                "at least 2 seeds are needed, better {ENOUGH_SEEDS}; with one seed, {}",
                position(*leader, *gain)
            ),
            Undecided::SeedsNeeded { leader, gain, more_seeds } => {
                let shown = if gain.middle < 0.0 { negated(*gain) } else { *gain };
                let plural = if *more_seeds == 1 { "" } else { "s" };
                let position = position(*leader, gain.middle);
                format!("about {more_seeds} more seed{plural} needed; {position} ({})", span(shown, metric))
            }
            Undecided::TooClose { largest_gain } => format!(
                "more than {} more seeds needed; gains over random of more than {} over the run are excluded",
                JointTest::MAX_MORE_SEEDS,
                amount(*largest_gain, metric)
            ),
        }
    }
}

/// Returns a difference without its unit: in points for percentages.
fn difference(value: f64, metric: &Metric) -> String {
    let text = if metric.is_percentage() { format!("{:.2}", 100.0 * value) } else { format!("{value:.3}") };
    text.replace('-', "−")
}

/// Returns "1.80 points of accuracy" or "0.018 in log loss".
fn amount(value: f64, metric: &Metric) -> String {
    let unit = if metric.is_percentage() { "points of" } else { "in" };
    format!("{} {unit} {}", difference(value, metric), metric.title())
}

fn span(interval: SeedInterval, metric: &Metric) -> String {
    format!("{} to {}", difference(interval.low, metric), difference(interval.high, metric))
}
