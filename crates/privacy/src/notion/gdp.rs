//! Gaussian privacy: no test does better than one that tells two normal laws apart.
//!
//! # Definition
//! The trade-off of type I error t and type II error is at least that of N(0, 1) against N(mu, 1),
//! ```text
//! f(t) = Phi(Phi^-1(1 - t) - mu)                                                           (1)
//! ```
//! (Dong, Roth, Su, *Gaussian Differential Privacy*, 2019). The Gaussian mechanism of sensitivity D and
//! deviation sigma is exactly D / sigma.
//! # Guarantee
//! ```text
//! delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)   exactly                    (2)
//! composition: root of the sum of squares;  groups of k: k mu;  zCDP: mu²/2                (3)
//! ```
//! (2) Balle and Wang 2018, theorem 5; Dong, Roth, Su, corollary 1. (3) the same, corollary 2 and the theorem on group privacy.

use super::UP;
use crate::event::Event;
use crate::numerics::gaussian_profile;
use crate::params::{Count, Delta, Epsilon, Mu, ParamError};

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
        // Finite since delta is below 1; were it not, no privacy loss at all would be within any target.
        Self::new(Mu::new(mu).or_else(|_| Mu::new(0.0)).expect("0 is in range"))
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
    fn profile() {
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
    fn squares_add() {
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

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        /// Rises with mu, falls with epsilon, is convex in e^epsilon, and comes back from delta.
        #[test]
        fn a_privacy_profile(ln_mu in -4.0f64..2.0, e in 0.0f64..6.0, step in 0.01f64..1.0) {
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

        /// One unit in the last place below what is reported is not certified any more, or is the exact answer's own rounding.
        #[test]
        fn epsilon_is_rounded_outward(ln_mu in -3.0f64..2.0, ln_delta in -30.0f64..-2.0) {
            let delta = Delta::new(ln_delta.exp()).unwrap();
            let found = gdp(ln_mu.exp()).epsilon(delta);
            prop_assert!(found == 0.0 || gdp(ln_mu.exp()).delta(eps(found)) <= delta.get());
            if found > 0.0 {
                prop_assert!(gdp(ln_mu.exp()).delta(eps(found * (1.0 - 1e-14))) > delta.get() * (1.0 - 1e-12));
            }
        }
    }
}
