//! Functions of each number, or of the channels of each position, applied in place.

use serde::{Deserialize, Serialize};

use super::dropout::Dropout;
use super::{Pass, State, reserved};
use crate::kernel::pointwise::{
    leaky_relu_all, leaky_relu_backward, logistic_all, multiply_all, relu_all, relu_backward, silu_all,
    tanh_all,
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
    /// Hyperbolic tangent: bounded, which suits clipped gradients (Papernot, Thakurta, Song, Chien,
    /// Erlingsson, *Tempered Sigmoid Activations for Deep Learning with Differential Privacy*, 2021).
    Tanh,
    /// `1/(1 + e^-x)`.
    Sigmoid,
    /// `height/(1 + e^(-slope x)) - shift`, from the same paper; (2, 2, 1) is the hyperbolic tangent.
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

/// A layer that works in place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InPlace {
    Activation(Activation),
    Dropout(Dropout),
}

/// What an in-place layer keeps of one micro-batch.
#[derive(Debug)]
pub(crate) struct InPlaceState {
    /// What each number's gradient is multiplied by: a derivative, or a factor of dropout. Empty for
    /// activations whose values tell their derivatives.
    factors: Vec<f32>,
}

impl State for InPlaceState {
    fn bytes(&self) -> usize {
        let Self { factors } = self;
        reserved(factors)
    }
}

impl InPlace {
    /// For so many numbers.
    pub(crate) fn state(self, numbers: usize) -> InPlaceState {
        InPlaceState { factors: vec![0.0; if self.keeps_factors() { numbers } else { 0 }] }
    }

    fn keeps_factors(self) -> bool {
        match self {
            Self::Activation(activation) => activation.keeps_derivatives(),
            Self::Dropout(_) => true,
        }
    }

    /// Whether its backward pass still works after `next` has changed the array.
    pub(crate) fn allows_after(self, next: Self) -> bool {
        match (self, next) {
            // Rectifiers need signs only, and what dropout leaves out has no gradient.
            (Self::Activation(Activation::Relu | Activation::LeakyRelu { .. }), Self::Dropout(_)) => true,
            _ => self.keeps_factors(),
        }
    }

    pub(crate) fn forward(self, pass: &Pass, channels: usize, data: &mut [f32], state: &mut InPlaceState) {
        match self {
            Self::Activation(activation) => activation.forward(pass, channels, data, &mut state.factors),
            Self::Dropout(dropout) => dropout.forward(pass, data, &mut state.factors),
        }
    }

    /// Turns gradients by values into gradients by inputs.
    pub(crate) fn backward(
        self,
        pass: &Pass,
        channels: usize,
        values: &[f32],
        gradients: &mut [f32],
        state: &InPlaceState,
    ) {
        match self {
            Self::Activation(Activation::Relu) => relu_backward(pass.isa, values, gradients),
            Self::Activation(Activation::LeakyRelu { slope }) => {
                leaky_relu_backward(pass.isa, values, gradients, slope);
            }
            Self::Activation(Activation::Softmax) => {
                let positions = values.chunks_exact(channels).zip(gradients.chunks_exact_mut(channels));
                positions.for_each(|(values, gradients)| softmax_backward(values, gradients));
            }
            Self::Activation(
                Activation::Tanh
                | Activation::Sigmoid
                | Activation::TemperedSigmoid { .. }
                | Activation::Gelu
                | Activation::Silu,
            )
            | Self::Dropout(_) => multiply_all(pass.isa, &state.factors, gradients),
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

    /// Whether derivatives are kept, because values do not tell them well enough.
    fn keeps_derivatives(self) -> bool {
        match self {
            Self::Tanh | Self::Sigmoid | Self::TemperedSigmoid { .. } | Self::Gelu | Self::Silu => true,
            Self::Relu | Self::LeakyRelu { .. } | Self::Softmax => false,
        }
    }

    fn forward(self, pass: &Pass, channels: usize, data: &mut [f32], derivatives: &mut [f32]) {
        match self {
            Self::Relu => relu_all(pass.isa, data),
            Self::LeakyRelu { slope } => leaky_relu_all(pass.isa, data, slope),
            Self::Tanh => tanh_all(pass.isa, data, derivatives),
            Self::Sigmoid => logistic_all(pass.isa, data, derivatives, 1.0, 1.0, 0.0),
            Self::TemperedSigmoid { height, slope, shift } => {
                logistic_all(pass.isa, data, derivatives, height, slope, shift);
            }
            Self::Gelu => {
                data.iter_mut().zip(derivatives).for_each(|(x, derivative)| (*x, *derivative) = gelu(*x));
            }
            Self::Silu => silu_all(pass.isa, data, derivatives),
            Self::Softmax => data.chunks_exact_mut(channels).for_each(softmax),
        }
    }
}

/// `y_j (d_j - Σ y_k d_k)`. The y sum to 1, so all d may be shifted by one number. Shifting by the d of the
/// largest y keeps its gradient from cancelling where that y is all but 1.
fn softmax_backward(values: &[f32], gradients: &mut [f32]) {
    let largest = values.iter().zip(gradients.iter()).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let from = largest.map_or(0.0, |(_, d)| *d);
    gradients.iter_mut().for_each(|d| *d -= from);
    let mean: f32 = values.iter().zip(gradients.iter()).map(|(y, d)| y * d).sum();
    gradients.iter_mut().zip(values).for_each(|(d, y)| *d = y * (*d - mean));
}

/// `x Φ(x)` and its derivative `Φ(x) + x φ(x)`.
fn gelu(x: f32) -> (f32, f32) {
    let part = 0.5 * libm::erfcf(-x * std::f32::consts::FRAC_1_SQRT_2);
    let density = (-0.5 * x * x).exp() * 0.398_942_3;
    (x * part, part + x * density)
}
