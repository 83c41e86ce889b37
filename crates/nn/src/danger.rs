//! Functions for comparisons and for public data. They are **not private**.
//!
//! # The cap
//! If gradients are not materialised, a record's weight w also keeps `w Σ_t ‖a_t‖ ‖d_t‖` below β times the clip norm, which
//! bounds the float error of its group. If this cap binds, the record counts for less than with plain clipping. The number
//! of such records is a count over the data: a training run does not report it, because a count that no event pays for
//! would be a leak. These functions report it for public data, on which networks and clip norms can be chosen.

use std::num::NonZero;

use sordino_data::Batch;
use sordino_noise::grid::SumError;
use sordino_optim::Clip;

use crate::examples::Examples;
use crate::objective::NetworkObjective;

/// The plain sum of gradients over `batch`, neither clipped nor noisy: what a step without privacy computes. It overwrites
/// `place`: a caller that passes the last sum, as private steps do, avoids page faults.
pub fn unclipped_sum<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    threads: NonZero<usize>,
    place: Vec<f64>,
) -> Vec<f64> {
    objective.unclipped_sum(parameters, batch, threads, place)
}

/// The number of records of `batch` for which the cap binds.
pub fn cap_count<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    clip: &Clip<'_>,
    threads: NonZero<usize>,
) -> Result<u64, SumError> {
    objective.cap_count(parameters, batch, clip, threads)
}
