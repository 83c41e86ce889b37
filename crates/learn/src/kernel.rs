//! The inner loops: rows of `f32`, everything else in `f64`, eight rows at a time.
//!
//! # One pass over memory
//! A tile of [`TILE`] rows is read for its scores and, while it is still in the L1 cache, again for
//! its share of the gradient. So a pass over the data loads each row from memory once: `4 d` bytes
//! and `4 d` floating-point operations for each row and score. The processor does these operations
//! faster than the bytes arrive.
//!
//! # Row independence
//! A score is computed by the same operations in the same order whatever the other rows of its tile
//! are: sixteen partial sums by position, then a fixed tree. Rust does not reorder floating-point
//! operations, so the bits of a row's score depend on that row and the weights alone.
//!
//! # Wide registers
//! The same code is compiled twice, for every x86-64 processor and for those with AVX2, and one
//! version is chosen at run time. No version fuses products and sums, so both give the same bits.
//! On processors with separate adders this costs no time.

/// Rows that are processed together.
pub(crate) const TILE: usize = 8;
/// Partial sums of a dot product.
const LANES: usize = 16;
/// Numbers (`f32`) in a cache line of 64 bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 16;

/// Compiles a function of the module `plain` twice, for every processor and for AVX2, and chooses
/// at run time.
macro_rules! for_all_registers {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?) => {
        $(#[$doc])*
        pub(crate) fn $name($($argument: $kind),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                #[target_feature(enable = "avx2")]
                fn wide($($argument: $kind),*) $(-> $result)? {
                    plain::$name($($argument),*)
                }
                // SAFETY: the feature that the function is compiled for was found in this
                // processor a few lines above.
                #[allow(
                    unsafe_code,
                    reason = "the processor has these instructions, which are three times as fast"
                )]
                return unsafe { wide($($argument),*) };
            }
            plain::$name($($argument),*)
        }
    };
}

mod derivative;
mod exp;
mod gram;

pub(crate) use self::derivative::differentiate;
pub(crate) use self::gram::Gram;

/// `Σ x_j w_j`.
pub(crate) fn dot(row: &[f32], weights: &[f64]) -> f64 {
    plain::dot(row, weights)
}

for_all_registers! {
    /// The dot products of each row with `weights`, as [`dot`] gives them.
    fn dots(rows: [&[f32]; TILE], weights: &[f64]) -> [f64; TILE]
}

for_all_registers! {
    /// `sum += Σ_r coefficient_r row_r`; `sum` is loaded and stored once.
    fn accumulate(sum: &mut [f64], rows: [&[f32]; TILE], coefficients: [f64; TILE])
}

/// Prefetches numbers that will be needed soon. The rows of a sample are scattered, and no
/// processor predicts where: without this, a sampled step waits for them half of its time. The
/// processor prefetches rows that are read in order, but not while it works on other rows.
pub(crate) fn prefetch(numbers: &[f32]) {
    #[cfg(target_arch = "x86_64")]
    for line in numbers.chunks(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 processor has the instruction. It has no effect that a program could
        // see and is allowed for any address; this one points into a slice.
        #[allow(unsafe_code, reason = "a hint that only affects time: a sampled row takes half as long")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}

/// An upper bound on the exact norm of the row. A product of two `f32` is exact in `f64`, and each
/// addition errs by at most 2^-53 of a sum that only grows, in any order. Infinite for a row that
/// is not finite.
pub(crate) fn norm_above(row: &[f32]) -> f32 {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for x in chunks {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * f64::from(x[lane]);
        }
    }
    let tail: f64 = rest.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let sum = sums.iter().sum::<f64>() + tail;
    let norm = (sum * (1.0 + (row.len() as f64 + 8.0) * f64::EPSILON)).sqrt() * (1.0 + f64::EPSILON);
    match norm as f32 {
        near if near.is_nan() => f32::INFINITY,
        near if f64::from(near) < norm => near.next_up(),
        near => near,
    }
}

/// The code itself, inlined and so compiled for its caller's registers.
mod plain {
    use super::{LANES, TILE};

    #[inline(always)]
    pub(super) fn dot(row: &[f32], weights: &[f64]) -> f64 {
        let (all, rest) = weights.as_chunks::<LANES>();
        let (chunks, row_rest) = row[..weights.len()].as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (x, w) in chunks.iter().zip(all) {
            for lane in 0..LANES {
                sums[lane] += f64::from(x[lane]) * w[lane];
            }
        }
        let mut tail = 0.0;
        for (x, w) in row_rest.iter().zip(rest) {
            tail += f64::from(*x) * w;
        }
        let (low, high) = sums.split_at(LANES / 2);
        let pair = |lane: usize| low[lane] + high[lane];
        let quad = |lane: usize| pair(lane) + pair(lane + 4);
        (quad(0) + quad(2)) + (quad(1) + quad(3)) + tail
    }

    #[inline(always)]
    pub(super) fn dots(rows: [&[f32]; TILE], weights: &[f64]) -> [f64; TILE] {
        let mut scores = [0.0; TILE];
        for (score, row) in scores.iter_mut().zip(rows) {
            *score = dot(row, weights);
        }
        scores
    }

    #[inline(always)]
    pub(super) fn accumulate(sum: &mut [f64], rows: [&[f32]; TILE], coefficients: [f64; TILE]) {
        let [a, b, c, d, e, f, g, h] = coefficients;
        let [p, q, r, s, t, u, v, w] = rows.map(|row| &row[..sum.len()]);
        for j in 0..sum.len() {
            let x = |row: &[f32]| f64::from(row[j]);
            let first = (a * x(p) + b * x(q)) + (c * x(r) + d * x(s));
            let second = (e * x(t) + f * x(u)) + (g * x(v) + h * x(w));
            sum[j] += first + second;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight rows of `width`, weights and coefficients, of mixed sizes and signs.
    fn numbers(width: usize) -> (Vec<Vec<f32>>, Vec<f64>, [f64; TILE]) {
        let row =
            |r: usize| (0..width).map(|j| ((j * 7 + r * 3) as f32).sin() * 3f32.powi(r as i32)).collect();
        let rows = (0..TILE).map(row).collect();
        let weights = (0..width).map(|j| (j as f64 * 1.3).cos() * 10f64.powi((j % 5) as i32 - 2)).collect();
        (rows, weights, std::array::from_fn(|r| (r as f64).cos()))
    }

    fn tile(rows: &[Vec<f32>]) -> [&[f32]; TILE] {
        std::array::from_fn(|r| rows[r].as_slice())
    }

    /// Compares with the definition, written plainly.
    #[test]
    fn sums_are_those_of_the_definition() {
        for width in [1, 5, 8, 21, 101] {
            let (rows, weights, coefficients) = numbers(width);
            for (row, score) in rows.iter().zip(dots(tile(&rows), &weights)) {
                let plain: f64 = row.iter().zip(&weights).map(|(x, w)| f64::from(*x) * w).sum();
                assert!((score - plain).abs() <= 1e-12 * (1.0 + plain.abs()) * 1e3, "{width}");
                assert_eq!(score.to_bits(), dot(row, &weights).to_bits());
            }
            let mut sum = vec![1.0; width];
            accumulate(&mut sum, tile(&rows), coefficients);
            for (j, got) in sum.iter().enumerate() {
                let terms = rows.iter().zip(coefficients).map(|(row, c)| c * f64::from(row[j]));
                assert!((got - 1.0 - terms.sum::<f64>()).abs() < 1e-9, "{width} {j}");
            }
        }
    }

    /// A row's score has the same bits in every place of every tile.
    #[test]
    fn a_row_does_not_see_its_neighbours() {
        let (rows, weights, _) = numbers(37);
        let alone = dot(&rows[2], &weights).to_bits();
        for place in 0..TILE {
            let mut others = tile(&rows);
            others[place] = &rows[2];
            assert_eq!(dots(others, &weights)[place].to_bits(), alone);
            let mut zeros: [&[f32]; TILE] = [&[0.0; 37]; TILE];
            zeros[place] = &rows[2];
            assert_eq!(dots(zeros, &weights)[place].to_bits(), alone);
        }
    }

    /// The version for this processor gives the same bits as the version for every processor.
    #[test]
    fn wide_registers_give_the_same_bits() {
        for width in [3, 16, 50, 101] {
            let (rows, weights, coefficients) = numbers(width);
            let bits = |scores: &[f64]| scores.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let plainly: Vec<f64> = rows.iter().map(|row| plain::dot(row, &weights)).collect();
            assert_eq!(bits(&dots(tile(&rows), &weights)), bits(&plainly));
            let (mut one, mut other) = (vec![0.1; width], vec![0.1; width]);
            accumulate(&mut one, tile(&rows), coefficients);
            plain::accumulate(&mut other, tile(&rows), coefficients);
            assert_eq!(bits(&one), bits(&other));
        }
    }

    #[test]
    fn a_norm_is_never_below_the_exact_one() {
        assert!(norm_above(&[3.0, 4.0]) >= 5.0 && norm_above(&[3.0, 4.0]) < 5.000_002);
        assert_eq!(norm_above(&[f32::NAN]), f32::INFINITY);
        assert_eq!(norm_above(&[f32::MAX; 4]), f32::INFINITY);
        assert_eq!(norm_above(&[0.0; 3]), 0.0);
        // Longer than one chunk: 37 twos have the norm sqrt(148).
        assert!((f64::from(norm_above(&[2.0; 37])) - 148f64.sqrt()).abs() < 2e-6);
        assert_eq!(norm_above(&[f32::NAN; 20]), f32::INFINITY);
        // A norm between two floats is rounded up.
        assert!(f64::from(norm_above(&[1.0, 1.0])) >= 2f64.sqrt());
    }
}
