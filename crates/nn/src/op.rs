//! What a layer does to a micro-batch.
//!
//! # Definition
//! A micro-batch has M examples with V views each: `M V` images, one after the other in memory (or
//! inputs wherever they are, see [`Pass::inputs`]). Let `a_t` be a layer's input and `d_t` the gradient
//! of the example's loss by the layer's output, with t over the positions of all views. The gradient by
//! the layer's weights, and a bound on the terms that it is summed from, are
//! ```text
//! g = Σ_t a_t d_t^T          b = Σ_t ‖a_t‖ ‖d_t‖
//! ```
//! A layer with weights measures ‖g‖ and b for each example, by one of three [`NormMethod`]s. Once the
//! examples have clipping weights, it adds `Σ_i w_i g_i` to a sum: book-keeping (Bu, Wang, Zha, Karypis,
//! *Differentially Private Optimization on Large Model at Small Cost*, 2022), with one backward pass.
//!
//! # Types
//! Each layer has two types of its own: [`Op::Prepared`], its weights in the layout that the kernels read,
//! and [`Op::State`], what it keeps of one micro-batch. A chain stores them behind [`AnyOp`].

pub(crate) mod activation;
pub(crate) mod any;
pub(crate) mod convolution;
pub(crate) mod copied;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod flatten;
pub(crate) mod frozen;
pub(crate) mod ghost;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod normalisation;
pub(crate) mod pooling;
pub(crate) mod residual;
pub(crate) mod tensor;

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

use crate::kernel::isa::Isa;
use crate::shape::Shape;

pub(crate) use any::{AnyOp, AnyPrepared, AnyWork};
pub(crate) use norm::{Leaf, NormBound, NormMethod};
pub(crate) use tensor::WeightTensor;

/// Numbers after the end of an array that kernels may load as part of a whole vector.
pub(crate) const SPARE: usize = crate::kernel::isa::LANES;

/// What is the same for all layers of one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) isa: Isa,
    /// M V.
    pub(crate) images: usize,
    /// V.
    pub(crate) views: usize,
    /// Whether norms are measured and per-example gradients kept.
    pub(crate) is_private: bool,
    /// Whether a group begins, so that all sums are zero.
    pub(crate) begins_group: bool,
    /// Public seed of each image's random choices. It depends on slot, view and parameters, and not on
    /// the place in the batch. Empty outside training.
    pub(crate) seeds: &'a [u64],
    /// The input of each image, for a first layer that reads inputs in place.
    pub(crate) inputs: Option<&'a [&'a [f32]]>,
}

impl Pass<'_> {
    /// M.
    pub(crate) fn examples(&self) -> usize {
        self.images / self.views
    }
}

/// What a layer keeps of one micro-batch.
pub(crate) trait State: Any + Debug + Send {
    /// Bytes that its arrays have reserved, beside the value itself.
    fn bytes(&self) -> usize;
}

/// Nothing is kept.
impl State for () {
    fn bytes(&self) -> usize {
        0
    }
}

/// Bytes that an array has reserved.
pub(crate) fn reserved<T>(array: &Vec<T>) -> usize {
    array.capacity() * size_of::<T>()
}

/// Whether a layer's parameters are learned, so that it needs room for per-example gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Learned,
    Frozen,
}

/// What a layer works with during one micro-batch.
pub(crate) struct Work<'a, O: Op + ?Sized> {
    pub(crate) pass: &'a Pass<'a>,
    pub(crate) prepared: &'a O::Prepared,
    pub(crate) state: &'a mut O::State,
    /// Working space that the layers of a chain share, with the capacity that [`Op::scratch`] asks for.
    pub(crate) scratch: &'a mut Vec<f32>,
}

/// A layer's input, and the gradient of the loss by its output.
#[derive(Clone, Copy)]
pub(crate) struct LayerData<'a> {
    pub(crate) input: &'a [f32],
    pub(crate) d_output: &'a [f32],
}

/// A layer that maps one array to another.
pub(crate) trait Op: Debug + Send + Sync + 'static {
    /// Weights in the layout that the kernels read.
    type Prepared: Debug + Default + Send + Sync + 'static;

    /// What it keeps between the forward and the backward pass.
    type State: State;

    fn output(&self) -> Shape;

    /// The number of learned parameters.
    fn parameters(&self) -> usize {
        0
    }

    /// Its parts with weights, in the order of their parameters.
    fn leaves(&self) -> Vec<Leaf> {
        Vec::new()
    }

    /// Its parameters as PyTorch's tensors, in order. A block of layers has none of its own.
    fn tensors(&self) -> Vec<WeightTensor> {
        Vec::new()
    }

    /// Numbers of an example's gradient that are kept. With [`footprint`](Self::footprint), it decides the
    /// size of micro-batches.
    fn materialised(&self) -> usize {
        let leaves = self.leaves();
        let kept = leaves.iter().filter(|leaf| leaf.method == NormMethod::Materialised);
        kept.map(|leaf| leaf.parameters).sum()
    }

    /// Numbers of one image that pass through the kernels, beside input and output. It decides the size of
    /// micro-batches. What is kept is more, and [`State::bytes`] counts it.
    fn footprint(&self) -> usize {
        0
    }

    /// The most numbers of [`Work::scratch`] that it uses for so many images.
    fn scratch(&self, _images: usize) -> usize {
        0
    }

    /// Initial parameters, from uniform numbers in [-1, 1).
    fn initialise(&self, _uniform: &mut dyn FnMut() -> f64, _parameters: &mut [f64]) {}

    /// Brings weights into the layout that the kernels read.
    fn prepare(&self, _parameters: &[f64], _prepared: &mut Self::Prepared) {}

    /// Allocates everything for so many images. Nothing grows later: what is counted here is the whole.
    fn state(&self, images: usize, role: Role) -> Self::State;

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]);

    /// Computes the gradient by inputs, if it is wanted.
    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>);

    /// Measures each example's gradient after `backward`, as `norms[leaf][example]`.
    fn measure(&self, _work: Work<'_, Self>, _data: LayerData<'_>, _norms: &mut [Vec<NormBound>]) {}

    /// Adds `Σ_i w_i g_i` to `sum`, with `weights[leaf][example]`, or 1 if there are none. With weights, it
    /// follows `measure`. Inputs and gradients of examples that must not count have been erased.
    fn accumulate(
        &self,
        _work: Work<'_, Self>,
        _input: &[f32],
        _d_output: &mut [f32],
        _weights: Option<&[Vec<f32>]>,
        _sum: &mut [f32],
    ) {
    }

    /// Overwrites what is kept of some images with zeros, where products read it.
    fn erase(&self, _pass: &Pass, _state: &mut Self::State, _images: Range<usize>) {}

    /// Whether it can read [`Pass::inputs`] instead of an array.
    fn reads_in_place(&self) -> bool {
        false
    }

    /// Inputs, outputs and whether there is a bias, for a dense layer on one position.
    fn as_rank_one(&self) -> Option<(usize, usize, bool)> {
        None
    }
}

/// Uniform in ±1/sqrt(inputs of a neuron), PyTorch's default for dense layers and convolutions.
pub(crate) fn uniform_start(inputs: usize, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
    let bound = (inputs as f64).sqrt().recip();
    parameters.iter_mut().for_each(|parameter| *parameter = bound * uniform());
}

/// Multiplies each example's part of an array by its weight. A weight of 0 makes it 0, whatever it was.
pub(crate) fn weigh(isa: Isa, data: &mut [f32], weights: &[f32]) {
    let length = data.len() / weights.len().max(1);
    for (example, weight) in data.chunks_exact_mut(length.max(1)).zip(weights) {
        if *weight == 0.0 {
            example.fill(0.0);
        } else {
            crate::kernel::pointwise::scale_all(isa, example, *weight);
        }
    }
}
