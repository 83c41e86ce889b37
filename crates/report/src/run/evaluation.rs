//! How good a model is, on public data.

use serde::{Deserialize, Serialize};

/// What was measured on data that may be looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The data.
    pub data: PublicData,
    /// At the end.
    pub scores: Vec<Score>,
    /// On the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Which predictions were counted wrong, and for what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// Whether stated probabilities come true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// The rule that makes a class of a probability, if one was declared before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<DecisionRule>,
    /// The same scores by a column of the public data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// What a reader of the scores should know first, such as that a constant is as good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What the curves are of, if not of the released model itself.
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

/// Data that somebody declared to be public: measuring on it costs
/// nothing, if the declaration is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicData {
    declared_public: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

impl PublicData {
    /// The name of data that their owner declares to be public. A part of the private table is not.
    pub fn declared(name: impl Into<String>, rows: Option<u64>) -> Self {
        Self { declared_public: name.into(), rows }
    }

    /// Their name.
    pub fn name(&self) -> &str {
        &self.declared_public
    }

    /// How many records they have.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }
}

/// One number at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// What it is, such as `accuracy`.
    pub name: String,
    /// None if it is not a finite number: the run diverged.
    pub value: Option<f64>,
    /// How it is written.
    #[serde(default)]
    pub scale: Scale,
    /// Which way is up; it is rounded the other way.
    pub better: Better,
    /// What the best constant prediction has. It is chosen with the public
    /// data in hand, so it is hard to beat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<f64>,
    /// Where the score on many more records like these would lie, in 95 of 100 such test sets.
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

/// How often each class was taken for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The classes, in the order of the schema.
    pub classes: Vec<String>,
    /// One row for each true class: how many of its records were predicted to be of each class.
    pub counts: Vec<Vec<u64>>,
}

/// Stated probabilities against what is true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Which probability, in words.
    pub of: String,
    /// Expected calibration error: the mean difference between both, weighted by records.
    pub error: f64,
    /// Bins of equal width from 0 to 1, declared before anything was measured.
    pub bins: Vec<Bin>,
}

/// Records whose stated probability lies in one bin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// The lower end of the bin; included.
    pub from: f64,
    /// The upper end; included in the last bin only.
    pub to: f64,
    /// How many records there are.
    pub records: u64,
    /// The mean of what was stated; none without records.
    pub stated: Option<f64>,
    /// The share in which it was true.
    pub observed: Option<f64>,
    /// Around `observed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// A class is predicted from this probability on.
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
    /// One for each of its values that occurs.
    pub groups: Vec<GroupScores>,
    /// Records without a value, which are in no group.
    pub others: u64,
}

/// Scores of the records with one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupScores {
    /// The value.
    pub value: String,
    /// How many records have it.
    pub records: u64,
    /// Whether they are too few to say much.
    pub few: bool,
    /// Their scores; the constant is the best one for these records.
    pub scores: Vec<Score>,
}

/// The same number, measured on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What it is, such as `loss`.
    pub name: String,
    /// How it is written.
    #[serde(default)]
    pub scale: Scale,
    /// Which way is up.
    pub better: Better,
    /// By step.
    pub points: Vec<Point>,
}

/// One point of a curve; in JSON a pair `[step, value]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u64, Option<f64>)", into = "(u64, Option<f64>)")]
pub struct Point {
    /// Steps done.
    pub step: u64,
    /// None if it is not a finite number.
    pub value: Option<f64>,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As it is.
    #[default]
    Number,
    /// A part of a whole, shown in per cent.
    Share,
}

/// Which way is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better: accuracy.
    Higher,
    /// Less is better: loss, error.
    Lower,
}

impl Score {
    /// A number as it is.
    pub fn new(name: impl Into<String>, value: f64, better: Better) -> Self {
        let (scale, constant, interval) = (Scale::Number, None, None);
        Self { name: name.into(), value: finite(value), scale, better, constant, interval }
    }

    /// A part of a whole, of which more is better: an accuracy.
    pub fn share(name: impl Into<String>, value: f64) -> Self {
        Self { scale: Scale::Share, ..Self::new(name, value, Better::Higher) }
    }

    /// Beside what the best constant has.
    pub fn against(mut self, constant: f64) -> Self {
        self.constant = finite(constant);
        self
    }

    /// With its interval, if that could be computed.
    pub fn within(mut self, interval: Option<Interval>) -> Self {
        self.interval = interval.filter(|interval| interval.lower.is_finite() && interval.upper.is_finite());
        self
    }

    /// Whether it is better than the constant; none if there is nothing to compare.
    pub fn beats_constant(&self) -> Option<bool> {
        let (value, constant) = (self.value?, self.constant?);
        Some(match self.better {
            Better::Higher => value > constant,
            Better::Lower => value < constant,
        })
    }

    /// Whether a constant lies within its interval, so that chance alone
    /// may explain the difference.
    pub fn may_be_chance(&self) -> bool {
        let within =
            |(interval, constant): (&Interval, f64)| interval.lower <= constant && constant <= interval.upper;
        self.interval.as_ref().zip(self.constant).is_some_and(within)
    }
}

impl Curve {
    /// A curve without points, to be pushed to while training goes on.
    pub fn new(name: impl Into<String>, scale: Scale, better: Better) -> Self {
        Self { name: name.into(), scale, better, points: Vec::new() }
    }

    /// One more measurement.
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
