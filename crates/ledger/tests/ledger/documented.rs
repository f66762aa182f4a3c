//! The queries in `docs/reference/ledger.md` run and return the documented rows.

use querist_ledger::Ledger;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::support::record;

/// Runs a query and returns its rows as text.
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
fn documented_stream_queries_return_the_expected_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    let block = |first: u64, count: u64| {
        record("considered", &format!("{{\"first\":{first},\"count\":{count}}}")).with_data(vec![0; 8 * count as usize])
    };
    let ask = |time: u64| {
        let fields = format!("{{\"time\":{time},\"id\":\"item-{time}\",\"probability\":0.5}}");
        record("asked", &fields).with_data(vec![])
    };
    let answer = |ask: u64, label: f64| record("answered", &format!("{{\"ask\":{ask},\"label\":{label:?},\"at\":9}}"));
    ledger.append(&[ask(1), ask(4), block(1, 4), ask(6), block(5, 2)]).unwrap();
    ledger.append(&[answer(4, 1.0), answer(1, -1.0), answer(4, -1.0)]).unwrap();
    drop(ledger);
    let stream = run_queries(&path, 0..3);
    let expected = [
        vec!["1 item-1 0.5 -1.0", "4 item-4 0.5 1.0", "4 item-4 0.5 -1.0", "6 item-6 0.5 null"],
        vec!["1 4 2 0.5", "5 2 1 0.5"],
        vec!["-1.0 2", "1.0 1"],
    ];
    assert_eq!(stream, expected);
    let connection = Connection::open(&path).unwrap();
    let identifiers = rows(&connection, "SELECT * FROM pragma_application_id, pragma_user_version");
    assert_eq!(identifiers, ["1366455156 3"]);
}

#[test]
fn the_documented_session_query_returns_the_expected_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ledger");
    let mut ledger = Ledger::create(&path, "{}").unwrap();
    let ask = |ask: u64| {
        let text = format!("the text of {ask}");
        let digest = <sha2::Sha256 as sha2::Digest>::digest(text.as_bytes());
        let digest = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        record("asked", &format!("{{\"ask\":{ask},\"id\":\"text-{ask}\",\"content\":\"{digest}\"}}")).with_content(text)
    };
    let answer = |number: u64, ask: u64, response: &str| {
        let fields = format!(
            "{{\"answer\":{number},\"ask\":{ask},\"response\":{response},\"annotator\":\"Ada\",\"key\":\"k\",\"at\":9}}"
        );
        record("answered", &fields)
    };
    let withdrawn = record("withdrawn", r#"{"number":4,"answer":1,"annotator":"Ada","key":"w","at":9}"#);
    ledger.append(&[ask(1), ask(2), answer(1, 1, "{\"label\":1.0}"), answer(2, 2, "{\"label\":1.0}")]).unwrap();
    ledger.append(&[answer(3, 2, "{\"label\":-1.0}"), withdrawn, ask(3), answer(5, 3, "\"skip\"")]).unwrap();
    drop(ledger);
    assert_eq!(run_queries(&path, 3..4), [vec!["2 text-2 the text of 2 -1.0 Ada 9"]]);
}

/// Runs a range of the documented queries and returns their rows.
fn run_queries(path: &std::path::Path, queries: std::ops::Range<usize>) -> Vec<Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let texts: Vec<&str> = include_str!("../../../../docs/reference/ledger.md").split("```sql\n").skip(1).collect();
    assert_eq!(texts.len(), 4);
    texts[queries].iter().map(|rest| rows(&connection, rest.split("```").next().unwrap())).collect()
}
