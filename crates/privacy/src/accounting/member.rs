//! One mechanism of each class that an event may name: what a certified lower end belongs to.

use super::instance;
use super::step::{Sided, Step, Steps};
use crate::event::Trials;

/// The same releases, each by a mechanism that its event allows and that has a privacy-loss
/// distribution; those for which none is known here are left out, which can only lower the cost.
pub(crate) fn members(steps: &Steps) -> Steps {
    Steps(steps.0.iter().flat_map(|(step, count)| releases(step, *count)).collect())
}

/// A selection that always runs at least once, with equal scores, releases one run.
fn releases(step: &Step, count: u64) -> Vec<(Step, u64)> {
    if let Step::Selected { trials: Trials::TruncatedNegativeBinomial { .. }, run } = step {
        let often = |(step, times): (Step, u64)| (step, times.saturating_mul(count));
        return members(run).0.into_iter().map(often).collect();
    }
    member(step).map(|step| (step, count)).into_iter().collect()
}

fn member(step: &Step) -> Option<Step> {
    match step {
        Step::Zcdp { rho } => Some(Step::Gaussian { mu: (2.0 * rho).sqrt() * (1.0 - 1e-15) }),
        // The same, with a binomial number of draws.
        Step::WithReplacement { sample, population, base } => Some(Step::PoissonGroup {
            size: *sample,
            rate: 1.0 / *population as f64 * (1.0 - 1e-15),
            sided: Sided::One,
            base: Box::new(member(base)?),
        }),
        // Where these have too many outcomes, they have no pair from below.
        Step::Shuffled { reports, epsilon } => {
            instance::survey(*reports, *epsilon).is_some().then(|| step.clone())
        }
        Step::Selected { trials, run } => {
            instance::best_of_poisson(*trials, run).is_some().then(|| step.clone())
        }
        Step::Renyi { .. } | Step::Group { .. } | Step::NonPrivate => None,
        // All other records contribute what the neighbour's record does: the sum then shows only
        // whether this record was drawn.
        Step::WithoutReplacement { sample, population, base } => Some(Step::Poisson {
            rate: *sample as f64 / *population as f64 * (1.0 - 1e-15),
            sided: Sided::One,
            base: Box::new(member(base)?),
        }),
        Step::Poisson { rate, sided, base } => {
            Some(Step::Poisson { rate: *rate, sided: *sided, base: Box::new(member(base)?) })
        }
        Step::Gaussian { .. }
        | Step::Laplace { .. }
        | Step::DiscreteGaussian { .. }
        | Step::DiscreteLaplace { .. }
        | Step::RandomizedResponse { .. }
        | Step::BoundedRange { .. }
        | Step::Pure { .. }
        | Step::PoissonGroup { .. }
        | Step::BallsInBins { .. }
        | Step::Approximate { .. } => Some(step.clone()),
    }
}
