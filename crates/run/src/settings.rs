//! The settings of a learner, the same for streams and pools. Ledgers store them under these names.

use querist_engine::optimizer::Momentum;
use querist_engine::pool::{ColdDraws, PrecisionGoal};
use querist_engine::rule;
use querist_engine::task::Labels;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Result, bail};
use crate::precision::PrecisionSetting;
use crate::start::TextPattern;
use crate::step::{self, StepName};
use crate::written::Written;

/// The settings of a learner.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct LearnerSettings {
    /// The loss [default: logistic, cross-entropy or squared, by the labels]
    pub loss: Option<String>,
    /// The rule that decides what to query [default: entropy; boundary where a pool is fitted; conditional-loss for
    /// numbers]
    pub rule: Option<String>,
    /// Step sizes: auto, fixed:eta=0.1, inverse-sqrt:eta=1, theory:c=umax|oracle|NUMBER, pilot
    pub step: Written<StepName>,
    /// D, the distance of the start from the optimum, for theory and pilot [default: from the features]
    pub distance: Option<f64>,
    /// G, the size of gradients, for theory and pilot [default: from the loss and the features]
    pub gradient: Option<f64>,
    /// T, the expected number of observations, for theory and pilot [default: as many as there are]
    pub horizon: Option<f64>,
    /// The mean query rate, for theory:c=oracle
    pub rate: Option<f64>,
    /// none, heavy-ball:beta=0.9, nesterov:beta=0.9, or nesterov with its own schedule
    pub momentum: Written<Momentum>,
    /// The observations that advance momentum: queried ones, or all
    pub clock: ClockSetting,
    /// λ: adds λ/2·‖w‖² to the loss [default: 0 for gradient steps, chosen from the answers for a fit]
    #[serde(with = "stored_l2")]
    pub l2: Option<f64>,
    /// Keeps the parameters within this distance of 0
    pub radius: Option<f64>,
    /// Scores without an intercept
    pub no_intercept: bool,
    /// The parameters to start from, w1,w2,…,b [default: zeros]
    pub start: Option<Vec<f64>>,
    /// Weights queried gradients by 1/U: minimizes the loss itself instead of the equivalent loss
    pub importance: bool,
    /// A rule for the first labels, such as critical, whose objective is convex
    pub warm_rule: Option<String>,
    /// The number of labels that it queries
    pub warm_labels: Option<u64>,
    /// The draws of a cold start: coverage or random [default: coverage; random for a rule that draws uniformly]
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cold_start: Option<Written<ColdDraws>>,
    /// Words, or a regular expression, that the first rows of a cold start contain
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_with: Option<Written<TextPattern>>,
    /// Texts that the first rows of a cold start resemble
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub start_like: Vec<String>,
    /// The wanted precision of an estimate, for which more draws are spread evenly
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub precision: Option<Written<PrecisionSetting>>,
    /// The random seed of the run
    pub seed: u64,
    /// The version whose defaults complete the names of rules
    #[serde(default = "Defaults::of_old_ledgers")]
    pub defaults: Defaults,
}

/// The version of the program whose defaults complete the names of rules. A run keeps those that it began with.
///
/// ```
/// use querist_engine::task::Labels;
/// use querist_run::settings::Defaults;
///
/// assert_eq!(Defaults::V0_1.complete("boundary", Labels::Binary), "boundary:share=0.01,floor=0.1");
/// assert_eq!(Defaults::V0_2.complete("boundary", Labels::Binary), "boundary:half=0.01,floor=0.2,late=0.3");
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Defaults {
    /// `boundary` takes its reach from a share of the pool, and a cold start is random.
    #[serde(rename = "0.1")]
    V0_1,
    /// `boundary` takes its reach from half of the probability, and a cold start covers the pool.
    #[default]
    #[serde(rename = "0.2")]
    V0_2,
}

impl Defaults {
    /// Returns the version of ledgers that do not state one.
    fn of_old_ledgers() -> Self {
        Self::V0_1
    }

    /// Returns the name of a rule in a pool with the default numbers.
    pub fn complete(self, name: &str, labels: Labels) -> String {
        match (self, name, name.strip_prefix("boundary:floor=")) {
            (Self::V0_1, "boundary" | "margin", _) if labels != Labels::Numbers => {
                "boundary:share=0.01,floor=0.1".to_owned()
            }
            (Self::V0_1, _, Some(floor)) => format!("boundary:share=0.01,floor={floor}"),
            _ => rule::in_pool(name, labels),
        }
    }
}

/// The observations that advance momentum.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockSetting {
    /// Queried observations
    Query,
    /// All observations
    Raw,
}

impl Default for LearnerSettings {
    fn default() -> Self {
        Self {
            loss: None,
            rule: None,
            step: StepName::Auto.into(),
            distance: None,
            gradient: None,
            horizon: None,
            rate: None,
            momentum: Momentum::None.into(),
            clock: ClockSetting::Query,
            l2: None,
            radius: None,
            no_intercept: false,
            start: None,
            importance: false,
            warm_rule: None,
            warm_labels: None,
            cold_start: None,
            start_with: None,
            start_like: vec![],
            precision: None,
            seed: 0,
            defaults: Defaults::default(),
        }
    }
}

impl LearnerSettings {
    /// Returns a flag that was set and that only gradient steps use, if any.
    pub fn of_steps(&self) -> Option<&'static str> {
        let given = [
            ("--step", *self.step != StepName::Auto),
            ("--distance", self.distance.is_some()),
            ("--gradient", self.gradient.is_some()),
            ("--horizon", self.horizon.is_some()),
            ("--rate", self.rate.is_some()),
            ("--momentum", *self.momentum != Momentum::None),
            ("--clock", self.clock != ClockSetting::Query),
            ("--radius", self.radius.is_some()),
            ("--start", self.start.is_some()),
            ("--importance", self.importance),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    /// Returns the draws of a cold start. By default they cover the pool, unless the rule draws uniformly.
    pub fn cold_draws(&self) -> ColdDraws {
        let is_uniform = self.rule.as_deref().is_some_and(|rule| rule.starts_with("constant"));
        match (&self.cold_start, self.defaults) {
            (Some(draws), _) => **draws,
            (None, Defaults::V0_1) => ColdDraws::Random,
            (None, Defaults::V0_2) if is_uniform => ColdDraws::Random,
            (None, Defaults::V0_2) => ColdDraws::Coverage,
        }
    }

    /// Returns the class whose F1 is to be precise, for these names of classes; `None` for accuracy.
    pub fn precision_class(&self, labels: Labels, classes: &[String]) -> Result<Option<usize>> {
        let goal = self.precision.as_ref().map(|precision| precision.goal(labels, classes)).transpose()?;
        Ok(if let Some(PrecisionGoal::F1(class)) = goal { Some(class) } else { None })
    }

    /// Takes the defaults of the run to continue. Its cold start, the first rows of that, and its precision are taken
    /// unless others are set. An equal precision keeps its number of labels.
    pub fn continue_from(&mut self, before: &Self) {
        self.defaults = before.defaults;
        if self.cold_start.is_none() || self.cold_draws() == before.cold_draws() {
            self.cold_start.clone_from(&before.cold_start);
        }
        if self.start_with.is_none() {
            self.start_with.clone_from(&before.start_with);
        }
        if self.start_like.is_empty() {
            self.start_like.clone_from(&before.start_like);
        }
        let goal = |precision: &PrecisionSetting| (precision.class.clone(), precision.half_width);
        if let Some(before) = &before.precision
            && self.precision.as_ref().is_none_or(|now| goal(now) == goal(before))
        {
            self.precision = Some(before.clone());
        }
    }

    /// Returns the settings as JSON, in the form in which runs are compared: with the draws of the cold start, and with
    /// the precision as users write it.
    pub(crate) fn to_compared(&self) -> Result<Value> {
        let mut all = serde_json::to_value(self)?;
        all["cold_start"] = self.cold_draws().to_string().into();
        if let Some(precision) = &self.precision {
            all["precision"] = PrecisionSetting { labels: None, ..(**precision).clone() }.to_string().into();
        }
        Ok(all)
    }

    /// Describes the settings that are not defaults, and always the step.
    pub fn describe(&self) -> String {
        let mut parts = vec![format!("step {}", self.step)];
        if *self.momentum != Momentum::None {
            let clock = if self.clock == ClockSetting::Raw { " on the raw clock" } else { "" };
            parts.push(format!("momentum {}{clock}", self.momentum));
        }
        parts.extend(self.l2.map(|l2| format!("l2 {l2}")));
        parts.extend(self.radius.map(|radius| format!("radius {radius}")));
        parts.extend(self.importance.then(|| "weights 1/U".to_owned()));
        if let (Some(rule), Some(labels)) = (&self.warm_rule, self.warm_labels) {
            parts.push(format!("{labels} labels by {rule} first"));
        }
        parts.join(", ")
    }

    /// Rejects numbers that no run can have.
    pub fn check(&self) -> Result<()> {
        let positive = [
            ("distance", self.distance),
            ("gradient", self.gradient),
            ("horizon", self.horizon),
            ("radius", self.radius),
        ];
        for (name, value) in positive {
            if let Some(value) = value.filter(|value| !(0.0 < *value && value.is_finite())) {
                bail!("{name} = {value}, need a finite number > 0");
            }
        }
        if let Some(rate) = self.rate.filter(|rate| !(0.0 < *rate && *rate <= 1.0)) {
            bail!("rate = {rate}, need 0 < rate <= 1");
        }
        if let Some(l2) = self.l2.filter(|l2| !(0.0 < *l2 && l2.is_finite())) {
            bail!("l2 = {l2}, need a finite number > 0, or 0 for the default");
        }
        if let Some(name) = self.loss.as_deref().filter(|name| *name != "cross-entropy") {
            querist_theory::loss::parse(name)?;
        }
        step::check(self)?;
        if let Some(bad) = self.start.iter().flatten().find(|value| !value.is_finite()) {
            bail!("start has {bad}, need finite numbers");
        }
        Ok(())
    }
}

/// The format of λ in ledgers, where 0 is the default.
mod stored_l2 {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
    pub(super) fn serialize<S: Serializer>(l2: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        l2.unwrap_or(0.0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(Some(f64::deserialize(deserializer)?).filter(|l2| *l2 != 0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_continues_with_its_cold_start() {
        let with = |cold_start: Option<ColdDraws>, defaults: Defaults| LearnerSettings {
            cold_start: cold_start.map(Written::from),
            defaults,
            ..LearnerSettings::default()
        };
        for (before, given, draws) in [
            (with(None, Defaults::V0_1), None, ColdDraws::Random),
            (with(None, Defaults::V0_1), Some(ColdDraws::Random), ColdDraws::Random),
            (with(None, Defaults::V0_2), None, ColdDraws::Coverage),
            (with(Some(ColdDraws::Random), Defaults::V0_2), None, ColdDraws::Random),
            (with(None, Defaults::V0_2), Some(ColdDraws::Coverage), ColdDraws::Coverage),
            // A run with another cold start is another run, which the comparison of settings rejects.
            (with(None, Defaults::V0_2), Some(ColdDraws::Random), ColdDraws::Random),
        ] {
            let mut settings = with(given, Defaults::default());
            settings.continue_from(&before);
            assert_eq!((settings.cold_draws(), settings.defaults), (draws, before.defaults));
            let text = |settings: &LearnerSettings| serde_json::to_string(settings).unwrap();
            assert_eq!(text(&settings) == text(&before), draws == before.cold_draws());
        }
        let uniform = LearnerSettings { rule: Some("constant".to_owned()), ..LearnerSettings::default() };
        assert_eq!(uniform.cold_draws(), ColdDraws::Random);
    }

    #[test]
    fn a_run_continues_with_its_first_rows() {
        let with = |words: Option<&str>, examples: &[&str]| LearnerSettings {
            start_with: words.map(|words| words.parse().unwrap()),
            start_like: examples.iter().map(|example| (*example).to_owned()).collect(),
            ..LearnerSettings::default()
        };
        let text = |settings: &LearnerSettings| serde_json::to_string(settings).unwrap();
        let before = with(Some("free,/x"), &["a prize"]);
        for (stated, is_same) in [
            (with(None, &[]), true),
            (with(Some("free,/x"), &[]), true),
            (with(None, &["a prize"]), true),
            (with(Some("free"), &[]), false),
            (with(None, &["prize"]), false),
        ] {
            let mut settings = stated;
            settings.continue_from(&before);
            assert_eq!(text(&settings) == text(&before), is_same);
        }
        assert!(!text(&LearnerSettings::default()).contains("start_"), "headers without first rows keep their bytes");
    }

    #[test]
    fn a_run_continues_with_its_precision() {
        let with = |precision: Option<&str>| LearnerSettings {
            precision: precision.map(|precision| precision.parse().unwrap()),
            ..LearnerSettings::default()
        };
        for (before, stated, kept) in [
            (Some("0.05,labels=300"), None, Some("0.05,labels=300")),
            (Some("0.05,labels=300"), Some("0.05,labels=400"), Some("0.05,labels=300")),
            (Some("f1:a=0.05"), None, Some("f1:a=0.05")),
            // Others are other runs, which the comparison of settings rejects.
            (Some("0.05"), Some("0.1"), Some("0.1")),
            (Some("f1:a=0.05"), Some("f1:b=0.05"), Some("f1:b=0.05")),
            (None, Some("0.1"), Some("0.1")),
            (None, None, None),
        ] {
            let mut settings = with(stated);
            settings.continue_from(&with(before));
            let precision = settings.precision.as_ref().map(ToString::to_string);
            assert_eq!(precision.as_deref(), kept);
            let compared = |settings: &LearnerSettings| settings.to_compared().unwrap()["precision"].clone();
            assert_eq!(compared(&settings), compared(&with(kept)));
        }
        assert_eq!(with(Some("0.05,labels=300")).to_compared().unwrap()["precision"], "0.05");
    }

    #[test]
    fn settings_keep_the_text_of_ledgers() {
        let default = serde_json::to_string(&LearnerSettings::default()).unwrap();
        assert!(default.contains(r#""step":"auto""#) && default.contains(r#""momentum":"none""#), "{default}");
        assert!(default.contains(r#""l2":0.0"#), "{default}");
        let text = default.replace(r#""auto""#, r#""fixed:eta=1e-1""#).replace(r#""l2":0.0"#, r#""l2":0.5"#);
        let settings: LearnerSettings = serde_json::from_str(&text).unwrap();
        assert_eq!((*settings.step, settings.l2), (StepName::Fixed(0.1), Some(0.5)));
        assert_eq!(serde_json::to_string(&settings).unwrap(), text);
        assert!(serde_json::from_str::<LearnerSettings>(&default.replace(r#""none""#, r#""some""#)).is_err());
    }
}
