//! What this crate's tests share: words chosen by hand, and reference probabilities.

use std::collections::VecDeque;

pub(crate) use sordino_testing::{chi_square, same_distribution};

use crate::bits::{Bits, sealed};

/// Hands out chosen words and panics when they run out: a test says exactly which bits are used.
pub(crate) struct Replay {
    words: VecDeque<u64>,
    zeros_follow: bool,
}

impl Replay {
    pub(crate) fn new(words: impl IntoIterator<Item = u64>) -> Self {
        Self { words: words.into_iter().collect(), zeros_follow: false }
    }

    /// Words as given, and zeros for ever after.
    pub(crate) fn then_zeros(words: impl IntoIterator<Item = u64>) -> Self {
        Self { zeros_follow: true, ..Self::new(words) }
    }

    pub(crate) fn assert_used_up(&self) {
        assert!(self.words.is_empty(), "{} words were not asked for", self.words.len());
    }
}

impl sealed::Sealed for Replay {}

impl Bits for Replay {
    fn next_u64(&mut self) -> u64 {
        let word = self.words.pop_front();
        word.or(self.zeros_follow.then_some(0)).expect("more words are asked for than the test foresaw")
    }

    fn is_seeded(&self) -> bool {
        true
    }
}

/// P[K = k] of the rounded Gaussian for |k| < cells; both ends take the tails beyond them.
pub(crate) fn rounded_gaussian_masses(depth: u32, cells: i64) -> Vec<f64> {
    let scale = f64::from(1u32 << depth) * std::f64::consts::SQRT_2;
    // Upper tails from erfc keep their digits far out; both sides are symmetric.
    let above = |k: i64| 0.5 * libm::erfc((k as f64 - 0.5) / scale);
    let one_side = |k: i64| if k == cells { above(k) } else { above(k) - above(k + 1) };
    (-cells..=cells).map(|k| one_side(k.abs())).collect()
}
