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
//! and after each round go on from the mean of its last iterates, a part τ of them. The result is
//! that mean after the last. Coordinates come in passes: each once in every p steps, in a new
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
//! `Jointly` has `‖d_i‖² = Σ_j (d_ij/C_j)²`, with the scores as they are at this step.
//!
//! # Guarantee
//! Relation: `zero_out` or `replace` with n public; there is no sampling and no amplification. The
//! order of coordinates looks at nothing, and means are post-processing. Where M_j is estimated,
//! one more release of a vector is composed with what follows.
//! - Clamped: each step is one Gaussian release of a number, of multiplier z; TK of them compose.
//! - `Jointly`: a *pass* is one Gaussian release of multiplier z. For a linear model
//!   `d_ij = φ'_i x_ij`, so in whatever step j has its turn, and whatever φ'_i is by then,
//!   the record moves that release by at most `u_ij = (x_ij/C_j) / sqrt(Σ_k (x_ik/C_k)²)`
//!   clip norms C_j. That bound is a function of the record and of public numbers, not of
//!   what was released before, and `Σ_j u_ij² = 1`: for every pair of neighbours the steps of
//!   a pass compose as Gaussian releases of multipliers z/u_ij, which is one of multiplier z
//!   (Dong, Roth, Su, *Gaussian Differential Privacy*, 2022, Corollary 3.3). Passes that are
//!   not complete count as complete.
//!
//! So `Jointly` pays for p steps what gradient descent pays for one, while clamping pays p times; a
//! record at all its clamps at once is what that is for.
//!
//! # What the mean is for
//! With N steps z grows like sqrt(N), and a mean over all of them has the same noise however many
//! they are. A round of few steps a coordinate throws this away: its last iterates have the noise
//! of single steps. So: one round, many passes, half of them in the mean.
//!
//! # On the way
//! A fit is watched, stopped, kept and resumed by *passes*: between two of them there is no
//! order of coordinates to remember, and weights, the sum of the round's iterates so far
//! and the smoothness are all there is. An estimate of smoothness was released once; a
//! resumed fit goes on with that one.
//!
//! # Arithmetic
//! A block's contributions are summed in `f64` and rounded to the grid of their coordinate.
//! Scores are kept up to date step by step and computed anew each round: drift changes utility,
//! not privacy, for what is released is clipped. Rounding can move each coordinate of a pass by
//! the grid's inflation ι; a grid has room for one ι, so joint contributions are kept
//! `sqrt(p) ι` shorter (see `Columns`).

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

/// Steps a coordinate where K is not said.
const PASSES: u64 = 30;

/// Where coordinate smoothness comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Smoothness {
    /// From the bounds that the encoding declares.
    Declared,
    /// From the data, for a part of the budget.
    Estimated {
        /// Which part of the squared noise budget, above 0 and below 1; a tenth is usual.
        share: f64,
        /// The least estimate, as a part of the declared bound.
        floor: f64,
    },
    /// Given: public numbers, one for each coordinate, without the penalty.
    Public(Vec<f64>),
}

/// How the bounds of coordinates are chosen.
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
    /// `C sqrt(p M_j / Σ M)` for all coordinates of a record together: C
    /// itself where all M_j are equal.
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
    /// One round of 30 steps a coordinate (K is set by the plan), the mean of the last half of it,
    /// smoothness estimated for a tenth of the budget.
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

    /// T.
    pub fn rounds(self, rounds: u64) -> Self {
        Self { rounds, ..self }
    }

    /// K, the steps of a round; 30 a coordinate if 0.
    pub fn steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// τ: which part of a round's iterates, the last ones, is in its mean; above 0 and at most 1.
    pub fn tail(self, tail: f64) -> Self {
        Self { tail, ..self }
    }

    /// γ.
    pub fn step_size(self, step_size: f64) -> Self {
        Self { step_size, ..self }
    }

    /// λ.
    pub fn l2(self, l2: f64) -> Self {
        Self { l2, ..self }
    }

    /// Under another relation.
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        Self { neighbours, ..self }
    }

    /// Where coordinate smoothness comes from.
    pub fn smoothness(self, smoothness: Smoothness) -> Self {
        Self { smoothness, ..self }
    }

    /// How coordinates are clipped.
    pub fn clipping(self, clipping: CoordinateClipping) -> Self {
        Self { clipping, ..self }
    }

    /// Multiplies what clipping leaves of a record's derivative by the weight of its class.
    pub fn class_weights(self, weights: ClassWeights) -> Self {
        Self { class_weights: Some(weights), ..self }
    }

    /// The plan for data of n records with this encoding, with noise for (ε, δ).
    pub fn plan(
        &self,
        encoding: &Encoding,
        n: Count,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<CoordinatePlan, LearnError> {
        self.plan_with(encoding, n, Noise::Budget { epsilon, delta })
    }

    /// The plan with noise as said: the multiplier is that of (1), and an estimate of
    /// smoothness has its share beside it.
    pub fn plan_with(
        &self,
        encoding: &Encoding,
        n: Count,
        noise: Noise,
    ) -> Result<CoordinatePlan, LearnError> {
        self.check(encoding)?;
        let steps = if self.steps == 0 { PASSES * encoding.width() as u64 } else { self.steps };
        let learner = Self { steps, ..self.clone() };
        let price = |noise| Price::new(&learner, encoding, noise);
        let noise = match noise {
            Noise::Multiplier(noise) => noise,
            Noise::Budget { epsilon, delta } => {
                // A multiplier whose share is out of range is no candidate: no guarantee at all.
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
                name: "number of given smoothness constants",
                expected: "that of the coordinates",
                got: all.len() as f64,
            }),
            Smoothness::Public(all) => all.iter().try_for_each(|m| above("coordinate smoothness", *m)),
        }
    }

    /// T K.
    fn all_steps(&self) -> u64 {
        self.rounds.saturating_mul(self.steps)
    }
}

#[cfg(test)]
mod tests;
