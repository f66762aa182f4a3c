//! Building blocks of a report's figures.

use querist_report::{Axis, AxisScale, Color, Figure, Panel, Series, SeriesMark};

/// A figure, or a sentence with the reason why there is none.
pub(super) type Shown = Result<Figure, String>;

pub(super) type Points = Vec<(f64, f64)>;

/// The ratio of the largest to the smallest value above which an axis is logarithmic.
const FAR_APART: f64 = 30.0;

pub(super) fn line(name: &str, color: Color, mark: SeriesMark, points: Points) -> Series {
    Series { name: name.to_owned(), color, mark, points }
}

pub(super) fn one_panel(title: &str, caption: &str, x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    let panels = vec![Panel { title: String::new(), x, y, series }];
    Figure { title: title.to_owned(), caption: caption.to_owned(), panels }
}

/// The ratio of the axis to the last value; the excess keeps the last mark from being cut off.
const BEYOND: f64 = 1.02;

/// Returns an axis from 0 to a little above the largest value; shares end at 1.
pub(super) fn from_zero(label: &str, series: &[Series], is_share: bool) -> Axis {
    let high = 1.06 * highest(series);
    let high = if is_share { high.min(BEYOND) } else { high };
    Axis { range: (0.0 < high).then_some((0.0, high)), ..Axis::new(label) }
}

/// Returns an axis for a count from the start of a run.
pub(super) fn counting(label: &str, count: f64) -> Axis {
    Axis { range: Some((0.0, BEYOND * count)), ..Axis::new(label) }
}

/// Returns an axis for positive values, logarithmic if they span powers of ten.
pub(super) fn positive(label: &str, series: &[Series]) -> Axis {
    let lowest = values(series).filter(|value| 0.0 < *value).fold(f64::INFINITY, f64::min);
    if FAR_APART * lowest < highest(series) {
        return Axis { scale: AxisScale::Log, ..Axis::new(label) };
    }
    from_zero(label, series, false)
}

fn highest(series: &[Series]) -> f64 {
    values(series).fold(0.0, f64::max)
}

fn values(series: &[Series]) -> impl Iterator<Item = f64> {
    series.iter().flat_map(|series| &series.points).map(|point| point.1).filter(|value| value.is_finite())
}

/// Returns a histogram as a band, with bars of equal width from 0 to `end`.
pub(super) fn bars(name: &str, color: Color, counts: &[u64], end: f64) -> Series {
    let total = counts.iter().sum::<u64>().max(1) as f64;
    let edge = |k: usize| end * k as f64 / counts.len() as f64;
    let points: Points = counts
        .iter()
        .enumerate()
        .flat_map(|(k, count)| {
            let share = *count as f64 / total;
            [(edge(k), share), (edge(k + 1), share)]
        })
        .collect();
    line(name, color, SeriesMark::Band(vec![0.0; points.len()]), points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(values: &[f64]) -> Vec<Series> {
        vec![line("", Color::Blue, SeriesMark::Line, values.iter().map(|value| (0.0, *value)).collect())]
    }

    #[test]
    fn shares_begin_at_0_and_end_at_1() {
        let range = |values: &[f64]| from_zero("share", &through(values), true).range.unwrap();
        assert_eq!(range(&[0.5, 1.0]), (0.0, BEYOND));
        assert!(range(&[0.25, 0.5]).0 == 0.0 && (0.5..0.6).contains(&range(&[0.25, 0.5]).1));
        // If all values are 0, the figure chooses the range.
        assert_eq!(from_zero("share", &through(&[0.0]), true).range, None);
    }

    #[test]
    fn values_that_span_powers_of_ten_have_a_logarithmic_axis() {
        let scale = |values: &[f64]| positive("loss", &through(values)).scale;
        assert_eq!(
            (scale(&[1e-6, 0.5]), scale(&[0.1, 0.5]), scale(&[0.0, 0.5])),
            (AxisScale::Log, AxisScale::Linear, AxisScale::Linear)
        );
        assert_eq!(scale(&[1.0, f64::INFINITY]), AxisScale::Linear);
    }
}
