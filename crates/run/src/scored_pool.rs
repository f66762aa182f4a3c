//! A pool whose rows are scored by a model of another program: draws and answers, durable before they are acknowledged.

use std::fmt::{self, Display};
use std::path::Path;

use querist_engine::pool::{
    ColdMethod, DrawMethod, Prediction, PredictionKind, Predictions, ScoredDraw, ScoredPool, ScoredPoolError,
    ScoredPoolSettings,
};
use querist_engine::rule::{self, Rule, Scale};
use querist_engine::stop::StopRule;
use querist_engine::task::Labels;
use querist_ledger::Ledger;
use querist_rows::Rows;
use serde_json::{Value, json};

use crate::error::{Context, Error, Result, bail};
use crate::event::{self, RecordedDraw, RecordedScale, RunEvent};
use crate::precision::PrecisionSetting;

/// The `command` in the header of a ledger.
pub const COMMAND: &str = "scored-pool";

/// The settings of a pool that a program scores.
#[derive(Clone, Debug)]
pub struct ScoredPoolRunSettings {
    /// The number of rows.
    pub rows: usize,
    /// The name of the rule.
    pub rule: String,
    /// The names of the classes; `None` for numbers from 0, as many as the first predictions have.
    pub classes: Option<Vec<Value>>,
    /// The draws before every class has a label.
    pub cold: ColdMethod,
    /// The wanted precision of an estimate.
    pub precision: Option<PrecisionSetting>,
    /// The random seed.
    pub seed: u64,
}

/// A reason why a draw or an answer was not recorded.
#[derive(Debug)]
#[non_exhaustive]
pub enum NotRecorded {
    /// The draw or the answer is impossible.
    Draw(ScoredPoolError),
    /// The ledger was not written.
    Run(Error),
}

impl Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Draw(error) => error.fmt(f),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotRecorded {}

impl From<ScoredPoolError> for NotRecorded {
    fn from(error: ScoredPoolError) -> Self {
        Self::Draw(error)
    }
}

impl From<Error> for NotRecorded {
    fn from(error: Error) -> Self {
        Self::Run(error)
    }
}

impl From<querist_ledger::LedgerError> for NotRecorded {
    fn from(error: querist_ledger::LedgerError) -> Self {
        Self::Run(error.into())
    }
}

/// A pool with its ledger.
pub struct ScoredPoolRun {
    pool: ScoredPool,
    ledger: Option<Ledger>,
}

impl ScoredPoolRunSettings {
    /// Returns the settings of the engine. The rule gets the default numbers of this version.
    fn engine(&self) -> Result<ScoredPoolSettings> {
        let classes = self.classes.as_ref().map(Vec::len);
        let names: Option<Vec<String>> = self.classes.as_ref().map(|names| names.iter().map(name_of).collect());
        let precision = match &self.precision {
            None => None,
            Some(setting) => {
                let names = names.unwrap_or_else(|| (0..MOST_UNNAMED).map(|class| class.to_string()).collect());
                Some(setting.of(setting.goal(Labels::Classes(names.len()), &names)?))
            }
        };
        let rule = rule::in_pool(&self.rule, Labels::Binary);
        Ok(ScoredPoolSettings { rows: self.rows, rule, classes, cold: self.cold, precision, seed: self.seed })
    }

    fn header(&self, engine: &ScoredPoolSettings) -> Value {
        json!({
            "format": 1,
            "command": COMMAND,
            "rows": self.rows,
            "rule": engine.rule,
            "classes": self.classes,
            "cold_start": cold_name(self.cold),
            "precision": self.precision.as_ref().map(ToString::to_string),
            "seed": self.seed,
        })
    }

    fn from_header(header: &Value) -> Result<Self> {
        let number = |key: &str| header[key].as_u64().with_context(|| format!("the ledger's {key}"));
        let cold = match header["cold_start"].as_str() {
            Some("random") => ColdMethod::Random,
            Some("coverage") => ColdMethod::Coverage,
            _ => ColdMethod::None,
        };
        Ok(Self {
            rows: number("rows")? as usize,
            rule: header["rule"].as_str().context("the ledger's rule")?.to_owned(),
            classes: header["classes"].as_array().cloned(),
            cold,
            precision: header["precision"].as_str().map(str::parse).transpose()?,
            seed: number("seed")?,
        })
    }
}

/// The largest number of classes without names of which one can be named in a precision.
const MOST_UNNAMED: usize = 1000;

fn name_of(class: &Value) -> String {
    class.as_str().map_or_else(|| class.to_string(), str::to_owned)
}

fn cold_name(cold: ColdMethod) -> &'static str {
    match cold {
        ColdMethod::None => "none",
        ColdMethod::Random => "random",
        ColdMethod::Coverage => "coverage",
    }
}

impl ScoredPoolRun {
    /// Opens a pool. If the ledger exists, it is continued; otherwise it is created. Without a path nothing is recorded.
    ///
    /// # Errors
    /// If the settings are illegal or differ from those of the ledger, or the ledger cannot be opened.
    pub fn open(settings: &ScoredPoolRunSettings, path: Option<&Path>) -> Result<Self, NotRecorded> {
        let engine = settings.engine()?;
        let header = settings.header(&engine);
        let pool = ScoredPool::new(engine)?;
        let Some(path) = path else { return Ok(Self { pool, ledger: None }) };
        if !path.exists() {
            return Ok(Self { pool, ledger: Some(Ledger::create(path, &header.to_string())?) });
        }
        let ledger = Ledger::open(path)?;
        let found: Value = serde_json::from_str(ledger.header()).map_err(Error::from)?;
        if found["command"] != COMMAND {
            let command = found["command"].as_str().unwrap_or("something else");
            return Err(Error::Invalid(format!("{} is the ledger of `{command}`", path.display())).into());
        }
        let keys = ["rows", "rule", "classes", "cold_start", "precision", "seed"];
        if let Some(key) = keys.iter().find(|key| found[**key] != header[**key]) {
            let (was, is) = (&found[*key], &header[*key]);
            let message = format!("{} is the ledger of another pool: {key} was {was}, is {is}", path.display());
            return Err(Error::Invalid(message).into());
        }
        Ok(Self { pool: restored(&ledger, pool)?, ledger: Some(ledger) })
    }

    /// Returns the pool.
    pub fn pool(&self) -> &ScoredPool {
        &self.pool
    }

    /// Draws rows and records them. They are on disk when it returns.
    pub fn draw(
        &mut self,
        predictions: Option<&Predictions<'_>>,
        features: Option<&Rows>,
        n: usize,
    ) -> Result<&[ScoredDraw], NotRecorded> {
        let known = self.pool.classes();
        let drawn = self.pool.draw(predictions, features, n)?;
        let first = self.pool.draws().len();
        if let Some(ledger) = &mut self.ledger {
            if let (None, Some(classes)) = (known, self.pool.classes()) {
                ledger.set_note("classes", &classes.to_string())?;
            }
            let events = drawn.iter().enumerate().map(|(index, draw)| asked(draw, first + index).to_record());
            ledger.append(&events.collect::<Result<Vec<_>>>()?)?;
        }
        for draw in drawn {
            self.pool.record(draw);
        }
        Ok(&self.pool.draws()[first..])
    }

    /// Records the classes of rows. They are on disk when it returns.
    ///
    /// # Errors
    /// If an answer is impossible. Then none is recorded.
    pub fn answer(&mut self, answers: &[(usize, usize)]) -> Result<(), NotRecorded> {
        let numbers = self.pool.check_answers(answers)?;
        if let Some(ledger) = &mut self.ledger {
            let at = self.pool.draws().len() as u64;
            let event = |(draw, (_, class)): (&usize, &(usize, usize))| {
                let (ask, label) = (*draw as u64 + 1, *class as f64);
                RunEvent::Answered { ask, label, at, annotator: None }.to_record()
            };
            ledger.append(&numbers.iter().zip(answers).map(event).collect::<Result<Vec<_>>>()?)?;
        }
        for (draw, (_, class)) in numbers.into_iter().zip(answers) {
            self.pool.answer(draw, *class);
        }
        Ok(())
    }

    /// Returns the stopping rule with this text, together with the wanted precision.
    pub fn stop_rule(&self, text: Option<&str>) -> Result<StopRule> {
        let precision = self.pool.settings().precision.map(StopRule::Precision);
        Ok(match (text, precision) {
            (None, Some(precision)) => precision,
            (Some(text), Some(precision)) => StopRule::Any(vec![text.parse()?, precision]),
            (text, None) => text.unwrap_or(DEFAULT_STOP).parse()?,
        })
    }
}

/// The stopping rule if none is named and no precision is wanted.
const DEFAULT_STOP: &str = "gain=0.002";

fn asked(draw: &ScoredDraw, index: usize) -> RunEvent {
    let scale = draw.scale.map(|Scale { reach, from, base, rarest }| RecordedScale { reach, from, base, rarest });
    let inverse_rate = if draw.rate == 0.0 { 0.0 } else { 1.0 / draw.rate };
    RunEvent::Asked {
        time: index as u64 + 1,
        id: draw.row.to_string(),
        probability: Some(draw.probability),
        tries: None,
        draw: Some(RecordedDraw {
            row: draw.row,
            uncertainty: draw.uncertainty,
            inverse_rate,
            fallback: draw.method == DrawMethod::Fallback,
            rate: Some(draw.rate),
            scale,
        }),
        features: to_bytes(draw),
    }
}

const METHODS: [DrawMethod; 4] = [DrawMethod::Rule, DrawMethod::Uniform, DrawMethod::Coverage, DrawMethod::Fallback];

/// Returns the method and the prediction of a draw as bytes: the number of the method, the kind of the prediction, and its
/// numbers.
fn to_bytes(draw: &ScoredDraw) -> Vec<u8> {
    let method = METHODS.iter().position(|method| *method == draw.method).unwrap_or(0) as u8;
    let Some(prediction) = &draw.prediction else { return vec![method, 0] };
    let kind = if prediction.kind == PredictionKind::Probabilities { 1 } else { 2 };
    let numbers = prediction.values.iter().flat_map(|value| value.to_le_bytes());
    [method, kind].into_iter().chain(numbers).collect()
}

fn from_bytes(bytes: &[u8]) -> Option<(DrawMethod, Option<Prediction>)> {
    let [method, kind, rest @ ..] = bytes else { return None };
    let method = *METHODS.get(usize::from(*method))?;
    let (numbers, []) = rest.as_chunks::<8>() else { return None };
    let values: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let kind = match (kind, values.is_empty()) {
        (0, true) => return Some((method, None)),
        (1, false) => PredictionKind::Probabilities,
        (2, false) => PredictionKind::Scores,
        _ => return None,
    };
    Some((method, Some(Prediction { kind, values })))
}

/// Folds the events of a ledger into a pool at its start.
fn restored(ledger: &Ledger, mut pool: ScoredPool) -> Result<ScoredPool> {
    if let Some(classes) = ledger.note("classes") {
        let classes = classes.parse().ok().context("the ledger's number of classes")?;
        pool.set_classes(classes).map_err(|error| Error::Invalid(error.to_string()))?;
    }
    let invalid = |error: ScoredPoolError| Error::Invalid(format!("{}: {error}", ledger.path().display()));
    for event in event::events(ledger) {
        match event? {
            RunEvent::Considered { .. } => bail!("this is the ledger of a stream"),
            RunEvent::Asked { probability, draw, features, .. } => {
                pool.record(recorded(&pool, probability, draw, &features)?);
            }
            RunEvent::Answered { ask, label, .. } => {
                let draw = (ask as usize).checked_sub(1).and_then(|draw| pool.draws().get(draw));
                let row = draw.context("an answer to an unknown ask")?.row;
                for number in pool.check_answers(&[(row, label as usize)]).map_err(invalid)? {
                    pool.answer(number, label as usize);
                }
            }
        }
    }
    Ok(pool)
}

fn recorded(
    pool: &ScoredPool,
    probability: Option<f64>,
    draw: Option<RecordedDraw>,
    features: &[u8],
) -> Result<ScoredDraw> {
    let (probability, draw) = (probability.context("an ask has no probability")?, draw.context("an ask has no draw")?);
    let (method, prediction) = from_bytes(features).context("an ask has no prediction")?;
    if pool.settings().rows <= draw.row || pool.draws().iter().any(|other| other.row == draw.row) {
        bail!("an ask is of row {}, which does not exist or was drawn before", draw.row);
    }
    Ok(ScoredDraw {
        row: draw.row,
        uncertainty: draw.uncertainty,
        probability,
        rate: draw.rate.context("an ask has no rate")?,
        method,
        scale: draw.scale.map(|RecordedScale { reach, from, base, rarest }| Scale { reach, from, base, rarest }),
        prediction,
    })
}

/// Reads the pool of a ledger, and the names of its classes.
pub(crate) fn read(ledger: &Ledger, header: &Value) -> Result<(ScoredPool, Vec<String>)> {
    let settings = ScoredPoolRunSettings::from_header(header)?;
    let pool = ScoredPool::new(settings.engine()?).map_err(|error| Error::Invalid(error.to_string()))?;
    let pool = restored(ledger, pool)?;
    let names = match &settings.classes {
        Some(names) => names.iter().map(name_of).collect(),
        None => (0..pool.classes().unwrap_or(0)).map(|class| class.to_string()).collect(),
    };
    Ok((pool, names))
}

/// The result of checking the draws of a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedDraws {
    /// The name of the rule.
    pub rule: String,
    /// The number of rows of the pool.
    pub rows: u64,
    /// Draws whose recorded probability follows from their prediction, and uniform draws of the row that their random number
    /// selects.
    pub confirmed: u64,
    /// Draws that do not.
    pub disagreeing: u64,
    /// Draws by coverage, which depend on features that a ledger does not have.
    pub not_compared: u64,
}

/// Checks the draws of a ledger as far as it determines them. The sum of U over the pool, which is recorded with every draw,
/// cannot be computed again without the predictions for all rows.
pub fn check(ledger: &Ledger) -> Result<CheckedDraws> {
    let header: Value = serde_json::from_str(ledger.header()).context("the ledger's header")?;
    let settings = ScoredPoolRunSettings::from_header(&header)?;
    let start = || ScoredPool::new(settings.engine()?).map_err(|error| Error::Invalid(error.to_string()));
    let end = restored(ledger, start()?)?;
    let mut checked = CheckedDraws { rule: end.rule_name(), rows: settings.rows as u64, ..CheckedDraws::default() };
    let mut again = start()?;
    for draw in end.draws() {
        let is_same = match draw.method {
            DrawMethod::Coverage => None,
            DrawMethod::Uniform | DrawMethod::Fallback => Some(again.is_uniform_draw(draw)),
            DrawMethod::Rule => Some(end.rule().is_some_and(|rule| is_by_rule(rule, draw, again.left()))),
        };
        *(match is_same {
            None => &mut checked.not_compared,
            Some(true) => &mut checked.confirmed,
            Some(false) => &mut checked.disagreeing,
        }) += 1;
        again.record(draw.clone());
    }
    Ok(checked)
}

/// Returns whether U follows from the recorded prediction, to the bit, and the probability from U.
fn is_by_rule(rule: &Rule, draw: &ScoredDraw, left: usize) -> bool {
    let mut rule = rule.clone();
    if let (Rule::Relative(rule), Some(scale)) = (&mut rule, draw.scale) {
        rule.set_scale(scale);
    }
    let Some(prediction) = &draw.prediction else { return false };
    let expected = draw.uncertainty / (draw.rate * left as f64);
    prediction.uncertainty(&rule).to_bits() == draw.uncertainty.to_bits()
        && (draw.probability / expected - 1.0).abs() < 1e-12
}
