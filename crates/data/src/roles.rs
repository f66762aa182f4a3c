//! The roles of columns: as specified, or guessed from their names and the first records.

use crate::error::DataFault;
use crate::options::ReadOptions;
use crate::sample::{ColumnStatistics, MANY, SampleStatistics};
use crate::source::{Column, ColumnKind};

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Label,
    Text,
    Number,
    Category,
    /// A list of numbers, of this length.
    Vector(usize),
    /// A number that is one component of a vector spread over columns.
    Part,
    Features,
    Ignored,
}

/// The role of every column, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    pub(crate) columns: Vec<(String, Role)>,
}

/// Column names that suggest ids or labels, the most likely first.
const IDS: [&str; 5] = ["id", "uuid", "key", "unnamed", "tag"];
const LABELS: [&str; 3] = ["label", "target", "class"];

/// The minimum number of numbered columns that are taken for a vector; fewer may be anything.
const PARTS: usize = 16;

impl Roles {
    pub(crate) fn find(
        columns: &[Column],
        sample: &SampleStatistics,
        options: &ReadOptions,
    ) -> Result<Self, DataFault> {
        let mut roles: Vec<Option<Role>> = specified(columns, sample, options)?;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if options.id.is_none() {
            // Names with several meanings count as ids only if every record has one.
            let is_reliable = |name: &&str| {
                let given = unspecified(&names, &roles, name).map_or(0, |index| sample.column(index).given);
                matches!(*name, "id" | "uuid") || given == sample.records
            };
            let likely: Vec<&str> = IDS.into_iter().filter(is_reliable).collect();
            guess_name(&names, &mut roles, &likely, Role::Id);
        }
        if options.label.is_none() && !options.guess_label {
            // A model must not learn from a column that may be the label itself.
            for name in LABELS {
                if let Some(index) = unspecified(&names, &roles, name) {
                    roles[index] = Some(Role::Ignored);
                }
            }
        } else if options.label.is_none() {
            let likely: Vec<&str> =
                LABELS.into_iter().filter(|name| unspecified(&names, &roles, name).is_some()).collect();
            if 1 < likely.len() {
                let found = format!("columns `{}` could both be the label", likely.join("` and `"));
                return Err(
                    DataFault::new(found, "--label COLUMN").hint(format!("name one with --label {}", likely[0]))
                );
            }
            // Next to `x`, `y` is a coordinate.
            let has_x = unspecified(&names, &roles, "x").is_some();
            let fallback: &[&str] = if has_x { &[] } else { &["y"] };
            guess_name(&names, &mut roles, if likely.is_empty() { fallback } else { &likely }, Role::Label);
        }
        for part in parts(&names, &roles) {
            roles[part] = Some(Role::Part);
        }
        let guess = |(index, role): (usize, Option<Role>)| {
            let role = role.unwrap_or_else(|| guess_kind(columns[index].kind, &sample.column(index)));
            (columns[index].name.clone(), role)
        };
        let columns = roles.into_iter().enumerate().map(guess).collect();
        Ok(Self { columns })
    }
}

/// Returns the roles that the options specify. Fails if a column does not exist or has two roles.
fn specified(
    columns: &[Column],
    sample: &SampleStatistics,
    options: &ReadOptions,
) -> Result<Vec<Option<Role>>, DataFault> {
    let mut roles: Vec<Option<Role>> = vec![None; columns.len()];
    let flags: [(&str, &[String], Role); 7] = [
        ("--label", options.label.as_slice(), Role::Label),
        ("--id", options.id.as_slice(), Role::Id),
        ("--text", &options.text, Role::Text),
        ("--numbers", &options.numbers, Role::Number),
        ("--categories", &options.categories, Role::Category),
        ("--ignore", &options.ignore, Role::Ignored),
        ("--predictions", options.predictions.as_slice(), Role::Ignored),
    ];
    let mut specified = vec![];
    for (flag, names, role) in flags {
        for name in names {
            let index = columns.iter().position(|column| column.name == *name);
            specified.push((flag, name, index.ok_or_else(|| unknown(flag, name, columns))?, role));
        }
    }
    for name in &options.vectors {
        let flag = "--vectors";
        if let Some(index) = columns.iter().position(|column| column.name == *name) {
            let length = length(columns[index].kind, &sample.column(index)).ok_or_else(|| {
                let found = format!("{flag} {name}: the first records have no list of numbers in it");
                DataFault::new(found, "lists of numbers")
            })?;
            specified.push((flag, name, index, Role::Vector(length)));
            continue;
        }
        let parts = (0..columns.len()).filter(|index| digits(&columns[*index].name, name).is_some());
        let parts: Vec<_> = parts.map(|index| (flag, name, index, Role::Part)).collect();
        if parts.is_empty() {
            return Err(unknown(flag, name, columns));
        }
        specified.extend(parts);
    }
    for (flag, name, index, role) in specified {
        if roles[index].replace(role).is_some() {
            let found = format!("{flag} {name}: the column `{}` already has another role", columns[index].name);
            return Err(DataFault::new(found, "one role for each column"));
        }
    }
    Ok(roles)
}

/// Returns the length of a column's lists; `None` if no list has any numbers.
fn length(kind: ColumnKind, seen: &ColumnStatistics) -> Option<usize> {
    match kind {
        ColumnKind::Vector(Some(length)) => Some(length).filter(|length| 0 < *length),
        _ => seen.length,
    }
}

fn unknown(flag: &str, name: &str, columns: &[Column]) -> DataFault {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_by_key(|known| distance(name, known));
    let more = if 12 < names.len() { format!(" and {} more", names.len() - 12) } else { String::new() };
    names.truncate(12);
    DataFault::new(format!("{flag} {name}: the column does not exist"), format!("one of {}{more}", names.join(", ")))
}

/// Returns the edit distance between two names, ignoring case.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) =
        (from.to_lowercase().chars().collect(), to.to_lowercase().chars().collect());
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let changed = corner + usize::from(a != b);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[to.len()]
}

/// Returns the column of this name, if its role was not specified.
fn unspecified(names: &[&str], roles: &[Option<Role>], wanted: &str) -> Option<usize> {
    (0..names.len()).find(|index| roles[*index].is_none() && names[*index].eq_ignore_ascii_case(wanted))
}

fn guess_name(names: &[&str], roles: &mut [Option<Role>], likely: &[&str], role: Role) {
    if let Some(index) = likely.iter().find_map(|name| unspecified(names, roles, name)) {
        roles[index] = Some(role);
    }
}

/// Returns the digits after a prefix; `None` if the name is not a prefix followed by digits.
fn digits<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let digits = name.strip_prefix(prefix)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Returns columns such as `e000`, `e001` …: a common prefix, followed by numbers of the same width from 0. Numbers
/// without leading zeros may be anything: `x1`, `x2` …
fn parts(names: &[&str], roles: &[Option<Role>]) -> Vec<usize> {
    let mut found = vec![];
    for (start, name) in names.iter().enumerate() {
        let prefix = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let width = name.len() - prefix.len();
        if width < 2 || name[prefix.len()..].bytes().any(|digit| digit != b'0') {
            continue;
        }
        let follows = |index: &usize| {
            let wanted = format!("{prefix}{:0width$}", index - start);
            names[*index] == wanted && roles[*index].is_none()
        };
        let run: Vec<usize> = (start..names.len()).take_while(follows).collect();
        if PARTS <= run.len() {
            found.extend(run);
        }
    }
    found
}

/// Guesses the role of a column from its cells.
fn guess_kind(kind: ColumnKind, seen: &ColumnStatistics) -> Role {
    match kind {
        ColumnKind::Number | ColumnKind::Boolean => Role::Number,
        // Lists without numbers are as uninformative as empty cells.
        ColumnKind::Vector(_) => length(kind, seen).map_or(Role::Ignored, Role::Vector),
        ColumnKind::Features => Role::Features,
        ColumnKind::Name => Role::Ignored,
        // Empty, or mostly values that cannot be read, such as objects.
        ColumnKind::Any | ColumnKind::Text if seen.given <= 2 * seen.unread => Role::Ignored,
        ColumnKind::Any | ColumnKind::Text => {
            // A column of numbers with a few other cells is meant as numbers: the others are faults.
            if seen.given < 2 * (seen.numbers + seen.booleans) {
                return Role::Number;
            }
            if 0 < seen.vectors {
                return seen.length.map_or(Role::Ignored, Role::Vector);
            }
            let (n, long) = (seen.given, 24 * seen.given < seen.bytes);
            let phrases = 2 * n < seen.spaces || (MANY < seen.values.len() && n < seen.spaces);
            if long || phrases { Role::Text } else { Role::Category }
        }
    }
}
