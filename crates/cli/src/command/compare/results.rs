//! The results of a comparison, as text and as JSON.

use querist_data::{Loaded, escape_control};
use querist_engine::compare::{
    Comparison, ComparisonVerdict, Contest, Curve, Entrant, EntrantRun, JointTest, Metric, SeedInterval, Undecided,
    against, labels_saved, labels_to, summarize, verdict,
};
use querist_engine::stats::mean;
use querist_engine::stop::Better;
use querist_render::table::wrap;
use querist_run::text::counted;
use serde_json::{Value, json};

use super::{ChosenMetric, CompareArgs};
use crate::number::json as number;

/// A comparison with its results.
pub(super) struct ComparisonResults<'a> {
    pub(super) entrants: &'a [Entrant],
    pub(super) runs: &'a [Vec<EntrantRun>],
    pub(super) curves: Vec<Curve>,
    pub(super) seeds: usize,
    metric: &'a ChosenMetric,
    /// The curves in accuracy or R², whatever the metric is.
    plain: Vec<Curve>,
    full: Vec<f64>,
    test: JointTest,
    verdict: ComparisonVerdict,
    loss: &'a str,
    data: String,
    rows: usize,
    budget: u64,
    file: String,
    /// Sentences about the data.
    remarks: Vec<String>,
}

impl<'a> ComparisonResults<'a> {
    pub(super) fn new(
        arguments: &CompareArgs,
        contest: &Contest<'_>,
        (loss, metric): (&'a str, &'a ChosenMetric),
        entrants: &'a [Entrant],
        outcome: &'a Comparison,
        loaded: &Loaded,
    ) -> Self {
        let curves_in = |criterion| outcome.runs.iter().map(|runs| summarize(runs, criterion)).collect();
        let curves: Vec<Curve> = curves_in(&metric.criterion);
        let full = outcome.full_values(&metric.criterion);
        Self {
            entrants,
            runs: &outcome.runs,
            plain: curves_in(&metric.plain),
            seeds: full.len(),
            test: JointTest::new(&curves, 0),
            verdict: verdict(&curves, 0, &full),
            curves,
            metric,
            full,
            loss,
            data: loaded.encoder.describe(),
            remarks: loaded.encoder.remarks().to_vec(),
            rows: contest.rows.len(),
            budget: arguments.budget,
            file: arguments.data.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        }
    }

    /// Returns the metric.
    pub(super) fn metric(&self) -> &Metric {
        self.metric.criterion.metric()
    }

    /// Returns the score with all labels, averaged over the seeds.
    fn full_mean(&self) -> f64 {
        mean(&self.full)
    }

    /// Returns the score that counts as this share of the score with all labels.
    pub(super) fn goal(&self, share: f64) -> f64 {
        self.curves[0].goal(self.full_mean(), share)
    }

    pub(super) fn title(&self) -> String {
        let (labels, seeds) = (counted(self.budget, "label"), counted(self.seeds as u64, "seed"));
        format!("{} on {}, {labels}, {seeds}", self.loss, self.file)
    }

    /// Returns the verdict in words.
    fn verdict_text(&self) -> String {
        let names: Vec<String> = self.entrants.iter().map(|entrant| entrant.name.clone()).collect();
        escape_control(&self.verdict.text(&names, self.metric()))
    }

    /// Returns the verdict as a sentence.
    pub(super) fn sentence(&self) -> String {
        let text = self.verdict_text();
        let mut letters = text.chars();
        letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    }

    /// Returns the calibration in bins of the decision's probability, without empty bins. Each bin has the number of
    /// rows, their mean probability and the share of correct decisions.
    pub(super) fn calibration(&self, entrant: usize) -> Vec<(u64, f64, f64)> {
        let bins = self.runs[entrant].first().map_or(0, |run| run.calibration.len());
        (0..bins)
            .filter_map(|bin| {
                let sum = self.runs[entrant].iter().fold((0, 0.0, 0), |sum, run| {
                    let bin = run.calibration[bin];
                    (sum.0 + bin.0, sum.1 + bin.1, sum.2 + bin.2)
                });
                let count = sum.0 as f64;
                (0 < sum.0).then(|| (sum.0, sum.1 / count, sum.2 as f64 / count))
            })
            .collect()
    }

    /// Returns the results as JSON.
    pub(super) fn to_json(&self) -> Value {
        let rules: Vec<Value> = (0..self.entrants.len()).map(|entrant| self.entrant(entrant)).collect();
        let winner = self.verdict.winner(0).map(|entrant| self.entrants[entrant].name.clone());
        let (outcome, by, undecided) = match &self.verdict {
            ComparisonVerdict::Better { by, .. } => ("better", Some(*by), None),
            ComparisonVerdict::Random { by, .. } => ("random", Some(*by), None),
            ComparisonVerdict::Undecided(reason) => ("undecided", None, Some(reason)),
        };
        let largest_gain = match undecided {
            Some(Undecided::TooClose { largest_gain }) => number(*largest_gain),
            _ => Value::Null,
        };
        json!({
            "loss": self.loss,
            "data": self.data,
            "data_remarks": self.remarks,
            "rows": self.rows,
            "budget": self.budget,
            "seeds": self.seeds,
            "measure": if *self.metric() == Metric::R2 { "r_squared".to_owned() } else { self.metric().to_string() },
            "metric": self.metric().to_string(),
            "metric_reason": self.metric.reason,
            "full": number(self.full_mean()),
            "rules": rules,
            "winner": winner,
            "outcome": outcome,
            "by": interval(by),
            "more_seeds": undecided.and_then(Undecided::more_seeds),
            "largest_gain": largest_gain,
            "verdict": self.verdict_text(),
        })
    }

    fn entrant(&self, entrant: usize) -> Value {
        let curve = &self.curves[entrant];
        let stages: Vec<Value> = (0..curve.stages.len()).map(|stage| self.stage(entrant, stage)).collect();
        let to = |share: f64| labels_to(curve, self.goal(share)).map_or(Value::Null, number);
        let saved = |share: f64| interval(labels_saved(curve, &self.curves[0], &self.full, share));
        let compared = |other: usize| interval((other != entrant).then(|| against(curve, &self.curves[other])));
        let probabilities: Vec<f64> = self.runs[entrant].iter().flat_map(|run| run.chances.iter().copied()).collect();
        let stopped = self.runs[entrant].iter().find_map(|run| run.stopped.clone());
        json!({
            "rule": self.entrants[entrant].name,
            "asks_by": self.entrants[entrant].rule.name(),
            "curve": stages,
            "area": number(mean(&curve.areas)),
            "areas": curve.areas.iter().map(|area| number(*area)).collect::<Vec<_>>(),
            "gain_over_random": self.gain(entrant),
            "labels_to_95": to(0.95),
            "labels_to_98": to(0.98),
            "saved_at_95": if entrant == 0 { Value::Null } else { saved(0.95) },
            "saved_at_98": if entrant == 0 { Value::Null } else { saved(0.98) },
            "area_against_random": compared(0),
            "area_against_top": if self.has_top() { compared(self.entrants.len() - 1) } else { Value::Null },
            "chances": histogram(&probabilities),
            "calibration": self.calibration(entrant).into_iter().map(|(rows, probability, right)| {
                json!({"rows": rows, "probability": number(probability), "right": number(right)})
            }).collect::<Vec<_>>(),
            "stopped": stopped,
        })
    }

    /// Returns a point of a learning curve: accuracy or R², and the metric in `score`.
    fn stage(&self, entrant: usize, index: usize) -> Value {
        let (stage, plain) = (&self.curves[entrant].stages[index], &self.plain[entrant].stages[index]);
        let by_seed = |scores: &[f64]| scores.iter().map(|score| number(*score)).collect::<Vec<Value>>();
        let key = if *self.metric.plain.metric() == Metric::R2 { "r_squared" } else { "accuracy" };
        let (band, plain_band) = (stage.band(), plain.band());
        json!({
            "labels": stage.labels,
            key: by_seed(&plain.scores),
            format!("{key}_mean"): number(plain.mean()),
            format!("{key}_sd"): number(plain.deviation()),
            "low": number(plain_band.low),
            "high": number(plain_band.high),
            "loss": number(stage.loss),
            "score": {"by_seed": by_seed(&stage.scores), "mean": number(stage.mean()),
                      "sd": number(stage.deviation()), "low": number(band.low), "high": number(band.high)},
        })
    }

    /// Returns the joint test of an entrant; null for random.
    fn gain(&self, entrant: usize) -> Value {
        self.test.entrants.iter().find(|test| test.entrant == entrant).map_or(Value::Null, |test| {
            json!({"mean": number(test.gain.middle), "low": number(test.gain.low), "high": number(test.gain.high),
                   "p": number(test.p), "adjusted_p": number(test.adjusted_p)})
        })
    }

    fn has_top(&self) -> bool {
        self.entrants.last().is_some_and(|entrant| entrant.name == "top")
    }

    /// Returns the results as text.
    pub(super) fn to_text(&self) -> String {
        let wanted: Vec<u64> = self.shown();
        let width = self.entrants.iter().map(|entrant| entrant.name.chars().count()).max().unwrap_or(0).max(5);
        // "0.812 ± 0.035" has one letter more than "81.2 ± 3.5" with an uncertainty of two digits.
        let cell_width = if self.metric().is_percentage() { 12 } else { 13 };
        let mut text = format!("{}\n\n", self.title());
        text.push_str(&wrap("  data    ", &self.data));
        text.push_str(&wrap("  metric  ", &self.metric_text()));
        text.push_str(&format!(
            "\n  {} with all labels {}\n\n",
            escape_control(&self.metric().title()),
            shown(self.full_mean(), self.metric())
        ));
        text.push_str(&format!("  {:width$}", "rule"));
        for labels in &wanted {
            text.push_str(&format!("  {labels:>cell_width$}"));
        }
        text.push_str("   to 95 %   to 98 %\n");
        for (entrant, curve) in self.entrants.iter().zip(&self.curves) {
            text.push_str(&format!("  {:width$}", entrant.name));
            for labels in &wanted {
                let stage = curve.stages.iter().find(|stage| stage.labels == *labels);
                let cell = stage.map_or_else(String::new, |stage| {
                    let half = stage.band().high - stage.mean();
                    let plus_minus =
                        if half.is_nan() { String::new() } else { format!(" ± {}", rounded(half, self.metric())) };
                    format!("{}{plus_minus}", rounded(stage.mean(), self.metric()))
                });
                text.push_str(&format!("  {cell:>cell_width$}"));
            }
            for share in [0.95, 0.98] {
                let need = labels_to(curve, self.goal(share));
                text.push_str(&format!("  {:>8}", need.map_or_else(|| "—".to_owned(), |need| format!("{need:.0}"))));
            }
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&wrap("", &self.verdict_text()));
        for remark in &self.remarks {
            text.push('\n');
            text.push_str(&wrap("", &escape_control(remark)));
        }
        text
    }

    /// Returns the name of the metric, with its direction if lower is better, or the reason for a default.
    fn metric_text(&self) -> String {
        let direction = if self.metric().better() == Better::Lower { " (lower is better)" } else { "" };
        let reason = self.metric.reason.as_ref().map_or_else(String::new, |reason| format!(", because {reason}"));
        escape_control(&format!("{}{direction}{reason}", self.metric()))
    }

    /// Returns the numbers of labels in the table: up to four, at an eighth, a quarter, half and all of the budget.
    fn shown(&self) -> Vec<u64> {
        let stages: Vec<u64> = self.curves[0].stages.iter().map(|stage| stage.labels).collect();
        let last = stages.last().copied().unwrap_or(0);
        let near = |goal: u64| stages.iter().copied().min_by_key(|labels| labels.abs_diff(goal));
        let mut shown: Vec<u64> = [8, 4, 2, 1].into_iter().filter_map(|part| near(last / part)).collect();
        shown.dedup();
        shown
    }
}

/// Returns a value of a metric without its unit: percentages with one decimal, other numbers with three.
fn rounded(value: f64, metric: &Metric) -> String {
    if metric.is_percentage() { format!("{:.1}", 100.0 * value) } else { format!("{value:.3}") }
}

/// Returns a value of a metric with its unit.
pub(super) fn shown(value: f64, metric: &Metric) -> String {
    format!("{}{}", rounded(value, metric), if metric.is_percentage() { " %" } else { "" })
}

fn interval(interval: Option<SeedInterval>) -> Value {
    interval.map_or(
        Value::Null,
        |interval| json!({"mean": number(interval.middle), "low": number(interval.low), "high": number(interval.high)}),
    )
}

/// Returns the number of asks in each bin of log₁₀ n·q; a bin is a quarter of a decade.
fn histogram(probabilities: &[f64]) -> Vec<Value> {
    let mut counts = std::collections::BTreeMap::new();
    for probability in probabilities {
        *counts.entry((probability * 4.0).floor() as i64).or_insert(0_u64) += 1;
    }
    counts.into_iter().map(|(bin, asks)| json!({"log10_n_q": number(bin as f64 / 4.0), "asks": asks})).collect()
}
