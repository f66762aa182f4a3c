//! Numbers for every parameter, the weights from the beginning of a line of the cache on.
//!
//! Wide registers hold a whole line. A register's worth that lies across two lines is read and written in two parts, and
//! what was just written is waited for longer.

use std::ops::{Deref, DerefMut};

/// How many numbers a line of the cache holds.
const LINE: usize = 8;

/// θ, or a sum for every number of it.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// The numbers, with unused room before them, and zeros behind to the end of a line.
    room: Vec<f64>,
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
    pub(crate) fn zeros(parameters: usize, intercepts: usize) -> Self {
        let mut zeros = Self::with_room(parameters, intercepts);
        zeros.widen(parameters);
        zeros
    }

    /// None yet, with room for so many.
    fn with_room(parameters: usize, intercepts: usize) -> Self {
        let mut room: Vec<f64> = Vec::with_capacity(parameters + 2 * LINE);
        let to_line = room.as_ptr().align_offset(LINE * size_of::<f64>()) % LINE;
        let first = (to_line + LINE - intercepts % LINE) % LINE;
        room.resize(first, 0.0);
        Self { room, first, len: 0, intercepts }
    }

    /// More of them, 0 for now.
    pub(crate) fn widen(&mut self, parameters: usize) {
        let weights = parameters.saturating_sub(self.intercepts).next_multiple_of(LINE);
        let end = self.first + self.intercepts + weights;
        if self.room.capacity() < end {
            // Twice the room, so that features that come one by one are not all copied for each.
            let mut wider = Self::with_room(parameters.max(2 * self.len), self.intercepts);
            wider.room.extend_from_slice(self);
            *self = wider;
            return self.widen(parameters);
        }
        self.room.resize(end, 0.0);
        self.len = parameters;
    }

    /// The intercepts, and the weights by whole lines; what is beyond the last weight is 0 and stays so.
    #[inline]
    pub(crate) fn lines_mut(&mut self) -> (&mut [f64], &mut [[f64; LINE]]) {
        let (intercepts, weights) = self.room[self.first..].split_at_mut(self.intercepts);
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
        }
    }
}
