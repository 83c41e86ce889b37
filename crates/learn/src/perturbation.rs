//! Constants that output and objective perturbation share, from public numbers alone.

use sordino_data::Encoding;
use sordino_privacy::{Contribution, Count, Neighbours};

use crate::error::LearnError;
use crate::loss::Loss;
use crate::solver::error_of_gradients;

/// G of the loss; an error if it has none.
pub(crate) fn lipschitz(learner: &'static str, loss: Loss, encoding: &Encoding) -> Result<f64, LearnError> {
    let instead = "it has no Lipschitz constant: use the Huber loss, or sufficient statistics";
    loss.lipschitz(encoding.row_norm()).ok_or(LearnError::Loss { learner, loss: loss.name(), instead })
}

/// How many clip norms neighbours are apart.
pub(crate) fn clip_norms(neighbours: Neighbours) -> f64 {
    match neighbours.contribution() {
        Some(Contribution::Absent) => 1.0,
        // `check_public_size` refuses relations without contributions; two is the safe answer.
        Some(Contribution::Changed) | None => 2.0,
    }
}

/// The penalty, if it is above 0. Without a penalty the sensitivity is unbounded.
pub(crate) fn positive_penalty(l2: f64) -> Result<f64, LearnError> {
    let error = LearnError::Parameter { name: "l2 penalty", expected: "a finite number above 0", got: l2 };
    if l2 > 0.0 && l2.is_finite() { Ok(l2) } else { Err(error) }
}

/// τ, the larger of a millionth of G and four times the error that a gradient can have near a
/// minimum, which lies within `sqrt(2 n l(0)/Λ) + 2‖b‖/Λ` of zero. b is longer than `tilt` with a
/// probability of at most e^-32. If it is, the certificate still uses its true norm.
pub(crate) fn tolerance(
    loss: Loss,
    lipschitz: f64,
    encoding: &Encoding,
    n: Count,
    ridge: f64,
    tilt: f64,
) -> f64 {
    let row_norm = encoding.row_norm();
    // At zero, a loss is at most its slope times the distance to its minimum: at most 2 for
    // margins, and the largest declared target for numbers.
    let slope = lipschitz / row_norm;
    let at_zero = slope * encoding.largest_target().max(2.0);
    let size = (2.0 * n.get() as f64 * at_zero / ridge).sqrt() + 2.0 * tilt / ridge;
    let error = error_of_gradients(loss, slope, (n.get(), encoding.width()), row_norm, size);
    (1e-6 * lipschitz).max(4.0 * (error + 16.0 * f64::EPSILON * tilt))
}
