//! Networks by name.
//!
//! | name | layers | for |
//! |---|---|---|
//! | `softmax` | one dense layer | good features |
//! | `mlp` | dense layers with ReLU, of the widths in `hidden`, by default one of 64 | tables |
//! | `cnn` | two convolutions of 3 × 3 with tanh and pooling, 16 and 32 channels, then 32 features | images from 4 × 4 on |
//! | `tanh_cnn` | the convolutional network of Papernot et al. | MNIST and similar: from 14 × 14 on |
//! | `cifar_cnn` | three of 3 × 3 with ReLU and mean pooling, 32, 64, 128 channels, then 128 features | colour, from 8 × 8 on |
//! | `resnet20` | 20 layers in residual blocks with group normalisation | colour, of any size |
//!
//! The data decides the input and the number of outputs: [`Description::network_for`].
//!
//! # Sources
//! - `tanh_cnn`: Papernot, Thakurta, Song, Chien, Erlingsson, *Tempered Sigmoid Activations for Deep Learning with
//!   Differential Privacy*, 2021, table 1, with tanh in place of ReLU, as they advise.
//! - `resnet20`: He, Zhang, Ren, Sun, *Deep Residual Learning for Image Recognition*, 2015, section 4.2, n = 3. Group
//!   normalisation in 8 groups replaces batch normalisation; a group has at least two channels. With stride 2, the shortcut
//!   is a normalised convolution of 1 × 1 (their option B): 272 474 weights instead of 269 722 for 32 × 32 × 3 and ten
//!   classes.

use crate::description::{Description, DescriptionError};
use crate::layer::Layer;

/// All names, in the order of the table.
pub const NAMES: [&str; 6] = ["softmax", "mlp", "cnn", "tanh_cnn", "cifar_cnn", "resnet20"];

/// Groups of all normalisations of `resnet20`.
const GROUPS: usize = 8;

/// The preset of that name; `hidden` are the widths of `mlp`.
pub fn named(name: &str, hidden: Option<&[usize]>) -> Result<Description, DescriptionError> {
    if hidden.is_some() && name != "mlp" && NAMES.contains(&name) {
        return Err(DescriptionError::Hidden { preset: name.to_owned() });
    }
    Ok(match name {
        "softmax" => softmax(),
        "mlp" => mlp(hidden.unwrap_or(&[64])),
        "cnn" => cnn(),
        "tanh_cnn" => tanh_cnn(),
        "cifar_cnn" => cifar_cnn(),
        "resnet20" => resnet20(),
        _ => return Err(DescriptionError::no_preset(name)),
    })
}

/// One dense layer.
pub fn softmax() -> Description {
    Description::new(vec![Layer::Flatten, Layer::head()])
}

/// Dense layers of these widths, each with ReLU, and one more.
pub fn mlp(hidden: &[usize]) -> Description {
    let mut layers = vec![Layer::Flatten];
    layers.extend(hidden.iter().flat_map(|width| [Layer::linear(*width), Layer::relu()]));
    layers.push(Layer::head());
    Description::new(layers)
}

/// Two small convolutions, for small images.
pub fn cnn() -> Description {
    Description::new(vec![
        Layer::conv2d(16, 3, 1, 1),
        Layer::tanh(),
        Layer::max_pool(2, 2),
        Layer::conv2d(32, 3, 1, 1),
        Layer::tanh(),
        Layer::max_pool(2, 2),
        Layer::Flatten,
        Layer::linear(32),
        Layer::tanh(),
        Layer::head(),
    ])
}

/// The network that the literature uses on MNIST, with 26 010 weights.
pub fn tanh_cnn() -> Description {
    Description::new(vec![
        Layer::conv2d(16, 8, 2, 3),
        Layer::tanh(),
        Layer::max_pool(2, 1),
        Layer::conv2d(32, 4, 2, 0),
        Layer::tanh(),
        Layer::max_pool(2, 1),
        Layer::Flatten,
        Layer::linear(32),
        Layer::tanh(),
        Layer::head(),
    ])
}

/// Three convolutions, each with ReLU and mean pooling of 2 × 2.
pub fn cifar_cnn() -> Description {
    let stage = |channels: usize| [Layer::conv2d(channels, 3, 1, 1), Layer::relu(), Layer::avg_pool(2, 2)];
    let mut layers: Vec<Layer> = [32, 64, 128].into_iter().flat_map(stage).collect();
    layers.extend([Layer::Flatten, Layer::linear(128), Layer::relu(), Layer::head()]);
    Description::new(layers)
}

/// Three stages of three residual blocks of two convolutions each.
pub fn resnet20() -> Description {
    let mut layers = normalised(16, 3, 1);
    layers.push(Layer::relu());
    for (stage, channels) in [16, 32, 64].into_iter().enumerate() {
        for block in 0..3 {
            let halves = stage > 0 && block == 0;
            layers.extend([residual(channels, if halves { 2 } else { 1 }), Layer::relu()]);
        }
    }
    layers.extend([Layer::AdaptiveAvgPool { output: [1, 1] }, Layer::Flatten, Layer::head()]);
    Description::new(layers)
}

fn residual(channels: usize, stride: usize) -> Layer {
    let mut body = normalised(channels, 3, stride);
    body.push(Layer::relu());
    body.extend(normalised(channels, 3, 1));
    let shortcut = if stride == 1 { Vec::new() } else { normalised(channels, 1, stride) };
    Layer::Residual { body, shortcut }
}

/// A convolution and its normalisation, whose shift is the only bias.
fn normalised(channels: usize, kernel: usize, stride: usize) -> Vec<Layer> {
    let convolution = Layer::Conv2d {
        channels,
        kernel: [kernel; 2],
        stride: [stride; 2],
        padding: [kernel / 2; 2],
        dilation: [1; 2],
        groups: 1,
        bias: false,
        standardised: false,
    };
    vec![convolution, Layer::GroupNorm { groups: GROUPS, affine: true }]
}
