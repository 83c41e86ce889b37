//! Normalisation of an image, a row of channels for each position, in double precision: by columns, where a set has all positions, and by
//! rows, where it has one.
//!
//! Sums of squares are of distances from a number k of the set itself. The mean of n numbers is at most sqrt(n) deviations away from it, so that
//! `Σ(x - k)²/n - (mean - k)²` has lost at most n^1.5 roundings of double precision: of a set of a million numbers, nothing that single precision had.

use super::isa::{Machine, vectorised};

/// Chains of additions in a row.
const LANES: usize = 8;

/// Of n numbers that have these sums of distances and their squares: the mean's distance, and `1/sqrt(variance + epsilon)`.
pub(crate) fn moments(sum: f64, squares: f64, count: usize, epsilon: f64) -> (f64, f64) {
    let moved = sum / count as f64;
    let variance = squares / count as f64 - moved * moved;
    // NaN stays NaN.
    let variance = if variance < 0.0 { 0.0 } else { variance };
    (moved, (variance + epsilon).sqrt().recip())
}

vectorised! {
    /// Adds `x - from` and its square to sums of columns.
    fn column_moments(x: &[f32], from: &[f64], sums: &mut [f64], squares: &mut [f64]) = column_moments_body;
}

#[inline(always)]
fn column_moments_body<M: Machine>(_: M, x: &[f32], from: &[f64], sums: &mut [f64], squares: &mut [f64]) {
    let channels = from.len();
    let (sums, squares) = (&mut sums[..channels], &mut squares[..channels]);
    for x in x.chunks_exact(channels) {
        for c in 0..channels {
            let moved = f64::from(x[c]) - from[c];
            sums[c] += moved;
            squares[c] += moved * moved;
        }
    }
}

vectorised! {
    /// `y = (x - mean) factor + shift`, each column with its own.
    fn column_map(x: &[f32], means: &[f64], factors: &[f64], shifts: &[f64], y: &mut [f32]) = column_map_body;
}

#[inline(always)]
fn column_map_body<M: Machine>(
    _: M,
    x: &[f32],
    means: &[f64],
    factors: &[f64],
    shifts: &[f64],
    y: &mut [f32],
) {
    let channels = means.len();
    let (factors, shifts) = (&factors[..channels], &shifts[..channels]);
    for (x, y) in x.chunks_exact(channels).zip(y.chunks_exact_mut(channels)) {
        for c in 0..channels {
            y[c] = ((f64::from(x[c]) - means[c]) * factors[c] + shifts[c]) as f32;
        }
    }
}

vectorised! {
    /// Adds d and `d (x - mean)` to sums of columns.
    fn column_products(
        x: &[f32],
        means: &[f64],
        d: &[f32],
        sums: &mut [f64],
        products: &mut [f64],
    ) = column_products_body;
}

#[inline(always)]
fn column_products_body<M: Machine>(
    _: M,
    x: &[f32],
    means: &[f64],
    d: &[f32],
    sums: &mut [f64],
    products: &mut [f64],
) {
    let channels = means.len();
    let (sums, products) = (&mut sums[..channels], &mut products[..channels]);
    for (x, d) in x.chunks_exact(channels).zip(d.chunks_exact(channels)) {
        for c in 0..channels {
            sums[c] += f64::from(d[c]);
            products[c] += f64::from(d[c]) * (f64::from(x[c]) - means[c]);
        }
    }
}

vectorised! {
    /// `a d - b - e (x - mean)`, each column with its own.
    fn column_slopes(
        x: &[f32],
        means: &[f64],
        d: &[f32],
        a: &[f64],
        b: &[f64],
        e: &[f64],
        to: &mut [f32],
    ) = column_slopes_body;
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "what slopes are made of")]
fn column_slopes_body<M: Machine>(
    _: M,
    x: &[f32],
    means: &[f64],
    d: &[f32],
    a: &[f64],
    b: &[f64],
    e: &[f64],
    to: &mut [f32],
) {
    let channels = means.len();
    let (a, b, e) = (&a[..channels], &b[..channels], &e[..channels]);
    let rows = x.chunks_exact(channels).zip(d.chunks_exact(channels)).zip(to.chunks_exact_mut(channels));
    for ((x, d), to) in rows {
        for c in 0..channels {
            to[c] = (a[c] * f64::from(d[c]) - b[c] - e[c] * (f64::from(x[c]) - means[c])) as f32;
        }
    }
}

vectorised! {
    /// Sums of `x - from` and of its squares in a row.
    fn row_moments(x: &[f32], from: f64) -> [f64; 2] = row_moments_body;
}

#[inline(always)]
fn row_moments_body<M: Machine>(_: M, x: &[f32], from: f64) -> [f64; 2] {
    let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let (lines, rest) = x.as_chunks::<LANES>();
    for line in lines {
        for lane in 0..LANES {
            let moved = f64::from(line[lane]) - from;
            sums[lane] += moved;
            squares[lane] += moved * moved;
        }
    }
    for (lane, x) in rest.iter().enumerate() {
        let moved = f64::from(*x) - from;
        sums[lane] += moved;
        squares[lane] += moved * moved;
    }
    [sums.iter().sum(), squares.iter().sum()]
}

vectorised! {
    /// `y = (x - mean) factor gain + shift` in a row.
    fn row_map(x: &[f32], mean: f64, factor: f64, gains: &[f64], shifts: &[f64], y: &mut [f32]) = row_map_body;
}

#[inline(always)]
fn row_map_body<M: Machine>(
    _: M,
    x: &[f32],
    mean: f64,
    factor: f64,
    gains: &[f64],
    shifts: &[f64],
    y: &mut [f32],
) {
    let channels = x.len();
    let (gains, shifts, y) = (&gains[..channels], &shifts[..channels], &mut y[..channels]);
    for c in 0..channels {
        y[c] = ((f64::from(x[c]) - mean) * factor * gains[c] + shifts[c]) as f32;
    }
}

vectorised! {
    /// Adds d and `d x^` to sums of columns; with `x^ = (x - mean) factor`, the row's `Σ d gain` and `Σ d gain x^`.
    fn row_products(
        x: &[f32],
        mean: f64,
        factor: f64,
        gains: &[f64],
        d: &[f32],
        sums: &mut [f64],
        products: &mut [f64],
    ) -> [f64; 2] = row_products_body;
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "what sums are made of")]
fn row_products_body<M: Machine>(
    _: M,
    x: &[f32],
    mean: f64,
    factor: f64,
    gains: &[f64],
    d: &[f32],
    sums: &mut [f64],
    products: &mut [f64],
) -> [f64; 2] {
    let channels = x.len();
    let (gains, d) = (&gains[..channels], &d[..channels]);
    let (sums, products) = (&mut sums[..channels], &mut products[..channels]);
    for c in 0..channels {
        sums[c] += f64::from(d[c]);
        products[c] += f64::from(d[c]) * ((f64::from(x[c]) - mean) * factor);
    }
    let (mut sum, mut product) = ([0.0; LANES], [0.0; LANES]);
    let (lines, rest) = x.as_chunks::<LANES>();
    let (slopes, slopes_rest) = d.as_chunks::<LANES>();
    let (gain_lines, gains_rest) = gains.as_chunks::<LANES>();
    for ((x, d), gains) in lines.iter().zip(slopes).zip(gain_lines) {
        for lane in 0..LANES {
            let slope = f64::from(d[lane]) * gains[lane];
            sum[lane] += slope;
            product[lane] += slope * ((f64::from(x[lane]) - mean) * factor);
        }
    }
    for (lane, x) in rest.iter().enumerate() {
        let slope = f64::from(slopes_rest[lane]) * gains_rest[lane];
        sum[lane] += slope;
        product[lane] += slope * ((f64::from(*x) - mean) * factor);
    }
    [sum.iter().sum(), product.iter().sum()]
}

vectorised! {
    /// `factor (d gain - b - x^ e)` in a row.
    fn row_slopes(
        x: &[f32],
        mean: f64,
        factor: f64,
        gains: &[f64],
        d: &[f32],
        b: f64,
        e: f64,
        to: &mut [f32],
    ) = row_slopes_body;
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "what slopes are made of")]
fn row_slopes_body<M: Machine>(
    _: M,
    x: &[f32],
    mean: f64,
    factor: f64,
    gains: &[f64],
    d: &[f32],
    b: f64,
    e: f64,
    to: &mut [f32],
) {
    let channels = x.len();
    let (gains, d, to) = (&gains[..channels], &d[..channels], &mut to[..channels]);
    for c in 0..channels {
        let normal = (f64::from(x[c]) - mean) * factor;
        to[c] = (factor * (f64::from(d[c]) * gains[c] - b - normal * e)) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::*;

    /// In two passes.
    fn plain(x: &[f32]) -> (f64, f64) {
        let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / x.len() as f64;
        let square = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / x.len() as f64;
        (mean, square)
    }

    /// Numbers far from 0, all the same, and with the first one far from the others.
    #[test]
    fn means_and_variances_keep_their_digits() {
        let small = |i: u16| f32::from(i * 37 % 101) / 50.0;
        let far: Vec<f32> = (0..1003).map(|i| 1e6 + small(i)).collect();
        let odd: Vec<f32> = (0..1003).map(|i| if i == 0 { 1e6 } else { small(i) }).collect();
        for numbers in [far, odd, vec![3e7; 1003], (0..5).map(small).collect()] {
            let (mean, variance) = plain(&numbers);
            for isa in [Isa::portable(), Isa::detect()] {
                let from = f64::from(numbers[0]);
                let (mut sums, mut squares) = ([0.0], [0.0]);
                column_moments(isa, &numbers, &[from], &mut sums, &mut squares);
                for [sum, square] in [[sums[0], squares[0]], row_moments(isa, &numbers, from)] {
                    let (moved, factor) = moments(sum, square, numbers.len(), 1e-5);
                    let deviation = (variance + 1e-5).sqrt();
                    assert!((from + moved - mean).abs() <= 1e-9 * deviation, "{moved}");
                    assert!((factor * deviation - 1.0).abs() < 1e-9, "{factor}");
                }
            }
        }
    }

    /// What is not finite is neither mean nor factor.
    #[test]
    fn numbers_that_are_not_finite_show() {
        for strange in [f32::NAN, f32::INFINITY] {
            let row = [1.0, strange, 2.0];
            let [sum, square] = row_moments(Isa::detect(), &row, 1.0);
            let (moved, factor) = moments(sum, square, 3, 1e-5);
            assert!(!moved.is_finite() && factor.is_nan(), "{moved} {factor}");
        }
    }
}
