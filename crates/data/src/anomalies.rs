//! Remarks on suspicious numbers in the rows that an encoder was fitted on.

use crate::describe::listed;
use crate::encoder::{Coding, Field};
use crate::error::{Fault, shown};
use crate::scaling::Met;

/// The absolute value above which a number is rarely intended. It would scale all others of its column to nearly 0.
const FAR: f32 = 1e15;

/// Returns the remark on a column that is ignored because it cannot be read.
pub(crate) fn of_ignored(fault: &Fault) -> String {
    const LONGEST: usize = 160;
    let found: String = fault.found.chars().take(LONGEST).collect();
    let hint = if fault.hint.is_empty() { String::new() } else { format!(" ({})", fault.hint) };
    format!("ignored: {}; expected {}{hint}", shown(&found), fault.expected)
}

/// Returns one sentence for each kind of anomaly.
pub(crate) fn of(fields: &[Field], standardize: bool, met: &[Met]) -> Vec<String> {
    let mut remarks = vec![];
    if !standardize {
        return remarks;
    }
    // Numbers come first, in the order of their fields, with vectors between them.
    let mut numbers = vec![];
    let mut place = 0;
    for field in fields {
        match &field.coding {
            Coding::Number(_) => numbers.push((field.column.as_str(), met[place])),
            Coding::Vector(length) => place += length - 1,
            _ => {}
        }
        place += 1;
    }
    let constant: Vec<&str> = numbers.iter().filter(|(_, met)| met.is_constant()).map(|(name, _)| *name).collect();
    if !constant.is_empty() {
        remarks.push(format!(
            "one number in all rows that numbers were scaled by: {}; it counts once it changes",
            shown(&listed(&constant))
        ));
    }
    for (name, met) in numbers.iter().filter(|(_, met)| FAR < met.farthest().abs() && !met.is_constant()) {
        remarks.push(format!(
            "`{}` holds {:e}, which scales its other numbers to almost nothing: leave such rows out, or bring the \
             column to another scale",
            shown(name),
            met.farthest()
        ));
    }
    remarks
}
