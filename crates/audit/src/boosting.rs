//! A learnt score for which of two inputs an output comes from: additive logistic regression.
//!
//! # Definition
//! The score of a row x is a sum of small trees, fitted one after the other to the logistic loss by
//! Newton steps (Friedman, Hastie, Tibshirani, "Additive logistic regression: a statistical view of
//! boosting", 2000). A tree asks the same questions `x_j > t` of every row, at most [`DEPTH`], and
//! has a value for each combination of answers. It asks only questions that pay: where columns act
//! independently, a tree of one question fits less noise. Thresholds are quantiles of the first
//! samples, so that nothing depends on units.
//!
//! # Why trees
//! Noise that protects sums is a sum of bounded log-likelihood ratios, which steps fit and straight
//! lines do not; aborts, ties and granularities are steps already.
//!
//! # Pitfall
//! A bad fit costs power, never validity: what it finds is certified on samples that it never saw.

use std::num::NonZero;

use sordino_threads::gather;

/// The most questions a tree asks.
const DEPTH: usize = 3;
const LEAVES: usize = 1 << DEPTH;
/// The share of a Newton step that is taken.
const RATE: f64 = 0.4;
/// What a question must gain in log-likelihood, beyond the logarithm of the number of questions
/// that could have been asked. The best of them gains that much by chance.
const LEAST_GAIN: f64 = 3.0;

/// The question that every row answers with no.
const NO_QUESTION: (usize, f64) = (0, f64::INFINITY);

/// The thresholds of each column: at most 255, rising.
#[derive(Debug)]
pub(crate) struct Cuts(Vec<Vec<f64>>);

/// A sum of trees.
#[derive(Debug)]
pub(crate) struct Boosted {
    trees: Vec<Tree>,
}

#[derive(Debug)]
struct Tree {
    questions: [(usize, f64); DEPTH],
    values: [f32; LEAVES],
}

/// Rows of both inputs in bins: those of the first input, then those of the second.
pub(crate) struct Binned<'a> {
    pub(crate) bins: &'a [u8],
    /// Rows of the first input.
    pub(crate) ones: usize,
}

impl Cuts {
    /// Quantiles of `rows`, padded to one width.
    pub(crate) fn of(rows: &[Vec<f64>]) -> Self {
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        // Many numbers share the cache with fewer bins.
        let most = if width <= 8 { 255 } else { 63 };
        Self((0..width).map(|column| cuts(rows, column, most)).collect())
    }

    pub(crate) fn width(&self) -> usize {
        self.0.len()
    }

    /// Appends the bins of a row: in each column the number of thresholds below.
    pub(crate) fn bin(&self, row: &[f64], bins: &mut Vec<u8>) {
        for (column, cuts) in self.0.iter().enumerate() {
            let value = row.get(column).copied().unwrap_or(crate::observe::ABSENT);
            bins.push(cuts.partition_point(|cut| *cut < value) as u8); // at most 255 cuts
        }
    }
}

fn cuts(rows: &[Vec<f64>], column: usize, most: usize) -> Vec<f64> {
    let mut values: Vec<f64> =
        rows.iter().map(|row| row.get(column).copied().unwrap_or(crate::observe::ABSENT)).collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut distinct = values.clone();
    distinct.dedup();
    let cut = if distinct.len() <= most + 1 {
        distinct
    } else {
        (1..=most).map(|i| values[i * (values.len() - 1) / (most + 1)]).collect::<Vec<_>>()
    };
    // "Above the largest" is no question.
    let largest = values.last().copied();
    let mut cut: Vec<f64> = cut.into_iter().filter(|value| Some(*value) < largest).collect();
    cut.dedup();
    cut
}

impl Boosted {
    /// Learns at most `most_trees` trees.
    pub(crate) fn learn(cuts: &Cuts, rows: &Binned<'_>, most_trees: usize, threads: NonZero<usize>) -> Self {
        let mut fit = Fit::new(cuts, rows, threads);
        let mut trees: Vec<Tree> = Vec::new();
        for tree in (0..most_trees).map_while(|_| fit.next_tree()) {
            // The same questions again: one tree with both values answers as fast as one.
            match trees.iter_mut().find(|known| known.questions == tree.questions) {
                Some(known) => {
                    known.values.iter_mut().zip(tree.values).for_each(|(sum, value)| *sum += value)
                }
                None => trees.push(tree),
            }
        }
        Self { trees }
    }

    /// The learnt log-odds that a row comes from the first input.
    pub(crate) fn score(&self, row: &[f64]) -> f32 {
        let value = |column: usize| row.get(column).copied().unwrap_or(crate::observe::ABSENT);
        let of = |tree: &Tree| {
            let answers = tree.questions.iter().enumerate();
            let leaf = answers
                .fold(0, |leaf, (level, (column, cut))| leaf | usize::from(value(*column) > *cut) << level);
            tree.values[leaf]
        };
        self.trees.iter().map(of).sum()
    }
}

/// First and second derivative of the loss, summed.
#[derive(Clone, Copy, Default)]
struct Slope {
    first: f64,
    second: f64,
}

impl Slope {
    fn add(&mut self, other: Self) {
        self.first += other.first;
        self.second += other.second;
    }

    /// What a Newton step gains, twice over; the 1 keeps empty leaves still.
    fn gain(self) -> f64 {
        self.first * self.first / (self.second + 1.0)
    }
}

struct Fit<'a> {
    cuts: &'a Cuts,
    rows: &'a Binned<'a>,
    threads: NonZero<usize>,
    /// The first slope of each column; the last entry is the number of slopes.
    offsets: Vec<usize>,
    /// For each row its log-odds, and its leaf in the tree that grows.
    odds: Vec<f32>,
    leaves: Vec<u8>,
}

/// Slopes by column, leaf and bin.
type Sums = Vec<Slope>;

impl<'a> Fit<'a> {
    fn new(cuts: &'a Cuts, rows: &'a Binned<'a>, threads: NonZero<usize>) -> Self {
        let count = if cuts.width() == 0 { 0 } else { rows.bins.len() / cuts.width() };
        let mut offsets = vec![0];
        for cuts in &cuts.0 {
            offsets.push(offsets[offsets.len() - 1] + LEAVES * (cuts.len() + 1));
        }
        Self { cuts, rows, threads, offsets, odds: vec![0.0; count], leaves: vec![0; count] }
    }

    /// The first slope of a column and a leaf.
    fn at(&self, column: usize, leaf: usize) -> usize {
        self.offsets[column] + leaf * (self.cuts.0[column].len() + 1)
    }

    /// What each question of a tree must gain.
    fn least_gain(&self) -> f64 {
        let questions: usize = self.cuts.0.iter().map(Vec::len).sum();
        LEAST_GAIN + (questions as f64).ln()
    }

    fn next_tree(&mut self) -> Option<Tree> {
        self.leaves.fill(0);
        let mut questions = [NO_QUESTION; DEPTH];
        let mut best = (0, 0.0);
        for (level, question) in questions.iter_mut().enumerate() {
            let sums = self.sums();
            let (column, bin, gain) = self.best(&sums, 1 << level)?;
            *question = (column, self.cuts.0[column][bin]);
            let width = self.cuts.width();
            for (leaf, row) in self.leaves.iter_mut().zip(self.rows.bins.chunks_exact(width)) {
                *leaf |= u8::from(usize::from(row[column]) > bin) << level;
            }
            // All questions are asked before the last ones are dropped: two may pay where neither
            // does alone.
            let net = 0.5 * gain - (level + 1) as f64 * self.least_gain();
            if net > best.1 {
                best = (level + 1, net);
            }
        }
        let (asked, _) = best;
        if asked == 0 {
            return None;
        }
        questions[asked..].fill(NO_QUESTION);
        let mask = ((1 << asked) - 1) as u8;
        self.leaves.iter_mut().for_each(|leaf| *leaf &= mask);
        let values = self.values();
        for (odds, leaf) in self.odds.iter_mut().zip(&self.leaves) {
            *odds += values[usize::from(*leaf)];
        }
        Some(Tree { questions, values })
    }

    /// The slopes of all rows, each thread summing a part of them.
    fn sums(&self) -> Sums {
        let size = self.offsets[self.offsets.len() - 1];
        let part = self.odds.len().div_ceil(self.threads.get()).max(1);
        let parts = gather(self.threads, (0..self.odds.len()).step_by(part).collect(), |first| {
            let mut sums = vec![Slope::default(); size];
            self.add_rows(first..self.odds.len().min(first + part), &mut sums);
            sums
        });
        let mut total = vec![Slope::default(); size];
        for sums in parts {
            total.iter_mut().zip(sums).for_each(|(total, sum)| total.add(sum));
        }
        total
    }

    fn add_rows(&self, rows: std::ops::Range<usize>, sums: &mut Sums) {
        let width = self.cuts.width();
        for row in rows {
            let leaf = usize::from(self.leaves[row]);
            let slope = self.slope(row);
            for (column, bin) in self.rows.bins[row * width..][..width].iter().enumerate() {
                sums[self.at(column, leaf) + usize::from(*bin)].add(slope);
            }
        }
    }

    /// First and second derivative of the logistic loss: p - y and p (1 - p).
    fn slope(&self, row: usize) -> Slope {
        let p = 1.0 / (1.0 + f64::from(-self.odds[row]).exp());
        let y = f64::from(u8::from(row < self.rows.ones));
        Slope { first: p - y, second: p * (1.0 - p) }
    }

    /// The question with the largest gain over all leaves: column, bin, gain.
    fn best(&self, sums: &Sums, leaves: usize) -> Option<(usize, usize, f64)> {
        let mut best = None;
        let mut most = 0.0;
        for (column, cuts) in self.cuts.0.iter().enumerate() {
            let mut gains = vec![0.0; cuts.len()];
            for leaf in 0..leaves {
                let bins = &sums[self.at(column, leaf)..][..cuts.len() + 1];
                let mut right = Slope::default();
                bins.iter().for_each(|slope| right.add(*slope));
                let mut left = Slope::default();
                for (gain, slope) in gains.iter_mut().zip(bins) {
                    left.add(*slope);
                    right.add(Slope { first: -slope.first, second: -slope.second });
                    *gain += left.gain() + right.gain();
                }
            }
            for (bin, gain) in gains.into_iter().enumerate() {
                if gain > most {
                    (most, best) = (gain, Some((column, bin, gain)));
                }
            }
        }
        best
    }

    fn values(&self) -> [f32; LEAVES] {
        let mut slopes = [Slope::default(); LEAVES];
        for (row, leaf) in self.leaves.iter().enumerate() {
            slopes[usize::from(*leaf)].add(self.slope(row));
        }
        slopes.map(|slope| (-RATE * slope.first / (slope.second + 1.0)) as f32)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::Bits;
    use sordino_noise::danger::{Seeded, seeded};

    use super::*;

    fn uniform(bits: &mut Seeded) -> f64 {
        (bits.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn learn(one: &[Vec<f64>], two: &[Vec<f64>]) -> Boosted {
        let rows = [one, two].concat();
        let cuts = Cuts::of(&rows);
        let mut bins = Vec::new();
        rows.iter().for_each(|row| cuts.bin(row, &mut bins));
        Boosted::learn(&cuts, &Binned { bins: &bins, ones: one.len() }, 60, NonZero::new(2).unwrap())
    }

    /// Uniform on [0, 1] against density 2x: log-odds ln(1/(2x)).
    #[test]
    fn a_known_ratio_is_learnt() {
        let mut bits = seeded(1);
        let one: Vec<_> = (0..40_000).map(|_| vec![uniform(&mut bits)]).collect();
        let two: Vec<_> = (0..40_000).map(|_| vec![uniform(&mut bits).sqrt()]).collect();
        let model = learn(&one, &two);
        for x in [0.1, 0.3, 0.5, 0.7, 0.9] {
            let found = f64::from(model.score(&[x]));
            assert!((found + (2.0 * x).ln()).abs() < 0.2, "{x}: {found}");
        }
    }

    /// Inside a box against everywhere: needs questions about two columns together.
    #[test]
    fn columns_are_combined() {
        let mut bits = seeded(2);
        let mut point = || vec![uniform(&mut bits), uniform(&mut bits)];
        let two: Vec<_> = (0..20_000).map(|_| point()).collect();
        let one: Vec<_> = (0..80_000).map(|_| point()).filter(|p| p[0] < 0.5 && p[1] < 0.5).collect();
        let model = learn(&one, &two);
        assert!(model.score(&[0.2, 0.2]) > 1.0 && model.score(&[0.8, 0.2]) < -2.0);
    }

    #[test]
    fn nothing_is_learnt_from_nothing() {
        let mut bits = seeded(3);
        let mut points = || (0..20_000).map(|_| vec![uniform(&mut bits)]).collect::<Vec<_>>();
        let (one, two) = (points(), points());
        assert!(learn(&one, &two).trees.is_empty());
        assert!(learn(&[vec![1.0], vec![1.0]], &[vec![1.0]]).trees.is_empty());
        assert!(learn(&[vec![]], &[vec![]]).trees.is_empty());
    }
}
