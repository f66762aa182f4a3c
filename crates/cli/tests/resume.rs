//! Resuming a run: from where it stopped, and only with its original data.

mod common;

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use common::{Folder, error, json, querist, table};

#[test]
fn a_run_that_stopped_on_advice_does_not_continue() {
    let folder = Folder::new("advised");
    let data = folder.path("data.csv");
    table(&data, 400);
    for batch in ["1", "10"] {
        let (ledger, model) = (folder.path(&format!("ledger-{batch}")), folder.path(&format!("model-{batch}")));
        let run = ["pool", &data, "--label", "label", "--budget", "300", "--batch", batch, "--stop", "gain=0.05"];
        let run = [&run[..], &["--json", "--ledger", &ledger, "--model", &model, "--resume"]].concat();
        let once = json(&run);
        let kept = fs::read(&model).unwrap();
        assert!(once["asked"].as_u64().unwrap() < 300, "never advised to stop: {once}");
        assert_eq!(json(&run), once, "batches of {batch}");
        assert_eq!(fs::read(&model).unwrap(), kept, "batches of {batch}");
    }
}

/// The change is far from both ends of the file and keeps its length.
#[test]
fn a_run_does_not_resume_on_changed_data() {
    let folder = Folder::new("changed");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    for command in [vec!["stream"], vec!["stream", "--shuffle"], vec!["pool", "--budget", "20", "--fit", "sgd"]] {
        table(&data, 20_000);
        let _ = fs::remove_file(&ledger);
        let run = [&command[..], &[&data, "--label", "label", "--json", "--ledger", &ledger, "--resume"]].concat();
        let ended = json(&run);
        // The same bytes in another file are the same data.
        let twin = folder.path("twin.csv");
        fs::copy(&data, &twin).unwrap();
        let by_another_name: Vec<&str> = run.iter().map(|word| if *word == data { &twin } else { *word }).collect();
        assert_eq!(json(&by_another_name), ended, "{command:?}");
        let text = fs::read_to_string(&data).unwrap();
        let middle = text[text.len() / 2..].find(",yes").unwrap() + text.len() / 2;
        fs::write(&data, format!("{},noo{}", &text[..middle], &text[middle + 4..])).unwrap();
        assert!(100_000 < middle && middle + 100_000 < text.len(), "{middle} of {}", text.len());
        let refused = error(&run);
        assert!(refused.contains("is not the file the run began with, or has changed since"), "{refused}");
    }
}

#[test]
fn a_piped_pool_is_identified_by_its_rows() {
    let folder = Folder::new("piped");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 200);
    let run = |data: &str| {
        let arguments = ["pool", "-", "--label", "label", "--budget", "20", "--ledger", &ledger, "--resume"];
        querist(&arguments).stdin(fs::File::open(data).unwrap()).output().unwrap()
    };
    assert!(run(&data).status.success());
    assert!(run(&data).status.success(), "the same rows again");
    let text = fs::read_to_string(&data).unwrap();
    fs::write(&data, text.replacen(",yes", ",no", 1)).unwrap();
    let refused = run(&data);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("the rows are not those the run began with"), "{message}");
}

#[test]
fn a_rejected_run_leaves_a_finished_ledger_unchanged() {
    let folder = Folder::new("refused");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 300);
    let run = ["stream", &data, "--label", "label", "--ledger", &ledger];
    json(&[&run[..], &["--json"]].concat());
    let replay = ["replay", &ledger, "--json"];
    assert_eq!(json(&replay)["same_model"], true);
    error(&[&run[..], &["--resume", "--seed", "9"]].concat());
    table(&data, 301);
    error(&[&run[..], &["--resume"]].concat());
    assert_eq!(json(&replay)["same_model"], true);
}

#[test]
fn a_missing_ledger_is_reported_as_new() {
    let folder = Folder::new("typo");
    let (data, ledger) = (folder.path("data.csv"), folder.path("ledger"));
    table(&data, 50);
    let run = ["stream", &data, "--label", "label", "--ledger", &ledger, "--resume"];
    for is_new in [true, false] {
        let output = querist(&run).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message.contains("is new: the run begins with its first row"), is_new, "{message}");
    }
}

#[test]
fn a_model_replaces_only_regular_files() {
    let folder = Folder::new("special");
    let (data, pipe, socket) = (folder.path("data.csv"), folder.path("pipe"), folder.path("socket"));
    table(&data, 50);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _listener = UnixListener::bind(&socket).unwrap();
    for special in [&pipe, &socket] {
        let refused = error(&["stream", &data, "--label", "label", "--model", special]);
        assert!(refused.contains("not a regular file; use another name"), "{refused}");
        assert!(!fs::metadata(special).unwrap().is_file());
    }
}

#[test]
fn an_interrupted_run_says_how_to_resume() {
    let folder = Folder::new("interrupted");
    let ledger = folder.path("ledger");
    let run = ["stream", "--synthetic", "mixture", "--observations", "1e9", "--ledger", &ledger];
    let child = querist(&run).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // The ledger is created before the handler is installed; a block in it is written after.
    while !querist_ledger::Ledger::read(&ledger).is_ok_and(|ledger| 0 < ledger.count("considered")) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains(&format!("run the same command with --ledger {ledger} --resume")), "{message}");
}
