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
}

/// Data that somebody declared to be public: measuring on it costs nothing, if the declaration is true.
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
        Self { name: name.into(), value: finite(value), scale: Scale::Number, better }
    }

    /// A part of a whole, of which more is better: an accuracy.
    pub fn share(name: impl Into<String>, value: f64) -> Self {
        Self { scale: Scale::Share, ..Self::new(name, value, Better::Higher) }
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
