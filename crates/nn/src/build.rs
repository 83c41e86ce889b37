//! From layers as they are written to layers that run: shapes follow from the input, errors name the layer.

use crate::chain::{Chain, Step};
use crate::error::NetworkError;
use crate::layer::Layer;
use crate::network::Stream;
use crate::op::Op;
use crate::op::activation::{Activation, InPlace};
use crate::op::convolution::{Convolution, Window};
use crate::op::dropout::Dropout;
use crate::op::embedding::Embedding;
use crate::op::flatten::Flatten;
use crate::op::frozen::Frozen;
use crate::op::linear::Linear;
use crate::op::normalisation::{Normalisation, Sets};
use crate::op::pooling::{Kind, Pool};
use crate::op::residual::Residual;
use crate::shape::Shape;

/// Builds a chain for that many views of an example. `within` is the list's name: `layers`, or `layers[3].body`.
///
/// The input has sides of at least 1: the caller has checked it.
pub(crate) fn chain(
    input: Shape,
    layers: &[Layer],
    views: usize,
    within: &str,
) -> Result<Chain, NetworkError> {
    let mut chain = Chain::new(input);
    for (number, layer) in layers.iter().enumerate() {
        if let (Layer::Flatten, Shape::Features(_)) = (layer, chain.output()) {
            continue; // they are flat
        }
        let place = Place {
            path: format!("{within}[{number}]"),
            kind: layer.kind(),
            number: number as u64,
            input: chain.output(),
            views,
        };
        chain.push(place.step(layer)?);
    }
    Ok(chain)
}

/// Refuses inputs without numbers, and those that no computer holds.
pub(crate) fn check_input(input: Shape) -> Result<(), NetworkError> {
    match input.checked_size() {
        Some(1..=LARGEST) => Ok(()),
        _ => Err(NetworkError::Size { input }),
    }
}

/// Refuses more weights than a network can have.
pub(crate) fn check_parameters(parameters: usize) -> Result<(), NetworkError> {
    match parameters {
        0 => Err(NetworkError::NothingToLearn),
        1..=LARGEST => Ok(()),
        _ => Err(NetworkError::TooLarge { parameters }),
    }
}

/// What comes out of a layer.
pub(crate) fn output(input: Shape, layer: &Layer) -> Result<Shape, NetworkError> {
    match Place::alone(input, layer, 0).step(layer)? {
        Step::Map(op) => Ok(op.output()),
        Step::InPlace(_) => Ok(input),
    }
}

/// The weights of a frozen layer: those that were written, or those that it begins with at its place in the list.
pub(crate) fn frozen_values(
    input: Shape,
    layer: &Layer,
    values: &[f64],
    number: u64,
) -> Result<Vec<f64>, NetworkError> {
    let place = Place::alone(input, layer, number);
    match place.step(layer)? {
        Step::Map(op) => place.fixed(&*op, values),
        Step::InPlace(_) => Ok(Vec::new()),
    }
}

/// Where a layer stands.
struct Place {
    path: String,
    kind: &'static str,
    number: u64,
    input: Shape,
    views: usize,
}

/// ε of normalisations, as PyTorch has it.
const NORM_EPSILON: f32 = 1e-5;

/// The largest number of numbers in one array: weights of a layer, or what an example has between two layers.
const LARGEST: usize = 1 << 31;
/// The largest kernel, padding or dilation. That of a stride is less: its square is a number of tables.
const LARGEST_WINDOW: usize = 1 << 12;
const LARGEST_STRIDE: usize = 1 << 8;

impl Place {
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
                    Window { kernel: *kernel, stride: *stride, padding: *padding, dilation: *dilation };
                self.convolution(*channels, window, *groups)?;
                let plain = Convolution::new(self.input, *channels, window, *groups, *bias, self.views);
                map(if *standardised { plain.standardised() } else { plain })
            }
            Layer::MaxPool { kernel, stride } => self.pool(Kind::Largest, *kernel, *stride)?,
            Layer::AvgPool { kernel, stride } => self.pool(Kind::Mean, *kernel, *stride)?,
            Layer::AdaptiveAvgPool { output } => self.adaptive(Kind::Mean, *output)?,
            Layer::AdaptiveMaxPool { output } => self.adaptive(Kind::Largest, *output)?,
            Layer::Flatten => {
                self.not_tokens()?;
                map(Flatten::new(match self.input {
                    // Positions come before features already, as PyTorch leaves them.
                    Shape::Sequence { .. } => Shape::Features(self.input.size()),
                    Shape::Features(_) | Shape::Image { .. } | Shape::Tokens { .. } => self.input,
                }))
            }
            Layer::Activation { function } => {
                self.not_tokens()?;
                self.activation(*function)?;
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
        let body = chain(self.input, body, self.views, &within("body"))?;
        let shortcut = chain(self.input, shortcut, self.views, &within("shortcut"))?;
        if body.output() != shortcut.output() {
            let (body, shortcut) = (body.output(), shortcut.output());
            return Err(NetworkError::Branches { layer: self.name(), body, shortcut });
        }
        Ok(map(Residual::new(body, shortcut)))
    }

    fn frozen(&self, layer: &Layer, values: &[f64]) -> Result<Step, NetworkError> {
        let inner = Place { path: format!("{}.layer", self.path), kind: layer.kind(), ..*self };
        let Step::Map(op) = inner.step(layer)? else {
            return inner.step(layer); // nothing to freeze
        };
        let values = self.fixed(&*op, values)?;
        Ok(map(Frozen::new(op, values)))
    }

    /// As many values as `op` has weights: what was written, or a random start.
    fn fixed(&self, op: &dyn Op, values: &[f64]) -> Result<Vec<f64>, NetworkError> {
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

    fn convolution(&self, channels: usize, window: Window, groups: usize) -> Result<(), NetworkError> {
        let (from, size) = self.image()?;
        self.at_least_one("channels", channels)?;
        self.at_least_one("groups", groups)?;
        self.window(window)?;
        if !from.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
            let expected = format!("a divisor of its channels, {from} in and {channels} out");
            return Err(self.parameter("groups", expected, groups));
        }
        let padded = [0, 1].map(|axis| size[axis] + 2 * window.padding[axis]);
        self.fits("padding", window.padding[0], &[padded[0], padded[1], from.max(channels)])?;
        self.fits("channels", channels, &[channels, from / groups, window.kernel[0], window.kernel[1]])?;
        for (axis, length) in size.into_iter().enumerate() {
            if window.outputs(axis, length).is_none() {
                let expected = "no larger than the padded picture, dilation counted".to_owned();
                return Err(self.parameter("kernel", expected, window.kernel[axis]));
            }
        }
        Ok(())
    }

    /// Each number in its range.
    fn window(&self, Window { kernel, stride, padding, dilation }: Window) -> Result<(), NetworkError> {
        let ranges = [
            ("kernel", kernel, 1, LARGEST_WINDOW),
            ("stride", stride, 1, LARGEST_STRIDE),
            ("padding", padding, 0, LARGEST_WINDOW),
            ("dilation", dilation, 1, LARGEST_WINDOW),
        ];
        for (name, pair, least, most) in ranges {
            if let Some(number) = pair.into_iter().find(|number| !(least..=most).contains(number)) {
                return Err(self.parameter(name, format!("from {least} to {most}"), number));
            }
        }
        Ok(())
    }

    fn pool(&self, kind: Kind, kernel: [usize; 2], stride: [usize; 2]) -> Result<Step, NetworkError> {
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

    fn adaptive(&self, kind: Kind, output: [usize; 2]) -> Result<Step, NetworkError> {
        let (_, size) = self.image()?;
        for axis in 0..2 {
            if output[axis] == 0 || output[axis] > size[axis] {
                return Err(self.parameter("output", format!("from 1 to {}", size[axis]), output[axis]));
            }
        }
        Ok(map(Pool::adaptive(kind, self.input, output)))
    }

    fn activation(&self, function: Activation) -> Result<(), NetworkError> {
        match function {
            Activation::LeakyRelu { slope } if !(slope >= 0.0 && slope.is_finite()) => {
                Err(self.parameter("slope", "a finite number of at least 0".to_owned(), slope))
            }
            Activation::TemperedSigmoid { height, slope, shift }
                if !(height > 0.0 && height.is_finite() && slope.is_finite() && shift.is_finite()) =>
            {
                Err(self.parameter(
                    "height",
                    "finite and above 0, as slope and shift are finite".to_owned(),
                    height,
                ))
            }
            Activation::Relu
            | Activation::LeakyRelu { .. }
            | Activation::Tanh
            | Activation::Sigmoid
            | Activation::TemperedSigmoid { .. }
            | Activation::Gelu
            | Activation::Silu
            | Activation::Softmax => Ok(()),
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.path, self.kind)
    }

    /// Channels and (lines, columns).
    fn image(&self) -> Result<(usize, [usize; 2]), NetworkError> {
        match self.input {
            Shape::Image { channels, height, width } => Ok((channels, [height, width])),
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Tokens { .. } => {
                Err(self.wrong("an image", "state the input as an image, or move the layer before `flatten`"))
            }
        }
    }

    fn not_tokens(&self) -> Result<(), NetworkError> {
        match self.input {
            Shape::Tokens { .. } => Err(self.wrong("numbers", "put an embedding first")),
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Image { .. } => Ok(()),
        }
    }

    fn at_least_one(&self, name: &'static str, number: usize) -> Result<(), NetworkError> {
        if number == 0 {
            return Err(self.parameter(name, "at least 1".to_owned(), 0));
        }
        Ok(())
    }

    /// Refuses an array that no computer holds, before anything of its size is made.
    fn fits(&self, name: &'static str, got: usize, sides: &[usize]) -> Result<(), NetworkError> {
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side));
        if size.is_none_or(|size| size > LARGEST) {
            let expected =
                format!("less: the layer would have arrays of {sides:?} numbers, and 2^31 are the most");
            return Err(self.parameter(name, expected, got));
        }
        Ok(())
    }

    fn parameter(&self, name: &'static str, expected: String, got: impl ToString) -> NetworkError {
        NetworkError::Parameter { layer: self.name(), name, expected, got: got.to_string() }
    }

    fn wrong(&self, expected: &str, hint: &'static str) -> NetworkError {
        NetworkError::Input { layer: self.name(), expected: expected.to_owned(), got: self.input, hint }
    }
}

fn map(op: impl Op + 'static) -> Step {
    Step::Map(Box::new(op))
}
