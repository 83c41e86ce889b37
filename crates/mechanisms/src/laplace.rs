//! Laplace mechanism on a grid: sums of real vectors, pure privacy.
//!
//! # Definition
//! Records are clipped to L1 norm C and quantised to a public grid; to their exact sum S,
//! continuous Laplace noise of scale b in every coordinate is added and the result is rounded to
//! the grid:
//! ```text
//! density of Z_j = exp(-|z| / b) / (2 b),      release round(S + Z) = S + round(Z)                   (1)
//! ```
//! # Guarantee
//! Under `add_remove` and `zero_out` neighbours move S by at most C in L1, under `replace` by 2C.
//! With `b >= C/ε` (2C/ε) the release is ε-private (Dwork, McSherry, Nissim, Smith, "Calibrating
//! noise to sensitivity in private data analysis", 2006): rounding is post-processing since S is on
//! the grid, and the bound on S is checked on integers.
//!
//! The event is that of one number that moves by the whole bound, which is the worst case: the
//! overlap `∫ min(p(x - v), γ p(x)) dx` of noise with a log-concave density p is a log-concave
//! function of the shift v (Prékopa, "On logarithmic concave measures and functions", 1973), so
//! that δ(ε) = 1 - overlap at γ = e^ε is largest at a corner of the L1 ball, where one coordinate
//! moves alone.
//!
//! # Accuracy
//! All d coordinates together stay within `b ln(1/β')` plus half a step with probability 1 - β,
//! where `β' = 1 - (1 - β)^(1/d)`. This speaks of the noise; what clipping takes away is the choice
//! of C. The standard deviation is b sqrt(2), not b.
//!
//! # Pitfalls
//! - L1, not L2: Laplace noise scaled to an L2 bound is a violation by up to sqrt(d).
//! - The mean is the noisy sum divided by a *public* n; a private n is another release.

use sordino_noise::Bits;
use sordino_noise::grid::{Grid, GridSum, NoisySum, Norm};
use sordino_privacy::{Epsilon, Event, NoiseMultiplier};

use crate::accuracy;
use crate::contributions::{Contributions, on_grid};
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::shift::scale_for;

/// Adds rounded Laplace noise to a sum of clipped vectors.
///
/// ```
/// use sordino_mechanisms::{Contributions, Laplace, Mechanism};
/// use sordino_privacy::{Budget, Charge, ClipNorm, Count, Epsilon, Neighbours, Terms};
/// let bounds = Contributions::new(Neighbours::ZeroOut, ClipNorm::new(10.0)?, Count::new(1000)?);
/// let mechanism = Laplace::new(Epsilon::new(0.5)?, bounds)?;
/// let mut sum = mechanism.sum();
/// for hours in [7.5, 8.0, 31.0] {
///     sum.add(&[hours])?; // 31 counts as 10
/// }
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::ZeroOut));
/// let release = mechanism.release(sum, budget.charge_claim(mechanism.claim())?)?;
/// println!("{} ± {}", release.value().to_f64()[0], mechanism.error_at(0.95));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Laplace {
    grid: Grid,
    noise_multiplier: NoiseMultiplier,
    protection: Protection,
}

impl Laplace {
    /// The least noise for ε. Fails for ε = 0, for a relation without sums, and where no grid has
    /// room.
    pub fn new(epsilon: Epsilon, contributions: Contributions) -> Result<Self, MechanismError> {
        let multiplier = scale_for(contributions.norms()?, epsilon)?.get();
        Self::with_noise_multiplier(NoiseMultiplier::new(multiplier)?, contributions)
    }

    /// Noise of `noise_multiplier` clip norms.
    pub fn with_noise_multiplier(
        noise_multiplier: NoiseMultiplier,
        contributions: Contributions,
    ) -> Result<Self, MechanismError> {
        contributions.norms()?; // a relation without sums is refused here already
        let grid = contributions.grid(noise_multiplier, Norm::L1)?;
        Ok(Self { grid, noise_multiplier, protection: contributions.protection().clone() })
    }

    /// An empty sum on this mechanism's grid.
    pub fn sum(&self) -> GridSum {
        GridSum::new(self.grid)
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The least w, in data units, that the noise of no coordinate exceeds, with probability at
    /// least `confidence`.
    pub fn error_at(&self, confidence: f64) -> f64 {
        let miss = accuracy::miss_of_each(confidence, self.grid.dimension());
        self.grid.noise_scale() * -miss.ln() + 0.5 * self.grid.step()
    }
}

impl Mechanism for Laplace {
    type Answer<'a> = GridSum;
    type Output = NoisySum;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        Event::laplace(self.noise_multiplier)
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        answer: GridSum,
        bits: &mut R,
        _: &Covered,
    ) -> Result<NoisySum, MechanismError> {
        Ok(on_grid(answer, &self.grid)?.add_laplace(bits)?)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::{seeded, unprotected};
    use sordino_privacy::{ClipNorm, Neighbours};

    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, epsilon, histogram, permit, reveals_at_most};

    fn contributions(neighbours: Neighbours, clip: f64) -> Contributions {
        Contributions::new(neighbours, ClipNorm::new(clip).unwrap(), count(1000))
    }

    fn mechanism(epsilon_: f64, neighbours: Neighbours) -> Laplace {
        Laplace::new(epsilon(epsilon_), contributions(neighbours, 3.0)).unwrap()
    }

    /// Forty bins of width b/5 around 0 and two tails, from the distribution function of (1) at
    /// scale `scale`, both in units of the data and around `answer`.
    const BINS: i32 = 20;
    fn bins(scale: f64, width: f64, answer: f64) -> Vec<f64> {
        let below = |x: f64| {
            let y = (x - answer) / scale;
            if y < 0.0 { 0.5 * y.exp() } else { 1.0 - 0.5 * (-y).exp() }
        };
        let edges: Vec<f64> = (-BINS..=BINS).map(|i| below(f64::from(i) * width)).collect();
        let inner = edges.windows(2).map(|e| e[1] - e[0]);
        [edges[0]].into_iter().chain(inner).chain([1.0 - edges[edges.len() - 1]]).collect()
    }

    /// A grid has hundreds of steps to a bin, so that a bin's edge within a step of the true one
    /// shifts no mass that the test could see.
    fn follows(mechanism: &Laplace, scale: f64) -> Result<(), String> {
        let width = scale / 5.0;
        let cell = |x: f64| ((x / width).floor().clamp(-21.0, 20.0) + 21.0) as usize;
        let counts = histogram(42, 100_000, 13, |bits| {
            cell(mechanism.draw_freely(mechanism.sum(), bits).unwrap().to_f64()[0])
        });
        chi_square(&counts, &bins(scale, width, 0.0))
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(0.5, Neighbours::AddRemove), 6.0).unwrap();
        follows(&mechanism(0.5, Neighbours::Replace), 12.0).unwrap();
    }

    /// The probabilities of the integers K = round(2^k L) by their closed form, and sums that are a
    /// clip norm apart.
    #[test]
    fn no_output_reveals_more_than_epsilon() {
        for (e, neighbours, norms) in [(0.5, Neighbours::AddRemove, 1), (0.5, Neighbours::Replace, 2)] {
            let grid = *mechanism(e, neighbours).grid();
            let scale = (1u64 << grid.depth()) as f64;
            let mass = |k: i64| match k {
                0 => -(-0.5 / scale).exp_m1(),
                k => (0.5 / scale).sinh() * (-(k.abs() as f64) / scale).exp(),
            };
            let moved = norms * grid.clip_units();
            let results =
                || (-2 * moved..=3 * moved).step_by(usize::max(1, moved as usize / 999)).chain([0, moved]);
            let (one, two): (Vec<f64>, Vec<f64>) = results().map(|k| (mass(k), mass(k - moved))).unzip();
            reveals_at_most(e, &one, &two).unwrap();
            // Sensitivity off by two: a sum that moves twice as far.
            let far: Vec<f64> = results().map(|k| mass(k - 2 * moved)).collect();
            reveals_at_most(e, &one, &far).unwrap_err();
            // Half of the noise, on the same grid.
            let (one, two): (Vec<f64>, Vec<f64>) =
                results().map(|k| (mass(2 * k), mass(2 * (k - moved)))).unzip();
            reveals_at_most(e, &one, &two).unwrap_err();
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let honest = mechanism(0.5, Neighbours::AddRemove);
        let half = NoiseMultiplier::new(1.0).unwrap();
        let half = Laplace::with_noise_multiplier(half, contributions(Neighbours::AddRemove, 3.0)).unwrap();
        follows(&half, 6.0).unwrap_err();
        reveals_at_most(0.5, &bins(3.0, 1.2, 0.0), &bins(3.0, 1.2, 3.0)).unwrap_err();
        // A permit for the honest one does not pay for the twin.
        assert!(half.release(half.sum(), permit(&honest)).is_err());
        // Pitfall 4: calibrated for add_remove, used under replace, is off by two.
        let other = mechanism(0.5, Neighbours::Replace);
        assert!(honest.release(honest.sum(), permit(&other)).is_err());
    }

    /// No order of additions and no wild record moves the exact sum by more than the clip norm.
    #[test]
    fn wild_records_move_the_sum_by_no_more_than_the_clip_norm() {
        let mechanism = mechanism(1.0, Neighbours::AddRemove);
        let records = [1e308, f64::NEG_INFINITY, f64::NAN, 5e-324, -2.999_999, 3.0, 0.1, -0.0];
        for wild in records {
            let (mut with, mut without) = (mechanism.sum(), mechanism.sum());
            with.add(&[wild]).unwrap();
            for record in records {
                with.add(&[record]).unwrap();
            }
            for record in records.iter().rev() {
                without.add(&[*record]).unwrap();
            }
            let moved = unprotected(&with)[0].abs_diff(unprotected(&without)[0]);
            assert!(moved <= mechanism.grid().clip_units() as u64);
        }
    }

    #[test]
    fn the_stated_error_is_met() {
        let vectors = contributions(Neighbours::AddRemove, 3.0).of_dimension(count(10));
        let mechanism = Laplace::new(epsilon(0.5), vectors).unwrap();
        let w = mechanism.error_at(0.95);
        let mut bits = seeded(14);
        let draws = 20_000;
        let misses = (0..draws)
            .filter(|_| {
                let noisy = mechanism.draw_freely(mechanism.sum(), &mut bits).unwrap().to_f64();
                noisy.iter().any(|x| x.abs() > w)
            })
            .count() as f64;
        // Six standard deviations of a binomial count (false alarm 2e-9).
        let spread = 6.0 * (f64::from(draws) * 0.05 * 0.95).sqrt();
        assert!((misses - 0.05 * f64::from(draws)).abs() < spread, "{misses}");
        assert_eq!(mechanism.error_at(1.0), f64::INFINITY);
    }

    #[test]
    fn edges() {
        let one = mechanism(1.0, Neighbours::AddRemove);
        let other = mechanism(2.0, Neighbours::AddRemove);
        let error = one.release(other.sum(), permit(&one)).unwrap_err();
        assert!(matches!(error, MechanismError::OtherGrid));
        assert!(Laplace::new(epsilon(0.0), contributions(Neighbours::AddRemove, 1.0)).is_err());
        let release = one.release_with(one.sum(), permit(&one), &mut seeded(1)).unwrap();
        assert!(release.guarantee().seeded && !release.guarantee().holds());
    }

    /// The corner of the L1 ball is the worst shift: δ(ε) of two coordinates that share a shift, by
    /// a sum over a fine mesh.
    #[test]
    fn a_shift_shared_by_coordinates_reveals_less_than_one_alone() {
        let (h, reach) = (0.05, 240);
        let p = |i: i32, moved: f64| 0.5 * (-(f64::from(i) * h - moved).abs()).exp() * h;
        let delta = |a: f64, b: f64, e: f64| -> f64 {
            let row: Vec<(f64, f64)> = (-reach..=reach).map(|j| (p(j, 0.0), p(j, b))).collect();
            let excess = |i: i32| -> f64 {
                let (here, there) = (p(i, 0.0), p(i, a));
                row.iter().map(|(q, r)| (there * r - e.exp() * here * q).max(0.0)).sum()
            };
            (-reach..=reach).map(excess).sum()
        };
        for e in [0.0, 0.3, 1.0, 1.7] {
            let alone = delta(2.0, 0.0, e);
            for shared in [0.25, 0.5, 1.0] {
                assert!(delta(2.0 - shared, shared, e) <= alone * (1.0 + 1e-9), "ε {e}, shared {shared}");
            }
        }
        // Beyond the ball it is not: 2 in both coordinates.
        assert!(delta(2.0, 2.0, 1.0) > delta(2.0, 0.0, 1.0));
    }
}
