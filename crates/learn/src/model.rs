//! What is learned: weights, with the encoding without which they are of no use.

use sordino_data::{Encoded, Encoding};

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
    /// `weights` has one row of `encoding.width()` numbers for each score of the loss.
    pub(crate) fn new(loss: Loss, encoding: Encoding, weights: Vec<f64>) -> Self {
        debug_assert_eq!(weights.len(), loss.outputs() * encoding.width());
        Self { loss, encoding, weights }
    }

    /// What it was trained to minimise.
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

    /// The part of records whose class is predicted. A statistic of `data`: free for public data alone.
    pub fn accuracy(&self, data: &Encoded) -> f64 {
        self.mean_over(data, |row, target| f64::from(u8::from(self.predict(row) == target)))
    }

    /// The mean loss. A statistic of `data`: free for public data alone.
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
