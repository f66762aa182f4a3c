//! Headers: the names of columns in the first line, and files without such a line.

use std::collections::HashMap;

use crate::error::{DataFault, escape_control};
use crate::number;
use crate::sample::{ColumnStatistics, SampleStatistics};
use crate::source::Column;

/// The hint for files whose first line is a record.
const HINT: &str = "if the first line is a record, use --no-header; otherwise add a first line with the column \
     names";

/// The maximum number of distinct values for a column of words to hold categories or classes.
const FEW_VALUES: usize = 20;

/// Returns the names of columns in a file without a header: `column1`, `column2` …
pub(crate) fn numbered(columns: usize) -> Vec<String> {
    (1..=columns).map(|column| format!("column{column}")).collect()
}

/// Rejects a first line that cannot be a header.
///
/// # Errors
/// When two columns have the same name, or all names are numbers.
pub(crate) fn check(names: &[String]) -> Result<(), DataFault> {
    let is_number = |name: &str| number::parse(name.as_bytes()).is_some();
    if names.iter().all(|name| is_number(name)) {
        return Err(DataFault::new("only numbers in the first line", "the names of the columns").hint(HINT));
    }
    let mut indices = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = indices.insert(name.as_str(), index) {
            let found = format!("columns {} and {} are both named `{name}`", first + 1, index + 1);
            let fault = DataFault::new(found, "unique names");
            return Err(if is_number(name) { fault.hint(HINT) } else { fault });
        }
    }
    Ok(())
}

/// Returns whether the names of these columns look like another record.
///
/// Names may be numbers, such as years or quantiles, so a number above a column of numbers is not enough. Every column
/// of numbers must have one. There must also be further evidence: a class that occurs in its column, or numbers that
/// are unlikely names. A file whose columns of numbers have ordinary names is never suspected.
pub(crate) fn looks_like_data(columns: &[Column], sample: &SampleStatistics) -> bool {
    let seen: Vec<ColumnStatistics> = (0..columns.len()).map(|column| sample.column(column)).collect();
    let has_numbers = |seen: &&(&Column, ColumnStatistics)| 0 < seen.1.given && seen.1.numbers == seen.1.given;
    let pairs: Vec<(&Column, ColumnStatistics)> = columns.iter().zip(seen).collect();
    let mut numbers = vec![];
    for (column, seen) in pairs.iter().filter(has_numbers) {
        let Some(name) = number::parse(column.name.as_bytes()) else { return false };
        numbers.push((name, seen.range.unwrap_or((f64::NAN, f64::NAN))));
    }
    1 < columns.len() && (pairs.iter().any(|(column, seen)| names_a_class(column, seen)) || are_cells(&numbers))
}

/// Returns whether a column has few distinct words and its name is one of them.
fn names_a_class(column: &Column, seen: &ColumnStatistics) -> bool {
    let few = seen.values.len() <= FEW_VALUES && 2 * seen.values.len() <= seen.given;
    seen.numbers == 0 && few && seen.values.contains(column.name.as_bytes())
}

/// Returns whether these numbers, each with the range of the column below it, are cells rather than names. Names rise
/// or fall, as years do, or are whole numbers. They are rarely within the range of their columns.
fn are_cells(numbers: &[(f64, (f64, f64))]) -> bool {
    let values: Vec<f64> = numbers.iter().map(|(value, _)| *value).collect();
    let in_order = values.is_sorted_by(|a, b| a < b) || values.is_sorted_by(|a, b| a > b);
    let measured = values.iter().any(|value| *value != value.trunc() || *value < 0.0);
    let inside = numbers.iter().filter(|(value, (low, high))| low <= value && value <= high).count();
    !numbers.is_empty() && numbers.len() < 2 * inside && (measured || !in_order)
}

/// Returns the warning for a header that looks like data.
pub(crate) fn warning(columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().take(4).map(|column| column.name.as_str()).collect();
    let more = if names.len() < columns.len() { ", …" } else { "" };
    format!(
        "the first line looks like a record, not like column names: {}{more}; if it is one, use --no-header",
        escape_control(&names.join(", "))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{CellValue, ColumnKind, Sink};

    fn suspected(text: &str) -> bool {
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let column = |name: &&str| Column { name: (*name).to_owned(), kind: ColumnKind::Any };
        let columns: Vec<Column> = lines.next().unwrap().iter().map(column).collect();
        let mut sample = SampleStatistics::default();
        for line in lines {
            for (column, cell) in line.iter().enumerate() {
                sample.cell(column, CellValue::Bytes(cell.as_bytes())).unwrap();
            }
            sample.end().unwrap();
        }
        looks_like_data(&columns, &sample)
    }

    #[test]
    fn records_in_the_first_line_are_found() {
        let iris = "5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n7.0,3.2,4.7,1.4,versicolor\n6.3,3.3,6.0,2.5,virginica\n5.8,2.7,5.1,1.9,virginica\n";
        assert!(suspected(iris));
        assert!(suspected("good film,pos\nbad film,neg\nfine,pos\nawful,neg\nso so,neg\n"), "a class above its like");
        assert!(suspected("3,hello there,ham\n4,buy now,spam\n5,see you,ham\n6,win,spam\n7,ok,ham\n"));
        assert!(suspected("7,12,3,yes it is\n3,9,1,no\n15,22,8,perhaps\n"), "numbers that neither rise nor fall");
        assert!(suspected("-0.3,a b c\n-1,d e\n2,f g\n"));
    }

    #[test]
    fn real_headers_are_not_suspected() {
        assert!(!suspected("x,y,label\n1,2,a\n3,4,b\n"));
        assert!(!suspected("country,2019,2020,2021\nA,1,2,3\nB,2019,2020,2021\n"), "years rise");
        assert!(!suspected("item,0.1,0.5,0.9\na,100,200,300\nb,50,60,70\n"), "quantiles lie outside");
        assert!(!suspected("id,7,3,label\n1,5,9,a\n2,8,1,b\n"), "one column of numbers has a name");
        assert!(!suspected("0,1,2,label\n1,1,3,a\n0,5,9,b\n"), "as written by programs that count columns");
        assert!(!suspected("question,answer\nwhy,because\nhow,so\n"));
        assert!(!suspected("101,205,103,name\n1,5,3,x\n2,4,4,y\n"), "codes of questions with answers from 1 to 5");
        assert!(!suspected("setosa\nsetosa\nother\n"), "one column says too little");
    }
}
