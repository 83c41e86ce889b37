//! Layers as they are written. [`Description`](crate::Description) reads them from files.

use serde::Serialize;

use crate::op::activation::Activation;

/// One layer of a network. In files `type` is its kind in snake case; an activation's kind is the function: `relu`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// `W x + bias`, at each position.
    Linear {
        /// The number of outputs. 0 in the last layer of a description leaves it to the data: see [`Layer::head`].
        #[serde(skip_serializing_if = "is_open")]
        outputs: usize,
        /// Whether there is a bias.
        bias: bool,
    },
    /// A convolution of images.
    Conv2d {
        /// Output channels.
        channels: usize,
        /// Height and width of the kernel.
        kernel: [usize; 2],
        /// Pixels between outputs.
        stride: [usize; 2],
        /// Rows and columns of zeros on each side.
        padding: [usize; 2],
        /// Pixels between the kernel's taps.
        dilation: [usize; 2],
        /// Groups of channels; each output sees the inputs of its group.
        groups: usize,
        /// Whether there is a bias.
        bias: bool,
        /// Whether each output's weights are brought to mean 0 and variance 1 before use.
        standardised: bool,
    },
    /// The largest value of each window.
    MaxPool {
        /// Height and width of a window.
        kernel: [usize; 2],
        /// Pixels between windows.
        stride: [usize; 2],
    },
    /// The mean of each window.
    AvgPool {
        /// Height and width of a window.
        kernel: [usize; 2],
        /// Pixels between windows.
        stride: [usize; 2],
    },
    /// The mean of each of so many windows.
    AdaptiveAvgPool {
        /// Height and width of the output.
        output: [usize; 2],
    },
    /// The largest value of each of so many windows.
    AdaptiveMaxPool {
        /// Height and width of the output.
        output: [usize; 2],
    },
    /// All numbers as features, channels first.
    Flatten,
    /// Channels in groups, each normalised over all positions of an example.
    GroupNorm {
        /// The number of groups.
        groups: usize,
        /// Whether there are gains and shifts.
        affine: bool,
    },
    /// Each position normalised over its channels.
    LayerNorm {
        /// Whether there are gains and shifts.
        affine: bool,
    },
    /// Each position divided by the root mean square of its channels.
    RmsNorm {
        /// Whether there are gains.
        affine: bool,
    },
    /// A row of a table for each token.
    Embedding {
        /// The number of words, the rows of the table.
        words: usize,
        /// Numbers in a row.
        features: usize,
        /// A word whose row is zero and is not learned.
        #[serde(skip_serializing_if = "Option::is_none")]
        padding: Option<usize>,
    },
    /// Leaves out numbers at random, in training.
    Dropout {
        /// The probability of being left out.
        rate: f64,
    },
    /// `body(x) + shortcut(x)`; without a shortcut, `body(x) + x`.
    Residual {
        /// The layers of the body.
        body: Vec<Layer>,
        /// The layers of the shortcut.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        shortcut: Vec<Layer>,
    },
    /// A layer whose weights are public and not learned.
    Frozen {
        /// The layer.
        layer: Box<Layer>,
        /// Its weights, in the order of parameters; random ones if there are none.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        values: Vec<f64>,
    },
    /// Always refused: see [`NetworkError::MixesRecords`](crate::NetworkError::MixesRecords).
    BatchNorm,
    /// A function of each number.
    #[serde(untagged)]
    Activation {
        /// The function.
        #[serde(flatten)]
        function: Activation,
    },
}

impl Layer {
    /// A dense layer with a bias.
    pub fn linear(outputs: usize) -> Self {
        Self::Linear { outputs, bias: true }
    }

    /// A dense last layer whose outputs the data decides, in
    /// [`Description::network_for`](crate::Description::network_for).
    pub fn head() -> Self {
        Self::linear(0)
    }

    /// A convolution with a square kernel and a bias.
    pub fn conv2d(channels: usize, kernel: usize, stride: usize, padding: usize) -> Self {
        Self::Conv2d {
            channels,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [padding; 2],
            dilation: [1; 2],
            groups: 1,
            bias: true,
            standardised: false,
        }
    }

    /// Square windows.
    pub fn max_pool(kernel: usize, stride: usize) -> Self {
        Self::MaxPool { kernel: [kernel; 2], stride: [stride; 2] }
    }

    /// Square windows.
    pub fn avg_pool(kernel: usize, stride: usize) -> Self {
        Self::AvgPool { kernel: [kernel; 2], stride: [stride; 2] }
    }

    /// Rectifier.
    pub fn relu() -> Self {
        Self::Activation { function: Activation::Relu }
    }

    /// Hyperbolic tangent.
    pub fn tanh() -> Self {
        Self::Activation { function: Activation::Tanh }
    }

    /// Its name in files and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Conv2d { .. } => "conv2d",
            Self::MaxPool { .. } => "max_pool",
            Self::AvgPool { .. } => "avg_pool",
            Self::AdaptiveAvgPool { .. } => "adaptive_avg_pool",
            Self::AdaptiveMaxPool { .. } => "adaptive_max_pool",
            Self::Flatten => "flatten",
            Self::Activation { function } => function.kind(),
            Self::GroupNorm { .. } => "group_norm",
            Self::LayerNorm { .. } => "layer_norm",
            Self::RmsNorm { .. } => "rms_norm",
            Self::Embedding { .. } => "embedding",
            Self::Dropout { .. } => "dropout",
            Self::Residual { .. } => "residual",
            Self::Frozen { .. } => "frozen",
            Self::BatchNorm => "batch_norm",
        }
    }
}

/// Takes a reference because serde passes one.
fn is_open(outputs: &usize) -> bool {
    *outputs == 0
}
