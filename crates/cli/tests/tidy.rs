//! Checks that no compiler makes: crate dependencies, module docs, file lengths, labels of the paper, paths.

use std::fs;
use std::path::{Path, PathBuf};

/// Labels of the paper that code, tests and documents may cite.
const LABELS: &[&str] = &[
    "sec:setup",
    "eq:surrogate",
    "alg:USGD",
    "eg:probabilistic",
    "eg:raj&bach",
    "eg:tifrea",
    "subsec:equiv_loss",
    "eq:key_ODE",
    "prop:SGD_equiv",
    "eq:feature-gradient",
    "eq:history-gradient",
    "subsec:certify_uncert",
    "fig:entropy",
    "fig:leastconfidence",
    "fig:raj",
    "fig:tifrea",
    "prop:link_calculate",
    "subsec:convergence",
    "prop:SGD_converge",
    "eq:feature-second-moment",
    "eq:constant-c-bound",
    "rem:choosing-c",
    "eq:umax-step-bound",
    "eq:oracle-step-bound",
    "thm:stream-based",
    "eq:stream-risk-transfer",
    "subsec:convexity",
    "eq:curvature-decomposition",
    "eg:Hinge",
    "prop:Hinge_non-conv",
    "fig:hinge",
    "eg:exponential",
    "fig:exponential",
    "subsec:link_func",
    "assm:uncertainty",
    "assm:loss_minimizer",
    "prop:equiv_surrogate",
    "coro:final_sample_complexity",
    "eq:fixed-c-classification",
    "eq:fixed-c-risk-ratio",
    "eq:feasible-risk-ratio",
    "fig:equivalent_loss",
    "fig:exp1-all",
    "sec:pool-based",
    "alg:USGD_pool-based",
    "eq:pool-mean",
    "prop:SGD_converge_pool",
    "sec:multi_dim",
    "prop:existence_equiv",
    "subsec:momentum",
    "prop:embedded-query-chain",
    "prop:momentum-ode",
    "eq:momentum-ode",
    "eq:momentum-energy",
    "apd:pool-details",
    "apd:bartlett",
    "thm:bartlett",
    "apd:convex-details",
    "apd:equiv_loss",
    "apd:surrogate",
    "apd:Lipschitz",
    "apd:constant-c-proof",
    "apd:comparison-proof",
    "apd:step-calibration",
    "subapd:proof_existence_equiv",
    "apd:momentum-details",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns every file of the project with one of these endings, except build output.
fn files(endings: &[&str]) -> Vec<PathBuf> {
    fn walk(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != ".git" {
                walk(&path, endings, found);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path);
            }
        }
    }
    let mut found = vec![];
    walk(&root(), endings, &mut found);
    assert!(!found.is_empty());
    found
}

#[test]
fn crates_depend_only_where_the_architecture_says() {
    let allowed = [
        ("theory", ""),
        ("rows", ""),
        ("ledger", ""),
        ("report", ""),
        ("engine", "rows theory"),
        ("data", "rows"),
        ("render", "engine report theory"),
        ("run", "data datasets engine ledger render report rows theory"),
        ("server", "engine ledger run"),
        ("reproduce", "data datasets engine render report rows theory"),
        ("bench", "data engine rows"),
        ("python", "data engine ledger render rows run theory"),
        ("querist", "data engine ledger render rows run theory"),
        ("cli", "data engine ledger render report reproduce rows run server theory"),
    ];
    let folders = fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(folders, allowed.len(), "a crate that the architecture does not name");
    for (folder, edges) in allowed {
        let manifest = fs::read_to_string(root().join("crates").join(folder).join("Cargo.toml")).unwrap();
        let dependencies = section(&manifest, "[dependencies]");
        let ours: Vec<&str> = dependencies.iter().filter_map(|name| name.strip_prefix("querist-")).collect();
        assert_eq!(ours.join(" "), edges, "{folder}");
        if folder == "theory" {
            assert!(dependencies.is_empty(), "theory depends on nothing but std, not on {dependencies:?}");
        }
    }
}

/// A package contains only the files below its own folder.
#[test]
fn sources_include_only_files_of_their_own_package() {
    for path in files(&[".rs"]).into_iter().filter(|path| path.components().any(|part| part.as_os_str() == "src")) {
        let folders = path.components().rev().skip(1).take_while(|part| part.as_os_str() != "src").count();
        let text = fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| line.contains("include_bytes!(\"") || line.contains("include_str!(\"")) {
            assert!(line.matches("../").count() <= folders + 1, "{}: {line}", path.display());
        }
    }
}

/// Returns the names in one section of a manifest.
fn section<'a>(manifest: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = manifest.lines().skip_while(|line| *line != heading).skip(1);
    let body = lines.take_while(|line| !line.starts_with('['));
    body.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim()).collect()
}

#[test]
fn every_module_has_a_doc_and_at_most_500_lines() {
    for path in files(&[".rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} has no module doc", path.display());
        assert!(text.lines().count() <= 500, "{} does two things", path.display());
    }
}

#[test]
fn cited_labels_are_labels_of_the_paper() {
    let mut cited = 0;
    for path in files(&[".rs", ".md"]) {
        if path.ends_with("tests/tidy.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("label ").skip(1) {
            let label: String = after
                .trim_start_matches('`')
                .chars()
                .take_while(|c| c.is_alphanumeric() || ":_-&".contains(*c))
                .collect();
            // A colon at the end belongs to the sentence.
            if label.trim_end_matches(':').contains(':') {
                cited += 1;
                assert!(LABELS.contains(&label.as_str()), "{} cites {label}", path.display());
            }
        }
    }
    assert!(15 < cited, "only {cited} labels cited");
}

#[test]
fn no_file_names_a_personal_folder() {
    for path in files(&[".rs", ".md", ".toml", ".trycmd", ".sh", "check", "run"]) {
        let text = fs::read_to_string(&path).unwrap();
        for folder in [concat!("/ro", "ot/"), concat!("/ho", "me/")] {
            assert!(!text.contains(folder), "{} names {folder}", path.display());
        }
    }
}

#[test]
fn mathematics_and_learners_do_no_input_or_output() {
    let folders = ["theory/src", "rows/src", "engine/src"].map(|folder| root().join("crates").join(folder));
    let is_pure = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
    for path in files(&[".rs"]).into_iter().filter(is_pure) {
        let text = fs::read_to_string(&path).unwrap();
        for word in ["std::fs", "std::net", "std::env", "std::process", "println!"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Every program shows the probabilities of `Task::probabilities`, so no other code computes them from scores.
#[test]
fn only_tasks_turn_scores_into_probabilities() {
    let folders = ["engine/src/session", "run/src", "server/src", "python/src", "cli/src"];
    let folders = folders.map(|folder| root().join("crates").join(folder));
    let is_user = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
    for path in files(&[".rs"]).into_iter().filter(is_user) {
        let text = fs::read_to_string(&path).unwrap();
        for word in ["sigmoid", "softmax_into", ".exp()"] {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
}
