//! Remarks on suspicious numbers in the rows that an encoder was fitted on.

use crate::describe::listed;
use crate::encoder::{Coding, EncodedColumn};
use crate::error::{DataFault, escape_control};
use crate::scaling::NumberStatistics;

/// The absolute value above which a number is rarely intended. It would scale all others of its column to nearly 0.
const FAR: f32 = 1e15;

/// Returns the remark on a column that is ignored because it cannot be read.
pub(crate) fn of_ignored(fault: &DataFault) -> String {
    const LONGEST: usize = 160;
    let found: String = fault.found.chars().take(LONGEST).collect();
    let hint = if fault.hint.is_empty() { String::new() } else { format!(" ({})", fault.hint) };
    format!("ignored: {}; expected {}{hint}", escape_control(&found), fault.expected)
}

/// Returns one sentence for each kind of anomaly.
pub(crate) fn of(fields: &[EncodedColumn], standardize: bool, met: &[NumberStatistics]) -> Vec<String> {
    let mut remarks = vec![];
    if !standardize {
        return remarks;
    }
    // Numbers come first, in the order of their fields, with vectors between them.
    let mut numbers = vec![];
    let mut position = 0;
    for field in fields {
        match &field.coding {
            Coding::Number(_) => numbers.push((field.column.as_str(), met[position])),
            Coding::Vector(length) => position += length - 1,
            _ => {}
        }
        position += 1;
    }
    let constant: Vec<&str> = numbers.iter().filter(|(_, met)| met.is_constant()).map(|(name, _)| *name).collect();
    if !constant.is_empty() {
        remarks.push(format!(
            "constant in the rows that numbers were scaled by: {}; such a column has no effect until it changes",
            escape_control(&listed(&constant))
        ));
    }
    for (name, met) in numbers.iter().filter(|(_, met)| FAR < met.farthest().abs() && !met.is_constant()) {
        remarks.push(format!(
            "`{}` holds {:e}, which scales the other numbers of the column to almost 0; remove such rows, or rescale \
             the column",
            escape_control(name),
            met.farthest()
        ));
    }
    remarks
}
