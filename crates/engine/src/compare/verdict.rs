//! What a comparison comes to, in words.

use super::summary::{Curve, Interval, labels_to, mean, paired, saving};

/// What is said of one rule against another.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Who won.
    pub winner: Winner,
    /// The sentence.
    pub text: String,
}

/// Who won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The entrant at this place.
    Entrant(usize),
    /// Asking at random.
    Random,
    /// Nobody, as far as these seeds can tell.
    Nobody,
}

/// The verdict on entrants against the one at `random`, which asks at random. Scores are called `measure`. Intervals miss with
/// probability 5 % over all entrants together, so that to enter many does not make a winner.
pub fn verdict(names: &[String], curves: &[Curve], random: usize, full: &[f64], measure: &str) -> Verdict {
    let others: Vec<usize> = (0..curves.len()).filter(|entrant| *entrant != random).collect();
    let area = |entrant: usize| mean(&curves[entrant].areas);
    let Some(best) = others.iter().copied().reduce(|best, next| if area(best) < area(next) { next } else { best })
    else {
        return Verdict { winner: Winner::Nobody, text: "there is only random: nothing to compare".to_owned() };
    };
    let level = 0.05 / others.len() as f64;
    let ahead = paired(&curves[best].areas, &curves[random].areas, level);
    let name = &names[best];
    if curves[best].areas.len() < 2 {
        let text = format!(
            "one seed cannot tell: {name} is {} of {measure} ahead of random over the run; try --seeds 20",
            points(ahead.middle)
        );
        return Verdict { winner: Winner::Nobody, text };
    }
    if 0.0 < ahead.low {
        let text = savings(name, &curves[best], &curves[random], full, level).unwrap_or_else(|| {
            format!(
                "{name} is better: {} of {measure} more than random over the run {}",
                points(ahead.middle),
                span(ahead)
            )
        });
        return Verdict { winner: Winner::Entrant(best), text };
    }
    if ahead.high < 0.0 {
        let text = format!(
            "random is better: {name}, the best of the others, loses {} of {measure} over the run {}",
            points(-ahead.middle),
            span(Interval { middle: -ahead.middle, low: -ahead.high, high: -ahead.low })
        );
        return Verdict { winner: Winner::Random, text };
    }
    let side = if ahead.middle < 0.0 { "behind" } else { "ahead" };
    let text = format!(
        "random is as good here: {name}, the best of the others, is {} of {measure} {side} over the run {}",
        points(ahead.middle.abs()),
        span(if ahead.middle < 0.0 {
            Interval { middle: -ahead.middle, low: -ahead.high, high: -ahead.low }
        } else {
            ahead
        })
    );
    Verdict { winner: Winner::Nobody, text }
}

/// "margin saves 41 % of labels at 95 % (34 to 47)", at the lower of the goals where the saving is certain.
fn savings(name: &str, curve: &Curve, random: &Curve, full: &[f64], level: f64) -> Option<String> {
    let score = mean(full);
    [0.95, 0.98].into_iter().find_map(|share| {
        if !(0.0 < score) {
            return None;
        }
        let saved = saving(curve, random, full, share, level)?;
        labels_to(curve, share * score)?;
        let percent = |value: f64| (100.0 * value).round();
        let (middle, low, high) = (percent(saved.middle), percent(saved.low), percent(saved.high));
        let least = if labels_to(random, share * score).is_none() { "at least " } else { "" };
        (0.0 < saved.low)
            .then(|| format!("{name} saves {least}{middle} % of labels at {} % ({low} to {high})", percent(share)))
    })
}

fn points(value: f64) -> String {
    format!("{:.2} points", 100.0 * value)
}

fn span(interval: Interval) -> String {
    format!("({:.2} to {:.2})", 100.0 * interval.low, 100.0 * interval.high)
}
