//! A stream of single observations: offered, queried or not, answered now or later.
//!
//! The path of an observation is short, since Python calls it for each: features are read into reused buffers, and the
//! engine does the rest.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use numpy::{
    IntoPyArray, PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyTuple};
use querist_engine::learner::Learner;
use querist_engine::name::NameError;
use querist_engine::optimizer::{Clock, Constraint, Momentum, Optimizer};
use querist_engine::rule::{self, Rule};
use querist_engine::settings::IllegalSettings;
use querist_engine::step::Steps;
use querist_engine::stream::{Importance, Rules, StreamLearner, Warm};
use querist_rows::Sparse;
use querist_run::step::StepName;

use crate::error::{refused, sheltered, wrong_type, wrong_value};
use crate::model::{labels_of, task_of};

/// A query for a label. Keep it until the label is known.
#[pyclass(frozen, module = "querist", name = "Ask")]
pub(crate) struct StreamAsk {
    /// The observation's number, from 1.
    #[pyo3(get)]
    time: u64,
    /// The probability of the query.
    #[pyo3(get)]
    probability: f64,
    stream: u64,
    row: KeptRow,
}

/// The parts of an ask, as pickled.
type AskParts = (u64, f64, u64, Option<Vec<u32>>, Vec<f32>);

/// Rebuilds an ask from its parts. Returns a `ValueError` if they do not fit together.
#[pyfunction]
pub(crate) fn made_ask(
    time: u64,
    probability: f64,
    stream: u64,
    index: Option<Vec<u32>>,
    value: Vec<f32>,
) -> PyResult<StreamAsk> {
    let wrong = |what: &str| Err(wrong_value("ask", format!("its parts do not fit: {what}")));
    if !(0.0 < probability && probability <= 1.0) {
        return wrong("the probability");
    }
    let row = match index {
        None => KeptRow::Dense(value),
        Some(index) if index.len() == value.len() && index.is_sorted_by(|a, b| a < b) => KeptRow::Sparse(index, value),
        Some(_) => return wrong("the features"),
    };
    Ok(StreamAsk { time, probability, stream, row })
}

/// Returns a number that is unique to a stream, also across processes.
fn fresh_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[pymethods]
impl StreamAsk {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, AskParts)> {
        let make = py.import("querist._querist")?.getattr("made_ask")?;
        let (index, value) = match &self.row {
            KeptRow::Dense(value) => (None, value.clone()),
            KeptRow::Sparse(index, value) => (Some(index.clone()), value.clone()),
        };
        Ok((make, (self.time, self.probability, self.stream, index, value)))
    }

    fn __repr__(&self) -> String {
        format!("Ask(time={}, probability={})", self.time, self.probability)
    }
}

/// Features that are kept until the answer arrives.
#[derive(Clone)]
enum KeptRow {
    Dense(Vec<f32>),
    Sparse(Vec<u32>, Vec<f32>),
}

/// The settings of a learner.
#[derive(FromPyObject)]
pub(crate) struct LearnerArguments<'py> {
    codes: Option<Bound<'py, PyDict>>,
    loss: String,
    rule: String,
    classes: usize,
    features: Option<usize>,
    step: String,
    momentum: String,
    l2: f64,
    fit_intercept: bool,
    importance: bool,
    warm_rule: Option<String>,
    warm_labels: u64,
    seed: u64,
}

impl LearnerArguments<'_> {
    fn learner(&self) -> PyResult<StreamLearner> {
        let labels = labels_of(self.classes);
        let task = task_of(&self.loss, self.classes)?;
        let parse = |argument: &str, name: &str| -> PyResult<Rule> {
            rule::parse(name, task.name(), labels).map_err(|error| wrong_value(argument, error))
        };
        let warm = match &self.warm_rule {
            Some(name) => Some(Warm { rule: parse("warm_rule", name)?, labels: self.warm_labels }),
            None => None,
        };
        let rules = Rules { warm, rule: parse("rule", &self.rule)? };
        let step: StepName = self.step.parse().map_err(|error: NameError| wrong_value("step", error))?;
        let step = step.schedule().ok_or_else(|| {
            let name = &self.step;
            wrong_value("step", format!("{name}: there are auto, fixed:eta=NUMBER, inverse-sqrt:eta=NUMBER"))
        })?;
        let momentum: Momentum = self.momentum.parse().map_err(|error: NameError| wrong_value("momentum", error))?;
        let optimizer = Optimizer::new(momentum, Clock::Query, Constraint { l2: self.l2, radius: None });
        let dim = self.features.unwrap_or(0);
        let illegal = |illegal: IllegalSettings| wrong_value(illegal.setting(), &illegal);
        let learner =
            Learner::new(task, self.fit_intercept, dim, optimizer, Steps::new(step), None).map_err(illegal)?;
        let importance = if self.importance { Importance::Original } else { Importance::Equivalent };
        StreamLearner::new(learner, rules, self.seed, importance).map_err(illegal)
    }
}

/// The state of a stream: words of the learner, features, names, open asks, number.
type State = (Vec<u64>, Option<usize>, Vec<String>, Vec<u64>, u64);

/// A learner that is offered one observation after another.
#[pyclass(module = "querist._querist", subclass, name = "Stream")]
pub(crate) struct PyStream {
    /// The number of this stream, unique also across processes.
    number: u64,
    /// Codes of labels, or `None` if labels are numbers.
    codes: Option<Py<PyDict>>,
    learner: StreamLearner,
    /// The number of features of a list or array; known after the first observation if it was not given.
    features: Option<usize>,
    /// Columns of features by name, for observations that are dictionaries.
    names: HashMap<String, u32>,
    open: HashSet<u64>,
    dense: Vec<f32>,
    /// The names and columns of the previous dictionary, in its order: the next one usually has the same.
    recent: Vec<(Py<PyAny>, u32)>,
    index: Vec<u32>,
    value: Vec<f32>,
}

#[pymethods]
impl PyStream {
    #[new]
    fn new(settings: LearnerArguments<'_>) -> PyResult<Self> {
        sheltered(|| {
            Ok(Self {
                number: fresh_number(),
                codes: settings.codes.as_ref().map(|codes| codes.clone().unbind()),
                learner: settings.learner()?,
                features: settings.features,
                names: HashMap::new(),
                open: HashSet::new(),
                dense: vec![],
                recent: vec![],
                index: vec![],
                value: vec![],
            })
        })
    }

    /// Offers the next observation and returns an `Ask`, or `None` if it is not queried.
    fn offer(&mut self, x: &Bound<'_, PyAny>) -> PyResult<Option<StreamAsk>> {
        sheltered(|| {
            let kept = if let Ok(named) = x.cast::<PyDict>() {
                self.read_named(named)?;
                // With all features present, a dense row is faster and bit-identical.
                let offer = if self.index.len() == self.names.len() {
                    self.learner.offer(&self.value[..])
                } else {
                    self.learner.offer(Sparse { index: &self.index, value: &self.value })
                };
                offer.asked.then(|| (offer, KeptRow::Sparse(self.index.clone(), self.value.clone())))
            } else {
                self.read_dense(x)?;
                let offer = self.learner.offer(&self.dense[..]);
                offer.asked.then(|| (offer, KeptRow::Dense(self.dense.clone())))
            };
            Ok(kept.map(|(offer, row)| {
                self.open.insert(offer.time);
                StreamAsk { time: offer.time, probability: offer.probability, stream: self.number, row }
            }))
        })
    }

    /// Records the label of an ask, now or later, with a step at the current parameters.
    fn answer(&mut self, py: Python<'_>, ask: &StreamAsk, y: &Bound<'_, PyAny>) -> PyResult<()> {
        sheltered(|| {
            if ask.stream != self.number {
                return Err(wrong_value("ask", "it is of another stream"));
            }
            let code = self.code(py, y)?;
            let dim = self.learner.dim();
            let fits = match &ask.row {
                KeptRow::Dense(x) => x.len() == dim,
                KeptRow::Sparse(index, _) => index.last().is_none_or(|last| (*last as usize) < dim),
            };
            if !fits {
                return Err(wrong_value("ask", "it has other features than the stream"));
            }
            if !self.open.remove(&ask.time) {
                return Err(wrong_value("ask", format!("the one at {} is answered already", ask.time)));
            }
            let learned = match &ask.row {
                KeptRow::Dense(x) => self.learner.answer(&x[..], ask.probability, code),
                KeptRow::Sparse(index, value) => self.learner.answer(Sparse { index, value }, ask.probability, code),
            };
            learned.map_err(|diverged| {
                self.open.insert(ask.time);
                refused(diverged)
            })
        })
    }

    /// Returns the probability with which an observation would be queried now.
    fn probability(&mut self, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        sheltered(|| {
            if let Ok(named) = x.cast::<PyDict>() {
                self.read_named(named)?;
                return Ok(self.learner.probability(Sparse { index: &self.index, value: &self.value }));
            }
            self.read_dense(x)?;
            Ok(self.learner.probability(&self.dense[..]))
        })
    }

    /// Returns the scores of an observation.
    fn scores<'py>(&mut self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        sheltered(|| {
            let mut scores = vec![0.0; self.learner.learner().task().outputs()];
            if let Ok(named) = x.cast::<PyDict>() {
                self.read_named(named)?;
                self.learner.scores(Sparse { index: &self.index, value: &self.value }, &mut scores);
            } else {
                self.read_dense(x)?;
                self.learner.scores(&self.dense[..], &mut scores);
            }
            Ok(scores.into_pyarray(py))
        })
    }

    /// Returns the current parameters or their average: weights feature by feature, then the intercepts.
    fn parameters<'py>(&mut self, py: Python<'py>, average: bool) -> Bound<'py, PyArray1<f64>> {
        let found = if average { self.learner.mean() } else { self.learner.theta() };
        found.into_pyarray(py)
    }

    /// Returns the counts observed, asked and answered, the expected asks, and Σ 1/U over the asks.
    fn totals(&self) -> (u64, u64, u64, f64, f64) {
        let totals = self.learner.totals();
        (totals.observed, totals.asked, totals.answered, totals.expected_asked(), totals.inverse)
    }

    /// Returns the mean query probability over at least the last half of the stream.
    fn recent_rate(&self) -> f64 {
        self.learner.recent_rate()
    }

    /// Returns the name of the current rule.
    fn rule(&self) -> String {
        self.learner.rule().name()
    }

    /// Returns the state: words of the learner, features, names, open asks, number.
    fn state(&self) -> PyResult<State> {
        let words = self.learner.state().ok_or_else(|| {
            wrong_type("rule", "a stream whose rule keeps the answers cannot be pickled; keep a ledger of it")
        })?;
        let mut open: Vec<u64> = self.open.iter().copied().collect();
        open.sort_unstable();
        Ok((words, self.features, self.names(), open, self.number))
    }

    /// Restores the state of another stream with the same settings.
    fn restore(&mut self, state: State) -> PyResult<()> {
        sheltered(|| {
            let (words, features, names, open, number) = state;
            let wrong = || wrong_value("state", "it is not that of a stream of these settings");
            self.learner.restore(&words).ok_or_else(wrong)?;
            let observed = self.learner.totals().observed;
            let dim = features.unwrap_or(names.len());
            if self.learner.dim() != dim || open.iter().any(|time| observed < *time) {
                return Err(wrong());
            }
            self.names = names.into_iter().zip(0..).collect();
            self.open = open.into_iter().collect();
            (self.features, self.number) = (features, number);
            Ok(())
        })
    }

    /// Returns the feature names in column order, for observations that are dictionaries.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<(&String, &u32)> = self.names.iter().collect();
        names.sort_by_key(|(_, column)| **column);
        names.into_iter().map(|(name, _)| name.clone()).collect()
    }
}

impl PyStream {
    /// Returns the code of a label.
    fn code(&self, py: Python<'_>, y: &Bound<'_, PyAny>) -> PyResult<f64> {
        let Some(codes) = &self.codes else {
            let number: f64 = y.extract().map_err(|_| wrong_type("y", "need a number"))?;
            return if number.is_finite() { Ok(number) } else { Err(wrong_value("y", "need a finite number")) };
        };
        let codes = codes.bind(py);
        let found = codes.get_item(y).map_err(|_| wrong_type("y", "is no label"))?;
        let found = found.ok_or_else(|| {
            let known = codes.keys().repr().map_or_else(|_| String::new(), |text| text.to_string());
            wrong_value("y", format!("{y} is not among the classes {known}"))
        })?;
        found.extract()
    }

    /// Reads an array or a list into the buffer for dense rows.
    fn read_dense(&mut self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        if !self.names.is_empty() {
            return Err(wrong_type("x", "observations were dictionaries so far"));
        }
        self.dense.clear();
        if let Ok(array) = x.cast::<PyArray1<f32>>() {
            let array = array.try_readonly().map_err(|error| wrong_value("x", error))?;
            self.dense.extend(array.as_array().iter());
        } else if let Ok(array) = x.cast::<PyArray1<f64>>() {
            let array = array.try_readonly().map_err(|error| wrong_value("x", error))?;
            self.dense.extend(array.as_array().iter().map(|value| *value as f32));
        } else if let Ok(list) = x.cast::<PyList>() {
            for value in list {
                self.dense.push(number(&value)?);
            }
        } else if let Ok(tuple) = x.cast::<PyTuple>() {
            for value in tuple {
                self.dense.push(number(&value)?);
            }
        } else if x.cast::<PyUntypedArray>().is_ok_and(|array| array.ndim() == 1 && is_real(&array.dtype())) {
            // Another numeric type: numpy converts it.
            let narrowed = x.call_method1("astype", ("float32",))?;
            let array = narrowed.cast::<PyArray1<f32>>().map_err(PyErr::from)?;
            let array = array.try_readonly().map_err(|error| wrong_value("x", error))?;
            self.dense.extend(array.as_array().iter());
        } else {
            return Err(wrong_type(
                "x",
                "need a row: an array of float32 or float64 in one dimension, a list, or a dict",
            ));
        }
        self.check_dense()
    }

    fn check_dense(&mut self) -> PyResult<()> {
        let found = self.dense.len();
        if found == 0 {
            return Err(wrong_value("x", "has no features"));
        }
        let features = *self.features.get_or_insert(found);
        if found != features {
            return Err(wrong_value("x", format!("has {found} features, need {features}")));
        }
        if let Some(column) = self.dense.iter().position(|value| !value.is_finite()) {
            return Err(wrong_value("x", format!("feature {column} is NaN, infinite or too large for float32")));
        }
        self.learner.widen(found);
        Ok(())
    }

    /// Reads a dictionary of features by name into the buffers for sparse rows.
    fn read_named(&mut self, x: &Bound<'_, PyDict>) -> PyResult<()> {
        if self.names.is_empty() && self.features.is_some() {
            return Err(wrong_type("x", "observations were arrays or lists so far"));
        }
        self.index.clear();
        self.value.clear();
        for (position, (name, value)) in x.iter().enumerate() {
            let value = number(&value)?;
            if !value.is_finite() {
                return Err(wrong_value("x", format!("feature \"{name}\" is NaN, infinite or too large for float32")));
            }
            let column = match self.recent.get(position) {
                Some((before, column)) if before.is(&name) => *column,
                _ => self.column_of(position, &name)?,
            };
            self.index.push(column);
            self.value.push(value);
        }
        if !self.index.is_sorted() {
            let mut entries: Vec<(u32, f32)> = self.index.iter().copied().zip(self.value.iter().copied()).collect();
            entries.sort_unstable_by_key(|entry| entry.0);
            (self.index, self.value) = entries.into_iter().unzip();
        }
        self.learner.widen(self.names.len());
        Ok(())
    }

    /// Returns the column of a named feature, adding a column for a new name, and caches it for this position.
    fn column_of(&mut self, position: usize, name: &Bound<'_, PyAny>) -> PyResult<u32> {
        let text = name.cast::<PyString>().map_err(|_| wrong_type("x", "names of features are strings"))?;
        let text = text.to_cow()?;
        let next = u32::try_from(self.names.len()).map_err(|_| wrong_value("x", "too many features"))?;
        let column = match self.names.get(&*text) {
            Some(column) => *column,
            None => *self.names.entry(text.into_owned()).or_insert(next),
        };
        let remembered = (name.clone().unbind(), column);
        match self.recent.get_mut(position) {
            Some(before) => *before = remembered,
            // Positions are visited in order, so this is the next.
            None => self.recent.push(remembered),
        }
        Ok(column)
    }
}

/// Returns whether an array holds booleans, integers or floats.
fn is_real(kind: &Bound<'_, PyArrayDescr>) -> bool {
    matches!(kind.kind(), b'b' | b'i' | b'u' | b'f')
}

/// Converts a Python number to the feature type `f32`.
fn number(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return Ok(float.value() as f32);
    }
    let found: f64 = value.extract().map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        wrong_type("x", format!("features are numbers, not {kind}"))
    })?;
    Ok(found as f32)
}
