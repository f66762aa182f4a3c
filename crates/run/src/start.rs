//! Rows that a cold start draws first: those that contain a word, resemble an example, or have a predicted class.

use std::collections::BTreeSet;

use querist_data::{Cells, Encoder};
use querist_engine::pool::{StartGroup, StartRows};
use querist_engine::task::Labels;
use querist_rows::{Features as _, Rows};

use crate::error::{Result, bail};
use crate::settings::LearnerSettings;
use crate::text::{counted, grouped};

mod pattern;

pub use pattern::TextPattern;

/// The exponent of the similarity to an example, which makes the weight of a row.
const LIKENESS_POWER: i32 = 4;
/// The fraction of the pool that is similar to an example, and the least and largest number of such rows.
const SIMILAR: (f64, usize, usize) = (0.01, 20, 600);

/// The reason why no text is searched.
const NO_TEXTS: &str = "the data have no column of texts\n  name one with --text COLUMN";
/// The largest number of characters of a text that messages show.
const SHOWN_CHARS: usize = 40;

/// A function that returns whether one of the texts of a row satisfies a condition.
type AnyText<'a> = dyn Fn(usize, &dyn Fn(&str) -> bool) -> bool + 'a;

/// The data in which a cold start looks for its first rows.
pub(crate) struct StartData<'a> {
    pub(crate) encoder: &'a Encoder,
    pub(crate) rows: &'a Rows,
    pub(crate) any_text: &'a AnyText<'a>,
    /// Whether there are columns of texts.
    pub(crate) has_texts: bool,
    /// The predicted labels.
    pub(crate) predictions: &'a Cells,
    /// Rows that do not take part, in ascending order; later rows move up.
    pub(crate) removed: &'a [usize],
    /// What a row is called in messages.
    pub(crate) noun: &'static str,
}

/// The labels that exist before the first draw.
#[derive(Clone, Copy, Debug)]
pub struct PriorLabelCounts {
    kind: Labels,
    labels: u64,
    classes: usize,
}

impl PriorLabelCounts {
    /// Counts labels of a kind, and their classes.
    pub fn of(kind: Labels, labels: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut classes) = (0, BTreeSet::new());
        for label in labels {
            count += 1;
            classes.insert(label.to_bits());
        }
        Self { kind, labels: count, classes: classes.len() }
    }

    /// Returns the least number of labels of a cold start.
    fn least(&self) -> u64 {
        10.max(2 * self.kind.classes() as u64)
    }

    /// Returns the number of labels for which matching and similar rows come first: half of a cold start.
    fn early(&self) -> u64 {
        self.least().div_ceil(2)
    }

    /// Returns whether a cold start still has draws.
    fn is_cold(&self) -> bool {
        self.labels < self.least() || self.classes < self.kind.classes() && self.labels < 5 * self.least()
    }
}

/// A sentence about rows that come first.
#[derive(Clone, Debug)]
struct StartNotice {
    flag: &'static str,
    /// What was found.
    found: String,
    /// What follows from it, if there are too few labels.
    effect: String,
    /// As of the group: whether the rows come first until the cold start ends.
    lasts: bool,
}

impl StartNotice {
    fn sentence(&self, prior: PriorLabelCounts) -> String {
        let Self { flag, found, effect, lasts } = self;
        let labels = grouped(prior.labels);
        if *lasts && !prior.is_cold() {
            return format!("{flag} is not used: {labels} labels are there already, enough for a model");
        }
        let early = prior.early();
        if !*lasts && early <= prior.labels {
            return format!(
                "{flag} is not used: {labels} labels are there already, and it chooses only the first {early}"
            );
        }
        format!("{found}{effect}")
    }
}

/// The rows that a cold start draws first, with sentences about them.
#[derive(Clone, Debug, Default)]
pub struct StartFound {
    /// The rows.
    pub rows: StartRows,
    notices: Vec<StartNotice>,
    /// The first setting for which no row was found, as a sentence.
    missing: Option<String>,
}

impl StartFound {
    /// Finds the rows.
    ///
    /// # Errors
    /// If labels are predicted but are numbers.
    pub(crate) fn find(settings: &LearnerSettings, data: &StartData<'_>) -> Result<Self> {
        let mut found = Self::default();
        if let Some(pattern) = &settings.start_with {
            found.add_matching(pattern, data);
        }
        for example in &settings.start_like {
            found.add_similar(example, data);
        }
        if let [column] = data.predictions.names() {
            found.add_predicted(column, data)?;
        }
        Ok(found)
    }

    /// Rejects settings of which one finds no row.
    ///
    /// # Errors
    /// If one of the settings finds no row.
    pub fn check(&self) -> Result<()> {
        match &self.missing {
            Some(missing) => bail!("{missing}"),
            None => Ok(()),
        }
    }

    /// Returns sentences on the rows that were found, and on those that are not used because there are labels.
    pub fn notices(&self, prior: PriorLabelCounts) -> Vec<String> {
        self.notices.iter().map(|notice| notice.sentence(prior)).collect()
    }

    fn note(&mut self, flag: &'static str, found: String, effect: &str, lasts: bool) {
        self.notices.push(StartNotice { flag, found, effect: effect.to_owned(), lasts });
    }

    fn add_matching(&mut self, pattern: &TextPattern, data: &StartData<'_>) {
        let is_match = |row: &usize| (data.any_text)(*row, &|text| pattern.is_match(text));
        let rows: Vec<(usize, f64)> = data.kept().filter(|(_, row)| is_match(row)).map(|(at, _)| (at, 1.0)).collect();
        let (matching, all) = (grouped(rows.len() as u64), data.count());
        if rows.is_empty() && !data.has_texts {
            self.missing.get_or_insert(format!("--start-with {pattern}: {NO_TEXTS}"));
        } else if rows.is_empty() {
            self.missing.get_or_insert(format!(
                "--start-with {pattern}: none of the {all} matches\n  \
                 check the spelling; words match complete words in any case, and /…/i is a regular expression for parts of words"
            ));
        }
        let verb = if rows.len() == 1 { "matches" } else { "match" };
        let effect = format!("; such {}s come first", data.noun);
        self.note("--start-with", format!("{matching} of {all} {verb} --start-with"), &effect, false);
        self.rows.add(StartGroup { rows, lasts: false });
    }

    fn add_similar(&mut self, example: &str, data: &StartData<'_>) {
        let shown = shortened(example);
        let likeness = data.likeness(example);
        let mut ranked: Vec<(usize, f64)> = likeness.into_iter().filter(|(_, likeness)| 0.0 < *likeness).collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let (share, least, most) = SIMILAR;
        ranked.truncate(((share * data.rows.len() as f64) as usize).clamp(least, most));
        let Some((_, largest)) = ranked.first().copied() else {
            if !data.encoder.has_text() {
                self.missing.get_or_insert(format!("--start-like `{shown}`: {NO_TEXTS}"));
            }
            self.missing.get_or_insert(format!(
                "--start-like `{shown}`: no {} has a word or a part of a word of this example\n  \
                 use an example in the language of the texts, and --text COLUMN if their column was not recognized",
                data.noun
            ));
            return;
        };
        let found = format!("{} most like `{shown}`", counted(ranked.len() as u64, data.noun));
        self.note("--start-like", found, " come first", false);
        for (_, likeness) in &mut ranked {
            *likeness = (*likeness / largest).powi(LIKENESS_POWER);
        }
        ranked.retain(|(_, weight)| 0.0 < *weight);
        ranked.sort_by_key(|(row, _)| *row);
        self.rows.add(StartGroup { rows: ranked, lasts: false });
    }

    fn add_predicted(&mut self, column: &str, data: &StartData<'_>) -> Result<()> {
        let classes = data.encoder.classes();
        if classes.is_empty() {
            bail!("--predictions {column}: the labels are numbers, and predictions are of classes");
        }
        let mut groups: Vec<Vec<(usize, f64)>> = vec![vec![]; classes.len()];
        let (mut empty, mut unknown, mut example) = (0, 0, None);
        for (at, row) in data.kept() {
            let cell = data.predictions.row(row).next().unwrap_or_default().trim();
            match classes.iter().position(|class| class == cell) {
                Some(class) => groups[class].push((at, 1.0)),
                None if cell.is_empty() => empty += 1,
                None => {
                    unknown += 1;
                    example.get_or_insert_with(|| shortened(cell));
                }
            }
        }
        let counts = classes.iter().zip(&groups).map(|(class, rows)| format!("{class} {}", grouped(rows.len() as u64)));
        let mut notice = format!("predictions in `{column}`: {}", counts.collect::<Vec<_>>().join(", "));
        if 0 < empty {
            notice.push_str(&format!("; {} have none", counted(empty, data.noun)));
        }
        if let Some(example) = example {
            let names = classes.join(", ");
            notice.push_str(&format!("; {} have another value, such as `{example}`", counted(unknown, data.noun)));
            if groups.iter().all(Vec::is_empty) {
                self.missing.get_or_insert(format!(
                    "--predictions {column}: no value is one of the labels {names}; one is `{example}`\n  \
                     write the predictions exactly like the labels"
                ));
            }
        } else if groups.iter().all(Vec::is_empty) {
            self.missing.get_or_insert(format!("--predictions {column}: the column is empty"));
        }
        self.note("--predictions", notice, "", true);
        for rows in groups {
            self.rows.add(StartGroup { rows, lasts: true });
        }
        Ok(())
    }
}

/// Returns the start of a text for a message.
fn shortened(text: &str) -> String {
    let more = if SHOWN_CHARS < text.chars().count() { "…" } else { "" };
    text.chars().take(SHOWN_CHARS).collect::<String>() + more
}

impl StartData<'_> {
    /// Iterates over the rows that take part: their final index, and their index in the data.
    fn kept(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.rows.len()).filter(|row| self.removed.binary_search(row).is_err()).enumerate()
    }

    /// Returns the number of rows that take part, with their noun.
    fn count(&self) -> String {
        counted((self.rows.len() - self.removed.len()) as u64, self.noun)
    }

    /// Returns the similarity of each row to a text: the cosine of their words, pairs of words and parts of words.
    fn likeness(&self, example: &str) -> Vec<(usize, f64)> {
        let Some(features) = self.encoder.encode_text(example) else { return vec![] };
        let mut dense = vec![0.0; self.rows.dim()];
        for (feature, value) in features {
            dense[feature as usize] = f64::from(value);
        }
        self.kept().map(|(at, row)| (at, self.rows.row(row).dot(&dense))).collect()
    }
}
