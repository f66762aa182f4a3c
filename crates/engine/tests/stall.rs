//! A vanished query rate is detected, however high the rate was before.

mod common;

use common::LearnerRecipe;
use querist_engine::stream::Trace;
use querist_rows::{DenseRows, Rows};

/// Returns the recent rate after uncertain rows and then a share of certain rows, with steps too small to matter.
fn rate_at_the_end(rows: usize, share: f64) -> f64 {
    let sure = (rows as f64 * share) as usize;
    let values = (0..rows).map(|row| if row < rows - sure { 0.0 } else { 100.0 }).collect();
    let rows_of_one = Rows::Dense(DenseRows::from_values(1, values).unwrap());
    let recipe = LearnerRecipe {
        step: querist_engine::step::StepSize::Fixed(1e-12),
        start: Some(vec![1.0, 0.0]),
        ..LearnerRecipe::new("logistic", "entropy", 1)
    };
    let mut learner = recipe.stream();
    learner.learn_rows(&rows_of_one, &vec![1.0; rows], &mut Trace::default()).unwrap();
    learner.recent_rate()
}

#[test]
fn the_recent_rate_is_that_of_the_last_part() {
    for rows in [1000, 4096, 5000, 60_000] {
        let vanished = rate_at_the_end(rows, 0.3);
        assert!(vanished < 1e-30, "{rows} rows: {vanished}");
        let lasted = rate_at_the_end(rows, 0.02);
        assert!(0.4 < lasted && lasted < 0.69, "{rows} rows: {lasted}");
    }
}
