//! One mechanism of each class that an event may name: what a certified lower end belongs to.

use super::step::{Sided, Step, Steps};

/// The same releases, each by a mechanism that its event allows and that has a privacy-loss distribution;
/// those for which none is known here are left out, which can only lower the cost.
pub(crate) fn members(steps: &Steps) -> Steps {
    Steps(steps.0.iter().filter_map(|(step, count)| Some((member(step)?, *count))).collect())
}

fn member(step: &Step) -> Option<Step> {
    match step {
        Step::Zcdp { rho } => Some(Step::Gaussian { mu: (2.0 * rho).sqrt() * (1.0 - 1e-15) }),
        Step::Renyi { .. } | Step::NonPrivate => None,
        // All other records contribute what the neighbour's record does: the sum then shows only whether
        // this record was drawn.
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
        | Step::Approximate { .. } => Some(step.clone()),
    }
}
