//! Learning without privacy, as a baseline for private learners on public data.

use sordino_data::Encoded;
use sordino_optim::{ClassWeights, OptimError};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::perturbation::positive_penalty;
use crate::solver::Problem;
use crate::weighting::Weighting;

/// The minimum of the mean loss plus `(l2/2)‖w‖²`, as exact as `f64` allows. **Not private.** The
/// mean is over all slots, as for private learners. Fails for a loss that does not fit the encoding
/// or a penalty out of range, whatever the records are.
pub fn non_private_optimum(loss: Loss, data: &Encoded, l2: f64) -> Result<LinearModel, LearnError> {
    optimum(loss, None, data, l2)
}

/// As [`non_private_optimum`], with each record's loss multiplied by the weight of its class. **Not
/// private.**
pub fn non_private_weighted_optimum(
    loss: Loss,
    weights: &ClassWeights,
    data: &Encoded,
    l2: f64,
) -> Result<LinearModel, LearnError> {
    weights.check(data.encoding())?;
    optimum(loss, Some(weights), data, l2)
}

fn optimum(
    loss: Loss,
    weights: Option<&ClassWeights>,
    data: &Encoded,
    l2: f64,
) -> Result<LinearModel, LearnError> {
    loss.check(data.encoding())?;
    if !data.has_target() {
        return Err(OptimError::NoTarget.into());
    }
    let ridge = positive_penalty(l2)? * data.slots() as f64;
    let tilt = vec![0.0; loss.outputs() * data.width()];
    let problem = Problem { loss, data, ridge, tilt, weighting: Weighting::of(weights) };
    // A tolerance of 0 is never met, so Newton's method stops when no step shortens the gradient.
    let (weights, _) = problem.newton(0.0);
    Ok(LinearModel::new(loss, data.encoding().clone(), weights))
}
