//! How one record's gradient is clipped.
//!
//! # Definition
//! With g a record's gradient and C the clip norm, a record contributes to the sum
//!
//! | [`Clipping`] | contribution | norm at most |
//! |---|---|---|
//! | `Flat` | `g min(1, C/‖g‖)` | C |
//! | `Automatic` | `g C/(‖g‖ + γ)` (Bu, Wang, Zha, Karypis, *Automatic Clipping*, 2022) | C |
//! | `Coordinates` | `clamp(g_j, -C_j, C_j)/C_j` in coordinate j | sqrt(d) |
//! | `Quantile` | as `Flat`, with a C that follows a quantile of the norms | C |
//!
//! With `scales` s, the record's gradient is `g_j/s_j` throughout and the noisy sum is multiplied
//! by s again, so the noise is proportional to s (Asi, Duchi, Fallah, Javidbakht, Talwar, *Private
//! Adaptive Gradient Methods*, 2021). Coordinate bounds are such scales. A gradient that is not
//! finite contributes nothing.
//!
//! # The adaptive quantile
//! Andrew, Thakkar, McMahan, Ramaswamy, *Differentially Private Learning with Adaptive Clipping*,
//! 2021. Beside the gradients, the count `Σ (1[‖g_i‖ <= C] - 1/2)` is released with noise σ_b. Both
//! together are one Gaussian release of the vector `(g_i/(z_g C), (b_i - 1/2)/σ_b)`, whose norm is
//! at most 1/z for
//! ```text
//! z_g = (z^-2 - (2 σ_b)^-2)^(-1/2)                                                          (1)
//! ```
//! so the event is that of multiplier z, and the count is paid for. Then `C <- C exp(-η (b~ - γ))`;
//! a step uses the C from before it. Clipped gradients and their noise grow with C, so a learning
//! rate that suits the first clip norm C_0 would be too large for a larger one. Therefore the noisy
//! gradient, with its penalty, is multiplied by `min(1, C_0/C)`, which is post-processing.
//!
//! # Pitfalls
//! - `g max(1, C/‖g‖)` and `g / min(1, ‖g‖/C)` lengthen short vectors and leave long ones: they
//!   give no bound at all.
//! - Clipping is a bias that averaging over noise does not remove: a clip norm far below typical
//!   norms moves the optimum.

use sordino_noise::grid::{Allowance, Grid};

use crate::error::{OptimError, positive, within};

/// A factor just below 1 that covers the roundings of a quotient and a product.
const ROUNDING_MARGIN: f64 = 1.0 - 4.0 * f64::EPSILON;

/// How a plan clips; all numbers are public.
#[derive(Clone, Debug, PartialEq)]
pub enum Clipping {
    /// Gradients longer than a norm are shortened to it.
    Flat {
        /// C, the clip norm.
        norm: f64,
    },
    /// All gradients are brought to nearly the same norm, short ones included.
    Automatic {
        /// C, the clip norm.
        norm: f64,
        /// γ; 0.01 in the paper.
        gamma: f64,
    },
    /// Each coordinate is clamped to its own bound.
    Coordinates {
        /// C_j, the bound of each coordinate.
        bounds: Vec<f64>,
    },
    /// As `Flat`, with a clip norm that follows a quantile of the gradients' norms.
    Quantile {
        /// C of the first step, for which the learning rate is chosen. C never falls below a
        /// quarter of it.
        initial: f64,
        /// γ, the fraction of gradients that should not be clipped.
        quantile: f64,
        /// η, how fast C follows the quantile.
        rate: f64,
        /// σ_b, the standard deviation of the noise in the count, in records.
        count_noise: f64,
    },
}

impl Clipping {
    /// Checks all numbers, and that the count does not use up the noise multiplier z of a step.
    pub(crate) fn check(&self, noise_multiplier: f64) -> Result<(), OptimError> {
        match self {
            Self::Flat { norm } => positive("clip norm", *norm).map(drop),
            Self::Automatic { norm, gamma } => {
                positive("gamma of automatic clipping", *gamma)?;
                positive("clip norm", *norm).map(drop)
            }
            Self::Coordinates { bounds } => {
                bounds.iter().try_for_each(|bound| positive("coordinate bound", *bound).map(drop))
            }
            Self::Quantile { initial, quantile, rate, count_noise } => {
                positive("initial clip norm", *initial)?;
                within("clipping quantile", "above 0 and below 1", *quantile, |x| x > 0.0 && x < 1.0)?;
                positive("rate of the clip norm", *rate)?;
                let least = "a finite number above half the noise multiplier";
                let enough = |noise: f64| noise.is_finite() && 2.0 * noise > noise_multiplier;
                within("noise of the clipping count", least, *count_noise, enough).map(drop)
            }
        }
    }

    /// The noise multipliers of the gradients and of the count, if there is one, by equation (1).
    pub(crate) fn multipliers(&self, z: f64) -> (f64, Option<f64>) {
        match self {
            Self::Flat { .. } | Self::Automatic { .. } | Self::Coordinates { .. } => (z, None),
            Self::Quantile { count_noise, .. } => {
                // The count's clip norm is 1/2. The last factor rounds up, to the safe side.
                let of_count = 2.0 * count_noise;
                let gradients = (z.powi(-2) - of_count.powi(-2)).powf(-0.5) * (1.0 + 1e-12);
                (gradients, Some(of_count))
            }
        }
    }
}

/// How one record's gradient becomes its contribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClipRule {
    /// Multiplied by `min(1, C/‖g‖)`.
    Flat,
    /// Multiplied by `C/(‖g‖ + γ)`.
    Automatic {
        /// γ.
        gamma: f64,
    },
    /// Each scaled coordinate clamped to [-1, 1].
    Coordinates,
}

/// The clipping of one step: the grid of its sum, and how gradients become contributions.
#[derive(Clone, Copy, Debug)]
pub struct Clip<'a> {
    grid: Grid,
    rule: ClipRule,
    scales: Option<&'a [f64]>,
    count: Option<Grid>,
}

impl<'a> Clip<'a> {
    pub(crate) fn new(grid: Grid, rule: ClipRule, scales: Option<&'a [f64]>, count: Option<Grid>) -> Self {
        Self { grid, rule, scales, count }
    }

    /// The grid of the sum.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// How a gradient becomes a contribution.
    pub fn rule(&self) -> ClipRule {
        self.rule
    }

    /// The numbers by which coordinates are divided before clipping.
    pub fn scales(&self) -> Option<&'a [f64]> {
        self.scales
    }

    /// The grid of the count of unclipped records, if a count is needed.
    pub fn count(&self) -> Option<Grid> {
        self.count
    }

    /// Whether records are summed one by one and not in float groups.
    pub fn is_exact(&self) -> bool {
        matches!(self.grid.allowance(), Allowance::Exact)
    }

    /// The factor that turns a (scaled) gradient of norm at most `norm` into a contribution in the
    /// units that the sum takes: steps of the grid for float groups, data units for records one by
    /// one. The factor times `norm` is at most the clip norm in those units, roundings included.
    /// `norm` must be finite and not below the true norm.
    #[inline]
    pub fn weight(&self, norm: f64) -> f64 {
        let most = self.clip_units() * ROUNDING_MARGIN / norm;
        let wanted = match self.rule {
            ClipRule::Flat | ClipRule::Coordinates => self.clip_units() / self.grid.clip_norm(),
            ClipRule::Automatic { gamma } => self.clip_units() / (norm + gamma),
        };
        wanted.min(most) // for norm 0, `most` is infinite
    }

    /// [`weight`](Self::weight) for several norms, in hardly more time than for one.
    #[inline]
    pub fn weights<const N: usize>(&self, mut norms: [f64; N]) -> [f64; N] {
        norms.iter_mut().for_each(|norm| *norm = self.weight(*norm));
        norms
    }

    /// The largest absolute value of one (scaled) coordinate under [`ClipRule::Coordinates`],
    /// in the units that the sum takes.
    pub fn coordinate_limit(&self) -> f64 {
        self.clip_units() * ROUNDING_MARGIN / (self.grid.dimension() as f64).sqrt()
    }

    #[inline]
    fn clip_units(&self) -> f64 {
        if self.is_exact() { self.grid.clip_norm() } else { self.grid.clip_units() as f64 * ROUNDING_MARGIN }
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::grid::GridPlan;

    use super::*;

    fn clip(rule: ClipRule) -> Clip<'static> {
        Clip::new(GridPlan::new(1.0, 1.0, 4, 10).least_depth().unwrap(), rule, None, None)
    }

    #[test]
    fn factors_are_those_of_the_definition() {
        let flat = |norm| clip(ClipRule::Flat).weight(norm);
        assert_eq!((flat(0.0), flat(0.5)), (1.0, 1.0));
        assert!((flat(4.0) - 0.25).abs() < 1e-12 && flat(1.0) <= 1.0);
        // Bu et al. with R = 1, γ = 0.01.
        for (norm, factor) in [(0.5, 1.960784313725), (1.0, 0.990099009901), (2.0, 0.497512437811)] {
            let got = clip(ClipRule::Automatic { gamma: 0.01 }).weight(norm);
            assert!((got - factor).abs() < 1e-9, "{norm}: {got}");
        }
    }

    #[test]
    fn no_factor_makes_a_gradient_longer_than_the_clip_norm() {
        for rule in [ClipRule::Flat, ClipRule::Automatic { gamma: 1e-300 }] {
            for norm in [1e-300, 1e-20, 0.1, 1.0 - 1e-16, 1.0, 1.0 + 1e-16, 3.0, 1e20, 1e300] {
                assert!(clip(rule).weight(norm) * norm <= 1.0, "{rule:?} {norm}");
            }
        }
    }

    /// For z = 1 and σ_b = 10, as in the paper.
    #[test]
    fn gradients_and_count_together_cost_one_release() {
        let quantile = Clipping::Quantile { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 10.0 };
        let (gradients, count) = quantile.multipliers(1.0);
        assert!((gradients - 1.001252348644).abs() < 1e-9);
        let together = (gradients.powi(-2) + count.unwrap().powi(-2)).powf(-0.5);
        assert!((1.0..1.0 + 1e-9).contains(&together));
        assert!(quantile.check(25.0).is_err(), "a count with too little noise uses up the budget");
    }
}
