//! Score tests with few draws that count.

use querist_engine::estimate::{DrawProbability, Estimate, Estimator, Judgement, LossMatrix};

const POOL: usize = 1000;
const DRAWS: usize = 100;

/// A draw that is predicted as class 1 and belongs to it.
struct Hit {
    /// The predicted probability of class 1.
    p: f64,
    /// The probability of the draw, relative to a uniform one.
    preference: f64,
}

fn losses(p: f64) -> [f64; 2] {
    [-(1.0 - p).ln(), -p.ln()]
}

/// Returns the precision of class 1, with these hits among draws that are predicted as class 0. A twentieth of the pool is
/// predicted as class 1.
fn precision(hits: &[Hit]) -> Estimate {
    let draw = |m: usize| {
        let uniform = 1.0 / (POOL - m) as f64;
        let preference = hits.get(m).map_or(1.0, |hit| hit.preference);
        DrawProbability::exact(preference * uniform, 0.1 * uniform)
    };
    let draws: Vec<DrawProbability> = (0..DRAWS).map(draw).collect();
    let class = |m: usize| usize::from(m < hits.len());
    let p = |m: usize| hits.get(m).map_or(0.02, |hit| hit.p);
    let judged: Vec<Judgement> =
        (0..DRAWS).map(|m| Judgement { loss: losses(p(m))[class(m)], predicted: class(m), truth: class(m) }).collect();
    let drawn: Vec<f64> = (0..DRAWS).flat_map(|m| losses(p(m))).collect();
    let of_item = |item: usize| if DRAWS <= item && item.is_multiple_of(20) { 0.85 } else { p(item) };
    let visit_all = |visit: &mut dyn FnMut(&[f64])| (0..POOL).for_each(|item| visit(&losses(of_item(item))));
    let matrix = LossMatrix { drawn: &drawn, classes: 2, pool: &visit_all, is_sample: false };
    let estimator = Estimator::new(POOL);
    let tests = estimator.score_tests(&matrix, &judged, &draws).unwrap();
    estimator.class_scores(&judged, &draws, 1, tests.as_ref()).unwrap().precision.unwrap()
}

/// Draws that were likely show too little variance: with five hits, precision could still be as low as a half.
#[test]
fn a_few_likely_draws_do_not_determine_a_ratio() {
    let hit = |p: f64| Hit { p, preference: 10.0 };
    let found = precision(&[0.55, 0.6, 0.7, 0.6, 0.55].map(hit));
    assert!(found.value == 1.0 && found.high == 1.0 && found.low < 0.6, "{found:?}");
}

/// One heavy hit excludes no low precision, even if light hits exclude some models between.
#[test]
fn models_that_are_excluded_between_others_do_not_end_an_interval() {
    let hits = [
        Hit { p: 0.95, preference: 0.2 },
        Hit { p: 0.55, preference: 10.0 },
        Hit { p: 0.52, preference: 10.0 },
        Hit { p: 0.9, preference: 10.0 },
    ];
    let found = precision(&hits);
    assert!(found.value == 1.0 && found.low < 0.3, "{found:?}");
}
