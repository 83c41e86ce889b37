//! Losses of networks.
//!
//! | [`NetworkLoss`] | loss of outputs y at a position with target c or z |
//! |---|---|
//! | `CrossEntropy` | `-ln softmax(y)_c`; a position whose target is negative is ignored |
//! | `Squared` | `½ ‖y - z‖²` |
//!
//! An example's loss is the *sum* over its own positions. A mean over a batch would scale every record's gradient by a
//! number that depends on all others.

use serde::{Deserialize, Serialize};

use crate::kernel::pointwise::exp;
use crate::shape::Shape;

/// What outputs are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkLoss {
    /// One class per position, out of as many as there are channels.
    CrossEntropy,
    /// One number per output.
    Squared,
}

impl NetworkLoss {
    /// The number of targets for outputs of this shape.
    pub fn targets(self, output: Shape) -> usize {
        match self {
            Self::CrossEntropy => output.positions(),
            Self::Squared => output.size(),
        }
    }

    /// The loss of one image, in double precision.
    pub(crate) fn value(self, output: &[f32], target: &[f32]) -> f64 {
        match self {
            Self::CrossEntropy => {
                let channels = output.len() / target.len();
                let each = output.chunks_exact(channels).zip(target);
                each.map(|(scores, target)| cross_entropy(scores, *target)).sum()
            }
            Self::Squared => {
                let each = output.iter().zip(target);
                each.map(|(y, z)| (f64::from(*y) - f64::from(*z)).powi(2) / 2.0).sum()
            }
        }
    }

    /// Turns outputs of one image into the gradient of `share` times the loss. A class that does not exist makes it NaN, so
    /// the record contributes nothing.
    pub(crate) fn differentiate(self, output: &mut [f32], target: &[f32], share: f32) {
        match self {
            Self::CrossEntropy => {
                let channels = output.len() / target.len();
                for (scores, target) in output.chunks_exact_mut(channels).zip(target) {
                    if *target < 0.0 {
                        scores.fill(0.0);
                        continue;
                    }
                    softmax(scores);
                    let class = *target as usize;
                    if class < channels && target.fract() == 0.0 {
                        // p_c - 1 as minus the sum of the others: if p_c is nearly 1, the difference would have few digits.
                        let (before, after) = (&scores[..class], &scores[class + 1..]);
                        scores[class] = -before.iter().chain(after).sum::<f32>();
                    } else {
                        scores.fill(f32::NAN);
                    }
                    scores.iter_mut().for_each(|score| *score *= share);
                }
            }
            Self::Squared => output.iter_mut().zip(target).for_each(|(y, z)| *y = (*y - z) * share),
        }
    }
}

/// Replaces scores by their softmax.
pub(crate) fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

fn cross_entropy(scores: &[f32], target: f32) -> f64 {
    if target < 0.0 {
        return 0.0;
    }
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores.iter().map(|score| f64::from(score - largest).exp()).sum();
    let chosen = scores.get(target as usize).copied().unwrap_or(f32::NAN);
    sum.ln() - f64::from(chosen - largest)
}
