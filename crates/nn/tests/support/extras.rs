//! Random networks with everything between their layers that keeps positions: normalisations, dense layers at each position, softmax, frozen layers,
//! dropout, branches.

use sordino_nn::{Activation, Layer, Network, NetworkLoss, Shape, View};

use super::Case;
use super::random::{Random, shape_of};

impl Random {
    /// Convolutions, some with standardised weights, and pooling.
    pub(crate) fn mixed_pictures(&mut self) -> Case {
        let (channels, height, width) = (self.within(1, 4), self.within(3, 6), self.within(3, 6));
        let input = Shape::Image { channels, height, width };
        let mut layers = self.extra(input);
        let convolution = self.convolution(shape_of(input, &layers)).map(|layer| self.standardised(layer, 3));
        layers.extend(convolution);
        layers.push(self.activation());
        layers.extend(self.extra(shape_of(input, &layers)));
        layers.extend(self.pooling(shape_of(input, &layers)));
        layers
            .extend([Layer::Flatten, Layer::Linear { outputs: self.within(2, 4), bias: self.below(2) == 0 }]);
        self.case(input, layers)
    }

    /// Dense layers on features, some of them narrow.
    pub(crate) fn mixed_features(&mut self) -> Case {
        let most = if self.below(2) == 0 { 12 } else { 90 };
        let input = Shape::Features(self.within(1, most));
        let mut layers = if self.below(2) == 0 { self.extra(input) } else { Vec::new() };
        layers.push(Layer::Linear { outputs: self.within(3, 19), bias: self.below(3) > 0 });
        layers.push(self.activation());
        layers.extend(self.extra(shape_of(input, &layers)));
        layers.push(Layer::linear(self.within(2, 4)));
        self.case(input, layers)
    }

    /// Dense layers on each position; with many features, lengths come from products of pairs of positions.
    pub(crate) fn mixed_sequences(&mut self) -> Case {
        let most = if self.below(2) == 0 { 4 } else { 24 };
        let input = Shape::Sequence { length: self.within(2, 6), features: self.within(1, most) };
        let mut layers = self.extra(input);
        layers.push(Layer::Linear { outputs: self.within(3, 24), bias: self.below(3) > 0 });
        layers.push(self.activation());
        layers.extend(self.extra(shape_of(input, &layers)));
        layers.push(Layer::linear(self.within(2, 4)));
        if self.below(2) == 0 {
            layers.extend([Layer::Flatten, Layer::linear(3)]);
        }
        self.case(input, layers)
    }

    /// Words, whose table may be frozen.
    pub(crate) fn mixed_tokens(&mut self) -> Case {
        let input = Shape::Tokens { length: self.within(2, 6) };
        let padding = (self.below(2) == 0).then_some(2);
        let table = Layer::Embedding { words: 5, features: self.within(1, 8), padding };
        let mut layers = vec![if self.below(3) == 0 { self.frozen(input, table) } else { table }];
        layers.extend(self.extra(shape_of(input, &layers)));
        layers.extend([Layer::Flatten, Layer::linear(self.within(2, 4))]);
        self.case(input, layers)
    }

    /// Convolutions of more channels than a line has lanes, on both sides.
    pub(crate) fn wide_pictures(&mut self) -> Case {
        let groups = self.within(1, 2);
        let channels = groups * self.within(17, 20);
        let input = Shape::Image { channels, height: self.within(2, 4), width: self.within(2, 3) };
        let convolution = Layer::Conv2d {
            channels: groups * self.within(17, 21),
            kernel: [self.within(1, 2), 2],
            stride: [1, self.within(1, 2)],
            padding: [self.within(0, 1), 0],
            dilation: [1, 1],
            groups,
            bias: self.below(2) == 0,
            standardised: self.below(4) == 0,
        };
        let layers =
            vec![convolution, self.activation(), Layer::AdaptiveAvgPool { output: [1, 1] }, Layer::Flatten];
        let layers = layers.into_iter().chain([Layer::linear(3)]).collect();
        Case { examples: self.within(1, 2), ..self.case(input, layers) }
    }

    /// Two or three views.
    pub(crate) fn views(&mut self) -> Vec<View> {
        let shift = |random: &mut Self| random.within(0, 4) as i32 - 2;
        let shifted = View::Shifted { lines: shift(self), columns: shift(self) };
        match self.below(3) {
            0 => vec![View::Same, View::Mirrored],
            1 => vec![View::Same, View::Same, shifted],
            _ => vec![shifted, View::Mirrored, View::Same],
        }
    }

    /// Something between two layers, or nothing.
    fn extra(&mut self, shape: Shape) -> Vec<Layer> {
        let (channels, affine) = (shape.channels(), self.below(3) > 0);
        let halves = if channels.is_multiple_of(2) { self.within(1, 2) } else { 1 };
        let layer = match self.below(9) {
            // Of one number that is centred nothing is left.
            0 if channels / halves * shape.positions() > 1 => Layer::GroupNorm { groups: halves, affine },
            1 if channels > 1 => Layer::LayerNorm { affine },
            2 => Layer::RmsNorm { affine },
            3 if channels > 1 => Layer::Activation { function: Activation::Softmax },
            4 => Layer::Linear { outputs: self.within(3, 6), bias: affine },
            5 => {
                let layer = self.fixed(shape);
                self.frozen(shape, layer)
            }
            6 => Layer::Dropout { rate: 0.25 },
            7 => Layer::Residual {
                body: vec![Layer::linear(channels), Layer::Dropout { rate: 0.4 }, self.activation()],
                shortcut: vec![Layer::Linear { outputs: channels, bias: false }],
            },
            _ => return Vec::new(),
        };
        vec![layer]
    }

    /// A layer to be frozen.
    fn fixed(&mut self, shape: Shape) -> Layer {
        match (shape, self.below(3)) {
            (Shape::Image { .. }, 0) => self.standardised(Layer::conv2d(4, 3, 1, 1), 1),
            (_, 1) if shape.channels() > 1 => Layer::LayerNorm { affine: true },
            _ => Layer::linear(self.within(3, 6)),
        }
    }

    fn frozen(&mut self, shape: Shape, layer: Layer) -> Layer {
        let count =
            Network::new(shape, std::slice::from_ref(&layer), NetworkLoss::Squared).unwrap().parameters();
        let values = (0..count).map(|_| f64::from(self.uniform() as f32)).collect();
        Layer::Frozen { layer: Box::new(layer), values }
    }

    /// Now and then with standardised weights.
    fn standardised(&mut self, mut layer: Layer, out_of: u64) -> Layer {
        if let Layer::Conv2d { standardised, .. } = &mut layer {
            *standardised = self.below(out_of) == 0;
        }
        layer
    }
}
