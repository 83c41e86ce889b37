//! Functions that are applied to each number, or to the channels of each position, in place.

use serde::{Deserialize, Serialize};

use super::dropout::Dropout;
use super::{Pass, Saved};
use crate::kernel::pointwise::{
    kept_slopes, leaky_relu_all, leaky_relu_slopes, logistic, logistic_all, logistic_slopes, relu_all,
    relu_slopes, tanh_all, tanh_slopes,
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
            // Slopes are kept elsewhere.
            (Self::Dropout(_) | Self::Activation(Activation::Gelu | Activation::Silu), _) => true,
            // Signs are all that counts, and what is left out has no slope.
            (Self::Activation(Activation::Relu | Activation::LeakyRelu { .. }), Self::Dropout(_)) => true,
            (Self::Activation(_), _) => false,
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

    /// What has to be kept beside its values: derivatives, where values do not tell them.
    pub(crate) fn save(self, numbers: usize) -> Saved {
        let kept = match self {
            Self::Gelu | Self::Silu => numbers,
            Self::Relu
            | Self::LeakyRelu { .. }
            | Self::Tanh
            | Self::Sigmoid
            | Self::TemperedSigmoid { .. }
            | Self::Softmax => 0,
        };
        Saved { input: vec![0.0; kept], ..Saved::default() }
    }

    pub(crate) fn forward(self, pass: &Pass, channels: usize, data: &mut [f32], saved: &mut Saved) {
        match self {
            Self::Relu => relu_all(pass.isa, data),
            Self::LeakyRelu { slope } => leaky_relu_all(pass.isa, data, slope),
            Self::Tanh => tanh_all(pass.isa, data),
            Self::Sigmoid => logistic_all(pass.isa, data, 1.0, 1.0, 0.0),
            Self::TemperedSigmoid { height, slope, shift } => {
                logistic_all(pass.isa, data, height, slope, shift)
            }
            Self::Gelu => keeping(data, &mut saved.input, gelu),
            Self::Silu => keeping(data, &mut saved.input, |x| {
                let part = logistic(x);
                (x * part, part * (1.0 + x * (1.0 - part)))
            }),
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
            Self::Tanh => tanh_slopes(pass.isa, values, slopes),
            Self::Sigmoid => logistic_slopes(pass.isa, values, slopes, 1.0, 1.0, 0.0),
            Self::TemperedSigmoid { height, slope, shift } => {
                logistic_slopes(pass.isa, values, slopes, height, slope, shift);
            }
            Self::Gelu | Self::Silu => kept_slopes(pass.isa, &saved.input, slopes),
            Self::Softmax => {
                for (values, slopes) in values.chunks_exact(channels).zip(slopes.chunks_exact_mut(channels)) {
                    let mean: f32 = values.iter().zip(slopes.iter()).map(|(y, d)| y * d).sum();
                    slopes.iter_mut().zip(values).for_each(|(d, y)| *d = y * (*d - mean));
                }
            }
        }
    }
}

/// Replaces each number by a function's value and keeps the derivative.
fn keeping(data: &mut [f32], kept: &mut [f32], function: impl Fn(f32) -> (f32, f32)) {
    for (x, kept) in data.iter_mut().zip(kept) {
        (*x, *kept) = function(*x);
    }
}

/// `x Φ(x)` and its derivative `Φ(x) + x φ(x)`.
fn gelu(x: f32) -> (f32, f32) {
    let part = 0.5 * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2));
    let density = (-0.5 * x * x).exp() * 0.398_942_3;
    (x * part, part + x * density)
}
