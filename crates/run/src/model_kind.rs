//! The kinds of models: linear in the columns, or also in kernel features of them.

use std::fmt::{self, Display};
use std::str::FromStr;

use querist_engine::name::{NameError, ParsedName};
use querist_rows::kernel::{KernelSettings, LANDMARKS};

/// A kind of model, by its name.
///
/// ```
/// use querist_run::model_kind::ModelKind;
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
}

/// The names of kinds.
pub const KINDS: &[&str] = &["linear", "kernel"];

/// The largest number of landmarks; the similarities of more would take longer to factor than a user waits.
const MOST_LANDMARKS: usize = 4096;

impl ModelKind {
    /// Returns whether a text begins with the name of a kind.
    pub fn is_named(text: &str) -> bool {
        KINDS.contains(&text.split(':').next().unwrap_or_default())
    }

    /// Returns the settings of its kernel features, if it has any.
    pub fn kernel(self) -> Option<KernelSettings> {
        match self {
            ModelKind::Linear => None,
            ModelKind::Kernel(settings) => Some(settings),
        }
    }
}

impl FromStr for ModelKind {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let name = ParsedName::new(text)?;
        match name.head() {
            "linear" => name.expect_plain().map(|()| ModelKind::Linear),
            "kernel" => kernel(&name).map(ModelKind::Kernel),
            _ => Err(name.unknown("model", KINDS)),
        }
    }
}

fn kernel(name: &ParsedName<'_>) -> Result<KernelSettings, NameError> {
    let mut settings = KernelSettings::default();
    for (key, value) in name.parameters() {
        match *key {
            "landmarks" => {
                let landmarks = value.parse().ok().filter(|count| (1..=MOST_LANDMARKS).contains(count));
                settings.landmarks =
                    landmarks.ok_or_else(|| name.error(format!("landmarks = {value}, need 1 to {MOST_LANDMARKS}")))?;
            }
            "width" => {
                let width = value.parse().ok().filter(|width: &f64| (1e-3..=1e3).contains(width));
                settings.width = width.ok_or_else(|| name.error(format!("width = {value}, need 0.001 to 1000")))?;
            }
            other => return Err(name.error(format!("unknown parameter `{other}`; there are landmarks and width"))),
        }
    }
    Ok(settings)
}

impl Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelKind::Kernel(KernelSettings { landmarks, width }) = *self else { return f.write_str("linear") };
        f.write_str("kernel")?;
        let (mut separator, default) = (":", KernelSettings::default());
        if landmarks != LANDMARKS {
            write!(f, "{separator}landmarks={landmarks}")?;
            separator = ",";
        }
        if width != default.width {
            write!(f, "{separator}width={width}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip() {
        for name in ["linear", "kernel", "kernel:landmarks=50", "kernel:width=2", "kernel:landmarks=50,width=0.5"] {
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
