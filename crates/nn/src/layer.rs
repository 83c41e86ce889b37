//! Layers as they are written down. How files are read is the subject of [`Description`](crate::Description).

use serde::Serialize;

use crate::op::activation::Activation;

/// One layer of a network. In files its kind is `type`, in small letters, and an activation's kind is the function itself: `relu`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer {
    /// `W x + bias`, at each position.
    Linear {
        /// Numbers that come out. 0 in the last layer of a description leaves them open: see [`Layer::head`].
        #[serde(skip_serializing_if = "is_open")]
        outputs: usize,
        /// Whether there is a bias.
        bias: bool,
    },
    /// A convolution of pictures.
    Conv2d {
        /// Channels that come out.
        channels: usize,
        /// Lines and columns of the kernel.
        kernel: [usize; 2],
        /// Steps between outputs.
        stride: [usize; 2],
        /// Lines and columns of zeros on each side.
        padding: [usize; 2],
        /// Steps between the kernel's taps.
        dilation: [usize; 2],
        /// Parts into which channels are cut.
        groups: usize,
        /// Whether there is a bias.
        bias: bool,
        /// Whether each output's weights are brought to mean 0 and variance 1 before use.
        standardised: bool,
    },
    /// The largest value of each window.
    MaxPool {
        /// Lines and columns of a window.
        kernel: [usize; 2],
        /// Steps between windows.
        stride: [usize; 2],
    },
    /// The mean of each window.
    AvgPool {
        /// Lines and columns of a window.
        kernel: [usize; 2],
        /// Steps between windows.
        stride: [usize; 2],
    },
    /// Means of as many windows as are wanted.
    AdaptiveAvgPool {
        /// Lines and columns that come out.
        output: [usize; 2],
    },
    /// Largest values of as many windows as are wanted.
    AdaptiveMaxPool {
        /// Lines and columns that come out.
        output: [usize; 2],
    },
    /// All numbers as features, channels first.
    Flatten,
    /// Channels in groups, each normalised over all positions of an example.
    GroupNorm {
        /// How many groups.
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
        /// Words: rows of the table.
        words: usize,
        /// Numbers in a row.
        features: usize,
        /// A word whose row is zero and not learned.
        #[serde(skip_serializing_if = "Option::is_none")]
        padding: Option<usize>,
    },
    /// Leaves numbers out at random, in training.
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
    /// Not possible: see [`NetworkError::MixesRecords`](crate::NetworkError::MixesRecords).
    BatchNorm,
    /// A function of each number.
    #[serde(untagged)]
    Activation {
        /// Which.
        #[serde(flatten)]
        function: Activation,
    },
}

impl Layer {
    /// A dense layer with a bias.
    pub fn linear(outputs: usize) -> Self {
        Self::Linear { outputs, bias: true }
    }

    /// The last layer of a description that does not know the data: dense, with as many outputs as
    /// [`Description::network_for`](crate::Description::network_for) is told.
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

/// `outputs` is a reference because serde passes one.
fn is_open(outputs: &usize) -> bool {
    *outputs == 0
}
