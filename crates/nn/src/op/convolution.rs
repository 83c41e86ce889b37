//! Two-dimensional convolutions, without copies of patches.
//!
//! # Definition
//! On an image with channels last, padded by zeros,
//! ```text
//! y[oy, ox, n] = bias[n] + Σ_(ky, kx, c) x[oy s + ky d, ox s + kx d, c] W[ky, kx, c, n]            (1)
//! ```
//! with stride s and dilation d. A row of the kernel is contiguous in memory, so (1) is a product of rows in
//! segments (see [`product`]), and so is the gradient by W. The gradient by x is one too: pixels with the same
//! remainder modulo the stride get their gradients from the same taps. Each remainder is a *phase*: a
//! convolution of stride 1 with those taps.
//!
//! With groups, channels are divided into that many parts, and each output sees the inputs of its part.
//!
//! Weights are in the order (group, ky, kx, c, n), followed by the bias.
//!
//! # Weight standardisation
//! Each output's weights are brought to mean 0 and variance 1 before use (Qiao, Wang, Liu, Shen, Yuille,
//! *Micro-Batch Training with Batch-Channel Normalization and Weight Standardization*, 2019). Standardised
//! weights are a function of the parameters alone, so no records are mixed. An example's gradient by the
//! parameters is a linear map of the gradient by the standardised weights, and the former is clipped.

mod geometry;
mod standard;

pub(crate) use geometry::KernelWindow;

use std::ops::Range;

use geometry::Phase;
use standard::{standardise, standardise_backward};

use super::{
    LayerData, Leaf, NormBound, NormMethod, Op, Pass, Role, SPARE, State, WeightTensor, Work, ghost,
    reserved, uniform_start, weigh,
};
use crate::kernel::outer::{Columns, OuterProduct, Write, outer, sum_rows};
use crate::kernel::pointwise::{add_scaled, add_weighted, sum_of_squares};
use crate::kernel::product::{Init, PackedMatrix, Product, RowTable, pack, packed_len, product};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Convolution {
    window: KernelWindow,
    /// Height and width.
    input: [usize; 2],
    output: [usize; 2],
    /// In each group.
    inputs: usize,
    outputs: usize,
    groups: usize,
    has_bias: bool,
    is_standardised: bool,
    positions: usize,
    method: NormMethod,
    /// Rows of the forward product, one table per group.
    forward: Vec<RowTable>,
    phases: Vec<Phase>,
    /// Height and width of padded output gradients, and the position of the first one.
    padded_output: [usize; 2],
    margin: [usize; 2],
}

impl Convolution {
    /// The caller has checked that the kernel fits and that groups divide channels.
    pub(crate) fn new(
        input: Shape,
        channels: usize,
        window: KernelWindow,
        groups: usize,
        has_bias: bool,
        views: usize,
    ) -> Self {
        let Shape::Image { channels: from, height, width } = input else {
            unreachable!("the caller has checked it")
        };
        let input = [height, width];
        let output = [0, 1].map(|axis| window.outputs(axis, input[axis]).unwrap_or(0));
        let (inputs, outputs) = (from / groups, channels / groups);
        let positions = output[0] * output[1] * views;
        let depth = inputs * window.kernel[0] * window.kernel[1];
        let method = match NormMethod::cheapest(positions, depth, outputs) {
            // One position is rare, and has no code of its own.
            NormMethod::RankOne => NormMethod::Materialised,
            method @ (NormMethod::Materialised | NormMethod::Ghost) => method,
        };
        let margin =
            [0, 1].map(|axis| (window.kernel[axis] - 1) * window.dilation[axis] / window.stride[axis]);
        let padded_output = [0, 1].map(|axis| {
            let last = (input[axis] - 1 + window.padding[axis]) / window.stride[axis];
            margin[axis] + output[axis].max(last + 1)
        });
        let mut this = Self {
            window,
            input,
            output,
            inputs,
            outputs,
            groups,
            has_bias,
            is_standardised: false,
            positions,
            method,
            forward: Vec::new(),
            phases: Vec::new(),
            padded_output,
            margin,
        };
        this.forward = (0..groups).map(|group| this.forward_rows(group)).collect();
        this.phases = (0..groups).flat_map(|group| this.phases_of(group)).collect();
        this
    }

    /// Standardises weights. Gradients are materialised, because they are mapped before they are measured.
    pub(crate) fn standardised(self) -> Self {
        Self { is_standardised: true, method: NormMethod::Materialised, ..self }
    }

    fn padded(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.input[axis] + 2 * self.window.padding[axis])
    }

    fn padded_size(&self) -> usize {
        let [height, width] = self.padded();
        height * width * self.inputs * self.groups
    }

    fn input_size(&self) -> usize {
        self.input[0] * self.input[1] * self.inputs * self.groups
    }

    fn output_size(&self) -> usize {
        self.output[0] * self.output[1] * self.outputs * self.groups
    }

    /// Inputs of an output: K of one group.
    fn depth(&self) -> usize {
        self.window.kernel[0] * self.window.kernel[1] * self.inputs
    }

    fn weights(&self) -> usize {
        self.groups * self.depth() * self.outputs
    }

    fn is_padded(&self) -> bool {
        self.window.padding != [0, 0]
    }

    /// The gradient of some images by the weights as they are used.
    fn gradient(&self, factors: Factors<'_>, images: Range<usize>, write: Write, sum: &mut [f32]) {
        let Factors { pass, data, d_output } = factors;
        let (pixels, channels) = (self.output[0] * self.output[1], self.outputs * self.groups);
        let (weights, bias) = sum.split_at_mut(self.weights());
        let run = self.method.run();
        for image in images.clone() {
            let write = if image == images.start { write } else { Write::Add };
            let data = &data[image * self.padded_size()..][..self.padded_size()];
            let groups = weights.chunks_exact_mut(self.depth() * self.outputs).zip(&self.forward);
            for (group, (weights, rows)) in groups.enumerate() {
                let start = image * self.output_size() + group * self.outputs;
                let columns = Columns { data: d_output, start, step: channels, width: self.outputs };
                outer(pass.isa, OuterProduct { rows, count: pixels, data, columns, run }, write, weights);
            }
            if self.has_bias {
                let start = image * self.output_size();
                let columns = Columns { data: d_output, start, step: channels, width: channels };
                sum_rows(pass.isa, columns, pixels, run, write, bias);
            }
        }
    }

    /// The gradient of some images by the parameters: [`gradient`](Self::gradient), mapped if weights are
    /// standardised.
    fn mapped_gradient(
        &self,
        factors: Factors<'_>,
        prepared: &ConvolutionWeights,
        images: Range<usize>,
        sum: &mut [f32],
    ) {
        self.gradient(factors, images, Write::Set, sum);
        if self.is_standardised {
            let groups = sum[..self.weights()].chunks_exact_mut(self.depth() * self.outputs);
            let standards = prepared.standardised.chunks_exact(self.depth() * self.outputs);
            let factors = prepared.factors.chunks_exact(self.outputs);
            for ((sum, standard), factors) in groups.zip(standards).zip(factors) {
                standardise_backward(sum, standard, factors);
            }
        }
    }

    /// Bounds an example's norm by [`ghost`], group by group: groups have different weights.
    fn ghost_norm(&self, factors: Factors<'_>, scratch: &mut Vec<f32>, example: usize) -> NormBound {
        let Factors { pass, data, d_output } = factors;
        let pixels = self.output[0] * self.output[1];
        let channels = self.outputs * self.groups;
        let images = || example * pass.views..(example + 1) * pass.views;
        let mut norm = NormBound { squared: 0.0, spread: 0.0, largest: 0.0 };
        for (group, rows) in self.forward.iter().enumerate() {
            scratch.clear();
            for image in images() {
                let data = &data[image * self.padded_size()..][..self.padded_size()];
                for base in &rows.bases {
                    for segment in &rows.segments {
                        scratch.extend_from_slice(&data[base + segment.offset..][..segment.length]);
                    }
                }
            }
            for image in images() {
                for pixel in 0..pixels {
                    let start = image * self.output_size() + pixel * channels + group * self.outputs;
                    scratch.extend_from_slice(&d_output[start..start + self.outputs]);
                }
            }
            let (patches, d_outputs) = scratch.split_at(self.positions * self.depth());
            let of_group = ghost::norm(patches, d_outputs, self.positions, self.has_bias);
            norm.squared += of_group.squared;
            norm.spread += of_group.spread;
            norm.largest = if of_group.largest > norm.largest || !of_group.largest.is_finite() {
                of_group.largest
            } else {
                norm.largest
            };
        }
        norm
    }
}

/// Both factors of a gradient, for all images of a pass.
#[derive(Clone, Copy)]
struct Factors<'a> {
    pass: &'a Pass<'a>,
    /// Inputs, padded if there is padding.
    data: &'a [f32],
    d_output: &'a [f32],
}

/// Copies an image with rows of `width` numbers into a larger one with rows of `to_width`, from `first` on.
fn paste(from: &[f32], width: usize, to: &mut [f32], to_width: usize, first: usize) {
    for (y, from) in from.chunks_exact(width).enumerate() {
        to[first + y * to_width..][..width].copy_from_slice(from);
    }
}

#[derive(Debug, Default)]
pub(crate) struct ConvolutionWeights {
    bias: Vec<f32>,
    /// A packed matrix per group.
    forward: Vec<Vec<f32>>,
    /// A packed matrix per phase.
    backward: Vec<Vec<f32>>,
    /// Standardised weights, and the factor of each output; empty if weights are used as they are.
    standardised: Vec<f64>,
    factors: Vec<f64>,
}

#[derive(Debug)]
pub(crate) struct ConvolutionState {
    /// Inputs of all images with their padding; empty if there is none.
    padded_input: Vec<f32>,
    /// Output gradients of one image, padded for the backward product. Only the middle is ever written.
    padded_gradient: Vec<f32>,
    /// Gradients of all examples, if they are materialised.
    gradients: Vec<f32>,
}

impl ConvolutionState {
    /// The input as the products read it.
    fn source<'a>(&'a self, layer: &Convolution, input: &'a [f32]) -> &'a [f32] {
        if layer.is_padded() { &self.padded_input } else { input }
    }
}

impl State for ConvolutionState {
    fn bytes(&self) -> usize {
        let Self { padded_input, padded_gradient, gradients } = self;
        [padded_input, padded_gradient, gradients].into_iter().map(reserved).sum()
    }
}

impl Op for Convolution {
    type Prepared = ConvolutionWeights;
    type State = ConvolutionState;

    fn output(&self) -> Shape {
        let [height, width] = self.output;
        Shape::Image { channels: self.outputs * self.groups, height, width }
    }

    fn parameters(&self) -> usize {
        self.weights() + if self.has_bias { self.outputs * self.groups } else { 0 }
    }

    fn leaves(&self) -> Vec<Leaf> {
        vec![Leaf { parameters: self.parameters(), method: self.method, positions: self.positions }]
    }

    fn tensors(&self) -> Vec<WeightTensor> {
        let (channels, [height, width]) = (self.outputs * self.groups, self.window.kernel);
        let weight = WeightTensor::weight([channels, self.inputs, height, width]);
        let mut tensors = vec![WeightTensor { groups: Some(self.groups), ..weight }];
        tensors.extend(self.has_bias.then(|| WeightTensor::bias(channels)));
        tensors
    }

    fn scratch(&self, _images: usize) -> usize {
        match self.method {
            // Patches and output gradients of one example, in one group of channels.
            NormMethod::Ghost => self.positions * (self.depth() + self.outputs),
            NormMethod::RankOne | NormMethod::Materialised => 0,
        }
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        uniform_start(self.depth(), uniform, parameters);
    }

    fn prepare(&self, parameters: &[f64], prepared: &mut ConvolutionWeights) {
        let (depth, n) = (self.depth(), self.outputs);
        let ConvolutionWeights { bias, forward, backward, standardised, factors } = prepared;
        bias.resize(n * self.groups, 0.0);
        bias.iter_mut().zip(&parameters[self.weights()..]).for_each(|(bias, p)| *bias = *p as f32);
        let mut weights = &parameters[..self.weights()];
        if self.is_standardised {
            standardised.clear();
            standardised.extend_from_slice(weights);
            factors.clear();
            factors.extend(standardised.chunks_exact_mut(depth * n).flat_map(|group| standardise(group, n)));
            weights = standardised;
        }
        let of_group = |group: usize| &weights[group * depth * n..][..depth * n];
        forward.resize_with(self.groups, Vec::new);
        for (group, packed) in forward.iter_mut().enumerate() {
            packed.resize(packed_len(depth, n), 0.0);
            let weights = of_group(group);
            pack(packed, depth, n, |k, output| weights[k * n + output] as f32);
        }
        backward.resize_with(self.phases.len(), Vec::new);
        // A phase without taps has no matrix: a stride beyond the kernel leaves pixels that no output sees.
        let phases = self.phases.iter().zip(backward).filter(|(phase, _)| !phase.taps.is_empty());
        for (phase, packed) in phases {
            packed.resize(packed_len(phase.taps.len() * n, self.inputs), 0.0);
            let weights = of_group(phase.group);
            pack(packed, phase.taps.len() * n, self.inputs, |k, input| {
                weights[(phase.taps[k / n] * self.inputs + input) * n + k % n] as f32
            });
        }
    }

    fn state(&self, images: usize, role: Role) -> ConvolutionState {
        let views = self.positions / (self.output[0] * self.output[1]);
        let gradients = match (self.method, role) {
            (NormMethod::Materialised, Role::Learned) => images / views * self.parameters(),
            (NormMethod::Materialised, Role::Frozen) | (NormMethod::RankOne | NormMethod::Ghost, _) => 0,
        };
        let padded_gradient = self.padded_output[0] * self.padded_output[1] * self.outputs * self.groups;
        ConvolutionState {
            padded_input: vec![0.0; if self.is_padded() { images * self.padded_size() + SPARE } else { 0 }],
            padded_gradient: vec![0.0; padded_gradient + SPARE],
            gradients: vec![0.0; gradients],
        }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let Work { pass, prepared, state, .. } = work;
        let channels = self.inputs * self.groups;
        for image in 0..pass.images {
            if self.is_padded() {
                let (width, padded_width) = (self.input[1] * channels, self.padded()[1] * channels);
                let first = self.window.padding[0] * padded_width + self.window.padding[1] * channels;
                let from = &input[image * self.input_size()..][..self.input_size()];
                let to = &mut state.padded_input[image * self.padded_size()..][..self.padded_size()];
                paste(from, width, to, padded_width, first);
            }
            let data = &state.source(self, input)[image * self.padded_size()..][..self.padded_size()];
            let to = &mut output[image * self.output_size()..][..self.output_size()];
            for (group, (rows, packed)) in self.forward.iter().zip(&prepared.forward).enumerate() {
                let factors = Product {
                    rows,
                    count: rows.bases.len(),
                    data,
                    matrix: PackedMatrix { packed, depth: self.depth(), width: self.outputs },
                    init: Init::Bias(&prepared.bias[group * self.outputs..][..self.outputs]),
                };
                product(pass.isa, factors, to);
            }
        }
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let Some(d_input) = d_input else { return };
        let Work { pass, prepared, state, .. } = work;
        let channels = self.outputs * self.groups;
        let (width, padded_width) = (self.output[1] * channels, self.padded_output[1] * channels);
        let first = self.margin[0] * padded_width + self.margin[1] * channels;
        for image in 0..pass.images {
            let from = &data.d_output[image * self.output_size()..][..self.output_size()];
            paste(from, width, &mut state.padded_gradient, padded_width, first);
            let to = &mut d_input[image * self.input_size()..][..self.input_size()];
            for (Phase { rows, taps, .. }, packed) in self.phases.iter().zip(&prepared.backward) {
                if taps.is_empty() {
                    rows.outs.iter().for_each(|out| to[*out..][..self.inputs].fill(0.0));
                    continue;
                }
                let depth = taps.len() * self.outputs;
                let factors = Product {
                    rows,
                    count: rows.bases.len(),
                    data: &state.padded_gradient,
                    matrix: PackedMatrix { packed, depth, width: self.inputs },
                    init: Init::Zero,
                };
                product(pass.isa, factors, to);
            }
        }
    }

    fn measure(&self, work: Work<'_, Self>, data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        let Work { pass, prepared, state, scratch } = work;
        let ConvolutionState { padded_input, gradients, .. } = state;
        let source = if self.is_padded() { padded_input } else { data.input };
        let factors = Factors { pass, data: source, d_output: data.d_output };
        if self.method == NormMethod::Ghost {
            norms[0].extend((0..pass.examples()).map(|example| self.ghost_norm(factors, scratch, example)));
            return;
        }
        let gradients = gradients.chunks_exact_mut(self.parameters()).take(pass.examples());
        for (example, gradient) in gradients.enumerate() {
            let images = example * pass.views..(example + 1) * pass.views;
            self.mapped_gradient(factors, prepared, images, gradient);
            norms[0].push(NormBound::of_whole(sum_of_squares(pass.isa, gradient)));
        }
    }

    fn accumulate(
        &self,
        work: Work<'_, Self>,
        input: &[f32],
        d_output: &mut [f32],
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let Work { pass, prepared, state, .. } = work;
        if let (Some(weights), NormMethod::Materialised) = (weights, self.method) {
            add_weighted(pass.isa, sum, &weights[0], &state.gradients);
            return;
        }
        if let Some(weights) = weights {
            weigh(pass.isa, &mut d_output[..pass.images * self.output_size()], &weights[0]);
        }
        let factors = Factors { pass, data: state.source(self, input), d_output };
        if self.is_standardised {
            let mut whole = vec![0.0; self.parameters()];
            self.mapped_gradient(factors, prepared, 0..pass.images, &mut whole);
            add_scaled(pass.isa, sum, 1.0, &whole);
        } else {
            self.gradient(factors, 0..pass.images, Write::Add, sum);
        }
    }

    fn erase(&self, _pass: &Pass, state: &mut ConvolutionState, images: Range<usize>) {
        if self.is_padded() {
            let numbers = images.start * self.padded_size()..images.end * self.padded_size();
            state.padded_input[numbers].fill(0.0);
        }
    }
}
