//! Functions of single numbers, a vector at a time, and sums of squares.
//!
//! # Accuracy
//! [`exp_m1`] and [`exp`] have a relative error below 3e-7 (tests compare them with double precision). With
//! `x = n ln 2 + r` and |r| <= ln(2)/2, `e^r - 1` is its Taylor polynomial of degree 7, whose next term is below
//! 2e-8 of r.
//!
//! `tanh`, the logistic function and their derivatives have the same error. Derivatives are kept, and not computed
//! from values: near a limit of the function, `1 - y²` of a rounded y has few digits or none.
//!
//! # Row independence
//! A number's result depends on that number alone.

use super::isa::{Machine, vectorised};

/// `e^x - 1`, for x up to 88; beyond, that of 88. NaN stays NaN.
#[inline(always)]
pub(crate) fn exp_m1(x: f32) -> f32 {
    let (power, part) = reduced(x);
    power * part + (power - 1.0)
}

/// `e^x`, at least 2^-126.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let (power, part) = reduced(x);
    power * part + power
}

/// `(2^n, e^r - 1)` with `x = n ln 2 + r`.
#[inline(always)]
fn reduced(x: f32) -> (f32, f32) {
    // Adding 1.5 · 2^23 rounds to an integer, in the last bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts. The first has few bits, so its multiples are exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let clamped = x.clamp(-87.0, 88.0);
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    let part = r + r * r * (0.5 + r * (1.0 / 6.0 + r * tail));
    let power = f32::from_bits(shifted.to_bits().wrapping_add(127).wrapping_shl(23));
    (power, part)
}

/// `tanh x = (e^2x - 1)/(e^2x + 1)` and its derivative `4 e^2x/(e^2x + 1)²`.
#[inline(always)]
fn tanh(x: f32) -> (f32, f32) {
    let e = exp_m1(2.0 * x.abs().clamp(0.0, 40.0)); // `min` would lose NaN
    let part = 1.0 / (e + 2.0);
    ((e * part).copysign(x), 4.0 * (e + 1.0) * part * part)
}

/// `1/(1 + e^-x)` and its derivative `e^-x/(1 + e^-x)²`.
#[inline(always)]
fn logistic(x: f32) -> (f32, f32) {
    let e = exp(-x.abs());
    let part = 1.0 / (1.0 + e);
    (if x < 0.0 { e * part } else { part }, e * part * part)
}

/// Defines a vectorised function that replaces each number.
macro_rules! each {
    ($(#[$doc:meta])* $name:ident, $body:ident, |$x:ident $(, $parameter:ident)*| $value:expr) => {
        vectorised! {
            $(#[$doc])*
            fn $name(data: &mut [f32] $(, $parameter: f32)*) = $body;
        }

        #[inline(always)]
        fn $body<M: Machine>(_: M, data: &mut [f32] $(, $parameter: f32)*) {
            for number in data {
                let $x = *number;
                *number = $value;
            }
        }
    };
}

each!(
    /// `x`, or `slope x` where x is negative.
    leaky_relu_all, leaky_relu_body, |x, slope| if x < 0.0 { slope * x } else { x }
);
each!(
    /// `max(x, 0)`; NaN stays NaN.
    relu_all, relu_body, |x| if x < 0.0 { 0.0 } else { x }
);
each!(
    /// Multiplies all numbers by one.
    scale_all, scale_body, |x, factor| x * factor
);

/// Defines a vectorised function that replaces each number and keeps the derivative.
macro_rules! each_kept {
    ($(#[$doc:meta])* $name:ident, $body:ident, |$x:ident $(, $parameter:ident)*| $value:expr) => {
        vectorised! {
            $(#[$doc])*
            fn $name(data: &mut [f32], derivatives: &mut [f32] $(, $parameter: f32)*) = $body;
        }

        #[inline(always)]
        fn $body<M: Machine>(_: M, data: &mut [f32], derivatives: &mut [f32] $(, $parameter: f32)*) {
            for (number, derivative) in data.iter_mut().zip(derivatives) {
                let $x = *number;
                (*number, *derivative) = $value;
            }
        }
    };
}

each_kept!(
    /// Hyperbolic tangents.
    tanh_all, tanh_body, |x| tanh(x)
);
each_kept!(
    /// `height/(1 + e^(-slope x)) - shift`.
    logistic_all, logistic_body, |x, height, slope, shift| {
        let (value, derivative) = logistic(slope * x);
        (height * value - shift, slope * height * derivative)
    }
);
each_kept!(
    /// `x/(1 + e^-x)`.
    silu_all, silu_body, |x| {
        let (value, derivative) = logistic(x);
        (x * value, value + x * derivative)
    }
);

/// Defines a vectorised function that multiplies gradients by derivatives, given the function's values.
macro_rules! each_gradient {
    ($(#[$doc:meta])* $name:ident, $body:ident, |$y:ident $(, $parameter:ident)*| $value:expr) => {
        vectorised! {
            $(#[$doc])*
            fn $name(values: &[f32], gradients: &mut [f32] $(, $parameter: f32)*) = $body;
        }

        #[inline(always)]
        fn $body<M: Machine>(_: M, values: &[f32], gradients: &mut [f32] $(, $parameter: f32)*) {
            for (gradient, value) in gradients.iter_mut().zip(values) {
                let $y = *value;
                *gradient *= $value;
            }
        }
    };
}

each_gradient!(
    /// Of the leaky rectifier; at 0 the derivative is 1. With slope 0, negative numbers have become -0.
    leaky_relu_backward, leaky_relu_backward_body, |y, slope| if y.is_sign_negative() { slope } else { 1.0 }
);
each_gradient!(
    /// Of the rectifier; at 0 the derivative is 0.
    relu_backward, relu_backward_body, |y| if y > 0.0 { 1.0 } else { 0.0 }
);
each_gradient!(
    /// Multiplies by kept factors.
    multiply_all, multiply_body, |y| y
);

vectorised! {
    /// `Σ x²` in double precision. Products of two `f32` are exact there, and the sum of n of them has a relative
    /// error of at most n 2^-53.
    fn sum_of_squares(data: &[f32]) -> f64 = sum_of_squares_body;
}

#[inline(always)]
fn sum_of_squares_body<M: Machine>(machine: M, data: &[f32]) -> f64 {
    let mut sums = [0.0f64; 16];
    let (vectors, rest) = data.as_chunks::<16>();
    for vector in vectors {
        for (sum, x) in sums.iter_mut().zip(vector) {
            *sum = machine.add_square(*x, *sum);
        }
    }
    let tail: f64 = rest.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    sums.iter().sum::<f64>() + tail
}

vectorised! {
    /// `sum += factor x`.
    fn add_scaled(sum: &mut [f32], factor: f32, x: &[f32]) = add_scaled_body;
}

#[inline(always)]
fn add_scaled_body<M: Machine>(machine: M, sum: &mut [f32], factor: f32, x: &[f32]) {
    let (vectors, rest) = sum.as_chunks_mut();
    let (from, from_rest) = x.as_chunks();
    for (vector, x) in vectors.iter_mut().zip(from) {
        *vector = machine.store(machine.multiply_add(factor, machine.load(x), machine.load(vector)));
    }
    rest.iter_mut().zip(from_rest).for_each(|(sum, x)| *sum += factor * x);
}

vectorised! {
    /// `sum += Σ_i w_i x_i` over the examples with a weight other than 0, in order. Each has `sum.len()` numbers.
    fn add_weighted(sum: &mut [f32], weights: &[f32], x: &[f32]) = add_weighted_body;
}

/// Numbers that stay in a first-level cache while all examples are added to them.
const NEAR: usize = 2048;

#[inline(always)]
fn add_weighted_body<M: Machine>(machine: M, sum: &mut [f32], weights: &[f32], x: &[f32]) {
    let length = sum.len();
    for (part, sum) in sum.chunks_mut(NEAR).enumerate() {
        for (weight, x) in weights.iter().zip(x.chunks_exact(length.max(1))) {
            // 0 times NaN is NaN.
            if *weight != 0.0 {
                add_scaled_body(machine, sum, *weight, &x[part * NEAR..][..sum.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::*;

    #[test]
    fn functions_agree_with_double_precision() {
        let mut worst = [0.0f64; 6];
        for step in -86_900..88_000 {
            let x = step as f32 * 1e-3;
            let exact = f64::from(x);
            let part = 1.0 / (1.0 + (-exact).exp());
            let mut pairs = vec![
                (exp(x), exact.exp()),
                (exp_m1(x), exact.exp_m1()),
                (tanh(x).0, exact.tanh()),
                (logistic(x).0, part),
            ];
            // Beyond 40, derivatives are too small for single precision.
            if x.abs() < 40.0 {
                pairs.extend([
                    (tanh(x).1, exact.cosh().powi(-2)),
                    (logistic(x).1, part / (1.0 + exact.exp())),
                ]);
            }
            for (worst, (got, exact)) in worst.iter_mut().zip(pairs) {
                let error =
                    if exact == 0.0 { f64::from(got).abs() } else { (f64::from(got) / exact - 1.0).abs() };
                assert!(!error.is_nan(), "{x}");
                *worst = worst.max(error);
            }
        }
        assert!(worst.iter().all(|worst| *worst < 3e-7), "{worst:?}");
        assert!(exp(1e30).is_finite() && tanh(f32::INFINITY).0 == 1.0 && tanh(f32::NEG_INFINITY).0 == -1.0);
        assert!(exp(f32::NAN).is_nan());
        let results = [tanh(f32::NAN), logistic(f32::NAN)];
        assert!(results.iter().all(|(value, derivative)| value.is_nan() && derivative.is_nan()));
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        for x in [1e-30f32, 1e-7, -1e-4, 3e-3] {
            assert!((f64::from(tanh(x).0) / f64::from(x).tanh() - 1.0).abs() < 3e-7, "{x}");
        }
    }

    /// Its numbers may be NaN.
    #[test]
    fn an_example_of_weight_zero_is_not_read() {
        let (length, weights) = (NEAR + 19, [0.5, 0.0, -2.0]);
        let mut x: Vec<f32> = (0..3 * length).map(|i| (i % 101) as f32 * 0.125).collect();
        x[length..2 * length].fill(f32::NAN);
        for isa in [Isa::portable(), Isa::detect()] {
            let mut sum = vec![1.0; length];
            add_weighted(isa, &mut sum, &weights, &x);
            let plain = |j: usize| 1.0 + 0.5 * x[j] - 2.0 * x[2 * length + j];
            assert!(sum.iter().enumerate().all(|(j, sum)| *sum == plain(j)));
        }
    }

    #[test]
    fn squares_are_summed_to_the_last_digits() {
        let data: Vec<f32> = (0..37).map(|i| i as f32 * 0.37 - 5.0).collect();
        let plain: f64 = data.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        for isa in [Isa::portable(), Isa::detect()] {
            assert!((sum_of_squares(isa, &data) / plain - 1.0).abs() < 1e-14);
        }
    }
}
