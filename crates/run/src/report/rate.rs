//! The query rate of a run over time. A rate that vanishes is a stall.

use crate::history::{History, HistoryDraw};
use querist_report::{Color, SeriesMark};

use super::plot::{Points, Shown, counting, from_zero, line, one_panel, positive};

const TITLE: &str = "Query rate over time";
/// The largest number of points in the figure.
const MOST_POINTS: usize = 300;
/// The smallest window in asks; the proposals of fewer asks give a poor estimate of the rate.
const LEAST_ASKS: usize = 30;

/// Returns the figure: the share that was asked for a stream, the mean of U for a pool.
pub(super) fn query_rate(history: &History) -> Shown {
    if history.header["command"] == "stream" { of_stream(history) } else { of_pool(history) }
}

fn of_stream(history: &History) -> Shown {
    let (mut time, mut expected, mut asked) = (0, vec![], vec![]);
    for piece in &history.pieces {
        let middle = time as f64 + piece.items as f64 / 2.0;
        time += piece.items;
        expected.push((middle, piece.expected / piece.items as f64));
        asked.push((middle, piece.asked as f64 / piece.items as f64));
    }
    if expected.len() < 2 {
        return Err("There were too few observations.".to_owned());
    }
    let series = vec![
        line("asked", Color::Orange, SeriesMark::Points, asked),
        line("mean probability", Color::Blue, SeriesMark::Line, expected),
    ];
    let caption = "The mean query probability and the share of queried items, per segment. A rate near 0 is a stall.";
    let y = from_zero("share", &series, true);
    Ok(one_panel(TITLE, caption, counting("observations", time as f64), y, series))
}

fn of_pool(history: &History) -> Shown {
    if history.draw() == Some("top") {
        return Err("`--draw top` takes the most uncertain row and has no rate.".to_owned());
    }
    let asks = history.draws.len();
    let numbered = |keep: fn(&HistoryDraw) -> bool| -> Vec<AskRate> {
        let all = history.draws.iter().enumerate().filter(|(_, draw)| keep(draw));
        all.map(|(index, draw)| AskRate { number: (index + 1) as f64, inverse_rate: draw.inverse_rate }).collect()
    };
    // Rows asked without a model do not depend on the rule, so they are shown only if there are no others.
    let mut ruled = numbered(|draw| !draw.is_cold);
    if ruled.is_empty() {
        ruled = numbered(|_| true);
    }
    if ruled.len() < 2 {
        return Err("There were too few queries.".to_owned());
    }
    let without = match asks - ruled.len() {
        0 => String::new(),
        count => format!(" {count} rows queried before there was a model are not included."),
    };
    let (how, points) = if history.draw() == Some("reject") {
        let window = LEAST_ASKS.max(ruled.len() / 20).min(ruled.len().div_ceil(2));
        let how = format!("estimated from the number of proposals for the last {window} queries");
        (how, over_windows(&ruled, window))
    } else {
        ("at each query".to_owned(), over_parts(&ruled))
    };
    let series = vec![line("mean of U", Color::Blue, SeriesMark::Line, points)];
    let caption = format!("The mean of U over the remaining rows, {how}. A mean near 0 is a stall.{without}");
    let y = positive("mean of U over the remaining rows", &series);
    Ok(one_panel(TITLE, &caption, counting("asks", asks as f64), y, series))
}

/// An ask with its number and with 1/S or an unbiased estimate of it.
struct AskRate {
    number: f64,
    inverse_rate: f64,
}

/// Returns the rate in blocks of asks: 1 over the mean of 1/S, which still shows a single rate close to 0.
fn over_parts(asks: &[AskRate]) -> Points {
    asks.chunks(asks.len().div_ceil(MOST_POINTS)).map(point).collect()
}

/// Returns the rate in sliding windows. The number of proposals has the mean `U_max/S`, so a single ask is a poor
/// estimate of the rate.
fn over_windows(asks: &[AskRate], window: usize) -> Points {
    let every = asks.len().div_ceil(MOST_POINTS);
    let ends = (window..=asks.len()).filter(|end| (asks.len() - end).is_multiple_of(every));
    ends.map(|end| point(&asks[end - window..end])).collect()
}

/// Returns the rate over some asks, at the number of the last one.
fn point(asks: &[AskRate]) -> (f64, f64) {
    let rate = asks.len() as f64 / asks.iter().map(|ask| ask.inverse_rate).sum::<f64>();
    (asks.last().map_or(0.0, |ask| ask.number), rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a thousand asks at a rate of a half; only the last has a rate close to 0.
    fn stalled() -> Vec<AskRate> {
        let inverse_rate = |number: u32| if number < 1000 { 2.0 } else { 1e6 };
        (1..=1000).map(|number| AskRate { number: f64::from(number), inverse_rate: inverse_rate(number) }).collect()
    }

    #[test]
    fn a_stall_is_visible_among_many_asks() {
        for points in [over_parts(&stalled()), over_windows(&stalled(), 50)] {
            assert!(100 < points.len() && points.len() <= MOST_POINTS);
            let ((ask, end), start) = (points[points.len() - 1], points[0].1);
            assert!(ask == 1000.0 && end < 1e-4 && (start - 0.5).abs() < 1e-12, "{start} to {end} at {ask}");
        }
    }
}
