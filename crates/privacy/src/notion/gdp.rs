//! Gaussian privacy: no test does better than one that tells two normal laws apart.
//!
//! # Definition
//! The trade-off of type I error t and type II error is at least that of N(0, 1) against N(mu, 1),
//! ```text
//! f(t) = Phi(Phi^-1(1 - t) - mu)                                                           (1)
//! ```
//! (Dong, Roth, Su, *Gaussian Differential Privacy*, 2019). The Gaussian mechanism of sensitivity D
//! and deviation sigma is exactly D / sigma.
//! # Guarantee
//! ```text
//! delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)   exactly                    (2)
//! composition: root of the sum of squares;  groups of k: k mu;  zCDP: mu²/2                (3)
//! ```
//! (2) Balle and Wang 2018, theorem 5; Dong, Roth, Su, corollary 1. (3) the same, corollary 2 and
//! the theorem on group privacy.
//!
//! Every ε-private mechanism is μ-GDP from exactly
//! ```text
//! mu(eps) = 2 Phi^-1(e^eps / (1 + e^eps)),   that is   erf(mu / (2 sqrt 2)) = tanh(eps / 2)  (4)
//! ```
//! on. The trade-off of ε-privacy is `f(t) = max(0, 1 - e^eps t, e^-eps (1 - t))`: two lines that
//! meet at `t* = f(t*) = 1 / (1 + e^eps)`, from (0, 1) and to (1, 0). A convex curve from (0, 1) to
//! (1, 0) lies below both where it lies below their corner, and only there: the condition is
//! `Phi(Phi^-1(1 - t*) - mu) <= t*`, which is (4).

use std::f64::consts::FRAC_1_SQRT_2;

use super::UP;
use crate::event::Event;
use crate::numerics::{gaussian_profile, search};
use crate::params::{Count, Delta, Epsilon, Mu, ParamError};

/// The largest ε for which (4) is computed: its tail e^-600 is a normal double.
const LARGEST_PURE: f64 = 600.0;

/// A place whose tail is below e^-[`LARGEST_PURE`]: the tail of z is at most e^(-z²/2).
const FAR_TAIL: f64 = 36.0;

/// Bound on the relative errors of both sides of (4).
const ROUNDING: f64 = 1e-14;

/// μ-GDP.
///
/// ```
/// use sordino_privacy::{Delta, Epsilon, Mu, notion::Gdp};
/// let gdp = Gdp::new(Mu::new(1.0)?);
/// assert!((gdp.delta(Epsilon::new(1.0)?) - 0.126936737507).abs() < 1e-12);
/// assert!((gdp.epsilon(Delta::new(1e-5)?) - 4.377178096).abs() < 1e-9);
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gdp {
    mu: Mu,
}

impl Gdp {
    /// With this μ.
    pub fn new(mu: Mu) -> Self {
        Self { mu }
    }

    /// The largest μ, rounded down, that is (ε, δ)-DP; 0 if δ is 0.
    pub fn within(epsilon: Epsilon, delta: Delta) -> Self {
        let mu = gaussian_profile::mu(epsilon.get(), delta.get());
        // Finite since delta is below 1; were it not, no privacy loss at all would be within any
        // target.
        Self::new(Mu::new(mu).or_else(|_| Mu::new(0.0)).expect("0 is in range"))
    }

    /// The least μ, equation (4), rounded up, with which every ε-private mechanism is μ-GDP. `None`
    /// where ε is so large that doubles cannot say: it stands for no privacy at all.
    ///
    /// ```
    /// use sordino_privacy::{Epsilon, notion::Gdp};
    /// let gdp = Gdp::dominating(Epsilon::new(1.0)?).expect("1 is not large");
    /// assert!((gdp.mu().get() - 1.232_035_4).abs() < 1e-7);
    /// # Ok::<(), sordino_privacy::ParamError>(())
    /// ```
    pub fn dominating(epsilon: Epsilon) -> Option<Self> {
        let epsilon = epsilon.get();
        if epsilon == 0.0 {
            return Mu::new(0.0).ok().map(Self::new);
        }
        if epsilon > LARGEST_PURE {
            return None;
        }
        // Below 1 the distance of the two sides from 1/2, above it their tails: what is compared
        // keeps all its digits. The error functions and exponentials are within a few units of
        // their last place.
        let is_enough = |z: f64| {
            if epsilon < 1.0 {
                libm::erf(z * FRAC_1_SQRT_2) * (1.0 - ROUNDING) >= (0.5 * epsilon).tanh() * (1.0 + ROUNDING)
            } else {
                libm::erfc(z * FRAC_1_SQRT_2) * (1.0 + ROUNDING)
                    <= 2.0 / (1.0 + epsilon.exp()) * (1.0 - ROUNDING)
            }
        };
        let (_, half) = search::bisect(0.0, FAR_TAIL, is_enough);
        Mu::new(2.0 * half * UP).ok().map(Self::new)
    }

    /// μ.
    pub fn mu(self) -> Mu {
        self.mu
    }

    /// δ at ε, equation (2), rounded up.
    pub fn delta(self, epsilon: Epsilon) -> f64 {
        gaussian_profile::enclosure(epsilon.get(), self.mu.get()).upper
    }

    /// The least ε at δ, rounded up; ∞ if δ is 0 and μ is not.
    pub fn epsilon(self, delta: Delta) -> f64 {
        gaussian_profile::epsilon(delta.get(), self.mu.get()).upper
    }

    /// Both, one after the other.
    pub fn and(self, next: Self) -> Result<Self, ParamError> {
        Mu::new(self.mu.get().hypot(next.mu.get()) * UP).map(Self::new)
    }

    /// This, `count` times.
    pub fn repeated(self, count: Count) -> Result<Self, ParamError> {
        if count == Count::ONE {
            return Ok(self);
        }
        Mu::new(self.mu.get() * (count.get() as f64).sqrt() * UP).map(Self::new)
    }

    /// For groups of `size` units.
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        if size == Count::ONE {
            return Ok(self);
        }
        Mu::new(self.mu.get() * size.get() as f64 * UP).map(Self::new)
    }

    /// What an accountant is told.
    pub fn event(self) -> Event {
        Event::Gdp { mu: self.mu }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gdp(mu: f64) -> Gdp {
        Gdp::new(Mu::new(mu).unwrap())
    }

    fn eps(epsilon: f64) -> Epsilon {
        Epsilon::new(epsilon).unwrap()
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn the_profile_meets_reference_values() {
        for (mu, epsilon, exact) in [
            (1.0, 0.0, 0.382924922548),
            (1.0, 1.0, 0.126936737507),
            (1.0, 4.0, 4.71224120079e-5),
            (0.5, 1.0, 0.00682959498311),
            (2.0, 1.0, 0.509861660055),
            (0.1, 1.0, 1.23083598364e-25),
            (5.0, 2.0, 0.968348980291),
            (1.0, 10.0, 9.81270582685e-23),
            (10.0, 100.0, 1.87971700205e-7),
        ] {
            close(gdp(mu).delta(eps(epsilon)), exact, 1e-11);
        }
        for (mu, exact) in [
            (0.1, 0.3406693647),
            (0.5, 1.993091404),
            (1.0, 4.377178096),
            (2.0, 9.997256146),
            (5.0, 33.10373234),
        ] {
            close(gdp(mu).epsilon(Delta::new(1e-5).unwrap()), exact, 1e-9);
        }
    }

    /// P[L > 1] is 0.3085 where delta(1) is 0.1269: two different promises.
    #[test]
    fn delta_is_not_the_probability_of_a_large_loss() {
        let above = crate::numerics::normal::cdf(-0.5);
        assert!((above - 0.3085).abs() < 1e-4 && gdp(1.0).delta(eps(1.0)) < 0.127);
    }

    #[test]
    fn squares_of_mu_add_under_composition() {
        close(gdp(0.3).and(gdp(0.4)).unwrap().mu().get(), 0.5, 1e-12);
        for count in [1u64, 7, 10_000] {
            let step = gdp(1.0 / (count as f64).sqrt()).repeated(Count::new(count).unwrap()).unwrap();
            close(step.delta(eps(1.0)), gdp(1.0).delta(eps(1.0)), 1e-12);
        }
        close(gdp(0.5).group(Count::new(3).unwrap()).unwrap().mu().get(), 1.5, 1e-12);
        let within = Gdp::within(eps(1.0), Delta::new(0.126936737507).unwrap());
        close(within.mu().get(), 1.0, 1e-10);
        assert!(within.delta(eps(1.0)) <= 0.126936737507);
    }

    /// Equation (4), typed again: at the corner of the two lines the curve of the least mu passes,
    /// and one with a mu that is smaller by one part in 10^9 does not. With mu itself it is below
    /// the lines everywhere on a grid.
    #[test]
    fn a_pure_release_is_dominated_by_a_gaussian_one_and_by_none_that_is_smaller() {
        let cdf = crate::numerics::normal::cdf;
        for epsilon in [1e-12, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.999, 1.0, 1.001, 2.0, 5.0, 20.0, 100.0, 599.0] {
            let mu = Gdp::dominating(eps(epsilon)).unwrap().mu().get();
            if (1e-5..30.0).contains(&epsilon) {
                let t = 1.0 / (1.0 + f64::exp(epsilon));
                // The miss rate at false-alarm rate t, where t = Phi(-z).
                let z = search::bisect(-1.0, 40.0, |z| cdf(-z) <= t).1;
                assert!(cdf(z - mu) <= t * (1.0 + 1e-11), "{epsilon}");
                assert!(cdf(z - mu * (1.0 - 1e-9)) > t, "{epsilon}");
            }
            // The profile of (2) is nowhere below that of randomized response, (e^ε - e^x) / (1 +
            // e^ε).
            for part in 0..=1000 {
                let x = epsilon * f64::from(part) / 1000.0;
                let exact = (1.0 - (x - epsilon).exp()) / (1.0 + (-epsilon).exp());
                assert!(gdp(mu).delta(eps(x)) >= exact * (1.0 - 1e-12), "{epsilon} at {x}");
            }
        }
        // mu = eps sqrt(2 pi) / 2 for small eps.
        let small = Gdp::dominating(eps(1e-9)).unwrap().mu().get();
        close(small, 1e-9 * (0.5 * std::f64::consts::PI).sqrt(), 1e-12);
        assert_eq!(Gdp::dominating(eps(0.0)), Some(gdp(0.0)));
        assert_eq!(Gdp::dominating(eps(601.0)), None);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        /// Rises with mu, falls with epsilon, is convex in e^epsilon, and comes back from delta.
        #[test]
        fn profiles_fall_with_epsilon_and_rise_with_mu(
            ln_mu in -4.0f64..2.0,
            e in 0.0f64..6.0,
            step in 0.01f64..1.0
        ) {
            let mu = ln_mu.exp();
            let at = |e: f64| gdp(mu).delta(eps(e));
            let (here, next, last) = (at(e), at(e + step), at(e + 2.0 * step));
            prop_assert!(here >= next && next >= last);
            prop_assert!(gdp(mu * 1.1).delta(eps(e)) >= here);
            // The middle lies below the chord in e^eps: shares of the chord are 1 : e^step.
            let share = 1.0 / (1.0 + step.exp());
            let chord = (1.0 - share) * here + share * last;
            prop_assert!(next <= chord * (1.0 + 1e-11), "{} above {}", next, chord);
            if here > 1e-290 {
                let back = gdp(mu).epsilon(Delta::new(here).unwrap());
                prop_assert!((back - e).abs() <= 1e-9 * (1.0 + e), "{} came back as {}", e, back);
            }
        }

        /// One unit in the last place below what is reported is not certified any more, or is the
        /// exact answer's own rounding.
        #[test]
        fn epsilon_is_rounded_outward(ln_mu in -3.0f64..2.0, ln_delta in -30.0f64..-2.0) {
            let delta = Delta::new(ln_delta.exp()).unwrap();
            let found = gdp(ln_mu.exp()).epsilon(delta);
            prop_assert!(found == 0.0 || gdp(ln_mu.exp()).delta(eps(found)) <= delta.get());
            if found > 0.0 {
                let below = gdp(ln_mu.exp()).delta(eps(found * (1.0 - 1e-14)));
                prop_assert!(below > delta.get() * (1.0 - 1e-12));
            }
        }
    }
}
