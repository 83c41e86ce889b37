//! What is good for comparison and **not private**.

use std::num::NonZero;

use sordino_data::Batch;

use crate::examples::Examples;
use crate::objective::NetworkObjective;

/// The plain sum of gradients over `batch`, neither clipped nor noisy: what a step without privacy computes.
pub fn unclipped_sum<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    threads: NonZero<usize>,
) -> Vec<f64> {
    objective.unclipped_sum(parameters, batch, threads)
}
