//! Everything that a report states about one release, in a single value that is written to JSON and
//! read back.
//!
//! # What it may hold
//! Public facts only. Names and settings are the operator's own words; ε, δ and the event depend on
//! public numbers; scores and curves can only be written beside a [`PublicData`], which somebody
//! declared to be public; the number of records is a [`PublicRows`], which exists only under a
//! relation that does not hide it. There is no field for a record, a gradient, a norm, or a loss on
//! private data.
//!
//! # Pitfalls
//! A test set that was cut from the private table is private: its accuracy is one more release, and
//! declaring the set public does not make it so. A [finding](crate::Report::findings) repeats that
//! in every report with scores.

mod evaluation;
mod provenance;
mod setting;
mod source;
mod version;

use serde::{Deserialize, Serialize};
use sordino_privacy::{Delta, Epsilon, Statement};

pub use self::evaluation::{
    Better, Bin, Calibration, Confusion, Curve, DecisionRule, Evaluation, GroupScores, Groups, Interval,
    Point, PublicData, Scale, Score,
};
pub use self::provenance::{DeclaredColumns, Provenance, ReleasedFile};
pub use self::setting::{Setting, SettingValue};
pub(crate) use self::source::hides_size;
pub use self::source::{BoundsOrigin, DataFacts, PrivateSize, PublicRows};
use self::version::Version;

/// One release, with all that a report states about it.
///
/// [`RunFacts::new`] takes what every release has; the other fields are optional.
///
/// ```
/// use sordino_report::{BoundsOrigin, DataFacts, MethodFacts, Released, Report, RunFacts, Task};
/// let guarantee: sordino_privacy::Statement = serde_json::from_str(
///     r#"{"neighbours":"zero_out","unit":"record","epsilon":{"lower":1.0,"upper":1.0},"delta":0.0,
///     "accountant":"pure","event":{"type":"pure","epsilon":1.0},
///     "arithmetic":0.0,"seeded":false,"metered":false}"#,
/// )?;
/// let run = RunFacts::new(
///     Released {
///         model: "logistic regression".into(),
///         task: Task::Classification,
///         target: Some("smoker".into()),
///         weights: 31,
///     },
///     DataFacts {
///         data: "patients.csv".into(),
///         identity: None,
///         rows: None,
///         features: Some(30),
///         max_records: None,
///         bounds: BoundsOrigin::Declared,
///     },
///     MethodFacts {
///         name: "output perturbation".into(),
///         settings: vec![("regularisation", 0.01).into()],
///     },
///     guarantee,
/// );
/// let report = Report::of(&run);
/// assert!(report.html().starts_with("<!doctype html>") && report.markdown().starts_with("# "));
/// assert_eq!(report.findings()[0].code.name(), "unmetered");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunFacts {
    /// The version of the program that wrote it.
    pub sordino: String,
    format_version: Version,
    /// The released model.
    pub released: Released,
    /// The data from which it was made.
    pub source: DataFacts,
    /// The method by which it was made.
    pub method: MethodFacts,
    /// The promise: relation, unit, ε, δ, event, and whether the run was seeded and metered.
    pub guarantee: Statement,
    /// The requested ε and δ, if noise was calibrated to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<Requested>,
    /// The budget before and after, if a ledger paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetUse>,
    /// Scores and curves on public data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// How the settings were chosen.
    #[serde(default)]
    pub tuning: Tuning,
    /// Inputs that are assumed to be public although they came from people: initial weights, a
    /// feature map, a vocabulary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public_assumptions: Vec<String>,
    /// Who released what, when and by which charges, for the person who signs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// When the run ended, in any form (RFC 3339 is a good one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// The effective configuration, defaults included, as text that can be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The layers of a network, as text that can be trained again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Further notes for the reader, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The released model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// The kind of model, such as `logistic regression`.
    pub model: String,
    /// Its task.
    pub task: Task,
    /// The column that it predicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The number of learned weights.
    pub weights: u64,
}

/// The task of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Task {
    /// It predicts a class.
    Classification,
    /// It predicts a number.
    Regression,
}

impl Task {
    /// Its name in JSON and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classification => "classification",
            Self::Regression => "regression",
        }
    }
}

/// The method by which a model was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodFacts {
    /// Its name, such as `DP-SGD`.
    pub name: String,
    /// Its public settings, in the order in which they are shown. Names are those of the
    /// configuration: `clip_norm`, `noise_multiplier`, `sampling_rate`, `divisor`.
    pub settings: Vec<Setting>,
}

/// The requested privacy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// ε.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
}

/// The payer's budget before and after the run: that of the data set, or an analyst's grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The ledger.
    pub ledger: String,
    /// The data set's name in it.
    pub data_set: String,
    /// ε of the whole budget or grant.
    pub epsilon: Epsilon,
    /// δ of the whole budget or grant.
    pub delta: Delta,
    /// What was spent before the run.
    pub spent_before: Epsilon,
    /// What is spent with the run.
    pub spent_after: Epsilon,
    /// The data set's whole budget, if the numbers above are those of an analyst's grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<WholeBudget>,
}

/// The budget of a data set, for all analysts together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WholeBudget {
    /// ε.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: Delta,
}

impl BudgetUse {
    /// What is left after the run.
    pub fn left(&self) -> f64 {
        (self.epsilon.get() - self.spent_after.get()).max(0.0)
    }

    /// The promise that covers all releases from the data set together.
    pub fn promised(&self) -> WholeBudget {
        self.whole.unwrap_or(WholeBudget { epsilon: self.epsilon, delta: self.delta })
    }
}

/// How the settings of a run were chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuning {
    /// The user did not say.
    #[default]
    NotStated,
    /// Without looking at the private data: defaults, a rule, or public data.
    WithoutData,
    /// By runs on the private data whose cost is in the event, or was charged to the same budget.
    Booked,
    /// By runs on the private data that nobody paid for.
    NotBooked,
}

impl RunFacts {
    /// The version of the JSON form that this program writes, and the newest that it reads.
    pub const FORMAT_VERSION: u64 = Version::CURRENT;

    /// The facts that every release has; the others are empty.
    pub fn new(
        released: Released,
        source: DataFacts,
        method: MethodFacts,
        guarantee: impl Into<Statement>,
    ) -> Self {
        Self {
            sordino: env!("CARGO_PKG_VERSION").to_owned(),
            format_version: Version,
            released,
            source,
            method,
            guarantee: guarantee.into(),
            requested: None,
            budget: None,
            evaluation: None,
            tuning: Tuning::default(),
            public_assumptions: Vec::new(),
            provenance: None,
            finished: None,
            configuration: None,
            network: None,
            notes: Vec::new(),
        }
    }

    /// The value of a setting of the method.
    pub(crate) fn setting(&self, name: &str) -> Option<&SettingValue> {
        self.method.settings.iter().find(|setting| setting.name == name).map(|setting| &setting.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_run_survives_json() {
        for run in [sample::logistic(), sample::bare(), sample::unbounded()] {
            let json = serde_json::to_string(&run).unwrap();
            assert_eq!(serde_json::from_str::<RunFacts>(&json).unwrap(), run, "{json}");
        }
    }

    #[test]
    fn a_newer_run_is_refused() {
        let mut json = serde_json::to_value(sample::bare()).unwrap();
        assert_eq!(json["format_version"], 1);
        json["format_version"] = 2.into();
        let error = serde_json::from_value::<RunFacts>(json).unwrap_err().to_string();
        assert!(
            error.contains("format_version must be 1, got 2; it was written by a newer program"),
            "{error}"
        );
    }

    /// A diverged run has no finite loss; programs must still be able to read its report.
    #[test]
    fn a_score_that_is_not_finite_is_null() {
        let score = Score::new("loss", f64::NAN, Better::Lower);
        let json = serde_json::to_string(&score).unwrap();
        assert!(json.contains(r#""value":null"#), "{json}");
        assert_eq!(serde_json::from_str::<Score>(&json).unwrap(), score);
    }
}
