//! A trained model of any kind.

use sordino_data::{Encoded, Encoding};
use sordino_learn::{LinearModel, Loss};
use sordino_nn::{FitError, NetworkModel, NetworkPrediction};

use super::{Decision, MODEL, NETWORK, weights};
use crate::error::RunError;
use crate::scores::{Classified, Estimated, Outcomes};

/// A trained model.
#[derive(Clone, Debug)]
pub enum Model {
    /// A linear model.
    Linear(LinearModel),
    /// A network.
    Network(NetworkModel),
}

/// The prediction for one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The index of a class, or an encoded number.
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

    /// The name of the loss that it was trained to minimise.
    pub fn loss_name(&self) -> &'static str {
        match self {
            Self::Linear(model) => model.loss().name(),
            Self::Network(model) => network_loss(model.loss()),
        }
    }

    /// Its name for people.
    pub fn kind(&self) -> String {
        match self {
            Self::Linear(model) => linear_kind(model.loss()).to_owned(),
            Self::Network(model) => model.kind(),
        }
    }

    /// The number of learned weights.
    pub fn weights(&self) -> u64 {
        match self {
            Self::Linear(model) => model.weights().map(|row| row.len() as u64).sum(),
            Self::Network(model) => model.weights(),
        }
    }

    /// Whether it states a probability for each class.
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

    /// The scores of a linear model for each slot, before they are turned into a class; `None` for
    /// an empty slot. A network has none.
    pub fn scores(&self, data: &Encoded) -> Option<Vec<Option<Vec<f64>>>> {
        let Self::Linear(model) = self else { return None };
        Some((0..data.slots()).map(|slot| data.row(slot).map(|row| model.scores(row))).collect())
    }

    /// Predictions by a threshold, if there is one.
    pub fn decided(
        &self,
        data: &Encoded,
        proba: bool,
        decision: Option<&Decision>,
    ) -> Result<Vec<Option<Prediction>>, RunError> {
        let Some(decision) = decision else { return self.predictions(data, proba) };
        let mut predictions = self.predictions(data, true)?;
        for prediction in predictions.iter_mut().flatten() {
            decision.decide(prediction);
            prediction.probabilities = prediction.probabilities.take().filter(|_| proba);
        }
        Ok(predictions)
    }

    /// Its predictions for public records beside the true values, for every slot with a record, in
    /// order. With `in_full`, with probabilities or evidence too.
    pub fn outcomes(
        &self,
        data: &Encoded,
        decision: Option<&Decision>,
        in_full: bool,
    ) -> Result<Outcomes, RunError> {
        let predictions = self.decided(data, in_full, decision)?;
        let said = predictions.into_iter().enumerate();
        let said: Vec<(usize, Prediction)> = said.filter_map(|(slot, said)| Some((slot, said?))).collect();
        let Some(classes) = self.encoding().classes() else {
            let number = |value: f64| self.number(value);
            let is = said.iter().map(|(slot, _)| number(f64::from(data.target(*slot)))).collect();
            let said = said.iter().map(|(_, said)| number(said.value)).collect();
            return Ok(Outcomes::Numbers(Estimated { is, said }));
        };
        Ok(Outcomes::Classes(Classified {
            classes: classes.to_vec(),
            is: said.iter().map(|(slot, _)| data.class(*slot)).collect(),
            // No truncation: the value is the index of a class.
            said: said.iter().map(|(_, said)| said.value as usize).collect(),
            evidence: in_full.then(|| self.evidence(data, said.iter().map(|(slot, _)| *slot))).flatten(),
            probabilities: said.into_iter().map(|(_, said)| said.probabilities).collect(),
        }))
    }

    /// Its first score on public records: accuracy for classes, root mean squared error in
    /// the target's own unit for numbers.
    pub fn score(&self, data: &Encoded) -> Result<f64, RunError> {
        Ok(self.outcomes(data, None, false)?.headline())
    }

    /// A predicted number in the target's own unit, within the declared bounds.
    pub fn number(&self, value: f64) -> f64 {
        let number = self.encoding().decode_target(value);
        let bounds = self.encoding().target_bounds();
        bounds.map_or(number, |bounds| number.clamp(bounds.lower(), bounds.upper()))
    }

    /// The margins for and against the second of two classes, for a model that states no
    /// probabilities.
    fn evidence(&self, data: &Encoded, slots: impl Iterator<Item = usize>) -> Option<Vec<Vec<f64>>> {
        match self {
            Self::Linear(model) if !self.has_probabilities() => {
                let margin = |slot| Some(model.scores(data.row(slot)?)[0]);
                slots.map(|slot| margin(slot).map(|margin| vec![-margin, margin])).collect()
            }
            Self::Linear(_) | Self::Network(_) => None,
        }
    }

    /// The name of its first score on public records.
    pub fn score_name(&self) -> &'static str {
        if self.is_classification() { "accuracy" } else { "root mean squared error" }
    }

    /// Its files in the model's directory, beside the encoding.
    pub(crate) fn files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, RunError> {
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
pub(crate) fn network_loss(loss: sordino_nn::NetworkLoss) -> &'static str {
    match loss {
        sordino_nn::NetworkLoss::CrossEntropy => "cross entropy",
        sordino_nn::NetworkLoss::Squared => "squared",
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
