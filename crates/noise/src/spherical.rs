//! Rounded spherical exponential noise: the vector whose density falls with its Euclidean length.
//!
//! # Definition
//! In d dimensions, at depth k:
//! ```text
//! density of Z ~ exp(-|z|_2),      K = round(2^k Z), coordinate by coordinate                            (1)
//! ```
//! The length of Z is Gamma distributed with shape d (mean d, variance d), its direction uniform. In one dimension Z is Laplace.
//!
//! # Guarantee
//! Moving z by a vector of length h changes the density by a factor of at most exp(h), by the triangle inequality (Hardt, Talwar, "On
//! the geometry of differential privacy", 2010); rounding is post-processing of an answer on the grid. The draw is off by a total
//! variation of at most `d^(3/2) 2^(k - 171)`, at most [`SPHERICAL_VARIATION`] = 2^-101 for all dimensions and depths that are
//! accepted; `(1 + e^ε) 2^-101` is to be added to δ.
//!
//! # Construction
//! `Z = |M| N` with N standard normal in d dimensions and M in d + 1: given w = |M|^2, Z has density `~ w^(-d/2) exp(-s/(2w))` at
//! |z|^2 = s, and w has density `~ w^((d-1)/2) exp(-w/2)`; the integral of `w^(-1/2) exp(-s/(2w) - w/2)` over w is
//! `sqrt(2π) exp(-sqrt(s))`.
//!
//! Every normal number is drawn to 181 bits behind the point: a [`RoundedGaussian`] at depth 53 says in which cell of width 2^-53 it
//! lies, 128 further bits t are uniform in the cell and kept with probability proportional to the density there, by an exact coin.
//! Length, products and rounding are integers.
//!
//! # Total variation
//! - The cut after 181 bits, and of the square root, moves `2^k |M| N_j` by less than `η = 2^(k-174) sqrt(d + 1)` while `|M| <= 16
//!   sqrt(d + 1)` and `|N_j| <= 32` (all but 2^-350). K changes only if this product is within η of one of the borders, which lie 1 apart: given |M|,
//!   with probability at most `2η (1 + 0.4/(2^k |M|))`, as its density is unimodal and at most `0.4/(2^k |M|)`; the mean of
//!   1/|M| is at most 1.26. Together less than 4 η d.
//! - The coin of a cell is flipped for the cut t: less than 2^-170 for each number.
//! - A cell beyond 64 bits, 1024 standard deviations out, is clamped: less than 2^-700000 for each number.

use dashu::base::SquareRoot;
use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

use crate::bits::Bits;
use crate::error::NoiseError;
use crate::exact::exp_neg;
use crate::rounded::RoundedGaussian;

/// Bits of a cell.
const CELL_DEPTH: u32 = 53;
/// Bits within a cell.
const WITHIN_BITS: usize = 128;
/// Bits behind the point.
const POINT: usize = CELL_DEPTH as usize + WITHIN_BITS;

/// Bound on the total-variation distance of one vector of [`RoundedSpherical`] from the stated distribution: 2^-101.
pub const SPHERICAL_VARIATION: f64 = f64::from_bits((1023 - 101) << 52);

/// `round(2^depth Z)`, Z of density proportional to `exp(-|z|_2)`.
///
/// ```
/// use sordino_noise::{RoundedSpherical, entropy};
/// let mut noise = [0; 10];
/// RoundedSpherical::new(20)?.fill(&mut entropy()?, &mut noise)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RoundedSpherical {
    depth: u32,
    cells: RoundedGaussian,
}

impl RoundedSpherical {
    /// The deepest grid, 40.
    pub const MOST_DEPTH: u32 = 40;
    /// The most coordinates, 2^20.
    pub const MOST_DIMENSION: usize = 1 << 20;

    /// Fails for a depth above 40.
    pub fn new(depth: u32) -> Result<Self, NoiseError> {
        if depth > Self::MOST_DEPTH {
            return Err(NoiseError::Depth { depth, most: Self::MOST_DEPTH });
        }
        Ok(Self { depth, cells: RoundedGaussian::new(CELL_DEPTH)? })
    }

    /// Overwrites `out` with one vector of as many dimensions. Fails for more than 2^20 of them. (A coordinate beyond 64 bits,
    /// of probability below 2^-350, would be returned as the farthest.)
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) -> Result<(), NoiseError> {
        if out.len() > Self::MOST_DIMENSION {
            let value = out.len().to_string();
            return Err(NoiseError::TooLarge { parameter: "dimension", value, most: "2^20" });
        }
        let length = self.length(out.len() + 1, bits);
        self.cells.fill(bits, out);
        for coordinate in out {
            let normal = fine_normal(*coordinate, bits);
            *coordinate = self.nearest(&(normal * &length));
        }
        Ok(())
    }

    /// |M| of so many dimensions, in units of 2^-181.
    fn length<R: Bits + ?Sized>(&self, dimension: usize, bits: &mut R) -> IBig {
        let mut cells = vec![0; dimension];
        self.cells.fill(bits, &mut cells);
        let squares = cells.into_iter().map(|cell| {
            let normal = fine_normal(cell, bits);
            &normal * &normal
        });
        let sum: IBig = squares.fold(IBig::ZERO, |sum, square| sum + square);
        IBig::from(sum.into_parts().1.sqrt())
    }

    /// The integer nearest to a product in units of 2^-362, times 2^depth.
    fn nearest(&self, product: &IBig) -> i64 {
        let dropped = 2 * POINT - self.depth as usize;
        // A shift to the right rounds down.
        let rounded = (product + (IBig::ONE << (dropped - 1))) >> dropped;
        i64::try_from(rounded.clone()).unwrap_or(if rounded < IBig::ZERO { i64::MIN } else { i64::MAX })
    }
}

/// A normal number of which the cell is known, in units of 2^-181.
fn fine_normal<R: Bits + ?Sized>(cell: i64, bits: &mut R) -> IBig {
    loop {
        let within = (u128::from(bits.next_u64()) << 64) | u128::from(bits.next_u64());
        if keeps(cell, within, bits) {
            // The cell reaches half of its width to both sides of its middle.
            return (IBig::from(cell) << WITHIN_BITS) + IBig::from(within) - (IBig::ONE << (WITHIN_BITS - 1));
        }
    }
}

/// With `t = within/2^128 - 1/2`, the density at `(cell + t) 2^-53` is proportional to `exp(-g)`,
/// `g = (2 cell t + t^2 + |cell|) 2^-107`, which lies between 0 and 2^-43 (|cell| is at most 2^63).
fn keeps<R: Bits + ?Sized>(cell: i64, within: u128, bits: &mut R) -> bool {
    let word = bits.next_u64();
    // U below 1 - 2^-43 <= 1 - g <= exp(-g).
    word >> 21 != u64::MAX >> 21 || keeps_exact(cell, within, word, bits)
}

#[cold]
fn keeps_exact<R: Bits + ?Sized>(cell: i64, within: u128, word: u64, bits: &mut R) -> bool {
    let (mut uniform, mut known) = (UBig::from(word), 64usize);
    let g = exponent(cell, within);
    loop {
        let enclosure = exp_neg(&g, known + 16);
        if (&uniform + UBig::ONE) << 16usize <= enclosure.lower {
            return true;
        }
        if &uniform << 16usize >= enclosure.upper {
            return false;
        }
        uniform = (uniform << 64usize) + UBig::from(bits.next_u64());
        known += 64;
    }
}

/// g of [`keeps`], exactly.
fn exponent(cell: i64, within: u128) -> RBig {
    let t = IBig::from(within) - (IBig::ONE << (WITHIN_BITS - 1)); // in units of 2^-128
    let (linear, square) = ((IBig::from(cell) * &t) << (WITHIN_BITS + 1), &t * &t);
    let shift = IBig::from(cell.unsigned_abs()) << (2 * WITHIN_BITS);
    RBig::from_parts(linear + square + shift, UBig::ONE << (2 * WITHIN_BITS + 107))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::{Replay, chi_square};

    /// P[K = j] of rounded Laplace noise at depth k, from its closed form; the ends have the tails.
    fn laplace(depth: u32, cells: i64) -> Vec<f64> {
        let scale = f64::from(1u32 << depth);
        let above = |j: i64| 0.5 * (-(j as f64 - 0.5) / scale).exp();
        let side = |j: i64| if j == cells { above(j) } else { above(j) - above(j + 1) };
        (-cells..=cells).map(|j| if j == 0 { 1.0 - 2.0 * above(1) } else { side(j.abs()) }).collect()
    }

    #[test]
    fn one_dimension_is_laplace() {
        let (cells, noise, mut bits) = (40i64, RoundedSpherical::new(2).unwrap(), seeded(521));
        let (mut counts, mut out) = (vec![0; 81], [0]);
        for _ in 0..40_000 {
            noise.fill(&mut bits, &mut out).unwrap();
            counts[(out[0].clamp(-cells, cells) + cells) as usize] += 1;
        }
        chi_square(&counts, &laplace(2, cells)).unwrap();
        chi_square(&counts, &laplace(3, cells)).unwrap_err();
    }

    /// Lengths in ten dimensions, binned at the deciles of Gamma(10) by its distribution function
    /// `1 - exp(-x) sum of x^i/i! for i < 10`; shapes 9 and 11, the usual mistakes, are found.
    #[test]
    fn lengths_have_shape_d() {
        let below = |shape: i32, x: f64| {
            let (mut term, mut sum) = (1.0, 1.0);
            for i in 1..shape {
                term *= x / f64::from(i);
                sum += term;
            }
            1.0 - (-x).exp() * sum
        };
        let edges: Vec<f64> = (0..=12).map(|i| 4.0 + f64::from(i)).collect();
        let masses = |shape: i32| -> Vec<f64> {
            let at: Vec<f64> = edges.iter().map(|x| below(shape, *x)).collect();
            let inner = at.windows(2).map(|pair| pair[1] - pair[0]);
            [at[0]].into_iter().chain(inner).chain([1.0 - at[12]]).collect()
        };
        let (noise, mut bits, mut counts) = (RoundedSpherical::new(20).unwrap(), seeded(522), vec![0; 14]);
        let mut out = [0; 10];
        let mut first_positive = 0;
        for _ in 0..20_000 {
            noise.fill(&mut bits, &mut out).unwrap();
            let length = out.iter().map(|x| (*x as f64 / 2f64.powi(20)).powi(2)).sum::<f64>().sqrt();
            counts[edges.partition_point(|edge| *edge < length)] += 1;
            first_positive += u64::from(out[0] > 0 && out[9] < 0);
        }
        chi_square(&counts, &masses(10)).unwrap();
        chi_square(&counts, &masses(9)).unwrap_err();
        chi_square(&counts, &masses(11)).unwrap_err();
        chi_square(&[first_positive, 20_000 - first_positive], &[0.25, 0.75]).unwrap();
    }

    /// exp(-g) is the density, typed again, up to a factor that is the same for the whole cell.
    #[test]
    fn the_coin_of_a_cell_follows_the_density() {
        for cell in [0i64, 5, -7, 1 << 54, -(1 << 56)] {
            let exact = |within: u128| {
                let unit = RBig::from_parts(1.into(), UBig::ONE << POINT);
                let x = (RBig::from(IBig::from(cell) << WITHIN_BITS) + RBig::from(within)
                    - RBig::from(UBig::ONE << (WITHIN_BITS - 1)))
                    * unit;
                &x * &x / RBig::from(2)
            };
            let offset = exponent(cell, 7) - exact(7);
            for within in [0, 1 << 40, 1 << 127, u128::MAX] {
                assert_eq!(exponent(cell, within) - exact(within), offset);
                assert!(exponent(cell, within) >= RBig::ZERO);
                assert!(exponent(cell, within) < RBig::from_parts(1.into(), UBig::ONE << 45usize));
            }
        }
    }

    #[test]
    fn the_exact_coin_decides_next_to_its_border() {
        // g = 2^-46 or so: U between 1 - 2^-45 and 1 is where integers decide.
        let (cell, within) = (1i64 << 60, u128::MAX);
        let last = u64::MAX;
        assert!(!keeps(cell, within, &mut Replay::new([last])));
        assert!(keeps(cell, within, &mut Replay::new([last - (1 << 19) + 1])));
        assert!(keeps(0, 1 << 127, &mut Replay::new([last])), "g = 0 always lands");
    }

    #[test]
    fn edges() {
        assert!(RoundedSpherical::new(41).is_err());
        let noise = RoundedSpherical::new(0).unwrap();
        assert!(noise.fill(&mut seeded(1), &mut []).is_ok());
        assert!(noise.fill(&mut seeded(1), &mut vec![0; (1 << 20) + 1]).is_err());
        assert_eq!(
            noise.nearest(&((IBig::ONE << (2 * POINT)) * IBig::from(i64::MAX) * IBig::from(4))),
            i64::MAX
        );
        assert_eq!(noise.nearest(&(-(IBig::ONE << (2 * POINT - 1)) - IBig::ONE)), -1);
        assert_eq!(noise.nearest(&(IBig::ONE << (2 * POINT - 1))), 1);
    }
}
