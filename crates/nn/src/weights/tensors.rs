//! The tensors of a network: PyTorch's names and layouts, and where their numbers are in ours.
//!
//! # Definition
//! Names are those of `torch.nn.Sequential` with the same layers in the same order, activations included: `0.weight`. A
//! residual block is a module with two of them, `body` and `shortcut`: `3.body.0.weight`. A frozen layer has the name of
//! the layer itself.
//!
//! | layer | tensors | our order |
//! |---|---|---|
//! | linear | `weight` [out, in], `bias` [out] | the same |
//! | convolution | `weight` [out, in/groups, rows, columns], `bias` [out] | (group, row, column, in, out of the group) |
//! | group and layer normalisation | `weight` [channels], `bias` [channels] | the same |
//! | root mean square | `weight` [channels] | the same |
//! | embedding | `weight` [words, features] | the same |

use std::ops::Range;

use crate::build::{self, BODY, SHORTCUT, number};
use crate::error::NetworkError;
use crate::layer::Layer;
use crate::op::WeightTensor;
use crate::shape::Shape;

/// A tensor of a network.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) name: String,
    /// In PyTorch's layout.
    pub(super) shape: Vec<usize>,
    pub(super) numbers: TensorNumbers,
    /// The groups of a convolution.
    groups: Option<usize>,
    /// The padding word of an embedding.
    pub(super) padding: Option<usize>,
}

/// Where a tensor's numbers are.
#[derive(Debug)]
pub(super) enum TensorNumbers {
    /// Among the parameters.
    Learned(Range<usize>),
    /// In a frozen layer, by its number among all frozen layers of the network.
    Frozen(usize, Vec<f64>),
}

impl Tensor {
    /// The number of its numbers.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// For each number in PyTorch's order, its index in ours.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let sides: [usize; 4] = match (self.groups, &self.shape[..]) {
            (Some(_), [out, inputs, rows, columns]) => [*out, *inputs, *rows, *columns],
            _ => [self.len(), 1, 1, 1],
        };
        let groups = self.groups.unwrap_or(1);
        let [all, inputs, rows, columns] = sides;
        let outputs = all / groups;
        (0..self.len()).map(move |at| {
            let (rest, column) = (at / columns, at % columns);
            let (rest, row) = (rest / rows, rest % rows);
            let (out, input) = (rest / inputs, rest % inputs);
            let (group, out) = (out / outputs, out % outputs);
            (((group * rows + row) * columns + column) * inputs + input) * outputs + out
        })
    }
}

/// All tensors of a network's layers, in the order of parameters.
pub(super) fn tensors(input: Shape, layers: &[Layer]) -> Result<Vec<Tensor>, NetworkError> {
    let mut walk = Walk { tensors: Vec::new(), learned: 0, frozen: 0 };
    walk.list(input, layers, "", 0, &mut None)?;
    Ok(walk.tensors)
}

struct Walk {
    tensors: Vec<Tensor>,
    /// Parameters of earlier layers.
    learned: usize,
    /// The number of earlier frozen layers.
    frozen: usize,
}

/// The number of a frozen layer, and its values that no tensor has taken yet.
type Fixed<'a> = Option<(usize, &'a [f64])>;

impl Walk {
    fn list(
        &mut self,
        input: Shape,
        layers: &[Layer],
        within: &str,
        of: u64,
        fixed: &mut Fixed<'_>,
    ) -> Result<Shape, NetworkError> {
        let mut shape = input;
        for (at, layer) in layers.iter().enumerate() {
            shape = self.layer(shape, layer, &format!("{within}{at}."), number(of, at), fixed)?;
        }
        Ok(shape)
    }

    /// Adds a layer's tensors, and returns its output shape. `place` is its number in the network.
    fn layer(
        &mut self,
        input: Shape,
        layer: &Layer,
        name: &str,
        place: u64,
        fixed: &mut Fixed<'_>,
    ) -> Result<Shape, NetworkError> {
        if let Layer::Residual { body, shortcut } = layer {
            self.list(input, body, &format!("{name}body."), number(place, BODY), fixed)?;
            return self.list(input, shortcut, &format!("{name}shortcut."), number(place, SHORTCUT), fixed);
        }
        if let Layer::Frozen { layer, values } = layer {
            let values = build::frozen_values(input, layer, values, place)?;
            let frozen = self.frozen;
            self.frozen += 1;
            return self.layer(input, layer, name, place, &mut Some((frozen, &values)));
        }
        let (tensors, output) = build::tensors(input, layer)?;
        for WeightTensor { name: own, shape, groups, padding } in tensors {
            let numbers = self.numbers(shape.iter().product(), fixed);
            self.tensors.push(Tensor { name: format!("{name}{own}"), shape, numbers, groups, padding });
        }
        Ok(output)
    }

    /// The next `count` numbers.
    fn numbers(&mut self, count: usize, fixed: &mut Fixed<'_>) -> TensorNumbers {
        if let Some((frozen, values)) = fixed {
            let (own, rest) = values.split_at(count);
            *values = rest;
            return TensorNumbers::Frozen(*frozen, own.to_vec());
        }
        self.learned += count;
        TensorNumbers::Learned(self.learned - count..self.learned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Network, NetworkLoss, preset};

    #[test]
    fn learned_tensors_cover_all_parameters_in_order() {
        let image = Shape::Image { channels: 3, height: 16, width: 16 };
        for description in [preset::resnet20(), preset::cifar_cnn(), preset::mlp(&[7, 5])] {
            let network = description.network_for(image, 4).unwrap();
            let mut end = 0;
            for tensor in tensors(image, network.layers()).unwrap() {
                let TensorNumbers::Learned(range) = &tensor.numbers else { panic!("nothing is frozen") };
                assert_eq!((range.start, range.len()), (end, tensor.len()));
                end = range.end;
            }
            assert_eq!(end, network.parameters());
        }
    }

    #[test]
    fn names_are_those_of_sequential_modules() {
        let body =
            vec![Layer::conv2d(2, 1, 1, 0), Layer::relu(), Layer::GroupNorm { groups: 1, affine: true }];
        let frozen = Layer::Frozen { layer: Box::new(Layer::conv2d(2, 1, 1, 0)), values: Vec::new() };
        let shortcut = vec![frozen];
        let layers = [Layer::tanh(), Layer::Residual { body, shortcut }, Layer::Flatten, Layer::linear(3)];
        let input = Shape::Image { channels: 2, height: 2, width: 2 };
        assert!(Network::new(input, &layers, NetworkLoss::CrossEntropy).is_ok());
        let names: Vec<String> =
            tensors(input, &layers).unwrap().into_iter().map(|tensor| tensor.name).collect();
        let expected = [
            "1.body.0.weight",
            "1.body.0.bias",
            "1.body.2.weight",
            "1.body.2.bias",
            "1.shortcut.0.weight",
            "1.shortcut.0.bias",
            "3.weight",
            "3.bias",
        ];
        assert_eq!(names, expected);
    }

    /// As the table in the module's documentation says.
    #[test]
    fn convolution_weights_are_permuted_as_documented() {
        let input = Shape::Image { channels: 4, height: 9, width: 9 };
        let layer = Layer::Conv2d {
            channels: 6,
            kernel: [3, 2],
            stride: [1, 1],
            padding: [0, 0],
            dilation: [1, 1],
            groups: 2,
            bias: false,
            standardised: false,
        };
        let tensor = &tensors(input, &[layer]).unwrap()[0];
        let places: Vec<usize> = tensor.places().collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..6 * 2 * 3 * 2));
        // Output 4 is number 1 of group 1: [4, 1, 2, 0] of PyTorch is (1, 2, 0, 1, 1) of ours.
        assert_eq!(places[((4 * 2 + 1) * 3 + 2) * 2], (((3 + 2) * 2) * 2 + 1) * 3 + 1);
    }
}
