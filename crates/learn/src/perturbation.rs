//! What perturbation of outputs and of objectives share: constants of the
//! problem, from public numbers alone.

use sordino_data::Encoding;
use sordino_privacy::{Contribution, Count, Neighbours};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::solver::error_of_gradients;

/// G, for losses that have one.
pub(crate) fn lipschitz(learner: &'static str, loss: Loss, encoding: &Encoding) -> Result<f64, LearnError> {
    let instead = "it has no Lipschitz constant: use the Huber loss, or sufficient statistics";
    loss.lipschitz(encoding.row_norm()).ok_or(LearnError::Loss { learner, loss: loss.name(), instead })
}

/// Clip norms between neighbours.
pub(crate) fn clip_norms(neighbours: Neighbours) -> f64 {
    match neighbours.contribution() {
        Some(Contribution::Absent) => 1.0,
        // `check_public_size` has refused what has no contributions; two is the larger.
        Some(Contribution::Changed) | None => 2.0,
    }
}

/// That there is a penalty, without which there is no sensitivity.
pub(crate) fn positive_penalty(l2: f64) -> Result<f64, LearnError> {
    let error = LearnError::Parameter { name: "l2 penalty", expected: "a finite number above 0", got: l2 };
    if l2 > 0.0 && l2.is_finite() { Ok(l2) } else { Err(error) }
}

/// τ: a millionth of G, or four times the error that a gradient can have anywhere near a minimum,
/// which lies within `sqrt(2 n l(0)/Λ) + 2‖b‖/Λ` of zero. `tilt` is a norm that b does not exceed
/// but for a probability of e^-32; should it, the certificate counts the true one.
pub(crate) fn tolerance(
    loss: Loss,
    lipschitz: f64,
    encoding: &Encoding,
    n: Count,
    ridge: f64,
    tilt: f64,
) -> f64 {
    let row_norm = encoding.row_norm();
    // A loss is at zero at most its slope times how far it is from its least value; margins
    // are within 2, targets as declared.
    let slope = lipschitz / row_norm;
    let at_zero = slope * encoding.largest_target().max(2.0);
    let size = (2.0 * n.get() as f64 * at_zero / ridge).sqrt() + 2.0 * tilt / ridge;
    let error = error_of_gradients(loss, slope, (n.get(), encoding.width()), row_norm, size);
    (1e-6 * lipschitz).max(4.0 * (error + 16.0 * f64::EPSILON * tilt))
}
