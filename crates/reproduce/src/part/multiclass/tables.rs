//! The tables of the experiment with K classes.

use crate::{FindingsTable, ReproductionSettings};

fn table(name: &str, caption: String, header: &[&str]) -> FindingsTable {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    FindingsTable { name: name.to_owned(), caption, header, rows: vec![] }
}

pub(super) fn ends_table() -> FindingsTable {
    table(
        "multiclass-accuracy",
        "Accuracy of active and passive learners, means over the splits; intervals are paired, 95 %".to_owned(),
        &[
            "data",
            "loss",
            "draws",
            "labels paid for, passive / active",
            "passive",
            "active",
            "active − passive",
            "for new data",
            "printed",
        ],
    )
}

pub(super) fn steps_table(settings: &ReproductionSettings) -> FindingsTable {
    let splits = settings.pick(8, 4);
    table(
        "multiclass-steps",
        format!(
            "Logistic learners with other steps at the end of the run, {splits} splits; `best` compares each at its own best step, found on the same splits"
        ),
        &["data", "step", "passive", "active", "active − passive"],
    )
}

pub(super) fn widths_table(settings: &ReproductionSettings) -> FindingsTable {
    let splits = settings.pick(5, 3);
    table(
        "multiclass-widths",
        format!(
            "Logistic learners at the published step with other widths of the kernel, accuracy less passive, {splits} splits"
        ),
        &["data", "width", "half way", "at the end"],
    )
}

pub(super) fn rules_table(settings: &ReproductionSettings) -> FindingsTable {
    let splits = settings.pick(30, 12);
    table(
        "multiclass-rules",
        format!(
            "Logistic learners that ask every row at most once, {splits} splits; only conditional-loss has an objective"
        ),
        &["data", "rule", "labels", "accuracy", "less passive"],
    )
}

/// Lists the errors of the authors' code and the corrections made here.
pub(super) fn corrections() -> FindingsTable {
    let mut corrections = table(
        "multiclass-corrections",
        "Errors of the authors' code for this experiment, and what is done here instead".to_owned(),
        &["in the authors' code", "here"],
    );
    corrections.rows = [
        ["the bandwidth of the kernel grows with the number of answers n, as n^(1/(d+3))", "it shrinks, as n^(−1/(d+4)), in units of the typical difference in one feature"],
        ["hinge (SVM) curves show the accuracy of an earlier logistic run", "each loss is judged by its own parameters"],
        ["features are scaled on training and test rows together", "on the training rows alone"],
        ["the plain average of the iterates", "the average weighted by 1/S, as Algorithm 2 has it"],
        ["draws are called labels, repeats included", "draws on the axis are called draws; labels paid for are in the table, and a second figure draws each row once"],
    ]
    .map(|row| row.map(str::to_owned).to_vec())
    .to_vec();
    corrections
}
