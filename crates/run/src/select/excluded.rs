//! Ids of rows to exclude, read from a file.

use std::path::Path;

use querist_data::{Input, ReadOptions, escape_control, load_cells};

use crate::error::{Context, Result, bail};

/// Reads the ids of a file: the lines of a `.txt` file, else the column `column`, or `id`, `row` or the only column of a
/// table.
///
/// # Errors
/// If the file cannot be read, has no such column, or has a row without an id.
pub fn read_ids(path: &Path, column: Option<&str>) -> Result<Vec<String>> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let lines = text.trim_start_matches('\u{feff}').lines();
        return Ok(lines.filter(|line| !line.trim().is_empty()).map(str::to_owned).collect());
    }
    let input = Input::File(path.to_owned());
    let cells = load_cells(&input, &ReadOptions::default(), &[])?;
    let index_of = |wanted: &str| cells.names().iter().position(|name| name == wanted);
    let found = match column {
        Some(column) => index_of(column).or_else(|| index_of("id")),
        None => index_of("id").or_else(|| index_of("row")),
    };
    let only = (cells.names().len() == 1).then_some(0);
    let Some(index) = found.or(only) else {
        let names = cells.names().iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
        bail!(
            "{}: no column `{}` among {}; need a column of ids",
            path.display(),
            column.unwrap_or("id"),
            escape_control(&names)
        );
    };
    let mut ids = Vec::with_capacity(cells.len());
    for row in 0..cells.len() {
        match cells.row(row).nth(index) {
            Some(id) if !id.is_empty() => ids.push(id.to_owned()),
            _ => bail!("{}, record {}: no id; fill it, or remove the row", path.display(), row + 1),
        }
    }
    Ok(ids)
}
