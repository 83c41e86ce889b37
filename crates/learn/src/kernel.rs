//! The inner loops: rows of `f32`, everything else in `f64`.
//!
//! # Row independence
//! A dot product is computed by the same operations in the same order whatever stands beside the row: eight partial sums by
//! position, then a fixed tree. Rust does not reorder floating-point operations, so the bits of a row's score depend on
//! that row and the weights alone.

/// Partial sums of a dot product.
const LANES: usize = 8;

/// `Σ x_j w_j`.
#[inline(never)]
pub(crate) fn dot(row: &[f32], weights: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (rows, row_rest) = row.as_chunks::<LANES>();
    let (all, rest) = weights.as_chunks::<LANES>();
    for (x, w) in rows.iter().zip(all) {
        for lane in 0..LANES {
            sums[lane] += f64::from(x[lane]) * w[lane];
        }
    }
    let tail: f64 = row_rest.iter().zip(rest).map(|(x, w)| f64::from(*x) * w).sum();
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h)) + tail
}

/// `sum += Σ_r coefficient_r row_r`, four rows at a time so that `sum` is loaded and stored once for them.
#[inline(never)]
pub(crate) fn accumulate(sum: &mut [f64], rows: [&[f32]; 4], coefficients: [f64; 4]) {
    let [a, b, c, d] = coefficients;
    let [p, q, r, s] = rows.map(|row| &row[..sum.len()]);
    for j in 0..sum.len() {
        sum[j] += (a * f64::from(p[j]) + b * f64::from(q[j])) + (c * f64::from(r[j]) + d * f64::from(s[j]));
    }
}

/// At least the exact norm of the row: a product of two `f32` is exact in `f64`, and each addition errs by 2^-53 of a sum
/// that only grows. Infinite for a row that is not finite.
pub(crate) fn norm_above(row: &[f32]) -> f64 {
    let sum: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let norm = (sum * (1.0 + (row.len() as f64 + 8.0) * f64::EPSILON)).sqrt() * (1.0 + f64::EPSILON);
    if norm.is_nan() { f64::INFINITY } else { norm }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_the_plain_ones() {
        let row: Vec<f32> = (0..21).map(|j| j as f32 * 0.5 - 3.0).collect();
        let weights: Vec<f64> = (0..21).map(|j| f64::from(j % 7) - 2.5).collect();
        let plain: f64 = row.iter().zip(&weights).map(|(x, w)| f64::from(*x) * w).sum();
        assert!((dot(&row, &weights) - plain).abs() < 1e-12);
        let mut sum = vec![1.0; 21];
        accumulate(&mut sum, [&row; 4], [1.0, -2.0, 0.5, 3.0]);
        assert!(sum.iter().zip(&row).all(|(s, x)| (s - (1.0 + 2.5 * f64::from(*x))).abs() < 1e-12));
        assert!(norm_above(&[3.0, 4.0]) >= 5.0 && norm_above(&[3.0, 4.0]) < 5.0 + 1e-12);
        assert_eq!(norm_above(&[f32::NAN]), f64::INFINITY);
        assert_eq!(norm_above(&[0.0; 3]), 0.0);
    }
}
