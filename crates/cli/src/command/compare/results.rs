//! The results of a comparison, as text and as JSON.

use querist_data::Loaded;
use querist_engine::compare::{
    Comparison, ComparisonVerdict, Contest, Curve, Entrant, EntrantRun, SeedInterval, Winner, labels_to, summarize,
    verdict,
};
use querist_engine::compare::{against, labels_saved};
use querist_engine::stats::mean;
use querist_render::table::wrap;
use querist_run::text::grouped;
use serde_json::{Value, json};

use super::CompareArgs;
use crate::number::json as number;

/// A comparison with its results.
pub(super) struct ComparisonResults<'a> {
    pub(super) entrants: &'a [Entrant],
    pub(super) runs: &'a [Vec<EntrantRun>],
    pub(super) curves: Vec<Curve>,
    pub(super) seeds: usize,
    full: &'a [f64],
    verdict: ComparisonVerdict,
    loss: &'a str,
    is_classification: bool,
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
        loss: &'a str,
        entrants: &'a [Entrant],
        outcome: &'a Comparison,
        loaded: &Loaded,
    ) -> Self {
        let curves: Vec<Curve> = outcome.runs.iter().map(|runs| summarize(runs)).collect();
        let names: Vec<String> = entrants.iter().map(|entrant| entrant.name.clone()).collect();
        let is_classification = contest.kind != querist_engine::task::Labels::Numbers;
        let measure = if is_classification { "accuracy" } else { "R²" };
        let verdict = verdict(&names, &curves, 0, &outcome.full, measure);
        Self {
            entrants,
            runs: &outcome.runs,
            curves,
            seeds: outcome.full.len(),
            full: &outcome.full,
            verdict,
            loss,
            is_classification,
            data: loaded.encoder.describe(),
            remarks: loaded.encoder.remarks().to_vec(),
            rows: contest.rows.len(),
            budget: arguments.budget,
            file: arguments.data.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        }
    }

    /// Returns the name of the score.
    pub(super) fn measure(&self) -> &'static str {
        if self.is_classification { "accuracy" } else { "R²" }
    }

    /// Returns the score with all labels, averaged over the seeds.
    pub(super) fn full_mean(&self) -> f64 {
        mean(self.full)
    }

    pub(super) fn title(&self) -> String {
        format!("{} on {}, {} labels, {} seeds", self.loss, self.file, grouped(self.budget), self.seeds)
    }

    /// Returns the verdict as a sentence.
    pub(super) fn sentence(&self) -> String {
        let text = &self.verdict.text;
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
        let winner = match self.verdict.winner {
            Winner::Entrant(entrant) => Value::from(self.entrants[entrant].name.clone()),
            Winner::Random => "random".into(),
            Winner::Undecided => Value::Null,
        };
        json!({
            "loss": self.loss,
            "data": self.data,
            "data_remarks": self.remarks,
            "rows": self.rows,
            "budget": self.budget,
            "seeds": self.seeds,
            "measure": if self.is_classification { "accuracy" } else { "r_squared" },
            "full": number(self.full_mean()),
            "rules": rules,
            "winner": winner,
            "verdict": self.verdict.text,
        })
    }

    fn entrant(&self, entrant: usize) -> Value {
        let curve = &self.curves[entrant];
        let key = if self.is_classification { "accuracy" } else { "r_squared" };
        let stages: Vec<Value> = curve
            .stages
            .iter()
            .map(|stage| {
                let band = stage.band();
                let by_seed: Vec<Value> = stage.scores.iter().map(|score| number(*score)).collect();
                json!({"labels": stage.labels, key: by_seed, format!("{key}_mean"): number(stage.mean()),
                       format!("{key}_sd"): number(stage.deviation()), "low": number(band.low),
                       "high": number(band.high), "loss": number(stage.loss)})
            })
            .collect();
        let area = mean(&curve.areas);
        let to = |share: f64| labels_to(curve, share * self.full_mean()).map_or(Value::Null, number);
        let saved = |share: f64| interval(labels_saved(curve, &self.curves[0], self.full, share));
        let compared = |other: usize| interval((other != entrant).then(|| against(curve, &self.curves[other])));
        let probabilities: Vec<f64> = self.runs[entrant].iter().flat_map(|run| run.chances.iter().copied()).collect();
        let stopped = self.runs[entrant].iter().find_map(|run| run.stopped.clone());
        json!({
            "rule": self.entrants[entrant].name,
            "asks_by": self.entrants[entrant].rule.name(),
            "curve": stages,
            "area": number(area),
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

    fn has_top(&self) -> bool {
        self.entrants.last().is_some_and(|entrant| entrant.name == "top")
    }

    /// Returns the results as text.
    pub(super) fn to_text(&self) -> String {
        let wanted: Vec<u64> = self.shown();
        let width = self.entrants.iter().map(|entrant| entrant.name.chars().count()).max().unwrap_or(0).max(5);
        let mut text = format!("{}\n\n", self.title());
        text.push_str(&wrap("  data  ", &self.data));
        let scale = if self.is_classification { 100.0 } else { 1.0 };
        let unit = if self.is_classification { " %" } else { "" };
        text.push_str(&format!(
            "\n  {} with all labels {:.*}{unit}\n\n",
            self.measure(),
            digits(scale),
            scale * self.full_mean()
        ));
        text.push_str(&format!("  {:width$}", "rule"));
        for labels in &wanted {
            text.push_str(&format!("  {labels:>12}"));
        }
        text.push_str("   to 95 %   to 98 %\n");
        for (entrant, curve) in self.entrants.iter().zip(&self.curves) {
            text.push_str(&format!("  {:width$}", entrant.name));
            for labels in &wanted {
                let stage = curve.stages.iter().find(|stage| stage.labels == *labels);
                let shown = stage.map_or_else(String::new, |stage| {
                    let half = scale * (stage.band().high - stage.mean());
                    let half = if half.is_nan() { String::new() } else { format!(" ± {half:.*}", digits(scale)) };
                    format!("{:.*}{half}", digits(scale), scale * stage.mean())
                });
                text.push_str(&format!("  {shown:>12}"));
            }
            for share in [0.95, 0.98] {
                let need = labels_to(curve, share * self.full_mean());
                text.push_str(&format!("  {:>8}", need.map_or_else(|| "—".to_owned(), |need| format!("{need:.0}"))));
            }
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&wrap("", &self.verdict.text));
        for remark in &self.remarks {
            text.push('\n');
            text.push_str(&wrap("", &querist_data::escape_control(remark)));
        }
        text
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

fn digits(scale: f64) -> usize {
    if 1.0 < scale { 1 } else { 3 }
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
