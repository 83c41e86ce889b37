//! A trained network with the encoding of its inputs.

use std::sync::Arc;

use sordino_data::{Encoded, Encoding, ROWS_PER_BLOCK};

use crate::description::{Description, DescriptionError};
use crate::error::NetworkError;
use crate::loss::NetworkLoss;
use crate::network::{Network, largest};
use crate::weights::WeightsError;

/// A network's prediction for one record.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkPrediction {
    /// A class by its number, or an encoded number.
    pub value: f64,
    /// The probability of each class, if it was asked for.
    pub probabilities: Option<Vec<f64>>,
}

/// A network with parameters, for records of one encoding.
#[derive(Clone, Debug)]
pub struct NetworkModel {
    network: Arc<Network>,
    encoding: Encoding,
    parameters: Vec<f64>,
}

impl NetworkModel {
    /// Joins parameters of this network with the encoding whose rows are its inputs. Does not check that they
    /// fit.
    pub fn new(network: Arc<Network>, encoding: Encoding, parameters: Vec<f64>) -> Self {
        Self { network, encoding, parameters }
    }

    /// Reads a model from the contents of its files. The error says what is wrong with them.
    pub fn read(description: &str, weights: &[u8], encoding: Encoding) -> Result<Self, String> {
        let description = Description::from_toml(description).map_err(|error| error.to_string())?;
        let network = description.network().map_err(|error| error.to_string())?;
        let outputs = encoding.classes().map_or(1, <[String]>::len);
        let (input, output) = (network.input().size(), network.output().size());
        if (input, output) != (encoding.width(), outputs) {
            let width = encoding.width();
            return Err(format!(
                "the network takes {input} numbers and gives {output}, and the encoding has {width} and {outputs}"
            ));
        }
        let parameters = network.read_safetensors(weights).map_err(|error| error.to_string())?;
        Ok(Self::new(Arc::new(network), encoding, parameters))
    }

    /// Parameters as safetensors, with PyTorch's names and layouts.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, WeightsError> {
        self.network.to_safetensors(&self.parameters)
    }

    /// The description of the network as TOML.
    pub fn description(&self) -> Result<String, DescriptionError> {
        Description::from(&*self.network).to_toml()
    }

    /// The parameters, layer after layer.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// How records become inputs.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// What it was trained to minimise.
    pub fn loss(&self) -> NetworkLoss {
        self.network.loss()
    }

    /// The number of parameters.
    pub fn weights(&self) -> u64 {
        self.network.parameters() as u64
    }

    /// What people call it.
    pub fn kind(&self) -> String {
        format!("neural network of {} layers", self.network.layers().len())
    }

    /// One prediction for each slot; `None` for an empty slot.
    pub fn predictions(
        &self,
        data: &Encoded,
        proba: bool,
    ) -> Result<Vec<Option<NetworkPrediction>>, NetworkError> {
        let mut predictions = Vec::with_capacity(data.slots());
        let output = self.network.output().size();
        for first in (0..data.slots()).step_by(ROWS_PER_BLOCK) {
            let slots = first..data.slots().min(first + ROWS_PER_BLOCK);
            let inputs: Vec<f32> =
                slots.clone().filter_map(|slot| data.row(slot)).flatten().copied().collect();
            let outputs = self.network.outputs(&self.parameters, &inputs)?;
            let mut each = outputs.chunks_exact(output);
            // `each` has one chunk of outputs for every slot that is not empty.
            let said =
                |slot| data.row(slot).and_then(|_| each.next()).map(|scores| self.prediction(scores, proba));
            predictions.extend(slots.map(said));
        }
        Ok(predictions)
    }

    fn prediction(&self, scores: &[f32], proba: bool) -> NetworkPrediction {
        let value = match self.loss() {
            NetworkLoss::CrossEntropy => largest(scores) as f64,
            NetworkLoss::Squared => f64::from(scores[0]),
        };
        let is_asked = proba && self.loss() == NetworkLoss::CrossEntropy;
        NetworkPrediction { value, probabilities: is_asked.then(|| softmax(scores)) }
    }
}

/// `e^s / Σ e^s`, without overflow.
fn softmax(scores: &[f32]) -> Vec<f64> {
    let most = scores.iter().fold(f32::NEG_INFINITY, |most, score| most.max(*score));
    let parts: Vec<f64> = scores.iter().map(|score| f64::from(score - most).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_and_follow_the_scores() {
        let all = softmax(&[1000.0, 1001.0, 0.0]);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((all[1] / all[0] - 1f64.exp()).abs() < 1e-9 && all[2] == 0.0);
        assert_eq!((largest(&[0.0, 2.0, 2.0]), largest(&[-1.0])), (1, 0));
    }
}
