//! Costs that add up whatever comes next.
//!
//! Pure bounds, and Rényi divergences at one fixed order, may be summed even when later releases are
//! chosen by the results of earlier ones (Feldman, Zrnic, "Individual Privacy Accounting via a Rényi
//! Filter", 2021).

use super::error::AccountError;
use super::flatten::flatten;
use super::step::Steps;
use super::{closed, rdp};
use crate::claim::Claim;

/// Sums over some releases; ∞ where a release has no such bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tally {
    /// Sum of pure bounds.
    pub(crate) pure: f64,
    /// Sum of Rényi divergences at the order of the tally.
    pub(crate) renyi: f64,
}

impl Tally {
    /// No release.
    pub(crate) const NOTHING: Self = Self { pure: 0.0, renyi: 0.0 };

    /// These, and `count >= 1` times `other`.
    pub(crate) fn and(self, other: Self, count: u64) -> Self {
        let times = count as f64;
        Self { pure: self.pure + times * other.pure, renyi: self.renyi + times * other.renyi }
    }
}

/// What a claim adds to a tally at `order`.
pub(crate) fn tally(claim: &Claim, order: f64) -> Result<Tally, AccountError> {
    let steps = flatten(claim)?;
    Ok(Tally { pure: closed::at_delta_zero(&steps).upper, renyi: divergence(&steps, order) })
}

/// The divergence, if it bounds the whole release and not only the part outside some event of small
/// probability.
fn divergence(steps: &Steps, order: f64) -> f64 {
    match rdp::Composition::new(steps) {
        Ok(whole) if whole.holds_always() => whole.divergence(order),
        Ok(_) | Err(_) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::params::{Delta, Epsilon, NoiseMultiplier};
    use crate::relation::Neighbours;

    /// Replace-one accounted as add-remove reports a Rényi cost four times too low.
    #[test]
    fn pitfall_04_replace_costs_four_times_the_renyi_divergence() {
        let event = Event::gaussian(NoiseMultiplier::new(3.0).unwrap());
        for order in [1.5, 2.0, 17.0] {
            let renyi = |neighbours| tally(&Claim::new(neighbours, event.clone()), order).unwrap().renyi;
            let (added, replaced) = (renyi(Neighbours::AddRemove), renyi(Neighbours::Replace));
            // a mu^2 / 2 with mu = 1/3
            assert!((added - order / 18.0).abs() < 1e-9, "{added}");
            assert!((replaced / added - 4.0).abs() < 1e-9, "{replaced} {added}");
        }
    }

    #[test]
    fn what_has_no_bound_is_infinite() {
        let of = |event| tally(&Claim::new(Neighbours::AddRemove, event), 4.0).unwrap();
        let noise = of(Event::gaussian(NoiseMultiplier::new(3.0).unwrap()));
        assert!(noise.pure == f64::INFINITY && noise.renyi.is_finite());
        let pure = of(Event::Pure { epsilon: Epsilon::new(0.5).unwrap() });
        assert!((pure.pure - 0.5).abs() < 1e-9 && pure.renyi <= 0.5);
        // Outside an event of small probability is not always.
        let lossy =
            Event::Approximate { epsilon: Epsilon::new(0.5).unwrap(), delta: Delta::new(1e-9).unwrap() };
        assert_eq!(of(lossy).renyi, f64::INFINITY);
        assert_eq!(of(Event::NonPrivate), Tally { pure: f64::INFINITY, renyi: f64::INFINITY });
        let both = Tally::NOTHING.and(pure, 3).and(noise, 2);
        assert!(
            both.pure == f64::INFINITY && (both.renyi - 3.0 * pure.renyi - 2.0 * noise.renyi).abs() < 1e-12
        );
    }
}
