//! Binomial counts: how many of n independent coins of one exact probability land.
//!
//! # Definition
//! ```text
//! P[X = k] = n! / (k! (n - k)!) p^k (1 - p)^(n - k),     k = 0, ..., n                               (1)
//! ```
//! # Construction
//! Each of the n coins is a uniform real number below p or not. All are compared with p together,
//! one binary digit at a time: of the c coins that still agree with p, fair bits say how many
//! differ at the next digit. Those are decided, as landed if the digit of p is 1. Half of the coins
//! are decided at each digit, so that `2 n` fair bits are used on average, counted 64 at a time:
//! **n/32 words**.
//!
//! Where p is below 2^-17 (or above 1 - 2^-17, by symmetry) the gaps between landing coins are
//! drawn instead, as geometric numbers: **n p + 1 of them**, some ten microseconds each (as long as
//! 10^5 coins by digits take).
//!
//! Where p is below 2^-49, gaps could leave 64 bits. A coin of probability p is then two: one of
//! 2^-49, and one of `2^49 p` for those that landed. The first are counted by gaps, the second by
//! digits: **n 2^-49 + 1** gaps, at most 2^15.

use dashu::rational::RBig;

use crate::bits::Bits;
use crate::error::NoiseError;
use crate::geometric::Geometric;
use crate::probability::Probability;

/// Below this probability gaps are cheaper than digits.
const RARE: f64 = 1.0 / (1u64 << 17) as f64;
/// Below `2^-RAREST_BITS` gaps could not be counted in 64 bits.
const RAREST_BITS: u32 = 49;

/// The number of successes among `trials` independent ones, drawn exactly.
///
/// ```
/// use sordino_noise::{Binomial, Probability, entropy};
/// let batch_size = Binomial::new(60_000, &Probability::from_f64(0.004)?)?;
/// let size: u64 = batch_size.sample(&mut entropy()?);
/// assert!(size <= 60_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Binomial {
    trials: u64,
    method: Method,
    /// Count the failures, which are the rarer ones.
    inverted: bool,
}

#[derive(Clone, Debug)]
enum Method {
    Never,
    Digits(Probability),
    Gaps(Geometric),
    /// Gaps of coins that are not as rare, and then how many of those land a second time.
    Thinned(Geometric, Probability),
}

impl Binomial {
    /// Any number of trials and any exact probability. The cost of a draw is stated above; it does
    /// not fail.
    pub fn new(trials: u64, success: &Probability) -> Result<Self, NoiseError> {
        let inverted = success.to_f64() > 0.5;
        let rarer = if inverted { success.complement() } else { success.clone() };
        Ok(Self { trials, method: Method::for_rarer(rarer)?, inverted })
    }

    /// One draw.
    pub fn sample<R: Bits + ?Sized>(&self, bits: &mut R) -> u64 {
        let count = match &self.method {
            Method::Never => 0,
            Method::Digits(p) => by_digits(self.trials, p, bits),
            Method::Gaps(gap) => by_gaps(self.trials, gap, bits),
            Method::Thinned(gap, second) => by_digits(by_gaps(self.trials, gap, bits), second, bits),
        };
        if self.inverted { self.trials - count } else { count }
    }
}

impl Method {
    fn for_rarer(p: Probability) -> Result<Self, NoiseError> {
        let rarest = RBig::from_parts(1.into(), (1u64 << RAREST_BITS).into());
        Ok(match p.value() {
            zero if zero.is_zero() => Self::Never,
            value if *value < rarest => {
                let second = Probability::from_exact(value / &rarest);
                Self::Thinned(Geometric::new(&Probability::from_exact(rarest))?, second)
            }
            _ if p.to_f64() < RARE => Self::Gaps(Geometric::new(&p)?),
            _ => Self::Digits(p),
        })
    }
}

fn by_digits<R: Bits + ?Sized>(trials: u64, p: &Probability, bits: &mut R) -> u64 {
    let (mut undecided, mut successes) = (trials, 0);
    for digit in p.binary_digits() {
        if undecided == 0 {
            break;
        }
        let differ = fair_heads(undecided, bits);
        undecided -= differ;
        if digit {
            successes += differ;
        }
    }
    // Coins that agree with all digits of p up to the last 1 are not below p.
    successes
}

fn by_gaps<R: Bits + ?Sized>(trials: u64, gap: &Geometric, bits: &mut R) -> u64 {
    let (mut left, mut successes) = (u128::from(trials), 0);
    loop {
        match left.checked_sub(gap.sample(bits)) {
            None | Some(0) => return successes,
            Some(rest) => {
                successes += 1;
                left = rest - 1;
            }
        }
    }
}

/// Heads among `flips` fair coins.
fn fair_heads<R: Bits + ?Sized>(mut flips: u64, bits: &mut R) -> u64 {
    let (mut words, mut heads) = ([0; 256], 0);
    while flips >= 64 {
        let count = (flips / 64).min(256) as usize;
        bits.fill(&mut words[..count]);
        heads += words[..count].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        flips -= 64 * count as u64;
    }
    if flips > 0 {
        heads += u64::from((bits.next_u64() >> (64 - flips)).count_ones());
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    /// Equation (1) by its recursion.
    fn masses(n: u64, p: f64) -> Vec<f64> {
        if p > 0.5 {
            return masses(n, 1.0 - p).into_iter().rev().collect();
        }
        let mut mass = (1.0 - p).powi(n as i32);
        let mut masses = vec![mass];
        for k in 0..n {
            mass *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            masses.push(mass);
        }
        masses
    }

    fn check(n: u64, p: &Probability, draws: usize) {
        let mut bits = seeded(505);
        let binomial = Binomial::new(n, p).unwrap();
        let mut counts = vec![0; n as usize + 1];
        for _ in 0..draws {
            counts[binomial.sample(&mut bits) as usize] += 1;
        }
        chi_square(&counts, &masses(n, p.to_f64())).unwrap();
    }

    #[test]
    fn counts_follow_the_stated_probabilities() {
        for (n, numerator, denominator) in [(1, 1, 3), (10, 1, 2), (100, 3, 10), (100, 9, 10), (65, 1, 128)] {
            check(n, &Probability::new(numerator, denominator).unwrap(), 50_000);
        }
        // By gaps, and by gaps of failures.
        check(150_000, &Probability::new(1, 200_000).unwrap(), 5000);
        check(150_000, &Probability::new(199_999, 200_000).unwrap(), 5000);
    }

    /// p = 0.11: of three coins the first bits decide two (one differs: landed), the next bit one.
    #[test]
    fn digits_decide_coins_together() {
        let p = Probability::new(3, 8).unwrap(); // 0.011
        let mut bits = Replay::new([0b100 << 61, 0b10 << 62, 0b1 << 63]);
        // Digit 0: one of three differs and fails. Digit 1: one of two differs and lands. Digit 1:
        // the last lands.
        assert_eq!(by_digits(3, &p, &mut bits), 2);
        bits.assert_used_up();
    }

    #[test]
    fn large_counts_have_the_stated_mean_and_variance() {
        let mut bits = seeded(506);
        let (n, p) = (1_000_000u64, 0.3);
        let binomial = Binomial::new(n, &Probability::from_f64(p).unwrap()).unwrap();
        let deviation = (n as f64 * p * (1.0 - p)).sqrt();
        let draws = 400;
        let scaled: Vec<f64> =
            (0..draws).map(|_| (binomial.sample(&mut bits) as f64 - n as f64 * p) / deviation).collect();
        let mean = scaled.iter().sum::<f64>() / f64::from(draws);
        let variance = scaled.iter().map(|x| x * x).sum::<f64>() / f64::from(draws);
        // Six standard deviations of each (false alarm 4e-9).
        assert!(mean.abs() < 6.0 / f64::from(draws).sqrt(), "mean {mean}");
        assert!((variance - 1.0).abs() < 6.0 * (2.0 / f64::from(draws)).sqrt(), "variance {variance}");
    }

    /// Far fewer words than coins, however rare: by digits these would be 2^53 words. The means are
    /// 0.002 (no seven land, but for a probability below 1e-20), 16 and 256 (within six standard
    /// deviations, false alarm below 1e-6).
    #[test]
    fn the_rarest_coins_are_counted_by_gaps() {
        let mut bits = seeded(508);
        let n = 1u64 << 58;
        for (exponent, mean) in [(67, 0.002), (54, 16.0), (50, 256.0f64)] {
            let p = Probability::from_f64(2f64.powi(-exponent)).unwrap();
            let count = Binomial::new(n, &p).unwrap().sample(&mut bits) as f64;
            assert!((count - mean).abs() < 6.0 * mean.sqrt().max(1.0), "2^-{exponent}: {count}");
            let failures = Binomial::new(n, &p.complement()).unwrap().sample(&mut bits);
            let missing = (n - failures) as f64;
            assert!((missing - mean).abs() < 6.0 * mean.sqrt().max(1.0), "1 - 2^-{exponent}: {missing}");
        }
    }

    /// The same count in two steps as in one, for a p that both can draw.
    #[test]
    fn thinning_has_the_same_distribution() {
        let gap = Geometric::new(&Probability::new(1, 100).unwrap()).unwrap();
        let thinned = Method::Thinned(gap, Probability::new(1, 3).unwrap());
        let binomial = Binomial { trials: 600, method: thinned, inverted: false };
        let mut bits = seeded(509);
        let mut counts = vec![0; 601];
        for _ in 0..10_000 {
            counts[binomial.sample(&mut bits) as usize] += 1;
        }
        chi_square(&counts, &masses(600, 1.0 / 300.0)).unwrap();
    }

    #[test]
    fn edges() {
        let mut bits = seeded(507);
        for n in [0, 1, 63, 64, 65, 1_000_000] {
            let count = |p: f64| Binomial::new(n, &Probability::from_f64(p).unwrap()).unwrap();
            assert_eq!(count(0.0).sample(&mut bits), 0);
            assert_eq!(count(1.0).sample(&mut bits), n);
            assert!(count(0.5).sample(&mut bits) <= n);
            assert_eq!(count(1e-300).sample(&mut bits), 0);
        }
    }
}
