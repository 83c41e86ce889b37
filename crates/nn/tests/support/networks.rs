//! Networks of every road through the engine, batches, and examples that hold something else.

use sordino_data::{Batch, BatchPlan, Sampling};
use sordino_nn::{DenseExamples, Example, Examples, Layer, NetworkLoss, Shape};
use sordino_noise::danger::seeded;
use sordino_optim::Clipping;
use sordino_privacy::{Count, Neighbours, SamplingRate};

use super::Case;

/// A picture, two convolutions, a dense layer that is deferred (133 000 weights), and one that is not.
pub(crate) fn mixed() -> Case {
    let layers = vec![
        Layer::conv2d(5, 3, 2, 1),
        Layer::tanh(),
        Layer::max_pool(2, 1),
        Layer::conv2d(7, 2, 1, 0),
        Layer::relu(),
        Layer::Flatten,
        Layer::linear(950),
        Layer::tanh(),
        Layer::linear(4),
    ];
    let input = Shape::Image { channels: 2, height: 13, width: 12 };
    Case { input, layers, loss: NetworkLoss::CrossEntropy, examples: 90, seed: 3 }
}

/// Nothing but dense layers, large enough to be deferred, all of them.
pub(crate) fn dense() -> Case {
    let layers = vec![Layer::linear(300), Layer::relu(), Layer::linear(400), Layer::tanh(), Layer::linear(5)];
    Case { input: Shape::Features(37), layers, loss: NetworkLoss::CrossEntropy, examples: 300, seed: 4 }
}

/// Few outputs of many inputs, which are read where they are.
pub(crate) fn narrow() -> Case {
    let layers = vec![Layer::linear(7), Layer::tanh(), Layer::linear(3)];
    Case { input: Shape::Features(150), layers, loss: NetworkLoss::CrossEntropy, examples: 90, seed: 6 }
}

/// A branch after a layer whose inputs are read where they are.
pub(crate) fn narrow_branch() -> Case {
    let branch = Layer::Residual { body: vec![Layer::linear(10)], shortcut: Vec::new() };
    let layers = vec![Layer::linear(10), branch, Layer::linear(3)];
    Case { input: Shape::Features(150), layers, loss: NetworkLoss::CrossEntropy, examples: 90, seed: 7 }
}

/// Convolutions with few positions and many channels: norms by products of pairs of positions, never a gradient of a record.
pub(crate) fn ghost() -> Case {
    let layers = vec![
        Layer::conv2d(32, 3, 1, 1),
        Layer::relu(),
        Layer::conv2d(40, 3, 1, 0),
        Layer::tanh(),
        Layer::Flatten,
        Layer::linear(4),
    ];
    let input = Shape::Image { channels: 24, height: 4, width: 4 };
    Case { input, layers, loss: NetworkLoss::CrossEntropy, examples: 70, seed: 5 }
}

/// Words, and dense layers at each of them.
pub(crate) fn words() -> Case {
    let layers = vec![
        Layer::Embedding { words: 11, features: 30, padding: None },
        Layer::linear(60),
        Layer::tanh(),
        Layer::LayerNorm { affine: true },
        Layer::Flatten,
        Layer::linear(3),
    ];
    let input = Shape::Tokens { length: 6 };
    Case { input, layers, loss: NetworkLoss::CrossEntropy, examples: 70, seed: 6 }
}

/// Pictures that are normalised in groups of channels, then by positions.
pub(crate) fn normalised() -> Case {
    let layers = vec![
        Layer::conv2d(6, 3, 1, 1),
        Layer::GroupNorm { groups: 2, affine: true },
        Layer::relu(),
        Layer::RmsNorm { affine: true },
        Layer::conv2d(4, 2, 1, 0),
        Layer::LayerNorm { affine: true },
        Layer::Flatten,
        Layer::linear(3),
    ];
    let input = Shape::Image { channels: 2, height: 5, width: 5 };
    Case { input, layers, loss: NetworkLoss::CrossEntropy, examples: 70, seed: 8 }
}

pub(crate) fn flat(norm: f64) -> Clipping {
    Clipping::Flat { norm }
}

/// A sample of about half of the slots.
pub(crate) fn sample(slots: usize) -> Batch {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(0.5).unwrap() };
    let slots = Count::new(slots as u64).unwrap();
    BatchPlan::new(sampling, slots, Count::ONE, Neighbours::ZeroOut)
        .unwrap()
        .batches()
        .next(&mut seeded(9))
        .unwrap()
}

pub(crate) fn empty_batch(slots: usize) -> Batch {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(1e-12).unwrap() };
    let slots = Count::new(slots as u64).unwrap();
    let plan = BatchPlan::new(sampling, slots, Count::ONE, Neighbours::ZeroOut).unwrap();
    let batch = plan.batches().next(&mut seeded(1)).unwrap();
    assert!(batch.is_empty());
    batch
}

/// Some slots hold something else.
pub(crate) struct Altered<'a> {
    pub(crate) rows: &'a DenseExamples,
    pub(crate) at: Vec<(usize, Content)>,
}

/// Input and target; nothing: an empty slot.
pub(crate) type Content = Option<(Vec<f32>, Vec<f32>)>;

impl Examples for Altered<'_> {
    fn slots(&self) -> usize {
        self.rows.slots()
    }

    fn widths(&self) -> [usize; 2] {
        self.rows.widths()
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        match self.at.iter().find(|(at, _)| *at == slot) {
            Some((_, None)) => None,
            Some((_, Some((input, target)))) => Some(Example { input, target }),
            None => self.rows.example(slot),
        }
    }
}
