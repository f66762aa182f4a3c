//! One line of the results table: a measurement, its reference and the target ratio.

use std::fmt::{self, Display};

use serde_json::{Value, json};

/// A measurement beside its reference.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// The name of the measurement, for example `stream-memory/dense-30`.
    pub(crate) name: String,
    /// The name of the reference, for example `C best`.
    pub(crate) against: String,
    /// The unit of both figures.
    pub(crate) unit: &'static str,
    /// The figures, or the reason for their absence.
    pub(crate) found: Result<Figures, String>,
    /// The largest acceptable ratio, or `None` if the ratio is for information only.
    pub(crate) bar: Option<f64>,
}

/// The measured figures of the reference and of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) theirs: f64,
    pub(crate) ours: f64,
}

/// The header of the table.
pub(crate) const HEAD: &str =
    "what                             against           theirs        ours  unit          ratio    bar";

impl Measurement {
    /// Returns whether the ratio is within its bar, or `None` without a bar or a figure.
    pub(crate) fn meets_bar(&self) -> Option<bool> {
        let found = self.found.as_ref().ok()?;
        self.bar.map(|bar| found.ratio() <= bar)
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { name, against, unit, bar, .. } = self;
        match &self.found {
            Ok(found) => json!({
                "name": name, "against": against, "unit": unit, "theirs": found.theirs, "ours": found.ours,
                "ratio": found.ratio(), "bar": bar, "met": self.meets_bar(),
            }),
            Err(why) => json!({ "name": name, "against": against, "skipped": why }),
        }
    }
}

impl Figures {
    fn ratio(self) -> f64 {
        self.ours / self.theirs
    }
}

impl Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<32} {:<12}", self.name, self.against)?;
        match &self.found {
            Err(why) => write!(f, "  skipped: {why}"),
            Ok(found) => {
                let (theirs, ours) = (digits(found.theirs), digits(found.ours));
                write!(f, " {theirs:>11} {ours:>11}  {:<12} {:>6.2}", self.unit, found.ratio())?;
                match (self.bar, self.meets_bar()) {
                    (Some(bar), Some(true)) => write!(f, " {bar:>6}"),
                    (Some(bar), _) => write!(f, " {bar:>6}  missed"),
                    (None, _) => write!(f, "      -"),
                }
            }
        }
    }
}

/// Formats one decimal below 100, and a whole number otherwise.
fn digits(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
