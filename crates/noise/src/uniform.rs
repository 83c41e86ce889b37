//! Uniform integers below a bound, by rejection: never by a remainder, which favours small values.
//!
//! A word is cut to as many bits as the bound has, and drawn again while it is not below the bound:
//! each value below has the same chance at every try. At least one try in two succeeds.

use std::num::NonZero;

use crate::bits::Bits;

/// Uniform on `{0, 1, ..., bound - 1}`.
///
/// ```
/// use std::num::NonZero;
/// use sordino_noise::{entropy, uniform_below};
/// let die = 1 + uniform_below(NonZero::new(6).unwrap(), &mut entropy()?);
/// assert!((1..=6).contains(&die));
/// # Ok::<(), sordino_noise::EntropyError>(())
/// ```
pub fn uniform_below<R: Bits + ?Sized>(bound: NonZero<u64>, bits: &mut R) -> u64 {
    let last = bound.get() - 1;
    if last == 0 {
        return 0;
    }
    let unused = last.leading_zeros();
    loop {
        let candidate = bits.next_u64() >> unused;
        if candidate <= last {
            return candidate;
        }
    }
}

/// Uniform on `{0, 1, ..., bound - 1}` for bounds beyond 64 bits.
pub fn uniform_below_u128<R: Bits + ?Sized>(bound: NonZero<u128>, bits: &mut R) -> u128 {
    let last = bound.get() - 1;
    if last == 0 {
        return 0;
    }
    let unused = last.leading_zeros();
    loop {
        let word = (u128::from(bits.next_u64()) << 64) | u128::from(bits.next_u64());
        if word >> unused <= last {
            return word >> unused;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    #[test]
    fn every_value_is_as_likely_as_any_other() {
        let mut bits = seeded(101);
        for bound in [2u64, 3, 6, 7, 10, 64, 100] {
            let (mut narrow, mut wide) = (vec![0; bound as usize], vec![0; bound as usize]);
            for _ in 0..100_000 {
                narrow[uniform_below(NonZero::new(bound).unwrap(), &mut bits) as usize] += 1;
                wide[uniform_below_u128(NonZero::new(bound.into()).unwrap(), &mut bits) as usize] += 1;
            }
            let probabilities = vec![1.0 / bound as f64; bound as usize];
            chi_square(&narrow, &probabilities).unwrap();
            chi_square(&wide, &probabilities).unwrap();
        }
    }

    /// A remainder would map 4 and 5 of three bits onto 1 and 2 of a bound of 3.
    #[test]
    fn candidates_beyond_the_bound_are_thrown_away() {
        let mut bits = Replay::new([0xc000_0000_0000_0000, 0x8000_0000_0000_0000]);
        assert_eq!(uniform_below(NonZero::new(3).unwrap(), &mut bits), 2);
        bits.assert_used_up();
    }

    #[test]
    fn edges() {
        let mut bits = Replay::new([u64::MAX, u64::MAX, u64::MAX]);
        assert_eq!(uniform_below(NonZero::<u64>::MIN, &mut bits), 0, "nothing to choose, nothing drawn");
        assert_eq!(uniform_below(NonZero::new(1 << 63).unwrap(), &mut bits), u64::MAX >> 1);
        assert_eq!(uniform_below_u128(NonZero::new(1 << 127).unwrap(), &mut bits), u128::MAX >> 1);
    }
}
