//! What is good for comparison and for public data, and **not private**.
//!
//! # The cap
//! Where gradients are not materialised, a record's weight w also keeps `w Σ_t ‖a_t‖ ‖d_t‖` below β times the clip norm, so that the
//! float error of its group is bounded. Where that binds, the record counts for less than plain clipping would have it. How many
//! records it binds for is a count over the data like any other: a training run does not tell it, since a count that no event
//! pays for would be a leak. It is told here, for data that is public: choose networks and clip norms on such data.

use std::num::NonZero;

use sordino_data::Batch;
use sordino_noise::grid::SumError;
use sordino_optim::Clip;

use crate::examples::Examples;
use crate::objective::NetworkObjective;

/// The plain sum of gradients over `batch`, neither clipped nor noisy: what a step without privacy computes. It is made in `place`, whatever is there: steps that hand back the
/// last sum, as private ones do, spare the system the making of pages.
pub fn unclipped_sum<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    threads: NonZero<usize>,
    place: Vec<f64>,
) -> Vec<f64> {
    objective.unclipped_sum(parameters, batch, threads, place)
}

/// For how many records of `batch` the cap binds.
pub fn cap_count<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    clip: &Clip<'_>,
    threads: NonZero<usize>,
) -> Result<u64, SumError> {
    objective.cap_count(parameters, batch, clip, threads)
}
