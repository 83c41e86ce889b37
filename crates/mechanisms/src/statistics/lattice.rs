//! A sum of bounded numbers on a public grid, with discrete Laplace noise.
//!
//! # Definition
//! With `reach` the larger absolute value of two bounds, the grid has the step `g = reach / N`, N a
//! power of two. A number x becomes the integer nearest to x/g, clamped between the integers of the
//! bounds. The sum of these integers is exact, is clamped to 64 bits, and gets discrete Laplace
//! noise of scale at least Δ/ε, Δ the sensitivity of the *integers* ([`Contributor`]).
//!
//! # Guarantee
//! ε-private as [`DiscreteLaplace`] is: what x/g was rounded to is a function of one row, and the
//! clamp is on integers. Clamping the exact sum moves no two sums farther apart.
//!
//! # Size of the grid
//! N is 2^30 or as large as draws of the noise allow. Rounding moves each number by at most g/2,
//! next to noise of a scale of at least `reach/ε`.

use sordino_noise::Bits;
use sordino_privacy::{Count, Epsilon, Event};

use super::contributor::Contributor;
use crate::discrete_laplace::DiscreteLaplace;
use crate::error::MechanismError;
use crate::mechanism::Mechanism;

/// The finest grid has 2^30 steps to the reach.
const MOST_BITS: u32 = 30;
/// The largest noise scale in steps: less than what discrete Laplace noise can be drawn at.
const MOST_SCALE: f64 = (1u64 << 52) as f64;

/// The largest sensitivity that an event can state.
const MOST_MOVES: u128 = 1 << 53;

#[derive(Debug)]
pub(super) struct LatticeSum {
    noise: DiscreteLaplace,
    low: i64,
    high: i64,
    step: f64,
}

impl LatticeSum {
    /// For numbers in `low..=high`, which are finite and not both 0.
    pub(super) fn new(
        epsilon: Epsilon,
        low: f64,
        high: f64,
        who: &Contributor,
    ) -> Result<Self, MechanismError> {
        let reach = low.abs().max(high.abs());
        let bits = (0..=MOST_BITS).rev().find(|&bits| {
            let (step, low, high) = units(reach, low, high, bits);
            // A step that is no normal number would make every quotient infinite.
            step.is_normal()
                && who
                    .moves_sum(low, high)
                    .is_ok_and(|moves| moves as f64 / epsilon.get() <= MOST_SCALE && moves <= MOST_MOVES)
        });
        let (step, low, high) = units(reach, low, high, bits.unwrap_or(0));
        let moves = u64::try_from(who.moves_sum(low, high)?).unwrap_or(u64::MAX);
        let noise = DiscreteLaplace::new(epsilon, who.shift(Count::new(moves)?))?;
        Ok(Self { noise, low, high, step })
    }

    pub(super) fn event(&self) -> Event {
        self.noise.event()
    }

    /// The exact sum, in steps.
    pub(super) fn total(&self, numbers: impl Iterator<Item = f64>) -> i128 {
        numbers.map(|x| i128::from(self.units(x))).sum()
    }

    /// The noisy sum, in data units.
    pub(super) fn draw<R: Bits + ?Sized>(&self, total: i128, bits: &mut R) -> f64 {
        let total = total.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        self.noise.noisy(total, bits) as f64 * self.step
    }

    /// What the noise exceeds with probability at most 1 - `confidence`, in data units.
    pub(super) fn error_at(&self, confidence: f64) -> f64 {
        self.noise.error_at(confidence) * self.step
    }

    /// g.
    pub(super) fn step(&self) -> f64 {
        self.step
    }

    /// A saturating cast takes infinities to the bounds and NaN to 0.
    fn units(&self, x: f64) -> i64 {
        ((x / self.step).round_ties_even() as i64).clamp(self.low, self.high)
    }
}

/// g, and the integers of both bounds, for N = 2^bits.
fn units(reach: f64, low: f64, high: f64, bits: u32) -> (f64, i64, i64) {
    // Exact: division by a power of two.
    let step = reach / (1u64 << bits) as f64;
    let whole = |x: f64| (x / step).round_ties_even() as i64;
    (step, whole(low), whole(high))
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{count, epsilon, sensitivity_of};

    fn shift(low: f64, high: f64, who: Contributor) -> u64 {
        sensitivity_of(&LatticeSum::new(epsilon(1.0), low, high, &who).unwrap().event())
    }

    #[test]
    fn sensitivity_is_that_of_the_integers() {
        let n = 1u64 << MOST_BITS;
        assert_eq!(shift(-2.5, 2.5, Contributor::record(Neighbours::AddRemove)), n);
        assert_eq!(shift(-2.5, 2.5, Contributor::record(Neighbours::Replace)), 2 * n);
        assert_eq!(shift(50.0, 100.0, Contributor::record(Neighbours::AddRemove)), n);
        assert_eq!(shift(50.0, 100.0, Contributor::record(Neighbours::Replace)), n / 2);
        assert_eq!(shift(0.0, 4.0, Contributor::owner(Neighbours::AddRemove, "user_id", count(6))), 6 * n);
    }

    /// Wild numbers, in any order: no one of them moves the exact sum farther than is declared.
    #[test]
    fn no_row_moves_the_sum_farther_than_declared() {
        let wild = [1e308, f64::NEG_INFINITY, f64::NAN, 5e-324, -2.499_999, 2.5, 0.1, -0.0];
        for (neighbours, most) in [(Neighbours::AddRemove, 1u64 << 30), (Neighbours::Replace, 1 << 31)] {
            let sum = LatticeSum::new(epsilon(1.0), -2.5, 2.5, &Contributor::record(neighbours)).unwrap();
            let base = sum.total(wild.iter().rev().copied());
            for (i, x) in wild.iter().enumerate() {
                assert!(base.abs_diff(sum.total(wild.iter().copied().chain([*x]))) <= most.into());
                for y in wild {
                    let mut other = wild;
                    other[i] = y;
                    assert!(base.abs_diff(sum.total(other.into_iter())) <= 1 << 31);
                }
            }
        }
    }

    #[test]
    fn grids_become_coarser_where_noise_is_large() {
        let who = Contributor::record(Neighbours::AddRemove);
        let fine = LatticeSum::new(epsilon(1.0), 0.0, 1.0, &who).unwrap();
        let coarse = LatticeSum::new(epsilon(1e-9), 0.0, 1.0, &who).unwrap();
        assert!(coarse.step() > fine.step() && coarse.step() < 1e-5);
        assert!(LatticeSum::new(epsilon(1e-18), 0.0, 1.0, &who).is_err());
        assert!(LatticeSum::new(epsilon(0.0), 0.0, 1.0, &who).is_err());
        assert!(LatticeSum::new(epsilon(1.0), 0.0, f64::MIN_POSITIVE, &who).is_ok());
    }
}
