//! Counts of declared keys.
//!
//! # Definition
//! Every declared key is released with its count plus discrete Laplace noise, zeros included: which
//! keys are missing would tell. Rows of other keys do not count.
//!
//! # Guarantee
//! ε-private: one neighbour moves the counts by at most Δ added up (see [`Contributor`]: 1 for a
//! row that appears, 2 for one that becomes another, k m and 2 k m for owners), and noise of scale
//! Δ/ε on each of them makes no list of counts more than exp(ε) times likelier. Where only one
//! count can move, the event is that of one integer; else plain pure privacy.

use sordino_noise::Bits;
use sordino_privacy::{Contribution, Count, Epsilon, Event};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Cells;
use super::keys;
use super::rows::Rows;
use crate::counts::Counts;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Counts rows of each declared key.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, Histogram, Rows};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let one_row = Contributor::record(Neighbours::AddRemove);
/// let plan = Histogram::new(Epsilon::new(1.0)?, &["yes", "no", "unsure"], one_row)?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let release = plan.release(Rows::new(&["yes", "no", "yes"]), budget.charge_claim(plan.claim())?)?;
/// assert_eq!(release.value().counts.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Histogram {
    keys: Vec<String>,
    noise: Counts,
    who: Contributor,
}

impl Histogram {
    /// Keys from public knowledge. Fails if there is none or one twice, for ε = 0, and for a
    /// relation without rows.
    pub fn new(epsilon: Epsilon, keys: &[impl AsRef<str>], who: Contributor) -> Result<Self, MechanismError> {
        let keys = keys::declared(keys)?;
        let shift = who.shift(who.moves_counts()?);
        let noise = Counts::new(epsilon, shift, Count::new(keys.len() as u64)?)?;
        let noise = match who.change("a histogram")? {
            Contribution::Absent if who.keys() == 1 => noise.of_which_one_moves(),
            Contribution::Absent | Contribution::Changed => noise,
        };
        Ok(Self { keys, noise, who })
    }

    /// What the noise of no count exceeds, with probability at least `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        self.noise.error_at(confidence)
    }
}

impl Mechanism for Histogram {
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
        covered: &Covered,
    ) -> Result<Cells, MechanismError> {
        keys::declared_cells(&self.keys, rows, &self.who, self.error_at(CONFIDENCE), bits, |exact, bits| {
            self.noise.draw(&exact, bits, covered)
        })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, count, epsilon, misses_at_most};

    const KEYS: [&str; 3] = ["a", "b", "c"];

    fn scale(e: f64, who: Contributor) -> f64 {
        Histogram::new(epsilon(e), &KEYS, who).unwrap().noise.scale().get()
    }

    /// Noise scale 1/ε, 2/ε for rows that become others, k m/ε and 2 k m/ε for owners.
    #[test]
    fn noise_is_that_of_the_relation_and_the_limits() {
        assert_eq!(scale(0.5, Contributor::record(Neighbours::AddRemove)), 2.0);
        assert_eq!(scale(0.5, Contributor::record(Neighbours::Replace)), 4.0);
        let owner = |neighbours| Contributor::owner(neighbours, "user_id", count(3)).in_keys(count(2));
        assert_eq!(scale(0.5, owner(Neighbours::ZeroOut)), 12.0);
        assert_eq!(scale(0.5, owner(Neighbours::Replace)), 24.0);
    }

    /// Two counts that move by 1 each, with noise of scale 2/ε: the loss is ε; with the noise of
    /// `add_remove` it is twice that, and a test of the definition says so.
    #[test]
    fn a_row_that_becomes_another_moves_two_counts() {
        let pmf = |t: f64, z: i32| (-f64::from(z.abs()) / t).exp();
        let worst = |t: f64| {
            let ratio = |z: i32, w: i32| (pmf(t, z) * pmf(t, w) / (pmf(t, z - 1) * pmf(t, w + 1))).ln().abs();
            (-30..30).flat_map(|z| (-30..30).map(move |w| ratio(z, w))).fold(0.0, f64::max)
        };
        assert!(worst(scale(1.0, Contributor::record(Neighbours::Replace))) <= 1.0 + 1e-12);
        assert!(worst(scale(1.0, Contributor::record(Neighbours::AddRemove))) > 1.9);
    }

    #[test]
    fn every_declared_key_is_released_and_no_other() {
        let plan = Histogram::new(epsilon(50.0), &KEYS, Contributor::record(Neighbours::Replace)).unwrap();
        let mut bits = sordino_noise::danger::seeded(81);
        let cells = plan.draw_freely(Rows::new(&["b", "z", "b"]), &mut bits).unwrap();
        let expected = [("a", 0), ("b", 2), ("c", 0)].map(|(key, count)| (key.to_owned(), count));
        assert_eq!(cells.counts, expected);
        assert!(matches!(plan.event(), Event::Pure { .. }));
    }

    #[test]
    fn the_stated_error_is_met() {
        let plan = Histogram::new(epsilon(0.3), &KEYS, Contributor::record(Neighbours::AddRemove)).unwrap();
        misses_at_most(0.05, 4000, 82, |bits| {
            let cells = plan.draw_freely(Rows::new(&["a"; 9]), bits).unwrap();
            let truth = [9, 0, 0];
            cells
                .counts
                .iter()
                .zip(truth)
                .any(|((_, noisy), truth)| (noisy - truth).abs() as f64 > cells.error)
        });
    }
}
