//! Costs that add up whatever comes next.
//!
//! Pure bounds, Rényi divergences at one fixed order, and squares of Gaussian distances may be
//! summed even when later releases are chosen by the results of earlier ones (Feldman, Zrnic,
//! "Individual Privacy Accounting via a Rényi Filter", 2021; Smith, Thakurta, "Fully Adaptive
//! Composition for Gaussian Differential Privacy", 2022). A pure release has the distance of
//! [`Gdp::dominating`]. Where a release is promised something only outside an event of some
//! probability, these probabilities are summed beside them (Whitehouse, Ramdas, Rogers, Wu,
//! "Fully-Adaptive Composition in Differential Privacy", 2023): an (ε, δ)-private release is,
//! with probability 1 - δ, one that is ε-private (Kairouz, Oh, Viswanath, "The Composition
//! Theorem for Differential Privacy", 2015).

use super::error::AccountError;
use super::flatten::flatten;
use super::step::{Step, Steps};
use super::{closed, rdp};
use crate::claim::Claim;
use crate::notion::Gdp;
use crate::params::Epsilon;

/// Sums over some releases; ∞ where a release has no such bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    /// Sum of pure bounds.
    pub(crate) pure: f64,
    /// Sum of the probabilities with which nothing is promised about `renyi` and `gaussian`.
    pub(crate) lost: f64,
    /// Sum of the squares of Gaussian distances.
    pub(crate) gaussian: f64,
    /// Sums of Rényi divergences at the orders of the tally.
    pub(crate) renyi: Vec<f64>,
}

/// What a claim adds to a tally at `orders`.
pub(crate) fn tally(claim: &Claim, orders: &[f64]) -> Result<Tally, AccountError> {
    let steps = flatten(claim)?;
    let pure = closed::at_delta_zero(&steps).upper;
    Ok(match rdp::Composition::new(&steps) {
        Ok(whole) => {
            let renyi = orders.iter().map(|order| whole.divergence(*order)).collect();
            Tally { pure, lost: whole.lost(), gaussian: squares(&steps), renyi }
        }
        Err(_) => {
            Tally { pure, lost: 0.0, gaussian: f64::INFINITY, renyi: vec![f64::INFINITY; orders.len()] }
        }
    })
}

/// Sum of the squares of the distances of Gaussian pairs that dominate the
/// steps, rounded up; ∞ if one has none.
fn squares(steps: &Steps) -> f64 {
    let sum: f64 = steps.0.iter().map(|(step, count)| *count as f64 * square(step)).sum();
    sum * (1.0 + f64::EPSILON * (steps.0.len() + 16) as f64)
}

fn square(step: &Step) -> f64 {
    if let Step::Gaussian { mu } = step {
        return mu * mu;
    }
    // An approximate release is pure outside the event that is lost.
    let outside = if let Step::Approximate { epsilon, .. } = step { Some(*epsilon) } else { None };
    let pure = outside.or_else(|| closed::pure_epsilon(step));
    // Quotients and logarithms were rounded to nearest.
    let pure = pure.and_then(|epsilon| Epsilon::new(epsilon * (1.0 + 16.0 * f64::EPSILON)).ok());
    pure.and_then(Gdp::dominating).map_or(f64::INFINITY, |gdp| gdp.mu().get() * gdp.mu().get())
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
            let renyi =
                |neighbours| tally(&Claim::new(neighbours, event.clone()), &[order]).unwrap().renyi[0];
            let (added, replaced) = (renyi(Neighbours::AddRemove), renyi(Neighbours::Replace));
            // a mu^2 / 2 with mu = 1/3
            assert!((added - order / 18.0).abs() < 1e-9, "{added}");
            assert!((replaced / added - 4.0).abs() < 1e-9, "{replaced} {added}");
        }
    }

    #[test]
    fn what_has_no_bound_is_infinite() {
        let of = |event| tally(&Claim::new(Neighbours::AddRemove, event), &[4.0]).unwrap();
        let noise = of(Event::gaussian(NoiseMultiplier::new(3.0).unwrap()));
        assert!(noise.pure == f64::INFINITY && noise.renyi[0].is_finite());
        let pure = of(Event::Pure { epsilon: Epsilon::new(0.5).unwrap() });
        assert!((pure.pure - 0.5).abs() < 1e-9 && pure.renyi[0] <= 0.5);
        let infinite = f64::INFINITY;
        let nothing = Tally { pure: infinite, lost: 0.0, gaussian: infinite, renyi: vec![infinite] };
        assert_eq!(of(Event::NonPrivate), nothing);
    }

    /// 1/3² for a Gaussian; (2 Phi^-1(e^ε / (1 + e^ε)))² for what is pure; nothing finite for
    /// samples, which have no such pair.
    #[test]
    fn squares_of_gaussian_distances() {
        let of = |event| tally(&Claim::new(Neighbours::AddRemove, event), &[4.0]).unwrap().gaussian;
        let noise = Event::gaussian(NoiseMultiplier::new(3.0).unwrap());
        assert!((of(noise.clone()) - 1.0 / 9.0).abs() < 1e-14);
        let pure = of(Event::Pure { epsilon: Epsilon::new(1.0).unwrap() });
        assert!((pure - 1.232_035_4f64.powi(2)).abs() < 1e-6, "{pure}");
        let both = of(Event::composed([noise.clone(), Event::Pure { epsilon: Epsilon::new(1.0).unwrap() }]));
        assert!((both - pure - 1.0 / 9.0).abs() < 1e-14);
        let sampled = noise.poisson_sampled(crate::params::SamplingRate::new(0.1).unwrap());
        assert_eq!(of(sampled), f64::INFINITY);
        assert_eq!(of(Event::Zcdp { rho: crate::params::Rho::new(0.1).unwrap() }), f64::INFINITY);
        assert_eq!(of(Event::composed([])), 0.0);
    }

    /// Outside its δ, a release costs what the pure one costs.
    #[test]
    fn a_delta_is_lost_and_the_rest_is_pure() {
        let of = |event| tally(&Claim::new(Neighbours::AddRemove, event), &[1.5, 4.0]).unwrap();
        let epsilon = Epsilon::new(0.5).unwrap();
        let pair = of(Event::Approximate { epsilon, delta: Delta::new(1e-7).unwrap() });
        assert_eq!(pair.pure, f64::INFINITY);
        assert!(pair.lost >= 1e-7 && pair.lost < 1.000_001e-7, "{pair:?}");
        assert_eq!(pair.renyi, of(Event::Pure { epsilon }).renyi);
    }
}
