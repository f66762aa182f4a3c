//! Selection of the next k rows of a pool in one pass: drawn without replacement, in proportion to U, by random keys.
//!
//! A row's key is E/U, with E exponential and a function of (seed, id) alone. The k smallest keys, in order, are k
//! successive draws, each in proportion to U among the rows that are left (Efraimidis and Spirakis 2006). So a pool may
//! be read in any order, in parts, on many machines. A [`Selection`] keeps the k + 1 smallest keys and an exact ΣU, and
//! two of them merge into that of both parts, bit for bit.
//!
//! Key k + 1 is the threshold τ. Given the keys of all other rows, the inclusion probability of a row is 1 − e^{−Uτ}.
//! So Σ y/(1 − e^{−Uτ}) over the drawn rows is an unbiased estimate of Σ y over the pool (Duffield, Lund and Thorup
//! 2007).

mod chooser;
mod id;
mod scale;
mod total;
mod wire;

use std::cmp::Ordering;
use std::fmt::{self, Display};

pub use chooser::{Chooser, fill, rule};
pub use id::{Id, IdRef, IdSet, RowIds};
pub use scale::ScaleSample;
pub use total::ExactTotal;
pub use wire::NotASelection;

use crate::coin::Coin;
use crate::elementary::neg_ln_1m;

/// The k + 1 smallest keys of the rows seen so far, and the exact sum of U over these rows.
#[derive(Clone, Debug)]
pub struct Selection {
    seed: u64,
    k: usize,
    coin: Coin,
    rows: u64,
    total: ExactTotal,
    /// Candidates in no order, a few more than needed.
    kept: Vec<Candidate>,
    /// Rows with keys above this are not among the k + 1 smallest.
    bound: f64,
}

/// A row that may be drawn.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    key: f64,
    uncertainty: f64,
    id: Id,
    position: u64,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        let by_key = self.key.total_cmp(&other.key).then_with(|| self.id.cmp(&other.id));
        // Duplicate ids are an error, which should not depend on the order of reading either.
        by_key.then(self.uncertainty.total_cmp(&other.uncertainty)).then(self.position.cmp(&other.position))
    }
}

/// The drawn rows, with statistics of their pool.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The number of rows in the pool.
    pub rows: u64,
    /// ΣU over the rows: the exact sum, rounded once.
    pub sum: f64,
    /// τ, key k + 1; `None` if every row with U > 0 was drawn.
    pub threshold: Option<f64>,
    /// The rows in the order of the draws; fewer than k if fewer have U > 0.
    pub drawn: Vec<SelectedRow>,
}

/// A row that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedRow {
    /// The id.
    pub id: Id,
    /// U.
    pub uncertainty: f64,
    /// E/U.
    pub key: f64,
    /// The probability of this draw, given those before: U over the ΣU of the rows that were left.
    pub probability: f64,
    /// 1 − e^{−Uτ}, the inclusion probability given the keys of all other rows.
    pub inclusion: f64,
}

/// A reason why no rows can be drawn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoSelection {
    /// The pool is empty.
    Empty,
    /// U is 0 everywhere.
    AllZero {
        /// The number of rows.
        rows: u64,
    },
    /// Two rows have the same id.
    Twice {
        /// The id.
        id: Id,
        /// Their positions, as passed with the rows.
        positions: [u64; 2],
    },
}

impl Display for NoSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there are no rows"),
            Self::AllZero { rows } => {
                write!(f, "U is 0, or next to it, at all {rows} rows, so none can be drawn; use another rule")
            }
            Self::Twice { id, .. } => write!(f, "the id `{id}` appears in two rows"),
        }
    }
}

impl std::error::Error for NoSelection {}

/// The error for a row whose U is NaN, negative or above 1e100, with its index among the offered rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnUncertainty(pub usize);

impl Display for NotAnUncertainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the rule gives NaN, a negative or an infinite number in row {}; use another rule", self.0)
    }
}

impl std::error::Error for NotAnUncertainty {}

/// Smaller values of U count as 0, because their keys could be infinite.
const LEAST_UNCERTAINTY: f64 = 1e-290;
/// The largest legal U; keys of larger ones could be 0.
const MOST_UNCERTAINTY: f64 = 1e100;

/// Checks that all these numbers are legal values of U.
///
/// # Errors
/// If one is not; it has the index of the first.
pub fn check(uncertainties: &[f64]) -> Result<(), NotAnUncertainty> {
    // Written so that NaN fails the check.
    let bad = uncertainties.iter().position(|u| !(0.0 <= *u && *u <= MOST_UNCERTAINTY));
    bad.map_or(Ok(()), |row| Err(NotAnUncertainty(row)))
}

impl Selection {
    /// Creates an empty selection of k rows.
    pub fn new(seed: u64, k: usize) -> Self {
        let coin = Coin::new(seed, "select");
        Self { seed, k, coin, rows: 0, total: ExactTotal::default(), kept: vec![], bound: f64::INFINITY }
    }

    /// Returns whether a row is asked independently of others, with probability U. A coin of its id decides, so the
    /// result does not depend on the row's position.
    pub fn asks(seed: u64, id: IdRef<'_>, uncertainty: f64) -> bool {
        unit(Coin::new(seed, "ask").bits(id.bits())) < uncertainty
    }

    /// Returns the number of rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds rows with their U. `position` is that of the first row, for messages; the others follow it. Returns an error
    /// if some U is illegal.
    pub fn offer(&mut self, ids: &RowIds<'_>, uncertainties: &[f64], position: u64) -> Result<(), NotAnUncertainty> {
        check(uncertainties)?;
        for (row, uncertainty) in uncertainties.iter().enumerate().filter(|(_, u)| LEAST_UNCERTAINTY <= **u) {
            self.total.add(*uncertainty);
            let id = ids.get(row);
            let v = unit(self.coin.bits(id.bits()));
            // E = −log(1 − v) is at least v, so most rows need no logarithm; the slack is far above any rounding.
            if v <= self.bound * *uncertainty * (1.0 + 1e-12) {
                self.consider(v, *uncertainty, id, position + row as u64);
            }
        }
        self.rows += uncertainties.len() as u64;
        Ok(())
    }

    #[cold]
    fn consider(&mut self, v: f64, uncertainty: f64, id: IdRef<'_>, position: u64) {
        let key = neg_ln_1m(v) / uncertainty;
        if key <= self.bound {
            self.kept.push(Candidate { key, uncertainty, id: id.to_owned(), position });
            self.trim(self.k.saturating_mul(2).saturating_add(64));
        }
    }

    /// Drops all but the k + 1 smallest keys, once there are `most` candidates.
    fn trim(&mut self, most: usize) {
        if self.k < self.kept.len().saturating_sub(1) && most <= self.kept.len() {
            self.kept.select_nth_unstable_by(self.k, Candidate::order);
            self.kept.truncate(self.k + 1);
            self.bound = self.kept[self.k].key;
        }
    }

    /// Merges the rows of another part of the pool.
    ///
    /// # Panics
    /// If the other selection has a different seed or k.
    pub fn merge(&mut self, other: Self) {
        assert_eq!((self.seed, self.k), (other.seed, other.k), "parts of one selection have one seed and one k");
        self.rows += other.rows;
        self.total.merge(&other.total);
        self.kept.extend(other.kept);
        self.trim(0);
    }

    /// Returns the drawn rows. Returns an error if there are none, or if two candidates have the same id.
    pub fn finish(mut self) -> Result<Chosen, NoSelection> {
        if self.rows == 0 {
            return Err(NoSelection::Empty);
        }
        if self.kept.is_empty() {
            return Err(NoSelection::AllZero { rows: self.rows });
        }
        self.trim(0);
        self.kept.sort_unstable_by(Candidate::order);
        self.check_ids()?;
        let threshold = self.kept.get(self.k).map(|candidate| candidate.key);
        let sum = self.total.value();
        let mut left = self.total;
        self.kept.truncate(self.k);
        let draw = |Candidate { key, uncertainty, id, .. }| {
            let probability = uncertainty / left.value();
            left.subtract(uncertainty);
            let inclusion = threshold.map_or(1.0, |threshold| -f64::exp_m1(-uncertainty * threshold));
            SelectedRow { id, uncertainty, key, probability, inclusion }
        };
        Ok(Chosen { rows: self.rows, sum, threshold, drawn: self.kept.into_iter().map(draw).collect() })
    }

    /// Checks that no id appears twice among the k + 1 smallest keys.
    fn check_ids(&self) -> Result<(), NoSelection> {
        let mut by_id: Vec<&Candidate> = self.kept.iter().collect();
        by_id.sort_by(|a, b| a.id.cmp(&b.id).then(a.position.cmp(&b.position)));
        match by_id.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some([first, second]) => {
                Err(NoSelection::Twice { id: first.id.clone(), positions: [first.position, second.position] })
            }
            _ => Ok(()),
        }
    }
}

/// Selections are equal if they hold the same rows and would draw the same.
impl PartialEq for Selection {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Chosen {
    /// Returns the mean of U over the pool.
    pub fn mean(&self) -> f64 {
        self.sum / self.rows as f64
    }
}

/// Maps 64 bits to a uniform number on (0, 1), with fine steps near 0, where the drawn rows lie.
#[inline]
fn unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u128 << 64) as f64;
    (bits as f64 * STEP + 0.5 * STEP).min(1.0 - 0.5 * f64::EPSILON)
}
