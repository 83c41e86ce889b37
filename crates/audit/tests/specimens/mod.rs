//! Mechanisms of the literature, right and wrong, on which a tester is tested.
//!
//! Real answers are integers in steps of 1/[`UNIT`], and noise is exact discrete Laplace or
//! geometric noise on these steps, so that a loss found here is that of the algorithm and not of
//! floating point. [`naive_laplace`] is the exception.
#![allow(
    dead_code,
    unused_imports,
    missing_docs,
    reason = "shared by several programs, none of which needs all of it"
)]

mod noisy_max;
mod rappor;
mod sparse_vector;
mod sums;

use sordino_noise::{Bits, DiscreteLaplace};

pub(crate) use noisy_max::{MaxNoise, NoisyMax};
pub(crate) use rappor::Rappor;
pub(crate) use sparse_vector::{NumericalSparseVector, SparseVector, SparseVector3};
pub(crate) use sums::{NoisyHistogram, PrefixSum, TruncatedGeometric, naive_laplace};

/// Steps in 1.
pub(crate) const UNIT: i64 = 1 << 10;

/// Discrete Laplace noise.
pub(crate) struct Noise(DiscreteLaplace);

/// Noise whose scale is `scale` in units of answers.
pub(crate) fn laplace(scale: f64) -> Noise {
    Noise(DiscreteLaplace::with_scale(scale * UNIT as f64).unwrap())
}

impl Noise {
    /// Scales are below 2^20, and noise beyond 2^40 of them never comes.
    pub(crate) fn sample(&self, bits: &mut dyn Bits) -> i64 {
        self.0.sample(bits) as i64
    }
}

/// Pairs of neighbouring lists of `N` answers, each of which moves by at most 1 (Ding, Wang, Wang,
/// Zhang, Kifer, "Detecting violations of differential privacy", 2018), and the same from the back.
pub(crate) fn patterns<const N: usize>() -> Vec<([i64; N], [i64; N])> {
    let ones = [1; N];
    let with = |first: i64, rest: i64| std::array::from_fn(|i| if i == 0 { first } else { rest });
    let halves = |front: i64, back: i64| std::array::from_fn(|i| if i < N / 2 { front } else { back });
    let mut pairs = vec![
        (ones, with(0, 1)),
        (ones, with(2, 1)),
        (ones, with(2, 0)),
        (ones, with(0, 2)),
        (ones, halves(2, 0)),
        (ones, with(2, 2)),
        (ones, with(0, 0)),
        (halves(1, 0), halves(0, 1)),
        (with(0, 1), with(1, 0)),
    ];
    for index in [2, 3, 8] {
        let (mut one, mut two) = pairs[index];
        one.reverse();
        two.reverse();
        pairs.push((one, two));
    }
    pairs
}

/// The same where only one answer moves.
pub(crate) fn single_patterns<const N: usize>() -> Vec<([i64; N], [i64; N])> {
    patterns().into_iter().take(2).collect()
}
