//! Functions that are applied to each number, or to the channels of each position, in place.

use serde::{Deserialize, Serialize};

use super::dropout::Dropout;
use super::{Pass, Saved};
use crate::kernel::pointwise::{
    kept_slopes, leaky_relu_all, leaky_relu_slopes, logistic_all, relu_all, relu_slopes, silu_all, tanh_all,
};
use crate::loss::softmax;

/// An activation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x`, or `slope x` below 0.
    LeakyRelu {
        /// At least 0; PyTorch has 0.01.
        slope: f32,
    },
    /// Hyperbolic tangent: bounded, which suits clipped gradients (Papernot, Thakurta, Song, Chien, Erlingsson, *Tempered Sigmoid
    /// Activations for Deep Learning with Differential Privacy*, 2021).
    Tanh,
    /// `1/(1 + e^-x)`.
    Sigmoid,
    /// `height/(1 + e^(-slope x)) - shift`, of the same paper; the hyperbolic tangent is (2, 2, 1).
    TemperedSigmoid {
        /// s.
        height: f32,
        /// T.
        slope: f32,
        /// o.
        shift: f32,
    },
    /// `x Φ(x)` with the normal distribution function.
    Gelu,
    /// `x/(1 + e^-x)`.
    Silu,
    /// `e^x_j / Σ e^x_k` over the channels of each position.
    Softmax,
}

/// What works in place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InPlace {
    Activation(Activation),
    Dropout(Dropout),
}

impl InPlace {
    pub(crate) fn save(self, numbers: usize) -> Saved {
        match self {
            Self::Activation(activation) => activation.save(numbers),
            Self::Dropout(_) => Saved { input: vec![0.0; numbers], ..Saved::default() },
        }
    }

    /// Whether slopes can be told from what is in the array after `next` has been there, too.
    pub(crate) fn bears(self, next: Self) -> bool {
        match (self, next) {
            // Its factors are kept elsewhere.
            (Self::Dropout(_), _) => true,
            // Signs are all that counts, and what is left out has no slope.
            (Self::Activation(Activation::Relu | Activation::LeakyRelu { .. }), Self::Dropout(_)) => true,
            (Self::Activation(activation), _) => activation.keeps(),
        }
    }

    pub(crate) fn forward(self, pass: &Pass, channels: usize, data: &mut [f32], saved: &mut Saved) {
        match self {
            Self::Activation(activation) => activation.forward(pass, channels, data, saved),
            Self::Dropout(dropout) => dropout.forward(pass, data, saved),
        }
    }

    pub(crate) fn backward(
        self,
        pass: &Pass,
        channels: usize,
        values: &[f32],
        slopes: &mut [f32],
        saved: &Saved,
    ) {
        match self {
            Self::Activation(activation) => activation.backward(pass, channels, values, slopes, saved),
            Self::Dropout(_) => kept_slopes(pass.isa, &saved.input, slopes),
        }
    }
}

impl Activation {
    /// Its name in files and messages.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::LeakyRelu { .. } => "leaky_relu",
            Self::Tanh => "tanh",
            Self::Sigmoid => "sigmoid",
            Self::TemperedSigmoid { .. } => "tempered_sigmoid",
            Self::Gelu => "gelu",
            Self::Silu => "silu",
            Self::Softmax => "softmax",
        }
    }

    /// Whether derivatives are kept beside values, which do not tell them well enough.
    fn keeps(self) -> bool {
        match self {
            Self::Tanh | Self::Sigmoid | Self::TemperedSigmoid { .. } | Self::Gelu | Self::Silu => true,
            Self::Relu | Self::LeakyRelu { .. } | Self::Softmax => false,
        }
    }

    pub(crate) fn save(self, numbers: usize) -> Saved {
        Saved { input: vec![0.0; if self.keeps() { numbers } else { 0 }], ..Saved::default() }
    }

    pub(crate) fn forward(self, pass: &Pass, channels: usize, data: &mut [f32], saved: &mut Saved) {
        match self {
            Self::Relu => relu_all(pass.isa, data),
            Self::LeakyRelu { slope } => leaky_relu_all(pass.isa, data, slope),
            Self::Tanh => tanh_all(pass.isa, data, &mut saved.input),
            Self::Sigmoid => logistic_all(pass.isa, data, &mut saved.input, 1.0, 1.0, 0.0),
            Self::TemperedSigmoid { height, slope, shift } => {
                logistic_all(pass.isa, data, &mut saved.input, height, slope, shift);
            }
            Self::Gelu => {
                data.iter_mut().zip(&mut saved.input).for_each(|(x, kept)| (*x, *kept) = gelu(*x));
            }
            Self::Silu => silu_all(pass.isa, data, &mut saved.input),
            Self::Softmax => data.chunks_exact_mut(channels).for_each(softmax),
        }
    }

    /// Slopes by inputs from slopes by values.
    pub(crate) fn backward(
        self,
        pass: &Pass,
        channels: usize,
        values: &[f32],
        slopes: &mut [f32],
        saved: &Saved,
    ) {
        match self {
            Self::Relu => relu_slopes(pass.isa, values, slopes),
            Self::LeakyRelu { slope } => leaky_relu_slopes(pass.isa, values, slopes, slope),
            Self::Tanh | Self::Sigmoid | Self::TemperedSigmoid { .. } | Self::Gelu | Self::Silu => {
                kept_slopes(pass.isa, &saved.input, slopes);
            }
            Self::Softmax => {
                let positions = values.chunks_exact(channels).zip(slopes.chunks_exact_mut(channels));
                positions.for_each(|(values, slopes)| softmax_slopes(values, slopes));
            }
        }
    }
}

/// `y_j (d_j - Σ y_k d_k)`. As the y have a sum of 1, all d may be moved by one number: by that of the largest y, of whose slope otherwise nothing
/// would be left where it has all but reached 1.
fn softmax_slopes(values: &[f32], slopes: &mut [f32]) {
    let largest = values.iter().zip(slopes.iter()).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let from = largest.map_or(0.0, |(_, d)| *d);
    slopes.iter_mut().for_each(|d| *d -= from);
    let mean: f32 = values.iter().zip(slopes.iter()).map(|(y, d)| y * d).sum();
    slopes.iter_mut().zip(values).for_each(|(d, y)| *d = y * (*d - mean));
}

/// `x Φ(x)` and its derivative `Φ(x) + x φ(x)`.
fn gelu(x: f32) -> (f32, f32) {
    let part = 0.5 * libm::erfcf(-x * std::f32::consts::FRAC_1_SQRT_2);
    let density = (-0.5 * x * x).exp() * 0.398_942_3;
    (x * part, part + x * density)
}
