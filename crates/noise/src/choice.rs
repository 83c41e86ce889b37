//! Chooses one of several entries with exponential weights, exactly.
//!
//! # Definition
//! Entry i, of multiplicity `m_i` and exponent `a_i`, is chosen with probability
//! ```text
//! P[i] = m_i exp(-a_i / t) / sum over entries j of m_j exp(-a_j / t)                                   (1)
//! ```
//! # Construction
//! Inversion with a real number U that is known to as many bits as are needed: i is chosen if `U W`
//! lies between the sums of the weights before i and up to i, W being the sum of all. Floating
//! point decides only where U W is farther from both sums than their proved error, which is nearly
//! always; otherwise the weights are enclosed in integers at doubling precision, and further bits
//! of the *same* U are drawn, until the place of U W is decided.
//!
//! # The bound for floating point
//! Let u = 2^-53. The least exponent is subtracted first (exactly), so that W >= 1. An exponent is
//! rounded three times and is at most 700: a factor within `1 +- 2^-41`; the exponential is off by
//! `1 +- 2^-41`, multiplicity and product by 2u. Beyond 700 a weight counts as 0, which is off by
//! less than `2^64 exp(-700) < 2^-900`. A sum of n such terms is rounded n times. So every partial
//! sum is off by at most `(2^-39 + n u) W`, and so is U W up to another `4 u W`. The margin is four
//! times the sum of both.
//!
//! # Timing
//! Every entry is looked at, whatever the weights. The exact path is taken when U lies next to a
//! border: once in about `2^35 / n` choices for n entries of about equal weight, and once in about
//! `2^48 / n^2` beyond n = 2^13. Whoever sees that it was taken learns that the chosen entry lies
//! next to a border, and nothing more. It encloses n exponentials, at about ten microseconds each.

use std::num::NonZero;

use dashu::integer::UBig;
use dashu::rational::RBig;

use crate::bits::Bits;
use crate::curve::exp_neg_f64;
use crate::exact::exp_neg;

/// Beyond this exponent floating point takes a weight for 0.
const LARGEST_EXPONENT: f64 = 700.0;

/// The multiplicity of an entry, and the exponent of its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// m of (1); an entry with 0 is never chosen.
    pub multiplicity: u64,
    /// a of (1).
    pub exponent: u128,
}

/// The index of an entry, with probability (1) for the denominator t. `None` if no entry has a
/// multiplicity above 0.
///
/// ```
/// use std::num::NonZero;
/// use sordino_noise::{Weight, choose, entropy};
/// let weight = |multiplicity, exponent| Weight { multiplicity, exponent };
/// // Weights 2, 3/e and 1/e^2.
/// let chosen = choose(&[weight(2, 0), weight(3, 1), weight(1, 2)], NonZero::<u64>::MIN, &mut entropy()?);
/// assert!(chosen.unwrap() < 3);
/// # Ok::<(), sordino_noise::EntropyError>(())
/// ```
pub fn choose<R: Bits + ?Sized>(
    weights: &[Weight],
    denominator: NonZero<u64>,
    bits: &mut R,
) -> Option<usize> {
    let least =
        weights.iter().filter(|weight| weight.multiplicity > 0).map(|weight| weight.exponent).min()?;
    let first = bits.next_u64();
    choose_f64(weights, least, denominator, first)
        .or_else(|| Some(choose_exact(weights, least, denominator, first, bits)))
}

/// The entry, if the first 64 bits of U and floating point are enough to decide.
fn choose_f64(weights: &[Weight], least: u128, denominator: NonZero<u64>, first: u64) -> Option<usize> {
    let mut total = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            // An entry that is never chosen may lie below the least exponent.
            let g = weight.exponent.saturating_sub(least) as f64 / denominator.get() as f64;
            if weight.multiplicity > 0 && g <= LARGEST_EXPONENT {
                total += weight.multiplicity as f64 * exp_neg_f64(g);
            }
            total
        })
        .collect();
    let unit = 1.0 / (1u64 << 39) as f64 + (weights.len() as f64 + 4.0) * f64::EPSILON;
    let (margin, place) = (8.0 * unit * total, first as f64 * (0.5 / (1u64 << 63) as f64) * total);
    let index = sums.partition_point(|&sum| sum <= place);
    let above = index == 0 || place - sums[index - 1] > margin;
    let below = index + 1 >= sums.len() || sums[index] - place > margin;
    (index < sums.len() && above && below).then_some(index)
}

/// The entry, by integers and as many more bits as it takes.
fn choose_exact<R: Bits + ?Sized>(
    weights: &[Weight],
    least: u128,
    denominator: NonZero<u64>,
    first: u64,
    bits: &mut R,
) -> usize {
    let (mut uniform, mut known, mut precision) = (UBig::from(first), 64, 128);
    loop {
        if let Some(index) = decide(weights, least, denominator, (&uniform, known), precision) {
            return index;
        }
        while known < precision {
            uniform = (uniform << 64usize) + UBig::from(bits.next_u64());
            known += 64;
        }
        precision *= 2;
    }
}

/// U in `[uniform, uniform + 1) / 2^known`; sums of weights enclosed in units of `2^-precision`.
fn decide(
    weights: &[Weight],
    least: u128,
    denominator: NonZero<u64>,
    (uniform, known): (&UBig, usize),
    precision: usize,
) -> Option<usize> {
    let enclosures: Vec<(UBig, UBig)> = weights
        .iter()
        .scan((UBig::ZERO, UBig::ZERO), |(lower, upper), weight| {
            if weight.multiplicity > 0 {
                let g = RBig::from_parts((weight.exponent - least).into(), denominator.get().into());
                let enclosure = exp_neg(&g, precision);
                *lower += enclosure.lower * weight.multiplicity;
                *upper += enclosure.upper * weight.multiplicity;
            }
            Some((lower.clone(), upper.clone()))
        })
        .collect();
    let (total_lower, total_upper) = enclosures.last()?;
    let (from, to) = (uniform * total_lower, (uniform + UBig::ONE) * total_upper);
    (0..weights.len()).find(|&index| {
        let after_those_before = index == 0 || &enclosures[index - 1].1 << known <= from;
        weights[index].multiplicity > 0 && after_those_before && to <= &enclosures[index].0 << known
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    fn weights(entries: &[(u64, u128)]) -> Vec<Weight> {
        entries.iter().map(|&(multiplicity, exponent)| Weight { multiplicity, exponent }).collect()
    }

    fn below(denominator: u64) -> NonZero<u64> {
        NonZero::new(denominator).unwrap()
    }

    /// Equation (1), typed again.
    fn masses(entries: &[(u64, u128)], t: u64) -> Vec<f64> {
        let weight = |&(m, a): &(u64, u128)| m as f64 * (-(a as f64) / t as f64).exp();
        let total: f64 = entries.iter().map(weight).sum();
        entries.iter().map(|entry| weight(entry) / total).collect()
    }

    fn follows(entries: &[(u64, u128)], t: u64, claimed: &[f64]) -> Result<(), String> {
        let (mut bits, mut counts) = (seeded(501), vec![0; entries.len()]);
        for _ in 0..50_000 {
            counts[choose(&weights(entries), below(t), &mut bits).unwrap()] += 1;
        }
        chi_square(&counts, claimed)
    }

    #[test]
    fn choices_follow_the_definition() {
        for (entries, t) in [
            (&[(2, 0), (3, 1), (1, 2)][..], 1),
            (&[(1, 7), (0, 0), (5, 9), (1, 8)], 3),
            (&[(1 << 40, 40), (1, 10), (1 << 20, 25)], 1),
            (&[(1, u128::MAX), (3, u128::MAX - 2)], 2),
        ] {
            // Only differences of exponents count; and 2^128 is beyond the exponential of this
            // test.
            let least = entries.iter().filter(|e| e.0 > 0).map(|e| e.1).min().unwrap();
            let reduced: Vec<_> = entries.iter().map(|&(m, a)| (m, a.saturating_sub(least))).collect();
            follows(entries, t, &masses(&reduced, t)).unwrap();
        }
    }

    #[test]
    fn a_broken_twin_is_caught() {
        follows(&[(2, 0), (3, 1), (1, 2)], 1, &masses(&[(2, 0), (3, 1), (1, 2)], 2)).unwrap_err();
    }

    /// Both ways must agree on any bits: floating point where it dares to decide, and integers.
    #[test]
    fn floating_point_never_decides_otherwise_than_integers() {
        let mut bits = seeded(502);
        let mut decided = 0;
        for _ in 0..400 {
            let entries: Vec<(u64, u128)> = (0..1 + bits.next_u64() % 20)
                .map(|_| (bits.next_u64() % 4, u128::from(bits.next_u64() % 5000)))
                .collect();
            let weights = weights(&entries);
            let Some(least) = weights.iter().filter(|w| w.multiplicity > 0).map(|w| w.exponent).min() else {
                continue;
            };
            let (t, first) = (below(1 + bits.next_u64() % 1000), bits.next_u64());
            if let Some(index) = choose_f64(&weights, least, t, first) {
                decided += 1;
                assert_eq!(index, choose_exact(&weights, least, t, first, &mut Replay::then_zeros([])));
            }
        }
        assert!(decided > 300, "{decided}");
    }

    /// Weights 1 and 1/e: the border is 1/(1 + 1/e) = 0.7310585786300048792..., in hexadecimal
    /// 0.bb26a7fc2ce97a64...
    #[test]
    fn a_choice_next_to_a_border_draws_more_bits() {
        let entries = weights(&[(1, 0), (1, 1)]);
        let border = (0.731_058_578_630_004_9_f64 * 2f64.powi(64)) as u64; // to 53 bits
        let sides: Vec<usize> = [border - 4096, border + 4096]
            .iter()
            .map(|&first| choose(&entries, below(1), &mut Replay::new([first])).unwrap())
            .collect();
        assert_eq!(sides, [0, 1], "integers decide within the margin of floating point, without more bits");
        assert!(choose_f64(&entries, 0, below(1), border - 4096).is_none());
        // The one word of 64 bits that holds the border: found by bisection with the exact rule.
        let (mut low, mut high) = (border - 4096, border + 4096);
        let decide_at = |word: u64| decide(&entries, 0, below(1), (&UBig::from(word), 64), 256);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match decide_at(middle) {
                Some(0) => low = middle,
                Some(_) => high = middle,
                None => {
                    let ends = [0, u64::MAX]
                        .map(|next| choose(&entries, below(1), &mut Replay::new([middle, next])).unwrap());
                    assert_eq!(ends, [0, 1], "the following bits decide");
                    return;
                }
            }
        }
        panic!("no word was undecided");
    }

    /// A border that is a fraction is decided, too: U = 1/2 belongs to the second of two equals.
    #[test]
    fn rational_borders_are_decided() {
        let equals = weights(&[(1, 5), (1, 5)]);
        assert_eq!(choose(&equals, below(3), &mut Replay::new([1 << 63])), Some(1));
        assert_eq!(choose(&equals, below(3), &mut Replay::new([(1 << 63) - 1])), Some(0));
    }

    #[test]
    fn edges() {
        let mut bits = seeded(503);
        assert_eq!(choose(&[], below(1), &mut bits), None);
        assert_eq!(choose(&weights(&[(0, 0), (0, 3)]), below(1), &mut bits), None);
        assert_eq!(choose(&weights(&[(0, 0), (1, u128::MAX)]), below(1), &mut bits), Some(1));
        assert_eq!(choose(&weights(&[(1, 0), (u64::MAX, u128::MAX)]), below(1), &mut bits), Some(0));
    }
}
