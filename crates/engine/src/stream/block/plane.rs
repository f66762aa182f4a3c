//! Observations in the plane, whole runs of them judged at once.
//!
//! In the plane a score costs less than a branch that the processor guesses wrong. So all observations of a run are
//! scored by the θ of its start, and those that could be asked if scores changed by a little are the candidates. Only
//! they are looked at in turn, for as long as θ stays near enough to be sure of the others. Every score that is kept is
//! by the θ of its own time.

use super::BLOCK;
use super::candidates::Ask;
use crate::lanes::{Eight, LANES, Work, by_eights};
use crate::rule::Guide;
use crate::simd::dispatch;

/// By how much scores may change before candidates are sought anew.
const MARGIN: f64 = 1.0 / 32.0;
/// Rounding of a score, relative to the size of its terms, and a thousandfold more.
const ROUNDING: f64 = 1e-12;

/// More than there are candidates in a block; a power of 2, so that no place in it needs a check.
const ROOM: usize = 2 * BLOCK;

/// What is found of a run of observations; kept from run to run for its room.
#[derive(Debug)]
pub(in crate::stream) struct Run {
    /// The θ candidates were sought with: intercept and two weights.
    start: [f64; 3],
    /// The largest |x₁| and |x₂|.
    widest: [f64; 2],
    /// For each: how far it is inside of where it might be asked; negative where it is not.
    inside: Vec<f64>,
    candidates: Vec<u16>,
    /// Of each eight: bits for those that are candidates.
    chosen: Vec<u8>,
    /// θ before the first candidate and after each, parameter by parameter: side by side they would be kept in one
    /// register, and a step would wait for their shuffling.
    history: [Box<[f64; ROOM]>; 3],
    /// Room for the candidates that are answered.
    pub(super) asks: Vec<Ask>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            start: [0.0; 3],
            widest: [0.0; 2],
            inside: vec![],
            candidates: vec![],
            chosen: vec![],
            history: std::array::from_fn(|_| Box::new([0.0; ROOM])),
            asks: vec![],
        }
    }
}

/// The first three parameters.
#[inline]
pub(super) fn three(theta: &[f64]) -> [f64; 3] {
    match theta {
        [b, v, w, ..] => [*b, *v, *w],
        _ => [0.0; 3],
    }
}

/// The same sum as that of a row and its weights.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
pub(super) fn score([b, v, w]: [f64; 3], [x, y]: [f32; 2]) -> f64 {
    b + (f64::from(x) * v + f64::from(y) * w)
}

impl Run {
    /// Seeks the candidates among these observations.
    pub(super) fn seek(&mut self, theta: &[f64], guide: &Guide, pairs: &[[f32; 2]], coins: &[f64]) {
        let start = three(theta);
        self.start = start;
        self.inside.clear();
        self.inside.extend(coins.iter().map(|coin| guide.skipped_from(*coin)));
        let inside = &mut self.inside[..];
        self.widest = dispatch(
            #[inline(always)]
            move || judge(start, pairs, inside),
        );
        // Eight are written at a time. What is no observation is no candidate.
        let room = pairs.len().next_multiple_of(LANES);
        self.inside.resize(room, -1.0);
        self.candidates.resize(room + LANES, 0);
        self.chosen.resize(room / LANES, 0);
        let (inside, candidates) = (self.inside.as_chunks().0, &mut self.candidates[..]);
        let n_candidates = by_eights(Gather { inside, candidates, chosen: &mut self.chosen });
        self.candidates.truncate(n_candidates);
    }

    /// The candidate of this number.
    #[inline]
    pub(super) fn candidate(&self, number: usize) -> Option<usize> {
        self.candidates.get(number).map(|place| *place as usize)
    }

    /// θ as the candidate of this number finds it.
    #[inline]
    pub(super) fn remember(&mut self, number: usize, theta: [f64; 3]) {
        for (parameter, now) in self.history.iter_mut().zip(theta) {
            parameter[number % ROOM] = now;
        }
    }

    /// The scores of the first observations, each by the θ of its own time. Which θ that is cannot be guessed, so no
    /// branch asks.
    pub(super) fn score(&self, pairs: &[[f32; 2]], scores: &mut [f64]) {
        by_eights(InTheirTime { run: self, pairs, scores });
    }

    /// Whether the candidates are still all there are when θ is this.
    #[inline]
    pub(super) fn holds(&self, theta: [f64; 3]) -> bool {
        self.drift(theta) <= self.limit()
    }

    /// How many answers can follow on this θ, each of which moves a score by so much at most, before that must be asked.
    #[inline]
    pub(super) fn answers_that_hold(&self, theta: [f64; 3], most: f64) -> u64 {
        // Half of what there is room for: a number of answers is never off by that much. What is no number is 0.
        ((self.limit() - self.drift(theta)) / most * 0.5) as u64
    }

    /// The largest |x₁| and |x₂|.
    pub(super) fn widest(&self) -> [f64; 2] {
        self.widest
    }

    /// The largest score that any θ of the run could give.
    pub(super) fn farthest(&self) -> f64 {
        self.reach(self.start) + 2.0 * MARGIN
    }

    /// By how much a score can have changed since the start.
    #[inline]
    fn drift(&self, [b, v, w]: [f64; 3]) -> f64 {
        self.reach([b - self.start[0], v - self.start[1], w - self.start[2]])
    }

    /// By how much it may. A score's terms are no larger than at the start and this together.
    #[inline]
    fn limit(&self) -> f64 {
        MARGIN - 2.0 * ROUNDING * (self.reach(self.start) + MARGIN)
    }

    /// The largest score these parameters could give.
    #[inline]
    fn reach(&self, [b, v, w]: [f64; 3]) -> f64 {
        b.abs() + v.abs() * self.widest[0] + w.abs() * self.widest[1]
    }
}

/// How far each is inside of where it might be asked, given where it would be skipped for certain.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
fn judge(theta: [f64; 3], pairs: &[[f32; 2]], inside: &mut [f64]) -> [f64; 2] {
    for (inside, pair) in inside.iter_mut().zip(pairs) {
        *inside = (*inside + MARGIN) - score(theta, *pair).abs();
    }
    // Floats without their signs are ordered as their bits, and whole numbers have a maximum in any order.
    let mut widest = [0_u32; 2];
    for [x, y] in pairs {
        widest = [widest[0].max(x.abs().to_bits()), widest[1].max(y.abs().to_bits())];
    }
    widest.map(|bits| f64::from(f32::from_bits(bits)))
}

/// Finds the places of those inside, without a branch: which they are cannot be guessed.
struct Gather<'a> {
    inside: &'a [[f64; LANES]],
    candidates: &'a mut [u16],
    chosen: &'a mut [u8],
}

impl Work for Gather<'_> {
    type Made = usize;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn run<E: Eight>(self, eight: E) -> usize {
        let (mut first, mut count) = (0, 0);
        for (inside, chosen) in self.inside.iter().zip(self.chosen) {
            // What is no number is looked at, too.
            *chosen = eight.not_negative(eight.load(inside));
            let places = &CHOICES[*chosen as usize].places;
            for (candidate, place) in self.candidates[count..count + LANES].iter_mut().zip(places) {
                *candidate = first + place;
            }
            first += LANES as u16;
            count += chosen.count_ones() as usize;
        }
        count
    }
}

/// Scores observations by the θ that the candidates before them left.
struct InTheirTime<'a> {
    run: &'a Run,
    pairs: &'a [[f32; 2]],
    scores: &'a mut [f64],
}

impl Work for InTheirTime<'_> {
    type Made = ();

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "the body of a dispatched loop")]
    fn run<E: Eight>(self, eight: E) {
        let Run { history: [b, v, w], chosen, .. } = self.run;
        let ((eights, rest), (scored, left)) = (self.pairs.as_chunks(), self.scores.as_chunks_mut());
        let (mut number, mut chosen) = (0, chosen.iter());
        for ((pairs, scores), chosen) in eights.iter().zip(scored).zip(&mut chosen) {
            let before = &CHOICES[*chosen as usize].before;
            let (x, y) = eight.split(pairs);
            let (x, y) = (
                eight.multiply(x, eight.pick(eight_from(v, number), before)),
                eight.multiply(y, eight.pick(eight_from(w, number), before)),
            );
            eight.store(eight.add(eight.pick(eight_from(b, number), before), eight.add(x, y)), scores);
            number += chosen.count_ones() as usize;
        }
        let before = chosen.next().map_or(&[0; LANES], |chosen| &CHOICES[*chosen as usize].before);
        for ((score, pair), before) in left.iter_mut().zip(rest).zip(before) {
            let at = (number + *before as usize) % ROOM;
            *score = self::score([b[at], v[at], w[at]], *pair);
        }
    }
}

/// What eight candidates in a row found, the first of which has so many before it: fewer than a block has observations.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a part of a dispatched loop")]
fn eight_from(history: &[f64; ROOM], number: usize) -> &[f64; LANES] {
    history[number % BLOCK..].first_chunk().unwrap_or(&[0.0; LANES])
}

/// Some of eight: their places, and how many of them come before each of the eight.
struct Choice {
    places: [u16; LANES],
    before: [u16; LANES],
}

/// By the bits that are set for those chosen.
static CHOICES: [Choice; 1 << LANES] = choices();

const fn choices() -> [Choice; 1 << LANES] {
    let mut choices = [const { Choice { places: [0; LANES], before: [0; LANES] } }; 1 << LANES];
    let mut bits = 0;
    while bits < choices.len() {
        let (mut lane, mut count) = (0, 0);
        while lane < LANES {
            choices[bits].before[lane] = count as u16;
            if bits >> lane & 1 == 1 {
                choices[bits].places[count] = lane as u16;
                count += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    choices
}
