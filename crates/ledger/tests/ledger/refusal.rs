//! An append with one event that cannot be recorded changes nothing, and the next one goes on.

use querist_ledger::{Event, Fault, Ledger, Refusal};

use crate::support::{batch, ledger_of, read_texts, texts};

fn ask(time: u64) -> Event {
    let id = "item".to_owned();
    Event::Asked { time, id, probability: Some(0.5), tries: None, features: vec![], extra: vec![] }
}

fn answer(ask: u64) -> Event {
    Event::Answered { ask, label: 1.0, at: 0, by: None }
}

/// An event that cannot be recorded after two batches and an ask at time 500, and why.
fn table() -> Vec<(Event, Refusal)> {
    let nan = f64::NAN;
    let large = 1 << 63;
    let asked = |probability, tries, extra| Event::Asked {
        time: 900,
        id: String::new(),
        probability,
        tries,
        features: vec![],
        extra,
    };
    let considered = |first, probabilities, totals| Event::Considered { first, probabilities, totals };
    vec![
        (ask(0), Refusal::TimeTaken { time: 0 }),
        (ask(12), Refusal::TimeTaken { time: 12 }),
        (ask(500), Refusal::TimeTaken { time: 500 }),
        (answer(3), Refusal::UnknownAsk { ask: 3 }),
        (answer(501), Refusal::UnknownAsk { ask: 501 }),
        (considered(1, vec![0.5, nan], vec![]), Refusal::NotANumber { field: "probabilities" }),
        (considered(1, vec![], vec![-nan]), Refusal::NotANumber { field: "totals" }),
        (asked(Some(nan), None, vec![]), Refusal::NotANumber { field: "probability" }),
        (asked(None, None, vec![0.0, nan]), Refusal::NotANumber { field: "extra" }),
        (Event::Answered { ask: 500, label: nan, at: 0, by: None }, Refusal::NotANumber { field: "label" }),
        (considered(large, vec![], vec![]), Refusal::TooLarge { field: "first", value: large }),
        (ask(u64::MAX), Refusal::TooLarge { field: "time", value: u64::MAX }),
        (asked(None, Some(large), vec![]), Refusal::TooLarge { field: "tries", value: large }),
        (answer(large), Refusal::TooLarge { field: "ask", value: large }),
        (
            Event::Answered { ask: 500, label: 0.0, at: large, by: None },
            Refusal::TooLarge { field: "at", value: large },
        ),
    ]
}

#[test]
fn a_refused_event_takes_the_append_with_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 2);
    let mut ledger = Ledger::open(&path).unwrap();
    for (event, why) in table() {
        let counts = ledger.counts();
        let error = ledger.append(&[ask(500), answer(500), event, ask(700)]).unwrap_err();
        assert_eq!(error.fault, Fault::Refused { index: 2, why: why.clone() });
        assert!(error.to_string().contains(&format!("run.ledger: event 2 of an append was refused: {why}")), "{error}");
        assert_eq!(ledger.counts(), counts);
    }
    // An answer must come after its ask.
    let error = ledger.append(&[answer(500), ask(500)]).unwrap_err();
    assert_eq!(error.fault, Fault::Refused { index: 0, why: Refusal::UnknownAsk { ask: 500 } });
    ledger.append(&batch(2)).unwrap();
    assert_eq!(read_texts(&ledger), (texts(3), None));
    // Several answers to one ask are kept, each.
    ledger.append(&[answer(0), answer(0)]).unwrap();
    assert_eq!(ledger.counts().answered, 5);
}

#[test]
fn refusals_say_the_value() {
    for (event, why) in table() {
        let words = why.to_string();
        let told = match why {
            Refusal::TimeTaken { time: value } | Refusal::UnknownAsk { ask: value } => value.to_string(),
            Refusal::TooLarge { value, field } => format!("{field} = {value}"),
            Refusal::NotANumber { field } => field.to_owned(),
            Refusal::TooLong { bytes } => bytes.to_string(),
        };
        assert!(words.contains(&told), "{words} for {event:?}");
    }
}

#[test]
fn a_reader_appends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 1);
    let mut ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.append(&batch(1)).unwrap_err().fault, Fault::OpenedForReading);
    assert_eq!(ledger.set_note("a", "b").unwrap_err().fault, Fault::OpenedForReading);
    assert_eq!(read_texts(&ledger), (texts(1), None));
}
