//! Noisy coordinate descent: one coordinate of the gradient a step, each with its
//! own clip norm, noise and step size.
//!
//! # Definition
//! Mangold, Bellet, Salmon, Tommasi, *Differentially Private Coordinate Descent for
//! Composite Empirical Risk Minimization*, 2022. With coordinate smoothness M_j, T
//! rounds of K steps: take the next j,
//! ```text
//! g_j = (1/n) (Σ_i clip(∂_j l_i(w)) + N(0, (z C_j)²)),    w_j -= (γ/M_j) (g_j + λ w_j)         (1)
//! ```
//! The next round starts from the mean of the last τK iterates of this one, and the result is that
//! mean after the last round. Coordinates come in passes: each once in every p steps, in a new
//! random order. (The paper draws j anew at each step and has τ = 1.)
//!
//! # Clipping
//! | [`CoordinateClipping`] | `clip(d_ij)`, d the derivative | C_j |
//! |---|---|---|
//! | `BySmoothness` | `clamp(d_ij, -C_j, C_j)` | `C sqrt(M_j / Σ M)`, what the theory asks for |
//! | `Uniform` | the same | `C / sqrt(p)` |
//! | `Lipschitz` | the same | L_j: nothing is clipped |
//! | `Jointly` | `d_ij min(1, 1/‖d_i‖)` | `C sqrt(p M_j / Σ M)` |
//!
//! For `Jointly`, `‖d_i‖² = Σ_j (d_ij/C_j)²` at the scores of this step.
//!
//! # Guarantee
//! Relation: `zero_out` or `replace` with n public; there is no sampling and no amplification. The
//! order of coordinates is independent of the data, and means are post-processing. Where M_j is
//! estimated, that is one more release, of a vector, and it composes with the steps.
//! - Clamped: each step is one Gaussian release of a number, of multiplier z; TK of them compose.
//! - `Jointly`: a *pass* is one Gaussian release of multiplier z. For a linear model
//!   `d_ij = φ'_i x_ij`. So at whichever step of the pass j has its turn, and whatever φ'_i is at
//!   that step, the record moves the sum by at most `u_ij = (x_ij/C_j) / sqrt(Σ_k (x_ik/C_k)²)`
//!   clip norms C_j. This bound depends on the record and on public numbers, not on earlier
//!   releases, and `Σ_j u_ij² = 1`. So for every pair of neighbours the steps of a pass compose as
//!   Gaussian releases of multipliers z/u_ij, which is one of multiplier z (Dong, Roth, Su,
//!   *Gaussian Differential Privacy*, 2022, Corollary 3.3). An incomplete pass counts as a complete
//!   one.
//!
//! So `Jointly` pays for p steps what gradient descent pays for one. Clamping pays p times as much,
//! because one record could reach every clamp at once.
//!
//! # Why iterates are averaged
//! With N steps z grows like sqrt(N), and the mean over all of them has the same noise for every N.
//! A round with few steps for each coordinate loses this advantage: its last iterates have the
//! noise of single steps. Hence the defaults: one round, many passes, the mean of the last half.
//!
//! # Progress and checkpoints
//! Progress, cancellation and checkpoints count *passes*. Between two passes there is no order of
//! coordinates to remember: the state is the weights, the sum of the round's iterates so far and
//! the smoothness. Estimated smoothness is released once, and a resumed fit continues with the same
//! estimate.
//!
//! # Arithmetic
//! A block's contributions are summed in `f64` and rounded to the grid of their coordinate. Scores
//! are updated at each step and computed anew each round. Drift changes utility, not privacy,
//! because every contribution is clipped. Rounding can move each coordinate of a pass by the grid's
//! inflation ι. A grid has room for one ι, so joint contributions are kept `sqrt(p) ι` shorter (see
//! `Columns`).

mod columns;
mod descent;
mod grids;
mod iterates;
mod plan;
mod price;
mod smoothness;

use sordino_data::Encoding;
use sordino_optim::{ClassWeights, Noise, check_public_size};
use sordino_privacy::{Claim, Count, Delta, Epsilon, Event, Neighbours, calibrate};

use crate::error::LearnError;
use crate::loss::Loss;
pub use plan::CoordinatePlan;
use price::Price;

/// Steps for each coordinate in a round where K is not given.
const DEFAULT_PASSES: u64 = 30;

/// Where coordinate smoothness comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Smoothness {
    /// From the bounds that the encoding declares.
    Declared,
    /// Estimated from the data, for a share of the budget.
    Estimated {
        /// The estimate's share of the sum of `1/z²` over all releases, above 0 and below 1.
        share: f64,
        /// The least estimate, as a fraction of the declared bound.
        floor: f64,
    },
    /// Public numbers, one for each coordinate, without the penalty.
    Public(Vec<f64>),
}

/// How each coordinate's clip norm C_j is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoordinateClipping {
    /// `C sqrt(M_j / Σ M)`.
    BySmoothness {
        /// C.
        norm: f64,
    },
    /// `C / sqrt(p)`.
    Uniform {
        /// C.
        norm: f64,
    },
    /// L_j: nothing is clipped. Not for the squared loss.
    Lipschitz,
    /// `C sqrt(p M_j / Σ M)`, which is C where all M_j are equal. A record's coordinates are
    /// clipped together, not one by one.
    Jointly {
        /// C.
        norm: f64,
    },
}

/// Builds plans for noisy coordinate descent.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinateDescent {
    loss: Loss,
    rounds: u64,
    steps: u64,
    tail: f64,
    step_size: f64,
    l2: f64,
    neighbours: Neighbours,
    smoothness: Smoothness,
    clipping: CoordinateClipping,
    class_weights: Option<ClassWeights>,
}

impl CoordinateDescent {
    /// One round of 30 passes, the mean of their last half, and smoothness estimated for a tenth of
    /// the budget.
    pub fn new(loss: Loss) -> Self {
        Self {
            loss,
            rounds: 1,
            steps: 0,
            tail: 0.5,
            step_size: 1.0,
            l2: 0.0,
            neighbours: Neighbours::ZeroOut,
            smoothness: Smoothness::Estimated { share: 0.1, floor: 1e-4 },
            clipping: CoordinateClipping::Jointly { norm: 1.0 },
            class_weights: None,
        }
    }

    /// Sets T, the number of rounds.
    pub fn rounds(self, rounds: u64) -> Self {
        Self { rounds, ..self }
    }

    /// Sets K, the steps of a round. 0 means 30 for each coordinate.
    pub fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// Sets τ, the fraction of a round's iterates, counted from its end, that its mean includes.
    /// Above 0 and at most 1.
    pub fn tail(self, tail: f64) -> Self {
        Self { tail, ..self }
    }

    /// Sets γ, the step size in units of 1/M_j.
    pub fn step_size(self, step_size: f64) -> Self {
        Self { step_size, ..self }
    }

    /// Sets λ of the penalty `(λ/2)‖w‖²`.
    pub fn l2(self, l2: f64) -> Self {
        Self { l2, ..self }
    }

    /// Sets the neighbouring relation, `zero_out` by default.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Sets where coordinate smoothness comes from.
    pub fn smoothness(self, smoothness: Smoothness) -> Self {
        Self { smoothness, ..self }
    }

    /// Sets how coordinates are clipped.
    pub fn clipping(self, clipping: CoordinateClipping) -> Self {
        Self { clipping, ..self }
    }

    /// Multiplies each record's clipped derivative by the weight of its class.
    pub fn class_weights(self, weights: ClassWeights) -> Self {
        Self { class_weights: Some(weights), ..self }
    }

    /// The plan for n records with this encoding, with the noise calibrated to (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<CoordinatePlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with the given noise. A multiplier is z in (1); an estimate of smoothness gets its
    /// own, by its share.
    pub fn plan_with(
        &self,
        encoding: &Encoding,
        n: Count,
        noise: Noise,
    ) -> Result<CoordinatePlan, LearnError> {
        self.check(encoding)?;
        let steps = if self.steps == 0 { DEFAULT_PASSES * encoding.width() as u64 } else { self.steps };
        let learner = Self { steps, ..self.clone() };
        let price = |noise| Price::new(&learner, encoding, noise);
        let noise = match noise {
            Noise::Multiplier(noise) => noise,
            Noise::Budget { epsilon, delta } => {
                // A multiplier whose estimate would need one out of range is never chosen.
                let nothing = || Claim::new(self.neighbours, Event::NonPrivate);
                let claim = |noise| price(noise).map_or_else(|_| nothing(), |price| price.whole());
                calibrate::noise_of(epsilon, delta, claim)?.value
            }
        };
        let price = price(noise)?;
        Ok(CoordinatePlan::new(encoding.clone(), n, learner, price))
    }

    fn check(&self, encoding: &Encoding) -> Result<(), LearnError> {
        self.loss.check(encoding)?;
        self.class_weights.iter().try_for_each(|weights| weights.check(encoding))?;
        check_public_size(self.neighbours)?;
        let (learner, loss) = ("coordinate descent", self.loss.name());
        if self.loss.outputs() > 1 {
            return Err(LearnError::Loss {
                learner,
                loss,
                instead: "use gradient descent for several classes",
            });
        }
        if self.clipping == CoordinateClipping::Lipschitz && self.loss.slope().is_none() {
            let instead = "it has no Lipschitz constant: clip by smoothness";
            return Err(LearnError::Loss { learner: "clipping to Lipschitz constants", loss, instead });
        }
        let above = |name, got: f64| {
            let expected = "a finite number above 0";
            let error = LearnError::Parameter { name, expected, got };
            if got > 0.0 && got.is_finite() { Ok(()) } else { Err(error) }
        };
        above("step size", self.step_size)?;
        if !(self.tail > 0.0 && self.tail <= 1.0) {
            let expected = "above 0 and at most 1";
            return Err(LearnError::Parameter { name: "averaged part of a round", expected, got: self.tail });
        }
        match self.clipping {
            CoordinateClipping::BySmoothness { norm }
            | CoordinateClipping::Uniform { norm }
            | CoordinateClipping::Jointly { norm } => {
                above("clip norm", norm)?;
            }
            CoordinateClipping::Lipschitz => {}
        }
        if !(self.l2 >= 0.0 && self.l2.is_finite()) {
            let expected = "a finite number of at least 0";
            return Err(LearnError::Parameter { name: "l2 penalty", expected, got: self.l2 });
        }
        match &self.smoothness {
            Smoothness::Declared => Ok(()),
            Smoothness::Estimated { share, floor } => {
                above("floor of smoothness", *floor)?;
                let error = LearnError::Parameter {
                    name: "share of the budget for smoothness",
                    expected: "above 0 and below 1",
                    got: *share,
                };
                if *share > 0.0 && *share < 1.0 { Ok(()) } else { Err(error) }
            }
            Smoothness::Public(all) if all.len() != encoding.width() => Err(LearnError::Parameter {
                name: "number of smoothness constants",
                expected: "the number of coordinates",
                got: all.len() as f64,
            }),
            Smoothness::Public(all) => all.iter().try_for_each(|m| above("coordinate smoothness", *m)),
        }
    }

    /// T K, the steps of all rounds.
    fn all_steps(&self) -> u64 {
        self.rounds.saturating_mul(self.steps)
    }
}

#[cfg(test)]
mod tests;
