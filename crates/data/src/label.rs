//! Labels and their numeric codes.

use serde::{Deserialize, Serialize};

use crate::dictionary::Dictionary;
use crate::error::{Fault, quoted};
use crate::number;
use crate::options::{Options, Wanted};
use crate::sample::Seen;
use crate::source::Cell;

/// The learning task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One of two classes, −1 or +1.
    Binary,
    /// One of this many classes, numbered from 0.
    Classes(usize),
    /// A number.
    Number,
}

/// The maximum number of classes.
const MOST_CLASSES: usize = 10_000;

/// The number of distinct whole numbers above which labels are numbers rather than classes.
const FEW_NUMBERS: usize = 20;

/// The coding of labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Labels {
    /// The label column, if the file has one.
    pub(crate) column: Option<String>,
    pub(crate) task: Task,
    pub(crate) classes: Vec<String>,
    /// The index of the class that is coded +1.
    pub(crate) positive: usize,
}

impl Labels {
    /// Returns the code of the class at `index`.
    pub(crate) fn code_of(&self, index: usize) -> f64 {
        match self.task {
            Task::Binary if index == self.positive => 1.0,
            Task::Binary => -1.0,
            _ => index as f64,
        }
    }

    /// Replaces indices of classes by their codes; numbers and NaN are unchanged.
    pub(crate) fn recode(&self, labels: &mut [f64]) {
        if self.task == Task::Binary {
            labels.iter_mut().filter(|label| !label.is_nan()).for_each(|label| *label = self.code_of(*label as usize));
        }
    }

    pub(crate) fn code(&self, label: &str) -> Option<f64> {
        if self.task == Task::Number {
            return number::parse(label.as_bytes()).filter(|number| number.is_finite());
        }
        let index = |wanted: &str| self.classes.iter().position(|class| class == wanted);
        let found = index(label).or_else(|| index(&canonical(label.as_bytes())?));
        found.map(|index| self.code_of(index))
    }

    pub(crate) fn decode(&self, code: f64) -> String {
        let named = |index: usize| self.classes.get(index).cloned().unwrap_or_default();
        match self.task {
            Task::Number => code.to_string(),
            _ if code.is_nan() => String::new(),
            Task::Binary if 0.0 < code => named(self.positive),
            Task::Binary => named(1 - self.positive.min(1)),
            Task::Classes(_) => named(code as usize),
        }
    }
}

/// A reader of labels. It collects the classes if they are not specified.
#[derive(Debug)]
pub(crate) struct LabelReader {
    numbers: bool,
    /// True while new classes are added.
    open: bool,
    most: usize,
    unlabeled: bool,
    classes: Vec<String>,
    /// The number of classes before the current record, for rollback.
    accepted: usize,
    spellings: Dictionary,
    text: String,
}

impl LabelReader {
    /// Creates a reader that determines the kind of labels, and the classes unless the options name them.
    pub(crate) fn find(options: &Options, seen: &Seen) -> Self {
        let many = FEW_NUMBERS < seen.values.len() || 0 < seen.fractions;
        let looks = 0 < seen.given && seen.numbers == seen.given && many;
        let numbers = match options.wanted {
            Wanted::Number => true,
            Wanted::Any => options.classes.is_none() && looks,
            Wanted::Binary | Wanted::Classes => false,
        };
        let most = if options.wanted == Wanted::Binary { 2 } else { MOST_CLASSES };
        let classes = options.classes.clone();
        let open = classes.is_none();
        Self::new(numbers, open, most, options.unlabeled, classes.unwrap_or_default())
    }

    /// Creates a reader of labels with a known coding.
    pub(crate) fn known(labels: &Labels, unlabeled: bool) -> Self {
        let numbers = labels.task == Task::Number;
        Self::new(numbers, false, MOST_CLASSES, unlabeled, labels.classes.clone())
    }

    fn new(numbers: bool, open: bool, most: usize, unlabeled: bool, classes: Vec<String>) -> Self {
        let mut spellings = Dictionary::default();
        for (code, class) in classes.iter().enumerate() {
            spellings.insert(class.as_bytes(), code as u32);
        }
        let accepted = classes.len();
        Self { numbers, open, most, unlabeled, classes, accepted, spellings, text: String::new() }
    }

    /// Commits the class of the current record.
    pub(crate) fn accept(&mut self) {
        self.accepted = self.classes.len();
    }

    /// Rolls back a class that only the current record has, so that a rejected record does not use up one of the
    /// classes.
    pub(crate) fn reject(&mut self) {
        if self.accepted < self.classes.len() {
            self.classes.truncate(self.accepted);
            self.spellings.truncate(self.accepted as u32);
        }
    }

    /// Returns the number, the index of the class, or NaN for an absent label where that is allowed.
    pub(crate) fn read(&mut self, cell: Cell<'_>) -> Result<f64, Fault> {
        match cell {
            Cell::Missing | Cell::Bytes(b"") | Cell::Text("") => self.absent(b""),
            Cell::Number(value) if value.is_nan() => self.absent(b""),
            Cell::Bytes(bytes) if self.numbers => self.number(bytes),
            Cell::Number(value) if self.numbers && value.is_finite() => Ok(value),
            Cell::Integer(value) if self.numbers => Ok(value as f64),
            Cell::Unsigned(value) if self.numbers => Ok(value as f64),
            Cell::Text(text) if self.numbers => self.number(text.as_bytes()),
            Cell::Bytes(bytes) => match self.spellings.get(bytes) {
                Some(code) => Ok(f64::from(code)),
                None => self.unseen(bytes, true),
            },
            Cell::Text(text) => match self.spellings.get(text.as_bytes()) {
                Some(code) => Ok(f64::from(code)),
                None => self.unseen(text.as_bytes(), false),
            },
            Cell::Integer(value) => self.spelled(&value),
            Cell::Unsigned(value) => self.spelled(&value),
            Cell::Number(value) if value.is_finite() => self.spelled(&whole(value)),
            Cell::Boolean(value) => self.spelled(&value),
            Cell::Unread(fault) => Err(fault.clone()),
            Cell::Number(_) | Cell::Vector(_) | Cell::Features { .. } => {
                Err(Fault::new("not a label", self.expected()))
            }
        }
    }

    fn number(&self, bytes: &[u8]) -> Result<f64, Fault> {
        match number::finite(bytes) {
            Err(_) if says_missing(bytes) => self.absent(bytes),
            read => read,
        }
    }

    /// Handles a missing label, or a word that means one. Fails unless labels may be absent.
    #[cold]
    fn absent(&self, word: &[u8]) -> Result<f64, Fault> {
        if self.unlabeled {
            return Ok(f64::NAN);
        }
        let skip = "--skip-bad-rows leaves such rows out";
        Err(match word.trim_ascii() {
            b"" => Fault::new("no label", self.expected()).hint(skip),
            word => {
                let fault = Fault::new(format!("{} for a missing label", quoted(word)), self.expected());
                fault.hint(if self.numbers {
                    skip.to_owned()
                } else {
                    format!("{skip}; --labels names it where it is a class")
                })
            }
        })
    }

    fn spelled(&mut self, value: &dyn std::fmt::Display) -> Result<f64, Fault> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.push_str(&value.to_string());
        let read = self.read(Cell::Text(&text));
        self.text = text;
        read
    }

    /// Returns the code of a spelling that is not in the dictionary yet, and adds it.
    #[cold]
    fn unseen(&mut self, bytes: &[u8], numbers: bool) -> Result<f64, Fault> {
        // If a class had such a name, the user named it and it was found in the dictionary.
        if says_missing(bytes) {
            return self.absent(bytes);
        }
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(text) = text else {
            return Err(Fault::new(format!("label {} is not UTF-8 text", quoted(bytes)), self.expected()));
        };
        if text.trim() != text {
            let fault = Fault::new(format!("label {} has a space around it", quoted(bytes)), self.expected());
            return Err(fault.hint("remove the space in the file"));
        }
        let class = if numbers { canonical(bytes) } else { None }.unwrap_or_else(|| text.to_owned());
        let code = match self.classes.iter().position(|known| *known == class) {
            Some(code) => code,
            None if self.open && self.classes.len() < self.most => {
                self.classes.push(class);
                self.classes.len() - 1
            }
            None => return Err(self.outside(bytes)),
        };
        self.spellings.insert(bytes, code as u32);
        Ok(code as f64)
    }

    fn outside(&self, bytes: &[u8]) -> Fault {
        let fault = Fault::new(format!("label {}", quoted(bytes)), self.expected());
        match (self.open, self.most) {
            (true, 2) => fault.hint("two classes are wanted; leave the others out, or learn several classes"),
            (true, _) => fault.hint(format!("more than {MOST_CLASSES} classes; is this column the label?")),
            (false, _) => fault.hint("--labels names all of them, --skip-bad-rows leaves other rows out"),
        }
    }

    fn expected(&self) -> String {
        if self.numbers {
            return "a number".to_owned();
        }
        if self.open && self.classes.len() < self.most {
            return "a class without spaces around it".to_owned();
        }
        format!("one of {}", listed(&self.classes))
    }

    /// Replaces the labels read by their final codes and returns the coding; `None` if there is no label column and no
    /// classes.
    pub(crate) fn finish(
        self,
        column: Option<String>,
        labels: &mut [f64],
        options: &Options,
    ) -> Result<Option<Labels>, Fault> {
        if self.numbers {
            return Ok(Some(Labels { column, task: Task::Number, classes: vec![], positive: 0 }));
        }
        if self.open && column.is_none() {
            return Ok(None);
        }
        let order = self.order(labels);
        let classes: Vec<String> = order.iter().map(|code| self.classes[*code].clone()).collect();
        check(&classes, options)?;
        let positive = match &options.positive {
            None => classes.len() - 1,
            Some(wanted) => classes.iter().position(|class| class == wanted).ok_or_else(|| {
                Fault::new(format!("--positive {wanted}: no such class"), format!("one of {}", listed(&classes)))
            })?,
        };
        let task = match classes.len() {
            2 => Task::Binary,
            n => Task::Classes(n),
        };
        let found = Labels { column, task, classes, positive };
        let mut codes = vec![f64::NAN; self.classes.len()];
        for (index, code) in order.into_iter().enumerate() {
            codes[code] = found.code_of(index);
        }
        for label in labels.iter_mut().filter(|label| !label.is_nan()) {
            *label = codes[*label as usize];
        }
        Ok(Some(found))
    }

    /// Returns the classes in final order: as specified, or those in retained rows, sorted as numbers if all are, else
    /// as text.
    fn order(&self, labels: &[f64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.classes.len()).collect();
        if !self.open {
            return order;
        }
        let mut met = vec![false; self.classes.len()];
        labels.iter().filter(|label| !label.is_nan()).for_each(|label| met[*label as usize] = true);
        order.retain(|code| met[*code]);
        let values: Vec<Option<f64>> = self.classes.iter().map(|class| number::parse(class.as_bytes())).collect();
        if order.iter().all(|code| values[*code].is_some()) {
            order.sort_by(|a, b| values[*a].unwrap_or(0.0).total_cmp(&values[*b].unwrap_or(0.0)));
        } else {
            order.sort_by(|a, b| self.classes[*a].cmp(&self.classes[*b]));
        }
        order
    }
}

/// Rejects classes that do not suit the task.
pub(crate) fn check(classes: &[String], options: &Options) -> Result<(), Fault> {
    let hint = "--labels names them: --labels no,yes; a stream that is sorted by class needs that, or --shuffle";
    let expected = if options.wanted == Wanted::Binary { "two classes" } else { "two classes or more" };
    match classes {
        [] => return Err(Fault::new("no label at all", expected).hint(hint)),
        [only] => return Err(Fault::new(format!("every label is {}", quoted(only.as_bytes())), expected).hint(hint)),
        _ => {}
    }
    if let Some(twice) = classes.iter().enumerate().find(|(index, class)| classes[..*index].contains(class)) {
        return Err(Fault::new(format!("the class {} is named twice", quoted(twice.1.as_bytes())), ""));
    }
    if options.wanted == Wanted::Binary && 2 < classes.len() {
        return Err(Fault::new(format!("classes {}", listed(classes)), expected));
    }
    let fraction = |class: &&String| class.parse::<f64>().is_ok_and(|number| number.fract() != 0.0);
    if options.classes.is_none() && FEW_NUMBERS < classes.len() && classes.iter().any(|class| fraction(&class)) {
        let found = format!("{} different labels such as {}", classes.len(), quoted(classes[0].as_bytes()));
        return Err(Fault::new(found, "classes").hint("these look like numbers: --loss squared learns numbers"));
    }
    if options.positive.is_some() && 2 < classes.len() {
        return Err(Fault::new(format!("--positive with {} classes", classes.len()), "two classes"));
    }
    Ok(())
}

/// Returns whether a file uses this word for a missing label. A minus is a class: the opposite of plus.
fn says_missing(bytes: &[u8]) -> bool {
    number::says_missing(bytes) && bytes.trim_ascii() != b"-"
}

/// Lists the first twelve classes for a message.
fn listed(classes: &[String]) -> String {
    let shown: Vec<String> = classes.iter().take(12).map(|class| quoted(class.as_bytes())).collect();
    let more = if 12 < classes.len() { format!(" and {} more", classes.len() - 12) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Returns a number in canonical form: `+1`, `1` and `1.0` are one class. Leading zeros make it a name: `007`.
fn canonical(bytes: &[u8]) -> Option<String> {
    let unsigned = bytes.strip_prefix(b"+").or_else(|| bytes.strip_prefix(b"-")).unwrap_or(bytes);
    if matches!(unsigned, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let (value, used) = number::prefix(bytes);
    (0 < used && used == bytes.len() && value.is_finite()).then(|| whole(value))
}

/// Formats a number, without a decimal point if it is whole.
fn whole(value: f64) -> String {
    // −0 becomes 0.
    (value + 0.0).to_string()
}
