//! Rules in units of the pool's scores, so that they stay selective while scores grow and shrink from fit to fit.
//!
//! `boundary:share=0.01,floor=0.1` asks near the boundary between classes. U falls by a factor of e for every τ of the
//! gap between the two largest scores (|v| for two classes); this share of the pool has a gap within τ.
//! `rare:floor=0.1` asks for items that may belong to the class with the fewest answers: U is the probability of that
//! class. The floor is the fraction of asks spread uniformly over the pool. So no row's probability is below floor/n,
//! and estimates from the answers stay possible, with weights of at most 1/floor.
//!
//! `margin:share=…` and `margin:floor=…` are older spellings of `boundary`. `boundary:reach=…` is not a rule of this
//! file: it is the theory's rule, at a fixed scale.

use querist_theory::registry::NameError;

use super::RunRule;
use crate::task::softmax_into;

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
    scale: Scale,
}

#[derive(Clone, Copy, Debug)]
enum RelativeKind {
    Boundary { share: f64 },
    Rare,
}

/// The scale that a rule derives from a pool's scores. It is stored with every ask, so that the probability can be
/// checked without the pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// τ: the gap over which U falls by a factor of e.
    pub reach: f64,
    /// The constant added to U.
    pub base: f64,
    /// The class with the fewest answers.
    pub rarest: usize,
}

impl Default for Scale {
    /// Returns the scale before any pool was seen: U is 1 everywhere.
    fn default() -> Self {
        Self { reach: f64::INFINITY, base: 0.0, rarest: 0 }
    }
}

/// The default fraction of the pool that lies within the reach of the boundary.
pub const SHARE: f64 = 0.01;
/// The default fraction of asks that are spread uniformly.
pub const FLOOR: f64 = 0.1;

impl Relative {
    /// Parses `boundary:share=0.01,floor=0.1` and `rare:floor=0.1`; returns `None` for the names of other rules.
    pub fn parse(text: &str) -> Option<Result<Self, NameError>> {
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        let has = |keys: [&str; 2]| rest.split(',').any(|piece| keys.iter().any(|key| piece.trim().starts_with(key)));
        let is_boundary = match head {
            "boundary" => !has(["reach=", "base="]),
            "margin" => rest.starts_with("share=") || rest.starts_with("floor="),
            _ => false,
        };
        (is_boundary || head == "rare").then(|| Self::parse_parts(text, is_boundary, rest))
    }

    fn parse_parts(text: &str, is_boundary: bool, rest: &str) -> Result<Self, NameError> {
        let fail = |message: String| NameError { name: text.to_owned(), message };
        let (mut share, mut floor) = (SHARE, FLOOR);
        for piece in rest.split(',').filter(|piece| !piece.is_empty()) {
            let usage = || {
                let form = if is_boundary { "boundary:share=NUMBER,floor=NUMBER" } else { "rare:floor=NUMBER" };
                fail(format!("`{piece}`; write {form}"))
            };
            let (key, value) = piece.split_once('=').ok_or_else(usage)?;
            let number: f64 = value.parse().map_err(|_| usage())?;
            if !(0.0 < number && number < 1.0) {
                return Err(fail(format!("{key} = {value}, need 0 < {key} < 1")));
            }
            match key {
                "share" if is_boundary => share = number,
                "floor" => floor = number,
                _ => return Err(usage()),
            }
        }
        let kind = if is_boundary { RelativeKind::Boundary { share } } else { RelativeKind::Rare };
        Ok(Self { kind, floor, scale: Scale::default() })
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        match self.kind {
            RelativeKind::Boundary { share } => format!("boundary:share={share},floor={}", self.floor),
            RelativeKind::Rare => format!("rare:floor={}", self.floor),
        }
    }

    /// Returns U at these scores.
    pub fn at(&self, scores: &[f64]) -> f64 {
        (self.bare(scores) + self.scale.base) / (1.0 + self.scale.base)
    }

    /// Returns U without the floor.
    fn bare(&self, scores: &[f64]) -> f64 {
        match self.kind {
            RelativeKind::Boundary { .. } => falling(gap(scores), self.scale.reach),
            RelativeKind::Rare => probability(scores, self.scale.rarest),
        }
    }

    /// Returns the least possible U.
    pub fn least(&self) -> f64 {
        self.scale.base / (1.0 + self.scale.base)
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
        matches!(self.kind, RelativeKind::Boundary { .. })
    }

    /// Returns the difference between the largest and the second-largest score; |v| for two classes.
    pub fn gap(scores: &[f64]) -> f64 {
        gap(scores)
    }

    /// Sets the scale from the scores of a sample of the pool, `outputs` numbers per row.
    pub(crate) fn settle(&mut self, scores: &[f64], outputs: usize, rarest: usize) {
        self.scale = Scale { rarest, ..Scale::default() };
        if let RelativeKind::Boundary { share } = self.kind {
            let mut gaps: Vec<f64> = scores.chunks_exact(outputs).map(gap).collect();
            gaps.sort_by(f64::total_cmp);
            let rank = (share * gaps.len() as f64) as usize;
            let (before, after) = gaps.split_at(rank.min(gaps.len() - 1));
            // If many rows lie exactly on the boundary, use the nearest row that does not. If that one is saturated,
            // use the farthest that is not. If all are on the boundary or saturated, any reach will do.
            let is_between = |gap: &&f64| 0.0 < **gap && gap.is_finite();
            let reach = after.iter().find(is_between).or_else(|| before.iter().rfind(is_between));
            self.scale.reach = reach.copied().unwrap_or(f64::INFINITY);
        }
        let count = (scores.len() / outputs) as f64;
        let mean = scores.chunks_exact(outputs).map(|scores| self.bare(scores)).sum::<f64>() / count;
        self.scale.base = mean * self.floor / (1.0 - self.floor);
    }
}

/// Returns e^(−gap/reach). A model with probabilities of exactly 0 and 1 has infinite gaps: U is 0 there, whatever the
/// reach.
fn falling(gap: f64, reach: f64) -> f64 {
    if gap == f64::INFINITY { 0.0 } else { (-gap / reach).exp() }
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
        for name in ["boundary:share=0.05,floor=0.2", "rare:floor=0.2"] {
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
        let mut rule = Relative::parse("boundary:share=0.1").unwrap().unwrap();
        let at = |rule: &mut Relative, scores: &[f64]| {
            rule.settle(scores, 1, 0);
            scores.iter().map(|v| rule.at(&[*v])).collect::<Vec<_>>()
        };
        let (a, b) = (at(&mut rule, &scores), at(&mut rule, &large));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
        // All on the boundary, none on it, and far away: U is still a probability.
        for scores in [[0.0; 4], [1.0; 4], [1e300; 4]] {
            assert!(at(&mut rule, &scores).iter().all(|u| (0.0..=1.0).contains(u)));
        }
    }

    #[test]
    fn names_round_trip() {
        for name in ["boundary:share=0.05,floor=0.2", "rare:floor=0.2"] {
            assert_eq!(Relative::parse(name).unwrap().unwrap().name(), name);
        }
        for (other, name) in [
            ("boundary", "boundary:share=0.01,floor=0.1"),
            ("margin:share=0.05,floor=0.2", "boundary:share=0.05,floor=0.2"),
            ("margin:floor=0.3", "boundary:share=0.01,floor=0.3"),
        ] {
            assert_eq!(Relative::parse(other).unwrap().unwrap().name(), name);
        }
        for bad in
            ["boundary:share=0", "margin:share=2", "boundary:mu=1", "rare:share=0.1", "margin:floor=x", "rare:floor=1"]
        {
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
        let mut rule = Relative::parse("boundary:share=0.05,floor=0.2").unwrap().unwrap();
        rule.settle(&scores, 1, 0);
        let Scale { reach, base, .. } = rule.scale();
        let name = format!("boundary:reach={reach},base={base}");
        let theory = querist_theory::uncertainty::parse(&name, &loss).unwrap();
        for score in scores {
            assert!((rule.at(&[score]) / theory.at(score) - 1.0).abs() < 1e-14, "{name} at {score}");
        }
    }
}
