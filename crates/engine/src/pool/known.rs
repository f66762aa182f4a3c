//! A learner that is told of many answers at once: what people said while it was not looking.

use super::{Drawn, PoolLearner};
use crate::rows::{Row, Rows};

/// An answer to a draw, and what a model that had not seen it made of the item.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The features.
    pub x: Row<'a>,
    /// The draw.
    pub drawn: Drawn,
    /// The answer.
    pub label: f64,
    /// 1 for a wrong decision and 0 for a right one, or the loss for numbers.
    pub loss: f64,
}

impl PoolLearner {
    /// Labels known beforehand, before any answer: learned from, and kept out of estimates.
    ///
    /// # Panics
    /// When the learner takes steps, or has answers already.
    pub fn give_all(&mut self, given: &[(usize, Row<'_>, f64)]) {
        let fitting = self.fitting.as_ref().expect("labels are given to a learner that fits");
        assert!(fitting.draws.is_empty(), "labels are given before the first answer");
        self.in_steps(given.len(), |learner, place| {
            let (row, x, label) = given[place];
            if let Some(fitting) = &mut learner.fitting {
                fitting.give(row as u64, x, label);
            }
            learner.retired.retire(row);
        });
        self.askable = self.retired.left();
    }

    /// Answers in the order they came. What is fitted depends on them alone, not on how they are divided among calls.
    /// `askable` is how many rows could be asked at the start.
    ///
    /// # Panics
    /// When the learner takes steps.
    pub fn answer_all(&mut self, answers: &[Known<'_>], askable: usize) {
        assert!(self.fitting.is_some(), "answers are told to a learner that fits");
        self.askable = askable;
        self.in_steps(answers.len(), |learner, place| {
            let Known { x, drawn, label, loss } = answers[place];
            if let Some(fitting) = &mut learner.fitting {
                fitting.answer(x, drawn, label, loss);
            }
            learner.answered += 1;
            learner.time += 1;
        });
        self.rules.learned(answers.iter().map(|known| (known.x, known.label)), &self.learner);
        self.rules.switch(self.answered);
    }

    /// Takes answers one by one, and fits wherever that has a part in choosing λ, so that λ goes the way of a run that fits
    /// after each; then once more for all. Every fit starts from the last of the former kind, to which the division into calls
    /// means nothing.
    fn in_steps(&mut self, count: usize, mut take: impl FnMut(&mut Self, usize)) {
        for place in 0..count {
            take(self, place);
            let due = self.fitting.as_ref().is_some_and(|fitting| fitting.refit.due() <= fitting.refit.answers());
            if due || place + 1 == count {
                self.fit_again(due);
            }
        }
    }

    fn fit_again(&mut self, keep: bool) {
        let Some(mut fitting) = self.fitting.take() else { return };
        fitting.refit.go_back();
        self.learner.place(fitting.refit.theta());
        fitting.fit(self.askable, |x| self.uncertainty(x));
        if keep {
            fitting.refit.keep();
        }
        self.learner.place(fitting.refit.theta());
        self.fitting = Some(fitting);
        self.moved = true;
    }

    /// U of every row now, 0 for those that are not left.
    pub fn uncertainties(&mut self, rows: &Rows) -> Vec<f64> {
        self.take_scale(rows);
        self.scan(rows).all()
    }
}
