//! The kinds of models, by name: linear, with kernel features, a forest, or what the answers choose.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::forest::ForestSettings;
use crate::name::{NameError, ParsedName};
use crate::pool::ModelCandidate;
use crate::rows::Rows;
use crate::rows::kernel::{KernelMap, KernelSettings, LANDMARKS};

/// A kind of model, by its name.
///
/// ```
/// use querist_engine::model_kind::ModelKind;
///
/// assert_eq!("linear".parse(), Ok(ModelKind::Linear));
/// let kernel: ModelKind = "kernel:landmarks=100,width=0.5".parse()?;
/// assert_eq!(kernel.to_string(), "kernel:landmarks=100,width=0.5");
/// # Ok::<(), querist_engine::name::NameError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ModelKind {
    /// Linear in the columns.
    #[default]
    Linear,
    /// Linear in the columns and in their kernel features.
    Kernel(KernelSettings),
    /// A forest of randomized trees.
    Forest(ForestSettings),
    /// The kind that the answers choose; linear at first.
    Auto,
}

/// The names of kinds.
pub const KINDS: &[&str] = &["linear", "kernel", "forest", "auto"];

/// The largest number of landmarks; the similarities of more would take longer to factor than a user waits.
const MOST_LANDMARKS: usize = 4096;
/// The largest number of trees.
const MOST_TREES: usize = 5000;

impl ModelKind {
    /// Returns whether a text begins with the name of a kind.
    pub fn is_named(text: &str) -> bool {
        KINDS.contains(&text.split(':').next().unwrap_or_default())
    }

    /// Returns the models that a pool with these rows can fit. Without an alternative the answers have nothing to choose.
    /// `None` if rows are sparse and the model needs dense ones.
    pub fn candidates(self, rows: &Rows) -> Option<Vec<ModelCandidate>> {
        let kernel = |settings| match rows {
            Rows::Dense(rows) if !rows.is_empty() && 0 < rows.dim() => {
                Some(ModelCandidate::Kernel(KernelMap::fit(rows, settings)))
            }
            _ => None,
        };
        let forest = ModelCandidate::Forest;
        match self {
            Self::Linear => Some(vec![ModelCandidate::Linear]),
            Self::Kernel(settings) => kernel(settings).map(|kernel| vec![kernel]),
            Self::Forest(settings) => matches!(rows, Rows::Dense(_)).then(|| vec![forest(settings)]),
            Self::Auto => Some(match kernel(KernelSettings::default()) {
                Some(kernel) => vec![ModelCandidate::Linear, kernel, forest(ForestSettings::default())],
                None => vec![ModelCandidate::Linear],
            }),
        }
    }
}

impl FromStr for ModelKind {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let name = ParsedName::new(text)?;
        match name.head() {
            "linear" => name.expect_plain().map(|()| ModelKind::Linear),
            "auto" => name.expect_plain().map(|()| ModelKind::Auto),
            "kernel" => kernel(&name).map(ModelKind::Kernel),
            "forest" => forest(&name).map(ModelKind::Forest),
            _ => Err(name.unknown("model", KINDS)),
        }
    }
}

fn kernel(name: &ParsedName<'_>) -> Result<KernelSettings, NameError> {
    let mut settings = KernelSettings::default();
    for (key, value) in name.parameters() {
        match *key {
            "landmarks" => settings.landmarks = count(name, key, value, MOST_LANDMARKS)?,
            "width" => {
                let width = value.parse().ok().filter(|width: &f64| (1e-3..=1e3).contains(width));
                settings.width = width.ok_or_else(|| name.error(format!("width = {value}, need 0.001 to 1000")))?;
            }
            other => return Err(name.error(format!("unknown parameter `{other}`; there are landmarks and width"))),
        }
    }
    Ok(settings)
}

fn forest(name: &ParsedName<'_>) -> Result<ForestSettings, NameError> {
    let mut settings = ForestSettings::default();
    for (key, value) in name.parameters() {
        match *key {
            "trees" => settings.trees = count(name, key, value, MOST_TREES)?,
            other => return Err(name.error(format!("unknown parameter `{other}`; there is trees"))),
        }
    }
    Ok(settings)
}

fn count(name: &ParsedName<'_>, key: &str, value: &str, most: usize) -> Result<usize, NameError> {
    let count = value.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| name.error(format!("{key} = {value}, need 1 to {most}")))
}

impl Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = ":";
        let mut parameter = |f: &mut fmt::Formatter<'_>, key: &str, value: &dyn Display| {
            write!(f, "{separator}{key}={value}")?;
            separator = ",";
            Ok(())
        };
        match self {
            Self::Linear => f.write_str("linear"),
            Self::Auto => f.write_str("auto"),
            Self::Forest(settings) => {
                f.write_str("forest")?;
                if settings.trees == ForestSettings::default().trees {
                    return Ok(());
                }
                parameter(f, "trees", &settings.trees)
            }
            Self::Kernel(KernelSettings { landmarks, width }) => {
                f.write_str("kernel")?;
                if *landmarks != LANDMARKS {
                    parameter(f, "landmarks", landmarks)?;
                }
                if *width != KernelSettings::default().width {
                    parameter(f, "width", width)?;
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in [
            "linear",
            "auto",
            "forest",
            "forest:trees=50",
            "kernel",
            "kernel:landmarks=50",
            "kernel:width=2",
            "kernel:landmarks=50,width=0.5",
        ] {
            assert_eq!(name.parse::<ModelKind>().unwrap().to_string(), name);
            assert!(ModelKind::is_named(name));
        }
        assert!(!ModelKind::is_named("kernel.model") && !ModelKind::is_named("out/linear"));
    }

    #[test]
    fn wrong_names_are_rejected_with_the_accepted_values() {
        let error = |name: &str| name.parse::<ModelKind>().unwrap_err().to_string();
        assert_eq!(error("kernle"), "`kernle`: unknown model; did you mean `kernel`?");
        assert_eq!(error("kernel:landmarks=0"), "`kernel:landmarks=0`: landmarks = 0, need 1 to 4096");
        assert_eq!(error("kernel:width=nan"), "`kernel:width=nan`: width = nan, need 0.001 to 1000");
        assert_eq!(
            error("kernel:gamma=1"),
            "`kernel:gamma=1`: unknown parameter `gamma`; there are landmarks and width"
        );
        assert_eq!(error("linear:width=1"), "`linear:width=1`: linear has no parameters");
    }
}
