//! Releases seen by a group of units that change together.
//!
//! # Definition
//! A group of k is there or is not (add/remove, zero-out), or all of its units become
//! others (replace): inputs at distance k.
//! # Guarantee
//! | release | for a group of k | because |
//! |---|---|---|
//! | Gaussian, Laplace and their discrete kin | k times the shift | the sensitivity is a norm |
//! | bounded range, pure | k eps | losses of k steps add up |
//! | (eps, delta) | `(k eps, delta (e^(k eps) - 1)/(e^eps - 1))` | Dwork, Roth 2014, section 2.3 |
//! | zCDP | k² rho | Bun, Steinke 2016, proposition 1.9 |
//! | Poisson sample of Gaussian or Laplace noise | mixture of binomial shifts | Ganesh 2024, below |
//! | anything else with a pure bound | k eps | as above |
//! | anything else with a Rényi curve | order a / 2^c, 3^c times, 2^c >= k | Mironov 2017, proposition 2 |
//!
//! The mixture is that of Ganesh, *Tight Group-Level DP Guarantees for DP-SGD with Sampling via
//! Mixture of Gaussians Mechanisms*, 2024. It dominates for Laplace noise too: for a given mass
//! under no contribution, one and the same half-line has the most mass under every shift
//! (Neyman-Pearson; likelihood ratios rise), hence under every mixture of them. For a group that
//! becomes another (replace) the pair is `sum B(j) N(j mu)` against `sum B(j) N(-j mu)`: given
//! which units are drawn, the two sums are at most j contributions away from what they would be
//! without the group. If a set has mass `Phi(t)` there, it has at most `Phi(t + j mu)` under the
//! one and at least `Phi(t - j mu)` under the other, and one half-line has all of these at once.
//! Compositions distribute: each step of an adaptive composition is compared at distance k.
//! # Pitfalls
//! k-fold sensitivity at the same sampling rate is *not* the group's
//! cost: rarely are all k drawn at once.

use super::super::closed;
use super::super::error::AccountError;
use super::super::step::{Sided, Step};
use crate::numerics::logspace::ln_mixture;
use crate::params::{Count, Delta, Epsilon};
use crate::relation::group_guarantee;

/// Largest group whose mixture is written out.
pub(crate) const LARGEST_MIXTURE: u64 = 256;

/// `step`, stated for one unit, for a group of `size`.
pub(super) fn grouped(step: Step, size: u64) -> Result<Step, AccountError> {
    let k = size as f64;
    if size == 1 {
        return Ok(step);
    }
    let finite = |cost: f64, make: fn(f64) -> Step| {
        if cost.is_finite() { make(cost) } else { Step::NonPrivate }
    };
    Ok(match step {
        Step::Gaussian { mu } => finite(product(k, mu), |mu| Step::Gaussian { mu }),
        Step::Laplace { epsilon } => finite(product(k, epsilon), |epsilon| Step::Laplace { epsilon }),
        Step::DiscreteGaussian { sigma, shift } => {
            Step::DiscreteGaussian { sigma, shift: times(shift, size)? }
        }
        Step::DiscreteLaplace { scale, shift } => Step::DiscreteLaplace { scale, shift: times(shift, size)? },
        Step::BoundedRange { epsilon } => {
            finite(product(k, epsilon), |epsilon| Step::BoundedRange { epsilon })
        }
        Step::Pure { epsilon } => finite(product(k, epsilon), |epsilon| Step::Pure { epsilon }),
        Step::Zcdp { rho } => finite(product(k, product(k, rho)), |rho| Step::Zcdp { rho }),
        Step::Approximate { epsilon, delta } => approximate(epsilon, delta, size),
        Step::Poisson { rate, sided, base } if is_mixture(&base, size) => {
            Step::PoissonGroup { size, rate, sided, base }
        }
        Step::NonPrivate => Step::NonPrivate,
        step @ (Step::RandomizedResponse { .. }
        | Step::Renyi { .. }
        | Step::Poisson { .. }
        | Step::WithoutReplacement { .. }
        | Step::Shuffled { .. }) => by_bounds(step, size)?,
        Step::PoissonGroup { .. }
        | Step::BallsInBins { .. }
        | Step::WithReplacement { .. }
        | Step::Group { .. }
        | Step::Selected { .. } => return Err(refused("sampled_with_replacement", "")),
    })
}

/// A mechanism that costs one unit what `step` says, for a group of `size`: Laplace noise on a sum
/// for what is pure, and else the cost of one unit.
pub(super) fn instance(step: Step, size: u64) -> Result<Step, AccountError> {
    if size == 1 {
        return Ok(step);
    }
    let laplace =
        |epsilon: f64| Step::Laplace { epsilon: (size as f64 * epsilon * (1.0 - 1e-15)).min(f64::MAX) };
    match &step {
        Step::Pure { epsilon } => Ok(laplace(*epsilon)),
        Step::Approximate { epsilon, .. } if *epsilon > 0.0 => Ok(laplace(*epsilon)),
        Step::Gaussian { .. }
        | Step::Laplace { .. }
        | Step::DiscreteGaussian { .. }
        | Step::DiscreteLaplace { .. } => grouped(step, size),
        Step::Poisson { base, .. } if is_mixture(base, size) => grouped(step, size),
        Step::Poisson { .. }
        | Step::Approximate { .. }
        | Step::BoundedRange { .. }
        | Step::Zcdp { .. }
        | Step::RandomizedResponse { .. }
        | Step::Renyi { .. }
        | Step::WithoutReplacement { .. }
        | Step::PoissonGroup { .. }
        | Step::BallsInBins { .. }
        | Step::WithReplacement { .. }
        | Step::Shuffled { .. }
        | Step::Group { .. }
        | Step::Selected { .. }
        | Step::NonPrivate => Ok(step),
    }
}

fn is_mixture(base: &Step, size: u64) -> bool {
    size <= LARGEST_MIXTURE && matches!(base, Step::Gaussian { .. } | Step::Laplace { .. })
}

fn approximate(epsilon: f64, delta: f64, size: u64) -> Step {
    // Where one of the numbers leaves its range, nothing is left of the guarantee.
    let grown = (|| {
        group_guarantee(Epsilon::new(epsilon).ok()?, Delta::new(delta).ok()?, Count::new(size).ok()?).ok()
    })();
    grown.map_or(Step::NonPrivate, |(epsilon, delta)| Step::Approximate {
        epsilon: epsilon.get(),
        delta: delta.get(),
    })
}

/// From the pure bound if there is one, else from the Rényi curve.
fn by_bounds(step: Step, size: u64) -> Result<Step, AccountError> {
    if let Some(epsilon) = closed::pure_epsilon(&step) {
        return grouped(Step::Pure { epsilon }, size);
    }
    if let Step::Poisson { base, .. } | Step::WithoutReplacement { base, .. } = &step
        && let Step::Approximate { epsilon, delta } = **base
    {
        let Step::Poisson { rate, sided: Sided::One, .. } = step else {
            return Err(refused("approximate", ", sampled so,"));
        };
        // Balle, Barthe, Gaboardi 2018, theorem 8.
        return Ok(approximate(ln_mixture(rate, epsilon), rate * delta, size));
    }
    Ok(Step::Group { size, base: Box::new(step) })
}

fn refused(event: &str, how: &str) -> AccountError {
    AccountError::unsupported(
        event,
        format!("for a group{how} there is no bound here; state the group's own guarantee instead"),
    )
}

/// Rounded up: the fused product shows what rounding took away.
fn product(x: f64, y: f64) -> f64 {
    let rounded = x * y;
    if x.mul_add(y, -rounded) > 0.0 { rounded.next_up() } else { rounded }
}

fn times(shift: u64, size: u64) -> Result<u64, AccountError> {
    shift.checked_mul(size).filter(|product| *product <= Count::MAX).ok_or_else(|| AccountError::TooLarge {
        what: "the sensitivity of a group".into(),
        limit: Count::MAX,
    })
}
