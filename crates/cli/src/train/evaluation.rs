//! How good a model is, on records that are declared public. On any others the answer would be one more release.

use std::path::PathBuf;

use sordino::noise::danger;
use sordino_data::{Encoded, Loader, Source};
use sordino_learn::LinearModel;

use super::blueprint::Blueprint;
use crate::error::Error;

pub(crate) struct PublicTest {
    pub(crate) path: PathBuf,
    data: Encoded,
}

impl PublicTest {
    /// Reads the records that `--public-test` names, by the encoding of the run.
    pub(crate) fn open(blueprint: &Blueprint) -> Result<Option<Self>, Error> {
        let Some(path) = &blueprint.settings.public_test else { return Ok(None) };
        let source = Source::open(path, blueprint.schema.csv())?;
        let loader = Loader::new(&source, &blueprint.schema, blueprint.door());
        // Which records of a unit are kept protects nobody here: the same ones each time.
        let data = loader.encoded(&blueprint.encoding, &mut danger::seeded(0))?;
        if !data.has_target() {
            let column = blueprint.encoding.target().unwrap_or_default().to_owned();
            return Err(Error::NoPublicTarget { path: path.clone(), column });
        }
        Ok(Some(Self { path: path.clone(), data }))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.data.slots() as u64
    }

    pub(crate) fn score(&self, model: &LinearModel) -> f64 {
        score(model, &self.data)
    }
}

/// The share of right classes, or the typical error of a number in its own unit.
pub(crate) fn score(model: &LinearModel, data: &Encoded) -> f64 {
    if model.loss().is_classification() { model.accuracy(data) } else { error(model, data) }
}

/// The root of the mean squared error.
fn error(model: &LinearModel, data: &Encoded) -> f64 {
    let decode = |value: f64| model.encoding().decode_target(value);
    let residual = |slot: usize| {
        let row = data.row(slot)?;
        Some(decode(model.predict(row)) - decode(f64::from(data.target(slot))))
    };
    let squares: Vec<f64> =
        (0..data.slots()).filter_map(residual).map(|residual| residual * residual).collect();
    (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
}

/// What [`score`] is.
pub(crate) fn score_name(model: &LinearModel) -> &'static str {
    if model.loss().is_classification() { "accuracy" } else { "root mean squared error" }
}
