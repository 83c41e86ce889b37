//! Sparse-vector algorithms, numbered as by Lyu, Su, Li ("Understanding the sparse vector technique
//! for differential privacy", 2017): 1 and 2 are private, 3 to 6 are not.

use sordino_audit::{Observe, Row};
use sordino_noise::Bits;

use super::{Noise, UNIT, laplace};

/// Which of at most 64 answers were above the threshold, until it halted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Answers {
    /// One bit for each.
    above: u64,
    answered: u32,
    /// The first two released values, where values are released.
    values: [Option<i64>; 2],
}

impl Answers {
    fn push(&mut self, above: bool, value: impl FnOnce() -> Option<i64>) {
        if above {
            let earlier = self.found() as usize;
            if let Some(free) = self.values.get_mut(earlier) {
                *free = value();
            }
            self.above |= 1 << self.answered;
        }
        self.answered += 1;
    }

    fn found(&self) -> u32 {
        self.above.count_ones()
    }
}

/// Everything, in the few numbers that matter: what was above, and for the first two of these where
/// and what.
impl Observe for Answers {
    const WIDTH: usize = 7;

    fn observe(&self, row: &mut Row) {
        self.above.observe(row);
        self.answered.observe(row);
        self.above.trailing_zeros().observe(row);
        (self.above & self.above.wrapping_sub(1)).trailing_zeros().observe(row);
        for value in self.values {
            row.number(value.map_or(f64::MAX, |value| value as f64));
        }
        row.number(self.values.iter().flatten().min().map_or(f64::MAX, |least| *least as f64));
    }
}

/// Algorithms 1, 2, 4, 5 and 6: which answers are above the threshold.
pub(crate) struct SparseVector {
    threshold: i64,
    threshold_noise: Noise,
    answer_noise: Option<Noise>,
    /// Answers above after which it halts.
    most: Option<u32>,
    refreshed: bool,
}

impl SparseVector {
    /// Private.
    pub(crate) fn one(epsilon: f64, most: u32, threshold: f64) -> Self {
        Self::new((2.0 / epsilon, Some(4.0 * f64::from(most) / epsilon)), Some(most), false, threshold)
    }

    /// Private: noisier, with a fresh threshold after every answer above.
    pub(crate) fn two(epsilon: f64, most: u32, threshold: f64) -> Self {
        let most_ = f64::from(most);
        Self::new((2.0 * most_ / epsilon, Some(4.0 * most_ / epsilon)), Some(most), true, threshold)
    }

    /// Broken: the noise of the answers does not grow with their number. Loses (1 + 6c)/4 of ε.
    pub(crate) fn four(epsilon: f64, most: u32, threshold: f64) -> Self {
        Self::new((4.0 / epsilon, Some(4.0 / (3.0 * epsilon))), Some(most), false, threshold)
    }

    /// Broken: no noise on the answers. Loses everything.
    pub(crate) fn five(epsilon: f64, threshold: f64) -> Self {
        Self::new((2.0 / epsilon, None), None, false, threshold)
    }

    /// Broken: never halts. Loses without bound.
    pub(crate) fn six(epsilon: f64, threshold: f64) -> Self {
        Self::new((2.0 / epsilon, Some(2.0 / epsilon)), None, false, threshold)
    }

    /// Broken: `most` times [`one`](Self::one) answer above, each with all of ε.
    pub(crate) fn restarted(epsilon: f64, most: u32, threshold: f64) -> Self {
        Self::new((2.0 / epsilon, Some(4.0 / epsilon)), Some(most), true, threshold)
    }

    fn new(scales: (f64, Option<f64>), most: Option<u32>, refreshed: bool, threshold: f64) -> Self {
        Self {
            threshold: (threshold * UNIT as f64) as i64,
            threshold_noise: laplace(scales.0),
            answer_noise: scales.1.map(laplace),
            most,
            refreshed,
        }
    }

    pub(crate) fn release(&self, answers: &[i64], bits: &mut dyn Bits) -> Answers {
        let mut noisy_threshold = self.threshold + self.threshold_noise.sample(bits);
        let mut released = Answers::default();
        for answer in answers {
            if Some(released.found()) == self.most {
                break;
            }
            let noise = self.answer_noise.as_ref().map_or(0, |noise| noise.sample(bits));
            let above = answer * UNIT + noise >= noisy_threshold;
            released.push(above, || None);
            if above && self.refreshed {
                noisy_threshold = self.threshold + self.threshold_noise.sample(bits);
            }
        }
        released
    }
}

/// Algorithm 3, broken: an answer above is released with the very noise it was compared with, which
/// bounds the noise of the threshold.
pub(crate) struct SparseVector3 {
    threshold: i64,
    threshold_noise: Noise,
    answer_noise: Noise,
    most: u32,
}

impl SparseVector3 {
    pub(crate) fn new(epsilon: f64, most: u32, threshold: f64) -> Self {
        Self {
            threshold: (threshold * UNIT as f64) as i64,
            threshold_noise: laplace(2.0 / epsilon),
            answer_noise: laplace(2.0 * f64::from(most) / epsilon),
            most,
        }
    }

    pub(crate) fn release(&self, answers: &[i64], bits: &mut dyn Bits) -> Answers {
        let noisy_threshold = self.threshold + self.threshold_noise.sample(bits);
        let mut released = Answers::default();
        for answer in answers {
            if released.found() == self.most {
                break;
            }
            let noisy = answer * UNIT + self.answer_noise.sample(bits);
            released.push(noisy >= noisy_threshold, || Some(noisy));
        }
        released
    }
}

/// Private: an answer above is released with fresh noise (Wang, Ding, Wang, Kifer, Zhang 2019), a
/// third of ε for each noise.
pub(crate) struct NumericalSparseVector {
    threshold: i64,
    threshold_noise: Noise,
    answer_noise: Noise,
    value_noise: Noise,
    most: u32,
}

impl NumericalSparseVector {
    pub(crate) fn new(epsilon: f64, most: u32, threshold: f64) -> Self {
        let most_ = f64::from(most);
        Self {
            threshold: (threshold * UNIT as f64) as i64,
            threshold_noise: laplace(3.0 / epsilon),
            answer_noise: laplace(6.0 * most_ / epsilon),
            value_noise: laplace(3.0 * most_ / epsilon),
            most,
        }
    }

    pub(crate) fn release(&self, answers: &[i64], bits: &mut dyn Bits) -> Answers {
        let noisy_threshold = self.threshold + self.threshold_noise.sample(bits);
        let mut released = Answers::default();
        for answer in answers {
            if released.found() == self.most {
                break;
            }
            let above = answer * UNIT + self.answer_noise.sample(bits) >= noisy_threshold;
            released.push(above, || Some(answer * UNIT + self.value_noise.sample(bits)));
        }
        released
    }
}
