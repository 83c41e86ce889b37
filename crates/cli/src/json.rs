//! The objects that `--json` prints. Field names are those of the file formats and of the library.

use serde::Serialize;
use sordino::prelude::*;

use crate::error::Error;

/// The version of the objects below. It grows when a field changes its meaning, not when a field is
/// added.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// The first fields of every object: the program's version and the format's.
#[derive(Debug, Serialize)]
pub(crate) struct Writer {
    sordino: &'static str,
    format_version: u32,
}

impl Writer {
    pub(crate) fn this() -> Self {
        Self { sordino: env!("CARGO_PKG_VERSION"), format_version: FORMAT_VERSION }
    }
}

/// A number that the user gave, or the interval that answers.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Quantity {
    Given(f64),
    Answer(Bound),
}

/// `sordino account --json`.
#[derive(Debug, Serialize)]
pub(crate) struct AccountObject<'a> {
    #[serde(flatten)]
    pub(crate) writer: Writer,
    pub(crate) neighbours: Neighbours,
    pub(crate) delta: Quantity,
    pub(crate) epsilon: Quantity,
    pub(crate) accountant: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compare: Option<Vec<ComparedObject<'a>>>,
    pub(crate) event: &'a Event,
}

/// One line of `--compare`: an answer, or the reason why there is none.
#[derive(Debug, Serialize)]
pub(crate) struct ComparedObject<'a> {
    pub(crate) accountant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) epsilon: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<Bound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}

/// `sordino calibrate --json`.
#[derive(Debug, Serialize)]
pub(crate) struct CalibrateObject<'a> {
    #[serde(flatten)]
    pub(crate) writer: Writer,
    /// Which of the next three was computed; the others were given.
    pub(crate) solved: &'a str,
    pub(crate) noise_multiplier: f64,
    pub(crate) sampling_rate: f64,
    pub(crate) steps: u64,
    pub(crate) target_epsilon: f64,
    pub(crate) epsilon: Bound,
    pub(crate) delta: f64,
    pub(crate) neighbours: Neighbours,
    pub(crate) accountant: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'a str>,
}

/// `sordino calibrate --parts --json`, and with `--split`.
#[derive(Debug, Serialize)]
pub(crate) struct SplitObject<'a> {
    #[serde(flatten)]
    pub(crate) writer: Writer,
    pub(crate) solved: &'a str,
    /// What each part may spend, as pure privacy.
    pub(crate) parts: &'a [Epsilon],
    pub(crate) target_epsilon: f64,
    pub(crate) epsilon: Bound,
    pub(crate) delta: f64,
    pub(crate) neighbours: Neighbours,
    pub(crate) accountant: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<&'a str>,
}

/// One object on one line.
pub(crate) fn text(object: &impl Serialize) -> Result<String, Error> {
    let mut text = serde_json::to_string(object).map_err(|error| Error::Write { source: error.into() })?;
    text.push('\n');
    Ok(text)
}
