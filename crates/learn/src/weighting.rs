//! The weight of a record's class, as learners apply it.
//!
//! Methods that clip multiply the clipped gradient by it, and the solver multiplies the derivatives
//! by the scores. Weights are at most 1, so neither grows: [`ClassWeights`] has the argument, and
//! the solver's `Problem` accounts for the one rounding that is added.

use sordino_optim::ClassWeights;

use crate::kernel::TILE;

/// The weights in order of classes; empty if every weight is 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weighting(pub(crate) Vec<f64>);

impl Weighting {
    pub(crate) fn of(weights: Option<&ClassWeights>) -> Self {
        Self(weights.map(|weights| weights.as_slice().to_vec()).unwrap_or_default())
    }

    /// Whether every weight is 1.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// The weight of a record with this encoded target; 0 for a class that does not exist.
    pub(crate) fn of_class(&self, target: f64) -> f64 {
        if self.is_plain() { 1.0 } else { self.0.get(target as usize).copied().unwrap_or(0.0) }
    }

    /// Multiplies one number for each record of a tile by the weight of its class.
    pub(crate) fn apply(&self, numbers: &mut [f64; TILE], targets: [f64; TILE]) {
        if !self.is_plain() {
            numbers.iter_mut().zip(targets).for_each(|(number, target)| *number *= self.of_class(target));
        }
    }
}
