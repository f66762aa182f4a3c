//! From values to lengths: which interval an axis shows, and where its ticks are.

use crate::figure::{Axis, Panel, Scale, Series};
use crate::series::triples;

/// Beyond this size (and below its inverse, on a log axis) numbers count as not finite, so
/// that neither differences nor padded ends overflow.
const HUGE: f64 = 1e250;
/// The part of a fitted interval left free on each side.
const PADDING: f64 = 0.04;
/// Intervals narrower than this part of their ends are widened like a single value.
const NARROW: f64 = 1e-12;
/// Log axes with more powers of ten than this have no minor ticks.
const MANY_DECADES: i32 = 8;
/// More ticks than this are never asked for in earnest.
const MOST_TICKS: usize = 100;

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Where it stands.
    pub value: f64,
    /// What is written beside it.
    pub label: String,
}

/// The interval an axis shows: two different ends in order, both positive on a log axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    low: f64,
    high: f64,
    scale: Scale,
}

/// Whether a value has a place on an axis of this scale.
pub(crate) fn is_usable(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() <= HUGE,
        Scale::Log => (1.0 / HUGE..=HUGE).contains(&value),
    }
}

impl Span {
    /// The interval from one value to the other, widened when they are (almost) equal.
    fn new(one: f64, other: f64, scale: Scale) -> Self {
        let (low, high) = (one.min(other), one.max(other));
        let size = low.abs().max(high.abs());
        let (low, high) = if high - low > NARROW * size {
            (low, high)
        } else if scale == Scale::Log {
            (low / 2.0, high * 2.0)
        } else if size == 0.0 {
            (-1.0, 1.0)
        } else {
            (low - size / 2.0, high + size / 2.0)
        };
        Self { low, high, scale }
    }

    /// The interval an axis asks for, or one that holds all usable values.
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
            (None, Scale::Linear) => Self::new(0.0, 1.0, scale),
            (None, Scale::Log) => Self::new(1.0, 10.0, scale),
        }
    }

    fn padded(self) -> Self {
        let (low, high) = match self.scale {
            Scale::Linear => {
                let padding = PADDING * (self.high - self.low);
                (self.low - padding, self.high + padding)
            }
            Scale::Log => {
                let factor = (PADDING * (self.high.ln() - self.low.ln())).exp();
                (self.low / factor, self.high * factor)
            }
        };
        Self { low, high, ..self }
    }

    /// Where a value stands: 0 at the low end, 1 at the high end; `None` if it has no place.
    pub(crate) fn fraction(&self, value: f64) -> Option<f64> {
        is_usable(value, self.scale).then(|| match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        })
    }

    /// About `wanted` ticks with labels.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, wanted),
            Scale::Log => log_ticks(self.low, self.high, wanted),
        }
    }

    /// The whole multiples of powers of ten on a log axis, to be marked without labels.
    pub(crate) fn minor_ticks(&self) -> Vec<f64> {
        let (first, last) = (exponent(self.low), exponent(self.high));
        if self.scale == Scale::Linear || last - first > MANY_DECADES {
            return Vec::new();
        }
        multiples(first, last, &[1, 2, 3, 4, 5, 6, 7, 8, 9])
            .map(|(factor, power)| times_power_of_ten(factor, power))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// The two intervals a panel shows; the vertical one fits what is visible in the horizontal one.
pub(crate) fn spans(panel: &Panel) -> (Span, Span) {
    let both_usable = |&(x, upper, lower): &(f64, f64, f64)| {
        is_usable(x, panel.x.scale) && (is_usable(upper, panel.y.scale) || is_usable(lower, panel.y.scale))
    };
    let all = |series: &Series| triples(series).filter(both_usable).collect::<Vec<_>>();
    let values: Vec<_> = panel.series.iter().flat_map(all).collect();
    let x = Span::resolve(&panel.x, values.iter().map(|value| value.0));
    let visible = values.iter().filter(|value| (x.low..=x.high).contains(&value.0));
    let y = Span::resolve(&panel.y, visible.flat_map(|value| [value.1, value.2]));
    (x, y)
}

/// About `wanted` ticks (at least two) within an interval: whole multiples of 1, 2 or 5 times a
/// power of ten, and on a log axis those numbers themselves.
pub fn ticks(range: (f64, f64), scale: Scale, wanted: usize) -> Vec<Tick> {
    if is_usable(range.0, scale) && is_usable(range.1, scale) {
        Span::new(range.0, range.1, scale).ticks(wanted)
    } else {
        Vec::new()
    }
}

fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<Tick> {
    // A step is at most 1.6 times the length wished for: from four ticks on, two always fit.
    let wanted = wanted.clamp(1, MOST_TICKS);
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

/// Ticks as pairs of a whole number and a power of ten, which keeps them exact.
fn linear_values(low: f64, high: f64, wanted: usize) -> Vec<(i64, i32)> {
    let wished = (high - low) / wanted as f64;
    let power = exponent(wished);
    // The step whose ratio to the wished one is nearest to 1.
    let (unit, power) = match wished / times_power_of_ten(1, power) {
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
        [1, 2, 5, 10, 20, 50, 100].iter().find(|&&stride| found.len() <= wanted.clamp(2, MOST_TICKS) * stride as usize)
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

/// The power of ten at or below a positive number.
fn exponent(value: f64) -> i32 {
    (value.log10() + 1e-9).floor() as i32
}

/// Division by a power of ten rounds once and so gives the number a reader would write.
fn times_power_of_ten(factor: i64, power: i32) -> f64 {
    if power < 0 { factor as f64 / 10_f64.powi(-power) } else { factor as f64 * 10_f64.powi(power) }
}

fn plain(factor: i64, power: i32) -> String {
    let decimals = (-power).max(0) as usize;
    with_minus(&format!("{:.decimals$}", times_power_of_ten(factor, power)))
}

/// `factor` times the tenth power `power`, written with a common power of ten.
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

/// A hyphen is too short for a minus sign.
fn with_minus(number: &str) -> String {
    number.replace('-', "−")
}
