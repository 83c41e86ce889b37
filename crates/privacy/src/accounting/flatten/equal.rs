//! Equal steps counted together.

use std::collections::HashMap;

use super::super::error::AccountError;
use super::super::step::{Sided, Step, Steps};
use super::too_many;
use crate::event::Trials;
use crate::params::Count;

/// Distinct steps in order of first appearance; a million steps take a million look-ups.
#[derive(Default)]
pub(super) struct Grouped {
    steps: Vec<(Step, u64)>,
    places: HashMap<Vec<u64>, usize>,
    /// Scratch space, so that a look-up allocates nothing.
    key: Vec<u64>,
    total: u64,
}

impl Grouped {
    /// `count` times `step`; nothing if it is exactly free.
    pub(super) fn add(&mut self, step: Step, count: u64) -> Result<(), AccountError> {
        self.total =
            self.total.checked_add(count).filter(|total| *total <= Count::MAX).ok_or_else(too_many)?;
        if is_free(&step) {
            return Ok(());
        }
        self.key.clear();
        encode(&step, &mut self.key);
        match self.places.get(&self.key[..]) {
            Some(place) => self.steps[*place].1 += count,
            None => {
                self.places.insert(self.key.clone(), self.steps.len());
                self.steps.push((step, count));
            }
        }
        Ok(())
    }

    pub(super) fn into_steps(self) -> Steps {
        Steps(self.steps)
    }
}

/// Releases whose law does not depend on the data. Accountants need not treat a ratio of 0.
fn is_free(step: &Step) -> bool {
    match step {
        Step::Gaussian { mu: cost }
        | Step::BallsInBins { mu: cost, .. }
        | Step::Laplace { epsilon: cost }
        | Step::BoundedRange { epsilon: cost }
        | Step::Pure { epsilon: cost }
        | Step::Zcdp { rho: cost } => *cost == 0.0,
        Step::Approximate { epsilon, delta } => *epsilon == 0.0 && *delta == 0.0,
        // A blind guess: exactly 1/k, not merely near it.
        Step::RandomizedResponse { categories, truth } => *categories == 2 && *truth == 0.5,
        Step::Poisson { base, .. }
        | Step::WithoutReplacement { base, .. }
        | Step::PoissonGroup { base, .. }
        | Step::WithReplacement { base, .. }
        | Step::Group { base, .. } => is_free(base),
        Step::Shuffled { epsilon, .. } => *epsilon == 0.0,
        Step::Selected { run, .. } => run.0.is_empty(),
        Step::DiscreteGaussian { .. }
        | Step::DiscreteLaplace { .. }
        | Step::Renyi { .. }
        | Step::NonPrivate => false,
    }
}

/// A step as words, equal for equal steps only: a tag, then its numbers; lists carry their length.
fn encode(step: &Step, out: &mut Vec<u64>) {
    let mut put = |tag: u64, numbers: &[u64]| {
        out.push(tag);
        out.extend_from_slice(numbers);
    };
    match step {
        Step::Gaussian { mu } => put(0, &[mu.to_bits()]),
        Step::Laplace { epsilon } => put(1, &[epsilon.to_bits()]),
        Step::DiscreteGaussian { sigma, shift } => put(2, &[sigma.to_bits(), *shift]),
        Step::DiscreteLaplace { scale, shift } => put(3, &[scale.to_bits(), *shift]),
        Step::RandomizedResponse { categories, truth } => put(4, &[*categories, truth.to_bits()]),
        Step::BoundedRange { epsilon } => put(5, &[epsilon.to_bits()]),
        Step::Pure { epsilon } => put(6, &[epsilon.to_bits()]),
        Step::Approximate { epsilon, delta } => put(7, &[epsilon.to_bits(), delta.to_bits()]),
        Step::Zcdp { rho } => put(8, &[rho.to_bits()]),
        Step::Renyi { orders, epsilons } => {
            put(9, &[orders.len() as u64]);
            out.extend(orders.iter().chain(epsilons).map(|number| number.to_bits()));
        }
        Step::Poisson { rate, sided, base } => {
            put(10, &[rate.to_bits(), side(*sided)]);
            encode(base, out);
        }
        Step::WithoutReplacement { sample, population, base } => {
            put(11, &[*sample, *population]);
            encode(base, out);
        }
        Step::NonPrivate => put(12, &[]),
        Step::PoissonGroup { size, rate, sided, base } => {
            put(13, &[*size, rate.to_bits(), side(*sided)]);
            encode(base, out);
        }
        Step::WithReplacement { sample, population, base } => {
            put(14, &[*sample, *population]);
            encode(base, out);
        }
        Step::BallsInBins { bins, mu } => put(18, &[*bins, mu.to_bits()]),
        Step::Shuffled { reports, epsilon } => put(15, &[*reports, epsilon.to_bits()]),
        Step::Group { size, base } => {
            put(16, &[*size]);
            encode(base, out);
        }
        Step::Selected { trials, run } => {
            let law = match trials {
                Trials::Poisson { mean } => [0, mean.get().to_bits(), 0],
                Trials::TruncatedNegativeBinomial { shape, gamma } => {
                    [1, shape.get().to_bits(), gamma.get().to_bits()]
                }
            };
            put(17, &law);
            out.push(run.0.len() as u64);
            for (step, count) in &run.0 {
                out.push(*count);
                encode(step, out);
            }
        }
    }
}

fn side(sided: Sided) -> u64 {
    match sided {
        Sided::One => 1,
        Sided::Two => 2,
    }
}
