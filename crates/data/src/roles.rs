//! What each column is for: as said, or guessed from its name and the first records.

use crate::error::Fault;
use crate::options::Options;
use crate::sample::{MANY, Sample, Seen};
use crate::source::{Column, Kind};

/// What the cells of a feature column become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Label,
    Text,
    Number,
    Category,
    /// A list of numbers, of this length.
    Vector(usize),
    /// A number that belongs to a vector spread over columns.
    Part,
    Features,
    Ignored,
}

/// The role of every column, in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    pub(crate) columns: Vec<(String, Role)>,
}

/// Names by which a column is taken for ids or labels, the likelier first.
const IDS: [&str; 5] = ["id", "uuid", "key", "unnamed", "tag"];
const LABELS: [&str; 3] = ["label", "target", "class"];

/// So many numbered columns are a vector; fewer may be anything.
const PARTS: usize = 16;

impl Roles {
    pub(crate) fn find(columns: &[Column], sample: &Sample, options: &Options) -> Result<Self, Fault> {
        let mut roles: Vec<Option<Role>> = said(columns, sample, options)?;
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        if options.id.is_none() {
            // Ids under a name that may mean anything must be there in every record.
            let sure = |name: &&str| {
                let given = unsaid(&names, &roles, name).map_or(0, |place| sample.column(place).given);
                matches!(*name, "id" | "uuid") || given == sample.records
            };
            let likely: Vec<&str> = IDS.into_iter().filter(sure).collect();
            guess_name(&names, &mut roles, &likely, Role::Id);
        }
        if options.label.is_none() && !options.guess_label {
            // What is to be labelled must not be learned from what may be the label itself.
            for name in LABELS {
                if let Some(place) = unsaid(&names, &roles, name) {
                    roles[place] = Some(Role::Ignored);
                }
            }
        } else if options.label.is_none() {
            let likely: Vec<&str> = LABELS.into_iter().filter(|name| unsaid(&names, &roles, name).is_some()).collect();
            if 1 < likely.len() {
                let found = format!("columns `{}` may both be the label", likely.join("` and `"));
                return Err(Fault::new(found, "to be told which").hint(format!("say --label {}", likely[0])));
            }
            // Beside `x`, `y` is a coordinate.
            let plane = unsaid(&names, &roles, "x").is_some();
            let fallback: &[&str] = if plane { &[] } else { &["y"] };
            guess_name(&names, &mut roles, if likely.is_empty() { fallback } else { &likely }, Role::Label);
        }
        for part in parts(&names, &roles) {
            roles[part] = Some(Role::Part);
        }
        let guess = |(place, role): (usize, Option<Role>)| {
            let role = role.unwrap_or_else(|| guess_kind(columns[place].kind, &sample.column(place)));
            (columns[place].name.clone(), role)
        };
        let columns = roles.into_iter().enumerate().map(guess).collect();
        Ok(Self { columns })
    }
}

/// The roles that were said.
fn said(columns: &[Column], sample: &Sample, options: &Options) -> Result<Vec<Option<Role>>, Fault> {
    let mut roles: Vec<Option<Role>> = vec![None; columns.len()];
    let flags: [(&str, &[String], Role); 6] = [
        ("--label", options.label.as_slice(), Role::Label),
        ("--id", options.id.as_slice(), Role::Id),
        ("--text", &options.text, Role::Text),
        ("--numbers", &options.numbers, Role::Number),
        ("--categories", &options.categories, Role::Category),
        ("--ignore", &options.ignore, Role::Ignored),
    ];
    let mut said = vec![];
    for (flag, names, role) in flags {
        for name in names {
            let place = columns.iter().position(|column| column.name == *name);
            said.push((flag, name, place.ok_or_else(|| unknown(flag, name, columns))?, role));
        }
    }
    for name in &options.vectors {
        let flag = "--vectors";
        if let Some(place) = columns.iter().position(|column| column.name == *name) {
            let length = length(columns[place].kind, &sample.column(place)).ok_or_else(|| {
                let found = format!("{flag} {name}: no list with a number in it among the first records");
                Fault::new(found, "lists of numbers")
            })?;
            said.push((flag, name, place, Role::Vector(length)));
            continue;
        }
        let parts = (0..columns.len()).filter(|place| digits(&columns[*place].name, name).is_some());
        let parts: Vec<_> = parts.map(|place| (flag, name, place, Role::Part)).collect();
        if parts.is_empty() {
            return Err(unknown(flag, name, columns));
        }
        said.extend(parts);
    }
    for (flag, name, place, role) in said {
        if roles[place].replace(role).is_some() {
            let found = format!("{flag} {name}: the column `{}` has another role already", columns[place].name);
            return Err(Fault::new(found, "one role for each column"));
        }
    }
    Ok(roles)
}

/// How long the lists of a column are; `None` where none has any numbers.
fn length(kind: Kind, seen: &Seen) -> Option<usize> {
    match kind {
        Kind::Vector(Some(length)) => Some(length).filter(|length| 0 < *length),
        _ => seen.length,
    }
}

fn unknown(flag: &str, name: &str, columns: &[Column]) -> Fault {
    let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_by_key(|known| distance(name, known));
    let more = if 12 < names.len() { format!(" and {} more", names.len() - 12) } else { String::new() };
    names.truncate(12);
    Fault::new(format!("{flag} {name}: there is no such column"), format!("one of {}{more}", names.join(", ")))
}

/// How many letters must be changed, added or removed, case aside.
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

/// A column of this name whose role was not said.
fn unsaid(names: &[&str], roles: &[Option<Role>], wanted: &str) -> Option<usize> {
    (0..names.len()).find(|place| roles[*place].is_none() && names[*place].eq_ignore_ascii_case(wanted))
}

fn guess_name(names: &[&str], roles: &mut [Option<Role>], likely: &[&str], role: Role) {
    if let Some(place) = likely.iter().find_map(|name| unsaid(names, roles, name)) {
        roles[place] = Some(role);
    }
}

/// The number behind a prefix.
fn digits<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let digits = name.strip_prefix(prefix)?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Columns such as `e000`, `e001` …: one prefix, numbers of the same length from 0 on. Numbers without zeros in front
/// may be anything, `x1`, `x2` …
fn parts(names: &[&str], roles: &[Option<Role>]) -> Vec<usize> {
    let mut found = vec![];
    for (start, name) in names.iter().enumerate() {
        let prefix = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let width = name.len() - prefix.len();
        if width < 2 || name[prefix.len()..].bytes().any(|digit| digit != b'0') {
            continue;
        }
        let follows = |place: &usize| {
            let wanted = format!("{prefix}{:0width$}", place - start);
            names[*place] == wanted && roles[*place].is_none()
        };
        let run: Vec<usize> = (start..names.len()).take_while(follows).collect();
        if PARTS <= run.len() {
            found.extend(run);
        }
    }
    found
}

/// What the cells look like.
fn guess_kind(kind: Kind, seen: &Seen) -> Role {
    match kind {
        Kind::Number | Kind::Boolean => Role::Number,
        // Lists without numbers say as little as empty cells.
        Kind::Vector(_) => length(kind, seen).map_or(Role::Ignored, Role::Vector),
        Kind::Features => Role::Features,
        Kind::Name => Role::Ignored,
        // Empty, or objects and such for the most part.
        Kind::Any | Kind::Text if seen.given <= 2 * seen.unread => Role::Ignored,
        Kind::Any | Kind::Text => {
            // A column of numbers with a few odd cells is meant as numbers: the odd ones are faults.
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
