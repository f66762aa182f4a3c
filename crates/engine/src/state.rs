//! The state of a learner as 64-bit words, to save and restore a suspended run.
//!
//! A ledger records how a learner reached its state; these words hold only the state. Both restore the same bits.

/// A buffer of words to write to.
#[derive(Default)]
pub(crate) struct Words(pub(crate) Vec<u64>);

impl Words {
    pub(crate) fn whole(&mut self, value: u64) {
        self.0.push(value);
    }

    pub(crate) fn number(&mut self, value: f64) {
        self.0.push(value.to_bits());
    }

    pub(crate) fn numbers(&mut self, values: &[f64]) {
        self.whole(values.len() as u64);
        self.0.extend(values.iter().map(|value| value.to_bits()));
    }

    pub(crate) fn optional(&mut self, values: Option<&[f64]>) {
        self.whole(u64::from(values.is_some()));
        self.numbers(values.unwrap_or_default());
    }
}

/// Reads words in the order they were written; methods return `None` if the words do not fit.
pub(crate) struct Reader<'a>(pub(crate) &'a [u64]);

impl Reader<'_> {
    pub(crate) fn whole(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<f64> {
        self.whole().map(f64::from_bits)
    }

    pub(crate) fn numbers(&mut self) -> Option<Vec<f64>> {
        let length = usize::try_from(self.whole()?).ok()?;
        let (values, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(values.iter().map(|bits| f64::from_bits(*bits)).collect())
    }

    pub(crate) fn optional(&mut self, into: &mut Option<Vec<f64>>) -> Option<()> {
        let is_there = self.whole()? == 1;
        let values = self.numbers()?;
        *into = is_there.then_some(values);
        Some(())
    }
}
