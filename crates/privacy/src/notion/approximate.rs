//! Approximate privacy: pure, but for a little mass.
//!
//! # Definition
//! `P(S) <= e^eps Q(S) + delta` for all events S (Dwork, Kenthapadi, McSherry, Mironov, Naor, *Our
//! Data, Ourselves: Privacy via Distributed Noise Generation*, 2006).
//! # Guarantee
//! ```text
//! trade-off       f(t) = max(0, 1 - delta - e^eps t, e^-eps (1 - delta - t))               (1)
//! groups of k     (k eps, delta (e^(k eps) - 1) / (e^eps - 1))                             (2)
//! ```
//! (1) Wasserman and Zhou, *A Statistical Framework for Differential Privacy*, 2010; Kairouz, Oh,
//! Viswanath
//! 2015. Outside an event of probability delta under either law the two are eps-close (Kairouz, Oh,
//! Viswanath 2015, theorem 3.2's decomposition), so that a Rényi divergence holds there.
//! # Pitfalls
//! It does *not* mean `P[loss > eps] <= delta`: that is stronger. N(0, 1) against N(1, 1) is (1,
//! 0.127)-DP though its loss exceeds 1 with probability 0.309.

use super::{Pure, Renyi};
use crate::event::Event;
use crate::params::{Count, Delta, Epsilon, Order, ParamError};
use crate::relation::group_guarantee;

/// (ε, δ)-DP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Approximate {
    epsilon: Epsilon,
    delta: Delta,
}

impl Approximate {
    /// With these ε and δ.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        Self { epsilon, delta }
    }

    /// ε.
    pub fn epsilon(self) -> Epsilon {
        self.epsilon
    }

    /// δ.
    pub fn delta(self) -> Delta {
        self.delta
    }

    /// The Rényi divergence at `order` outside an event of probability δ. Such events add up over a
    /// composition to `1 - prod (1 - δ_i)`.
    pub fn renyi_outside(self, order: Order) -> (Renyi, Delta) {
        (Pure::new(self.epsilon).renyi(order), self.delta)
    }

    /// For groups of `size` units, equation (2). Fails where nothing is left of the guarantee.
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        group_guarantee(self.epsilon, self.delta, size).map(|(epsilon, delta)| Self::new(epsilon, delta))
    }

    /// What an accountant is told.
    pub fn event(self) -> Event {
        Event::Approximate { epsilon: self.epsilon, delta: self.delta }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups() {
        let one = Approximate::new(Epsilon::new(0.5).unwrap(), Delta::new(1e-6).unwrap());
        let three = one.group(Count::new(3).unwrap()).unwrap();
        assert_eq!(three.epsilon().get(), 1.5);
        assert!((three.delta().get() / 5.367003099159e-6 - 1.0).abs() < 1e-11);
        // The looser textbook form, k e^((k-1) eps) delta.
        let loose: f64 = 3.0 * f64::exp(1.0) * 1e-6;
        assert!((loose / 8.154845485377e-6 - 1.0).abs() < 1e-11 && three.delta().get() < loose);
    }

    #[test]
    fn the_divergence_is_that_of_the_pure_part() {
        let lossy = Approximate::new(Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let (renyi, lost) = lossy.renyi_outside(Order::new(8.0).unwrap());
        assert!((renyi.divergence().get() / 0.9552483740549 - 1.0).abs() < 1e-11);
        assert_eq!(lost.get(), 1e-6);
    }
}
