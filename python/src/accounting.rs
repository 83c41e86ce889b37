//! What events cost, and how much noise is enough.

use pyo3::prelude::*;
use sordino_privacy::accounting::{self, Accountant, Cost};
use sordino_privacy::calibrate::{self, Calibrated};
use sordino_privacy::{
    Bound, Claim, Count, Delta, Epsilon, Event, Neighbours, NoiseMultiplier, SamplingRate,
};

use crate::errors::{Failure, long};

/// Lower end, upper end, accountant, Rényi order, note.
type CostTuple = (f64, f64, &'static str, Option<f64>, Option<String>);
/// The value, lower end, upper end, accountant, note.
type Found<T> = (T, f64, f64, &'static str, Option<String>);

/// A claim from the JSON of an event and the name of a relation.
pub(crate) fn claim(event: &str, neighbours: &str) -> Result<Claim, Failure> {
    Ok(Claim::new(relation(neighbours)?, parsed(event)?))
}

/// A relation by its name, or by its JSON for a metric ball.
pub(crate) fn relation(neighbours: &str) -> Result<Neighbours, Failure> {
    if neighbours.starts_with('{') {
        return serde_json::from_str(neighbours).map_err(|error| Failure::declaration(error.to_string()));
    }
    Ok(neighbours.parse::<Neighbours>()?)
}

/// The event of a claim or of a bare event. One parser for both, and its messages.
pub(crate) fn parsed(json: &str) -> Result<Event, Failure> {
    Ok(Claim::from_json(json)?.event)
}

/// Reads an event, or a claim, and writes its event in the one normal form.
#[pyfunction]
pub(crate) fn event(py: Python<'_>, json: &str) -> PyResult<String> {
    long(py, || Ok(serde_json::to_string(&parsed(json)?)?))
}

/// What an event costs at a delta.
#[pyfunction]
pub(crate) fn epsilon(
    py: Python<'_>,
    event: &str,
    delta: f64,
    neighbours: &str,
    accountant: &str,
) -> PyResult<CostTuple> {
    long(py, || {
        let (claim, delta) = (claim(event, neighbours)?, Delta::new(delta)?);
        Ok(answer(accounting::epsilon(&claim, delta, named(accountant)?)?))
    })
}

/// The least delta at which an event costs an epsilon.
#[pyfunction]
pub(crate) fn delta(
    py: Python<'_>,
    event: &str,
    epsilon: f64,
    neighbours: &str,
    accountant: &str,
) -> PyResult<CostTuple> {
    long(py, || {
        let (claim, epsilon) = (claim(event, neighbours)?, Epsilon::new(epsilon)?);
        Ok(answer(accounting::delta(&claim, epsilon, named(accountant)?)?))
    })
}

/// The least noise multiplier for Gaussian noise on Poisson samples.
#[pyfunction]
pub(crate) fn calibrate_noise(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    sampling_rate: f64,
    steps: u64,
) -> PyResult<Found<f64>> {
    long(py, || {
        let (epsilon, delta, neighbours) = target(epsilon, delta, neighbours)?;
        let (rate, steps) = (SamplingRate::new(sampling_rate)?, Count::new(steps)?);
        let found = calibrate::noise_multiplier(epsilon, delta, neighbours, rate, steps)?;
        Ok(with(found, NoiseMultiplier::get))
    })
}

/// The most steps.
#[pyfunction]
pub(crate) fn calibrate_steps(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    noise_multiplier: f64,
    sampling_rate: f64,
) -> PyResult<Found<u64>> {
    long(py, || {
        let (epsilon, delta, neighbours) = target(epsilon, delta, neighbours)?;
        let (noise, rate) = (NoiseMultiplier::new(noise_multiplier)?, SamplingRate::new(sampling_rate)?);
        Ok(with(calibrate::steps(epsilon, delta, neighbours, noise, rate)?, Count::get))
    })
}

/// The largest sampling rate.
#[pyfunction]
pub(crate) fn calibrate_rate(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    noise_multiplier: f64,
    steps: u64,
) -> PyResult<Found<f64>> {
    long(py, || {
        let (epsilon, delta, neighbours) = target(epsilon, delta, neighbours)?;
        let (noise, steps) = (NoiseMultiplier::new(noise_multiplier)?, Count::new(steps)?);
        Ok(with(calibrate::sampling_rate(epsilon, delta, neighbours, noise, steps)?, SamplingRate::get))
    })
}

/// Parts of a budget in proportion to shares.
#[pyfunction]
pub(crate) fn calibrate_split(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    shares: Vec<f64>,
) -> PyResult<Found<Vec<f64>>> {
    long(py, || {
        let (epsilon, delta, neighbours) = target(epsilon, delta, neighbours)?;
        let found = calibrate::split(epsilon, delta, neighbours, &shares)?;
        Ok(with(found, |parts| parts.into_iter().map(Epsilon::get).collect()))
    })
}

/// The least noise multiplier z with which the event that `event(z)` names costs at most epsilon.
/// `event` is asked with the interpreter's lock; the accountant works without it.
#[pyfunction]
pub(crate) fn noise_of(
    py: Python<'_>,
    epsilon: f64,
    delta: f64,
    neighbours: &str,
    event: Py<PyAny>,
) -> PyResult<Found<f64>> {
    // The first exception of the callable, which is what the caller must see.
    let raised = std::sync::Mutex::new(None);
    let ask = |noise: NoiseMultiplier| -> Event {
        Python::attach(|py| {
            let text = event.call1(py, (noise.get(),)).and_then(|text| text.extract::<String>(py));
            let event = text.and_then(|text| Ok(parsed(&text)?));
            event.unwrap_or_else(|error| {
                if let Ok(mut raised) = raised.lock() {
                    raised.get_or_insert(error);
                }
                Event::non_private()
            })
        })
    };
    let found = long(py, || {
        let (epsilon, delta, neighbours) = target(epsilon, delta, neighbours)?;
        let found = calibrate::noise_of(epsilon, delta, |noise| Claim::new(neighbours, ask(noise)))?;
        Ok(with(found, NoiseMultiplier::get))
    });
    match raised.into_inner() {
        Ok(Some(error)) => Err(error),
        Ok(None) | Err(_) => found,
    }
}

fn target(epsilon: f64, delta: f64, neighbours: &str) -> Result<(Epsilon, Delta, Neighbours), Failure> {
    Ok((Epsilon::new(epsilon)?, Delta::new(delta)?, relation(neighbours)?))
}

fn named(accountant: &str) -> Result<Accountant, Failure> {
    accountant.parse().map_err(Failure::declaration)
}

fn answer(cost: Cost) -> CostTuple {
    let Cost { bound: Bound { lower, upper }, accountant, order, note } = cost;
    (lower, upper, accountant, order, note)
}

fn with<T, U>(found: Calibrated<T>, plain: impl FnOnce(T) -> U) -> Found<U> {
    let Calibrated { value, epsilon: Bound { lower, upper }, accountant, note } = found;
    (plain(value), lower, upper, accountant, note)
}
