//! The paper's mixture of four Gaussians (§4.4), generated on the fly: an observation is a function of (seed, time).

// The helpers are inlined into one dispatched loop.
#![allow(clippy::inline_always)]

use crate::coin::Coin;
use crate::elementary::single;
use crate::rows::{DenseRows, Rows};
use crate::simd::dispatch;

/// A mixture of Gaussians N(m, ¼I). Those at (±2, 0) are labeled +1, with weights .2 (left) and .3; those at (0, ∓2)
/// are labeled −1, with weights .4 (below) and .1.
#[derive(Clone, Copy, Debug)]
pub struct Mixture {
    radius: Coin,
    angle: Coin,
}

/// The number of observations generated at a time.
const CHUNK: usize = 256;

impl Mixture {
    /// Returns the mixture of this seed.
    pub fn new(seed: u64) -> Self {
        Self { radius: Coin::new(seed, "mixture radius"), angle: Coin::new(seed, "mixture angle") }
    }

    /// Generates the observations from time `first` on, as many as `labels` has elements.
    pub fn fill(&self, first: u64, rows: &mut Rows, labels: &mut [f64]) {
        let mut values = match rows {
            Rows::Dense(rows) => std::mem::take(rows).into_values(),
            Rows::Sparse(_) => vec![],
        };
        values.resize(2 * labels.len(), 0.0);
        let (mixture, pairs) = (*self, values.as_chunks_mut::<2>().0);
        dispatch(
            #[inline(always)]
            move || {
                let mut time = first;
                for (pairs, labels) in pairs.chunks_mut(CHUNK).zip(labels.chunks_mut(CHUNK)) {
                    mixture.chunk(time, pairs, labels);
                    time = time.wrapping_add(CHUNK as u64);
                }
            },
        );
        *rows = Rows::Dense(DenseRows::from_values(2, values).unwrap_or_default());
    }

    /// Generates pairs of normals by Box and Muller around a center, in single precision, in which features are stored.
    ///
    /// Several short loops are faster than one long loop, which would wait for its chain of dependent operations.
    #[inline(always)]
    fn chunk(self, first: u64, pairs: &mut [[f32; 2]], labels: &mut [f64]) {
        let (mut bits, mut spare) = ([0; CHUNK], [0; CHUNK]);
        let (mut radius, mut component) = ([0.0; CHUNK], [0.0; CHUNK]);
        halves(self.radius, first, &mut bits, &mut spare);
        for (radius, bits) in radius.iter_mut().zip(&bits) {
            // In (0, 1]: the logarithm is finite, and near 0 the steps are fine enough for six standard deviations.
            *radius = 0.5 * (2.0 * single::neg_ln_unit(single::unit(*bits))).sqrt();
        }
        for (component, spare) in component.iter_mut().zip(&spare) {
            *component = single::unit(*spare);
        }
        halves(self.angle, first, &mut bits, &mut spare);
        for (((pair, bits), radius), u) in pairs.iter_mut().zip(&bits).zip(&radius).zip(&component) {
            let (cosine, sine) = single::cos_sin_turn(single::unit(*bits));
            let across = if *u < 0.2 { -2.0 } else { 2.0 };
            let along = if *u < 0.9 { -2.0 } else { 2.0 };
            let (x, y) = if *u < 0.5 { (across, 0.0) } else { (0.0, along) };
            *pair = [x + radius * cosine, y + radius * sine];
        }
        for (label, u) in labels.iter_mut().zip(&component) {
            *label = if *u < 0.5 { 1.0 } else { -1.0 };
        }
    }
}

/// Splits consecutive random bits into upper and lower halves, so that later loops run over 32-bit numbers.
#[inline(always)]
fn halves(coin: Coin, first: u64, upper: &mut [u32; CHUNK], lower: &mut [u32; CHUNK]) {
    for ((upper, lower), bits) in upper.iter_mut().zip(lower).zip(coin.bits_from(first)) {
        *upper = (bits >> 32) as u32;
        *lower = bits as u32;
    }
}
