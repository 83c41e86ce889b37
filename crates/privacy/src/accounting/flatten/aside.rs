//! What is disclosed with some probability, apart from the rest.

use super::super::step::{Sided, Step, Steps};
use crate::numerics::logspace::ln_mixture;

/// The releases outside an event in which nothing is promised, and its probability, rounded up:
/// outside its delta an approximate release is pure (Kairouz, Oh, Viswanath, *The Composition
/// Theorem for Differential Privacy*, 2015), and so is a sample of it (Balle, Barthe, Gaboardi
/// 2018).
pub(super) fn set_aside(steps: &Steps) -> (Steps, f64) {
    let mut lost = 0.0;
    let mut outside = |step: &Step, count: u64| {
        let (epsilon, delta) = approximate(step)?;
        lost += count as f64 * delta * (1.0 + 8.0 * f64::EPSILON);
        Some(Step::Pure { epsilon })
    };
    let kept = steps.0.iter().map(|(step, count)| (outside(step, *count).unwrap_or(step.clone()), *count));
    let kept = kept.filter(|(step, _)| *step != Step::Pure { epsilon: 0.0 }).collect();
    (Steps(kept), lost.min(1.0))
}

/// `(epsilon, delta)` of an approximate release or a sample of one.
fn approximate(step: &Step) -> Option<(f64, f64)> {
    let sampled = |rate: f64, base: &Step| {
        let (epsilon, delta) = approximate(base)?;
        Some((ln_mixture(rate, epsilon) * (1.0 + 1e-14), rate * delta))
    };
    if let Step::Approximate { epsilon, delta } = step {
        Some((*epsilon, *delta))
    } else if let Step::Poisson { rate, sided: Sided::One, base } = step {
        sampled(*rate, base)
    } else if let Step::WithoutReplacement { sample, population, base } = step {
        sampled((*sample as f64 / *population as f64).next_up().min(1.0), base)
    } else {
        None
    }
}
