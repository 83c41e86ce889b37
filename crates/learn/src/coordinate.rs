//! Noisy coordinate descent: one coordinate of the gradient a step, each with its own clip norm, noise and step size.
//!
//! # Definition
//! Mangold, Bellet, Salmon, Tommasi, *Differentially Private Coordinate Descent for Composite Empirical Risk Minimization*, 2022. With
//! coordinate smoothness M_j, T rounds of K steps: take the next j,
//! ```text
//! g_j = (1/n) (Σ_i clip(∂_j l_i(w)) + N(0, (z C_j)²)),    w_j -= (γ/M_j) (g_j + λ w_j)                  (1)
//! ```
//! and after each round go on from the mean of its last iterates, a part τ of them. The result is that mean after the last. Coordinates come in passes: each
//! once in every p steps, in a new random order. (The paper draws j anew at each step and has τ = 1.)
//!
//! # Clipping
//! | [`CoordinateClipping`] | `clip(d_ij)`, d the derivative | C_j |
//! |---|---|---|
//! | `BySmoothness` | `clamp(d_ij, -C_j, C_j)` | `C sqrt(M_j / Σ M)`, what the theory asks for |
//! | `Uniform` | the same | `C / sqrt(p)` |
//! | `Lipschitz` | the same | L_j: nothing is clipped |
//! | `Jointly` | `d_ij min(1, 1/‖d_i‖)` with `‖d_i‖² = Σ_j (d_ij/C_j)²`, the scores taken as they are at this step | `C sqrt(p M_j / Σ M)` |
//!
//! # Guarantee
//! Relation: `zero_out` or `replace` with n public; there is no sampling and no amplification. The order of coordinates looks at nothing, and means are
//! post-processing. Where M_j is estimated, one more release of a vector is composed with what follows.
//! - Clamped: each step is one Gaussian release of a number, of multiplier z; TK of them compose.
//! - `Jointly`: a *pass* is one Gaussian release of multiplier z. For a linear model `d_ij = φ'_i x_ij`, so in whatever step j has its turn, and whatever
//!   φ'_i is by then, the record moves that release by at most `u_ij = (x_ij/C_j) / sqrt(Σ_k (x_ik/C_k)²)` clip norms C_j. That bound is a function of
//!   the record and of public numbers, not of what was released before, and `Σ_j u_ij² = 1`: for every pair of neighbours the steps of a pass compose as Gaussian
//!   releases of multipliers z/u_ij, which is one of multiplier z (Dong, Roth, Su, *Gaussian Differential Privacy*, 2022, Corollary 3.3).
//!   Passes that are not complete count as complete.
//!
//! So `Jointly` pays for p steps what gradient descent pays for one, while clamping pays p times; a record at all its clamps at once is what that is for.
//!
//! # What the mean is for
//! With N steps z grows like sqrt(N), and a mean over all of them has the same noise however many they are. A round of few steps a coordinate
//! throws this away: its last iterates have the noise of single steps. So: one round, many passes, half of them in the mean.
//!
//! # Smoothness
//! `M_j = κ (1/n) Σ x_ij² + λ`, κ the curvature of the loss. [`Smoothness::Declared`] takes the bound `x_ij² <= X_j²` from the encoding,
//! for free. [`Smoothness::Estimated`] releases `Σ_i (x_ij²/X_j² - 1/2)` for all j at once: each record's vector has a norm of at most
//! `sqrt(p)/2`. Two deviations of its noise, which are public, are added: steps that are too short cost a little, steps longer than 2/M_j
//! diverge. An estimate below `floor` of its bound is raised to it. A wrong M_j harms convergence, never privacy.
//!
//! # Arithmetic
//! A block's contributions are summed in `f64` and rounded to the grid of their coordinate. Scores are kept up to
//! date step by step and computed anew each round: drift changes utility, not privacy, for what is released is clipped. Rounding can move each coordinate of a pass
//! by the grid's inflation ι; a grid has room for one ι, so joint contributions are kept `sqrt(p) ι` shorter (see `Columns`).

mod columns;

use std::num::NonZero;

use sordino_data::{ContributionLimit, Encoded, Encoding, ROWS_PER_BLOCK};
use sordino_noise::grid::{Allowance, FloatGroups, Grid, GridPlan, Grouping, Sum};
use sordino_noise::{Bits, uniform_below};
use sordino_privacy::{
    Claim, Count, Delta, Epsilon, Event, Inflation, Neighbours, NoiseMultiplier, Permit, Release, calibrate,
};

use crate::error::LearnError;
use crate::gradient::Noise;
use crate::loss::Loss;
use crate::model::LinearModel;
use crate::plan::{Learned, LearningPlan, Terms, check_relation};
use columns::Columns;

/// Steps a coordinate where K is not said.
const PASSES: u64 = 30;
/// How many deviations of its noise an estimate of smoothness is raised by.
const CAUTION: f64 = 2.0;
/// Depth of the grids: noise of 2^30 steps, room for 2^32 records down to a multiplier of 1.
const DEPTH: u32 = 30;

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
    /// `C sqrt(p M_j / Σ M)` for all coordinates of a record together: C itself where all M_j are equal.
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
}

impl CoordinateDescent {
    /// One round of 30 steps a coordinate (K is set by the plan), the mean of the last half of it, smoothness estimated for a tenth of
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

    /// The plan with noise as said: the multiplier is that of (1), and an estimate of smoothness has its share beside it.
    pub fn plan_with(
        &self,
        encoding: &Encoding,
        n: Count,
        noise: Noise,
    ) -> Result<CoordinatePlan, LearnError> {
        self.check(encoding)?;
        let width = encoding.width() as u64;
        let steps = if self.steps == 0 { PASSES * width } else { self.steps };
        let learner = Self { steps, ..self.clone() };
        let releases = Count::new(learner.releases(width))?;
        let event = |noise| learner.event(encoding, releases, noise);
        let noise = match noise {
            Noise::Multiplier(noise) => noise,
            Noise::Budget { epsilon, delta } => {
                let claim = |noise| {
                    // A multiplier whose share is out of range is no candidate: no guarantee at all.
                    let event = event(noise).unwrap_or(Event::NonPrivate);
                    Claim::new(self.neighbours, event)
                };
                calibrate::noise_of(epsilon, delta, claim)?.value
            }
        };
        let claim = Claim::new(self.neighbours, event(noise)?);
        Ok(CoordinatePlan { terms: Terms { encoding: encoding.clone(), n, claim }, learner, noise })
    }

    fn check(&self, encoding: &Encoding) -> Result<(), LearnError> {
        self.loss.check(encoding)?;
        check_relation(self.neighbours)?;
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

    /// How many Gaussian releases the descent is: steps, or passes begun.
    fn releases(&self, width: u64) -> u64 {
        let steps = self.rounds.saturating_mul(self.steps);
        match self.clipping {
            CoordinateClipping::Jointly { .. } => steps.div_ceil(width),
            CoordinateClipping::BySmoothness { .. }
            | CoordinateClipping::Uniform { .. }
            | CoordinateClipping::Lipschitz => steps,
        }
    }

    /// `releases` of multiplier `noise`, and the estimate with its share.
    fn event(
        &self,
        encoding: &Encoding,
        releases: Count,
        noise: NoiseMultiplier,
    ) -> Result<Event, LearnError> {
        let steps = Event::gaussian(noise).repeated(releases);
        let event = match self.estimate_noise(releases.get(), noise)? {
            None => steps,
            Some(estimate) => Event::composed([Event::gaussian(estimate), steps]),
        };
        Ok(ContributionLimit::of(encoding.schema().unit()).event(event))
    }

    /// Squares of inverse multipliers add up: the estimate has its share of them.
    fn estimate_noise(
        &self,
        releases: u64,
        noise: NoiseMultiplier,
    ) -> Result<Option<NoiseMultiplier>, LearnError> {
        match self.smoothness {
            Smoothness::Declared | Smoothness::Public(_) => Ok(None),
            Smoothness::Estimated { share, .. } => {
                let ratio = ((1.0 - share) / (share * releases as f64)).sqrt();
                Ok(Some(NoiseMultiplier::new(noise.get() * ratio)?))
            }
        }
    }
}

/// Noisy coordinate descent with all its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatePlan {
    terms: Terms,
    learner: CoordinateDescent,
    noise: NoiseMultiplier,
}

impl CoordinatePlan {
    /// z of a step.
    pub fn noise_multiplier(&self) -> NoiseMultiplier {
        self.noise
    }

    /// M_j, penalty included.
    fn smoothness(&self, columns: &Columns, bits: &mut dyn Bits) -> Result<Vec<f64>, LearnError> {
        let learner = &self.learner;
        let bounds = self.terms.encoding.coordinate_bounds();
        let declared = bounds.iter().map(|bound| bound * bound);
        let mean_squares: Vec<f64> = match &learner.smoothness {
            Smoothness::Declared => declared.collect(),
            Smoothness::Public(all) => return Ok(all.iter().map(|m| m + learner.l2).collect()),
            Smoothness::Estimated { floor, .. } => {
                let parts = self.estimate(columns, &bounds, bits)?;
                declared.zip(parts).map(|(most, part)| most * part.clamp(*floor, 1.0)).collect()
            }
        };
        let of = |mean_square: f64| learner.loss.coordinate_smoothness(mean_square) + learner.l2;
        // A coordinate that is always 0 never moves, whatever its step size.
        Ok(mean_squares.into_iter().map(|square| of(square).max(1e-30)).collect())
    }

    /// `(1/n) Σ x_ij²/X_j²` for all j, with noise, and raised by [`CAUTION`] deviations of it.
    fn estimate(
        &self,
        columns: &Columns,
        bounds: &[f64],
        bits: &mut dyn Bits,
    ) -> Result<Vec<f64>, LearnError> {
        let releases = self.learner.releases(bounds.len() as u64);
        // `plan_with` has made the event from the same number.
        let Some(noise) = self.learner.estimate_noise(releases, self.noise)? else { return Ok(Vec::new()) };
        let (p, n) = (bounds.len(), self.terms.n.get());
        let grid = GridPlan::new(0.5 * (p as f64).sqrt(), noise.get(), p, n);
        let least = grid.least_depth()?;
        let grid = (least.depth()..=DEPTH).rev().find_map(|depth| grid.at_depth(depth).ok()).unwrap_or(least);
        let mut sum = Sum::new(grid);
        let mut record = vec![0.0; p];
        for slot in (0..columns.slots).filter(|slot| columns.present[*slot]) {
            for (j, (part, bound)) in record.iter_mut().zip(bounds).enumerate() {
                let x = f64::from(columns.column(j)[slot]) / bound.max(f64::MIN_POSITIVE);
                *part = (x * x).clamp(0.0, 1.0) - 0.5;
            }
            sum.add(&record)?;
        }
        let raised = 0.5 + CAUTION * grid.noise_scale() / n as f64;
        Ok(sum.add_gaussian(bits)?.to_f64().iter().map(|sum| sum / n as f64 + raised).collect())
    }

    /// One grid of one dimension for each coordinate.
    fn grids(&self, smoothness: &[f64]) -> Result<Vec<Grid>, LearnError> {
        let total: f64 = smoothness.iter().sum();
        let p = smoothness.len() as f64;
        let clip_norm = |j: usize| match self.learner.clipping {
            CoordinateClipping::BySmoothness { norm } => norm * (smoothness[j] / total).sqrt(),
            CoordinateClipping::Uniform { norm } => norm / p.sqrt(),
            CoordinateClipping::Jointly { norm } => norm * (p * smoothness[j] / total).sqrt(),
            CoordinateClipping::Lipschitz => {
                let bound = self.terms.encoding.coordinate_bounds()[j];
                // `check` has refused losses without a slope.
                self.learner.loss.coordinate_lipschitz(bound).unwrap_or(f64::INFINITY).max(1e-30)
            }
        };
        let allowance = match self.learner.neighbours {
            Neighbours::ZeroOut | Neighbours::ReplaceOrdered => Allowance::FloatGroups(FloatGroups {
                group_size: ROWS_PER_BLOCK as u32,
                chain: ROWS_PER_BLOCK as u64 + 2,
                unit_roundoff: FloatGroups::F64,
                beta: 1.0,
                positions: 1,
                grouping: Grouping::FixedSlots,
            }),
            // Groups show the order of records, which may differ here.
            Neighbours::AddRemove
            | Neighbours::AddRemoveOrdered
            | Neighbours::ZeroOutUnordered
            | Neighbours::Replace
            | Neighbours::MetricBall(_) => Allowance::Exact,
        };
        let grid = |j| {
            let plan =
                GridPlan::new(clip_norm(j), self.noise.get(), 1, self.terms.n.get()).allowance(allowance);
            let least = plan.least_depth()?;
            let deeper = (least.depth()..=DEPTH).rev().find_map(|depth| plan.at_depth(depth).ok());
            Ok(deeper.unwrap_or(least))
        };
        (0..smoothness.len()).map(grid).collect()
    }

    fn descend(
        &self,
        columns: &Columns,
        smoothness: &[f64],
        grids: &[Grid],
        bits: &mut dyn Bits,
    ) -> Result<Vec<f64>, LearnError> {
        let CoordinateDescent { loss, rounds, steps, tail, step_size, l2, .. } = self.learner;
        let p = smoothness.len();
        // At least one iterate, at most all.
        let first_of_tail = steps - ((tail * steps as f64).ceil() as u64).clamp(1, steps);
        let mut turns = Turns::new(p);
        let mut weights = vec![0.0; p];
        for _ in 0..rounds {
            let mut scores = columns.scores(&weights);
            let mut mean = vec![0.0; p];
            // When each coordinate last changed: its share of the mean is added then, and not at every step.
            let mut since = vec![first_of_tail; p];
            for step in 0..steps {
                let j = turns.next(bits);
                let noisy = columns.clamped_sum(loss, &scores, j, grids[j])?.add_gaussian(bits)?.to_f64()[0];
                let gradient = noisy / self.terms.n.get() as f64 + l2 * weights[j];
                mean[j] += weights[j] * step.saturating_sub(since[j]) as f64;
                since[j] = since[j].max(step);
                let change = -step_size / smoothness[j] * gradient;
                weights[j] += change;
                columns.move_scores(&mut scores, j, change);
            }
            for (j, weight) in weights.iter_mut().enumerate() {
                // The value since its last change counts from that step on.
                *weight = (mean[j] + *weight * (steps - since[j]) as f64) / (steps - first_of_tail) as f64;
            }
        }
        Ok(weights)
    }
}

/// Coordinates in the order of their turns: each once in a pass, in a new random order.
struct Turns {
    coordinates: Vec<usize>,
    taken: usize,
}

impl Turns {
    /// `p` is at least 1: an encoding has a coordinate.
    fn new(p: usize) -> Self {
        Self { coordinates: (0..p).collect(), taken: 0 }
    }

    /// One step of a shuffle: the next is any of those that had no turn in this pass.
    fn next(&mut self, bits: &mut dyn Bits) -> usize {
        if self.taken == self.coordinates.len() {
            self.taken = 0;
        }
        let rest = (self.coordinates.len() - self.taken) as u64;
        // `rest` is at least 1: the branch above.
        let other = uniform_below(NonZero::new(rest).unwrap_or(NonZero::<u64>::MIN), bits) as usize;
        self.coordinates.swap(self.taken, self.taken + other);
        self.taken += 1;
        self.coordinates[self.taken - 1]
    }
}

impl LearningPlan for CoordinatePlan {
    type Model = LinearModel;

    fn claim(&self) -> Claim {
        self.terms.claim.clone()
    }

    fn fit_with(
        &self,
        data: &Encoded,
        permit: Permit,
        bits: &mut dyn Bits,
    ) -> Result<Release<LinearModel>, LearnError> {
        self.terms.fit(data, permit, bits, |bits| {
            let mut columns = Columns::new(data);
            let smoothness = self.smoothness(&columns, bits)?;
            let grids = self.grids(&smoothness)?;
            if let CoordinateClipping::Jointly { .. } = self.learner.clipping {
                columns.clip_jointly(&grids);
            }
            let weights = self.descend(&columns, &smoothness, &grids, bits)?;
            let inflation = grids.iter().map(Grid::inflation).fold(0.0, f64::max);
            Ok(Learned { loss: self.learner.loss, weights, arithmetic: Inflation::new(inflation)? })
        })
    }
}

#[cfg(test)]
mod tests;
