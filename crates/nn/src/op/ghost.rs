//! Norms of gradients that are never computed.
//!
//! # Definition
//! With `a_t` the inputs and `d_t` the output gradients of T positions,
//! ```text
//! ‖Σ_t a_t d_t^T‖² = Σ_st (a_s·a_t)(d_s·d_t)                                                    (1)
//! ```
//! (Li, Tramèr, Liang, Hashimoto, *Large Language Models Can Be Strong Differentially Private Learners*,
//! 2022; Bu, Mao, Xu, *Scalable and Efficient Training of Large Convolutional Neural Networks with
//! Differential Privacy*, 2022). A bias is an input that is always 1: it adds 1 to each `a_s·a_t`.
//!
//! # Pitfalls
//! Terms of (1) cancel: the error of its computed value is relative to `(Σ ‖a_t‖ ‖d_t‖)²`, not to the value
//! itself. Everything here is in double precision, and [`NormBound::of_sum`] adds the bound.

use super::NormBound;

/// Bounds one example's gradient, from `positions` rows of inputs and of output gradients.
pub(crate) fn norm(inputs: &[f32], d_outputs: &[f32], positions: usize, has_bias: bool) -> NormBound {
    let (k, n) = (inputs.len() / positions, d_outputs.len() / positions);
    let one = if has_bias { 1.0 } else { 0.0 };
    let (a, d) = (|t: usize| &inputs[t * k..][..k], |t: usize| &d_outputs[t * n..][..n]);
    let (mut squared, mut spread, mut largest) = (0.0, 0.0, 0.0f64);
    for t in 0..positions {
        let (a_length, d_length) = (dot(a(t), a(t)) + one, dot(d(t), d(t)));
        squared += a_length * d_length;
        spread += (a_length * d_length).sqrt();
        // `f64::max` drops NaN, and an example with NaN must show as not finite.
        largest = if (a_length + d_length).is_finite() {
            largest.max(a_length).max(d_length)
        } else {
            f64::INFINITY
        };
        for s in 0..t {
            squared += 2.0 * (dot(a(s), a(t)) + one) * dot(d(s), d(t));
        }
    }
    let operations = (positions * positions + k + n + 8) as f64;
    NormBound::of_sum(squared, spread, largest.sqrt(), operations)
}

/// `Σ x_j y_j`, in eight partial sums.
fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (vectors, rest) = x.as_chunks::<8>();
    let (others, other_rest) = y.as_chunks::<8>();
    for (x, y) in vectors.iter().zip(others) {
        for lane in 0..8 {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    let tail: f64 = rest.iter().zip(other_rest).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four positions of three inputs and two outputs, by hand: squared norm 267 for the weights, 52 for the bias.
    #[test]
    fn a_bias_on_a_sequence_is_summed_before_it_is_squared() {
        let inputs = [2.0, 1.0, 0.0, -2.0, -1.0, -3.0, -3.0, -3.0, -2.0, 2.0, 1.0, 3.0];
        let d_outputs = [0.0, 1.0, 3.0, 2.0, 1.0, 0.0, 0.0, 3.0];
        let without = norm(&inputs, &d_outputs, 4, false).squared;
        let with = norm(&inputs, &d_outputs, 4, true).squared;
        assert!((without / 267.0 - 1.0).abs() < 2e-6, "{without}");
        assert!((with / (267.0 + 52.0) - 1.0).abs() < 2e-6, "{with}");
    }

    /// A kernel of two by two on an image of 1 to 9: four patches, one output gradient each. The gradient is
    /// (9, 11, 15, 17).
    #[test]
    fn overlapping_patches_count_as_positions() {
        let patches = [1.0, 2.0, 4.0, 5.0, 2.0, 3.0, 5.0, 6.0, 4.0, 5.0, 7.0, 8.0, 5.0, 6.0, 8.0, 9.0];
        let squared = norm(&patches, &[1.0, -1.0, 0.0, 2.0], 4, false).squared;
        assert!((squared / (81.0 + 121.0 + 225.0 + 289.0) - 1.0).abs() < 2e-6, "{squared}");
    }
}
