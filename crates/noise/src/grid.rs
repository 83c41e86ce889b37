//! Sums of clipped contributions on an integer grid, and their release with rounded noise.
//!
//! # Definition
//! A grid has a clip norm `C`, a noise multiplier `z` and a depth `k`. Its step and its clip norm
//! in steps are
//! ```text
//! g = C / N,      N = floor((2^k / z - A) / (1 + F))                                       (1)
//! ```
//! with the [`Allowance`]'s relative term `F` and absolute term `A` (both 0 when every record is
//! quantised by itself). Record `x_i` becomes the integers `n_i = trunc(x_i / g)`, whose norm is
//! checked as integers, `‖n_i‖ <= N`; the sum `S = n_1 + n_2 + ...` is exact in `i64`; what is
//! released is `S + K`, where `K` is continuous noise of scale `2^k` (standard deviation of a
//! Gaussian, scale of a Laplace) rounded to integers.
//!
//! # Guarantee
//! `S + K` is a function of the continuous mechanism `S + 2^k X` alone: with `R` = round to
//! nearest, `R(s + y) = s + R(y)` for every integer `s`, so rounding the noise *is* rounding the
//! noisy sum, and rounding is post-processing. One contribution moves `S` by at most
//! `N (1 + F) + A <= 2^k / z` in the grid's [`Norm`], so the release has noise multiplier at least
//! `z`, in any dimension and under any composition. Neither rounding nor the sampler, which is
//! exact, adds to δ. The step `g` is public: it depends on parameters only. [`Grid::inflation`] is
//! the price, `F + A / N`.
//!
//! Sources: Mironov, *On Significance of the Least Significant Bits for Differential Privacy*,
//! 2012. Casacuberta, Shoemate, Vadhan, Wagaman, *Widespread Underestimation of Sensitivity in
//! Differentially Private Libraries*, 2022. Haney, Desfontaines, Hartman, Shrestha, Hay,
//! *Precision-Based Attacks and Interval Refining*, 2022.
//!
//! # Pitfalls
//! - What is accounted is `z`. The noise is really `z (1 + inflation)` times the clip norm; that
//!   figure is a cost of arithmetic and must never be reported as the multiplier.
//! - `K` is one rounding of one whole noise vector. Shares that are rounded separately and then
//!   added are not the rounding of their sum, and the guarantee does not cover them.
//! - `contributions` is the largest number that can *occur* (all records under Poisson sampling),
//!   not the expected number: a wrapped sum has the whole range as its sensitivity, a saturated one
//!   depends on order.
//! - Truncation moves each coordinate toward 0 by half a step on average. Next to the noise that is
//!   `contributions / 2^(k + 1)` standard deviations; it is small, but it is a bias and does not
//!   average out.
//! - Clipping a record takes a little longer than accepting it. The time a sum takes is not
//!   protected.
//!
//! ```
//! use sordino_noise::entropy;
//! use sordino_noise::grid::{GridPlan, GridSum};
//!
//! // Three coordinates, norm at most 1, noise multiplier 2, at most 100 records.
//! let grid = GridPlan::new(1.0, 2.0, 3, 100).least_depth()?;
//! let mut sum = GridSum::new(grid);
//! sum.add(&[0.6, 0.0, -0.8])?;
//! sum.add(&[30.0, 40.0, 0.0])?; // too long: scaled down to norm 1
//! sum.add(&[f64::NAN, 0.0, 0.0])?; // not a number: counts as zero
//! let released = sum.add_gaussian(&mut entropy()?)?;
//! println!("{:?}, give or take {}", released.to_f64(), grid.noise_scale());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allowance;
mod contribution;
mod error;
mod noisy;
mod norm;
mod plan;
mod sum;
#[cfg(test)]
mod tests;

pub use allowance::{Allowance, FloatGroups, Grouping};
pub use contribution::GridContribution;
pub use error::{GridError, SumError};
pub use noisy::NoisySum;
pub use norm::Norm;
pub use plan::{GridPlan, MAX_DEPTH, TRUNCATION_LIMIT};
pub use sum::{GridSum, Rounding};

/// A grid whose every figure has been checked; made by [`GridPlan`]. All of it is public knowledge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    plan: GridPlan,
    depth: u32,
    /// `N` of equation (1); at least 1.
    clip_units: i64,
    /// `g` in data units; a normal number, as is its reciprocal.
    step: f64,
    /// What a value is multiplied by to become steps: `(N / C)(1 + 2^-50)`, see `contribution.rs`.
    steps_per_unit: f64,
    inflation: f64,
}

impl Grid {
    /// The clip norm `C` in data units.
    pub fn clip_norm(&self) -> f64 {
        self.plan.clip_norm
    }

    /// The noise multiplier `z` that is accounted.
    pub fn noise_multiplier(&self) -> f64 {
        self.plan.noise_multiplier
    }

    /// The norm in which contributions are bounded.
    pub fn norm(&self) -> Norm {
        self.plan.norm
    }

    /// Number of coordinates of a contribution.
    pub fn dimension(&self) -> usize {
        self.plan.dimension
    }

    /// The largest number of contributions that a sum takes.
    pub fn contributions(&self) -> u64 {
        self.plan.contributions
    }

    /// How floating-point sums are allowed for.
    pub fn allowance(&self) -> Allowance {
        self.plan.allowance
    }

    /// The depth `k`: the noise has scale `2^k` steps.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The clip norm in steps, `N`.
    pub fn clip_units(&self) -> i64 {
        self.clip_units
    }

    /// What no coordinate of a sum exceeds before the noise, in steps: all contributions at their
    /// longest.
    pub fn largest_sum(&self) -> i64 {
        let reach = self.clip_units * self.plan.allowance.reach();
        // Proof of no overflow, here and above: a grid is made only if this and 64 scales of noise
        // fit `i64`.
        reach * self.plan.contributions as i64
    }

    /// The step `g`, in data units.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Scale of the noise in data units, `2^k g`.
    pub fn noise_scale(&self) -> f64 {
        // A power of two up to 2^MAX_DEPTH is exact in f64.
        self.step * (1u64 << self.depth) as f64
    }

    /// Relative inflation of the sensitivity that pays for floating point, `F + A / N`, rounded up.
    ///
    /// This is what a guarantee prints as `arithmetic`. It is 0 when records are quantised one by
    /// one.
    pub fn inflation(&self) -> f64 {
        self.inflation
    }
}
