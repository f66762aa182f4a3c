//! Labels and their numeric codes.

use serde::{Deserialize, Serialize};

use crate::dictionary::Dictionary;
use crate::error::{DataFault, quoted};
use crate::number;
use crate::options::{ReadOptions, RequiredLabels};
use crate::sample::ColumnStatistics;
use crate::source::CellValue;

/// The learning task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelKind {
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
pub(crate) struct LabelCoding {
    /// The label column, if the file has one.
    pub(crate) column: Option<String>,
    pub(crate) task: LabelKind,
    pub(crate) classes: Vec<String>,
    /// The index of the class that is coded +1.
    pub(crate) positive: usize,
}

impl LabelCoding {
    /// Returns the code of the class at `index`.
    pub(crate) fn code_of(&self, index: usize) -> f64 {
        match self.task {
            LabelKind::Binary if index == self.positive => 1.0,
            LabelKind::Binary => -1.0,
            _ => index as f64,
        }
    }

    /// Replaces indices of classes by their codes; numbers and NaN are unchanged.
    pub(crate) fn recode(&self, labels: &mut [f64]) {
        if self.task == LabelKind::Binary {
            labels.iter_mut().filter(|label| !label.is_nan()).for_each(|label| *label = self.code_of(*label as usize));
        }
    }

    pub(crate) fn code(&self, label: &str) -> Option<f64> {
        if self.task == LabelKind::Number {
            return number::parse(label.as_bytes()).filter(|number| number.is_finite());
        }
        let index = |wanted: &str| self.classes.iter().position(|class| class == wanted);
        let found = index(label).or_else(|| index(&canonical(label.as_bytes())?));
        found.map(|index| self.code_of(index))
    }

    pub(crate) fn decode(&self, code: f64) -> String {
        let named = |index: usize| self.classes.get(index).cloned().unwrap_or_default();
        match self.task {
            LabelKind::Number => code.to_string(),
            _ if code.is_nan() => String::new(),
            LabelKind::Binary if 0.0 < code => named(self.positive),
            LabelKind::Binary => named(1 - self.positive.min(1)),
            LabelKind::Classes(_) => named(code as usize),
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
    pub(crate) fn find(options: &ReadOptions, seen: &ColumnStatistics) -> Self {
        let many = FEW_NUMBERS < seen.values.len() || 0 < seen.fractions;
        let looks = 0 < seen.given && seen.numbers == seen.given && many;
        let numbers = match options.required_labels {
            RequiredLabels::Number => true,
            RequiredLabels::Any => options.classes.is_none() && looks,
            RequiredLabels::Binary | RequiredLabels::Classes => false,
        };
        let most = if options.required_labels == RequiredLabels::Binary { 2 } else { MOST_CLASSES };
        let classes = options.classes.clone();
        let open = classes.is_none();
        Self::new(numbers, open, most, options.unlabeled, classes.unwrap_or_default())
    }

    /// Creates a reader of labels with a known coding.
    pub(crate) fn known(labels: &LabelCoding, unlabeled: bool) -> Self {
        let numbers = labels.task == LabelKind::Number;
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
    pub(crate) fn read(&mut self, cell: CellValue<'_>) -> Result<f64, DataFault> {
        match cell {
            CellValue::Missing | CellValue::Bytes(b"") | CellValue::Text("") => self.absent(b""),
            CellValue::Number(value) if value.is_nan() => self.absent(b""),
            CellValue::Bytes(bytes) if self.numbers => self.number(bytes),
            CellValue::Number(value) if self.numbers && value.is_finite() => Ok(value),
            CellValue::Integer(value) if self.numbers => Ok(value as f64),
            CellValue::Unsigned(value) if self.numbers => Ok(value as f64),
            CellValue::Text(text) if self.numbers => self.number(text.as_bytes()),
            CellValue::Bytes(bytes) => match self.spellings.get(bytes) {
                Some(code) => Ok(f64::from(code)),
                None => self.unseen(bytes, true),
            },
            CellValue::Text(text) => match self.spellings.get(text.as_bytes()) {
                Some(code) => Ok(f64::from(code)),
                None => self.unseen(text.as_bytes(), false),
            },
            CellValue::Integer(value) => self.spelled(&value),
            CellValue::Unsigned(value) => self.spelled(&value),
            CellValue::Number(value) if value.is_finite() => self.spelled(&whole(value)),
            CellValue::Boolean(value) => self.spelled(&value),
            CellValue::Unread(fault) => Err(fault.clone()),
            CellValue::Number(_) | CellValue::Vector(_) | CellValue::Features { .. } => {
                Err(DataFault::new("not a label", self.expected()))
            }
        }
    }

    fn number(&self, bytes: &[u8]) -> Result<f64, DataFault> {
        match number::finite(bytes) {
            Err(_) if is_missing_word(bytes) => self.absent(bytes),
            read => read,
        }
    }

    /// Handles a missing label, or a word that means one. Fails unless labels may be absent.
    #[cold]
    fn absent(&self, word: &[u8]) -> Result<f64, DataFault> {
        if self.unlabeled {
            return Ok(f64::NAN);
        }
        let skip = "use --skip-bad-rows to skip such rows";
        Err(match word.trim_ascii() {
            b"" => DataFault::new("no label", self.expected()).hint(skip),
            word => {
                let fault = DataFault::new(format!("{} for a missing label", quoted(word)), self.expected());
                fault.hint(if self.numbers {
                    skip.to_owned()
                } else {
                    format!("{skip}; if it is a class, name it with --labels")
                })
            }
        })
    }

    fn spelled(&mut self, value: &dyn std::fmt::Display) -> Result<f64, DataFault> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.push_str(&value.to_string());
        let read = self.read(CellValue::Text(&text));
        self.text = text;
        read
    }

    /// Returns the code of a spelling that is not in the dictionary yet, and adds it.
    #[cold]
    fn unseen(&mut self, bytes: &[u8], numbers: bool) -> Result<f64, DataFault> {
        // If a class had such a name, the user named it and it was found in the dictionary.
        if is_missing_word(bytes) {
            return self.absent(bytes);
        }
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
        let Some(text) = text else {
            return Err(DataFault::new(format!("label {} is not UTF-8 text", quoted(bytes)), self.expected()));
        };
        if text.trim() != text {
            let fault = DataFault::new(format!("label {} has a space around it", quoted(bytes)), self.expected());
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

    fn outside(&self, bytes: &[u8]) -> DataFault {
        let fault = DataFault::new(format!("label {}", quoted(bytes)), self.expected());
        match (self.open, self.most) {
            (true, 2) => fault.hint(
                "this loss needs two classes; remove the others, or use a loss for several \
                 classes",
            ),
            (true, _) => fault.hint(format!("more than {MOST_CLASSES} classes; check that this column is the label")),
            (false, _) => fault.hint("name all classes with --labels, or use --skip-bad-rows to skip other rows"),
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
        options: &ReadOptions,
    ) -> Result<Option<LabelCoding>, DataFault> {
        if self.numbers {
            return Ok(Some(LabelCoding { column, task: LabelKind::Number, classes: vec![], positive: 0 }));
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
                DataFault::new(
                    format!("--positive {wanted}: the class does not exist"),
                    format!("one of {}", listed(&classes)),
                )
            })?,
        };
        let task = match classes.len() {
            2 => LabelKind::Binary,
            n => LabelKind::Classes(n),
        };
        let found = LabelCoding { column, task, classes, positive };
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
pub(crate) fn check(classes: &[String], options: &ReadOptions) -> Result<(), DataFault> {
    let hint =
        "name the classes, for example --labels no,yes; for a file that is sorted by class, `stream` has --shuffle";
    let expected =
        if options.required_labels == RequiredLabels::Binary { "two classes" } else { "two classes or more" };
    match classes {
        [] => return Err(DataFault::new("no labels", expected).hint(hint)),
        [only] if options.classes.is_some() => {
            let fault = DataFault::new(format!("--labels has only {}", quoted(only.as_bytes())), expected);
            return Err(fault.hint("name all classes, for example --labels no,yes"));
        }
        [only] => {
            return Err(DataFault::new(format!("every label is {}", quoted(only.as_bytes())), expected).hint(hint));
        }
        _ => {}
    }
    if let Some(twice) = classes.iter().enumerate().find(|(index, class)| classes[..*index].contains(class)) {
        return Err(DataFault::new(format!("the class {} is named twice", quoted(twice.1.as_bytes())), ""));
    }
    if options.required_labels == RequiredLabels::Binary && 2 < classes.len() {
        return Err(DataFault::new(format!("classes {}", listed(classes)), expected));
    }
    let fraction = |class: &&String| class.parse::<f64>().is_ok_and(|number| number.fract() != 0.0);
    if options.classes.is_none() && FEW_NUMBERS < classes.len() && classes.iter().any(|class| fraction(&class)) {
        let found = format!("{} different labels such as {}", classes.len(), quoted(classes[0].as_bytes()));
        return Err(DataFault::new(found, "classes").hint("if they are numbers, use --loss squared"));
    }
    if options.positive.is_some() && 2 < classes.len() {
        return Err(DataFault::new(format!("--positive with {} classes", classes.len()), "two classes"));
    }
    Ok(())
}

/// Returns whether a file uses this word for a missing label. A minus is a class: the opposite of plus.
fn is_missing_word(bytes: &[u8]) -> bool {
    number::is_missing_word(bytes) && bytes.trim_ascii() != b"-"
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
