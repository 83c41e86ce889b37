//! How good a model is, on public data.

use serde::{Deserialize, Serialize};

/// What was measured on public data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The public data.
    pub data: PublicData,
    /// The scores of the released model.
    pub scores: Vec<Score>,
    /// Scores during training.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// How often each class was predicted for each true class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// Stated probabilities against observed frequencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The threshold that turns a probability into a class, if one was declared before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<DecisionRule>,
    /// The same scores by the values of a column of the public data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// What a reader of the scores should know first, such as that a constant is as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What the curves show, if not the released model itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curves_of: Option<String>,
}

impl Evaluation {
    /// Scores on `data`, and nothing else yet.
    pub fn new(data: PublicData, scores: Vec<Score>) -> Self {
        Self {
            data,
            scores,
            curves: Vec::new(),
            confusion: None,
            calibration: None,
            threshold: None,
            groups: None,
            remark: None,
            curves_of: None,
        }
    }
}

/// Data that somebody declared to be public. Measuring on it costs nothing, if the declaration is
/// true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicData {
    declared_public: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

impl PublicData {
    /// Data of this name, which the owner declares to be public. A part of the private table is
    /// not.
    pub fn declared(name: impl Into<String>, rows: Option<u64>) -> Self {
        Self { declared_public: name.into(), rows }
    }

    /// The name of the data.
    pub fn name(&self) -> &str {
        &self.declared_public
    }

    /// The number of records.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }
}

/// One score of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its name, such as `accuracy`.
    pub name: String,
    /// The score; `None` if it is not finite because the run diverged.
    pub value: Option<f64>,
    /// How it is written.
    #[serde(default)]
    pub scale: Scale,
    /// Which direction is better; the score is rounded towards worse.
    pub better: Better,
    /// The score of the best constant prediction. The constant is chosen on the public data, so it
    /// is hard to beat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// A 95 % confidence interval for the score on many more records like these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A 95 % confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
    /// How it was computed, such as `Wilson`.
    pub method: String,
}

/// A confusion matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The classes, in the order of the schema.
    pub classes: Vec<String>,
    /// One row for each true class: for how many of its records each class was predicted.
    pub counts: Vec<Vec<u64>>,
}

/// Stated probabilities against observed frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The name of the probability, in words.
    pub of: String,
    /// The expected calibration error: the mean difference between both, weighted by records.
    pub error: f64,
    /// Bins of equal width from 0 to 1, declared before anything was measured.
    pub bins: Vec<Bin>,
}

/// Records whose stated probability lies in one bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The lower end of the bin, included.
    pub from: f64,
    /// The upper end, included in the last bin only.
    pub to: f64,
    /// The number of records.
    pub records: u64,
    /// The mean stated probability; `None` without records.
    pub stated: Option<f64>,
    /// The observed frequency; `None` without records.
    pub observed: Option<f64>,
    /// The confidence interval of `observed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A threshold: the class is predicted if its probability is at least this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRule {
    /// The class.
    pub class: String,
    /// Its least probability.
    pub probability: f64,
}

/// Scores by the values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// The column.
    pub column: String,
    /// One entry for each value that occurs.
    pub groups: Vec<GroupScores>,
    /// Records without a value, which are in no group.
    pub others: u64,
}

/// Scores of the records with one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupScores {
    /// The value.
    pub value: String,
    /// The number of records with it.
    pub records: u64,
    /// Whether there are too few records for a reliable score.
    pub few: bool,
    /// The scores of these records; the constant is the best one for them.
    pub scores: Vec<Score>,
}

/// A score, measured during training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Its name, such as `loss`.
    pub name: String,
    /// How it is written.
    #[serde(default)]
    pub scale: Scale,
    /// Which direction is better.
    pub better: Better,
    /// The measurements, by step.
    pub points: Vec<Point>,
}

/// One point of a curve; in JSON a pair `[step, value]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u64, Option<f64>)", into = "(u64, Option<f64>)")]
pub struct Point {
    /// The number of steps done.
    pub step: u64,
    /// The score; `None` if it is not finite.
    pub value: Option<f64>,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As a plain number.
    #[default]
    Number,
    /// As a share of a whole, in per cent.
    Share,
}

/// Which direction of a score is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: accuracy.
    Higher,
    /// Less is better: loss, error.
    Lower,
}

impl Score {
    /// A score that is a plain number.
    pub fn new(name: impl Into<String>, value: f64, better: Better) -> Self {
        let (scale, constant, interval) = (Scale::Number, None, None);
        Self { name: name.into(), value: finite(value), scale, better, constant, interval }
    }

    /// A score that is a share, of which more is better, such as an accuracy.
    pub fn share(name: impl Into<String>, value: f64) -> Self {
        Self { scale: Scale::Share, ..Self::new(name, value, Better::Higher) }
    }

    /// The same score, beside that of the best constant.
    pub fn against(mut self, constant: f64) -> Self {
        self.constant = finite(constant);
        self
    }

    /// The same score with its interval, if that is finite.
    pub fn within(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval.filter(|interval| interval.lower.is_finite() && interval.upper.is_finite());
        self
    }

    /// Whether it is better than the constant; `None` if one of the two is missing.
    pub fn beats_constant(&self) -> Option<bool> {
        let (value, constant) = (self.value?, self.constant?);
        Some(match self.better {
            Better::Higher => value > constant,
            Better::Lower => value < constant,
        })
    }

    /// Whether the constant's score lies within the interval, so that chance alone may explain the
    /// difference.
    pub fn may_be_chance(&self) -> bool {
        let within =
            |(interval, constant): (&Interval, f64)| interval.lower <= constant && constant <= interval.upper;
        self.interval.as_ref().zip(self.constant).is_some_and(within)
    }
}

impl Curve {
    /// A curve without points; add them during training.
    pub fn new(name: impl Into<String>, scale: Scale, better: Better) -> Self {
        Self { name: name.into(), scale, better, points: Vec::new() }
    }

    /// Adds a measurement.
    pub fn push(&mut self, step: u64, value: f64) {
        self.points.push(Point { step, value: finite(value) });
    }
}

impl From<(u64, Option<f64>)> for Point {
    fn from((step, value): (u64, Option<f64>)) -> Self {
        Self { step, value }
    }
}

impl From<Point> for (u64, Option<f64>) {
    fn from(Point { step, value }: Point) -> Self {
        (step, value)
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
