//! The queries of `docs/ledger.md` run, and give what they say.

use querist_ledger::{Event, Kind, Ledger};
use rusqlite::Connection;
use rusqlite::types::Value;

/// The rows of a query, as texts.
fn rows(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).unwrap();
    let n_columns = statement.column_count();
    let text = |value: Value| match value {
        Value::Null => "null".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(value) => value,
        Value::Blob(value) => format!("{} bytes", value.len()),
    };
    let row = |row: &rusqlite::Row<'_>| {
        let cells: Result<Vec<String>, _> = (0..n_columns).map(|column| row.get(column).map(text)).collect();
        Ok(cells?.join(" "))
    };
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

#[test]
fn questions_have_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    let block = |first, count| Event::Considered { first, probabilities: vec![0.5; count], totals: vec![] };
    let ask = |time: u64| Event::Asked {
        time,
        id: format!("item-{time}"),
        probability: Some(0.5),
        tries: None,
        features: vec![],
        extra: vec![],
    };
    let answer = |ask, label, by: &str| Event::Answered { ask, label, at: 9, by: Some(by.to_owned()) };
    ledger.append(&[ask(1), ask(4), block(1, 4), ask(6), block(5, 2)]).unwrap();
    ledger.append(&[answer(4, 1.0, "Ada"), answer(1, -1.0, "Ben"), answer(4, -1.0, "Ben")]).unwrap();
    let draw = |ask: u64| Event::Drawn {
        ask,
        id: format!("text-{ask}"),
        probability: 0.25,
        numbers: vec![],
        by: "Ada".to_owned(),
        at: 5,
    };
    let act = |kind, number, about, label| Event::Acted {
        kind,
        number,
        about,
        label,
        numbers: vec![],
        key: format!("k{number}"),
        by: "Ada".to_owned(),
        at: 9,
    };
    ledger.append(&[draw(1), draw(2), act(Kind::Label, 1, 1, Some(1.0)), act(Kind::Label, 2, 2, Some(1.0))]).unwrap();
    ledger.append(&[act(Kind::Label, 3, 2, Some(-1.0)), act(Kind::Undo, 4, 1, None)]).unwrap();
    drop(ledger);
    let connection = Connection::open(&path).unwrap();
    let queries = include_str!("../../../../docs/ledger.md").split("```sql\n").skip(1);
    let found: Vec<Vec<String>> = queries.map(|rest| rows(&connection, rest.split("```").next().unwrap())).collect();
    let expected = [
        vec!["1 item-1 0.5 -1.0 Ben", "4 item-4 0.5 1.0 Ada", "4 item-4 0.5 -1.0 Ben", "6 item-6 0.5 null null"],
        vec!["1 4 2 0.5", "5 2 1 0.5"],
        vec!["-1.0 2", "1.0 1"],
        vec!["2 text-2 -1.0 Ada 9"],
    ];
    assert_eq!(found, expected);
    let marks = rows(&connection, "SELECT * FROM pragma_application_id, pragma_user_version");
    assert_eq!(marks, ["1366455156 2"]);
}
