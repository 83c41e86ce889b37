//! A trained model of any kind.

use sordino_data::{Encoded, Encoding};
use sordino_learn::{LinearModel, Loss};
use sordino_nn::{FitError, NetworkModel, NetworkPrediction};

use super::{MODEL, NETWORK, weights};
use crate::error::RunError;

/// A trained model.
#[derive(Clone, Debug)]
pub enum Model {
    /// A linear one.
    Linear(LinearModel),
    /// A network.
    Network(NetworkModel),
}

/// What a model says about one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// A class by its number, or an encoded number.
    pub value: f64,
    /// The probability of each class, if it was asked for and the model has it.
    pub probabilities: Option<Vec<f64>>,
}

impl Model {
    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        match self {
            Self::Linear(model) => model.encoding(),
            Self::Network(model) => model.encoding(),
        }
    }

    /// Whether it predicts classes, and not numbers.
    pub fn is_classification(&self) -> bool {
        self.encoding().classes().is_some()
    }

    /// What it was trained to minimise.
    pub fn loss_name(&self) -> &'static str {
        match self {
            Self::Linear(model) => model.loss().name(),
            Self::Network(model) => network_loss(model.loss()),
        }
    }

    /// What people call it.
    pub fn kind(&self) -> String {
        match self {
            Self::Linear(model) => linear_kind(model.loss()).to_owned(),
            Self::Network(model) => model.kind(),
        }
    }

    /// How many numbers were learned.
    pub fn weights(&self) -> u64 {
        match self {
            Self::Linear(model) => model.weights().map(|row| row.len() as u64).sum(),
            Self::Network(model) => model.weights(),
        }
    }

    /// Whether it says how likely each class is.
    pub fn has_probabilities(&self) -> bool {
        match self {
            Self::Linear(model) => model.probabilities(&vec![0.0; model.encoding().width()]).is_some(),
            Self::Network(_) => self.is_classification(),
        }
    }

    /// One prediction for each slot; `None` for an empty slot.
    pub fn predictions(&self, data: &Encoded, proba: bool) -> Result<Vec<Option<Prediction>>, RunError> {
        match self {
            Self::Linear(model) => {
                let predict = |row| Prediction {
                    value: model.predict(row),
                    probabilities: proba.then(|| model.probabilities(row)).flatten(),
                };
                Ok((0..data.slots()).map(|slot| data.row(slot).map(predict)).collect())
            }
            Self::Network(model) => {
                let said = model.predictions(data, proba).map_err(FitError::from)?;
                let each = |NetworkPrediction { value, probabilities }| Prediction { value, probabilities };
                Ok(said.into_iter().map(|said| said.map(each)).collect())
            }
        }
    }

    /// The score on public records: accuracy for classes, root mean squared error in the target's own unit
    /// for numbers.
    pub fn score(&self, data: &Encoded) -> Result<f64, RunError> {
        let predictions = self.predictions(data, false)?;
        let each =
            predictions.iter().enumerate().filter_map(|(slot, said)| Some((slot, said.as_ref()?.value)));
        let targets = each.map(|(slot, said)| (said, f64::from(data.target(slot))));
        let decode = |value: f64| self.encoding().decode_target(value);
        let is_classification = self.is_classification();
        let points = targets.map(|(said, is)| match is_classification {
            true => f64::from(u8::from(said == is)),
            false => (decode(said) - decode(is)).powi(2),
        });
        let (sum, count) = points.fold((0.0, 0.0), |(sum, count), point| (sum + point, count + 1.0));
        let mean = sum / f64::max(count, 1.0);
        Ok(if is_classification { mean } else { mean.sqrt() })
    }

    /// The name of what [`score`](Self::score) returns.
    pub fn score_name(&self) -> &'static str {
        if self.is_classification() { "accuracy" } else { "root mean squared error" }
    }

    /// Its files in the model's directory, beside the encoding.
    pub(super) fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
        match self {
            Self::Linear(model) => Ok(vec![(MODEL, weights::bytes(model)?)]),
            Self::Network(model) => {
                let unwritable = |reason: String| RunError::Unwritable { reason };
                let weights = model.to_safetensors().map_err(|error| unwritable(error.to_string()))?;
                let description = model.description().map_err(|error| unwritable(error.to_string()))?;
                Ok(vec![(MODEL, weights), (NETWORK, description.into_bytes())])
            }
        }
    }
}

/// The name of a network's loss.
pub(crate) fn network_loss(loss: sordino_nn::Loss) -> &'static str {
    match loss {
        sordino_nn::Loss::CrossEntropy => "cross entropy",
        sordino_nn::Loss::Squared => "squared",
    }
}

fn linear_kind(loss: Loss) -> &'static str {
    match loss {
        Loss::Logistic => "logistic regression",
        Loss::SmoothHinge { .. } => "linear classifier with a smooth hinge loss",
        Loss::Squared => "linear regression",
        Loss::Huber { .. } => "linear regression with a Huber loss",
        // The enum may grow; today softmax is the only loss that is left.
        Loss::Softmax { .. } | _ => "multinomial logistic regression",
    }
}
