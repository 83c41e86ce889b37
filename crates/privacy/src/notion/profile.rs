//! Privacy profiles: δ as a function of ε.
//!
//! # Definition
//! `delta(eps)` is the least δ at which a mechanism is (ε, δ)-DP. It falls, and is convex in
//! `e^eps`: a mechanism has a curve and not one pair.

use crate::accounting::{self, AccountError};
use crate::claim::Claim;
use crate::params::Epsilon;

/// One point on or above a privacy profile: the mechanism is (ε, δ)-DP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilePoint {
    /// ε.
    pub epsilon: Epsilon,
    /// δ, from 0 to 1; 1 says nothing.
    pub delta: f64,
}

/// Certified points of the profile of `claim`, one for each ε: never below it, and within about a
/// part in a thousand of what [`accounting::delta`] certifies point by point.
///
/// ```
/// use sordino_privacy::{Claim, Epsilon, notion};
/// let claim = Claim::from_json(r#"{"type":"gaussian","noise_multiplier":1.0}"#)?;
/// let points = notion::profile(&claim, [Epsilon::new(0.0)?, Epsilon::new(1.0)?])?;
/// assert!((points[1].delta - 0.126936737507).abs() < 1e-11);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn profile(
    claim: &Claim,
    epsilons: impl IntoIterator<Item = Epsilon>,
) -> Result<Vec<ProfilePoint>, AccountError> {
    let epsilons: Vec<Epsilon> = epsilons.into_iter().collect();
    let plain: Vec<f64> = epsilons.iter().map(|epsilon| epsilon.get()).collect();
    let deltas = accounting::upper_profile(claim, &plain)?;
    let point = |(epsilon, delta): (Epsilon, f64)| ProfilePoint { epsilon, delta: delta.min(1.0) };
    Ok(epsilons.into_iter().zip(deltas).map(point).collect())
}
