//! Threads share commits, and the events of each thread stay in order.

use std::sync::mpsc::channel;
use std::thread;

use querist_ledger::{Ledger, Writer};

use crate::support::record;

#[test]
fn many_threads_share_commits_and_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let writer = Writer::new(Ledger::create(&path, "{}").unwrap());
    thread::scope(|scope| {
        for person in 0..16_u64 {
            let writer = &writer;
            scope.spawn(move || {
                for number in 0..100 {
                    let (sender, receiver) = channel();
                    let answer = record("answered", &(1000 * person + number).to_string());
                    writer.append(vec![answer], move |done| sender.send(done).unwrap());
                    receiver.recv().unwrap().unwrap();
                }
            });
        }
    });
    let ledger = writer.close().unwrap();
    let mut found = vec![vec![]; 16];
    for record in ledger.records() {
        let number: u64 = record.unwrap().fields.parse().unwrap();
        found[number as usize / 1000].push(number % 1000);
    }
    assert!(found.iter().all(|numbers| *numbers == (0..100).collect::<Vec<_>>()));
}

#[test]
fn an_empty_append_completes_after_earlier_appends() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::new(Ledger::create(folder.path().join("run.ledger"), "{}").unwrap());
    let (sender, receiver) = channel();
    for (number, records) in [vec![record("asked", "{}")], vec![], vec![record("asked", "{}")]].into_iter().enumerate()
    {
        let sender = sender.clone();
        writer.append(records, move |done| sender.send((number, done.is_ok())).unwrap());
    }
    assert_eq!(receiver.iter().take(3).collect::<Vec<_>>(), [(0, true), (1, true), (2, true)]);
    assert_eq!(writer.close().unwrap().count("asked"), 2);
}
