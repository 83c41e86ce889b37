//! What studies of networks share: plans on Poisson samples, one run of a plan, accuracy.

use std::error::Error;
use std::num::NonZero;

use sordino_data::{ContributionLimit, Encoded, Sampling, UnitRule};
use sordino_nn::{Examples, Network, NetworkObjective, Records};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, PlanOptions, Training, TrainingOptions, TrainingPlan};
use sordino_privacy::{Count, Delta, Neighbours, SamplingRate, Unit, danger};

pub(crate) const DELTA: f64 = 1e-5;

/// A plan with Poisson samples of `batch` records on average, for `epochs` passes over the data,
/// under `zero_out`.
pub(crate) fn poisson(
    data: &Encoded,
    batch: u64,
    epochs: f64,
    clipping: Clipping,
) -> Result<PlanOptions, Box<dyn Error>> {
    let n = data.slots() as f64;
    Ok(PlanOptions {
        sampling: Sampling::Poisson { rate: SamplingRate::new(batch as f64 / n)? },
        slots: Count::new(data.slots() as u64)?,
        rounds: Count::new((epochs * n / batch as f64).round() as u64)?,
        neighbours: Neighbours::ZeroOut,
        clipping,
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    })
}

/// One run from a seed. Returns its parameters and its certified ε at [`DELTA`]. Give each of
/// several simultaneous runs one thread: the threads of one run wait for each other.
pub(crate) fn train(
    network: &Network,
    data: &Encoded,
    plan: &TrainingPlan,
    options: TrainingOptions,
    seed: u64,
    threads: NonZero<usize>,
) -> Result<(Vec<f64>, f64), Box<dyn Error>> {
    let records = Records::new(data);
    let objective = NetworkObjective::new(network, &records, plan.divisor())?;
    let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(DELTA)?)?;
    let training = Training::new(plan, &objective, options)?.threads(threads);
    let (parameters, guarantee) = training.run_with(permit, &mut seeded(seed), &mut |_| {})?.into_parts();
    Ok((parameters, guarantee.epsilon.upper))
}

/// The fraction of `data` that is predicted correctly.
pub(crate) fn accuracy(network: &Network, parameters: &[f64], data: &Encoded) -> Result<f64, Box<dyn Error>> {
    let records = Records::new(data);
    let examples = (0..records.slots()).filter_map(|slot| records.example(slot));
    Ok(network.evaluator(parameters)?.score(examples).accuracy)
}
