//! Steps never overflow: a run that diverges stops, and its model is the last finite one.

mod common;

use common::{LearnerRecipe, plain};
use querist_engine::step::StepSize;
use querist_engine::stream::Trace;
use querist_engine::task::Labels;
use querist_rows::{DenseRows, Rows};

#[test]
fn parameters_stay_finite_for_every_step_and_scale() {
    let (mut cells, mut stopped) = (0, 0);
    let losses = [
        ("logistic", Labels::Binary),
        ("hinge", Labels::Binary),
        ("squared-hinge", Labels::Binary),
        ("exponential", Labels::Binary),
        ("cross-entropy", Labels::Classes(3)),
        ("squared", Labels::Numbers),
    ];
    for (loss, labels) in losses {
        for step in [
            StepSize::Auto,
            StepSize::Fixed(1e-6),
            StepSize::Fixed(1.0),
            StepSize::Fixed(1e6),
            StepSize::InverseSqrt(1e6),
        ] {
            for scale in [1e-30_f32, 1e-10, 1.0, 1e10, 1e30] {
                for kind in ["plain", "constant", "duplicated"] {
                    let (rows, targets) = plain(60, 4, 9, labels);
                    let Rows::Dense(rows) = rows else { panic!("dense") };
                    let values = rows.values().iter().enumerate().map(|(i, x)| match kind {
                        "plain" => x * scale,
                        "constant" => scale,
                        _ => rows.values()[i % 8] * scale,
                    });
                    let rows = Rows::Dense(DenseRows::from_values(4, values.collect()).unwrap());
                    let mut learner =
                        LearnerRecipe { labels, step, ..LearnerRecipe::new(loss, "constant", 4) }.stream();
                    let done = learner.learn_rows(&rows, &targets, &mut Trace::default());
                    cells += 1;
                    stopped += usize::from(done.is_err());
                    let what = format!("{loss}, {step:?}, {kind} × {scale}: {done:?}");
                    assert!(learner.learner().theta().iter().all(|t| t.is_finite()), "{what}");
                    assert!(learner.mean().iter().all(|t| t.is_finite()), "{what}");
                }
            }
        }
    }
    assert_eq!(cells, 6 * 5 * 5 * 3);
    assert!(20 < stopped && stopped < cells / 2, "{stopped} of {cells} diverged");
}

#[test]
fn the_last_good_model_is_kept() {
    let (rows, labels) = plain(200, 4, 10, Labels::Numbers);
    let recipe = LearnerRecipe {
        labels: Labels::Numbers,
        step: StepSize::Fixed(30.0),
        ..LearnerRecipe::new("squared", "constant", 4)
    };
    let mut learner = recipe.stream();
    let mut trace = Trace::default();
    let diverged = learner.learn_rows(&rows, &labels, &mut trace).unwrap_err();
    let kept = learner.learner().theta();
    assert!(trace.asked.len() < 200 && 1e10 < diverged.score.max(diverged.distance));
    // The same rows without the last give the model that was kept.
    let done = trace.asked.len() - 1;
    let mut before = recipe.stream();
    for i in 0..done {
        let offer = before.offer(rows.row(i));
        before.answer(rows.row(i), offer.probability, labels[i]).unwrap();
    }
    assert_eq!(before.learner().theta(), kept);
    assert!(diverged.to_string().starts_with("the run diverges"));
}
