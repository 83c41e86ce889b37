//! The event by which two inputs are told apart, and how it is chosen.
//!
//! # Definition
//! An event is "the score is above t, or equals t and a coin of weight w says so", for a score that
//! rises with the likelihood ratio: by Neyman and Pearson the best event of its size, if the score
//! is the true ratio (Bichsel, Steffen, Bogunovic, Vechev, "DP-Sniper: black-box discovery of
//! differential privacy violations using classifiers", 2021).
//!
//! # Size
//! DP-Sniper fixes the size c = Pr\[event\] on the less likely input, since a ratio of rare events
//! cannot be estimated. Here the size is by default the one whose certified bound is expected to be
//! largest for the number of samples that will certify it ([`EventSize::Best`]): large where the
//! ratio is the same for many outputs, tiny where some outputs are impossible. It is chosen on
//! samples that are not counted again.
//!
//! # Ties
//! DP-Sniper counts a tie as w events. Such counts are not binomial, and rounding them does not
//! make them so; a coin does.

use sordino_noise::Bits;

use crate::boosting::Boosted;
use crate::error_rates::normal_quantile;
use crate::histogram::OutputHistogram;

/// How large an event is sought.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventSize {
    /// As large as is best for the number of samples.
    Best,
    /// Events of this probability on the input that makes them less likely; DP-Sniper uses 0.01.
    Fixed(f64),
}

/// What gives outputs a score.
#[derive(Debug)]
pub(crate) enum Model {
    Histogram(OutputHistogram),
    Boosted(Boosted),
}

impl Model {
    pub(crate) fn score(&self, row: &[f64]) -> f32 {
        match self {
            Self::Histogram(histogram) => histogram.score(row),
            Self::Boosted(boosted) => boosted.score(row),
        }
    }
}

/// A set of outputs that is likelier on the input `favoured`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OutputSet {
    /// 0 or 1.
    pub(crate) favoured: usize,
    /// The least score, for `favoured`, that is surely inside.
    pub(crate) threshold: f32,
    /// The probability that a tie is inside, in units of 2^-64.
    pub(crate) tie: u64,
}

impl OutputSet {
    /// Whether an output with this score for the first input belongs to the event.
    pub(crate) fn contains(&self, score: f32, bits: &mut dyn Bits) -> bool {
        let score = if self.favoured == 0 { score } else { -score };
        score > self.threshold || (score == self.threshold && self.tie > 0 && bits.next_u64() <= self.tie)
    }
}

/// What certification will look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook {
    pub(crate) size: EventSize,
    /// Samples on either side.
    pub(crate) samples: f64,
    /// 1 - confidence.
    pub(crate) error: f64,
    pub(crate) delta: f64,
}

impl Outlook {
    /// The event with the largest expected bound, and that bound. `scores` are for the first input,
    /// on outputs of either.
    pub(crate) fn choose(&self, scores: [Vec<f32>; 2]) -> (OutputSet, f64) {
        let [mut one, mut two] = scores;
        one.sort_unstable_by(f32::total_cmp);
        two.sort_unstable_by(f32::total_cmp);
        let first = self.best(&Sorted(one.clone()), &Sorted(two.clone()), 0);
        let turned = |scores: Vec<f32>| Sorted(scores.into_iter().rev().map(|score| -score).collect());
        let second = self.best(&turned(two), &turned(one), 1);
        if second.1 > first.1 { second } else { first }
    }

    fn best(&self, favoured: &Sorted, other: &Sorted, side: usize) -> (OutputSet, f64) {
        let candidates = match self.size {
            EventSize::Fixed(size) => vec![other.threshold(size)],
            EventSize::Best => {
                favoured.levels().chain(other.levels()).flat_map(|t| [(t, 0), (t, ALWAYS)]).collect()
            }
        };
        let deviations = self.deviations();
        let mut best = (OutputSet { favoured: side, threshold: f32::INFINITY, tie: 0 }, f64::NEG_INFINITY);
        for (threshold, tie) in candidates {
            let (favoured, other) = (favoured.share(threshold, tie), other.share(threshold, tie));
            let promise = self.promise(deviations, favoured, other);
            if promise > best.1 {
                best = (OutputSet { favoured: side, threshold, tie }, promise);
            }
        }
        best
    }

    /// The expected bound, with each rate worse by one standard deviation: the choice itself
    /// flatters the rates.
    fn promise(&self, deviations: f64, favoured: Share, other: Share) -> f64 {
        let (low, high) = (favoured.end(-1.0), other.end(1.0));
        if self.delta == 0.0 {
            // One interval for the share of events that come from the favoured input.
            let both = Share { share: low / (low + high), samples: self.samples * (low + high) };
            let share = both.end(-deviations);
            return if share > 0.0 { (share / (1.0 - share)).ln() } else { f64::NEG_INFINITY };
        }
        let end = |share: f64, z: f64| Share { share, samples: self.samples }.end(z);
        let (low, high) = (end(low, -deviations), end(high, deviations));
        if low > self.delta { ((low - self.delta) / high).ln() } else { f64::NEG_INFINITY }
    }

    /// Standard deviations that the error of one Clopper-Pearson bound amounts to.
    fn deviations(&self) -> f64 {
        let bounds = if self.delta == 0.0 { 1.0 } else { 2.0 };
        -normal_quantile(self.error / bounds)
    }
}

const ALWAYS: u64 = u64::MAX;

/// A share of samples.
#[derive(Clone, Copy)]
struct Share {
    share: f64,
    samples: f64,
}

impl Share {
    /// An end of Wilson's score interval, z deviations away.
    fn end(self, z: f64) -> f64 {
        let (p, n) = (self.share, self.samples);
        let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((p + z * z / (2.0 * n) + spread) / (1.0 + z * z / n)).clamp(0.0, 1.0)
    }
}

/// Scores, rising.
struct Sorted(Vec<f32>);

/// The number of levels that are tried, on a scale that is finer towards the top.
const LEVELS: usize = 400;

impl Sorted {
    fn levels(&self) -> impl Iterator<Item = f32> {
        let count = self.0.len();
        // Ranks from the top: count^(i / LEVELS), that is from 1 to all of them.
        let rank = move |i: usize| (count as f64).powf(i as f64 / LEVELS as f64) as usize;
        let mut last = None;
        (0..=LEVELS).filter_map(move |i| {
            let level = *self.0.get(count.checked_sub(rank(i))?)?;
            (last.replace(level) != Some(level)).then_some(level)
        })
    }

    /// The share of scores in an event.
    fn share(&self, threshold: f32, tie: u64) -> Share {
        let above = self.0.len() - self.0.partition_point(|score| *score <= threshold);
        let equal = self.0.len() - self.0.partition_point(|score| *score < threshold) - above;
        let samples = self.0.len() as f64;
        Share { share: (above as f64 + equal as f64 * (tie as f64 / ALWAYS as f64)) / samples, samples }
    }

    /// The event of the given size.
    fn threshold(&self, size: f64) -> (f32, u64) {
        let wanted = size * self.0.len() as f64;
        let at = self.0.len().saturating_sub(1 + wanted as usize);
        let threshold = self.0[at];
        let above = (self.0.len() - self.0.partition_point(|score| *score <= threshold)) as f64;
        let equal = (self.0.len() - self.0.partition_point(|score| *score < threshold)) as f64 - above;
        (threshold, ((wanted - above) / equal).clamp(0.0, 1.0).mul_add(ALWAYS as f64, 0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;

    const OUTLOOK: Outlook = Outlook { size: EventSize::Best, samples: 1e4, error: 0.05, delta: 0.0 };

    #[test]
    fn the_side_that_can_be_told_is_favoured() {
        // The second input gives 1 or 0, the first only 0: a score of -1 tells.
        let (event, promise) = OUTLOOK.choose([vec![0.0; 1000], [vec![-1.0; 500], vec![0.0; 500]].concat()]);
        assert_eq!((event.favoured, promise > 4.0), (1, true));
        assert!(event.contains(-1.0, &mut seeded(1)) && !event.contains(0.0, &mut seeded(1)));
    }

    #[test]
    fn a_fixed_size_is_met_by_a_coin_at_ties() {
        let outlook = Outlook { size: EventSize::Fixed(0.01), ..OUTLOOK };
        let scores = || [vec![0.0; 900], vec![1.0; 100]].concat();
        let (event, _) = outlook.choose([scores(), scores()]);
        let mut bits = seeded(4);
        let inside =
            (0..100_000).filter(|i| event.contains(f32::from(i % 10 == 0), &mut bits)).count() as f64;
        // 1000 expected; six standard deviations.
        assert!((inside - 1000.0).abs() < 6.0 * 1000.0_f64.sqrt(), "{inside}");
    }

    /// With equal ratios everywhere above, more samples are better than fewer.
    #[test]
    fn the_best_event_is_large_where_the_ratio_is_flat() {
        let scores = |ones: usize| [vec![0.0; 1000 - ones], (0..ones).map(|_| 1.0).collect()].concat();
        let (event, _) = OUTLOOK.choose([scores(400), scores(200)]);
        assert_eq!(event.favoured, 0);
        assert!(event.contains(1.0, &mut seeded(1)) && !event.contains(0.0, &mut seeded(1)));
    }
}
