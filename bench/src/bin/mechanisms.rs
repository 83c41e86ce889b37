//! Nanoseconds for one released value: noisy counts in vectors of a million, and choices among a
//! hundred candidates, on one core, permit and guarantee included.
//!
//! `peers/mechanisms.py` does work of the same names.

use std::error::Error;
use std::hint::black_box;

use serde_json::json;
use sordino::mechanisms::{
    Contributions, Counts, Exponential, Gaussian, Laplace, Mechanism, ScoreShift, Shift,
};
use sordino::privacy::{Claim, ClipNorm, Count, Delta, Epsilon, Neighbours, Permit, Unit, danger};

use sordino_bench::{Options, emit, seconds};

const LENGTH: u64 = 1_000_000;
const CANDIDATES: u64 = 100;
const CHOICES: u64 = 1000;
const RELATION: Neighbours = Neighbours::AddRemove;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let (epsilon, delta, pure) = (Epsilon::new(1.0)?, Delta::new(1e-6)?, Delta::new(0.0)?);

    let counts: Vec<i64> = (0..LENGTH as i64).map(|i| i % 1000).collect();
    let one_cell = Shift::count(RELATION)?;
    let mechanism = Counts::new(epsilon, one_cell, Count::new(LENGTH)?)?.of_which_one_moves();
    released(options, "laplace, 10^6 counts", LENGTH, || {
        mechanism.release(&counts, permit(mechanism.claim(), pure)).map(|release| drop(black_box(release)))
    })?;

    // Each release consumes its sum, so every call makes a new one.
    let vectors = Contributions::new(RELATION, ClipNorm::new(1.0)?, Count::new(1000)?)
        .of_dimension(Count::new(LENGTH)?);
    let mechanism = Laplace::new(epsilon, vectors.clone())?;
    released(options, "laplace, 10^6 real numbers", LENGTH, || {
        mechanism
            .release(mechanism.sum(), permit(mechanism.claim(), pure))
            .map(|release| drop(black_box(release)))
    })?;
    let mechanism = Gaussian::new(epsilon, delta, vectors)?;
    released(options, "gaussian, 10^6 real numbers", LENGTH, || {
        mechanism
            .release(mechanism.sum(), permit(mechanism.claim(), delta))
            .map(|release| drop(black_box(release)))
    })?;

    let scores: Vec<i64> = (0..CANDIDATES as i64).map(|i| i % 17).collect();
    let shift = ScoreShift::new(Count::ONE, RELATION)?;
    let mechanism = Exponential::new(epsilon, shift, Count::new(CANDIDATES)?)?;
    released(options, "exponential, 100 candidates", CHOICES, || {
        (0..CHOICES).try_for_each(|_| {
            mechanism
                .release(&scores, permit(mechanism.claim(), pure))
                .map(|release| drop(black_box(release)))
        })
    })
}

/// Measures `work`, which releases `values` values, and prints the time for one.
fn released<E: Error + 'static>(
    options: Options,
    workload: &str,
    values: u64,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let mut outcome = Ok(());
    let taken = seconds(options.fill(), || {
        if outcome.is_ok() {
            outcome = work();
        }
    });
    outcome?;
    let config = json!({ "values": values, "exact": true, "secure": true });
    emit(workload, "ns", taken / values as f64 * 1e9, config);
    Ok(())
}

/// An unmetered permit. Its accounting at δ = 0 is a closed form and takes no time; the benchmark
/// of accounting measures the other cases.
fn permit(claim: Claim, delta: Delta) -> Permit {
    // Proof: an accountant can bound every claim here at its δ.
    danger::unmetered(claim, Unit::Record, delta).expect("a claim with a price")
}
