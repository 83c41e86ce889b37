//! What this crate's tests share: permits, histograms, and the definition of pure privacy on lists
//! of probabilities.

use sordino_noise::Bits;
use sordino_noise::danger::{Seeded, seeded};
use sordino_privacy::{Count, Delta, Epsilon, Event, Permit, Unit, danger};
pub(crate) use sordino_testing::chi_square;

use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub(crate) fn count(value: u64) -> Count {
    Count::new(value).unwrap()
}

/// A permit for `mechanism` that no budget knows of.
pub(crate) fn permit<M: Mechanism>(mechanism: &M) -> Permit {
    permit_for(mechanism, mechanism.unit().clone())
}

/// The same for another unit.
pub(crate) fn permit_for<M: Mechanism>(mechanism: &M, unit: Unit) -> Permit {
    danger::unmetered(mechanism.claim(), unit, Delta::new(1e-6).unwrap()).unwrap()
}

/// Draws that no permit covers.
pub(crate) trait DrawFreely: Mechanism {
    fn draw_freely<R: Bits + ?Sized>(
        &self,
        answer: Self::Answer<'_>,
        bits: &mut R,
    ) -> Result<Self::Output, MechanismError> {
        self.draw(answer, bits, &Covered::by_no_permit())
    }
}

impl<M: Mechanism> DrawFreely for M {}

/// How often each of `cells` results came in `draws` draws from a fixed seed.
pub(crate) fn histogram(
    cells: usize,
    draws: usize,
    seed: u64,
    mut draw: impl FnMut(&mut Seeded) -> usize,
) -> Vec<u64> {
    let (mut bits, mut counts) = (seeded(seed), vec![0; cells]);
    for _ in 0..draws {
        counts[draw(&mut bits)] += 1;
    }
    counts
}

/// The definition of pure privacy on two lists of probabilities: no result is more than e^ε
/// likelier under one of them.
pub(crate) fn reveals_at_most(epsilon: f64, one: &[f64], two: &[f64]) -> Result<(), String> {
    assert_eq!(one.len(), two.len());
    let loss = |(p, q): (&f64, &f64)| if p == q { 0.0 } else { (p / q).ln().abs() };
    let worst = one.iter().zip(two).map(loss).fold(0.0, f64::max);
    if worst <= epsilon * (1.0 + 1e-9) { Ok(()) } else { Err(format!("loss {worst} above ε = {epsilon}")) }
}

/// The largest loss over both directions.
pub(crate) fn loss(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(p, q)| (p / q).ln().abs()).fold(0.0, f64::max)
}

/// All scores in which each one moved by -`by`, 0 or `by`.
pub(crate) fn neighbouring_scores(scores: &[i64], by: i64) -> Vec<Vec<i64>> {
    scores.iter().fold(vec![vec![]], |heads, score| {
        let longer = |head: &Vec<i64>| [-by, 0, by].map(|step| [head.as_slice(), &[score + step]].concat());
        heads.iter().flat_map(longer).collect()
    })
}

/// A miss that should happen with probability at most `rate` happens no more often than that in
/// `draws` runs, by six standard deviations of a binomial count (false alarm below 1e-8 for the
/// counts used here).
pub(crate) fn misses_at_most(rate: f64, draws: u32, seed: u64, mut missed: impl FnMut(&mut Seeded) -> bool) {
    let mut bits = seeded(seed);
    let misses = f64::from((0..draws).filter(|_| missed(&mut bits)).count() as u32);
    let (mean, spread) = (rate * f64::from(draws), (f64::from(draws) * rate * (1.0 - rate)).sqrt());
    assert!(misses <= mean + 6.0 * spread, "{misses} misses of {draws} where {mean} were allowed");
}

/// How far the one integer of a discrete Laplace event moves.
pub(crate) fn sensitivity_of(event: &Event) -> u64 {
    let Event::DiscreteLaplace { sensitivity, .. } = event else { panic!("{event:?}") };
    sensitivity.get()
}

/// How many events a composition is of.
pub(crate) fn parts_of(event: &Event) -> usize {
    let Event::Composed { events } = event else { panic!("{event:?}") };
    events.len()
}
