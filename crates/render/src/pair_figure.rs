//! The two-panel figure of a pair, as in the paper's Figures (labels fig:entropy to fig:exponential).

use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};
use querist_theory::coordinate::{Coordinate, Label};
use querist_theory::equivalent::Queried;
use querist_theory::link::Link;
use querist_theory::loss::{Loss, LossTask, Squared};
use querist_theory::registry::Named;
use querist_theory::risk::Risk;

use std::sync::Arc;

/// Draws a pair. Left: the equivalent loss for both labels and its mean at p = 0.3 and 0.7 with their minima. Right: H,
/// ŷ* and ψ.
pub fn of_pair(pair: &Queried) -> Figure {
    let title = format!("{} queried by {}", pair.loss().name, pair.rule().name);
    if pair.loss_facts().task == LossTask::Regression {
        return regression(pair, title);
    }
    Figure {
        title,
        caption:
            "Left: the equivalent loss ℓ̃ for either label, its mean for P(y = +1) = 0.3 and 0.7, and where that is \
                  least. Right: the least mean H(p), the prediction ŷ*(p) that reaches it, and the link ψ(z), by \
                  which excess risk bounds excess error."
                .to_owned(),
        panels: vec![losses(pair), links(pair)],
    }
}

/// Returns the plotted prediction: the score itself, or ŷ = 2q − 1 for a loss given in the probability.
fn plotted(pair: &Queried, s: f64) -> f64 {
    match pair.loss_facts().coordinate {
        Coordinate::Score => s,
        Coordinate::Probability => (0.5 * s).tanh(),
    }
}

fn losses(pair: &Queried) -> Panel {
    let (reach, label) = match pair.loss_facts().coordinate {
        Coordinate::Score => (4.0, "prediction ŷ"),
        Coordinate::Probability => (0.999, "prediction ŷ = 2q − 1"),
    };
    let value = |x: f64, label: Label| match pair.loss_facts().coordinate {
        Coordinate::Score => pair.value(label.sign() * x),
        Coordinate::Probability => pair.at_probability(0.5 * (1.0 + x), label).equivalent,
    };
    let mean = |p: f64, x: f64| p * value(x, Label::Plus) + (1.0 - p) * value(x, Label::Minus);
    let grid = grid(-reach, reach, pair.kinks());
    let curve = |name: &str, color, mark, f: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        color,
        mark,
        points: grid.iter().map(|&x| (x, f(x))).collect(),
    };
    let risk = Risk::new(pair);
    let minima = [0.3, 0.7].map(|p| {
        let x = plotted(pair, risk.minimizer(p));
        (x, mean(p, x))
    });
    // Clip a loss that explodes far out, which would flatten the rest.
    let top = value(-reach, Label::Plus).min(4.0 * value(0.0, Label::Plus).max(0.25));
    Panel {
        title: "equivalent loss".to_owned(),
        x: Axis { range: Some((-reach, reach)), ..Axis::new(label) },
        y: Axis { range: Some((0.0, 1.05 * top)), ..Axis::new("ℓ̃") },
        series: vec![
            curve("ℓ̃(ŷ, +1)", Color::Blue, SeriesMark::Line, &|x| value(x, Label::Plus)),
            curve("ℓ̃(ŷ, −1)", Color::Orange, SeriesMark::Line, &|x| value(x, Label::Minus)),
            curve("mean, p = 0.3", Color::Green, SeriesMark::Dashed, &|x| mean(0.3, x)),
            curve("mean, p = 0.7", Color::Purple, SeriesMark::Dashed, &|x| mean(0.7, x)),
            Series {
                name: "minimum".to_owned(),
                color: Color::Gray,
                mark: SeriesMark::Points,
                points: minima.to_vec(),
            },
        ],
    }
}

fn links(pair: &Queried) -> Panel {
    let risk = Risk::new(pair);
    let link = Link::new(pair);
    let curve = |name: &str, color, mark, f: &dyn Fn(f64) -> f64| Series {
        name: name.to_owned(),
        color,
        mark,
        points: unit_grid().map(|x| (x, f(x))).collect(),
    };
    let risks = curve("H(p)", Color::Blue, SeriesMark::Line, &|p| risk.bayes(p));
    let links = curve("ψ(z)", Color::Red, SeriesMark::Line, &|z| link.as_ref().map_or(f64::NAN, |link| link.value(z)));
    let best = curve("ŷ*(p)", Color::Gray, SeriesMark::Dashed, &|p| plotted(pair, risk.minimizer(p)));
    let highest = |series: &Series| series.points.iter().map(|(_, y)| *y).filter(|y| y.is_finite()).fold(0.0, f64::max);
    // If predictions stay within reach, all of ŷ* is shown; otherwise only its middle.
    let reach = best.points.iter().map(|(_, y)| y.abs()).fold(0.1, f64::max);
    let widest = if reach <= 2.0 { 1.05 * reach } else { 0.1 };
    let top = (1.15 * highest(&risks).max(highest(&links))).max(widest);
    Panel {
        title: "risk and link".to_owned(),
        x: Axis { range: Some((0.0, 1.0)), ..Axis::new("p, z") },
        y: Axis { range: Some((-top, top)), ..Axis::new("H, ψ, ŷ*") },
        series: vec![risks, best, links],
    }
}

fn regression(pair: &Queried, title: String) -> Figure {
    let grid = grid(-4.0, 4.0, pair.kinks());
    let at_target = |target: f64, color| {
        let loss: Arc<dyn Loss> = Arc::new(Squared { target });
        let shifted = Queried::new(Named::own("squared", loss), pair.rule().clone());
        Series {
            name: format!("target {target}").replace('-', "−"),
            color,
            mark: SeriesMark::Line,
            points: grid.iter().map(|&s| (s, shifted.value(s))).collect(),
        }
    };
    let asking = Series {
        name: String::new(),
        color: Color::Blue,
        mark: SeriesMark::Line,
        points: grid.iter().map(|&s| (s, pair.rule().at(s))).collect(),
    };
    Figure {
        title,
        caption: "Left: the equivalent loss of a prediction for three targets. Right: the probability of asking."
            .to_owned(),
        panels: vec![
            Panel {
                title: "equivalent loss".to_owned(),
                x: Axis::new("prediction ŷ"),
                y: Axis::new("ℓ̃"),
                series: vec![at_target(-2.0, Color::Orange), at_target(0.0, Color::Blue), at_target(2.0, Color::Green)],
            },
            Panel {
                title: "rule".to_owned(),
                x: Axis::new("prediction ŷ"),
                y: Axis { range: Some((0.0, 1.05 * pair.rule_facts().max)), ..Axis::new("U") },
                series: vec![asking],
            },
        ],
    }
}

/// Returns an even grid with the kinks added, so that corners are sharp.
fn grid(low: f64, high: f64, kinks: &[f64]) -> Vec<f64> {
    let mut points: Vec<f64> = (0..=240).map(|i| low + (high - low) * f64::from(i) / 240.0).collect();
    points.extend(kinks.iter().flat_map(|k| [*k, -k]).filter(|k| low < *k && *k < high));
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

/// Returns a grid from 0 to 1, finer towards the ends, where H and ψ can be vertical.
fn unit_grid() -> impl Iterator<Item = f64> {
    (0..=160).map(|i| 0.5 - 0.5 * (std::f64::consts::PI * f64::from(i) / 160.0).cos())
}
