//! The smoothness of coordinates: declared, public, or estimated.
//!
//! # Definition
//! `M_j = κ (1/n) Σ x_ij² + λ`, κ the curvature of the loss. [`Smoothness::Declared`] takes the
//! bound `x_ij² <= X_j²` from the encoding, at no cost. [`Smoothness::Estimated`] releases
//! `Σ_i (x_ij²/X_j² - 1/2)` for all j at once: each record's vector has a norm of at most
//! `sqrt(p)/2`. Two standard deviations of its noise, which are public, are added, because steps
//! that are too short cost a little and steps longer than 2/M_j diverge. An estimate below `floor`
//! times the declared bound is raised to that. A wrong M_j harms convergence, never privacy.

use sordino_data::Encoding;
use sordino_noise::Bits;
use sordino_noise::grid::{GridPlan, GridSum};
use sordino_privacy::{Count, NoiseMultiplier};

use super::columns::Columns;
use super::grids::deepest;
use super::{CoordinateDescent, Smoothness};
use crate::error::LearnError;

/// By how many standard deviations of its noise an estimate is raised, so that it is rarely too
/// low.
const MARGIN_DEVIATIONS: f64 = 2.0;

/// M_j, penalty included. An estimate has noise of multiplier `noise`.
pub(super) fn smoothness(
    learner: &CoordinateDescent,
    encoding: &Encoding,
    n: Count,
    noise: Option<NoiseMultiplier>,
    columns: &Columns,
    bits: &mut dyn Bits,
) -> Result<Vec<f64>, LearnError> {
    let bounds = encoding.coordinate_bounds();
    let declared = bounds.iter().map(|bound| bound * bound);
    let mean_squares: Vec<f64> = match (&learner.smoothness, noise) {
        (Smoothness::Public(all), _) => return Ok(all.iter().map(|m| m + learner.l2).collect()),
        (Smoothness::Estimated { floor, .. }, Some(noise)) => {
            let parts = estimate(columns, &bounds, n.get(), noise, bits)?;
            declared.zip(parts).map(|(most, part)| most * part.clamp(*floor, 1.0)).collect()
        }
        // Without a noise multiplier, no estimate was paid for.
        (Smoothness::Declared, _) | (Smoothness::Estimated { .. }, None) => declared.collect(),
    };
    let of = |mean_square: f64| learner.loss.coordinate_smoothness(mean_square) + learner.l2;
    // Step sizes are divided by it, so it must not be 0, even if the square of a bound underflows.
    Ok(mean_squares.into_iter().map(|square| of(square).max(1e-30)).collect())
}

/// `(1/n) Σ x_ij²/X_j²` for all j, with noise, raised by [`MARGIN_DEVIATIONS`] deviations of it.
fn estimate(
    columns: &Columns,
    bounds: &[f64],
    n: u64,
    noise: NoiseMultiplier,
    bits: &mut dyn Bits,
) -> Result<Vec<f64>, LearnError> {
    let p = bounds.len();
    let grid = deepest(&GridPlan::new(0.5 * (p as f64).sqrt(), noise.get(), p, n))?;
    let mut sum = GridSum::new(grid);
    let mut record = vec![0.0; p];
    for slot in (0..columns.slots).filter(|slot| columns.present[*slot]) {
        for (j, (part, bound)) in record.iter_mut().zip(bounds).enumerate() {
            let x = f64::from(columns.column(j)[slot]) / bound.max(f64::MIN_POSITIVE);
            *part = (x * x).clamp(0.0, 1.0) - 0.5;
        }
        sum.add(&record)?;
    }
    let raised = 0.5 + MARGIN_DEVIATIONS * grid.noise_scale() / n as f64;
    Ok(sum.add_gaussian(bits)?.to_f64().iter().map(|sum| sum / n as f64 + raised).collect())
}
