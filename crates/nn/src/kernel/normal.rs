//! Normalisation of an image, a row of channels for each position, in double precision: by columns if a set
//! covers all positions, by rows if it covers one.
//!
//! Squares are of distances from a number k of the set itself. The mean of n numbers is at most sqrt(n)
//! standard deviations away from k, so `Σ(x - k)²/n - (mean - k)²` loses at most n^1.5 roundings of double
//! precision: for a million numbers, nothing that single precision had.

use super::isa::{Machine, vectorised};

/// Independent chains of additions in a row.
const LANES: usize = 8;

/// The mean's distance and `1/sqrt(variance + epsilon)`, from sums of distances and of their squares.
pub(crate) fn moments(sum: f64, squares: f64, count: usize, epsilon: f64) -> (f64, f64) {
    let moved = sum / count as f64;
    let variance = squares / count as f64 - moved * moved;
    // NaN stays NaN.
    let variance = if variance < 0.0 { 0.0 } else { variance };
    (moved, (variance + epsilon).sqrt().recip())
}

vectorised! {
    /// Adds `x - from` and its square to the sums of each column.
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
    /// Adds d and `d (x - mean)` to the sums of each column.
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
    fn column_backward(
        x: &[f32],
        means: &[f64],
        d: &[f32],
        coefficients: ColumnCoefficients<'_>,
        to: &mut [f32],
    ) = column_backward_body;
}

/// What [`column_backward`] multiplies by: one number of each for every column.
#[derive(Clone, Copy)]
pub(crate) struct ColumnCoefficients<'a> {
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
    pub(crate) e: &'a [f64],
}

#[inline(always)]
fn column_backward_body<M: Machine>(
    _: M,
    x: &[f32],
    means: &[f64],
    d: &[f32],
    coefficients: ColumnCoefficients<'_>,
    to: &mut [f32],
) {
    let channels = means.len();
    let ColumnCoefficients { a, b, e } = coefficients;
    let (a, b, e) = (&a[..channels], &b[..channels], &e[..channels]);
    let rows = x.chunks_exact(channels).zip(d.chunks_exact(channels)).zip(to.chunks_exact_mut(channels));
    for ((x, d), to) in rows {
        for c in 0..channels {
            to[c] = (a[c] * f64::from(d[c]) - b[c] - e[c] * (f64::from(x[c]) - means[c])) as f32;
        }
    }
}

vectorised! {
    /// The sums of `x - from` and of its square in a row.
    fn row_moments(x: &[f32], from: f64) -> [f64; 2] = row_moments_body;
}

#[inline(always)]
fn row_moments_body<M: Machine>(_: M, x: &[f32], from: f64) -> [f64; 2] {
    let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let (vectors, rest) = x.as_chunks::<LANES>();
    for vector in vectors {
        for lane in 0..LANES {
            let moved = f64::from(vector[lane]) - from;
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
    /// Adds d and `d x^` to the sums of each column. Returns the row's `Σ d gain` and `Σ d gain x^`.
    fn row_products(row: NormalRow<'_>, sums: &mut [f64], products: &mut [f64]) -> [f64; 2] = row_products_body;
}

/// A row with `x^ = (x - mean) factor`, the gains of its columns, and the gradient d by its outputs.
#[derive(Clone, Copy)]
pub(crate) struct NormalRow<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) mean: f64,
    pub(crate) factor: f64,
    pub(crate) gains: &'a [f64],
    pub(crate) d: &'a [f32],
}

#[inline(always)]
fn row_products_body<M: Machine>(
    _: M,
    row: NormalRow<'_>,
    sums: &mut [f64],
    products: &mut [f64],
) -> [f64; 2] {
    let NormalRow { x, mean, factor, gains, d } = row;
    let channels = x.len();
    let (gains, d) = (&gains[..channels], &d[..channels]);
    let (sums, products) = (&mut sums[..channels], &mut products[..channels]);
    for c in 0..channels {
        sums[c] += f64::from(d[c]);
        products[c] += f64::from(d[c]) * ((f64::from(x[c]) - mean) * factor);
    }
    let (mut sum, mut product) = ([0.0; LANES], [0.0; LANES]);
    let (x_vectors, x_rest) = x.as_chunks::<LANES>();
    let (d_vectors, d_rest) = d.as_chunks::<LANES>();
    let (gain_vectors, gain_rest) = gains.as_chunks::<LANES>();
    for ((x, d), gains) in x_vectors.iter().zip(d_vectors).zip(gain_vectors) {
        for lane in 0..LANES {
            let gained = f64::from(d[lane]) * gains[lane];
            sum[lane] += gained;
            product[lane] += gained * ((f64::from(x[lane]) - mean) * factor);
        }
    }
    for (lane, x) in x_rest.iter().enumerate() {
        let gained = f64::from(d_rest[lane]) * gain_rest[lane];
        sum[lane] += gained;
        product[lane] += gained * ((f64::from(*x) - mean) * factor);
    }
    [sum.iter().sum(), product.iter().sum()]
}

vectorised! {
    /// `factor (d gain - b - x^ e)` in a row.
    fn row_backward(row: NormalRow<'_>, b: f64, e: f64, to: &mut [f32]) = row_backward_body;
}

#[inline(always)]
fn row_backward_body<M: Machine>(_: M, row: NormalRow<'_>, b: f64, e: f64, to: &mut [f32]) {
    let NormalRow { x, mean, factor, gains, d } = row;
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

    /// Mean and variance in two passes.
    fn plain(x: &[f32]) -> (f64, f64) {
        let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / x.len() as f64;
        let square = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / x.len() as f64;
        (mean, square)
    }

    /// Numbers far from 0, all equal, or with the first one far from the others.
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

    #[test]
    fn a_number_that_is_not_finite_makes_mean_and_factor_not_finite() {
        for strange in [f32::NAN, f32::INFINITY] {
            let row = [1.0, strange, 2.0];
            let [sum, square] = row_moments(Isa::detect(), &row, 1.0);
            let (moved, factor) = moments(sum, square, 3, 1e-5);
            assert!(!moved.is_finite() && factor.is_nan(), "{moved} {factor}");
        }
    }
}
