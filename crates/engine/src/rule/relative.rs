//! Rules in units of the pool's scores, so that they stay selective while scores grow and shrink from fit to fit.
//!
//! `boundary:half=0.01,floor=0.2,late=0.3` asks near the boundary between classes. U is e^(−(gap − from)/τ), where the gap is the
//! difference between the two largest scores (|v| for two classes), and `from` the smallest gap in the pool. τ is such
//! that half of ΣU falls on the nearest hundredth of the pool. So the rule is equally sharp on any distribution of
//! scores, also if all of them lie on one side of the boundary.
//!
//! `boundary:share=0.01,floor=0.1` is an older form: `from` is 0, and τ is the gap within which this share of the pool
//! lies. If no score is near the boundary, it hardly prefers any row.
//!
//! `rare:floor=0.1` asks for items that may belong to the class with the fewest answers: U is the probability of that
//! class. The floor is the fraction of asks spread uniformly over the pool. So no row's probability is below floor/n,
//! and estimates from the answers stay possible, with weights of at most 1/floor. With `late`, the fraction rises to it
//! once a run has many labels: then labels near the boundary teach less, and estimates need the others.
//!
//! `margin:share=…` and `margin:floor=…` are older spellings of `boundary`. `boundary:reach=…` is not a rule of this
//! file: it is the theory's rule, at a fixed scale.

use querist_theory::registry::NameError;

use super::RunRule;
use crate::task::softmax_into;

mod half_mass;

use half_mass::HalfMass;

pub(super) const RARE: RunRule = RunRule {
    name: "rare",
    params: &["floor"],
    summary: "the probability of the class with the fewest answers; for pools",
    source: "composition",
};

/// A rule in units of the pool.
#[derive(Clone, Debug)]
pub struct Relative {
    kind: RelativeKind,
    floor: f64,
    /// The floor of a run with many labels; `None` if it does not change.
    late: Option<f64>,
    /// The fraction of asks to spread uniformly from the next scale on, at least the floor.
    even_share: f64,
    scale: Scale,
}

#[derive(Clone, Copy, Debug)]
enum RelativeKind {
    Boundary(Nearness),
    Rare,
}

/// The condition that determines the reach of the boundary rule.
#[derive(Clone, Copy, Debug)]
enum Nearness {
    /// Half of the probability outside the floor falls on this share of the pool.
    Half(f64),
    /// This share of the pool lies within the reach.
    Share(f64),
}

/// The scale that a rule derives from a pool's scores. It is stored with every ask, so that the probability can be
/// checked without the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// τ: the gap over which U falls by a factor of e.
    pub reach: f64,
    /// The gap up to which U is 1.
    pub from: f64,
    /// The constant added to U.
    pub base: f64,
    /// The class with the fewest answers.
    pub rarest: usize,
}

impl Scale {
    /// Returns the name of the theory's rule with this scale, if the reach is finite; otherwise that of a constant.
    pub fn name(&self) -> String {
        let Self { reach, from, base, .. } = self;
        if reach.is_infinite() {
            return "constant:p=1".to_owned();
        }
        let from = if *from == 0.0 { String::new() } else { format!(",from={from}") };
        format!("boundary:reach={reach},base={base}{from}")
    }
}

impl Default for Scale {
    /// Returns the scale before any pool was seen: U is 1 everywhere.
    fn default() -> Self {
        Self { reach: f64::INFINITY, from: 0.0, base: 0.0, rarest: 0 }
    }
}

/// The default fraction of the pool that gets half of the probability outside the floor.
pub const HALF: f64 = 0.01;
/// The default fraction of asks that are spread uniformly.
pub const FLOOR: f64 = 0.2;
/// The same for a run with many labels.
pub const LATE_FLOOR: f64 = 0.3;
/// The least number of labels that are many, and the least number for each class.
const MANY_LABELS: usize = 100;
const MANY_PER_CLASS: usize = 20;
/// The largest constant that is added to U, so that U does not become 0/0.
const MOST_BASE: f64 = 1e12;
/// The default floor of the older forms.
const OLD_FLOOR: f64 = 0.1;

impl Relative {
    /// Parses `boundary:half=0.01,floor=0.2,late=0.3`, `boundary:share=0.01,floor=0.1` and `rare:floor=0.1`; returns `None` for
    /// the names of other rules.
    pub fn parse(text: &str) -> Option<Result<Self, NameError>> {
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        let has = |keys: &[&str]| rest.split(',').any(|piece| keys.iter().any(|key| piece.trim().starts_with(key)));
        let share = 0.01;
        let kind = match head {
            "boundary" if has(&["reach=", "base=", "from="]) => return None,
            "boundary" if has(&["share="]) => RelativeKind::Boundary(Nearness::Share(share)),
            "boundary" => RelativeKind::Boundary(Nearness::Half(HALF)),
            "margin" if rest.starts_with("share=") || rest.starts_with("floor=") => {
                RelativeKind::Boundary(Nearness::Share(share))
            }
            "rare" => RelativeKind::Rare,
            _ => return None,
        };
        let is_half = matches!(kind, RelativeKind::Boundary(Nearness::Half(_)));
        let floor = if is_half { FLOOR } else { OLD_FLOOR };
        // A floor that is stated does not change.
        let late = (is_half && !has(&["floor=", "late="])).then_some(LATE_FLOOR);
        let rule = Self { kind, floor, late, even_share: floor, scale: Scale::default() };
        Some(rule.with_parameters(rest).map_err(|message| NameError { name: text.to_owned(), message }))
    }

    /// Sets the parameters that are written after the name.
    fn with_parameters(mut self, parameters: &str) -> Result<Self, String> {
        let is_rare = matches!(self.kind, RelativeKind::Rare);
        let form = if is_rare { "rare:floor=NUMBER" } else { "boundary:half=NUMBER,floor=NUMBER,late=NUMBER" };
        let mut seen = vec![];
        for piece in parameters.split(',').filter(|piece| !piece.is_empty()) {
            let usage = || format!("`{piece}`; write {form}");
            let (key, value) = piece.split_once('=').ok_or_else(usage)?;
            let (key, number): (&str, f64) = (key.trim(), value.trim().parse().map_err(|_| usage())?);
            let (parameter, most) = match (key, &mut self.kind) {
                ("half", RelativeKind::Boundary(Nearness::Half(half))) => (half, 0.5),
                ("share", RelativeKind::Boundary(Nearness::Share(share))) => (share, 1.0),
                ("half", RelativeKind::Boundary(_)) => return Err("half and share exclude each other".to_owned()),
                ("floor", _) => (&mut self.floor, 1.0),
                ("late", RelativeKind::Boundary(Nearness::Half(_))) => (self.late.insert(0.0), 1.0),
                _ => return Err(usage()),
            };
            if seen.contains(&key) {
                return Err(format!("{key} given twice"));
            }
            seen.push(key);
            if !(0.0 < number && number < most) {
                return Err(format!("{key} = {value}, need 0 < {key} < {most}"));
            }
            *parameter = number;
        }
        if let Some(late) = self.late.filter(|late| *late < self.floor) {
            return Err(format!("late = {late}, need at least the floor of {}", self.floor));
        }
        self.even_share = self.floor;
        Ok(self)
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        let floor = self.floor;
        match self.kind {
            RelativeKind::Boundary(Nearness::Half(half)) => {
                let late = self.late.map_or(String::new(), |late| format!(",late={late}"));
                format!("boundary:half={half},floor={floor}{late}")
            }
            RelativeKind::Boundary(Nearness::Share(share)) => format!("boundary:share={share},floor={floor}"),
            RelativeKind::Rare => format!("rare:floor={floor}"),
        }
    }

    /// Returns U at these scores.
    pub fn at(&self, scores: &[f64]) -> f64 {
        (self.bare(scores) + self.scale.base) / (1.0 + self.scale.base)
    }

    /// Returns U of rows whose probabilities are known: the two largest, and that of the class with the fewest answers.
    pub(crate) fn at_probabilities(&self, first: f64, second: f64, rarest: f64) -> f64 {
        let bare = match self.kind {
            RelativeKind::Boundary(_) => falling(first.ln() - second.ln(), self.scale),
            RelativeKind::Rare => rarest,
        };
        (bare + self.scale.base) / (1.0 + self.scale.base)
    }

    /// Returns a ratio of the two largest probabilities below which U of the boundary rule is its least value, to the bit;
    /// 0 if there is none.
    pub(crate) fn negligible_ratio(&self) -> f64 {
        let Scale { reach, from, base, .. } = self.scale;
        let is_boundary = matches!(self.kind, RelativeKind::Boundary(_));
        if !(is_boundary && reach.is_finite() && 0.0 < base) {
            return 0.0;
        }
        // Adding less than a quarter of the spacing of numbers near the base changes nothing.
        (-from - reach * (58.0 * std::f64::consts::LN_2 - base.ln().min(0.0))).exp()
    }

    /// Returns U without the floor.
    fn bare(&self, scores: &[f64]) -> f64 {
        match self.kind {
            RelativeKind::Boundary(_) => falling(gap(scores), self.scale),
            RelativeKind::Rare => probability(scores, self.scale.rarest),
        }
    }

    /// Returns the least possible U.
    pub fn least(&self) -> f64 {
        self.scale.base / (1.0 + self.scale.base)
    }

    /// Returns the fraction of asks that are at least spread uniformly.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// Returns the floor of a run with this number of labels and of classes.
    pub(crate) fn floor_after(&self, labels: usize, classes: usize) -> f64 {
        let are_many = MANY_LABELS.max(MANY_PER_CLASS * classes) <= labels;
        self.late.filter(|_| are_many).unwrap_or(self.floor)
    }

    /// Sets the fraction of asks that are spread uniformly from the next scale on: at least the floor, at most 1.
    pub(crate) fn set_even_share(&mut self, share: f64) {
        self.even_share = share.clamp(self.floor, 1.0);
    }

    /// Returns the current scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Restores an earlier scale.
    pub fn set_scale(&mut self, scale: Scale) {
        self.scale = scale;
    }

    /// Returns whether the scale depends only on the gap between the two largest scores, and on nothing else of a run.
    pub fn is_of_gaps(&self) -> bool {
        matches!(self.kind, RelativeKind::Boundary(_))
    }

    /// Makes U strictly decreasing in the gap, so that the most uncertain row is the nearest one. Draws in proportion to U
    /// do not need this: rows nearer than the nearest one of the sample share the largest U.
    pub(crate) fn remove_plateau(&mut self) {
        let Scale { reach, from, rarest, .. } = self.scale;
        if self.is_of_remaining_rows() && reach.is_finite() {
            self.scale = Scale { reach: from + half_mass::NEGLIGIBLE * reach, from: 0.0, base: 0.0, rarest };
        }
    }

    /// Returns whether the scale comes from the rows that can still be asked; that of older forms comes from all rows.
    pub(crate) fn is_of_remaining_rows(&self) -> bool {
        matches!(self.kind, RelativeKind::Boundary(Nearness::Half(_)))
    }

    /// Returns the difference between the largest and the second-largest score; |v| for two classes.
    pub fn gap(scores: &[f64]) -> f64 {
        gap(scores)
    }

    /// Sets the scale from the scores of a sample of the pool, `outputs` numbers per row.
    pub(crate) fn settle(&mut self, scores: &[f64], outputs: usize, rarest: usize) {
        self.scale = Scale { rarest, ..Scale::default() };
        if let RelativeKind::Boundary(nearness) = self.kind {
            let mut gaps: Vec<f64> = scores.chunks_exact(outputs).map(gap).collect();
            gaps.sort_by(f64::total_cmp);
            match nearness {
                Nearness::Half(half) => {
                    let finite = gaps.partition_point(|gap| gap.is_finite());
                    let HalfMass { from, reach } = half_mass::solve(&gaps[..finite], half);
                    (self.scale.from, self.scale.reach) = (from, reach);
                }
                Nearness::Share(share) => self.scale.reach = gap_within(&gaps, share),
            }
        }
        let count = (scores.len() / outputs) as f64;
        let mean = scores.chunks_exact(outputs).map(|scores| self.bare(scores)).sum::<f64>() / count;
        // With a share of 1, U is the same everywhere up to rounding.
        self.scale.base = (mean * self.even_share / (1.0 - self.even_share)).min(MOST_BASE);
    }
}

/// Returns the gap within which a share of the rows lie.
fn gap_within(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64) as usize;
    let (before, after) = sorted.split_at(rank.min(sorted.len() - 1));
    // If many rows lie exactly on the boundary, use the nearest row that does not. If that one is saturated, use the
    // farthest that is not. If all are on the boundary or saturated, any reach will do.
    let is_between = |gap: &&f64| 0.0 < **gap && gap.is_finite();
    after.iter().find(is_between).or_else(|| before.iter().rfind(is_between)).copied().unwrap_or(f64::INFINITY)
}

/// Returns e^(−(gap − from)/reach), at most 1. A model with probabilities of exactly 0 and 1 has infinite gaps: U is 0
/// there, whatever the reach.
fn falling(gap: f64, Scale { from, reach, .. }: Scale) -> f64 {
    if gap == f64::INFINITY { 0.0 } else { (-(gap - from).max(0.0) / reach).exp() }
}

/// Returns the difference between the largest and the second-largest score; |v| for two classes.
fn gap(scores: &[f64]) -> f64 {
    if let [score] = scores {
        return score.abs();
    }
    let (mut first, mut second) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for score in scores {
        if first < *score {
            second = first;
            first = *score;
        } else if second < *score {
            second = *score;
        }
    }
    first - second
}

/// Returns the probability of a class; of two classes, 0 is −1 and 1 is +1.
fn probability(scores: &[f64], class: usize) -> f64 {
    if let [score] = scores {
        let toward = if class == 1 { -score } else { *score };
        return 1.0 / (1.0 + toward.exp());
    }
    let mut probabilities = vec![0.0; scores.len()];
    softmax_into(scores, &mut probabilities);
    probabilities[class]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_fraction_of_asks_spread_uniformly() {
        let scores: Vec<f64> = (0..1000).map(|i| f64::from(i) / 100.0 - 5.0).collect();
        for name in ["boundary:half=0.05,floor=0.2", "boundary:share=0.05,floor=0.2", "rare:floor=0.2"] {
            let mut rule = Relative::parse(name).unwrap().unwrap();
            rule.settle(&scores, 1, 1);
            let total: f64 = scores.iter().map(|v| rule.at(&[*v])).sum();
            let even = scores.len() as f64 * rule.scale.base / (1.0 + rule.scale.base);
            assert!((even / total - 0.2).abs() < 1e-12, "{name}: {}", even / total);
            assert!(scores.iter().all(|v| (0.0..=1.0).contains(&rule.at(&[*v]))));
        }
    }

    #[test]
    fn the_boundary_rule_does_not_depend_on_the_size_of_scores() {
        let scores: Vec<f64> = (1..500).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let large: Vec<f64> = scores.iter().map(|v| 1e6 * v).collect();
        for name in ["boundary:half=0.1", "boundary:share=0.1"] {
            does_not_depend_on_the_size(&Relative::parse(name).unwrap().unwrap(), &scores, &large);
        }
    }

    fn does_not_depend_on_the_size(rule: &Relative, scores: &[f64], large: &[f64]) {
        let mut rule = rule.clone();
        let at = |rule: &mut Relative, scores: &[f64]| {
            rule.settle(scores, 1, 0);
            scores.iter().map(|v| rule.at(&[*v])).collect::<Vec<_>>()
        };
        let (a, b) = (at(&mut rule, scores), at(&mut rule, large));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
        // All on the boundary, none on it, and far away: U is still a probability.
        for scores in [[0.0; 4], [1.0; 4], [1e300; 4]] {
            assert!(at(&mut rule, &scores).iter().all(|u| (0.0..=1.0).contains(u)));
        }
    }

    /// A pool has rows nearer to the boundary than the nearest row of the sample that the scale comes from.
    #[test]
    fn without_a_plateau_nearer_rows_have_a_larger_u() {
        let sample: Vec<f64> = (0..500).map(|i| 2.0 + f64::from(i) * 1e-3).collect();
        let mut rule = Relative::parse("boundary").unwrap().unwrap();
        rule.settle(&sample, 1, 0);
        assert_eq!((rule.at(&[1.5]), rule.at(&[1.9])), (1.0, 1.0));
        rule.remove_plateau();
        let at = [0.0, 1e-9, 1.5, 1.9, 2.0, 2.000_001, 2.3, 9.0].map(|gap| rule.at(&[gap]));
        assert!(at.is_sorted_by(|nearer, farther| farther < nearer), "{at:?}");
    }

    #[test]
    fn the_floor_rises_once_there_are_many_labels() {
        let floors = |name: &str, classes: usize| {
            let rule = Relative::parse(name).unwrap().unwrap();
            [0, 99, 100, 219, 220].map(|labels| rule.floor_after(labels, classes))
        };
        assert_eq!(floors("boundary", 2), [0.2, 0.2, 0.3, 0.3, 0.3]);
        assert_eq!(floors("boundary", 11), [0.2, 0.2, 0.2, 0.2, 0.3]);
        assert_eq!(floors("boundary:floor=0.1", 2), [0.1; 5]);
    }

    #[test]
    fn names_round_trip() {
        for name in [
            "boundary:half=0.05,floor=0.3",
            "boundary:half=0.05,floor=0.3,late=0.5",
            "boundary:share=0.05,floor=0.2",
            "rare:floor=0.2",
        ] {
            assert_eq!(Relative::parse(name).unwrap().unwrap().name(), name);
        }
        for (other, name) in [
            ("boundary", "boundary:half=0.01,floor=0.2,late=0.3"),
            ("boundary:half=0.02", "boundary:half=0.02,floor=0.2,late=0.3"),
            ("boundary:late=0.4", "boundary:half=0.01,floor=0.2,late=0.4"),
            ("boundary:floor=0.3", "boundary:half=0.01,floor=0.3"),
            ("boundary:share=0.05", "boundary:share=0.05,floor=0.1"),
            ("margin:share=0.05,floor=0.2", "boundary:share=0.05,floor=0.2"),
            ("margin:floor=0.3", "boundary:share=0.01,floor=0.3"),
        ] {
            assert_eq!(Relative::parse(other).unwrap().unwrap().name(), name);
        }
        for bad in [
            "boundary:share=0",
            "margin:share=2",
            "boundary:mu=1",
            "rare:share=0.1",
            "margin:floor=x",
            "rare:floor=1",
            "boundary:half=0.5",
            "boundary:half=0.1,share=0.1",
            "boundary:floor=0.1,floor=0.2",
            "boundary:floor=0.3,late=0.2",
            "boundary:share=0.1,late=0.3",
            "rare:late=0.3",
        ] {
            assert!(Relative::parse(bad).unwrap().is_err(), "{bad}");
        }
        for other in ["margin:mu=1", "margin", "boundary:reach=1", "boundary:share=0.1,base=0.2", "entropy"] {
            assert!(Relative::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn at_a_fixed_scale_the_boundary_rule_equals_that_of_the_theory() {
        let loss = querist_theory::loss::parse("logistic").unwrap();
        let scores: Vec<f64> = (0..999).map(|i| (f64::from(i) * 0.37).sin().powi(3)).collect();
        let one_sided: Vec<f64> = scores.iter().map(|score| 2.5 + score).collect();
        for (name, scores) in [("boundary:share=0.05,floor=0.2", &scores), ("boundary:half=0.05", &one_sided)] {
            let mut rule = Relative::parse(name).unwrap().unwrap();
            rule.settle(scores, 1, 0);
            let name = rule.scale().name();
            let theory = querist_theory::uncertainty::parse(&name, &loss).unwrap();
            for score in scores {
                assert!((rule.at(&[*score]) / theory.at(*score) - 1.0).abs() < 1e-14, "{name} at {score}");
            }
        }
    }
}
