//! The most frequent of declared keys.
//!
//! # Guarantee
//! ε-private: report noisy max with one-sided noise on the counts ([`ReportNoisyMax`]). Two counts
//! move apart by at most m for an owner of m rows of a key who appears or disappears (all counts
//! move the same way), by 2 m for one who becomes another; in how many keys an owner counts does
//! not matter.

use sordino_noise::Bits;
use sordino_privacy::{Contribution, Count, Epsilon, Event};

use super::CONFIDENCE;
use super::contributor::Contributor;
use super::estimate::Winner;
use super::keys;
use super::rows::Rows;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::report_noisy_max::{MaxNoise, ReportNoisyMax};
use crate::scores::ScoreShift;

/// Finds a most frequent key.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Contributor, Mode, Rows};
/// use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
/// let plan = Mode::new(Epsilon::new(1.0)?, &["red", "blue"], Contributor::record(Neighbours::AddRemove))?;
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let release = plan.release(Rows::new(&["blue"; 90]), budget.charge_claim(plan.claim())?)?;
/// assert_eq!(release.value().key, "blue");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mode {
    keys: Vec<String>,
    choice: ReportNoisyMax,
    who: Contributor,
}

impl Mode {
    /// Keys from public knowledge. Fails if there is none or one twice, for ε = 0, and for a
    /// relation without rows.
    pub fn new(epsilon: Epsilon, keys: &[impl AsRef<str>], who: Contributor) -> Result<Self, MechanismError> {
        let keys = keys::declared(keys)?;
        let rows = Count::new(who.rows())?;
        let shift = match who.change("a mode")? {
            Contribution::Absent => ScoreShift::monotone(rows, who.neighbours())?,
            Contribution::Changed => ScoreShift::new(rows, who.neighbours())?,
        };
        let shift = shift.for_unit(who.unit().clone());
        let candidates = Count::new(keys.len() as u64)?;
        let choice = ReportNoisyMax::new(epsilon, shift, candidates, MaxNoise::Exponential)?;
        Ok(Self { keys, choice, who })
    }

    /// With probability at least `confidence` the released key's count is less than this below the
    /// largest (or is the largest).
    pub fn score_gap(&self, confidence: f64) -> f64 {
        self.choice.score_gap(confidence)
    }
}

impl Mechanism for Mode {
    type Answer<'a> = Rows<'a, &'a str>;
    type Output = Winner;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        self.choice.event()
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, &'_ str>,
        bits: &mut R,
        covered: &Covered,
    ) -> Result<Winner, MechanismError> {
        let counts = keys::counts_of_declared(&self.keys, rows, &self.who, bits)?;
        let chosen = self.choice.draw(&counts, bits, covered)?;
        Ok(Winner { key: self.keys[chosen].clone(), gap: self.score_gap(CONFIDENCE) })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, epsilon, histogram, misses_at_most};

    const KEYS: [&str; 3] = ["a", "b", "c"];

    /// Counts (0, 1, 2): the probabilities of exponential noise of scale 2, which is ε = 1 for rows
    /// that become others and ε = 1/2 for rows that appear.
    #[test]
    fn draws_follow_report_noisy_max() {
        let masses = [0.146_751_360_560_98, 0.266_076_969_831_58, 0.587_171_669_607_44];
        for (e, neighbours) in [(1.0, Neighbours::Replace), (0.5, Neighbours::AddRemove)] {
            let drawn = |e: f64| {
                let plan = Mode::new(epsilon(e), &KEYS, Contributor::record(neighbours)).unwrap();
                histogram(3, 40_000, 85, |bits| {
                    let winner = plan.draw_freely(Rows::new(&["b", "c", "c"]), bits).unwrap();
                    KEYS.iter().position(|key| *key == winner.key).unwrap()
                })
            };
            chi_square(&drawn(e), &masses).unwrap();
            chi_square(&drawn(2.0 * e), &masses).unwrap_err(); // half of the noise
        }
    }

    #[test]
    fn the_stated_gap_is_met() {
        let who = Contributor::owner(Neighbours::AddRemove, "user_id", count(4));
        let plan = Mode::new(epsilon(1.0), &KEYS, who).unwrap();
        let gap = plan.score_gap(0.95).ceil() as usize;
        let rows = vec!["b"; gap];
        let owners: Vec<u64> = (0..gap as u64).collect();
        misses_at_most(0.05, 4000, 86, |bits| {
            plan.draw_freely(Rows::owned(&rows, &owners).unwrap(), bits).unwrap().key != "b"
        });
    }
}
