//! Dominating pairs: for each elementary release, two distributions whose likelihood ratio no
//! neighbouring inputs exceed.
//!
//! # Definition
//! A base mechanism has a reference distribution `Q` (nobody's contribution, symmetric about 0) and
//! a shifted one `P'` (one contribution), described by `ln Q(x)` and `y(x) = ln(P'(x) / Q(x))`,
//! which never falls in `x`. Poisson sampling at rate `q` replaces `P'` by `(1 - q) Q + q P'`, so
//! with
//! ```text
//! g(y) = ln(1 - q + q e^y)                                                (1)
//! ```
//! the three views of one step are
//! ```text
//! remove   P = (1-q) Q + q P'   against  Q                   loss  g(y(x))
//! add      P = Q                against  (1-q) Q + q P'      loss -g(y(-x))   (mirrored, so that it rises)
//! replace  P = (1-q) Q + q P'   against  (1-q) Q + q P'(-x)  loss  g(y(x)) - g(y(-x))
//! ```
//! # Guarantee
//! Remove and add: Zhu, Dong, Wang, *Optimal Accounting of Differential Privacy via Characteristic
//! Function*, 2022 (Poisson sampling preserves domination). Replace: for `a >= 1` the half-line
//! with the same `P'` mass has, by Neyman-Pearson, least mass under every other shift in `[-1, 1]`,
//! so the opposite shift is the worst.
//! # Pitfalls
//! - The worse of remove and add for one step need not be the worse after composition (Lebeda,
//!   Regehr, Kamath, Steinke, *Avoiding Pitfalls for Privacy Accounting of Subsampled Mechanisms
//!   under Composition*, 2024): both are composed and the maximum is taken at the end.
//! - The discrete Gaussian is not dominated by the continuous one: it has its own pair.

use super::super::step::{Sided, Step};
use super::super::table::Table;
use super::super::{balls, closed, instance, shuffled, with_replacement};
use super::crowd::Crowd;
use crate::numerics::logspace::ln_mixture;

/// Which of the two neighbouring inputs the output was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Remove,
    Add,
    Replace,
}

/// The certified end that a pair is built for: events that name a class of mechanisms are replaced
/// by the worst of the class above and by one member of it below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Upper,
    Lower,
}

/// Two distributions and a way to walk through their outcomes in order of the privacy loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) base: Base,
    pub(super) rate: f64,
    pub(super) view: View,
}

/// The distributions before sampling.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Base {
    /// `Q = N(0, 1)`, `P' = N(mu, 1)`.
    Gaussian { mu: f64 },
    /// `Q` = Laplace of scale 1, `P'` the same moved by `epsilon`.
    Laplace { epsilon: f64 },
    /// Integers with `P(k) ~ exp(-k^2 / (2 sigma^2))`, moved by `shift`.
    DiscreteGaussian { sigma: f64, shift: f64, ln_norm: f64 },
    /// Integers with `P(k) ~ exp(-|k| / scale)`, moved by `shift`.
    DiscreteLaplace { scale: f64, shift: f64 },
    /// A group on a sample; nothing is left to be mixed in.
    Crowd(Crowd),
    /// Finitely many outcomes `(ln Q, y)` in rising order of `y`, and mass of `P'` where `Q` has
    /// none.
    Atoms { outcomes: Vec<(f64, f64)>, singular: f64 },
}

/// Deltas of one release are followed down to this part of what each may have of delta.
pub(super) const FOLLOWED: f64 = 1e-4;

/// Largest discrete Gaussian or Laplace whose outcomes are walked one by one.
const LARGEST_DISCRETE_SCALE: f64 = 65_536.0;

impl Pair {
    /// The pair of `step` seen in `view`, or why there is none.
    #[cfg(test)]
    pub(super) fn new(step: &Step, view: View, end: End) -> Result<Self, String> {
        Self::followed_to(step, view, end, 0.0)
    }

    /// The same, where deltas of one release below `smallest` are of no interest.
    pub(super) fn followed_to(step: &Step, view: View, end: End, smallest: f64) -> Result<Self, String> {
        if let Step::Poisson { rate, sided, base } = step {
            let view = match (sided, view) {
                (Sided::One, View::Replace) => View::Remove,
                (Sided::One, view) => view,
                (Sided::Two, _) => View::Replace,
            };
            let base = Base::new(base, end)?;
            if view == View::Replace && matches!(base, Base::Atoms { .. }) {
                return Err("its parameters do not say how far a record is from being absent".into());
            }
            return Ok(Self { base, rate: *rate, view });
        }
        if let Step::PoissonGroup { size, rate, sided, base } = step {
            let view = match (sided, view) {
                (Sided::One, View::Replace) => View::Remove,
                (Sided::One, view) => view,
                (Sided::Two, _) => View::Replace,
            };
            return Ok(Self { base: Base::Crowd(Crowd::new(*size, *rate, base, end)?), rate: 1.0, view });
        }
        if let Step::BallsInBins { bins, mu } = step {
            if end == End::Lower {
                let base = Base::below(instance::largest_sum(*bins, *mu, view != View::Add));
                return Ok(Self { base, rate: 1.0, view: View::Remove });
            }
            let table = balls::table(*bins, *mu, view != View::Add, smallest);
            let table = table.ok_or("bins as many as these, or noise as this, are not convolved")?;
            // What the table leaves open would be more than all of delta.
            if smallest > 0.0 && table.singular > smallest / FOLLOWED {
                return Err("delta is too small for the sums over bins, whose rounding counts".into());
            }
            let base = Base::above(end, || table)?;
            return Ok(Self { base, rate: 1.0, view: View::Remove });
        }
        Ok(Self { base: Base::new(step, end)?, rate: 1.0, view: View::Remove })
    }

    /// The spacing of a lattice that holds all losses or, for Laplace noise, the two that have mass
    /// of their own.
    pub(super) fn spacing(&self) -> Option<f64> {
        let (q, sampled) = (self.rate, self.rate < 1.0);
        match &self.base {
            Base::Gaussian { .. } | Base::Crowd(_) => None,
            Base::DiscreteGaussian { .. } | Base::DiscreteLaplace { .. } if sampled => None,
            Base::DiscreteGaussian { sigma, shift, .. } => Some(shift / sigma / sigma),
            Base::DiscreteLaplace { scale, .. } => Some(2.0 / scale),
            Base::Laplace { epsilon } => Some(match self.view {
                View::Remove | View::Add => ln_mixture(q, *epsilon) - ln_mixture(q, -epsilon),
                View::Replace => 2.0 * (ln_mixture(q, *epsilon) - ln_mixture(q, -epsilon)),
            }),
            Base::Atoms { outcomes, .. } => {
                let losses: Vec<f64> =
                    outcomes.iter().map(|o| ln_mixture(q, o.1)).filter(|y| y.is_finite()).collect();
                (losses.len() >= 2).then(|| losses[losses.len() - 1] - losses[losses.len() - 2])
            }
        }
    }

    /// Some losses have mass of their own, and the others lie far from them.
    pub(super) fn has_atoms(&self) -> bool {
        match &self.base {
            Base::Laplace { .. } | Base::Atoms { .. } => true,
            Base::DiscreteGaussian { .. } | Base::DiscreteLaplace { .. } => self.rate == 1.0,
            Base::Crowd(crowd) => crowd.has_atoms(),
            Base::Gaussian { .. } => false,
        }
    }

    /// `(ln P(x), loss(x))`.
    pub(super) fn at(&self, x: f64) -> (f64, f64) {
        match self.view {
            View::Remove => {
                let loss = ln_mixture(self.rate, self.base.ratio(x));
                (self.base.ln_reference(x) + loss, loss)
            }
            View::Add => (self.base.ln_reference(-x), -ln_mixture(self.rate, self.base.ratio(-x))),
            View::Replace => {
                let here = ln_mixture(self.rate, self.base.ratio(x));
                (self.base.ln_reference(x) + here, here - ln_mixture(self.rate, self.base.ratio(-x)))
            }
        }
    }

    /// Mass of `P` where the other distribution has none. (Seen the other way round, what only `Q`
    /// can produce is an ordinary outcome of loss `-ln(1 - q)`: it is among the atoms.)
    pub(super) fn singular(&self) -> f64 {
        match (&self.base, self.view) {
            (Base::Atoms { singular, .. }, View::Remove) => self.rate * singular,
            _ => 0.0,
        }
    }
}

impl Base {
    fn new(step: &Step, end: End) -> Result<Self, String> {
        match step {
            Step::Gaussian { mu } => Ok(Self::Gaussian { mu: *mu }),
            Step::Laplace { epsilon } => Ok(Self::Laplace { epsilon: *epsilon }),
            Step::DiscreteGaussian { sigma, shift } => {
                walkable(*sigma, *shift)?;
                let ln_norm = ln_discrete_gaussian_norm(*sigma);
                Ok(Self::DiscreteGaussian { sigma: *sigma, shift: *shift as f64, ln_norm })
            }
            Step::DiscreteLaplace { scale, shift } => {
                walkable(*scale, *shift)?;
                Ok(Self::DiscreteLaplace { scale: *scale, shift: *shift as f64 })
            }
            Step::RandomizedResponse { categories, truth } => Ok(randomized_response(*categories, *truth)),
            Step::Pure { epsilon } => Ok(two_points(*epsilon, 0.0)),
            Step::Approximate { epsilon, delta } => Ok(two_points(*epsilon, *delta)),
            Step::BoundedRange { epsilon } => Ok(match end {
                End::Upper => two_points(*epsilon, 0.0),
                End::Lower => bounded_range_member(*epsilon),
            }),
            Step::Zcdp { rho } => match end {
                End::Upper => Err("zCDP bounds no single privacy-loss distribution".into()),
                End::Lower => Ok(Self::Gaussian { mu: (2.0 * rho).sqrt() }),
            },
            Step::Renyi { .. } => Err("Rényi bounds fix no privacy-loss distribution".into()),
            Step::WithReplacement { sample, population, base } => {
                Self::above(end, || with_replacement::table(*sample, *population, base))
            }
            Step::Shuffled { reports, epsilon } => match end {
                End::Upper => Self::above(end, || shuffled::table(*reports, *epsilon)),
                End::Lower => {
                    let survey = instance::survey(*reports, *epsilon);
                    Ok(Self::below(survey.ok_or("so many reports are not written out")?))
                }
            },
            Step::Group { .. } => Err("of this group only Rényi divergences are known".into()),
            Step::Selected { trials, run } => match end {
                End::Upper => {
                    let epsilon = closed::pure_epsilon(step);
                    let epsilon = epsilon.ok_or("a selection is accounted by Rényi divergence")?;
                    Ok(two_points(epsilon * (1.0 + 1e-14), 0.0))
                }
                End::Lower => {
                    let best = instance::best_of_poisson(*trials, run);
                    Ok(Self::below(best.ok_or("no selection of such runs is written out")?))
                }
            },
            Step::Poisson { .. } | Step::PoissonGroup { .. } | Step::BallsInBins { .. } => {
                Err("a sample of a sample has no pair here".into())
            }
            Step::WithoutReplacement { sample, population, base }
                if with_replacement::is_known_once(base) =>
            {
                Self::above(end, || with_replacement::table_without(*sample, *population, base))
            }
            Step::WithoutReplacement { .. } => {
                Err("this release on a sample without replacement is accounted by Rényi divergence".into())
            }
            Step::NonPrivate => Err("it has no guarantee".into()),
        }
    }

    /// Outcomes of a mechanism that the event allows.
    fn below(outcomes: Vec<(f64, f64)>) -> Self {
        Self::Atoms { outcomes, singular: 0.0 }
    }

    /// A pair that stands above the true one, and says nothing from below.
    fn above(end: End, table: impl FnOnce() -> Table) -> Result<Self, String> {
        match end {
            End::Lower => Err("no member of this class is known".into()),
            End::Upper => {
                let Table { mut outcomes, singular } = table();
                if singular > 0.0 {
                    outcomes.insert(0, (singular.ln(), f64::NEG_INFINITY)); // what only `Q` can produce
                }
                Ok(Self::Atoms { outcomes, singular })
            }
        }
    }

    /// `ln Q(x)`.
    fn ln_reference(&self, x: f64) -> f64 {
        match self {
            Self::Gaussian { .. } => -0.5 * x * x - 0.918_938_533_204_672_8, // ln sqrt(2 pi)
            Self::Laplace { .. } => -x.abs() - std::f64::consts::LN_2,
            Self::DiscreteGaussian { sigma, ln_norm, .. } => -0.5 * (x / sigma) * (x / sigma) - ln_norm,
            Self::DiscreteLaplace { scale, .. } => {
                // (1 - r) / (1 + r) = tanh(1 / (2 scale)), r = exp(-1 / scale)
                (0.5 / scale).tanh().ln() - x.abs() / scale
            }
            Self::Crowd(crowd) => crowd.ln_reference(x),
            Self::Atoms { outcomes, .. } => outcomes[position(outcomes, x)].0,
        }
    }

    /// `y(x) = ln(P'(x) / Q(x))`.
    fn ratio(&self, x: f64) -> f64 {
        match self {
            Self::Gaussian { mu } => mu * (x - 0.5 * mu),
            Self::Laplace { epsilon } => (2.0 * x - epsilon).clamp(-epsilon, *epsilon),
            Self::DiscreteGaussian { sigma, shift, .. } => (shift / sigma) * ((x - 0.5 * shift) / sigma),
            Self::DiscreteLaplace { scale, shift } => {
                ((2.0 * x - shift) / scale).clamp(-shift / scale, shift / scale)
            }
            Self::Crowd(crowd) => crowd.ratio(x),
            Self::Atoms { outcomes, .. } => outcomes[position(outcomes, x)].1,
        }
    }
}

/// Outcomes are numbered from 0; negative numbers, -0 first, count from the other end, as mirrored
/// views need.
fn position(outcomes: &[(f64, f64)], x: f64) -> usize {
    if x.is_sign_negative() { outcomes.len() - 1 - (-x) as usize } else { x as usize }
}

fn walkable(scale: f64, shift: u64) -> Result<(), String> {
    if scale <= LARGEST_DISCRETE_SCALE && shift as f64 <= 64.0 * LARGEST_DISCRETE_SCALE {
        Ok(())
    } else {
        Err(format!("discrete noise of scale {scale} has too many outcomes to walk through"))
    }
}

/// `ln sum_k exp(-k^2 / (2 sigma^2))`, by the sum or by its Poisson-summation twin, whichever is
/// short.
fn ln_discrete_gaussian_norm(sigma: f64) -> f64 {
    use std::f64::consts::PI;
    if sigma < 1.0 {
        let tail: f64 = (1..=40).map(|k| (-0.5 * (f64::from(k) / sigma).powi(2)).exp()).sum();
        (2.0 * tail).ln_1p()
    } else {
        let tail: f64 = (1..=4).map(|n| (-2.0 * (PI * sigma * f64::from(n)).powi(2)).exp()).sum();
        (sigma * (2.0 * PI).sqrt()).ln() + (2.0 * tail).ln_1p()
    }
}

/// The worst (epsilon, delta) mechanism (Kairouz, Oh, Viswanath, *The Composition Theorem for
/// Differential Privacy*, 2015): two outcomes, and `delta` of certain disclosure.
fn two_points(epsilon: f64, delta: f64) -> Base {
    // ln of the more and of the less likely outcome's probability: never formed from exp(epsilon),
    // which overflows where nothing is private any more, and must not then look free.
    let ln_high = (-delta).ln_1p() - (-epsilon).exp().ln_1p();
    let mut outcomes = vec![(ln_high, -epsilon), (ln_high - epsilon, epsilon)];
    if delta > 0.0 {
        outcomes.insert(0, (delta.ln(), f64::NEG_INFINITY)); // what only `Q` can produce
    }
    Base::Atoms { outcomes, singular: delta }
}

/// Outcomes: the neighbour's answer, any third answer, the own answer.
fn randomized_response(categories: u64, truth: f64) -> Base {
    let others = (categories - 1) as f64;
    let lie = (1.0 - truth) / others;
    let epsilon = closed::randomized_response_loss(categories, truth);
    let mut outcomes = vec![(truth.ln(), -epsilon)];
    if categories > 2 {
        outcomes.push(((lie * (others - 1.0)).ln(), 0.0));
    }
    outcomes.push((lie.ln(), epsilon));
    Base::Atoms { outcomes, singular: 0.0 }
}

/// A mechanism whose loss takes the two values `epsilon / 2` and `-epsilon / 2`: one of those whose
/// loss has range `epsilon` (Dong, Durfee, Rogers, *Optimal Differential Privacy Composition for
/// Exponential Mechanisms*, 2020).
fn bounded_range_member(epsilon: f64) -> Base {
    two_points(0.5 * epsilon, 0.0)
}
