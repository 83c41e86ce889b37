//! Lengths of gradients that are never formed.
//!
//! # Definition
//! With a_t the inputs and d_t the slopes of T positions,
//! ```text
//! ‖Σ_t a_t d_t^T‖² = Σ_st (a_s·a_t)(d_s·d_t)                                                    (1)
//! ```
//! (Li, Tramèr, Liang, Hashimoto, *Large Language Models Can Be Strong Differentially Private Learners*, 2022; Bu, Mao, Xu, *Scalable
//! and Efficient Training of Large Convolutional Neural Networks with Differential Privacy*, 2022). A bias is an input that is
//! always 1, so it adds 1 to each `a_s·a_t`.
//!
//! # Pitfalls
//! Terms of (1) cancel: its computed value errs by a part of `(Σ ‖a_t‖ ‖d_t‖)²`, not of itself. Everything here is in double
//! precision, and [`Size::of_sum`] adds the bound.

use super::Size;

/// The size of one example's gradient, from `positions` rows of inputs and of slopes.
pub(crate) fn size(inputs: &[f32], slopes: &[f32], positions: usize, has_bias: bool) -> Size {
    let (k, n) = (inputs.len() / positions, slopes.len() / positions);
    let one = if has_bias { 1.0 } else { 0.0 };
    let (a, d) = (|t: usize| &inputs[t * k..][..k], |t: usize| &slopes[t * n..][..n]);
    let (mut squared, mut spread, mut largest) = (0.0, 0.0, 0.0f64);
    for t in 0..positions {
        let (a_length, d_length) = (dot(a(t), a(t)) + one, dot(d(t), d(t)));
        squared += a_length * d_length;
        spread += (a_length * d_length).sqrt();
        // `f64::max` forgets NaN; an example with one must be seen as not finite.
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
    Size::of_sum(squared, spread, largest.sqrt(), operations)
}

/// `Σ x_j y_j`, in eight partial sums.
fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0f64; 8];
    let (lines, rest) = x.as_chunks::<8>();
    let (others, other_rest) = y.as_chunks::<8>();
    for (x, y) in lines.iter().zip(others) {
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

    /// Four positions of three inputs and two outputs, by hand: the weights have 267, the bias has 52.
    #[test]
    fn a_bias_on_a_sequence_is_summed_before_it_is_squared() {
        let inputs = [2.0, 1.0, 0.0, -2.0, -1.0, -3.0, -3.0, -3.0, -2.0, 2.0, 1.0, 3.0];
        let slopes = [0.0, 1.0, 3.0, 2.0, 1.0, 0.0, 0.0, 3.0];
        let without = size(&inputs, &slopes, 4, false).squared;
        let with = size(&inputs, &slopes, 4, true).squared;
        assert!((without / 267.0 - 1.0).abs() < 2e-6, "{without}");
        assert!((with / (267.0 + 52.0) - 1.0).abs() < 2e-6, "{with}");
    }

    /// A kernel of two by two on a picture of 1 to 9: its four patches, one slope each. The gradient is (9, 11, 15, 17).
    #[test]
    fn overlapping_patches_are_positions_like_others() {
        let patches = [1.0, 2.0, 4.0, 5.0, 2.0, 3.0, 5.0, 6.0, 4.0, 5.0, 7.0, 8.0, 5.0, 6.0, 8.0, 9.0];
        let squared = size(&patches, &[1.0, -1.0, 0.0, 2.0], 4, false).squared;
        assert!((squared / (81.0 + 121.0 + 225.0 + 289.0) - 1.0).abs() < 2e-6, "{squared}");
    }
}
