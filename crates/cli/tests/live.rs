//! Live runs: the output for every input line, and the state after a kill.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{Folder, json, querist};
use serde_json::Value;

/// A running live stream.
struct StreamProcess {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
}

impl StreamProcess {
    /// Starts a live stream, with two classes unless further flags name others.
    fn start(ledger: &str, more: &[&str]) -> Self {
        let classes = if more.contains(&"--labels") { &[][..] } else { &["--labels", "no,yes"][..] };
        let flags = ["stream", "-", "--ask", "--ledger", ledger];
        let mut child = querist(&[&flags[..], classes, more].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let _ = sender.send(serde_json::from_str(&line.unwrap()).unwrap());
            }
        });
        Self { child, input, lines }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Sends the observations with these numbers.
    fn observe(&mut self, numbers: std::ops::Range<u32>) {
        for i in numbers {
            self.send(&observation(i));
        }
    }

    /// Returns the next output line; panics after a minute without one, because the run then waits for input in vain.
    fn next(&self) -> Value {
        self.lines.recv_timeout(Duration::from_mins(1)).expect("the run says something")
    }

    /// Returns the next line with this key.
    fn next_with(&self, key: &str) -> Value {
        loop {
            let line = self.next();
            if line.get(key).is_some() {
                return line;
            }
        }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the input and returns the last line.
    fn finish(self) -> Value {
        let Self { mut child, input, lines } = self;
        drop(input);
        let last = lines.iter().last().unwrap();
        assert!(child.wait().unwrap().success());
        last["finished"].clone()
    }
}

fn observation(i: u32) -> String {
    format!(r#"{{"id": "e{i}", "a": {}, "b": {}}}"#, i % 7, (i * i) % 5)
}

#[test]
fn a_run_killed_in_its_warm_up_prints_its_resume_position_first() {
    let folder = Folder::new("live-warm-up");
    let ledger = folder.path("ledger");
    let flags = ["--warm-up", "20", "--resume"];
    let mut first = StreamProcess::start(&ledger, &flags);
    assert_eq!(first.next()["resumed"]["observed"], 0);
    first.observe(0..10);
    first.kill();
    let mut second = StreamProcess::start(&ledger, &flags);
    assert_eq!(second.next()["resumed"]["observed"], 0);
    second.observe(0..20);
    assert_eq!(second.next_with("ask")["id"], "e0");
    assert_eq!(second.finish()["observed"], 20);
}

#[test]
fn a_bad_line_is_rejected_and_the_run_continues() {
    let folder = Folder::new("live-refused");
    for (name, more) in [("plain", &[][..]), ("skipping", &["--skip-bad-rows"][..])] {
        let mut live = StreamProcess::start(&folder.path(name), &[&["--warm-up", "5"][..], more].concat());
        let refused = |live: &StreamProcess, line: u64, to: Value, why: &str| {
            let reply = live.next_with("refused");
            assert_eq!((&reply["line"], &reply["refused"]), (&line.into(), &to), "{reply}");
            assert!(reply["why"].as_str().unwrap().starts_with(why), "{reply}");
            assert!(!reply["why"].as_str().unwrap().contains("--skip-bad-rows"), "{reply}");
        };
        // Bad lines are rejected in the warm-up, too.
        live.send("[1, 2]");
        refused(&live, 1, Value::Null, "not a JSON object");
        live.send(r#"{"answer": 1, "label": "yes"}"#);
        refused(&live, 2, 1.into(), "nothing has been asked yet");
        live.observe(0..5);
        let ask = live.next_with("ask");
        live.send(&format!(r#"{{"answer": {}, "label": "yes""#, ask["ask"]));
        refused(&live, 8, Value::Null, "not a JSON object: EOF while parsing");
        live.send(r#"{"id": "e5", "a": 1}"#);
        refused(&live, 9, Value::Null, "no `b`; expected a number");
        live.send(r#"{"id": "e5", "a": "much", "b": 1}"#);
        refused(&live, 10, Value::Null, "column `a`: \"much\" is not a number; expected");
        live.input.write_all(b"{\"id\": \"\xff\"}\n").unwrap();
        refused(&live, 11, Value::Null, "not UTF-8");
        live.send(&format!(r#"{{"answer": {}, "label": "yes"}}"#, ask["ask"]));
        assert_eq!(live.next_with("answered")["answered"], ask["ask"]);
        live.observe(5..9);
        let end = live.finish();
        assert_eq!((&end["observed"], &end["answered"], &end["skipped_rows"]), (&9.into(), &1.into(), &5.into()));
    }
}

#[test]
fn a_killed_run_resumes_after_rejected_lines_and_counts_them() {
    let folder = Folder::new("live-position");
    let ledger = folder.path("ledger");
    let flags = ["--warm-up", "5", "--resume"];
    let mut live = StreamProcess::start(&ledger, &flags);
    assert_eq!(live.next()["resumed"]["next"], 1);
    let bad = |i: u32| [2, 7, 8, 19].contains(&i);
    for i in 0..20 {
        live.send(&if bad(i) { "no object".to_owned() } else { observation(i) });
    }
    // A rejected line is recorded once the run waits for the next one, so the test waits for a reply to a later line.
    let ask = live.next_with("ask");
    live.send(&format!(r#"{{"answer": {}, "label": "yes"}}"#, ask["ask"]));
    live.next_with("answered");
    live.send("no object");
    while live.next_with("refused")["line"] != 22 {}
    live.send(&format!(r#"{{"answer": {}, "label": "perhaps"}}"#, ask["ask"]));
    live.next_with("refused");
    live.kill();
    let mut live = StreamProcess::start(&ledger, &flags);
    assert_eq!(live.next()["resumed"], serde_json::json!({"observed": 16, "refused": 5, "next": 22}));
    live.send("no object");
    live.observe(20..24);
    let end = live.finish();
    assert_eq!((&end["observed"], &end["skipped_rows"]), (&20.into(), &6.into()));
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
    let figures = folder.path("figures");
    let report = querist(&["report", &ledger, "--out", &figures]).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
}

#[test]
fn a_repeated_answer_is_distinguished_from_a_lost_one() {
    let folder = Folder::new("live-again");
    let ledger = folder.path("ledger");
    let flags = ["--warm-up", "5", "--resume"];
    let mut live = StreamProcess::start(&ledger, &flags);
    live.observe(0..5);
    let ask = live.next_with("ask");
    let again = serde_json::json!({"answered": ask["ask"], "id": ask["id"], "again": true});
    live.send(&format!(r#"{{"answer": {}, "label": "yes"}}"#, ask["id"]));
    assert_eq!(live.next_with("answered"), serde_json::json!({"answered": ask["ask"], "id": ask["id"]}));
    let retry = |live: &mut StreamProcess| {
        for to in [&ask["ask"], &ask["id"]] {
            live.send(&format!(r#"{{"answer": {to}, "label": "yes"}}"#));
            assert_eq!(live.next_with("answered"), again);
            live.send(&format!(r#"{{"answer": {to}, "label": "no"}}"#));
            assert_eq!(live.next_with("refused")["why"], "already answered with yes");
        }
        live.send(r#"{"answer": 999, "label": "yes"}"#);
        assert_eq!(live.next_with("refused")["why"], "nothing was asked under that number or id");
    };
    retry(&mut live);
    live.kill();
    let mut live = StreamProcess::start(&ledger, &flags);
    retry(&mut live);
    assert_eq!(live.finish()["answered"], 1);
    assert_eq!(json(&["replay", &ledger, "--json"])["same_model"], true);
}

#[test]
fn a_live_run_reports_unknown_categories_and_rules_without_an_objective() {
    let folder = Folder::new("live-told");
    let ledger = folder.path("ledger");
    let flags = ["--warm-up", "4", "--resume", "--labels", "low,middle,high"];
    let mut live = StreamProcess::start(&ledger, &flags);
    for color in ["red", "blue", "red", "blue", "green"] {
        live.send(&format!(r#"{{"a": 1, "color": "{color}"}}"#));
    }
    live.send("no object");
    live.next_with("refused");
    // The test waits for the reply to this answer, so the line before it is recorded.
    live.send(r#"{"answer": 99, "label": "low"}"#);
    live.next_with("refused");
    live.kill();
    let mut live = StreamProcess::start(&ledger, &flags);
    assert_eq!(live.next()["resumed"]["next"], 7);
    live.send(r#"{"a": 2, "color": "pink"}"#);
    let end = live.finish();
    assert_eq!((&end["observed"], &end["unknown_categories"]), (&6.into(), &2.into()));
    assert!(end["warning"].as_str().unwrap().contains("has no equivalent loss for 3 classes"), "{}", end["warning"]);
}
