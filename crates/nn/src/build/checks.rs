//! Checks of a layer's settings and of its input. Everything that decides a size is checked before anything of that size is
//! allocated: a description may come from anywhere.

use super::LayerSite;
use crate::error::NetworkError;
use crate::op::activation::Activation;
use crate::op::convolution::KernelWindow;
use crate::shape::Shape;

/// The largest array: weights of a layer, or values of an example between two layers.
const LARGEST: usize = 1 << 28;
/// The largest kernel, padding or dilation. The largest stride is smaller: its square is a number of tables.
const LARGEST_WINDOW: usize = 1 << 12;
const LARGEST_STRIDE: usize = 1 << 8;

/// Refuses empty inputs, and inputs that no computer holds.
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

impl LayerSite {
    /// Checks that the kernel fits and that groups divide channels.
    pub(super) fn check_convolution(
        &self,
        channels: usize,
        window: KernelWindow,
        groups: usize,
    ) -> Result<(), NetworkError> {
        let (from, size) = self.image()?;
        self.at_least_one("channels", channels)?;
        self.at_least_one("groups", groups)?;
        self.check_window(window)?;
        if !from.is_multiple_of(groups) || !channels.is_multiple_of(groups) {
            let expected = format!("a divisor of its channels, {from} in and {channels} out");
            return Err(self.parameter("groups", expected, groups));
        }
        let padded = [0, 1].map(|axis| size[axis] + 2 * window.padding[axis]);
        self.fits("padding", window.padding[0], &[padded[0], padded[1], from.max(channels)])?;
        self.fits("channels", channels, &[channels, from / groups, window.kernel[0], window.kernel[1]])?;
        for (axis, length) in size.into_iter().enumerate() {
            if window.outputs(axis, length).is_none() {
                let expected = "no larger than the padded image, dilation included".to_owned();
                return Err(self.parameter("kernel", expected, window.kernel[axis]));
            }
        }
        Ok(())
    }

    /// Checks the range of each number.
    fn check_window(
        &self,
        KernelWindow { kernel, stride, padding, dilation }: KernelWindow,
    ) -> Result<(), NetworkError> {
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

    /// Checks the range of its settings.
    pub(super) fn check_activation(&self, function: Activation) -> Result<(), NetworkError> {
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

    pub(super) fn name(&self) -> String {
        format!("{} ({})", self.path, self.kind)
    }

    /// Channels and [height, width].
    pub(super) fn image(&self) -> Result<(usize, [usize; 2]), NetworkError> {
        match self.input {
            Shape::Image { channels, height, width } => Ok((channels, [height, width])),
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Tokens { .. } => {
                Err(self.wrong("an image", "state the input as an image, or move the layer before `flatten`"))
            }
        }
    }

    pub(super) fn not_tokens(&self) -> Result<(), NetworkError> {
        match self.input {
            Shape::Tokens { .. } => Err(self.wrong("numbers", "put an embedding first")),
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Image { .. } => Ok(()),
        }
    }

    pub(super) fn at_least_one(&self, name: &'static str, number: usize) -> Result<(), NetworkError> {
        if number == 0 {
            return Err(self.parameter(name, "at least 1".to_owned(), 0));
        }
        Ok(())
    }

    /// Refuses an array that no computer holds, before anything of its size is allocated.
    pub(super) fn fits(&self, name: &'static str, got: usize, sides: &[usize]) -> Result<(), NetworkError> {
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side));
        if size.is_none_or(|size| size > LARGEST) {
            let expected =
                format!("less: the layer would have arrays of {sides:?} numbers, and 2^28 are the most");
            return Err(self.parameter(name, expected, got));
        }
        Ok(())
    }

    pub(super) fn parameter(&self, name: &'static str, expected: String, got: impl ToString) -> NetworkError {
        NetworkError::Parameter { layer: self.name(), name, expected, got: got.to_string() }
    }

    pub(super) fn wrong(&self, expected: &str, hint: &'static str) -> NetworkError {
        NetworkError::Input { layer: self.name(), expected: expected.to_owned(), got: self.input, hint }
    }
}
