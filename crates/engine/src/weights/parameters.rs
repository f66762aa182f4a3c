//! Numbers for every parameter, with the weights aligned to a cache line.
//!
//! A wide register holds a whole line. A vector across two lines is read and written in two parts, and a read waits
//! longer for a write just before it.

use std::ops::{Deref, DerefMut};

use crate::numbers::Zeros;

/// The number of `f64` in a cache line.
const LINE: usize = 8;

/// θ, or a sum for each of its numbers.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The numbers, with unused space before them and zeros after.
    room: Zeros,
    first: usize,
    len: usize,
    /// The number of intercepts, which come before the weights.
    intercepts: usize,
}

impl Parameters {
    /// Copies numbers, the first of which are intercepts.
    pub(crate) fn new(numbers: &[f64], intercepts: usize) -> Self {
        let mut parameters = Self::zeros(numbers.len(), intercepts);
        parameters.copy_from_slice(numbers);
        parameters
    }

    /// Makes `len` zeros, the first of which are intercepts.
    pub(crate) fn zeros(len: usize, intercepts: usize) -> Self {
        let room = Zeros::new(len + 3 * LINE);
        let to_line = room.as_ptr().align_offset(LINE * size_of::<f64>()) % LINE;
        let first = (to_line + LINE - intercepts % LINE) % LINE;
        Self { room, first, len, intercepts }
    }

    /// Appends zeros up to this many parameters.
    pub(crate) fn widen(&mut self, parameters: usize) {
        let len = self.len;
        self.len = parameters.max(len);
        if self.room.len() < self.end() {
            // Doubling the space avoids a copy for each of many features that arrive one by one.
            let mut wider = Self::zeros(self.len.max(2 * len), self.intercepts);
            wider[..len].copy_from_slice(&self.room[self.first..self.first + len]);
            wider.len = self.len;
            *self = wider;
        }
    }

    /// Returns the end of the cache line of the last weight.
    fn end(&self) -> usize {
        let weights = self.len.saturating_sub(self.intercepts).next_multiple_of(LINE);
        self.first + self.intercepts + weights
    }

    /// Returns the intercepts, and the weights by whole lines. Numbers after the last weight are 0 and must remain 0.
    #[inline]
    pub(crate) fn lines_mut(&mut self) -> (&mut [f64], &mut [[f64; LINE]]) {
        let end = self.end();
        let (intercepts, weights) = self.room[self.first..end].split_at_mut(self.intercepts);
        (intercepts, weights.as_chunks_mut().0)
    }
}

impl Deref for Parameters {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        &self.room[self.first..self.first + self.len]
    }
}

impl DerefMut for Parameters {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.room[self.first..self.first + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_aligned() {
        for intercepts in [1, 2, 7, 8, 9, 20] {
            let numbers: Vec<f64> = (0..50).map(f64::from).collect();
            let mut parameters = Parameters::new(&numbers, intercepts);
            let begins = |of: &Parameters| of[intercepts..].as_ptr().align_offset(64) == 0;
            assert!(begins(&parameters), "{intercepts} intercepts");
            assert_eq!(&*parameters, &*numbers);
            parameters.widen(70);
            assert!(begins(&parameters), "{intercepts} intercepts, widened");
            assert_eq!((&parameters[..50], &parameters[50..]), (&*numbers, &[0.0; 20][..]));
            // This length uses large pages.
            parameters.widen(600_000);
            assert!(begins(&parameters), "{intercepts} intercepts, many");
            assert_eq!(&parameters[..50], &*numbers);
            assert!(parameters.len() == 600_000 && parameters[50..].iter().all(|number| *number == 0.0));
            assert_eq!(parameters.lines_mut().1.len(), (600_000 - intercepts).div_ceil(8));
        }
    }
}
