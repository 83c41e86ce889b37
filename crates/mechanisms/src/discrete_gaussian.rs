//! Discrete Gaussian mechanism: one integer, zero-concentrated privacy.
//!
//! # Definition
//! The answer plus an integer Z is released:
//! ```text
//! P[Z = z] = exp(-z^2 / (2 sigma^2)) / sum over all integers j of exp(-j^2 / (2 sigma^2))          (1)
//! ```
//! # Guarantee
//! If neighbours move the answer by at most Δ, the release is `Δ^2 / (2 sigma^2)`-zCDP under the
//! same relation, exactly as with continuous noise (Canonne, Kamath, Steinke, "The discrete
//! Gaussian for differential privacy", 2020, Theorem 4). The event names the distribution itself,
//! so that accountants may use its own privacy-loss distribution.
//!
//! # Accuracy
//! Upper tails are no heavier than those of the continuous Gaussian one step earlier,
//! `P[Z >= m] <= P[N >= m - 1]` for m >= 1: each term of the sum is at most the integral over the
//! unit interval before it, and the normaliser is at least `sigma sqrt(2 pi)`, by Poisson
//! summation. Hence `P[|Z| > w] <= P[|N| >= w]`.
//!
//! # Pitfalls
//! - Its privacy profile is *not* below that of the continuous Gaussian: never account it as one.
//! - For vectors the longest scalar shift is not the worst one: this mechanism is for one integer.
//!   Vectors go through [`Gaussian`](crate::Gaussian).
//! - sigma is the parameter of (1); the standard deviation is a little smaller when sigma is small.

use sordino_noise::{Bits, DiscreteGaussian as Noise};
use sordino_privacy::{
    AccountError, Claim, Count, Delta, Epsilon, Event, Neighbours, Rho, SamplingRate, Scale, accounting,
    calibrate,
};

use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism, clamped};
use crate::protection::Protection;
use crate::shift::Shift;

/// The relative distance of a calibrated sigma from one that is not enough, at most.
const CLOSE: f64 = 1e-4;
/// The search goes up to 2^14 times more or less noise than a continuous Gaussian would need.
const MOST_DOUBLINGS: u32 = 14;

/// Adds discrete Gaussian noise to one integer.
///
/// ```
/// use sordino_mechanisms::{DiscreteGaussian, Mechanism, Shift};
/// use sordino_privacy::{Neighbours, Rho};
/// let mechanism = DiscreteGaussian::new(Rho::new(0.005)?, Shift::count(Neighbours::AddRemove)?)?;
/// assert_eq!(mechanism.error_at(0.95), 20.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DiscreteGaussian {
    noise: Noise,
    sigma: Scale,
    shift: Shift,
}

impl DiscreteGaussian {
    /// Noise for ρ-zCDP: sigma = Δ / sqrt(2ρ), rounded up. Fails for ρ = 0 and for sigma beyond
    /// 2^40.
    pub fn new(rho: Rho, shift: Shift) -> Result<Self, MechanismError> {
        if rho.get() == 0.0 {
            return Err(MechanismError::NoBudget);
        }
        let sigma = shift.most().get() as f64 / (2.0 * rho.get()).sqrt();
        // Root and quotient are each within half a unit of the last place: four units are more than
        // both.
        Self::with_sigma(Scale::new(sigma * (1.0 + 4.0 * f64::EPSILON))?, shift)
    }

    /// Noise for (ε, δ): close to the least sigma whose own loss distribution is certified to cost
    /// at most ε at δ. What is returned was itself accounted. Fails for δ = 0.
    pub fn for_epsilon(epsilon: Epsilon, delta: Delta, shift: Shift) -> Result<Self, MechanismError> {
        let (everybody, once) = (SamplingRate::new(1.0)?, Count::ONE);
        // One clip norm of 1 is one unit of the answer, whatever the relation: Δ already speaks of
        // that.
        let unit = calibrate::noise_multiplier(epsilon, delta, Neighbours::AddRemove, everybody, once)?;
        let continuous = unit.value.get() * shift.most().get() as f64;
        let enough = |sigma: f64| -> Result<bool, MechanismError> {
            let event = Event::DiscreteGaussian { sigma: Scale::new(sigma)?, sensitivity: shift.most() };
            let claim = Claim::new(shift.neighbours(), event);
            let cost = accounting::epsilon(&claim, delta, accounting::Accountant::Auto)?;
            Ok(cost.bound.upper <= epsilon.get())
        };
        // Up from the continuous one where that is not enough; down where it is, as for some small
        // sigma.
        let (mut low, mut high) = (continuous, continuous);
        for _ in 0..MOST_DOUBLINGS {
            if !enough(high)? {
                (low, high) = (high, 2.0 * high);
            } else if low == high || enough(low)? {
                (low, high) = (0.5 * low, low);
            } else {
                break;
            }
        }
        while high > low * (1.0 + CLOSE) {
            let middle = 0.5 * (low + high);
            if enough(middle)? { high = middle } else { low = middle }
        }
        if !enough(high)? {
            let (epsilon, delta) = (epsilon.get(), delta.get());
            let what = format!("even discrete Gaussian noise of sigma {high}");
            return Err(AccountError::OutOfReach { what, epsilon, delta }.into());
        }
        Self::with_sigma(Scale::new(high)?, shift)
    }

    /// Noise of a given sigma.
    pub fn with_sigma(sigma: Scale, shift: Shift) -> Result<Self, MechanismError> {
        Ok(Self { noise: Noise::with_sigma(sigma.get())?, sigma, shift })
    }

    /// The parameter sigma of (1).
    pub fn sigma(&self) -> Scale {
        self.sigma
    }

    /// A whole number w that the noise exceeds with probability at most 1 - `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        (self.sigma.get() * accuracy::normal_two_sided(accuracy::miss(confidence))).ceil()
    }

    pub(crate) fn noisy<R: Bits + ?Sized>(&self, answer: i64, bits: &mut R) -> i64 {
        clamped(i128::from(answer) + self.noise.sample(bits))
    }
}

impl Mechanism for DiscreteGaussian {
    type Answer<'a> = i64;
    type Output = i64;

    fn protection(&self) -> &Protection {
        self.shift.protection()
    }

    fn event(&self) -> Event {
        Event::DiscreteGaussian { sigma: self.sigma, sensitivity: self.shift.most() }
    }

    fn draw<R: Bits + ?Sized>(&self, answer: i64, bits: &mut R, _: &Covered) -> Result<i64, MechanismError> {
        Ok(self.noisy(answer, bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, count, histogram, permit};

    fn shift(most: u64) -> Shift {
        Shift::new(count(most), Neighbours::AddRemove)
    }

    fn with_sigma(sigma: f64, most: u64) -> DiscreteGaussian {
        DiscreteGaussian::with_sigma(Scale::new(sigma).unwrap(), shift(most)).unwrap()
    }

    /// Equation (1) typed again, at z = -reach..=reach with a reach far beyond any mass.
    fn masses(sigma_squared: f64, reach: i64) -> Vec<f64> {
        let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma_squared)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        (-reach..=reach).map(|z| weight(z) / total).collect()
    }

    fn reach(sigma: f64) -> i64 {
        (12.0 * sigma).ceil() as i64 + 2
    }

    /// Rényi divergence of order α of (1) from itself moved by `moved`, by enumeration.
    fn renyi(order: f64, sigma: f64, moved: i64) -> f64 {
        let far = reach(sigma) + moved * (order.ceil() as i64 + 2);
        let ln = |z: i64| -((z * z) as f64) / (2.0 * sigma * sigma);
        let normaliser: f64 = (-far..=far).map(|z| ln(z).exp()).sum();
        let sum: f64 = (-far..=far).map(|z| (order * ln(z) + (1.0 - order) * ln(z + moved)).exp()).sum();
        (sum / normaliser).ln() / (order - 1.0)
    }

    fn follows(mechanism: &DiscreteGaussian, sigma: f64) -> Result<(), String> {
        let far = reach(sigma);
        let cell = |z: i64| (z.clamp(-far, far) + far) as usize;
        let counts = histogram(2 * far as usize + 1, 100_000, 12, |bits| cell(mechanism.noisy(5, bits) - 5));
        chi_square(&counts, &masses(sigma * sigma, far))
    }

    /// Computed in high precision from (1): probabilities at 0 and 1, and the variance.
    #[test]
    fn textbook_values() {
        for (sigma_squared, p0, p1, variance) in [
            (0.25, 0.786_570_707_041_948, 0.106_450_769_423_145, 0.215_012_675_088_138),
            (1.0, 0.398_942_278_266_862, 0.241_970_723_224_461, 0.999_999_788_767_728),
            (4.0, 0.199_471_140_200_716, 0.176_032_663_382_150, 4.0),
            (100.0, 0.039_894_228_040_143_3, 0.039_695_254_747_701_2, 100.0),
        ] {
            let mechanism = with_sigma(f64::sqrt(sigma_squared), 1);
            let far = reach(mechanism.sigma().get());
            let masses = masses(mechanism.sigma().get().powi(2), far);
            assert!(
                (masses[far as usize] - p0).abs() < 1e-14 && (masses[far as usize + 1] - p1).abs() < 1e-14
            );
            let second: f64 = masses.iter().zip(-far..).map(|(p, z)| p * (z * z) as f64).sum();
            assert!((second - variance).abs() < 1e-12 * variance.max(1.0));
            follows(&mechanism, f64::sqrt(sigma_squared)).unwrap();
        }
    }

    /// The profile of the discrete Gaussian lies above that of the continuous one; both by high
    /// precision.
    #[test]
    fn the_event_is_not_accounted_as_continuous() {
        for (sigma_squared, epsilon, discrete, continuous) in [
            (100.0, 0.5, 6.934_370_347_52e-9, 6.856_582_455_84e-9),
            (4.0, 1.0, 0.007_248_776_845_95, 0.006_829_594_983_11),
            (1.0, 1.0, 0.141_351_339_406, 0.126_936_737_507),
        ] {
            let claim: Claim = with_sigma(f64::sqrt(sigma_squared), 1).claim();
            let delta =
                accounting::delta(&claim, Epsilon::new(epsilon).unwrap(), accounting::Accountant::Auto);
            let bound = delta.unwrap().bound;
            assert!(bound.lower <= discrete * 1.0001 && discrete * 0.9999 <= bound.upper, "{bound:?}");
            assert!(bound.upper > continuous);
        }
    }

    /// δ of (1) against itself moved by `moved`, by enumeration of the positive part.
    fn delta_of(epsilon: f64, sigma: f64, moved: i64) -> f64 {
        let far = reach(sigma) + 2 * moved;
        let masses = masses(sigma * sigma, far);
        let (p, q) = (&masses[moved as usize..], &masses[..masses.len() - moved as usize]);
        let inside: f64 = p.iter().zip(q).map(|(p, q)| (q - epsilon.exp() * p).max(0.0)).sum();
        inside + masses[masses.len() - moved as usize..].iter().sum::<f64>()
    }

    #[test]
    fn calibration_is_on_the_safe_side_and_close() {
        for (e, d, most) in [(1.0, 1e-5, 1), (0.5, 1e-6, 3), (4.0, 1e-3, 1)] {
            let (epsilon, delta) = (Epsilon::new(e).unwrap(), Delta::new(d).unwrap());
            let sigma = DiscreteGaussian::for_epsilon(epsilon, delta, shift(most)).unwrap().sigma().get();
            assert!(delta_of(e, sigma, most as i64) <= d, "ε {e}: {}", delta_of(e, sigma, most as i64));
            assert!(delta_of(e, sigma * 0.98, most as i64) > d, "ε {e}: not by far");
            assert!(delta_of(e, sigma / 2.0, most as i64) > d, "half of the noise");
            assert!(delta_of(e, sigma, 2 * most as i64) > d, "sensitivity off by two");
        }
        let (epsilon, none) = (Epsilon::new(1.0).unwrap(), Delta::new(0.0).unwrap());
        assert!(DiscreteGaussian::for_epsilon(epsilon, none, shift(1)).is_err());
    }

    #[test]
    fn no_order_reveals_more_than_rho_times_it() {
        for (rho, most) in [(0.5, 1), (0.02, 1), (0.3, 4)] {
            let mechanism = DiscreteGaussian::new(Rho::new(rho).unwrap(), shift(most)).unwrap();
            for order in [1.5, 2.0, 5.0, 9.0] {
                for moved in 1..=most as i64 {
                    let divergence = renyi(order, mechanism.sigma().get(), moved);
                    assert!(divergence <= rho * order * (1.0 + 1e-12), "{divergence} at {order}");
                }
            }
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let rho = 0.02;
        let honest = DiscreteGaussian::new(Rho::new(rho).unwrap(), shift(1)).unwrap();
        let half = with_sigma(honest.sigma().get() / 2.0, 1);
        follows(&half, honest.sigma().get()).unwrap_err();
        assert!(renyi(2.0, half.sigma().get(), 1) > 2.0 * rho);
        assert!(renyi(2.0, honest.sigma().get(), 2) > 2.0 * rho, "an answer that moves by two");
    }

    #[test]
    fn the_stated_error_is_met_and_not_by_far() {
        for sigma in [0.3, 1.0, 2.5, 17.0] {
            let w = with_sigma(sigma, 1).error_at(0.95) as i64;
            let far = reach(sigma);
            let masses = masses(sigma * sigma, far);
            let inside =
                |w: i64| masses.iter().zip(-far..).filter(|(_, z)| z.abs() <= w).map(|(p, _)| p).sum::<f64>();
            assert!(inside(w) >= 0.95 && inside(w - 2) < 0.95, "sigma {sigma}, w {w}");
        }
    }

    #[test]
    fn edges() {
        assert!(matches!(
            DiscreteGaussian::new(Rho::new(0.0).unwrap(), shift(1)),
            Err(MechanismError::NoBudget)
        ));
        assert!(DiscreteGaussian::new(Rho::new(1e-30).unwrap(), shift(1)).is_err(), "sigma beyond 2^40");
        let mechanism = with_sigma(10.0, 1);
        let release = mechanism.release(i64::MIN, permit(&mechanism)).unwrap();
        assert!(*release.value() < 0 && release.guarantee().holds());
    }
}
