//! The release of a sum: exact noise of the grid's depth, then floats.
//!
//! # Guarantee
//! | noise | bounded in | the release is |
//! |---|---|---|
//! | [`GridSum::add_gaussian`] | `L2`, or `L1` (never shorter) | the Gaussian mechanism of multiplier `z` |
//! | [`GridSum::add_laplace`] | `L1` | the Laplace mechanism of scale `z C`, ε = 1/z for one contribution |
//! | [`GridSum::add_spherical`] | `L2`, or `L1` (never shorter) | ε-private, ε = 1/z for one contribution |
//!
//! In one dimension the three norms are the same and both noises may be added. What comes after the
//! noise (clamping, the conversion to floats) is post-processing. A release remembers whether its
//! bits came from a seed: [`NoisySum::is_seeded`].

use std::num::NonZero;

use sordino_threads::share;
use zeroize::Zeroizing;

use super::sum::Ends;
use super::{Grid, GridSum, Norm, SumError};
use crate::branch::Branch;
use crate::{Bits, RoundedGaussian, RoundedLaplace, RoundedSpherical};

/// A sum with its noise: integers that may be published, and their values in data units.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisySum {
    grid: Grid,
    units: Vec<i64>,
    seeded: bool,
}

impl NoisySum {
    pub(super) fn new(grid: Grid, units: Vec<i64>, seeded: bool) -> Self {
        Self { grid, units, seeded }
    }

    /// The grid it lives on.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The noisy sum in steps.
    pub fn units(&self) -> &[i64] {
        &self.units
    }

    /// The same, to keep.
    pub fn into_units(self) -> Vec<i64> {
        self.units
    }

    /// Whether the noise repeats a seed that somebody chose
    /// ([`danger::seeded`](crate::danger::seeded)). It then protects nothing, and whatever is made
    /// of this sum must say so.
    pub fn is_seeded(&self) -> bool {
        self.seeded
    }

    /// The noisy sum in data units: `n g`, in one rounding for all `n` up to `2^53`.
    pub fn to_f64(&self) -> Vec<f64> {
        self.units.iter().map(|&unit| unit as f64 * self.grid.step()).collect()
    }
}

/// Coordinates whose noise comes from one stream: enough that a key is soon paid for, and few
/// enough for threads to share. Seeded values depend on it, so it never changes.
const PART: usize = 1 << 14;

/// Coordinates that are drawn and added at a time: few enough for the nearest cache. Samplers draw
/// in chunks of 512, so that any multiple of it gives the same values.
const PIECE: usize = 1 << 10;

impl GridSum {
    /// The sum plus Gaussian noise of standard deviation [`Grid::noise_scale`], rounded to the
    /// grid. Refuses a grid that does not bound the Euclidean norm.
    pub fn add_gaussian<R: Bits + ?Sized>(self, bits: &mut R) -> Result<NoisySum, SumError> {
        self.add_gaussian_on(NonZero::<usize>::MIN, bits)
    }

    /// The same by several threads. How many does not change the result, not even of seeded bits.
    pub fn add_gaussian_on<R: Bits + ?Sized>(
        self,
        threads: NonZero<usize>,
        bits: &mut R,
    ) -> Result<NoisySum, SumError> {
        let advice = "make the grid with `Norm::L2`";
        match self.grid().norm() {
            Norm::L1 | Norm::L2 => {}
            Norm::Max => self.single_coordinate("Gaussian", Norm::L2, advice)?,
        }
        // `MAX_DEPTH` of a grid is the sampler's own limit.
        let noise = RoundedGaussian::new(self.grid().depth()).expect("no grid is deeper than the sampler");
        Ok(self.add_in_parts(threads, bits, &Coordinatewise::Gaussian(noise)))
    }

    /// The sum plus Laplace noise of scale [`Grid::noise_scale`], rounded to the grid. Refuses a
    /// grid that does not bound the sum of absolute values.
    pub fn add_laplace<R: Bits + ?Sized>(self, bits: &mut R) -> Result<NoisySum, SumError> {
        let advice = "make the grid with `Norm::L1`";
        match self.grid().norm() {
            Norm::L1 => {}
            Norm::L2 | Norm::Max => self.single_coordinate("Laplace", Norm::L1, advice)?,
        }
        // `MAX_DEPTH` of a grid is the sampler's own limit.
        let noise = RoundedLaplace::new(self.grid().depth()).expect("no grid is deeper than the sampler");
        Ok(self.add_in_parts(NonZero::<usize>::MIN, bits, &Coordinatewise::Laplace(noise)))
    }

    /// The sum plus noise of density proportional to `exp(-|z|_2 / s)`, s = [`Grid::noise_scale`],
    /// rounded to the grid. Refuses a grid that does not bound the Euclidean norm, and one deeper
    /// or of more dimensions than this noise can be drawn for.
    pub fn add_spherical<R: Bits + ?Sized>(self, bits: &mut R) -> Result<NoisySum, SumError> {
        let advice = "make the grid with `Norm::L2`";
        match self.grid().norm() {
            Norm::L1 | Norm::L2 => {}
            Norm::Max => self.single_coordinate("spherical", Norm::L2, advice)?,
        }
        let (depth, dimension) = (self.grid().depth(), self.grid().dimension());
        let noise = RoundedSpherical::new(depth)
            .ok()
            .filter(|_| dimension <= RoundedSpherical::MOST_DIMENSION)
            .ok_or(SumError::Spherical { depth, dimension })?;
        Ok(self.add_noise(bits.is_seeded(), |units| {
            // Proof: `units` has the grid's dimension, which was just checked.
            noise.fill(bits, units).expect("a dimension that was checked");
        }))
    }

    /// The sum plus noise that `fill` writes over zeros: integers in units of the grid, each
    /// clamped to `i64`.
    pub(super) fn add_noise(self, seeded: bool, fill: impl FnOnce(&mut [i64])) -> NoisySum {
        let (grid, mut units, ends) = self.into_units();
        let mut noise = Zeroizing::new(vec![0; units.len()]);
        fill(&mut noise);
        ends.add(&mut units, &noise);
        NoisySum::new(grid, units, seeded)
    }

    /// The sum plus independent noise. A vector of one part has its noise from `bits`; of more,
    /// from one [`Branch`] of them each.
    fn add_in_parts<R: Bits + ?Sized>(
        self,
        threads: NonZero<usize>,
        bits: &mut R,
        noise: &Coordinatewise,
    ) -> NoisySum {
        if self.grid().dimension() <= PART {
            return self.add_noise(bits.is_seeded(), |units| noise.fill(bits, units));
        }
        let (grid, mut units, ends) = self.into_units();
        // From here on they stay in place until they are erased: a move leaves a copy behind.
        let mut branches: Vec<Branch> = units.chunks(PART).map(|_| Branch::of(bits)).collect();
        let parts: Vec<(&mut Branch, &mut [i64])> = branches.iter_mut().zip(units.chunks_mut(PART)).collect();
        let mut workers: Vec<_> =
            (0..threads.get().min(parts.len())).map(|_| Zeroizing::new(vec![0; PIECE])).collect();
        share(&mut workers, parts, |drawn, (branch, part)| {
            for piece in part.chunks_mut(PIECE) {
                let drawn = &mut drawn[..piece.len()];
                noise.fill(branch, drawn);
                ends.add(piece, drawn);
            }
        });
        NoisySum::new(grid, units, bits.is_seeded())
    }

    /// Accepts any norm in one dimension, where all of them are the absolute value.
    fn single_coordinate(
        &self,
        noise: &'static str,
        needed: Norm,
        advice: &'static str,
    ) -> Result<(), SumError> {
        if self.grid().dimension() == 1 {
            return Ok(());
        }
        Err(SumError::Noise { noise, needed, norm: self.grid().norm(), advice })
    }
}

/// Noise of which each coordinate is drawn by itself.
enum Coordinatewise {
    Gaussian(RoundedGaussian),
    Laplace(RoundedLaplace),
}

impl Coordinatewise {
    fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) {
        match self {
            Self::Gaussian(noise) => noise.fill(bits, out),
            Self::Laplace(noise) => noise.fill(bits, out),
        }
    }
}

impl Ends {
    /// Adds noise to a part of a sum.
    fn add(self, units: &mut [i64], noise: &[i64]) {
        for (unit, noise) in units.iter_mut().zip(noise) {
            *unit =
                (*unit).clamp(-self.sum, self.sum).saturating_add(*noise).clamp(-self.release, self.release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GridPlan, MAX_DEPTH};
    use super::*;
    use crate::{danger, entropy};

    fn sum(norm: Norm, dimension: usize) -> GridSum {
        GridSum::new(GridPlan::new(1.0, 1.0, dimension, 10).norm(norm).at_depth(20).unwrap())
    }

    #[test]
    fn noise_must_fit_the_norm() {
        let mut bits = danger::seeded(1);
        for (norm, gaussian, laplace) in
            [(Norm::L1, true, true), (Norm::L2, true, false), (Norm::Max, false, false)]
        {
            assert_eq!(sum(norm, 3).add_gaussian(&mut bits).is_ok(), gaussian, "{norm:?}");
            assert_eq!(sum(norm, 3).add_laplace(&mut bits).is_ok(), laplace, "{norm:?}");
            assert!(
                sum(norm, 1).add_gaussian(&mut bits).is_ok() && sum(norm, 1).add_laplace(&mut bits).is_ok()
            );
        }
        assert_eq!(
            sum(Norm::L2, 3).add_laplace(&mut bits).unwrap_err().to_string(),
            "Laplace noise needs contributions bounded in L1, this grid bounds them in L2; make the grid \
             with `Norm::L1`"
        );
    }

    #[test]
    fn a_release_remembers_a_seed() {
        let mut bits = danger::seeded(1);
        assert!(sum(Norm::L1, 3).add_gaussian(&mut bits).unwrap().is_seeded());
        assert!(sum(Norm::L1, 3).add_laplace(&mut (&mut bits)).unwrap().is_seeded());
        let mut bits = entropy().unwrap();
        assert!(!sum(Norm::L1, 3).add_gaussian(&mut bits).unwrap().is_seeded());
        assert!(!sum(Norm::L1, 3).add_laplace(&mut bits).unwrap().is_seeded());
    }

    #[test]
    fn the_deepest_grid_has_noise() {
        for norm in [Norm::L1, Norm::L2] {
            let grid = GridPlan::new(1.0, 1.0, 1, 10).norm(norm).at_depth(MAX_DEPTH).unwrap();
            assert_ne!(GridSum::new(grid).add_gaussian(&mut danger::seeded(2)).unwrap().units(), [0]);
            assert_ne!(GridSum::new(grid).add_laplace(&mut danger::seeded(2)).unwrap().units(), [0]);
        }
    }

    #[test]
    fn threads_do_not_change_the_release_and_parts_do_not_repeat() {
        let dimension = 3 * PART + 5;
        let noisy = |threads| {
            let threads = NonZero::new(threads).unwrap();
            sum(Norm::L2, dimension).add_gaussian_on(threads, &mut danger::seeded(5)).unwrap()
        };
        let one = noisy(1);
        assert!([2, 3, 8].into_iter().all(|threads| noisy(threads) == one));
        assert_eq!(sum(Norm::L2, dimension).add_gaussian(&mut danger::seeded(5)).unwrap(), one);
        let parts: Vec<&[i64]> = one.units().chunks(PART).collect();
        assert!(parts[0] != parts[1] && parts[1] != parts[2] && one.is_seeded());
    }

    #[test]
    fn noise_in_pieces_is_the_noise_of_the_whole_part() {
        let gaussian = Coordinatewise::Gaussian(RoundedGaussian::new(20).unwrap());
        let laplace = Coordinatewise::Laplace(RoundedLaplace::new(20).unwrap());
        for noise in [gaussian, laplace] {
            let (mut whole, mut pieces) = (vec![0; PART - 7], vec![0; PART - 7]);
            noise.fill(&mut danger::seeded(6), &mut whole);
            let mut bits = danger::seeded(6);
            pieces.chunks_mut(PIECE).for_each(|piece| noise.fill(&mut bits, piece));
            assert_eq!(whole, pieces);
        }
    }

    /// Mean of squares of n Gaussians: relative deviation sqrt(2/n); of Laplace, sqrt(5/n). Six of
    /// them: a false alarm once in 5e8 seeds.
    #[test]
    fn the_noise_has_the_scale_that_is_accounted() {
        let dimension = 200_000;
        let plan = GridPlan::new(3.0, 1.7, dimension, 10).norm(Norm::L1);
        let grid = plan.least_depth().unwrap();
        let square = |noisy: NoisySum| noisy.to_f64().iter().map(|x| x * x).sum::<f64>() / dimension as f64;
        let gaussian = square(GridSum::new(grid).add_gaussian(&mut danger::seeded(3)).unwrap());
        let laplace = square(GridSum::new(grid).add_laplace(&mut danger::seeded(4)).unwrap());
        let scale = 3.0f64 * 1.7;
        let n = dimension as f64;
        assert!((gaussian / scale.powi(2) - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{gaussian}");
        assert!((laplace / (2.0 * scale.powi(2)) - 1.0).abs() < 6.0 * (5.0 / n).sqrt(), "{laplace}");
    }
}
