//! Rounded spherical exponential noise: the vector whose density falls with its Euclidean length.
//!
//! # Definition
//! In d dimensions, at depth k:
//! ```text
//! density of Z ~ exp(-|z|_2),      K = round(2^k Z), coordinate by coordinate                            (1)
//! ```
//! The length of Z is Gamma distributed with shape d (mean d, variance d), its direction uniform.
//! In one dimension Z is Laplace.
//!
//! # Guarantee
//! Moving z by a vector of length h changes the density by a factor of at most exp(h), by the
//! triangle inequality (Hardt, Talwar, "On the geometry of differential privacy", 2010); rounding
//! is post-processing of an answer on the grid. The draw is exact.
//!
//! # Construction
//! `Z = |M| N` with N standard normal in d dimensions and M in d + 1: given w = |M|^2, Z has
//! density `~ w^(-d/2) exp(-s/(2w))` at `|z|^2 = s`, and w has density `~ w^((d-1)/2) exp(-w/2)`.
//! The integral of `w^(-1/2) exp(-s/(2w) - w/2)` over w is `sqrt(2π) exp(-sqrt(s))`.
//!
//! A normal number is known as an interval that can be narrowed ([`Normal`]). Length, products and
//! rounding are done with both ends of intervals, in integers; while a coordinate could still be
//! rounded to more than one integer, further bits of the *same* numbers are drawn. They begin with
//! 181 bits behind the point, so that this hardly ever happens.

mod normal;

use dashu::base::SquareRoot;
use dashu::integer::IBig;

use self::normal::Normal;
use crate::bits::Bits;
use crate::error::NoiseError;
use crate::rounded::RoundedGaussian;
use crate::stack::clamped;

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
        Ok(Self { depth, cells: RoundedGaussian::new(normal::CELL_DEPTH)? })
    }

    /// Overwrites `out` with one vector of as many dimensions. Fails for more than 2^20 of them.
    /// Coordinates are clamped to 64 bits: clamp sums with answers of size at most A to
    /// `±(i64::MAX - A)`, and the result is that of the exact draw.
    pub fn fill<R: Bits + ?Sized>(&self, bits: &mut R, out: &mut [i64]) -> Result<(), NoiseError> {
        if out.len() > Self::MOST_DIMENSION {
            let value = out.len().to_string();
            return Err(NoiseError::TooLarge { parameter: "dimension", value, most: "2^20" });
        }
        let mut factors: Vec<Normal> = (0..=out.len()).map(|_| Normal::draw(&self.cells, bits)).collect();
        let mut directions: Vec<Normal> = out.iter().map(|_| Normal::draw(&self.cells, bits)).collect();
        while !self.decide(&factors, &directions, out) {
            factors.iter_mut().chain(&mut directions).for_each(|normal| normal.narrow(bits));
        }
        Ok(())
    }

    /// Rounds all coordinates of |M| N, if what is known of M and N is enough.
    fn decide(&self, factors: &[Normal], directions: &[Normal], out: &mut [i64]) -> bool {
        // Some numbers may be known to more bits than others; the most are common to all ends.
        let known = factors.iter().chain(directions).map(Normal::known).max().unwrap_or(0);
        let (shortest, longest) = length(factors, known);
        let dropped = 2 * (known + normal::CELL_DEPTH as usize) - self.depth as usize;
        out.iter_mut().zip(directions).all(|(out, direction)| {
            let (low, high) = direction.ends(known);
            let least = if low < IBig::ZERO { low * &longest } else { low * &shortest };
            let most = if high < IBig::ZERO { high * &shortest } else { high * &longest };
            let rounded = nearest(least, dropped);
            *out = clamped(i128::try_from(&rounded).unwrap_or(if rounded < IBig::ZERO {
                i128::MIN
            } else {
                i128::MAX
            }));
            rounded == nearest(most, dropped)
        })
    }
}

/// Bounds of |M|, in units of the numbers' ends.
fn length(factors: &[Normal], known: usize) -> (IBig, IBig) {
    let (mut least, mut most) = (IBig::ZERO, IBig::ZERO);
    for factor in factors {
        let (low, high) = factor.ends(known);
        let (low_square, high_square) = (&low * &low, &high * &high);
        let across = low < IBig::ZERO && high > IBig::ZERO;
        most += (&low_square).max(&high_square);
        if !across {
            least += (&low_square).min(&high_square);
        }
    }
    let root = |square: IBig| IBig::from(square.into_parts().1.sqrt());
    (root(least), root(most) + IBig::ONE)
}

/// The integer nearest to `product / 2^dropped`.
fn nearest(product: IBig, dropped: usize) -> IBig {
    // A shift to the right rounds down.
    (product + (IBig::ONE << (dropped - 1))) >> dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::danger::seeded;
    use crate::testing::chi_square;

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

    /// With few bits known, what is decided agrees with what all bits say; and often nothing is
    /// decided.
    #[test]
    fn narrow_intervals_decide_what_wide_ones_cannot() {
        // Deeper than grids are, so that the cells themselves leave much open.
        let noise = RoundedSpherical { depth: 51, ..RoundedSpherical::new(40).unwrap() };
        let mut bits = seeded(523);
        let (mut undecided, mut decided) = (0, 0);
        for _ in 0..300 {
            let mut numbers =
                |n| -> Vec<Normal> { (0..n).map(|_| Normal::draw(&noise.cells, &mut bits)).collect() };
            let (factors, directions) = (numbers(4), numbers(3));
            let (mut out, mut early) = ([0; 3], [0; 3]);
            assert!(noise.decide(&factors, &directions, &mut out), "181 bits are plenty");
            // Two bits within a cell.
            let cut = |all: &[Normal]| -> Vec<Normal> { all.iter().map(|normal| normal.cut(2)).collect() };
            if noise.decide(&cut(&factors), &cut(&directions), &mut early) {
                decided += 1;
                assert_eq!(early, out);
            } else {
                undecided += 1;
            }
        }
        assert!(undecided > 0 && decided > 0, "{undecided} undecided, {decided} decided");
    }

    #[test]
    fn edges() {
        assert!(RoundedSpherical::new(41).is_err());
        let noise = RoundedSpherical::new(0).unwrap();
        assert!(noise.fill(&mut seeded(1), &mut []).is_ok());
        assert!(noise.fill(&mut seeded(1), &mut vec![0; (1 << 20) + 1]).is_err());
        assert_eq!(nearest(-(IBig::ONE << 9usize) - IBig::ONE, 10), -IBig::ONE);
        assert_eq!(nearest(IBig::ONE << 9usize, 10), IBig::ONE);
    }
}
