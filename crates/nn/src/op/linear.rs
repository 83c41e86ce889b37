//! Dense layers, at one position or at each of a sequence.
//!
//! ```text
//! y_t = W x_t + bias
//! ```
//! W has a row for each output. The bias is a weight whose input is 1: with one position a record's gradient has squared length
//! `‖d‖² (‖x‖² + 1)`; with more, that of the bias is `‖Σ_t d_t‖²` and not `Σ_t ‖d_t‖²`. Layers of few outputs have [loops](crate::kernel::narrow) of
//! their own.

use super::{Leaf, Op, Pass, Ready, SPARE, Saved, Size, Style, cheapest, ghost, uniform_start, weigh};
use crate::kernel::dense::{Matrix, dense_product, dense_room, is_worthwhile};
use crate::kernel::isa::{Isa, LANES};
use crate::kernel::narrow::{is_narrow, narrow_len, narrow_outer, narrow_product, pack_narrow};
use crate::kernel::outer::{Columns, Write, outer, sum_rows};
use crate::kernel::pointwise::{add_weighted, sum_of_squares};
use crate::kernel::product::{Init, Rows, Segment, pack_columns, pack_rows, packed_len, product};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Linear {
    input: Shape,
    inputs: usize,
    outputs: usize,
    has_bias: bool,
    /// T V.
    positions: usize,
    style: Style,
}

impl Linear {
    pub(crate) fn new(input: Shape, outputs: usize, has_bias: bool, views: usize) -> Self {
        let (inputs, positions) = (input.channels(), input.positions() * views);
        Self { input, inputs, outputs, has_bias, positions, style: cheapest(positions, inputs, outputs) }
    }

    fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    fn is_narrow(&self) -> bool {
        self.style == Style::RankOne && is_narrow(self.inputs, self.outputs)
    }

    /// Inputs of all images, wherever they are.
    fn rows<'a>(&self, pass: &Pass<'a>, input: &'a [f32]) -> Vec<&'a [f32]> {
        let rows = || input.chunks_exact(self.inputs).take(pass.images).collect();
        pass.inputs.map_or_else(rows, <[&[f32]]>::to_vec)
    }

    /// The gradient over `rows` rows, by rows of W, then the bias.
    #[allow(clippy::too_many_arguments, reason = "all that a gradient is made of")]
    fn gradient(
        &self,
        pass: &Pass,
        rows: &Rows,
        input: &[f32],
        slopes: &[f32],
        count: usize,
        write: Write,
        sum: &mut [f32],
    ) {
        let (weights, bias) = sum.split_at_mut(self.weights());
        if self.is_narrow() {
            narrow_outer(pass.isa, self.outputs, slopes, &self.rows(pass, input), write, weights);
        } else {
            let columns = Columns { data: input, start: 0, step: self.inputs, width: self.inputs };
            outer(pass.isa, rows, count, slopes, columns, self.style.run(), write, weights);
        }
        if self.has_bias {
            let columns = Columns { data: slopes, start: 0, step: self.outputs, width: self.outputs };
            sum_rows(pass.isa, columns, count, self.style.run(), write, bias);
        }
    }
}

/// Rows of slopes as the first factor of outer products; those of inputs have other tables.
fn slope_rows(count: usize, outputs: usize) -> Rows {
    let dense = Rows::dense(count, outputs, outputs);
    Rows { segments: vec![Segment { offset: 0, length: outputs }], ..dense }
}

/// By the product that is faster for so many rows and columns; bits are the same.
#[allow(clippy::too_many_arguments, reason = "all that a product is made of")]
fn multiply(
    isa: Isa,
    table: &Rows,
    rows: usize,
    data: &[f32],
    matrix: Matrix<'_>,
    init: Init<'_>,
    room: &mut Vec<f32>,
    out: &mut [f32],
) {
    if is_worthwhile(isa, rows, matrix.width) {
        dense_product(isa, rows, data, matrix, init, room, out);
    } else {
        product(isa, table, rows, data, matrix.packed, matrix.width, init, out);
    }
}

impl Op for Linear {
    fn output(&self) -> Shape {
        match self.input {
            Shape::Features(_) => Shape::Features(self.outputs),
            Shape::Sequence { length, .. } | Shape::Tokens { length } => {
                Shape::Sequence { length, features: self.outputs }
            }
            Shape::Image { height, width, .. } => Shape::Image { channels: self.outputs, height, width },
        }
    }

    fn parameters(&self) -> usize {
        self.weights() + if self.has_bias { self.outputs } else { 0 }
    }

    fn leaves(&self) -> Vec<Leaf> {
        vec![Leaf { parameters: self.parameters(), style: self.style, positions: self.positions }]
    }

    fn footprint(&self) -> usize {
        // Sums of a narrow product in lanes.
        if self.is_narrow() { self.outputs * LANES } else { 0 }
    }

    fn room(&self, images: usize) -> usize {
        let rows = images * self.input.positions();
        // A narrow product has its sums in lanes, by pairs of rows.
        let forward = if self.is_narrow() {
            rows.next_multiple_of(2) * self.outputs * LANES
        } else {
            dense_room(rows, self.inputs, self.outputs)
        };
        forward.max(dense_room(rows, self.outputs, self.inputs))
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        uniform_start(self.inputs, uniform, parameters);
    }

    fn prepare(&self, parameters: &[f64], ready: &mut Ready) {
        let (k, n) = (self.inputs, self.outputs);
        ready.panels.resize_with(3, Vec::new);
        let [forward, backward, bias] = &mut ready.panels[..] else { unreachable!("three were made") };
        forward.resize(if self.is_narrow() { narrow_len(k, n) } else { packed_len(k, n) }, 0.0);
        backward.resize(packed_len(n, k), 0.0);
        // The weights of a panel's outputs come from memory once, for both.
        for (panel, weights) in parameters[..k * n].chunks(k * LANES).enumerate() {
            if self.is_narrow() {
                ready.start = pack_narrow(forward, n, weights);
            } else {
                pack_columns(&mut forward[panel * k * LANES..][..k * LANES], k, weights);
            }
            pack_rows(backward, n, panel * LANES, k, weights);
        }
        bias.resize(n, 0.0);
        bias.iter_mut().zip(&parameters[self.weights()..]).for_each(|(bias, p)| *bias = *p as f32);
    }

    fn save(&self, images: usize) -> Saved {
        let rows = images * self.input.positions();
        let gradients = match self.style {
            Style::Materialised => images * self.input.positions() / self.positions * self.parameters(),
            Style::RankOne | Style::Ghost => 0,
        };
        Saved {
            rows: Rows::dense(rows, self.inputs, self.outputs),
            back: Rows::dense(rows, self.outputs, self.inputs),
            slopes: slope_rows(rows, self.outputs),
            statistics: Vec::with_capacity(if self.is_narrow() { rows } else { 0 }),
            gradients: vec![0.0; gradients],
            ..Saved::default()
        }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        if self.is_narrow() {
            let (rows, weights) = (self.rows(pass, input), &ready.panels[0][ready.start..]);
            saved.statistics.resize(rows.len(), 0.0);
            let squares = pass.is_private.then_some(&mut saved.statistics[..]);
            narrow_product(pass.isa, &rows, weights, &ready.panels[2], &mut saved.room, squares, output);
            return;
        }
        let count = pass.images * self.input.positions();
        let matrix = Matrix { packed: &ready.panels[0], depth: self.inputs, width: self.outputs };
        let init = Init::Bias(&ready.panels[2]);
        multiply(pass.isa, &saved.rows, count, input, matrix, init, &mut saved.room, output);
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
        let count = pass.images * self.input.positions();
        if let Some(d_input) = d_input {
            let matrix = Matrix { packed: &ready.panels[1], depth: self.outputs, width: self.inputs };
            multiply(pass.isa, &saved.back, count, d_output, matrix, Init::Zero, &mut saved.room, d_input);
        }
    }

    fn measure(
        &self,
        pass: &Pass,
        _ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        saved: &mut Saved,
        sizes: &mut [Vec<Size>],
    ) {
        let rows = self.positions;
        let numbers = |example: usize, width: usize| example * rows * width..(example + 1) * rows * width;
        match self.style {
            Style::RankOne => {
                let inputs = self.rows(pass, input).into_iter().zip(d_output.chunks_exact(self.outputs));
                sizes[0].extend(inputs.enumerate().map(|(row, (a, d))| {
                    let a =
                        if self.is_narrow() { saved.statistics[row] } else { sum_of_squares(pass.isa, a) };
                    let d = sum_of_squares(pass.isa, d);
                    let largest = a.max(d).sqrt();
                    Size { largest, ..Size::of_whole(d * (a + if self.has_bias { 1.0 } else { 0.0 })) }
                }));
            }
            Style::Materialised => {
                for example in 0..pass.examples() {
                    let (a, d) = (numbers(example, self.inputs), numbers(example, self.outputs));
                    let (a, d) = (&input[a.start..a.end + SPARE], &d_output[d.start..d.end + SPARE]);
                    let gradient = &mut saved.gradients[example * self.parameters()..][..self.parameters()];
                    self.gradient(pass, &saved.slopes, a, d, rows, Write::Set, gradient);
                    sizes[0].push(Size::of_whole(sum_of_squares(pass.isa, gradient)));
                }
            }
            Style::Ghost => {
                sizes[0].extend((0..pass.examples()).map(|example| {
                    let (a, d) = (numbers(example, self.inputs), numbers(example, self.outputs));
                    ghost::size(&input[a], &d_output[d], rows, self.has_bias)
                }));
            }
        }
    }

    fn accumulate(
        &self,
        pass: &Pass,
        _ready: &Ready,
        input: &[f32],
        d_output: &mut [f32],
        saved: &mut Saved,
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let count = pass.images * self.input.positions();
        if let (Some(weights), Style::Materialised) = (weights, self.style) {
            add_weighted(pass.isa, sum, &weights[0], &saved.gradients);
            return;
        }
        if let Some(weights) = weights {
            weigh(pass.isa, &mut d_output[..count * self.outputs], &weights[0]);
        }
        let write = if pass.begins { Write::Set } else { Write::Add };
        self.gradient(pass, &saved.slopes, input, d_output, count, write, sum);
    }

    fn reads_in_place(&self) -> bool {
        self.is_narrow()
    }

    fn as_rank_one(&self) -> Option<(usize, usize, bool)> {
        (self.style == Style::RankOne).then_some((self.inputs, self.outputs, self.has_bias))
    }
}
