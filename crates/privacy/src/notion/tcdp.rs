//! Truncated concentrated privacy: Gaussian tails up to an order.
//!
//! # Definition
//! `D_a(P‖Q) <= rho a` for all orders 1 < a < omega (Bun, Dwork, Rothblum, Steinke, *Composable and
//! Versatile Privacy via Truncated CDP*, 2018).
//! # Guarantee
//! Composition adds rho and keeps the smaller omega; groups of k have (k² rho, omega / k) (theorem
//! 5 there); (eps, delta) by the best order below omega. Unlike zCDP it is amplified by sampling.
//! # Pitfalls
//! Below `ln(1/delta) / (omega - 1)` no epsilon can be promised however small rho is.

use super::zcdp::listed;
use super::{UP, Zcdp};
use crate::accounting::rdp;
use crate::event::Event;
use crate::params::{Count, Delta, Epsilon, Order, ParamError, Rho};

/// (ρ, ω)-tCDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcdp {
    rho: Rho,
    omega: Order,
}

impl Tcdp {
    /// With this ρ for orders below ω.
    pub fn new(rho: Rho, omega: Order) -> Self {
        Self { rho, omega }
    }

    /// ρ.
    pub fn rho(self) -> Rho {
        self.rho
    }

    /// ω.
    pub fn omega(self) -> Order {
        self.omega
    }

    /// The least ε at δ that is known, rounded up.
    pub fn epsilon(self, delta: Delta) -> f64 {
        rdp::least_epsilon(|order| self.divergence(order), Some(self.last_order()), delta.get()).value
    }

    /// The least δ at ε that is known, rounded up.
    pub fn delta(self, epsilon: Epsilon) -> f64 {
        rdp::least_delta(|order| self.divergence(order), Some(self.last_order()), epsilon.get()).value
    }

    /// Both, one after the other.
    pub fn and(self, next: Self) -> Result<Self, ParamError> {
        let rho = Rho::new((self.rho.get() + next.rho.get()) * UP)?;
        Ok(Self { rho, omega: self.omega.min(next.omega) })
    }

    /// For groups of `size` units. Fails where no order above 1 is left.
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        let k = size.get() as f64;
        Ok(Self { rho: Rho::new(self.rho.get() * k * k * UP)?, omega: Order::new(self.omega.get() / k)? })
    }

    /// What an accountant is told: the Rényi curve on a grid of orders.
    pub fn event(self) -> Event {
        listed(self.omega.get(), |order| self.divergence(order))
    }

    fn divergence(self, order: f64) -> f64 {
        if order < self.omega.get() { self.rho.get() * order * UP } else { f64::INFINITY }
    }

    /// The bound holds below omega only.
    fn last_order(self) -> f64 {
        let omega = self.omega.get();
        omega - (omega - 1.0) * 1e-9
    }
}

impl Zcdp {
    /// The same, seen only below an order; ξ must be 0.
    pub fn truncated(self, omega: Order) -> Option<Tcdp> {
        (self.xi() == Epsilon::ZERO).then(|| Tcdp::new(self.rho(), omega))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcdp(rho: f64, omega: f64) -> Tcdp {
        Tcdp::new(Rho::new(rho).unwrap(), Order::new(omega).unwrap())
    }

    fn delta(delta: f64) -> Delta {
        Delta::new(delta).unwrap()
    }

    #[test]
    fn with_room_to_spare_it_is_zcdp() {
        let whole = Zcdp::new(Rho::new(0.1).unwrap());
        let cut = whole.truncated(Order::new(1e6).unwrap()).unwrap();
        let (with, without) = (cut.epsilon(delta(1e-6)), whole.epsilon(delta(1e-6)));
        assert!((with / without - 1.0).abs() < 1e-9, "{with} against {without}");
        assert!(
            Zcdp::with_offset(Epsilon::new(0.1).unwrap(), Rho::new(0.1).unwrap())
                .truncated(Order::new(9.0).unwrap())
                .is_none()
        );
    }

    /// Order 11.66 is best for rho = 0.1 at 1e-6; with omega = 4 the last order is, and costs more.
    #[test]
    fn without_room_the_last_order_decides() {
        let found = tcdp(0.1, 4.0).epsilon(delta(1e-6));
        let at_the_end = rdp::convert::epsilon(4.0, 0.4, 1e-6);
        assert!((found / at_the_end - 1.0).abs() < 1e-6, "{found} against {at_the_end}");
        assert!(found > Zcdp::new(Rho::new(0.1).unwrap()).epsilon(delta(1e-6)));
        let back = tcdp(0.1, 4.0).delta(Epsilon::new(found).unwrap());
        assert!((back / 1e-6 - 1.0).abs() < 1e-6, "{back}");
    }

    #[test]
    fn rho_adds_and_groups_lower_omega() {
        let four = tcdp(0.01, 40.0).group(Count::new(4).unwrap()).unwrap();
        assert!((four.rho().get() - 0.16).abs() < 1e-14 && four.omega().get() == 10.0);
        assert!(tcdp(0.01, 3.0).group(Count::new(4).unwrap()).is_err());
        let both = tcdp(0.01, 40.0).and(tcdp(0.02, 30.0)).unwrap();
        assert!((both.rho().get() - 0.03).abs() < 1e-14 && both.omega().get() == 30.0);
    }

    #[test]
    fn its_event_costs_what_it_says() {
        use crate::{Accountant, Claim, Neighbours, accounting};
        let claim = Claim::new(Neighbours::AddRemove, tcdp(0.1, 6.0).event());
        let found = accounting::epsilon(&claim, delta(1e-6), Accountant::Auto).unwrap().bound.upper;
        let value = tcdp(0.1, 6.0).epsilon(delta(1e-6));
        assert!(found >= value * (1.0 - 1e-8) && found <= value * 1.001, "{found} against {value}");
    }
}
