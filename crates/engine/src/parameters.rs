//! Numbers for every parameter, the weights from the beginning of a line of the cache on.
//!
//! Wide registers hold a whole line. A register's worth that lies across two lines is read and written in two parts, and
//! what was just written is waited for longer.

use std::ops::{Deref, DerefMut};

use crate::numbers::Zeros;

/// How many numbers a line of the cache holds.
const LINE: usize = 8;

/// θ, or a sum for every number of it.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The numbers, with unused room before them, and zeros behind.
    room: Zeros,
    first: usize,
    len: usize,
    /// How many come before the weights.
    intercepts: usize,
}

impl Parameters {
    /// These numbers, so many of them intercepts.
    pub(crate) fn new(numbers: &[f64], intercepts: usize) -> Self {
        let mut parameters = Self::zeros(numbers.len(), intercepts);
        parameters.copy_from_slice(numbers);
        parameters
    }

    /// 0 throughout.
    pub(crate) fn zeros(len: usize, intercepts: usize) -> Self {
        let room = Zeros::new(len + 3 * LINE);
        let to_line = room.as_ptr().align_offset(LINE * size_of::<f64>()) % LINE;
        let first = (to_line + LINE - intercepts % LINE) % LINE;
        Self { room, first, len, intercepts }
    }

    /// More of them, 0 for now.
    pub(crate) fn widen(&mut self, parameters: usize) {
        let len = self.len;
        self.len = parameters.max(len);
        if self.room.len() < self.end() {
            // Twice the room, so that features that come one by one are not all copied for each.
            let mut wider = Self::zeros(self.len.max(2 * len), self.intercepts);
            wider[..len].copy_from_slice(&self.room[self.first..self.first + len]);
            wider.len = self.len;
            *self = wider;
        }
    }

    /// Where the line of the last weight ends.
    fn end(&self) -> usize {
        let weights = self.len.saturating_sub(self.intercepts).next_multiple_of(LINE);
        self.first + self.intercepts + weights
    }

    /// The intercepts, and the weights by whole lines; what is beyond the last weight is 0 and stays so.
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

impl Default for Parameters {
    fn default() -> Self {
        Self::zeros(0, 0)
    }
}

impl Clone for Parameters {
    fn clone(&self) -> Self {
        Self::new(self, self.intercepts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_begin_a_line() {
        for intercepts in [1, 2, 7, 8, 9, 20] {
            let numbers: Vec<f64> = (0..50).map(f64::from).collect();
            let mut parameters = Parameters::new(&numbers, intercepts);
            let begins = |of: &Parameters| of[intercepts..].as_ptr().align_offset(64) == 0;
            assert!(begins(&parameters) && begins(&parameters.clone()), "{intercepts} intercepts");
            assert_eq!((&*parameters, &*parameters.clone()), (&*numbers, &*numbers));
            parameters.widen(70);
            assert!(begins(&parameters), "{intercepts} intercepts, widened");
            assert_eq!((&parameters[..50], &parameters[50..]), (&*numbers, &[0.0; 20][..]));
            // So many that they stand in large pages.
            parameters.widen(600_000);
            assert!(begins(&parameters) && begins(&parameters.clone()), "{intercepts} intercepts, many");
            assert_eq!(&parameters[..50], &*numbers);
            assert!(parameters.len() == 600_000 && parameters[50..].iter().all(|number| *number == 0.0));
            assert_eq!(parameters.lines_mut().1.len(), (600_000 - intercepts).div_ceil(8));
        }
    }
}
