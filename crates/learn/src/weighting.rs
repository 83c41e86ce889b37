//! The weight of a record's class, as learners apply it.
//!
//! # Where
//! Methods that clip multiply what clipping has left of a gradient, and the solver multiplies the
//! derivatives by the scores. Weights are at most 1 ([`ClassWeights`]), so neither exceeds what it
//! was: see there for the argument, and the solver's `Problem` for the one rounding that is added.

use sordino_optim::ClassWeights;

use crate::kernel::TILE;

/// Weights in order of classes; none if every record counts as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weighting(pub(crate) Vec<f64>);

impl Weighting {
    pub(crate) fn of(weights: Option<&ClassWeights>) -> Self {
        Self(weights.map(|weights| weights.as_slice().to_vec()).unwrap_or_default())
    }

    /// Whether every record counts as one.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// The weight of a record with this encoded target. A class that
    /// does not exist counts for nothing.
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
