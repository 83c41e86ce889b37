//! What this crate's tests share: a chi-square test, and the definition of pure privacy on lists of
//! probabilities.

use sordino_noise::danger::{Seeded, seeded};
use sordino_privacy::{Count, Delta, Epsilon, Event, Permit, Unit, danger};

use crate::Mechanism;

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

/// Pearson's chi-square test of counts against probabilities that sum to 1.
///
/// Cells with an expectation below 20 are pooled. Fails beyond six standard deviations of the Wilson-Hilferty
/// normal approximation (false alarm 1e-9; the approximation is good to a factor of ten there).
pub(crate) fn chi_square(counts: &[u64], probabilities: &[f64]) -> Result<(), String> {
    assert_eq!(counts.len(), probabilities.len());
    let sum: f64 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "probabilities sum to {sum}");
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0.0);
    let (mut pooled_count, mut pooled_mass) = (0.0, 0.0);
    for (&count, &probability) in counts.iter().zip(probabilities) {
        let (count, expected) = (count as f64, probability * draws);
        if expected < 20.0 {
            pooled_count += count;
            pooled_mass += expected;
        } else {
            statistic += (count - expected).powi(2) / expected;
            cells += 1.0;
        }
    }
    if pooled_mass >= 1.0 {
        statistic += (pooled_count - pooled_mass).powi(2) / pooled_mass;
        cells += 1.0;
    } else if pooled_count > 20.0 {
        return Err(format!("{pooled_count} draws where {pooled_mass} were expected"));
    }
    let freedom = cells - 1.0;
    let spread: f64 = 2.0 / (9.0 * freedom);
    let deviations = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    if deviations < 6.0 { Ok(()) } else { Err(format!("chi-square {statistic:.1} on {freedom}")) }
}

/// The definition of pure privacy on two lists of probabilities: no result is more than e^ε likelier under
/// one of them.
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

/// A miss that should happen with probability at most `rate` happens no more often than that in `draws` runs, by six
/// standard deviations of a binomial count (false alarm below 1e-8 for the counts used here).
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
