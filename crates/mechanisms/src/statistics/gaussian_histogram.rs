//! Counts of declared keys with Gaussian noise: for contributors who have many keys.
//!
//! # Definition
//! Every declared key is released with its count plus discrete Gaussian noise, zeros included:
//! which keys are missing would tell. Rows of other keys do not count.
//! ```text
//! P[Z = z] ~ exp(-z^2 / (2 sigma^2)),      sigma^2 = c m^2 / (2ρ)                                      (1)
//! ```
//! where one neighbour moves c counts by at most m each.
//!
//! # Guarantee
//! ρ-zCDP: one neighbour moves the counts by at most `sqrt(c) m` in L2 (Canonne, Kamath, Steinke,
//! "The discrete Gaussian for differential privacy", 2020, Theorem 4). With contributors of m rows
//! in each of k keys c = k if they appear or disappear and 2 k if they become others, but never
//! more than there are keys; a row has k = m = 1. The event is `zcdp`, or that of one integer if
//! only one count moves.
//!
//! # Pitfalls
//! - ρ is not ε: at a small δ it costs about `ρ + 2 sqrt(ρ ln(1/δ))`. There is no pure guarantee.
//! - For one key per contributor, a single release is more accurate with
//!   [`Histogram`](super::Histogram). Noise grows with the root of k here, and with k there.

use sordino_noise::Bits;
use sordino_privacy::{Event, Rho, Scale};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Cells;
use super::gaussian_cells::GaussianCells;
use super::keys;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Counts rows of each declared key, with Gaussian noise.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, GaussianHistogram, Rows};
/// use sordino_privacy::{Budget, Charge, Count, Delta, Epsilon, Neighbours, Rho, Terms, Unit};
/// let owner = Contributor::owner(Neighbours::AddRemove, "user_id", Count::ONE).in_keys(Count::new(2)?);
/// let plan = GaussianHistogram::new(Rho::new(0.01)?, &["yes", "no", "unsure"], owner)?;
/// assert!((plan.sigma().get() - 10.0).abs() < 1e-12);
/// let terms = Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove).with_delta(Delta::new(1e-6)?);
/// let mut budget = Budget::new(terms.for_unit(Unit::Column("user_id".into())));
/// let rows = Rows::owned(&["yes", "no", "yes"], &[7, 7, 8])?;
/// let release = plan.release(rows, budget.charge_claim(plan.claim())?)?;
/// assert_eq!(release.value().counts.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GaussianHistogram {
    keys: Vec<String>,
    noise: GaussianCells,
    who: Contributor,
}

impl GaussianHistogram {
    /// Keys from public knowledge. Fails if there is none or one twice, for ρ = 0, for sigma beyond
    /// 2^40, and for a relation without rows.
    pub fn new(rho: Rho, keys: &[impl AsRef<str>], who: Contributor) -> Result<Self, MechanismError> {
        let keys = keys::declared(keys)?;
        let noise = GaussianCells::new(rho, keys.len() as u64, &who)?;
        Ok(Self { keys, noise, who })
    }

    /// sigma of (1).
    pub fn sigma(&self) -> Scale {
        self.noise.sigma()
    }

    /// What the noise of no count exceeds, with probability at least `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.noise.error_at(confidence, self.keys.len())
    }
}

impl Mechanism for GaussianHistogram {
    type Answer<'a> = Rows<'a, &'a str>;
    type Output = Cells;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.noise.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, &'_ str>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Cells, MechanismError> {
        keys::declared_cells(&self.keys, rows, &self.who, self.error_at(CONFIDENCE), bits, |exact, bits| {
            Ok(exact.into_iter().map(|count| self.noise.noisy(count, bits)).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;
    use sordino_privacy::accounting::{self, Accountant};

    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, epsilon, histogram, misses_at_most};

    const KEYS: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn plan(rho: f64, keys: &[&str], who: Contributor) -> GaussianHistogram {
        GaussianHistogram::new(Rho::new(rho).unwrap(), keys, who).unwrap()
    }

    fn owner(neighbours: Neighbours, rows: u64, keys: u64) -> Contributor {
        Contributor::owner(neighbours, "user_id", count(rows)).in_keys(count(keys))
    }

    /// Variance k m²/(2ρ), twice that for contributors who become others, and no more counts move
    /// than there are.
    #[test]
    fn noise_is_that_of_the_relation_and_the_limits() {
        for (keys, who, squared) in [
            (&KEYS[..], Contributor::record(Neighbours::AddRemove), 1.0),
            (&KEYS[..], Contributor::record(Neighbours::Replace), 2.0),
            (&KEYS[..], owner(Neighbours::ZeroOut, 3, 2), 18.0),
            (&KEYS[..], owner(Neighbours::Replace, 3, 2), 36.0),
            (&KEYS[..], owner(Neighbours::Replace, 1, 4), 5.0),
            (&KEYS[..1], owner(Neighbours::AddRemove, 2, 9), 4.0),
        ] {
            let plan = plan(0.02, keys, who);
            let (sigma, exact) = (plan.sigma().get(), squared / 0.04);
            assert!(sigma * sigma >= exact && sigma * sigma < exact * (1.0 + 1e-14), "{sigma} {exact}");
            let of_one_integer = matches!(plan.event(), Event::DiscreteGaussian { .. });
            assert_eq!(of_one_integer, squared == 1.0 || keys.len() == 1);
        }
    }

    /// Equation (1), typed again, around a count.
    fn law(sigma: f64, around: i64) -> Vec<f64> {
        let reach = (10.0 * sigma) as i64 + 8;
        let weight = |z: i64| (-((z * z) as f64) / (2.0 * sigma * sigma)).exp();
        let total: f64 = (-2 * reach..=2 * reach).map(weight).sum();
        (-reach..=reach).map(|v| weight(v - around) / total).collect()
    }

    /// δ of two counts, by enumeration of both of them.
    fn delta_of(e: f64, sigma: f64, moved: (i64, i64)) -> f64 {
        let (still, one, two) = (law(sigma, 0), law(sigma, moved.0), law(sigma, moved.1));
        let excess = |i: usize, j: usize| (one[i] * two[j] - e.exp() * still[i] * still[j]).max(0.0);
        (0..still.len()).flat_map(|i| (0..still.len()).map(move |j| (i, j))).map(|(i, j)| excess(i, j)).sum()
    }

    /// All that the counts of two keys can move by, against the price that an accountant reads off
    /// the event; and twins.
    #[test]
    fn no_set_of_outputs_reveals_more_than_the_event_says() {
        for (rho, m, k, neighbours, moves) in [
            (0.5, 1, 1, Neighbours::AddRemove, &[(1, 0), (0, -1)][..]),
            (0.5, 1, 1, Neighbours::Replace, &[(1, -1), (1, 0)]),
            (0.2, 2, 2, Neighbours::AddRemove, &[(2, 2), (-2, -2), (1, 2), (2, 0)]),
            (0.2, 2, 2, Neighbours::Replace, &[(2, -2), (2, 2), (1, -2)]),
        ] {
            let plan = plan(rho, &KEYS[..2], owner(neighbours, m, k));
            for e in [0.5, 1.0, 2.0] {
                let cost = accounting::delta(&plan.claim(), epsilon(e), Accountant::Auto).unwrap();
                let worst = |share: f64| {
                    let sigma = share * plan.sigma().get();
                    moves.iter().map(|moved| delta_of(e, sigma, *moved)).fold(0.0, f64::max)
                };
                let most = cost.bound.upper;
                assert!(worst(1.0) <= most * (1.0 + 1e-9), "{} above {most}: {rho} {m} {k} {e}", worst(1.0));
                assert!(worst(0.5) > most, "half of the noise: {} within {most}", worst(0.5));
            }
        }
    }

    #[test]
    fn draws_follow_the_definition() {
        let follows = |rho: f64| {
            let plan = plan(rho, &KEYS[..1], Contributor::record(Neighbours::AddRemove));
            let masses = law(2.0, 0);
            let reach = masses.len() as i64 / 2;
            let counts = histogram(masses.len(), 50_000, 91, |bits| {
                let noisy = plan.draw_freely(Rows::new(&["a"; 7]), bits).unwrap().counts[0].1 - 7;
                (noisy.clamp(-reach, reach) + reach) as usize
            });
            chi_square(&counts, &masses)
        };
        follows(0.125).unwrap();
        follows(0.5).unwrap_err(); // half of the noise
    }

    #[test]
    fn every_declared_key_is_released_and_no_other() {
        let plan = plan(500.0, &KEYS[..3], Contributor::record(Neighbours::Replace));
        let mut bits = sordino_noise::danger::seeded(92);
        let cells = plan.draw_freely(Rows::new(&["b", "z", "b"]), &mut bits).unwrap();
        let expected = [("a", 0), ("b", 2), ("c", 0)].map(|(key, count)| (key.to_owned(), count));
        assert_eq!(cells.counts, expected);
        assert_eq!(plan.event(), Event::Zcdp { rho: Rho::new(500.0).unwrap() });
    }

    #[test]
    fn the_stated_error_is_met() {
        let plan = plan(0.01, &KEYS, owner(Neighbours::AddRemove, 2, 3));
        misses_at_most(0.05, 4000, 93, |bits| {
            let rows = Rows::owned(&["a"; 9], &[1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
            let cells = plan.draw_freely(rows, bits).unwrap();
            let truth = [9, 0, 0, 0, 0];
            cells
                .counts
                .iter()
                .zip(truth)
                .any(|((_, noisy), truth)| (noisy - truth).abs() as f64 > cells.error)
        });
    }

    #[test]
    fn edges() {
        let row = Contributor::record(Neighbours::AddRemove);
        let made =
            |rho: f64, keys: &[&str]| GaussianHistogram::new(Rho::new(rho).unwrap(), keys, row.clone());
        assert!(matches!(made(0.0, &KEYS), Err(MechanismError::NoBudget)));
        assert!(made(1e-30, &KEYS).is_err(), "sigma beyond 2^40");
        assert!(made(1.0, &[]).is_err() && made(1.0, &["a", "a"]).is_err());
    }
}
