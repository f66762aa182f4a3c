//! Ledgers of pools that a program scores, as `querist.Pool` writes them in Python.

mod common;

use std::fs;
use std::path::Path;

use common::{Folder, error, json};
use querist_engine::pool::{ColdMethod, PredictionKind, PredictionValues, Predictions};
use querist_run::scored_pool::{ScoredPoolRun, ScoredPoolRunSettings};

const ROWS: usize = 200;

/// Records 60 draws of a pool whose second class begins at row 100; the predictions are a bit unsure of it.
fn record(path: &Path) {
    let classes = Some(vec!["ham".into(), "spam".into()]);
    let settings = ScoredPoolRunSettings {
        rows: ROWS,
        rule: "boundary".to_owned(),
        classes,
        cold: ColdMethod::None,
        precision: None,
        seed: 3,
    };
    let mut pool = ScoredPoolRun::open(&settings, Some(path)).unwrap();
    let probability = |row: usize| 1.0 / (1.0 + (-(row as f64 - 110.0) / 20.0).exp());
    let values: Vec<f64> = (0..ROWS).flat_map(|row| [1.0 - probability(row), probability(row)]).collect();
    let predictions = Predictions::new(PredictionValues::F64(&values), 2, PredictionKind::Probabilities);
    for _ in 0..6 {
        let drawn: Vec<usize> = pool.draw(Some(&predictions), None, 10).unwrap().iter().map(|draw| draw.row).collect();
        let answers: Vec<(usize, usize)> = drawn.iter().map(|row| (*row, usize::from(100 <= *row))).collect();
        pool.answer(&answers).unwrap();
    }
}

#[test]
fn reports_show_what_the_ledger_has() {
    let folder = Folder::new("scored-pool");
    let ledger = folder.path("pool.ledger");
    record(Path::new(&ledger));
    let out = folder.path("report");
    let numbers = json(&["report", &ledger, "--out", &out, "--json"]);
    let figures = numbers["figures"].as_object().unwrap();
    let names: Vec<&str> = figures.keys().map(String::as_str).collect();
    assert_eq!(names, ["learning-curve", "query-rate", "uncertainty", "class-balance"]);
    assert!(figures["class-balance"]["spam"].as_array().unwrap().len() > 10);
    let page = fs::read_to_string(format!("{out}/index.html")).unwrap();
    for cells in [
        "<td>program</td><td>querist.Pool in Python</td>",
        "<td>rows in the pool</td><td>200</td>",
        "<td>answers</td><td>60</td>",
    ] {
        assert!(page.contains(cells), "{cells}");
    }
    assert!(page.contains("accuracy of the predictions at each draw"));
    assert!(!page.contains("not yet") && !page.contains("Gaussians"));
}

#[test]
fn commands_that_need_a_session_say_so() {
    let folder = Folder::new("scored-pool-others");
    let ledger = folder.path("pool.ledger");
    record(Path::new(&ledger));
    assert_eq!(json(&["verify", &ledger, "--json"])["problems"].as_array().unwrap().len(), 0);
    for command in [vec!["export", &ledger], vec!["plan", "--pilot", &ledger]] {
        let problem = error(&command);
        assert!(problem.contains("the ledger of `querist.Pool` in Python"), "{problem}");
    }
}
