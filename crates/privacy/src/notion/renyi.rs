//! Rényi privacy at one order, and the three roads from there to (ε, δ).
//!
//! # Definition
//! `D_a(P‖Q) = ln E_Q[(dP/dQ)^a] / (a - 1) <= r` (Mironov, *Rényi Differential Privacy*, 2017).
//! # Guarantee
//! ```text
//! basic      eps = r + ln(1/delta) / (a - 1)                                               (1)
//! improved   eps = r + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)                           (2)
//! optimal    the worst of all two-point pairs with divergence r                            (3)
//! at eps = 0   delta <= sqrt(1 - e^-r)                                                     (4)
//! groups of 2^c   order a / 2^c, divergence 3^c r, for a >= 2^(c+1)                        (5)
//! ```
//! exact <= (3) <= (2) <= (1). (1) Mironov, proposition 3; (2) Canonne, Kamath, Steinke 2020,
//! proposition 12, and Balle, Barthe, Gaboardi, Hsu, Sato 2020; (3) Asoodeh, Liao, Calmon, Kosut,
//! Sankar 2021; (4) Bretagnolle and Huber 1979; (5) Mironov, proposition 2.
//! # Pitfalls
//! (2) may be negative at a badly chosen order: it is clamped at 0. A curve must not be
//! interpolated in r; `(a - 1) r(a)` may be.

use crate::accounting::rdp::{self, convert};
use crate::accounting::step::{Step, Steps};
use crate::event::{Event, RenyiCurve};
use crate::params::{Count, Delta, Epsilon, Order, ParamError};

/// A bound on the Rényi divergence at one order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Renyi {
    order: Order,
    divergence: Epsilon,
}

impl Renyi {
    /// `D_order` is at most `divergence`.
    pub fn new(order: Order, divergence: Epsilon) -> Self {
        Self { order, divergence }
    }

    /// The order.
    pub fn order(self) -> Order {
        self.order
    }

    /// The bound.
    pub fn divergence(self) -> Epsilon {
        self.divergence
    }

    /// Equation (1), rounded up.
    pub fn epsilon_basic(self, delta: Delta) -> f64 {
        convert::epsilon_basic(self.order.get(), self.divergence.get(), delta.get())
    }

    /// Equation (2), rounded up, and not below 0.
    pub fn epsilon_improved(self, delta: Delta) -> f64 {
        convert::epsilon_improved(self.order.get(), self.divergence.get(), delta.get()).max(0.0)
    }

    /// Equation (3), rounded up: nothing smaller follows from one divergence alone.
    pub fn epsilon(self, delta: Delta) -> f64 {
        convert::epsilon(self.order.get(), self.divergence.get(), delta.get())
    }

    /// The least δ at ε that follows from (3) and (4), rounded up.
    pub fn delta(self, epsilon: Epsilon) -> f64 {
        convert::delta(self.order.get(), self.divergence.get(), epsilon.get())
    }

    /// Equation (4): the advantage of any attacker, with ε = 0.
    pub fn total_variation(self) -> f64 {
        ((-(-self.divergence.get()).exp_m1()).sqrt() * (1.0 + 4.0 * f64::EPSILON)).min(1.0)
    }

    /// Both, one after the other; `None` at different orders, which do not add up.
    pub fn and(self, next: Self) -> Option<Self> {
        let divergence = Epsilon::new((self.divergence.get() + next.divergence.get()) * super::UP).ok()?;
        (self.order == next.order).then_some(Self { divergence, ..self })
    }

    /// For groups of `size` units, equation (5) with the next power of two. Fails where the order
    /// is too small to be divided so often.
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        let doublings = doublings(size);
        let order = self.order.get() / 2f64.powi(doublings as i32);
        let order = super::checked("order of a group", "at least 2 after halving", order, order >= 2.0)?;
        let divergence = self.divergence.get() * 3f64.powi(doublings as i32) * super::UP;
        Ok(Self { order: Order::new(order)?, divergence: Epsilon::new(divergence)? })
    }
}

/// How often a group of one must double to hold `size` units.
pub(crate) fn doublings(size: Count) -> u32 {
    size.get().next_power_of_two().trailing_zeros()
}

impl RenyiCurve {
    /// The least ε at δ that any order gives, rounded up.
    pub fn epsilon(&self, delta: Delta) -> f64 {
        rdp::epsilon(&self.steps(), delta.get()).map_or(f64::INFINITY, |found| found.value)
    }

    /// The least δ at ε that any order gives, rounded up.
    pub fn delta(&self, epsilon: Epsilon) -> f64 {
        rdp::delta(&self.steps(), epsilon.get()).map_or(1.0, |found| found.value)
    }

    /// What an accountant is told.
    pub fn event(self) -> Event {
        Event::Renyi(self)
    }

    fn steps(&self) -> Steps {
        Steps(vec![(Step::Renyi { orders: self.orders(), epsilons: self.epsilons() }, 1)])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::notion::Gdp;
    use crate::params::Mu;

    fn renyi(order: f64, divergence: f64) -> Renyi {
        Renyi::new(Order::new(order).unwrap(), Epsilon::new(divergence).unwrap())
    }

    fn delta(delta: f64) -> Delta {
        Delta::new(delta).unwrap()
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn three_conversions_give_their_published_epsilons() {
        for (order, r, d, basic, improved, optimal) in [
            (8.0, 1.0, 1e-6, 2.973644365423, 2.543049895416, 2.5429195750),
            (2.0, 0.5, 1e-3, 7.407755278982, 6.021460917862, 5.0948497046),
            (32.0, 0.5, 1e-5, 0.871384692418, 0.727838061755, 0.7278380558),
            (1.5, 0.2, 1e-2, 9.410340371976, 7.500797867092, 3.1930286021),
        ] {
            close(renyi(order, r).epsilon_basic(delta(d)), basic, 1e-11);
            close(renyi(order, r).epsilon_improved(delta(d)), improved, 1e-11);
            close(renyi(order, r).epsilon(delta(d)), optimal, 1e-9);
        }
    }

    /// Two Bernoulli laws whose divergence of order 2 is r meet (4) from below, and nearly at large
    /// r.
    #[test]
    fn total_variation_of_two_coins() {
        for (p, q) in [(0.5, 0.4), (0.9, 0.1), (0.999, 0.001), (0.51, 0.5)] {
            let kl: f64 = p * f64::ln(p / q) + (1.0 - p) * f64::ln((1.0 - p) / (1.0 - q));
            let power: f64 = p * p / q + (1.0 - p) * (1.0 - p) / (1.0 - q);
            for r in [kl, power.ln()] {
                let bound = renyi(2.0, r).total_variation();
                assert!(p - q <= bound && bound <= 1.0, "{p} {q}: {bound}");
            }
        }
        assert!(renyi(2.0, 0.0).total_variation() == 0.0);
    }

    /// k Gaussians moved by mu: order a/4 of a group of four is 16 a mu²/8 = 2 a mu², and (5) says
    /// 9 a mu²/2.
    #[test]
    fn groups_cost_at_least_the_truth() {
        let mu = 0.3;
        for (size, order) in [(2u64, 8.0), (4, 16.0), (3, 16.0), (8, 64.0)] {
            let group = renyi(order, 0.5 * order * mu * mu).group(Count::new(size).unwrap()).unwrap();
            let truth = 0.5 * group.order().get() * (size as f64 * mu).powi(2);
            assert!(group.divergence().get() >= truth, "{group:?} below {truth}");
        }
        assert!(renyi(4.0, 0.1).group(Count::new(4).unwrap()).is_err());
        assert_eq!(renyi(1.5, 0.1).and(renyi(2.0, 0.1)), None);
        close(renyi(2.0, 0.1).and(renyi(2.0, 0.2)).unwrap().divergence().get(), 0.3, 1e-12);
    }

    #[test]
    fn a_curve_takes_its_best_order() {
        let orders = [2.0, 4.0, 8.0, 16.0];
        let curve = RenyiCurve::new(&orders, &orders.map(|a| a / 32.0)).unwrap();
        let found = curve.epsilon(delta(1e-5));
        let best =
            orders.map(|a| renyi(a, a / 32.0).epsilon(delta(1e-5))).into_iter().fold(f64::MAX, f64::min);
        assert!(found <= best * (1.0 + 1e-12), "{found} above {best}");
        close(curve.delta(Epsilon::new(found).unwrap()), 1e-5, 1e-6);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        /// exact <= optimal <= improved <= basic, for the Gaussian with that divergence at that
        /// order.
        #[test]
        fn ordering(ln_excess in -3.0f64..6.0, ln_r in -12.0f64..3.0, ln_delta in -35.0f64..-1.0) {
            let (order, r, d) = (1.0 + ln_excess.exp(), ln_r.exp(), delta(ln_delta.exp()));
            let exact = Gdp::new(Mu::new((2.0 * r / order).sqrt()).unwrap()).epsilon(d);
            let point = renyi(order, r);
            let (optimal, improved) = (point.epsilon(d), point.epsilon_improved(d));
            let basic = point.epsilon_basic(d);
            prop_assert!(exact <= optimal * (1.0 + 1e-10) + 1e-12, "{} above {}", exact, optimal);
            prop_assert!(optimal <= improved * (1.0 + 1e-10) + 1e-12, "{} above {}", optimal, improved);
            prop_assert!(improved <= basic * (1.0 + 1e-10), "{} above {}", improved, basic);
            // Each falls with delta and rises with the divergence.
            let (more, worse) = (delta(d.get() * 1.3), renyi(order, r * 1.3));
            prop_assert!(point.epsilon(more) <= optimal + 1e-9 * (1.0 + optimal));
            prop_assert!(worse.epsilon(d) >= optimal - 1e-9 * (1.0 + optimal));
        }
    }
}
