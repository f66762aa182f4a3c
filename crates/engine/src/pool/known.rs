//! Learning from many answers at once, which arrived while the learner was busy.

use super::{Drawn, PoolLearner};
use crate::rows::{Row, Rows};

/// An answer to a draw, with the loss of a model that had not seen it.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The features.
    pub x: Row<'a>,
    /// The draw.
    pub drawn: Drawn,
    /// The label.
    pub label: f64,
    /// 1 for a wrong decision and 0 for a correct one, or the loss for numbers.
    pub loss: f64,
}

impl PoolLearner {
    /// Adds seed labels before any answer: they are learned from, but excluded from estimates.
    ///
    /// # Panics
    /// If the learner takes steps, or already has answers.
    pub fn give_all(&mut self, given: &[(usize, Row<'_>, f64)]) {
        let fitting = self.fitting.as_ref().expect("labels are given to a learner that fits");
        assert!(fitting.draws.is_empty(), "labels are given before the first answer");
        self.in_steps(given.len(), |learner, index| {
            let (row, x, label) = given[index];
            if let Some(fitting) = &mut learner.fitting {
                fitting.give(row as u64, x, label);
            }
            learner.retired.retire(row);
        });
        self.askable = self.retired.left();
    }

    /// Learns from answers in order of arrival. The fit depends only on the answers, not on their division into calls.
    /// `askable` is the number of rows that could be asked at the start.
    ///
    /// # Panics
    /// If the learner takes steps.
    pub fn answer_all(&mut self, answers: &[Known<'_>], askable: usize) {
        assert!(self.fitting.is_some(), "answers are told to a learner that fits");
        self.askable = askable;
        self.in_steps(answers.len(), |learner, index| {
            let Known { x, drawn, label, loss } = answers[index];
            if let Some(fitting) = &mut learner.fitting {
                fitting.answer(x, drawn, label, loss);
            }
            learner.answered += 1;
            learner.time += 1;
        });
        self.rules.learned(answers.iter().map(|known| (known.x, known.label)), &self.learner);
        self.rules.switch(self.answered);
    }

    /// Adds answers one by one and fits whenever that takes part in choosing λ, so that λ evolves as in a run that fits
    /// after each answer. Then fits once more to all. Every fit starts from the last one that took part in choosing λ,
    /// which does not depend on the division into calls.
    fn in_steps(&mut self, count: usize, mut take: impl FnMut(&mut Self, usize)) {
        for index in 0..count {
            take(self, index);
            let due = self.fitting.as_ref().is_some_and(|fitting| fitting.refit.due() <= fitting.refit.answers());
            if due || index + 1 == count {
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

    /// Returns U of every row under the current model, 0 for retired ones.
    pub fn uncertainties(&mut self, rows: &Rows) -> Vec<f64> {
        self.take_scale(rows);
        self.scan(rows).all()
    }
}
