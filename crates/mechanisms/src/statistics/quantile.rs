//! A value of about a given rank.
//!
//! # Definition
//! Candidates are the G + 1 values of a public grid from the lower to the upper bound; rows are
//! clamped and moved to the nearest of them. With n rows, A(y) of them below y and B(y) not above
//! it, the score of y is minus the distance of q n from [A(y), B(y)]; y is chosen by the
//! exponential mechanism:
//! ```text
//! u(y) = -max(0, A(y) - q n, q n - B(y)),     P[y] ~ exp(ε u(y) / (2 Δ))                          (1)
//! ```
//! Between two neighbouring rows A = B = i and `u = -|i - q n|`: intervals are chosen by their
//! width as in Smith, "Privacy-preserving statistical estimation with optimal convergence rates",
//! 2011; but a value that many rows share can be returned, too.
//!
//! # Guarantee
//! ε-private, of bounded range, since the score moves by at most Δ: a row that appears changes A -
//! q n by 1 - q or by -q, and B - q n likewise, so that `Δ = max(q, 1 - q)`; a row that becomes
//! another leaves n, `Δ = 1`. For owners of m rows both are m times as large (an owner's rows
//! change `A - q n` by something in [-q m, (1 - q) m], and two such numbers are at most m apart). q
//! is a multiple of 2^-20, and scores are integers.
//!
//! # Sampling
//! Candidates of equal score between two rows are one entry of an exact choice with multiplicities
//! ([`choose`]); the place within it is uniform.
//!
//! The time of a release tells a little to whoever can observe it: with a million rows and an ε so
//! small that thousands of them are about equally likely, a few choices in a hundred thousand need
//! the exact weights of all.
//!
//! # Accuracy
//! The score gap of the exponential mechanism for G + 1 candidates: with confidence 1 - β the rank
//! is within `(2Δ/ε) ln(G (1 - β)/β)` rows. A grid no finer than is needed helps.

use std::num::NonZero;

use sordino_noise::{Bits, Weight, choose, uniform_below};
use sordino_privacy::{Contribution, Count, Epsilon, Event};

use super::CONFIDENCE;
use super::bounds::Bounds;
use super::contributor::Contributor;
use super::estimate::Ranked;
use super::rows::Rows;
use crate::accuracy;
use crate::error::MechanismError;
use crate::mechanism::{Covered, Mechanism};
use crate::protection::Protection;
use crate::scores::Coin;

/// Scores are in units of 2^-20 rows.
const ROW_BITS: u32 = 20;
/// Cells of the grid, unless another number is asked for.
const DEFAULT_CELLS: u64 = 1 << 32;

/// A quantile of numbers.
///
/// ```
/// use sordino_mechanisms::Mechanism;
/// use sordino_mechanisms::statistics::{Bounds, Contributor, Quantile, Rows};
/// use sordino_privacy::{Budget, Charge, Count, Epsilon, Neighbours, Terms};
/// // The median age, in whole years.
/// let one_row = Contributor::record(Neighbours::AddRemove);
/// let median = Quantile::new(Epsilon::new(1.0)?, 0.5, Bounds::new(0.0, 120.0)?, one_row)?;
/// let median = median.on_cells(Count::new(120)?);
/// let ages: Vec<f64> = (0..999).map(|i| f64::from(i % 90)).collect();
/// let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
/// let release = median.release(Rows::new(&ages), budget.charge_claim(median.claim())?)?;
/// assert!((release.value().value - 45.0).abs() < 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantile {
    epsilon: Epsilon,
    /// q, in units of 2^-20.
    rank: u64,
    coin: Coin,
    bounds: Bounds,
    cells: u64,
    who: Contributor,
}

impl Quantile {
    /// The value below which a share `q` of the rows lies, on a grid of 2^32 cells. Fails for a q
    /// that is not above 0 and below 1, for ε = 0 or too small, and for a relation without rows.
    pub fn new(epsilon: Epsilon, q: f64, bounds: Bounds, who: Contributor) -> Result<Self, MechanismError> {
        if !(q > 0.0 && q < 1.0) {
            return Err(MechanismError::QuantileRank { got: q });
        }
        let one = 1u64 << ROW_BITS;
        let rank = (q * one as f64).round() as u64;
        let row = match who.change("a quantile")? {
            Contribution::Absent => rank.max(one - rank),
            Contribution::Changed => one,
        };
        let range = u128::from(row) * 2 * u128::from(who.rows());
        let coin = Coin::new(epsilon, Count::new(u64::try_from(range).unwrap_or(u64::MAX))?)?;
        Ok(Self { epsilon, rank, coin, bounds, cells: DEFAULT_CELLS, who })
    }

    /// Uses a grid of `cells` cells instead. It has one value more than cells, from the lower to
    /// the upper bound.
    pub fn on_cells(self, cells: Count) -> Self {
        Self { cells: cells.get(), ..self }
    }

    /// With probability at least `confidence` the released value's rank is within so many rows of
    /// the one asked for.
    pub fn rank_error(&self, confidence: f64) -> f64 {
        let miss = accuracy::miss(confidence);
        let gap = (self.cells as f64 * (1.0 - miss) / miss).ln() / self.coin.rate();
        gap.max(0.0) / f64::from(1u32 << ROW_BITS)
    }

    /// All candidates: those before, at and between sorted rows.
    fn runs(&self, places: &[u64]) -> Vec<Run> {
        let target = u128::from(self.rank) * places.len() as u128;
        let run = |start: u64, end: u64, below: usize, not_above: usize| {
            let (below, not_above) = ((below as u128) << ROW_BITS, (not_above as u128) << ROW_BITS);
            let gap = below.saturating_sub(target).max(target.saturating_sub(not_above));
            let length = NonZero::new(end - start)?;
            Some(Run { start, length, gap: u64::try_from(gap).unwrap_or(u64::MAX) })
        };
        let (mut runs, mut next, mut below) = (Vec::new(), 0, 0);
        for equals in places.chunk_by(|a, b| a == b) {
            let (place, not_above) = (equals[0], below + equals.len());
            runs.extend(run(next, place, below, below));
            runs.extend(run(place, place + 1, below, not_above));
            (next, below) = (place + 1, not_above);
        }
        runs.extend(run(next, self.cells + 1, below, below));
        runs
    }
}

/// Candidates next to each other, of equal score.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    length: NonZero<u64>,
    /// Minus the score, in units of 2^-20 rows.
    gap: u64,
}

impl Mechanism for Quantile {
    type Answer<'a> = Rows<'a, f64>;
    type Output = Ranked;

    fn protection(&self) -> &Protection {
        self.who.protection()
    }

    fn event(&self) -> Event {
        Event::Exponential { epsilon: self.epsilon }
    }

    fn draw<R: Bits + ?Sized>(
        &self,
        rows: Rows<'_, f64>,
        bits: &mut R,
        _: &Covered,
    ) -> Result<Ranked, MechanismError> {
        let mut places: Vec<u64> =
            rows.limited(&self.who, bits)?.iter().map(|x| self.bounds.place(*x, self.cells)).collect();
        places.sort_unstable();
        let runs = self.runs(&places);
        let weights: Vec<Weight> =
            runs.iter().map(|run| self.coin.weight(run.length.get(), run.gap)).collect();
        // Proof: no run is empty, and there is one at least, for the grid is not empty.
        let chosen = choose(&weights, self.coin.denominator(), bits).expect("a grid has candidates");
        let place = runs[chosen].start + uniform_below(runs[chosen].length, bits);
        Ok(Ranked { value: self.bounds.value(place, self.cells), rank_error: self.rank_error(CONFIDENCE) })
    }
}

#[cfg(test)]
mod tests {
    use sordino_privacy::Neighbours;

    use super::*;
    use crate::testing::{DrawFreely, chi_square, count, epsilon, histogram, loss, misses_at_most};

    const DATA: [f64; 8] = [1.0, 2.0, 2.0, 3.0, 5.0, 8.0, 8.5, 9.0];

    fn plan(e: f64, q: f64, neighbours: Neighbours) -> Quantile {
        let bounds = Bounds::new(0.0, 10.0).unwrap();
        Quantile::new(epsilon(e), q, bounds, Contributor::record(neighbours)).unwrap()
    }

    /// What (1) makes of a table: the probability of every candidate, on a small grid, typed again.
    fn masses(e: f64, delta: f64, q: f64, cells: i32, data: &[i32]) -> Vec<f64> {
        let n = data.len() as f64;
        let weight = |y: i32| {
            let below = data.iter().filter(|x| **x < y).count() as f64;
            let not_above = data.iter().filter(|x| **x <= y).count() as f64;
            let u = -(0f64.max(below - q * n).max(q * n - not_above));
            (e * u / (2.0 * delta)).exp()
        };
        let total: f64 = (0..=cells).map(weight).sum();
        (0..=cells).map(|y| weight(y) / total).collect()
    }

    /// The probabilities of Smith's intervals, as the runs of the plan have them.
    fn interval_masses(plan: &Quantile) -> Vec<f64> {
        let mut places: Vec<u64> = DATA.iter().map(|x| plan.bounds.place(*x, plan.cells)).collect();
        places.sort_unstable();
        let weight = |run: &Run| run.length.get() as f64 * (-plan.coin.rate() * run.gap as f64).exp();
        let runs = plan.runs(&places);
        let total: f64 = runs.iter().map(weight).sum();
        runs.iter().filter(|run| run.length.get() > 1).map(|run| weight(run) / total).collect()
    }

    /// Computed in high precision for intervals between rows, ε = 1, q = 1/2, Δ = 1 (replace) and
    /// 1/2 (add, remove). The third interval, between equal rows, is empty.
    #[test]
    fn textbook_probabilities() {
        let replace =
            [0.02594903, 0.04278271, 0.11629547, 0.38347762, 0.34888640, 0.03526838, 0.02139136, 0.02594903];
        let absent =
            [0.00501730, 0.01363843, 0.10077516, 0.54787056, 0.30232547, 0.01853655, 0.00681922, 0.00501730];
        for (neighbours, expected) in [(Neighbours::Replace, replace), (Neighbours::AddRemove, absent)] {
            let found = interval_masses(&plan(1.0, 0.5, neighbours));
            assert_eq!(found.len(), expected.len());
            for (p, expected) in found.iter().zip(expected) {
                assert!((p - expected).abs() < 1e-7, "{neighbours}: {p} against {expected}");
            }
        }
    }

    #[test]
    fn draws_follow_the_definition() {
        let data = [1, 2, 2, 3, 5, 8, 8, 9];
        let rows: Vec<f64> = data.iter().map(|x| f64::from(*x)).collect();
        for (q, neighbours, delta) in [
            (0.5, Neighbours::AddRemove, 0.5),
            (0.5, Neighbours::Replace, 1.0),
            (0.75, Neighbours::AddRemove, 0.75),
        ] {
            let plan = plan(1.0, q, neighbours).on_cells(count(10));
            let counts = histogram(11, 50_000, 77, |bits| {
                plan.draw_freely(Rows::new(&rows), bits).unwrap().value.round() as usize
            });
            chi_square(&counts, &masses(1.0, delta, q, 10, &data)).unwrap();
            // Half of the randomness is another distribution.
            chi_square(&counts, &masses(1.0, 2.0 * delta, q, 10, &data)).unwrap_err();
        }
    }

    /// Over all tables of up to four rows on a grid of five values, and all their neighbours.
    #[test]
    fn no_output_reveals_more_than_epsilon() {
        let mut tables: Vec<Vec<i32>> = vec![vec![]];
        for _ in 0..4 {
            let longer = |t: &Vec<i32>| {
                (t.last().copied().unwrap_or(0)..=4)
                    .map(|x| [t.as_slice(), &[x]].concat())
                    .collect::<Vec<_>>()
            };
            tables = tables.iter().flat_map(longer).chain(tables.clone()).collect();
        }
        for q in [0.5, 0.25, 0.9] {
            let delta: f64 = f64::max(q, 1.0 - q);
            let (mut worst, mut twin): (f64, f64) = (0.0, 0.0);
            for table in &tables {
                for x in 0..=4 {
                    let more = [table.as_slice(), &[x]].concat();
                    let both =
                        |delta| loss(&masses(1.0, delta, q, 4, table), &masses(1.0, delta, q, 4, &more));
                    worst = worst.max(both(delta));
                    twin = twin.max(both(0.5 * delta));
                }
            }
            assert!(worst <= 1.0 + 1e-9, "q {q}: {worst}");
            assert!(twin > 1.0, "a sensitivity off by two is caught: {twin}");
            for table in &tables {
                for i in 0..table.len() {
                    for x in 0..=4 {
                        let mut other = table.clone();
                        other[i] = x;
                        let found = loss(&masses(1.0, 1.0, q, 4, table), &masses(1.0, 1.0, q, 4, &other));
                        assert!(found <= 1.0 + 1e-9);
                    }
                }
            }
        }
    }

    /// The same for owners of up to two rows, with the plan's own runs and rate: all that an owner
    /// can have before and after, beside all tables of up to three rows of others.
    #[test]
    fn no_output_reveals_more_than_epsilon_about_an_owner() {
        let up_to = |most: usize| {
            (0..most).fold(vec![vec![]], |all: Vec<Vec<u64>>, _| {
                let longer =
                    |t: &Vec<u64>| (0..=3).map(|x| [t.as_slice(), &[x]].concat()).collect::<Vec<_>>();
                all.iter().flat_map(longer).chain([vec![]]).collect()
            })
        };
        let masses = |plan: &Quantile, others: &[u64], own: &[u64]| {
            let mut places = [others, own].concat();
            places.sort_unstable();
            let weight = |run: &Run| (-plan.coin.rate() * run.gap as f64).exp();
            let each = |run: &Run| vec![weight(run); run.length.get() as usize];
            let weights: Vec<f64> = plan.runs(&places).iter().flat_map(each).collect();
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|weight| weight / total).collect::<Vec<_>>()
        };
        for (q, neighbours) in
            [(0.5, Neighbours::AddRemove), (0.9, Neighbours::AddRemove), (0.25, Neighbours::Replace)]
        {
            let bounds = Bounds::new(0.0, 3.0).unwrap();
            let plan =
                Quantile::new(epsilon(1.0), q, bounds, Contributor::owner(neighbours, "user_id", count(2)))
                    .unwrap()
                    .on_cells(count(3));
            let befores = if neighbours == Neighbours::Replace { up_to(2) } else { vec![vec![]] };
            let mut worst: f64 = 0.0;
            for others in up_to(3) {
                for before in &befores {
                    let one = masses(&plan, &others, before);
                    for after in up_to(2) {
                        worst = worst.max(loss(&one, &masses(&plan, &others, &after)));
                    }
                }
            }
            assert!(worst <= 1.0 + 1e-9, "q {q}, {neighbours}: {worst}");
            assert!(worst > 0.4, "two fifths of the noise would be caught: {worst}");
        }
    }

    #[test]
    fn the_stated_rank_error_is_met() {
        let rows: Vec<f64> = (0..400).map(|i| f64::from(i) / 40.0).collect();
        let plan = plan(0.5, 0.5, Neighbours::AddRemove);
        misses_at_most(0.05, 2000, 78, |bits| {
            let ranked = plan.draw_freely(Rows::new(&rows), bits).unwrap();
            (ranked.value * 40.0 - 200.0).abs() > ranked.rank_error + 1.0
        });
        assert_eq!(plan.rank_error(1.0), f64::INFINITY);
    }

    #[test]
    fn rare_data_in_wide_bounds_are_found_at_once() {
        let bounds = Bounds::new(-1e9, 1e9).unwrap();
        let plan =
            Quantile::new(epsilon(1.0), 0.5, bounds, Contributor::record(Neighbours::AddRemove)).unwrap();
        let mut bits = sordino_noise::danger::seeded(79);
        let ranked = plan.draw_freely(Rows::new(&vec![3.0; 1000]), &mut bits).unwrap();
        assert!((ranked.value - 3.0).abs() < 1e3);
    }

    #[test]
    fn edges() {
        let mut bits = sordino_noise::danger::seeded(80);
        let plan = plan(1.0, 0.5, Neighbours::AddRemove);
        for rows in [&[][..], &[f64::NAN], &[f64::INFINITY, f64::NEG_INFINITY]] {
            assert!((0.0..=10.0).contains(&plan.draw_freely(Rows::new(rows), &mut bits).unwrap().value));
        }
        for q in [0.0, 1.0, -0.1, f64::NAN] {
            let bounds = Bounds::new(0.0, 1.0).unwrap();
            let who = Contributor::record(Neighbours::AddRemove);
            let error = Quantile::new(epsilon(1.0), q, bounds, who).unwrap_err().to_string();
            assert!(error.starts_with("a quantile must be a number above 0 and below 1"), "{error}");
        }
    }
}
