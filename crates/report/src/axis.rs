//! Axes: the interval an axis shows, the mapping from values to lengths, and the ticks.

use crate::figure::{Axis, AxisScale, Panel, Series};
use crate::series::triples;

/// The largest magnitude of a usable value; on a log axis its inverse is the smallest.
/// Values beyond it count as not finite, so that neither differences nor padded ends overflow.
const HUGE: f64 = 1e250;
/// The fraction of a fitted interval added as padding on each side.
const PADDING: f64 = 0.04;
/// The relative width below which an interval is widened like a single value.
const NARROW: f64 = 1e-12;
/// The number of decades above which a log axis has no minor ticks.
const MANY_DECADES: i32 = 8;
/// The maximum number of ticks requested from an axis.
const MAX_TICKS: usize = 100;

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// The position on the axis.
    pub value: f64,
    /// The text written beside the tick.
    pub label: String,
}

/// The interval an axis shows: two distinct ends in increasing order, both positive on a log axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AxisSpan {
    low: f64,
    high: f64,
    scale: AxisScale,
}

/// Returns whether a value can be shown on an axis of this scale.
pub(crate) fn is_usable(value: f64, scale: AxisScale) -> bool {
    match scale {
        AxisScale::Linear => value.abs() <= HUGE,
        AxisScale::Log => (1.0 / HUGE..=HUGE).contains(&value),
    }
}

impl AxisSpan {
    /// Creates the interval between two values, widened if they are (almost) equal.
    fn new(one: f64, other: f64, scale: AxisScale) -> Self {
        let (low, high) = (one.min(other), one.max(other));
        let size = low.abs().max(high.abs());
        let (low, high) = if high - low > NARROW * size {
            (low, high)
        } else if scale == AxisScale::Log {
            (low / 2.0, high * 2.0)
        } else if size == 0.0 {
            (-1.0, 1.0)
        } else {
            (low - size / 2.0, high + size / 2.0)
        };
        Self { low, high, scale }
    }

    /// Returns the range set on the axis if it is usable, else an interval that holds all usable values.
    fn resolve(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let scale = axis.scale;
        if let Some((one, other)) = axis.range
            && is_usable(one, scale)
            && is_usable(other, scale)
        {
            return Self::new(one, other, scale);
        }
        let ends = values.filter(|&value| is_usable(value, scale)).fold(None, |ends: Option<(f64, f64)>, value| {
            let (low, high) = ends.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        });
        match (ends, scale) {
            (Some((low, high)), _) => Self::new(low, high, scale).padded(),
            (None, AxisScale::Linear) => Self::new(0.0, 1.0, scale),
            (None, AxisScale::Log) => Self::new(1.0, 10.0, scale),
        }
    }

    fn padded(self) -> Self {
        let (low, high) = match self.scale {
            AxisScale::Linear => {
                let padding = PADDING * (self.high - self.low);
                (self.low - padding, self.high + padding)
            }
            AxisScale::Log => {
                let factor = (PADDING * (self.high.ln() - self.low.ln())).exp();
                (self.low / factor, self.high * factor)
            }
        };
        Self { low, high, ..self }
    }

    /// Maps a value to 0 at the low end and 1 at the high end; returns `None` if it cannot be shown.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        is_usable(value, self.scale).then(|| match self.scale {
            AxisScale::Linear => (value - self.low) / (self.high - self.low),
            AxisScale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        })
    }

    /// Returns about `wanted` labeled ticks.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.scale {
            AxisScale::Linear => linear_ticks(self.low, self.high, wanted),
            AxisScale::Log => log_ticks(self.low, self.high, wanted),
        }
    }

    /// Returns the integer multiples of powers of ten on a log axis, drawn as ticks without labels.
    pub(crate) fn minor_ticks(&self) -> Vec<f64> {
        let (first, last) = (exponent(self.low), exponent(self.high));
        if self.scale == AxisScale::Linear || last - first > MANY_DECADES {
            return Vec::new();
        }
        multiples(first, last, &[1, 2, 3, 4, 5, 6, 7, 8, 9])
            .map(|(factor, power)| times_power_of_ten(factor, power))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// Returns the horizontal and vertical intervals of a panel.
///
/// The vertical one fits the points that the horizontal one shows.
pub(crate) fn spans(panel: &Panel) -> (AxisSpan, AxisSpan) {
    let both_usable = |&(x, upper, lower): &(f64, f64, f64)| {
        is_usable(x, panel.x.scale) && (is_usable(upper, panel.y.scale) || is_usable(lower, panel.y.scale))
    };
    let all = |series: &Series| triples(series).filter(both_usable).collect::<Vec<_>>();
    let values: Vec<_> = panel.series.iter().flat_map(all).collect();
    let x = AxisSpan::resolve(&panel.x, values.iter().map(|value| value.0));
    let visible = values.iter().filter(|value| (x.low..=x.high).contains(&value.0));
    let y = AxisSpan::resolve(&panel.y, visible.flat_map(|value| [value.1, value.2]));
    (x, y)
}

/// Returns about `wanted` ticks (at least two) within an interval.
///
/// They are integer multiples of 1, 2 or 5 times a power of ten; on a log axis, those numbers themselves.
pub fn ticks(range: (f64, f64), scale: AxisScale, wanted: usize) -> Vec<Tick> {
    if is_usable(range.0, scale) && is_usable(range.1, scale) {
        AxisSpan::new(range.0, range.1, scale).ticks(wanted)
    } else {
        Vec::new()
    }
}

fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    // A step is at most 1.6 times the requested length: from four ticks on, two always fit.
    let wanted = wanted.clamp(1, MAX_TICKS);
    let found = (wanted..wanted + 4)
        .map(|count| linear_values(low, high, count))
        .find(|found| found.len() >= 2)
        .unwrap_or_default();
    let size = low.abs().max(high.abs());
    found
        .into_iter()
        .map(|(factor, power)| Tick {
            value: times_power_of_ten(factor, power),
            label: if size < 1e5 && power >= -4 {
                plain(factor, power)
            } else {
                scientific(factor, power, exponent(size))
            },
        })
        .collect()
}

/// Returns ticks as exact pairs of an integer and a power of ten.
fn linear_values(low: f64, high: f64, wanted: usize) -> Vec<(i64, i32)> {
    let requested = (high - low) / wanted as f64;
    let power = exponent(requested);
    // The step whose ratio to the requested one is nearest to 1.
    let (unit, power) = match requested / times_power_of_ten(1, power) {
        ratio if ratio < 2_f64.sqrt() => (1, power),
        ratio if ratio < 10_f64.sqrt() => (2, power),
        ratio if ratio < 50_f64.sqrt() => (5, power),
        _ => (1, power + 1),
    };
    let step = times_power_of_ten(unit, power);
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    (first..=last)
        .map(|index| (index * unit, power))
        .filter(|&(factor, power)| (low..=high).contains(&times_power_of_ten(factor, power)))
        .collect()
}

fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    let (first, last) = (exponent(low), exponent(high));
    let inside = |&(factor, power): &(i64, i32)| (low..=high).contains(&times_power_of_ten(factor, power));
    let mut found: Vec<_> = multiples(first, last, &[1]).filter(inside).collect();
    if found.len() < 3 {
        found = multiples(first, last, &[1, 2, 5]).filter(inside).collect();
    } else if let Some(&stride) =
        [1, 2, 5, 10, 20, 50, 100].iter().find(|&&stride| found.len() <= wanted.clamp(2, MAX_TICKS) * stride as usize)
    {
        found.retain(|&(_, power)| power % stride == 0);
    }
    if found.len() < 2 {
        return linear_ticks(low, high, wanted);
    }
    let is_plain = |&(_, power): &(i64, i32)| (-3..=4).contains(&power);
    let all_plain = found.iter().all(is_plain);
    found
        .into_iter()
        .map(|(factor, power)| Tick {
            value: times_power_of_ten(factor, power),
            label: match (all_plain, factor) {
                (true, _) => plain(factor, power),
                (false, 1) => format!("10{}", superscript(power)),
                (false, _) => scientific(factor, power, power),
            },
        })
        .collect()
}

fn multiples(first: i32, last: i32, factors: &[i64]) -> impl Iterator<Item = (i64, i32)> {
    (first..=last).flat_map(move |power| factors.iter().map(move |&factor| (factor, power)))
}

/// Returns the exponent of the largest power of ten not above a positive number.
fn exponent(value: f64) -> i32 {
    (value.log10() + 1e-9).floor() as i32
}

/// Returns `factor`·10^`power`.
///
/// Dividing by a positive power of ten rounds only once, so the result is the number a reader would write.
fn times_power_of_ten(factor: i64, power: i32) -> f64 {
    if power < 0 { factor as f64 / 10_f64.powi(-power) } else { factor as f64 * 10_f64.powi(power) }
}

fn plain(factor: i64, power: i32) -> String {
    let decimals = (-power).max(0) as usize;
    with_minus(&format!("{:.decimals$}", times_power_of_ten(factor, power)))
}

/// Formats `factor`·10^`power` as a multiple of 10^`common`.
fn scientific(factor: i64, power: i32, common: i32) -> String {
    if factor == 0 {
        return "0".into();
    }
    format!("{}×10{}", plain(factor, power - common), superscript(common))
}

fn superscript(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])).collect()
}

/// Replaces the hyphen, which is too short, by a minus sign.
fn with_minus(number: &str) -> String {
    number.replace('-', "−")
}
