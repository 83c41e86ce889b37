//! Random networks.

use sordino_nn::{Activation, Layer, NetworkLoss, Shape};

use super::Case;
use super::dual::Dual;
use super::reference::Place;

/// Numbers that look random (a multiplicative generator on 64 bits).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 33)
    }

    /// From 0 to `end - 1`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        (self.bits() >> 20) % end
    }

    /// From `low` to `high`, both included.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below((high - low + 1) as u64) as usize
    }

    /// In [-1, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 12) as f64 * 2f64.powi(-51) - 1.0
    }

    pub(crate) fn activation(&mut self) -> Layer {
        let function = match self.below(8) {
            0 => Activation::Relu,
            1 => Activation::LeakyRelu { slope: 0.1 },
            2 | 3 => Activation::Tanh,
            4 => Activation::Sigmoid,
            5 => Activation::TemperedSigmoid { height: 1.6, slope: 3.0, shift: 0.7 },
            6 => Activation::Gelu,
            _ => Activation::Silu,
        };
        Layer::Activation { function }
    }

    /// Convolutions and pooling on pictures, then dense layers.
    pub(crate) fn pictures(&mut self) -> Case {
        let input =
            Shape::Image { channels: self.within(1, 3), height: self.within(4, 8), width: self.within(4, 8) };
        let (mut layers, mut shape) = (Vec::new(), input);
        for _ in 0..self.within(1, 2) {
            layers.extend(self.convolution(shape));
            layers.push(self.activation());
            layers.extend(self.pooling(shape_of(input, &layers)));
            shape = shape_of(input, &layers);
        }
        layers.push(Layer::Flatten);
        layers.push(Layer::Linear { outputs: self.within(2, 5), bias: self.below(2) == 0 });
        self.case(input, layers)
    }

    /// Dense layers on each position.
    pub(crate) fn sequences(&mut self) -> Case {
        let input = Shape::Sequence { length: self.within(2, 9), features: self.within(1, 5) };
        let mut layers = vec![Layer::Linear { outputs: self.within(1, 20), bias: self.below(3) > 0 }];
        layers.push(self.activation());
        layers.push(Layer::Linear { outputs: self.within(2, 5), bias: true });
        self.case(input, layers)
    }

    /// Convolutions with standardised weights, normalisation, residual blocks and frozen layers.
    pub(crate) fn blocks(&mut self) -> Case {
        let channels = 2 * self.within(1, 2);
        let input = Shape::Image { channels, height: self.within(3, 5), width: self.within(3, 5) };
        let standardised = self.below(2) == 0;
        let same = |channels: usize, standardised: bool| Layer::Conv2d {
            channels,
            kernel: [3, 3],
            stride: [1, 1],
            padding: [1, 1],
            dilation: [1, 1],
            groups: 1,
            bias: false,
            standardised,
        };
        let norm = Layer::GroupNorm { groups: self.within(1, 2), affine: self.below(4) > 0 };
        let block = match self.below(3) {
            0 => Layer::Residual {
                body: vec![same(channels, standardised), norm, self.activation()],
                shortcut: Vec::new(),
            },
            1 => Layer::Residual {
                body: vec![same(2, standardised), self.activation()],
                shortcut: vec![Layer::conv2d(2, 1, 1, 0)],
            },
            _ => Layer::Residual { body: vec![self.activation()], shortcut: vec![norm] },
        };
        let values = (0..channels * 3 + 3).map(|_| f64::from(self.uniform() as f32)).collect();
        let frozen = Layer::Frozen { layer: Box::new(Layer::conv2d(3, 1, 1, 0)), values };
        let mut layers = vec![block, self.activation()];
        if shape_of(input, &layers).channels() == channels && self.below(2) == 0 {
            layers.push(frozen);
        }
        layers.extend([Layer::AdaptiveAvgPool { output: [1, 2] }, Layer::Flatten, Layer::linear(3)]);
        self.case(input, layers)
    }

    /// Tokens, with words that occur twice, and normalised positions.
    pub(crate) fn tokens(&mut self) -> Case {
        let input = Shape::Tokens { length: self.within(1, 6) };
        let padding = (self.below(2) == 0).then_some(1);
        let mut layers = vec![Layer::Embedding { words: 5, features: self.within(2, 6), padding }];
        match self.below(3) {
            0 => layers.push(Layer::LayerNorm { affine: true }),
            1 => layers.push(Layer::RmsNorm { affine: self.below(2) == 0 }),
            _ => {}
        }
        layers.extend([Layer::linear(self.within(1, 5)), self.activation(), Layer::linear(3)]);
        if self.below(2) == 0 {
            layers.extend([
                Layer::Activation { function: Activation::Softmax },
                Layer::Flatten,
                Layer::linear(2),
            ]);
        }
        self.case(input, layers)
    }

    /// Dense layers.
    pub(crate) fn features(&mut self) -> Case {
        // Few inputs, or so many that layers of few outputs are narrow.
        let most = if self.below(2) == 0 { 20 } else { 130 };
        let input = Shape::Features(self.within(1, most));
        let mut layers = vec![Layer::Linear { outputs: self.within(1, 19), bias: self.below(3) > 0 }];
        layers.push(self.activation());
        layers.push(Layer::Linear { outputs: self.within(2, 5), bias: true });
        self.case(input, layers)
    }

    pub(crate) fn case(&mut self, input: Shape, layers: Vec<Layer>) -> Case {
        let loss = if self.below(3) == 0 { NetworkLoss::Squared } else { NetworkLoss::CrossEntropy };
        Case { input, layers, loss, examples: self.within(1, 6), seed: self.bits() }
    }

    pub(crate) fn convolution(&mut self, shape: Shape) -> Option<Layer> {
        let Shape::Image { channels, height, width } = shape else { return None };
        let groups = if channels % 2 == 0 && self.below(2) == 0 { 2 } else { 1 };
        let padding = [self.within(0, 2), self.within(0, 2)];
        let dilation = [self.within(1, 2), self.within(1, 2)];
        let size = [height, width];
        let kernel = [0, 1].map(|axis| {
            let most = (size[axis] + 2 * padding[axis] - 1) / dilation[axis] + 1;
            self.within(1, most.min(4))
        });
        Some(Layer::Conv2d {
            channels: groups * self.within(1, 6),
            kernel,
            stride: [self.within(1, 3), self.within(1, 3)],
            padding,
            dilation,
            groups,
            bias: self.below(3) > 0,
            standardised: false,
        })
    }

    pub(crate) fn pooling(&mut self, shape: Shape) -> Option<Layer> {
        let Shape::Image { height, width, .. } = shape else { return None };
        let window = [self.within(1, height.min(3)), self.within(1, width.min(3))];
        let stride = [self.within(1, 2), self.within(1, 2)];
        match self.below(5) {
            0 => Some(Layer::MaxPool { kernel: window, stride }),
            1 => Some(Layer::AvgPool { kernel: window, stride }),
            2 => Some(Layer::AdaptiveAvgPool { output: window }),
            3 => Some(Layer::AdaptiveMaxPool { output: window }),
            _ => None,
        }
    }
}

/// The shape after some layers, by the reference.
pub(crate) fn shape_of(input: Shape, layers: &[Layer]) -> Shape {
    let zeros = vec![Dual::ZERO; 20_000];
    super::reference::forward(
        input,
        layers,
        Place { of: 0, seed: None },
        &mut &zeros[..],
        &vec![Dual::ZERO; input.size()],
    )
    .0
}
