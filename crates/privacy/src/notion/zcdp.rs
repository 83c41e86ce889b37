//! Zero-concentrated privacy: the privacy loss has the tails of a Gaussian.
//!
//! # Definition
//! (xi, rho)-zCDP: `D_a(P‖Q) <= xi + rho a` for all orders a > 1 (Bun, Steinke, *Concentrated
//! Differential Privacy: Simplifications, Extensions, and Lower Bounds*, 2016); rho-zCDP is xi = 0.
//! # Guarantee
//! ```text
//! basic      eps = xi + rho + 2 sqrt(rho ln(1/delta))                                      (1)
//! improved   eps = min_a D_a + ln(1 - 1/a) - (ln delta + ln a) / (a - 1)                   (2)
//! optimal    the best two-point pair at the best order, never above (2)                    (3)
//! groups     (xi k (1 + 1/2 + ... + 1/k), k² rho)                                          (4)
//! ```
//! (1) Bun and Steinke, proposition 1.3; (2) Canonne, Kamath, Steinke, *The Discrete Gaussian for
//! Differential Privacy*, 2020, corollary 13; (3) Asoodeh, Liao, Calmon, Kosut, Sankar, *Three
//! Variants of Differential Privacy*, 2021, at each order; (4) Bun and Steinke, proposition 1.9 for
//! xi = 0.
//! # Pitfalls
//! Sampling does not amplify zCDP at all orders; a sampled Gaussian is not rho-zCDP for a small
//! rho.

use super::{Gdp, Pure, UP};
use crate::accounting::rdp::{self, convert};
use crate::event::{Event, RenyiCurve};
use crate::numerics::search;
use crate::params::{Count, Delta, Epsilon, ParamError, Rho};

/// (ξ, ρ)-zCDP.
///
/// ```
/// use sordino_privacy::{Delta, Epsilon, Rho, notion::Zcdp};
/// let zcdp = Zcdp::new(Rho::new(0.5)?);
/// assert!(zcdp.epsilon(Delta::new(1e-5)?) < 4.7284);
/// // The largest rho whose basic conversion meets a target:
/// let rho = Zcdp::least_basic(Epsilon::new(1.0)?, Delta::new(1e-5)?).rho().get();
/// assert!((rho - 0.0208199383395).abs() < 1e-12);
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zcdp {
    xi: Epsilon,
    rho: Rho,
}

impl Zcdp {
    /// ρ-zCDP.
    pub fn new(rho: Rho) -> Self {
        Self { xi: Epsilon::ZERO, rho }
    }

    /// (ξ, ρ)-zCDP.
    pub fn with_offset(xi: Epsilon, rho: Rho) -> Self {
        Self { xi, rho }
    }

    /// Laplace noise of sensitivity over scale `epsilon`: `rho = eps + e^-eps - 1`, below that of
    /// the whole class of ε-DP mechanisms (Harrison, Manurangsi, *Exact zCDP Characterizations*,
    /// 2025).
    pub fn of_laplace(epsilon: Epsilon) -> Self {
        let e = epsilon.get();
        // e²/2 - e³/6 + ...: for small e the two leading terms would cancel.
        let rho = if e < 1e-2 {
            e * e * (0.5 - e * (1.0 / 6.0 - e * (1.0 / 24.0 - e * (1.0 / 120.0 - e / 720.0)))) * (1.0 + 1e-12)
        } else {
            e + (-e).exp_m1()
        };
        Self::at_most(rho * (1.0 + 1e-12), epsilon)
    }

    /// The largest ρ, rounded down, for which the basic conversion (1) stays within ε at δ:
    /// `(sqrt(ln(1/delta) + eps) - sqrt(ln(1/delta)))²`. Zero if δ is 0.
    pub fn least_basic(epsilon: Epsilon, delta: Delta) -> Self {
        let (e, log) = (epsilon.get(), -delta.get().ln());
        // The difference of roots without cancellation: eps over their sum. At delta = 0 that is 0.
        let root = e / ((log + e).sqrt() + log.sqrt());
        Self::at_most(root * root * (1.0 - 16.0 * f64::EPSILON), epsilon)
    }

    /// The smaller of two bounds on ρ, one of which is in range.
    pub(super) fn at_most(rho: f64, sure: Epsilon) -> Self {
        // A number from 0 to a finite one is a rho.
        Self::new(Rho::new(rho.min(sure.get())).expect("between 0 and a finite number"))
    }

    /// ξ.
    pub fn xi(self) -> Epsilon {
        self.xi
    }

    /// ρ.
    pub fn rho(self) -> Rho {
        self.rho
    }

    /// Equation (1), rounded up.
    pub fn epsilon_basic(self, delta: Delta) -> f64 {
        let (rho, log) = (self.rho.get(), -delta.get().ln());
        if rho == 0.0 {
            return self.xi.get();
        }
        (self.xi.get() + rho + 2.0 * (rho * log).sqrt()) * UP
    }

    /// Equation (2), rounded up, and not below 0.
    pub fn epsilon_improved(self, delta: Delta) -> f64 {
        self.least(
            |order| convert::epsilon_improved(order, self.divergence(order), delta.get()).max(0.0),
            delta,
        )
    }

    /// The least ε at δ that is known, (3); ∞ if δ is 0 and ρ is not.
    pub fn epsilon(self, delta: Delta) -> f64 {
        let found = rdp::least_epsilon(|order| self.divergence(order), None, delta.get()).value;
        found.min(self.epsilon_improved(delta)).min(self.epsilon_basic(delta))
    }

    /// The least δ at ε that is known.
    pub fn delta(self, epsilon: Epsilon) -> f64 {
        rdp::least_delta(|order| self.divergence(order), None, epsilon.get()).value
    }

    /// Both, one after the other.
    pub fn and(self, next: Self) -> Result<Self, ParamError> {
        let xi = Epsilon::new((self.xi.get() + next.xi.get()) * UP)?;
        Ok(Self { xi, rho: Rho::new((self.rho.get() + next.rho.get()) * UP)? })
    }

    /// For groups of `size` units, equation (4).
    pub fn group(self, size: Count) -> Result<Self, ParamError> {
        let k = size.get() as f64;
        if size == Count::ONE {
            return Ok(self);
        }
        // 1 + 1/2 + ... + 1/k <= 1 + ln k
        let harmonic = if k < 1e3 { (1..=size.get()).map(|i| 1.0 / i as f64).sum() } else { 1.0 + k.ln() };
        let xi = if self.xi == Epsilon::ZERO { 0.0 } else { self.xi.get() * k * harmonic * (1.0 + 1e-12) };
        Ok(Self { xi: Epsilon::new(xi)?, rho: Rho::new(self.rho.get() * k * k * UP)? })
    }

    /// What an accountant is told: `zcdp`, or the Rényi curve on a grid of orders if there is a ξ.
    pub fn event(self) -> Event {
        if self.xi == Epsilon::ZERO {
            return Event::Zcdp { rho: self.rho };
        }
        listed(f64::INFINITY, |order| self.divergence(order))
    }

    fn divergence(self, order: f64) -> f64 {
        (self.xi.get() + self.rho.get() * order) * UP
    }

    /// The least of `at` over orders: one valley, about where `(a - 1)² rho = ln(1/delta)`.
    fn least(self, at: impl Fn(f64) -> f64, delta: Delta) -> f64 {
        if delta == Delta::ZERO {
            return if self.rho.get() == 0.0 { self.xi.get() } else { f64::INFINITY };
        }
        let centre = 0.5 * (-delta.get().ln() / self.rho.get().max(1e-300)).ln();
        search::least(centre - 8.0, centre + 8.0, 1e-9, |x| at(1.0 + x.exp())).1
    }
}

impl From<Pure> for Zcdp {
    /// The classical `eps²/2`, or ε if that is less; [`Pure::zcdp_tight`] is smaller.
    fn from(pure: Pure) -> Self {
        let epsilon = pure.epsilon().get();
        // No eps-DP mechanism has a rho above eps, see `Pure::zcdp_tight`.
        Self::at_most(0.5 * epsilon * epsilon * UP, pure.epsilon())
    }
}

impl TryFrom<Gdp> for Zcdp {
    type Error = ParamError;

    /// `mu²/2`: the same Rényi curve, but a larger profile. Fails where the square overflows.
    fn try_from(gdp: Gdp) -> Result<Self, ParamError> {
        let mu = gdp.mu().get();
        Rho::new(0.5 * mu * mu * UP).map(Self::new)
    }
}

/// A curve below `limit`, listed at orders that are dense enough to lose little between them:
/// chords of `(a - 1) D_a` lie above it.
pub(super) fn listed(limit: f64, divergence: impl Fn(f64) -> f64) -> Event {
    let mut orders: Vec<f64> = std::iter::successors(Some(1.01), |order| Some(1.0 + (order - 1.0) * 1.04))
        .take_while(|order| *order < limit.min(1e7))
        .collect();
    if limit.is_finite() {
        orders.push(limit - (limit - 1.0) * 1e-9);
    }
    orders.dedup();
    let epsilons: Vec<f64> = orders.iter().map(|order| divergence(*order)).collect();
    // Orders ascend above 1 and there are some hundreds; a divergence that is no number is no
    // guarantee.
    RenyiCurve::new(&orders, &epsilons).map_or(Event::NonPrivate, Event::Renyi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zcdp(rho: f64) -> Zcdp {
        Zcdp::new(Rho::new(rho).unwrap())
    }

    fn delta(delta: f64) -> Delta {
        Delta::new(delta).unwrap()
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn three_conversions_lie_above_the_exact_gaussian() {
        for (rho, d, basic, improved, gaussian) in [
            (0.5, 1e-5, 5.298525912188, 4.728386984943, 4.37717809568),
            (0.1, 1e-6, 2.450788000477, 2.141938928385, 1.9945269007),
            (0.005, 1e-6, 0.530652176976, 0.429941468837, 0.396857377644),
            (2.0, 1e-9, 14.875796157736, 14.150147553875, 13.5347722192),
        ] {
            close(zcdp(rho).epsilon_basic(delta(d)), basic, 1e-11);
            close(zcdp(rho).epsilon_improved(delta(d)), improved, 1e-11);
            let best = zcdp(rho).epsilon(delta(d));
            assert!(gaussian <= best && best <= improved * (1.0 + 1e-11), "{best}");
            let mu = crate::params::Mu::new((2.0 * rho).sqrt()).unwrap();
            close(Gdp::new(mu).epsilon(delta(d)), gaussian, 1e-9);
            close(Zcdp::try_from(Gdp::new(mu)).unwrap().rho().get(), rho, 1e-14);
        }
        for (rho, epsilon, improved) in [(0.5, 4.0, 1.9579541696e-4), (0.1, 1.0, 8.9332457718e-3)] {
            let found = zcdp(rho).delta(Epsilon::new(epsilon).unwrap());
            assert!(found <= improved * (1.0 + 1e-9) && found > 0.95 * improved, "{found}");
        }
    }

    /// The inverse of (1) meets its target from below.
    #[test]
    fn the_inverse_meets_its_target_from_below() {
        let found = Zcdp::least_basic(Epsilon::new(1.0).unwrap(), delta(1e-5));
        close(found.rho().get(), 0.0208199383395, 1e-11);
        assert!(found.epsilon_basic(delta(1e-5)) <= 1.0);
        assert_eq!(Zcdp::least_basic(Epsilon::new(1.0).unwrap(), delta(0.0)).rho().get(), 0.0);
    }

    #[test]
    fn an_offset_is_paid_once_and_grows_with_groups() {
        let both = Zcdp::with_offset(Epsilon::new(0.2).unwrap(), Rho::new(0.1).unwrap());
        close(both.epsilon_basic(delta(1e-6)), 2.450788000477 + 0.2, 1e-11);
        let four = both.group(Count::new(4).unwrap()).unwrap();
        close(four.rho().get(), 1.6, 1e-12);
        close(four.xi().get(), 0.2 * 4.0 * (1.0 + 0.5 + 1.0 / 3.0 + 0.25), 1e-11);
        close(both.and(zcdp(0.3)).unwrap().rho().get(), 0.4, 1e-12);
        assert!(both.and(zcdp(0.3)).unwrap().xi().get() >= 0.2);
    }

    #[test]
    fn edges() {
        assert_eq!(zcdp(0.0).epsilon(delta(0.0)), 0.0);
        assert_eq!(zcdp(0.1).epsilon(delta(0.0)), f64::INFINITY);
        assert!(zcdp(1e4).epsilon(delta(1e-5)).is_finite());
        assert!(zcdp(1e-12).epsilon(delta(1e-5)) < 1e-5);
        assert!(zcdp(1e-8).delta(Epsilon::new(5.0).unwrap()) < 1e-290);
    }

    /// Small-e series of the Laplace constant against the formula at its seam.
    #[test]
    fn the_laplace_series_joins_its_formula() {
        let at = |e: f64| Zcdp::of_laplace(Epsilon::new(e).unwrap()).rho().get();
        close(at(0.0099999999), at(0.0100000001), 1e-7);
        close(at(1e-6), 0.5e-12 - 1e-18 / 6.0, 1e-11);
    }

    /// The event of a zCDP with an offset costs what the value says.
    #[test]
    fn an_offset_becomes_a_listed_curve() {
        use crate::{Accountant, Claim, Neighbours, accounting};
        let both = Zcdp::with_offset(Epsilon::new(0.2).unwrap(), Rho::new(0.1).unwrap());
        let claim = Claim::new(Neighbours::AddRemove, both.event());
        let found = accounting::epsilon(&claim, delta(1e-6), Accountant::Auto).unwrap().bound.upper;
        let value = both.epsilon(delta(1e-6));
        assert!(found >= value * (1.0 - 1e-9) && found <= value * 1.001, "{found} against {value}");
    }
}
