//! The textbook algorithms for discrete Laplace and discrete Gaussian, as slow as they are plain:
//! Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020,
//! arXiv:2004.00010, Algorithms 1 to 3. They share no code with the samplers of this crate but the
//! bits, and serve as their independent reference.

use crate::bits::Bits;
use crate::danger::seeded;
use crate::testing::same_distribution;
use crate::{DiscreteGaussian, DiscreteLaplace};

/// True with probability `numerator / denominator`, by comparing binary digits.
fn coin(mut numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    let (mut word, mut left) = (0, 0);
    loop {
        if left == 0 {
            (word, left) = (bits.next_u64(), 64);
        }
        numerator *= 2;
        let digit = u64::from(numerator >= denominator);
        numerator -= if digit == 1 { denominator } else { 0 };
        left -= 1;
        let bit = (word >> left) & 1;
        if bit != digit {
            return bit < digit;
        }
    }
}

/// Algorithm 1: true with probability exp(-numerator / denominator).
fn coin_exp(mut numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    while numerator > denominator {
        if !coin_exp(1, 1, bits) {
            return false;
        }
        numerator -= denominator;
    }
    let mut k = 1;
    while numerator == denominator * k || coin(numerator, denominator * k, bits) {
        k += 1;
    }
    k % 2 == 1
}

/// Algorithm 2: discrete Laplace of scale t / s.
fn laplace(t: u128, s: u128, bits: &mut impl Bits) -> i64 {
    loop {
        let u = u128::from(bits.next_u64()) % t; // t divides 2^64 in these tests
        if !coin_exp(u, t, bits) {
            continue;
        }
        let mut v = 0;
        while coin_exp(1, 1, bits) {
            v += 1;
        }
        let magnitude = ((u + t * v) / s) as i64;
        let negative = bits.next_u64() & 1 == 1;
        if negative && magnitude == 0 {
            continue;
        }
        return if negative { -magnitude } else { magnitude };
    }
}

/// Algorithm 3: discrete Gaussian with an integer sigma^2 and t a power of two above sigma (any t
/// is exact).
fn gaussian(sigma_squared: u128, t: u128, bits: &mut impl Bits) -> i64 {
    loop {
        let y = laplace(t, 1, bits);
        // (|y| - sigma^2 / t)^2 / (2 sigma^2) = (|y| t - sigma^2)^2 / (2 sigma^2 t^2)
        let difference = (u128::from(y.unsigned_abs()) * t).abs_diff(sigma_squared);
        if coin_exp(difference * difference, 2 * sigma_squared * t * t, bits) {
            return y;
        }
    }
}

/// Histogram of 20 cells to either side, `width` integers each; the ends take what lies beyond.
fn histogram(draws: usize, width: i64, mut draw: impl FnMut() -> i64) -> Vec<u64> {
    let mut counts = vec![0; 41];
    for _ in 0..draws {
        counts[(draw().div_euclid(width).clamp(-20, 20) + 20) as usize] += 1;
    }
    counts
}

const DRAWS: usize = 60_000;

#[test]
fn pitfall_12_discrete_laplace_agrees_with_the_textbook() {
    let (mut ours, mut theirs) = (seeded(1), seeded(2));
    for (t, s, width) in [(1, 1, 1), (8, 3, 1), (1 << 10, 7, 50), (1, 4, 1), (1 << 20, 1, 1 << 18)] {
        let sampler = DiscreteLaplace::new(t as u64, s as u64).unwrap();
        let fast = histogram(DRAWS, width, || sampler.sample(&mut ours) as i64);
        let slow = histogram(DRAWS, width, || laplace(t, s, &mut theirs));
        same_distribution(&fast, &slow).unwrap_or_else(|error| panic!("scale {t}/{s}: {error}"));
    }
}

#[test]
fn pitfall_12_discrete_gaussian_agrees_with_the_textbook() {
    let (mut ours, mut theirs) = (seeded(3), seeded(4));
    for (sigma_squared, t, width) in [(1, 2, 1), (5, 4, 1), (900, 32, 8), (1 << 24, 1 << 12, 1000)] {
        let sampler = DiscreteGaussian::new(sigma_squared as u64, 1).unwrap();
        let fast = histogram(DRAWS, width, || sampler.sample(&mut ours) as i64);
        let slow = histogram(DRAWS, width, || gaussian(sigma_squared, t, &mut theirs));
        same_distribution(&fast, &slow).unwrap_or_else(|error| panic!("sigma^2 {sigma_squared}: {error}"));
    }
}

/// The comparison can fail: a scale that is 5 % off is noticed.
#[test]
fn a_slightly_wrong_scale_disagrees_with_the_textbook() {
    let (mut ours, mut theirs) = (seeded(5), seeded(6));
    let sampler = DiscreteLaplace::new(105 * 8, 300).unwrap();
    let fast = histogram(2 * DRAWS, 1, || sampler.sample(&mut ours) as i64);
    let slow = histogram(2 * DRAWS, 1, || laplace(8, 3, &mut theirs));
    same_distribution(&fast, &slow).unwrap_err();
}
