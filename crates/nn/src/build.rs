//! Builds chains from layers as they are written. Shapes follow from the input, and errors name the layer.

mod checks;

use crate::chain::{Chain, Step};
use crate::error::NetworkError;
use crate::layer::Layer;
use crate::network::Stream;
use crate::op::activation::InPlace;
use crate::op::convolution::{Convolution, KernelWindow};
use crate::op::dropout::Dropout;
use crate::op::embedding::Embedding;
use crate::op::flatten::Flatten;
use crate::op::frozen::Frozen;
use crate::op::linear::Linear;
use crate::op::normalisation::{Normalisation, Sets};
use crate::op::pooling::{Pool, PoolKind};
use crate::op::residual::Residual;
use crate::op::{AnyOp, Op, WeightTensor};
use crate::shape::Shape;

pub(crate) use checks::{check_input, check_parameters};

/// Builds the chain of a network, for so many views of an example. The caller has checked that the input is not empty.
pub(crate) fn network(input: Shape, layers: &[Layer], views: usize) -> Result<Chain, NetworkError> {
    chain(input, layers, views, "layers", 0)
}

/// Builds a list of layers. `within` is its name, `layers` or `layers[3].body`, and `of` its number.
fn chain(input: Shape, layers: &[Layer], views: usize, within: &str, of: u64) -> Result<Chain, NetworkError> {
    let mut chain = Chain::new(input);
    for (at, layer) in layers.iter().enumerate() {
        if let (Layer::Flatten, Shape::Features(_)) = (layer, chain.output()) {
            continue; // already flat
        }
        let site = LayerSite {
            path: format!("{within}[{at}]"),
            kind: layer.kind(),
            number: number(of, at),
            input: chain.output(),
            views,
        };
        chain.push(site.step(layer)?);
    }
    Ok(chain)
}

/// The number of layer `at` in a list with number `of`. No two layers of a network share a number, so their random choices
/// are independent.
pub(crate) fn number(of: u64, at: usize) -> u64 {
    Stream(of ^ (at as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)).next()
}

/// The positions of a block's two branches.
pub(crate) const BODY: usize = 0;
pub(crate) const SHORTCUT: usize = 1;

/// The tensors of a single layer, and its output shape.
pub(crate) fn tensors(input: Shape, layer: &Layer) -> Result<(Vec<WeightTensor>, Shape), NetworkError> {
    match LayerSite::alone(input, layer, 0).step(layer)? {
        Step::Map(op) => Ok((op.tensors(), op.output())),
        Step::InPlace(_) => Ok((Vec::new(), input)),
    }
}

/// The weights of a frozen layer: as written, or its initial ones.
pub(crate) fn frozen_values(
    input: Shape,
    layer: &Layer,
    values: &[f64],
    number: u64,
) -> Result<Vec<f64>, NetworkError> {
    let site = LayerSite::alone(input, layer, number);
    match site.step(layer)? {
        Step::Map(op) => site.fixed(&*op, values),
        Step::InPlace(_) => Ok(Vec::new()),
    }
}

/// A layer's place in a network, and what comes in there.
struct LayerSite {
    path: String,
    kind: &'static str,
    /// See [`number`].
    number: u64,
    input: Shape,
    views: usize,
}

/// ε of normalisations, PyTorch's default.
const NORM_EPSILON: f32 = 1e-5;

impl LayerSite {
    fn alone(input: Shape, layer: &Layer, number: u64) -> Self {
        Self { path: "layer".to_owned(), kind: layer.kind(), number, input, views: 1 }
    }

    fn step(&self, layer: &Layer) -> Result<Step, NetworkError> {
        Ok(match layer {
            Layer::Linear { outputs, bias } => {
                self.at_least_one("outputs", *outputs)?;
                self.not_tokens()?;
                self.fits("outputs", *outputs, &[self.input.channels(), *outputs])?;
                self.fits("outputs", *outputs, &[self.input.positions(), *outputs])?;
                map(Linear::new(self.input, *outputs, *bias, self.views))
            }
            Layer::Conv2d { channels, kernel, stride, padding, dilation, groups, bias, standardised } => {
                let window =
                    KernelWindow { kernel: *kernel, stride: *stride, padding: *padding, dilation: *dilation };
                self.check_convolution(*channels, window, *groups)?;
                let plain = Convolution::new(self.input, *channels, window, *groups, *bias, self.views);
                map(if *standardised { plain.standardised() } else { plain })
            }
            Layer::MaxPool { kernel, stride } => self.pool(PoolKind::Largest, *kernel, *stride)?,
            Layer::AvgPool { kernel, stride } => self.pool(PoolKind::Mean, *kernel, *stride)?,
            Layer::AdaptiveAvgPool { output } => self.adaptive(PoolKind::Mean, *output)?,
            Layer::AdaptiveMaxPool { output } => self.adaptive(PoolKind::Largest, *output)?,
            Layer::Flatten => {
                self.not_tokens()?;
                map(Flatten::new(match self.input {
                    // Sequences keep their order, as in PyTorch.
                    Shape::Sequence { .. } => Shape::Features(self.input.size()),
                    Shape::Features(_) | Shape::Image { .. } | Shape::Tokens { .. } => self.input,
                }))
            }
            Layer::Activation { function } => {
                self.not_tokens()?;
                self.check_activation(*function)?;
                Step::InPlace(InPlace::Activation(*function))
            }
            Layer::GroupNorm { groups, affine } => {
                self.not_tokens()?;
                self.at_least_one("groups", *groups)?;
                if !self.input.channels().is_multiple_of(*groups) {
                    let expected = format!("a divisor of its {} channels", self.input.channels());
                    return Err(self.parameter("groups", expected, groups));
                }
                self.normalisation(Sets::Groups(*groups), *affine)
            }
            Layer::LayerNorm { affine } => {
                self.not_tokens()?;
                self.normalisation(Sets::Positions, *affine)
            }
            Layer::RmsNorm { affine } => {
                self.not_tokens()?;
                self.normalisation(Sets::MeanSquares, *affine)
            }
            Layer::Embedding { words, features, padding } => self.embedding(*words, *features, *padding)?,
            Layer::Dropout { rate } => {
                self.not_tokens()?;
                if !(*rate >= 0.0 && *rate < 1.0) {
                    return Err(self.parameter("rate", "at least 0 and below 1".to_owned(), rate));
                }
                Step::InPlace(InPlace::Dropout(Dropout { rate: *rate, layer: self.number }))
            }
            Layer::Residual { body, shortcut } => self.residual(body, shortcut)?,
            Layer::Frozen { layer, values } => self.frozen(layer, values)?,
            Layer::BatchNorm => return Err(NetworkError::MixesRecords { layer: self.name() }),
        })
    }

    fn normalisation(&self, sets: Sets, is_affine: bool) -> Step {
        map(Normalisation::new(self.input, sets, NORM_EPSILON, is_affine, self.views))
    }

    fn embedding(&self, words: usize, features: usize, padding: Option<usize>) -> Result<Step, NetworkError> {
        let Shape::Tokens { length } = self.input else {
            return Err(self.wrong("tokens", "state the input as tokens; an embedding comes first"));
        };
        self.at_least_one("words", words)?;
        self.at_least_one("features", features)?;
        if words > 1 << 24 {
            return Err(self.parameter(
                "words",
                "at most 2^24: numbers of tokens must be exact".to_owned(),
                words,
            ));
        }
        self.fits("features", features, &[words, features])?;
        self.fits("features", features, &[length, features])?;
        if let Some(word) = padding.filter(|word| *word >= words) {
            return Err(self.parameter("padding", format!("one of the words, below {words}"), word));
        }
        Ok(map(Embedding::new(length, words, features, padding, self.views)))
    }

    fn residual(&self, body: &[Layer], shortcut: &[Layer]) -> Result<Step, NetworkError> {
        self.not_tokens()?;
        let within = |branch: &str| format!("{}.{branch}", self.path);
        let of = |branch: usize| number(self.number, branch);
        let body = chain(self.input, body, self.views, &within("body"), of(BODY))?;
        let shortcut = chain(self.input, shortcut, self.views, &within("shortcut"), of(SHORTCUT))?;
        if body.output() != shortcut.output() {
            let (body, shortcut) = (body.output(), shortcut.output());
            return Err(NetworkError::Branches { layer: self.name(), body, shortcut });
        }
        Ok(map(Residual::new(body, shortcut)))
    }

    fn frozen(&self, layer: &Layer, values: &[f64]) -> Result<Step, NetworkError> {
        let inner = LayerSite { path: format!("{}.layer", self.path), kind: layer.kind(), ..*self };
        let Step::Map(op) = inner.step(layer)? else {
            return inner.step(layer); // it has no weights
        };
        let values = self.fixed(&*op, values)?;
        Ok(map(Frozen::new(op, values)))
    }

    /// The weights of a frozen `op`: as written, or random.
    fn fixed(&self, op: &dyn AnyOp, values: &[f64]) -> Result<Vec<f64>, NetworkError> {
        if values.is_empty() {
            let (mut stream, mut all) = (Stream(self.number), vec![0.0; op.parameters()]);
            op.initialise(&mut || stream.uniform(), &mut all);
            return Ok(all);
        }
        if values.len() != op.parameters() {
            let expected = format!("{} numbers", op.parameters());
            return Err(self.parameter("values", expected, values.len()));
        }
        Ok(values.to_vec())
    }

    fn pool(&self, kind: PoolKind, kernel: [usize; 2], stride: [usize; 2]) -> Result<Step, NetworkError> {
        let (_, size) = self.image()?;
        for axis in 0..2 {
            self.at_least_one("kernel", kernel[axis])?;
            self.at_least_one("stride", stride[axis])?;
            if kernel[axis] > size[axis] {
                return Err(self.parameter("kernel", format!("at most {}", size[axis]), kernel[axis]));
            }
        }
        Ok(map(Pool::sliding(kind, self.input, kernel, stride)))
    }

    fn adaptive(&self, kind: PoolKind, output: [usize; 2]) -> Result<Step, NetworkError> {
        let (_, size) = self.image()?;
        for axis in 0..2 {
            if output[axis] == 0 || output[axis] > size[axis] {
                return Err(self.parameter("output", format!("from 1 to {}", size[axis]), output[axis]));
            }
        }
        Ok(map(Pool::adaptive(kind, self.input, output)))
    }
}

fn map(op: impl Op) -> Step {
    Step::Map(Box::new(op))
}
