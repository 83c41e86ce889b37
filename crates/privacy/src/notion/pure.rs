//! Pure privacy: no outcome's probability changes by more than a factor.
//!
//! # Definition
//! `P(S) <= e^eps Q(S)` for all events S (Dwork, McSherry, Nissim, Smith, *Calibrating Noise to
//! Sensitivity in Private Data Analysis*, 2006).
//! # Guarantee
//! The worst eps-DP mechanism is binary randomized response (Kairouz, Oh, Viswanath, *The
//! Composition Theorem for Differential Privacy*, 2015); its profile, Rényi curve and concentration
//! are those of the class:
//! ```text
//! delta(e) = (e^eps - e^e) / (1 + e^eps)                                                   (1)
//! D_a      = ln((e^(a eps) + e^((1-a) eps)) / (1 + e^eps)) / (a - 1)                       (2)
//! rho      = eps tanh(eps / 2) <= eps²/2                                                   (3)
//! ```
//! (3) is the limit of `D_a / a` at order 1, which is where that quotient is largest (Harrison,
//! Manurangsi, *Exact zCDP Characterizations for Fundamental Differentially Private Mechanisms*,
//! 2025); `eps²/2` is Bun and Steinke 2016, proposition 3.3.

use super::{Approximate, Renyi, UP, Zcdp};
use crate::accounting::rdp;
use crate::accounting::step::{Step, Steps};
use crate::event::Event;
use crate::params::{Count, Delta, Epsilon, Order, ParamError};

/// ε-DP.
///
/// ```
/// use sordino_privacy::{Epsilon, notion::{Pure, Zcdp}};
/// let pure = Pure::new(Epsilon::new(1.0)?);
/// assert!((pure.zcdp_tight().rho().get() - 0.462117157260).abs() < 1e-11);
/// assert!((Zcdp::from(pure).rho().get() - 0.5).abs() < 1e-14);
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pure {
    epsilon: Epsilon,
}

impl Pure {
    /// With this ε.
    pub fn new(epsilon: Epsilon) -> Self {
        Self { epsilon }
    }

    /// ε.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// δ at a smaller ε, equation (1), rounded up.
    pub fn delta(self, epsilon: Epsilon) -> f64 {
        let (bound, e) = (self.epsilon.get(), epsilon.get());
        if e >= bound {
            return 0.0;
        }
        // (e^eps - e^e) / (1 + e^eps), divided by e^eps above and below.
        (-(e - bound).exp_m1() / (1.0 + (-bound).exp()) * UP).min(1.0)
    }

    /// The Rényi divergence at `order`, equation (2), rounded up.
    pub fn renyi(self, order: Order) -> Renyi {
        let steps = Steps(vec![(Step::Pure { epsilon: self.epsilon.get() }, 1)]);
        // A pure release has a curve; were there none, its pure bound would still hold.
        let whole = rdp::Composition::new(&steps).map(|whole| whole.divergence(order.get()));
        let divergence = whole.unwrap_or(self.epsilon.get());
        let divergence = Epsilon::new(divergence.min(self.epsilon.get()));
        // No more than an epsilon, which is in range; no divergence is negative.
        Renyi::new(order, divergence.unwrap_or(self.epsilon))
    }

    /// Equation (3), rounded up: the least ρ that every ε-DP mechanism has.
    pub fn zcdp_tight(self) -> Zcdp {
        let epsilon = self.epsilon.get();
        Zcdp::at_most(epsilon * (0.5 * epsilon).tanh() * UP, self.epsilon)
    }

    /// Both, one after the other.
    pub fn and(self, next: Self) -> Result<Self, ParamError> {
        Epsilon::new((self.epsilon.get() + next.epsilon.get()) * UP).map(Self::new)
    }

    /// For groups of `size` units: ε grows with the size.
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        Approximate::from(self).group(size).map(|grown| Self::new(grown.epsilon()))
    }

    /// What an accountant is told.
    pub fn event(self) -> Event {
        Event::Pure { epsilon: self.epsilon }
    }
}

impl From<Pure> for Approximate {
    fn from(pure: Pure) -> Self {
        Self::new(pure.epsilon, Delta::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pure(epsilon: f64) -> Pure {
        Pure::new(Epsilon::new(epsilon).unwrap())
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn rho_of_the_worst_and_of_laplace_noise() {
        for (epsilon, tight, laplace) in [
            (0.1f64, 0.004995837495788, 0.004837418036),
            (1.0, 0.462117157260, 0.367879441171),
            (3.0, 2.715444760935, 2.049787068368),
        ] {
            close(pure(epsilon).zcdp_tight().rho().get(), tight, 1e-11);
            close(Zcdp::of_laplace(Epsilon::new(epsilon).unwrap()).rho().get(), laplace, 1e-9);
            close(Zcdp::from(pure(epsilon)).rho().get(), (epsilon * epsilon / 2.0).min(epsilon), 1e-14);
        }
    }

    /// (3) is above `D_a / a` on a dense grid of orders, and met next to order 1.
    #[test]
    fn no_order_exceeds_the_tight_concentration() {
        for epsilon in [0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0] {
            let rho = pure(epsilon).zcdp_tight().rho().get();
            for i in 0..600 {
                let order = 1.0 + 10f64.powf(-4.0 + 0.012 * f64::from(i));
                let quotient = pure(epsilon).renyi(Order::new(order).unwrap()).divergence().get() / order;
                assert!(quotient <= rho * (1.0 + 1e-11), "epsilon {epsilon}, order {order}: {quotient}");
            }
            let first = pure(epsilon).renyi(Order::new(1.0 + 1e-9).unwrap()).divergence().get();
            close(first, rho, 1e-6);
        }
    }

    #[test]
    fn renyi_divergences_meet_reference_values() {
        for (epsilon, order, exact) in
            [(1.0, 2.0, 0.7353256640555), (1.0, 8.0, 0.9552483740549), (0.1, 2.0, 0.009958584394956)]
        {
            let found = pure(epsilon).renyi(Order::new(order).unwrap()).divergence().get();
            close(found, exact, 1e-11);
            assert!(found <= epsilon.min(0.5 * order * epsilon * epsilon), "{found}");
        }
    }

    /// Randomized response in its own words: the truth with e^eps / (1 + e^eps).
    #[test]
    fn profile_of_the_worst_mechanism() {
        for (bound, at) in [(1.0f64, 0.0f64), (1.0, 0.4), (3.0, 2.5), (0.01, 0.005)] {
            let truth = bound.exp() / (1.0 + bound.exp());
            close(pure(bound).delta(Epsilon::new(at).unwrap()), truth - at.exp() * (1.0 - truth), 1e-11);
        }
        assert_eq!(pure(1.0).delta(Epsilon::new(1.0).unwrap()), 0.0);
        assert!((pure(900.0).delta(Epsilon::new(0.0).unwrap()) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn epsilon_adds_and_grows_with_groups() {
        let two = pure(0.25).and(pure(0.5)).unwrap().epsilon().get();
        assert!((0.75..0.75 + 1e-14).contains(&two), "{two}");
        assert_eq!(pure(0.5).group(Count::new(3).unwrap()).unwrap().epsilon().get(), 1.5);
        assert!(pure(1e308).group(Count::new(3).unwrap()).is_err());
    }
}
