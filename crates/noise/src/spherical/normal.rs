//! A standard normal number of which any number of bits can be drawn.
//!
//! # Construction
//! A [`RoundedGaussian`] at depth 53 says in which cell of width 2^-53 the number lies. Within the
//! cell, at `(cell + t) 2^-53` with t in [-1/2, 1/2), the density is proportional to
//! ```text
//! exp(-g),     g = (2 cell t + t^2 + |cell|) 2^-107  >= 0                                            (1)
//! ```
//! t is uniform, and kept with probability (1); a t that is not kept is drawn again, the cell is
//! not. Of t and of the coin's uniform number U as many bits are drawn as it takes to compare U
//! with (1). Given that it was kept, the bits of t beyond those are fair: the comparison did not
//! depend on them.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::bits::Bits;
use crate::exact::exp_neg;
use crate::rounded::RoundedGaussian;

/// Bits of a cell.
pub(super) const CELL_DEPTH: u32 = 53;
/// Bits of t that are drawn at first.
const FIRST_BITS: usize = 128;
/// For cells up to here, g is below 2^-45.
const NEAR: u128 = 1 << 60;

/// The number lies in `[value, value + 1] 2^-(53 + known)`.
#[derive(Clone, Debug)]
pub(super) struct Normal {
    value: IBig,
    known: usize,
}

impl Normal {
    pub(super) fn draw<R: Bits + ?Sized>(cells: &RoundedGaussian, bits: &mut R) -> Self {
        let cell = cells.sample(bits);
        loop {
            let within = (UBig::from(bits.next_u64()) << 64usize) + UBig::from(bits.next_u64());
            if let Some(kept) = Self::keep(cell, within, bits) {
                return kept;
            }
        }
    }

    /// Bits of t that are known.
    pub(super) fn known(&self) -> usize {
        self.known
    }

    /// Both ends, in units of `2^-(53 + known)` for a `known` that is at least its own.
    pub(super) fn ends(&self, known: usize) -> (IBig, IBig) {
        let more = known - self.known;
        (&self.value << more, (&self.value + IBig::ONE) << more)
    }

    /// Draws 64 bits more.
    pub(super) fn narrow<R: Bits + ?Sized>(&mut self, bits: &mut R) {
        self.value = (std::mem::take(&mut self.value) << 64usize) + IBig::from(bits.next_u64());
        self.known += 64;
    }

    /// What was known when `known` bits were.
    #[cfg(test)]
    pub(super) fn cut(&self, known: usize) -> Self {
        Self { value: &self.value >> (self.known - known), known }
    }

    /// The number, if the coin of (1) lands for the first bits of t.
    fn keep<R: Bits + ?Sized>(cell: i128, within: UBig, bits: &mut R) -> Option<Self> {
        let word = bits.next_u64();
        // U below 1 - 2^-45 <= 1 - g <= exp(-g).
        let near = cell.unsigned_abs() <= NEAR && word >> 19 != u64::MAX >> 19;
        let (within, known) = if near { (within, FIRST_BITS) } else { keep_exact(cell, within, word, bits)? };
        // The cell reaches half of its width to both sides of its middle.
        let value = (IBig::from(cell) << known) + IBig::from(within) - (IBig::ONE << (known - 1));
        Some(Self { value, known })
    }
}

/// What is known of t once U was found below (1) for all that t can be; nothing if above.
#[cold]
fn keep_exact<R: Bits + ?Sized>(
    cell: i128,
    mut within: UBig,
    word: u64,
    bits: &mut R,
) -> Option<(UBig, usize)> {
    let (mut known, mut uniform, mut digits) = (FIRST_BITS, UBig::from(word), 64);
    loop {
        let (least, most) = exponents(cell, &within, known);
        // 16 bits finer than U is known.
        let (likeliest, unlikeliest) = (exp_neg(&least, digits + 16), exp_neg(&most, digits + 16));
        if (&uniform + UBig::ONE) << 16usize <= unlikeliest.lower {
            return Some((within, known));
        }
        if &uniform << 16usize >= likeliest.upper {
            return None;
        }
        within = (within << 64usize) + UBig::from(bits.next_u64());
        uniform = (uniform << 64usize) + UBig::from(bits.next_u64());
        (known, digits) = (known + 64, digits + 64);
    }
}

/// Bounds of g of (1) for t of which the first bits are known: at their end, give or take its
/// change over the rest of t, which is less than `(2 |cell| + 2) 2^-known 2^-107`.
fn exponents(cell: i128, within: &UBig, known: usize) -> (RBig, RBig) {
    let t = IBig::from(within.clone()) - (IBig::ONE << (known - 1)); // in units of 2^-known
    let (linear, square) = ((IBig::from(cell) * &t) << (known + 1), &t * &t);
    let size = IBig::from(cell.unsigned_abs());
    let change = ((&size << 1usize) + IBig::from(2)) << known;
    let middle = linear + square + (size << (2 * known));
    let unit = UBig::ONE << (2 * known + 107);
    let least = (&middle - &change).max(IBig::ZERO);
    (RBig::from_parts(least, unit.clone()), RBig::from_parts(middle + change, unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Replay;

    /// The exponent at `within` bits of a cell, from the square of the number itself.
    fn half_square(cell: i128, within: u128) -> RBig {
        let unit = RBig::from_parts(1.into(), UBig::ONE << (CELL_DEPTH as usize + FIRST_BITS));
        let x = (RBig::from(IBig::from(cell) << FIRST_BITS) + RBig::from(within)
            - RBig::from(UBig::ONE << (FIRST_BITS - 1)))
            * unit;
        &x * &x / RBig::from(2)
    }

    /// Up to a constant for each cell, -x^2/2 is enclosed at both ends of what t can be.
    #[test]
    fn the_coin_of_a_cell_follows_the_density() {
        for cell in [0i128, 5, -7, 1 << 54, -(1 << 56), 1 << 70] {
            // g is 0 at the end of the cell nearer to 0, but for t^2.
            let constant = half_square(cell, 1 << 127)
                - RBig::from_parts(cell.unsigned_abs().into(), UBig::ONE << 107usize);
            for within in [0, 1 << 40, 1 << 127, u128::MAX - 1] {
                let (least, most) = exponents(cell, &UBig::from(within), FIRST_BITS);
                assert!(least <= most && least >= RBig::ZERO);
                for end in [within, within + 1] {
                    let g = half_square(cell, end) - &constant;
                    assert!(least <= g && g <= most, "cell {cell}, within {within}");
                }
                if cell.unsigned_abs() <= NEAR {
                    assert!(most < RBig::from_parts(1.into(), UBig::ONE << 45usize));
                }
            }
        }
    }

    #[test]
    fn integers_decide_near_the_end_and_far_out() {
        let (cell, within) = (1i128 << 60, UBig::from(u128::MAX));
        let keep = |cell, within: &UBig, words: &[u64]| {
            Normal::keep(cell, within.clone(), &mut Replay::new(words.iter().copied()))
        };
        // g is about 2^-46: a U within 2^-47 of 1 is above exp(-g), one at 1 - 2^-45 is below.
        assert!(keep(cell, &within, &[u64::MAX]).is_none());
        assert!(keep(cell, &within, &[u64::MAX - (1 << 19) + 1]).is_some());
        // At the other end of the cell g is next to 0, and the last U in question needs more bits.
        let kept = keep(cell, &UBig::ZERO, &[u64::MAX, 0, 0]).unwrap();
        assert_eq!(kept.known(), FIRST_BITS + 64);
        // Far out g is large: exp(-2^13).
        assert!(keep(1 << 120, &within, &[1 << 60]).is_none());
    }

    #[test]
    fn narrowing_keeps_what_is_known() {
        let mut normal = Normal { value: IBig::from(-5), known: 3 };
        let (low, high) = normal.ends(67);
        normal.narrow(&mut Replay::new([u64::MAX]));
        let (narrow_low, narrow_high) = normal.ends(67);
        assert!(low <= narrow_low && narrow_high <= high && narrow_low < narrow_high);
        assert_eq!(normal.cut(3).value, IBig::from(-5));
    }
}
