//! The figure: points, and the lines on which the score is 0.

use querist_engine::synthetic::Mixture;
use querist_report::{Axis, Color, Figure, Panel, Series, SeriesMark};
use querist_rows::{DenseRows, Row, Rows};

use super::IllustratedPair;
use crate::ReproductionSettings;
use crate::mixture::Theta;

/// Half the side of the plotted square.
const REACH: f64 = 4.0;
/// The number of plotted observations.
const SHOWN: usize = 240;

pub(super) fn boundaries(settings: &ReproductionSettings, panels: &[IllustratedPair]) -> Figure {
    let points = points(settings.seed);
    let drawn = panels.iter().map(|panel| {
        let mut series = points.clone();
        // As in the paper, every local minimum is shown for the pairs that were run from several starts.
        let several = 2 < panel.runs.len();
        let minima = if several { &panel.minima[..] } else { &panel.minima[..1] };
        let runs = panel.runs.iter().filter(|(start, ..)| several == (start[1] != 0.0));
        series.push(lines("loss itself", Color::Gray, SeriesMark::Dotted, [panel.original]));
        series.push(lines("equivalent loss", Color::Green, SeriesMark::Line, minima.iter().copied()));
        series.push(lines("uncertainty sampling", Color::Red, SeriesMark::Dashed, runs.map(|(_, _, run)| run.last)));
        square(panel.title, series)
    });
    Figure {
        title: String::new(),
        caption:
            "Where the score is 0: for the minimizer of the loss itself, for the minimizers of the equivalent loss, \
                  and for Algorithm 1, whose lines lie on those of the equivalent loss. The threshold and hinge pairs \
                  have four minima each, reached from four starts; of the two other pairs that are not convex the \
                  global minimum is shown. Dots are observations."
                .to_owned(),
        panels: drawn.collect(),
    }
}

/// Creates a panel in the coordinates of the features.
pub(super) fn square(title: &str, series: Vec<Series>) -> Panel {
    let axis = |label: &str| Axis { range: Some((-REACH, REACH)), ..Axis::new(label) };
    Panel { title: title.to_owned(), x: axis("x₁"), y: axis("x₂"), series }
}

/// Returns the observations as one series per label.
pub(super) fn points(seed: u64) -> Vec<Series> {
    let (mut rows, mut labels) = (Rows::Dense(DenseRows::new(2)), vec![0.0; SHOWN]);
    Mixture::new(seed).fill(1, &mut rows, &mut labels);
    let of = |label: f64| {
        let shown = (0..SHOWN).filter(|i| labels[*i] == label).filter_map(|i| match rows.row(i) {
            Row::Dense(x) => Some((f64::from(x[0]), f64::from(x[1]))),
            Row::Sparse(_) => None,
        });
        shown.collect()
    };
    [("label +1", Color::Blue, 1.0), ("label −1", Color::Orange, -1.0)]
        .map(|(name, color, label)| Series {
            name: name.to_owned(),
            color,
            mark: SeriesMark::Points,
            points: of(label),
        })
        .to_vec()
}

/// Returns the lines w·x + b = 0 as one series.
pub(super) fn lines(name: &str, color: Color, mark: SeriesMark, thetas: impl IntoIterator<Item = Theta>) -> Series {
    let ends = thetas.into_iter().flat_map(|[w1, w2, b]| {
        let length = w1.hypot(w2);
        let foot = [-b * w1 / (length * length), -b * w2 / (length * length)];
        let along = [-w2 / length, w1 / length];
        let at = |t: f64| (foot[0] + t * along[0], foot[1] + t * along[1]);
        // A NaN point separates one line from the next.
        [at(-4.0 * REACH), at(4.0 * REACH), (f64::NAN, f64::NAN)]
    });
    Series { name: name.to_owned(), color, mark, points: ends.collect() }
}
