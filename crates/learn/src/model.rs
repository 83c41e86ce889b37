//! A learned model: the weights, with the encoding that they belong to.

use sordino_data::{Encoded, Encoding};

use crate::error::LearnError;
use crate::kernel::dot;
use crate::loss::Loss;

/// A linear model.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearModel {
    loss: Loss,
    encoding: Encoding,
    weights: Vec<f64>,
}

impl LinearModel {
    /// A model from its parts, as a file stores them.
    pub fn from_parts(loss: Loss, encoding: Encoding, weights: Vec<f64>) -> Result<Self, LearnError> {
        loss.check(&encoding)?;
        let expected = loss.outputs() * encoding.width();
        if weights.len() != expected {
            return Err(LearnError::Weights { expected, got: weights.len() });
        }
        Ok(Self::new(loss, encoding, weights))
    }

    /// `weights` has one row of `encoding.width()` numbers for each score of the loss.
    pub(crate) fn new(loss: Loss, encoding: Encoding, weights: Vec<f64>) -> Self {
        debug_assert_eq!(weights.len(), loss.outputs() * encoding.width());
        Self { loss, encoding, weights }
    }

    /// The loss that training minimised.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// How records become rows.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// One row of weights for each score, in order of classes.
    pub fn weights(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.weights.chunks_exact(self.encoding.width())
    }

    /// The scores of an encoded row.
    pub fn scores(&self, row: &[f32]) -> Vec<f64> {
        self.weights().map(|weights| dot(row, weights)).collect()
    }

    /// The prediction for an encoded row: a class by its number, or an encoded number (see
    /// [`Encoding::decode_target`]).
    pub fn predict(&self, row: &[f32]) -> f64 {
        let scores = self.scores(row);
        match self.loss {
            Loss::Logistic | Loss::SmoothHinge { .. } => f64::from(u8::from(scores[0] > 0.0)),
            Loss::Squared | Loss::Huber { .. } => scores[0],
            Loss::Softmax { .. } => {
                let best = |best: usize, k: usize| if scores[k] > scores[best] { k } else { best };
                (0..scores.len()).fold(0, best) as f64
            }
        }
    }

    /// The probability of each class for an encoded row, if the loss models probabilities.
    pub fn probabilities(&self, row: &[f32]) -> Option<Vec<f64>> {
        let scores = self.scores(row);
        match self.loss {
            // Equal to a softmax over two scores, the first of which is 0.
            Loss::Logistic => Some(softmax(&[0.0, scores[0]])),
            Loss::Softmax { .. } => Some(softmax(&scores)),
            Loss::SmoothHinge { .. } | Loss::Squared | Loss::Huber { .. } => None,
        }
    }

    /// The fraction of records whose class is predicted correctly. **Not private**: only for public
    /// data.
    pub fn accuracy(&self, data: &Encoded) -> f64 {
        self.mean_over(data, |row, target| f64::from(u8::from(self.predict(row) == target)))
    }

    /// The mean loss. **Not private**: only for public data.
    pub fn mean_loss(&self, data: &Encoded) -> f64 {
        self.mean_over(data, |row, target| self.loss.value(&self.scores(row), target))
    }

    fn mean_over(&self, data: &Encoded, value: impl Fn(&[f32], f64) -> f64) -> f64 {
        let rows = (0..data.slots()).filter_map(|slot| Some((data.row(slot)?, f64::from(data.target(slot)))));
        let (sum, count) =
            rows.fold((0.0, 0.0), |(sum, count), (row, target)| (sum + value(row, target), count + 1.0));
        sum / f64::max(count, 1.0)
    }
}

/// `e^s / Σ e^s`, without overflow.
fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().fold(f64::NEG_INFINITY, |most, s| most.max(*s));
    let parts: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

#[cfg(test)]
mod tests {
    use sordino_data::{EncodingOptions, Schema};

    use super::*;

    fn model(loss: Loss, values: &str, weights: Vec<f64>) -> Result<LinearModel, LearnError> {
        let text = format!(
            "columns.a = {{ kind = 'number', bounds = [-1, 1] }}\ncolumns.y = {{ kind = 'category', values = \
            [{values}] }}"
        );
        let schema = Schema::from_toml(&text).unwrap();
        let options = EncodingOptions { target: Some("y".to_owned()), intercept: true, ..Default::default() };
        LinearModel::from_parts(
            loss,
            Encoding::new(&schema, &["a".into(), "y".into()], options).unwrap(),
            weights,
        )
    }

    #[test]
    fn probabilities_are_those_of_the_definition() {
        let two = model(Loss::Logistic, "0, 1", vec![2.0, 0.5]).unwrap();
        let of_second = two.probabilities(&[1.0, 1.0]).unwrap()[1];
        assert!((of_second - 1.0 / (1.0 + (-2.5f64).exp())).abs() < 1e-15);
        let three =
            model(Loss::Softmax { classes: 3 }, "0, 1, 2", vec![1000.0, 0.0, 1001.0, 0.0, 0.0, 0.0]).unwrap();
        let all = three.probabilities(&[1.0, 1.0]).unwrap();
        assert!((all[1] / all[0] - 1f64.exp()).abs() < 1e-12 && all[2] == 0.0);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!(
            model(Loss::SmoothHinge { width: 0.5 }, "0, 1", vec![1.0, 0.0])
                .unwrap()
                .probabilities(&[1.0, 1.0])
                .is_none()
        );
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert!(model(Loss::Logistic, "0, 1", vec![1.0]).unwrap_err().to_string().contains("2 weights"));
        assert!(model(Loss::Logistic, "0, 1, 2", vec![1.0, 2.0]).is_err());
    }
}
