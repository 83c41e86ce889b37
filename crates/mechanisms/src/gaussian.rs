//! Gaussian mechanism on a grid, with the least noise there is.
//!
//! # Definition
//! Records are clipped to L2 norm C and quantised to a public grid; to their exact sum S,
//! continuous Gaussian noise of standard deviation `z C` in every coordinate is added and the
//! result is rounded to the grid:
//! ```text
//! release round(S + z C N) = S + round(z C N),     N standard normal                              (1)
//! ```
//! # Guarantee
//! With D clip norms between neighbours (1 under `add_remove` and `zero_out`, 2 under `replace`)
//! and s = z / D the release is (ε, δ)-private exactly if
//! ```text
//! Phi(1/(2s) - ε s) - e^ε Phi(-1/(2s) - ε s) <= δ                                                 (2)
//! ```
//! (Balle, Wang, "Improving the Gaussian mechanism for differential privacy: analytical calibration
//! and optimal denoising", 2018, Theorem 8). [`Gaussian::new`] takes the least z for which (2) is
//! certified. Rounding is post-processing, since S is on the grid, and the bound on S is checked on
//! integers; so all that holds for the continuous mechanism (Rényi, `ρ = 1/(2 s^2)`-zCDP,
//! `1/s`-Gaussian privacy, subsampling) holds for this one.
//!
//! # Pitfalls
//! - The textbook's `s = sqrt(2 ln(1.25/δ)) / ε` is proven for ε <= 1 only; at δ = 1e-5 it breaks
//!   between ε = 8 and 9.
//! - δ is no parameter of the noise: the event has none, and a budget decides at which δ to read
//!   it.

use sordino_noise::Bits;
use sordino_noise::grid::{Grid, GridSum, NoisySum, Norm};
use sordino_privacy::{Count, Delta, Epsilon, Event, NoiseMultiplier, SamplingRate, calibrate};

use crate::accuracy;
use crate::contributions::{Contributions, on_grid};
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;

/// Adds rounded Gaussian noise to a sum of clipped vectors.
///
/// ```
/// use sordino_mechanisms::{Contributions, Gaussian, Mechanism};
/// use sordino_privacy::{ClipNorm, Count, Delta, Epsilon, Neighbours};
/// let bounds = Contributions::new(Neighbours::ZeroOut, ClipNorm::new(1.0)?, Count::new(1000)?);
/// let bounds = bounds.of_dimension(Count::new(50)?);
/// let mechanism = Gaussian::new(Epsilon::new(1.0)?, Delta::new(1e-5)?, bounds)?;
/// assert!((mechanism.noise_multiplier().get() - 3.7306).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gaussian {
    grid: Grid,
    noise_multiplier: NoiseMultiplier,
    protection: Protection,
}

impl Gaussian {
    /// The least noise for (ε, δ). Fails for δ = 0, for a relation without sums, and where no grid
    /// has room.
    pub fn new(epsilon: Epsilon, delta: Delta, contributions: Contributions) -> Result<Self, MechanismError> {
        contributions.norms()?;
        let (everybody, once) = (SamplingRate::new(1.0)?, Count::ONE);
        let least = calibrate::noise_multiplier(
            epsilon,
            delta,
            contributions.protection().neighbours(),
            everybody,
            once,
        )?;
        Self::with_noise_multiplier(least.value, contributions)
    }

    /// Noise of `noise_multiplier` clip norms.
    pub fn with_noise_multiplier(
        noise_multiplier: NoiseMultiplier,
        contributions: Contributions,
    ) -> Result<Self, MechanismError> {
        contributions.norms()?; // a relation without sums is refused here already
        let grid = contributions.grid(noise_multiplier, Norm::L2)?;
        Ok(Self { grid, noise_multiplier, protection: contributions.protection().clone() })
    }

    /// z of (1), as it is accounted.
    pub fn noise_multiplier(&self) -> NoiseMultiplier {
        self.noise_multiplier
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
        self.grid.noise_scale() * accuracy::normal_two_sided(miss) + 0.5 * self.grid.step()
    }
}

impl Mechanism for Gaussian {
    type Answer<'a> = GridSum;
    type Output = NoisySum;

    fn protection(&self) -> &Protection {
        &self.protection
    }

    fn event(&self) -> Event {
        Event::gaussian(self.noise_multiplier)
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        answer: GridSum,
        bits: &mut R,
        _: &Covered,
    ) -> Result<NoisySum, MechanismError> {
        Ok(on_grid(answer, &self.grid)?.add_gaussian(bits)?)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;
    use sordino_privacy::{ClipNorm, Neighbours, accounting};

    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, epsilon, histogram, permit};

    fn contributions(neighbours: Neighbours, clip: f64) -> Contributions {
        Contributions::new(neighbours, ClipNorm::new(clip).unwrap(), count(1000))
    }

    fn mechanism(e: f64, d: f64, neighbours: Neighbours) -> Gaussian {
        Gaussian::new(epsilon(e), Delta::new(d).unwrap(), contributions(neighbours, 3.0)).unwrap()
    }

    fn phi(x: f64) -> f64 {
        0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
    }

    /// The left side of (2), typed again.
    fn delta_of(epsilon: f64, s: f64) -> f64 {
        phi(0.5 / s - epsilon * s) - epsilon.exp() * phi(-0.5 / s - epsilon * s)
    }

    /// ε, δ, the least sigma of (2), the textbook's sigma and its true δ; computed in high
    /// precision.
    const TABLE: [(f64, f64, f64, f64, f64); 13] = [
        (0.1, 1e-5, 30.74956613198, 48.44805263, 2.63594e-9),
        (0.5, 1e-6, 8.057618480725, 10.59760505, 1.24997e-9),
        (1.0, 1e-5, 3.730631634816, 4.844805263, 4.11369e-8),
        (1.0, 1e-6, 4.224678889327, 5.298802527, 3.19991e-9),
        (2.0, 1e-5, 1.993812445644, 2.422402631, 1.3364e-7),
        (5.0, 1e-5, 0.8918682649515, 0.9689610525, 1.349e-6),
        (8.0, 1e-5, 0.600229072199, 0.6056006578, 7.9706e-6),
        (10.0, 1e-5, 0.499888619709, 0.4844805263, 2.26537e-5),
        (20.0, 1e-5, 0.2900414180328, 0.2422402631, 1.52669e-3),
        (50.0, 1e-5, 0.1497606075608, 0.0968961053, 0.586184),
        (100.0, 1e-10, 0.1087604260201, 0.0681894339, 0.671638),
        (0.001, 1e-3, 276.1288755692, 3776.479533, 4.98312e-9),
        (0.001, 0.3, 1.296032989419, 1689.447457, 1.11118e-5),
    ];

    #[test]
    fn calibration_agrees_with_the_analytic_table() {
        for (e, d, sigma, _, _) in TABLE {
            for (neighbours, norms) in [(Neighbours::AddRemove, 1.0), (Neighbours::Replace, 2.0)] {
                let z = mechanism(e, d, neighbours).noise_multiplier().get();
                let excess = z / (norms * sigma) - 1.0;
                assert!((-1e-12..1e-10).contains(&excess), "ε {e}, δ {d}: {excess}");
            }
        }
    }

    /// The textbook's formula, kept as a foil.
    #[test]
    fn the_classical_formula_breaks_for_large_epsilon() {
        for (e, d, _, classical, truth) in TABLE {
            assert!(((2.0 * (1.25 / d).ln()).sqrt() / e / classical - 1.0).abs() < 1e-8);
            let bounds = contributions(Neighbours::AddRemove, 1.0);
            let z = NoiseMultiplier::new(classical).unwrap();
            let claim = Gaussian::with_noise_multiplier(z, bounds).unwrap().claim();
            let found = accounting::delta(&claim, epsilon(e), accounting::Accountant::Auto).unwrap().bound;
            assert!((found.upper / truth - 1.0).abs() < 1e-4, "ε {e}, δ {d}: {found:?} against {truth}");
            assert_eq!(truth > d, e >= 10.0);
        }
    }

    /// The standard normal distribution function, binned at fifths of a standard deviation.
    fn follows(mechanism: &Gaussian, sigma: f64) -> Result<(), String> {
        let cell = |x: f64| ((x / sigma * 5.0).floor().clamp(-21.0, 20.0) + 21.0) as usize;
        let counts = histogram(42, 100_000, 15, |bits| {
            cell(mechanism.draw_freely(mechanism.sum(), bits).unwrap().to_f64()[0])
        });
        let edges: Vec<f64> = (-20..=20).map(|i| phi(f64::from(i) / 5.0)).collect();
        let inner = edges.windows(2).map(|e| e[1] - e[0]);
        let masses: Vec<f64> = [edges[0]].into_iter().chain(inner).chain([1.0 - edges[40]]).collect();
        chi_square(&counts, &masses)
    }

    #[test]
    fn draws_follow_the_definition() {
        follows(&mechanism(1.0, 1e-5, Neighbours::AddRemove), 3.0 * 3.730_631_634_816).unwrap();
        follows(&mechanism(1.0, 1e-5, Neighbours::Replace), 6.0 * 3.730_631_634_816).unwrap();
    }

    #[test]
    fn no_set_of_outputs_reveals_more_than_epsilon_and_delta() {
        for (e, d) in [(0.1, 1e-5), (1.0, 1e-6), (5.0, 1e-3)] {
            let grid = *mechanism(e, d, Neighbours::AddRemove).grid();
            // In integers: noise of 2^k steps, a sum that moves by N steps.
            let s = (1u64 << grid.depth()) as f64 / grid.clip_units() as f64;
            let delta = |s| delta_of(e, s);
            assert!(delta(s) <= d * (1.0 + 1e-9), "{}", delta(s));
            // Broken twins: half of the noise, and a sum that moves twice as far, are the same
            // ratio.
            assert!(delta(s / 2.0) > d);
        }
    }

    #[test]
    fn broken_twins_are_caught() {
        let honest = mechanism(1.0, 1e-5, Neighbours::AddRemove);
        let half = NoiseMultiplier::new(honest.noise_multiplier().get() / 2.0).unwrap();
        let half = Gaussian::with_noise_multiplier(half, contributions(Neighbours::AddRemove, 3.0)).unwrap();
        follows(&half, 3.0 * 3.730_631_634_816).unwrap_err();
        assert!(half.release(half.sum(), permit(&honest)).is_err());
        // Sensitivity off by two: noise for add_remove, claimed under replace.
        assert!(honest.release(honest.sum(), permit(&mechanism(1.0, 1e-5, Neighbours::Replace))).is_err());
    }

    #[test]
    fn the_stated_error_is_met() {
        let vectors = contributions(Neighbours::AddRemove, 3.0).of_dimension(count(10));
        let mechanism = Gaussian::new(epsilon(1.0), Delta::new(1e-5).unwrap(), vectors).unwrap();
        let (w, mut bits, draws) = (mechanism.error_at(0.95), seeded(16), 20_000);
        let misses = (0..draws)
            .filter(|_| {
                let noisy = mechanism.draw_freely(mechanism.sum(), &mut bits).unwrap().to_f64();
                noisy.iter().any(|x| x.abs() > w)
            })
            .count() as f64;
        // Six standard deviations of a binomial count (false alarm 2e-9).
        let spread = 6.0 * (f64::from(draws) * 0.05 * 0.95).sqrt();
        assert!((misses - 0.05 * f64::from(draws)).abs() < spread, "{misses}");
    }

    #[test]
    fn edges() {
        let pure =
            Gaussian::new(epsilon(1.0), Delta::new(0.0).unwrap(), contributions(Neighbours::AddRemove, 1.0));
        assert!(pure.unwrap_err().to_string().contains("no Gaussian noise is enough for delta = 0"));
        let one = mechanism(1.0, 1e-5, Neighbours::AddRemove);
        let other = mechanism(2.0, 1e-5, Neighbours::AddRemove);
        assert!(matches!(one.release(other.sum(), permit(&one)), Err(MechanismError::OtherGrid)));
    }
}
