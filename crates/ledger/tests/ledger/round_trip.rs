//! What is appended comes back: every bit, in order, also after closing and opening.

use proptest::prelude::*;
use querist_ledger::{Counts, Event, Ledger};

use crate::support::{batch, ledger_of, n_batches, read_texts, texts};

fn number() -> impl Strategy<Value = f64> {
    let awkward = prop::sample::select(vec![
        0.0,
        -0.0,
        1.0,
        -3.0,
        5e-324,
        -2.2e-308,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        9007199254740993.0,
        0.1,
        i64::MAX as f64,
    ]);
    let any = any::<u64>().prop_map(f64::from_bits).prop_filter("NaN is refused", |value| !value.is_nan());
    prop_oneof![awkward, any]
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(number(), 0..20)
}

fn whole() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, 0..=i64::MAX as u64, Just(i64::MAX as u64)]
}

fn event() -> impl Strategy<Value = Event> {
    let text = || prop_oneof![any::<String>(), Just(String::new()), Just("a\0b".to_owned())];
    let bytes = prop::collection::vec(any::<u8>(), 0..60);
    let considered = (whole(), numbers(), numbers()).prop_map(|(first, probabilities, totals)| Event::Considered {
        first,
        probabilities,
        totals,
    });
    let asked = (whole(), text(), prop::option::of(number()), prop::option::of(whole()), bytes, numbers()).prop_map(
        |(time, id, probability, tries, features, extra)| Event::Asked {
            time,
            id,
            probability,
            tries,
            features,
            extra,
        },
    );
    let answered = (any::<u64>(), number(), whole(), prop::option::of(text()))
        .prop_map(|(ask, label, at, by)| Event::Answered { ask, label, at, by });
    prop_oneof![considered, asked, answered]
}

/// Asks with a time of their own; answers to asks before them.
fn valid(appends: Vec<Vec<Event>>) -> Vec<Vec<Event>> {
    let mut times: Vec<u64> = vec![];
    let mut keep = |event| match event {
        Event::Asked { time, .. } if times.contains(&time) => None,
        Event::Asked { time, .. } => {
            times.push(time);
            Some(event)
        }
        Event::Answered { .. } if times.is_empty() => None,
        Event::Answered { ask, label, at, by } => {
            Some(Event::Answered { ask: times[ask as usize % times.len()], label, at, by })
        }
        Event::Considered { .. } | Event::Drawn { .. } | Event::Acted { .. } => Some(event),
    };
    appends.into_iter().map(|events| events.into_iter().filter_map(&mut keep).collect()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn events_come_back_bit_for_bit(
        appends in prop::collection::vec(prop::collection::vec(event(), 0..100), 0..5).prop_map(valid),
        header in any::<String>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?c%d.ledger");
        let mut ledger = Ledger::create(&path, &header).unwrap();
        let mut expected = vec![];
        for events in &appends {
            ledger.append(events).unwrap();
            expected.extend(events.iter().map(|event| format!("{event:?}")));
            prop_assert_eq!(read_texts(&ledger), (expected.clone(), None));
            prop_assert_eq!(read_texts(&Ledger::read(&path).unwrap()), (expected.clone(), None));
            drop(ledger);
            ledger = Ledger::open(&path).unwrap();
        }
        prop_assert_eq!(ledger.header(), &header);
        let events: Vec<&Event> = appends.iter().flatten().collect();
        let count = |kind: fn(&Event) -> u64| events.iter().map(|event| kind(event)).sum::<u64>();
        prop_assert_eq!(ledger.counts(), Counts {
            considered: count(|event| match event {
                Event::Considered { probabilities, .. } => probabilities.len() as u64,
                _ => 0,
            }),
            asked: count(|event| u64::from(matches!(event, Event::Asked { .. }))),
            answered: count(|event| u64::from(matches!(event, Event::Answered { .. }))),
        });
    }
}

#[test]
fn one_file_is_left_after_closing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 3);
    drop(Ledger::read(&path).unwrap());
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.ledger"]);
}

#[test]
fn notes_keep_their_last_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    assert_eq!(ledger.note("finished").unwrap(), None);
    ledger.set_note("finished", "no").unwrap();
    ledger.set_note("encoder", "α\0").unwrap();
    ledger.set_note("finished", "yes").unwrap();
    drop(ledger);
    let ledger = Ledger::read(&path).unwrap();
    assert_eq!(ledger.note("finished").unwrap().as_deref(), Some("yes"));
    assert_eq!(ledger.note("encoder").unwrap().as_deref(), Some("α\0"));
    assert_eq!(ledger.note("").unwrap(), None);
}

#[test]
fn a_reader_sees_one_moment_and_stops_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    ledger_of(&path, 40);
    let mut ledger = Ledger::open(&path).unwrap();
    let reader = Ledger::read(&path).unwrap();
    let mut events = reader.events();
    let first = events.next().unwrap().unwrap();
    // More than the log may hold, so that it is brought into the file meanwhile.
    let long = Event::Considered { first: 9, probabilities: vec![0.5; 1_200_000], totals: vec![] };
    for number in 40..44 {
        ledger.append(&batch(number)).unwrap();
        ledger.append(std::slice::from_ref(&long)).unwrap();
    }
    let rest = events.map(|event| event.unwrap());
    let seen: Vec<String> = std::iter::once(first).chain(rest).map(|event| format!("{event:?}")).collect();
    assert_eq!(seen, texts(40));
    assert_eq!(n_batches(&reader), 40);
    drop((reader, ledger));
    let events: Vec<Event> = Ledger::read(&path).unwrap().events().map(Result::unwrap).collect();
    assert_eq!(events.iter().filter(|event| **event == long).count(), 4);
    let short: Vec<String> = events.iter().filter(|event| **event != long).map(|event| format!("{event:?}")).collect();
    assert_eq!(short, texts(44));
}

#[test]
fn a_backup_is_a_ledger_to_go_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("run.ledger"), folder.path().join("copy.ledger"));
    ledger_of(&path, 5);
    let mut ledger = Ledger::open(&path).unwrap();
    ledger.append(&batch(5)).unwrap();
    ledger.backup(&copy).unwrap();
    ledger.append(&batch(6)).unwrap();
    let taken = ledger.backup(&copy).unwrap_err().to_string();
    assert!(taken.contains("copy.ledger: exists already"), "{taken}");
    let mut copied = Ledger::open(&copy).unwrap();
    assert_eq!((copied.header(), copied.note("encoder").unwrap().as_deref()), ("{\"seed\": 1}", Some("none")));
    assert_eq!(read_texts(&copied), (texts(6), None));
    copied.append(&batch(6)).unwrap();
    assert_eq!(read_texts(&copied), (texts(7), None));
    Ledger::read(&path).unwrap().backup(folder.path().join("third.ledger")).unwrap();
    assert_eq!(read_texts(&Ledger::read(folder.path().join("third.ledger")).unwrap()), (texts(7), None));
}
