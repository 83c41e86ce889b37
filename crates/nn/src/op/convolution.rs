//! Two-dimensional convolutions, without copies of patches.
//!
//! # Definition
//! On a picture with channels last, padded by zeros,
//! ```text
//! y[oy, ox, n] = bias[n] + Σ_(ky, kx, c) x[oy s + ky d, ox s + kx d, c] W[ky, kx, c, n]            (1)
//! ```
//! with stride s and dilation d. A line of the kernel is a run of memory, so (1) is a product of rows in segments (see
//! [`product`]); so is the gradient by W, and so is that by x: pixels with the same remainder modulo the stride get their
//! slopes from the same taps, and for each remainder (a *phase*) it is a convolution of stride 1 with those taps.
//!
//! With groups, channels are cut into that many parts and each output sees the inputs of its part.
//!
//! Weights are in the order (group, ky, kx, c, n), then the bias.
//!
//! # Weight standardisation
//! Each output's weights are brought to mean 0 and variance 1 before use (Qiao, Wang, Liu, Shen, Yuille, *Micro-Batch Training with
//! Batch-Channel Normalization and Weight Standardization*, 2019). That is a function of the parameters alone, so it mixes no records;
//! an example's gradient by the parameters is a linear map of that by the standardised weights, and what is clipped is the former.

mod geometry;
mod standard;

pub(crate) use geometry::Window;

use geometry::Phase;
use standard::{standard_slopes, standardise};

use super::{Leaf, Op, Pass, Ready, SPARE, Saved, Size, Style, cheapest, ghost, uniform_start, weigh};
use crate::kernel::outer::{Columns, Write, outer, sum_rows};
use crate::kernel::pointwise::{add_scaled, add_weighted, sum_of_squares};
use crate::kernel::product::{Init, Rows, pack, packed_len, product};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Convolution {
    window: Window,
    /// Lines and columns.
    input: [usize; 2],
    output: [usize; 2],
    /// In each group.
    inputs: usize,
    outputs: usize,
    groups: usize,
    has_bias: bool,
    is_standardised: bool,
    positions: usize,
    style: Style,
    /// One for each group.
    forward: Vec<Rows>,
    phases: Vec<Phase>,
    /// Lines and columns of padded slopes, and where the first slope is.
    slopes: [usize; 2],
    margin: [usize; 2],
}

impl Convolution {
    /// The caller has checked that the kernel fits and that groups divide channels.
    pub(crate) fn new(
        input: Shape,
        channels: usize,
        window: Window,
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
        let style = match cheapest(positions, inputs * window.kernel[0] * window.kernel[1], outputs) {
            // One position is no common case: the general road serves.
            Style::RankOne => Style::Materialised,
            style @ (Style::Materialised | Style::Ghost) => style,
        };
        let margin =
            [0, 1].map(|axis| (window.kernel[axis] - 1) * window.dilation[axis] / window.stride[axis]);
        let slopes = [0, 1].map(|axis| {
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
            style,
            forward: Vec::new(),
            phases: Vec::new(),
            slopes,
            margin,
        };
        this.forward = (0..groups).map(|group| this.forward_rows(group)).collect();
        this.phases = (0..groups).flat_map(|group| this.phases_of(group)).collect();
        this
    }

    /// With weights brought to mean 0 and variance 1. Gradients are materialised: they are mapped before they are measured.
    pub(crate) fn standardised(self) -> Self {
        Self { is_standardised: true, style: Style::Materialised, ..self }
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

    /// K of one group.
    fn depth(&self) -> usize {
        self.window.kernel[0] * self.window.kernel[1] * self.inputs
    }

    fn weights(&self) -> usize {
        self.groups * self.depth() * self.outputs
    }

    /// The input as the products see it: padded, or as it is.
    fn source<'a>(&self, input: &'a [f32], saved: &'a Saved, image: usize) -> &'a [f32] {
        let data = if self.window.padding == [0, 0] { input } else { &saved.input };
        &data[image * self.padded_size()..][..self.padded_size()]
    }

    /// The gradient of some images by the weights as they are used.
    #[allow(clippy::too_many_arguments, reason = "all that a gradient is made of")]
    fn gradient(
        &self,
        pass: &Pass,
        input: &[f32],
        d_output: &[f32],
        saved: &Saved,
        images: std::ops::Range<usize>,
        write: Write,
        sum: &mut [f32],
    ) {
        let (pixels, channels) = (self.output[0] * self.output[1], self.outputs * self.groups);
        let (weights, bias) = sum.split_at_mut(self.weights());
        for image in images.clone() {
            let write = if image == images.start { write } else { Write::Add };
            let data = self.source(input, saved, image);
            let parts = weights.chunks_exact_mut(self.depth() * self.outputs).zip(&self.forward);
            for (group, (part, rows)) in parts.enumerate() {
                let start = image * self.output_size() + group * self.outputs;
                let columns = Columns { data: d_output, start, step: channels, width: self.outputs };
                outer(pass.isa, rows, pixels, data, columns, self.style.run(), write, part);
            }
            if self.has_bias {
                let start = image * self.output_size();
                let columns = Columns { data: d_output, start, step: channels, width: channels };
                sum_rows(pass.isa, columns, pixels, self.style.run(), write, bias);
            }
        }
    }

    /// The gradient of some images by the parameters: [`gradient`](Self::gradient), mapped where weights are standardised.
    #[allow(clippy::too_many_arguments, reason = "all that a gradient is made of")]
    fn mapped_gradient(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        saved: &Saved,
        images: std::ops::Range<usize>,
        sum: &mut [f32],
    ) {
        self.gradient(pass, input, d_output, saved, images, Write::Set, sum);
        if self.is_standardised {
            let (standard, factors) = ready.exact.split_at(self.weights());
            let groups = sum[..self.weights()].chunks_exact_mut(self.depth() * self.outputs);
            let standards = standard.chunks_exact(self.depth() * self.outputs);
            for ((sum, standard), factors) in groups.zip(standards).zip(factors.chunks_exact(self.outputs)) {
                standard_slopes(sum, standard, factors);
            }
        }
    }

    /// By [`ghost`], group after group: their gradients are different weights.
    fn ghost_size(
        &self,
        pass: &Pass,
        input: &[f32],
        d_output: &[f32],
        saved: &Saved,
        room: &mut Vec<f32>,
        example: usize,
    ) -> Size {
        let pixels = self.output[0] * self.output[1];
        let channels = self.outputs * self.groups;
        let images = || example * pass.views..(example + 1) * pass.views;
        let mut size = Size { squared: 0.0, spread: 0.0, largest: 0.0 };
        for (group, rows) in self.forward.iter().enumerate() {
            room.clear();
            for image in images() {
                let data = self.source(input, saved, image);
                for base in &rows.bases {
                    for segment in &rows.segments {
                        room.extend_from_slice(&data[base + segment.offset..][..segment.length]);
                    }
                }
            }
            for image in images() {
                for pixel in 0..pixels {
                    let start = image * self.output_size() + pixel * channels + group * self.outputs;
                    room.extend_from_slice(&d_output[start..start + self.outputs]);
                }
            }
            let (patches, slopes) = room.split_at(self.positions * self.depth());
            let part = ghost::size(patches, slopes, self.positions, self.has_bias);
            size.squared += part.squared;
            size.spread += part.spread;
            size.largest = if part.largest > size.largest || !part.largest.is_finite() {
                part.largest
            } else {
                size.largest
            };
        }
        size
    }
}

/// Copies lines of `line` numbers into the middle of a larger picture.
fn place(from: &[f32], line: usize, to: &mut [f32], to_line: usize, first: usize) {
    for (y, from) in from.chunks_exact(line).enumerate() {
        to[first + y * to_line..][..line].copy_from_slice(from);
    }
}

impl Op for Convolution {
    fn output(&self) -> Shape {
        let [height, width] = self.output;
        Shape::Image { channels: self.outputs * self.groups, height, width }
    }

    fn parameters(&self) -> usize {
        self.weights() + if self.has_bias { self.outputs * self.groups } else { 0 }
    }

    fn leaves(&self) -> Vec<Leaf> {
        vec![Leaf { parameters: self.parameters(), style: self.style, positions: self.positions }]
    }

    fn room(&self, _images: usize) -> usize {
        match self.style {
            // Patches and slopes of one group of channels, of one example.
            Style::Ghost => self.positions * (self.depth() + self.outputs),
            Style::RankOne | Style::Materialised => 0,
        }
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        uniform_start(self.depth(), uniform, parameters);
    }

    fn prepare(&self, parameters: &[f64], ready: &mut Ready) {
        let (depth, n) = (self.depth(), self.outputs);
        ready.panels.resize_with(1 + self.groups + self.phases.len(), Vec::new);
        let (bias, panels) = ready.panels.split_at_mut(1);
        bias[0].resize(n * self.groups, 0.0);
        bias[0].iter_mut().zip(&parameters[self.weights()..]).for_each(|(bias, p)| *bias = *p as f32);
        let mut weights = &parameters[..self.weights()];
        if self.is_standardised {
            ready.exact.clear();
            ready.exact.extend_from_slice(weights);
            let groups = ready.exact.chunks_exact_mut(depth * n);
            let factors: Vec<f64> = groups.flat_map(|group| standardise(group, n)).collect();
            ready.exact.extend(factors);
            weights = &ready.exact;
        }
        let (forward, backward) = panels.split_at_mut(self.groups);
        let of_group = |group: usize| &weights[group * depth * n..][..depth * n];
        for (group, panel) in forward.iter_mut().enumerate() {
            panel.resize(packed_len(depth, n), 0.0);
            let weights = of_group(group);
            pack(panel, depth, n, |k, output| weights[k * n + output] as f32);
        }
        // A stride beyond the kernel leaves pixels that no output sees.
        let phases = self.phases.iter().zip(backward).filter(|(phase, _)| !phase.taps.is_empty());
        for (phase, panel) in phases {
            panel.resize(packed_len(phase.taps.len() * n, self.inputs), 0.0);
            let weights = of_group(phase.group);
            pack(panel, phase.taps.len() * n, self.inputs, |k, input| {
                weights[(phase.taps[k / n] * self.inputs + input) * n + k % n] as f32
            });
        }
    }

    fn save(&self, images: usize) -> Saved {
        let is_padded = self.window.padding != [0, 0];
        let views = self.positions / (self.output[0] * self.output[1]);
        let gradients = match self.style {
            Style::Materialised => images / views * self.parameters(),
            Style::RankOne | Style::Ghost => 0,
        };
        Saved {
            input: vec![0.0; if is_padded { images * self.padded_size() + SPARE } else { 0 }],
            work: vec![0.0; self.slopes[0] * self.slopes[1] * self.outputs * self.groups + SPARE],
            gradients: vec![0.0; gradients],
            ..Saved::default()
        }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let channels = self.inputs * self.groups;
        for image in 0..pass.images {
            if self.window.padding != [0, 0] {
                let (line, padded_line) = (self.input[1] * channels, self.padded()[1] * channels);
                let first = self.window.padding[0] * padded_line + self.window.padding[1] * channels;
                let from = &input[image * self.input_size()..][..self.input_size()];
                let to = &mut saved.input[image * self.padded_size()..][..self.padded_size()];
                place(from, line, to, padded_line, first);
            }
            let data = self.source(input, saved, image);
            let to = &mut output[image * self.output_size()..][..self.output_size()];
            for (group, rows) in self.forward.iter().enumerate() {
                let init = Init::Bias(&ready.panels[0][group * self.outputs..][..self.outputs]);
                let packed = &ready.panels[1 + group];
                product(pass.isa, rows, rows.bases.len(), data, packed, self.outputs, init, to);
            }
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        ready: &Ready,
        _input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let Some(d_input) = d_input else { return };
        let channels = self.outputs * self.groups;
        let (line, padded_line) = (self.output[1] * channels, self.slopes[1] * channels);
        let first = self.margin[0] * padded_line + self.margin[1] * channels;
        for image in 0..pass.images {
            let from = &d_output[image * self.output_size()..][..self.output_size()];
            place(from, line, &mut saved.work, padded_line, first);
            let to = &mut d_input[image * self.input_size()..][..self.input_size()];
            for (phase, packed) in self.phases.iter().zip(&ready.panels[1 + self.groups..]) {
                if phase.taps.is_empty() {
                    phase.rows.outs.iter().for_each(|out| to[*out..][..self.inputs].fill(0.0));
                    continue;
                }
                let count = phase.rows.bases.len();
                product(pass.isa, &phase.rows, count, &saved.work, packed, self.inputs, Init::Zero, to);
            }
        }
    }

    fn measure(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        saved: &mut Saved,
        sizes: &mut [Vec<Size>],
    ) {
        // Out of the way of the borrow of the rest.
        if self.style == Style::Ghost {
            let mut room = std::mem::take(&mut saved.room);
            let size = |example| self.ghost_size(pass, input, d_output, saved, &mut room, example);
            sizes[0].extend((0..pass.examples()).map(size));
            saved.room = room;
            return;
        }
        let mut gradients = std::mem::take(&mut saved.gradients);
        for (example, gradient) in
            gradients.chunks_exact_mut(self.parameters()).take(pass.examples()).enumerate()
        {
            let images = example * pass.views..(example + 1) * pass.views;
            self.mapped_gradient(pass, ready, input, d_output, saved, images, gradient);
            sizes[0].push(Size::of_whole(sum_of_squares(pass.isa, gradient)));
        }
        saved.gradients = gradients;
    }

    fn accumulate(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &mut [f32],
        saved: &mut Saved,
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        if let (Some(weights), Style::Materialised) = (weights, self.style) {
            add_weighted(pass.isa, sum, &weights[0], &saved.gradients);
            return;
        }
        if let Some(weights) = weights {
            weigh(pass.isa, &mut d_output[..pass.images * self.output_size()], &weights[0]);
        }
        if self.is_standardised {
            let mut whole = vec![0.0; self.parameters()];
            self.mapped_gradient(pass, ready, input, d_output, saved, 0..pass.images, &mut whole);
            add_scaled(pass.isa, sum, 1.0, &whole);
        } else {
            self.gradient(pass, input, d_output, saved, 0..pass.images, Write::Add, sum);
        }
    }

    fn erase(&self, _pass: &Pass, saved: &mut Saved, images: std::ops::Range<usize>) {
        if self.window.padding != [0, 0] {
            saved.input[images.start * self.padded_size()..images.end * self.padded_size()].fill(0.0);
        }
    }
}
