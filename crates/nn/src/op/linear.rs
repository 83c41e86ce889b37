//! Dense layers, at one position or at each of a sequence.
//!
//! ```text
//! y_t = W x_t + bias
//! ```
//! W has a row for each output. The bias is a weight whose input is 1. With one position, the squared norm
//! of a record's gradient is `‖d‖² (‖x‖² + 1)`. With more, the bias has `‖Σ_t d_t‖²` and not `Σ_t ‖d_t‖²`.
//! Layers with few outputs have [kernels](crate::kernel::narrow) of their own.

use super::{
    LayerData, Leaf, NormBound, NormMethod, Op, Pass, Role, SPARE, State, WeightTensor, Work, ghost,
    reserved, uniform_start, weigh,
};
use crate::kernel::dense::{dense_product, dense_scratch, is_worthwhile};
use crate::kernel::isa::{Isa, LANES};
use crate::kernel::narrow::{is_narrow, narrow_len, narrow_outer, narrow_product, pack_narrow};
use crate::kernel::outer::{Columns, OuterProduct, Write, outer, sum_rows};
use crate::kernel::pointwise::{add_weighted, sum_of_squares};
use crate::kernel::product::{
    Init, PackedMatrix, Product, RowTable, Segment, pack_columns, pack_rows, packed_len, product,
};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Linear {
    input: Shape,
    inputs: usize,
    outputs: usize,
    has_bias: bool,
    /// T V.
    positions: usize,
    method: NormMethod,
}

impl Linear {
    pub(crate) fn new(input: Shape, outputs: usize, has_bias: bool, views: usize) -> Self {
        let (inputs, positions) = (input.channels(), input.positions() * views);
        let method = NormMethod::cheapest(positions, inputs, outputs);
        Self { input, inputs, outputs, has_bias, positions, method }
    }

    fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    fn is_narrow(&self) -> bool {
        self.method == NormMethod::RankOne && is_narrow(self.inputs, self.outputs)
    }

    /// Inputs of all images, wherever they are.
    fn rows<'a>(&self, pass: &Pass<'a>, input: &'a [f32]) -> Vec<&'a [f32]> {
        let rows = || input.chunks_exact(self.inputs).take(pass.images).collect();
        pass.inputs.map_or_else(rows, <[&[f32]]>::to_vec)
    }

    /// The gradient over the first `count` rows of `data`: the rows of W, then the bias. `table` has the rows of
    /// output gradients.
    fn gradient(
        &self,
        pass: &Pass,
        table: &RowTable,
        data: LayerData<'_>,
        count: usize,
        write: Write,
        sum: &mut [f32],
    ) {
        let LayerData { input, d_output } = data;
        let (weights, bias) = sum.split_at_mut(self.weights());
        let run = self.method.run();
        if self.is_narrow() {
            narrow_outer(pass.isa, self.outputs, d_output, &self.rows(pass, input), write, weights);
        } else {
            let columns = Columns { data: input, start: 0, step: self.inputs, width: self.inputs };
            let factors = OuterProduct { rows: table, count, data: d_output, columns, run };
            outer(pass.isa, factors, write, weights);
        }
        if self.has_bias {
            let columns = Columns { data: d_output, start: 0, step: self.outputs, width: self.outputs };
            sum_rows(pass.isa, columns, count, run, write, bias);
        }
    }
}

/// Rows of output gradients as the first factor of outer products, each in one segment.
fn outer_rows(count: usize, outputs: usize) -> RowTable {
    let dense = RowTable::dense(count, outputs, outputs);
    RowTable { segments: vec![Segment { offset: 0, length: outputs }], ..dense }
}

/// Uses the faster of two kernels for so many rows and columns; their results have the same bits.
fn multiply(isa: Isa, factors: Product<'_>, scratch: &mut Vec<f32>, out: &mut [f32]) {
    if is_worthwhile(isa, factors.count, factors.matrix.width) {
        dense_product(isa, factors, scratch, out);
    } else {
        product(isa, factors, out);
    }
}

#[derive(Debug, Default)]
pub(crate) struct LinearWeights {
    /// W packed for the forward product; for narrow layers from `forward_start` on.
    forward: Vec<f32>,
    forward_start: usize,
    /// W packed for the product with output gradients.
    backward: Vec<f32>,
    bias: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct LinearState {
    /// Rows of inputs, for the forward product.
    input_rows: RowTable,
    /// Rows of output gradients, for the backward product.
    backward_rows: RowTable,
    /// Rows of output gradients, as factors of outer products.
    outer_rows: RowTable,
    /// Squared norms of inputs, which the narrow product computes in passing.
    input_squares: Vec<f64>,
    /// Gradients of all examples, if they are materialised.
    gradients: Vec<f32>,
}

impl State for LinearState {
    fn bytes(&self) -> usize {
        let Self { input_rows, backward_rows, outer_rows, input_squares, gradients } = self;
        let tables = [input_rows, backward_rows, outer_rows].map(RowTable::bytes);
        tables.into_iter().sum::<usize>() + reserved(input_squares) + reserved(gradients)
    }
}

impl Op for Linear {
    type Prepared = LinearWeights;
    type State = LinearState;

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
        vec![Leaf { parameters: self.parameters(), method: self.method, positions: self.positions }]
    }

    fn tensors(&self) -> Vec<WeightTensor> {
        let mut tensors = vec![WeightTensor::weight([self.outputs, self.inputs])];
        tensors.extend(self.has_bias.then(|| WeightTensor::bias(self.outputs)));
        tensors
    }

    fn footprint(&self) -> usize {
        // The narrow product has a vector of partial sums for each output.
        if self.is_narrow() { self.outputs * LANES } else { 0 }
    }

    fn scratch(&self, images: usize) -> usize {
        let rows = images * self.input.positions();
        // The narrow product has partial sums for pairs of rows.
        let forward = if self.is_narrow() {
            rows.next_multiple_of(2) * self.outputs * LANES
        } else {
            dense_scratch(rows, self.inputs, self.outputs)
        };
        forward.max(dense_scratch(rows, self.outputs, self.inputs))
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        uniform_start(self.inputs, uniform, parameters);
    }

    fn prepare(&self, parameters: &[f64], prepared: &mut LinearWeights) {
        let (k, n) = (self.inputs, self.outputs);
        let LinearWeights { forward, forward_start, backward, bias } = prepared;
        forward.resize(if self.is_narrow() { narrow_len(k, n) } else { packed_len(k, n) }, 0.0);
        backward.resize(packed_len(n, k), 0.0);
        // Both layouts are filled while the weights of a panel are in the cache.
        for (panel, weights) in parameters[..k * n].chunks(k * LANES).enumerate() {
            if self.is_narrow() {
                *forward_start = pack_narrow(forward, n, weights);
            } else {
                pack_columns(&mut forward[panel * k * LANES..][..k * LANES], k, weights);
            }
            pack_rows(backward, n, panel * LANES, k, weights);
        }
        bias.resize(n, 0.0);
        bias.iter_mut().zip(&parameters[self.weights()..]).for_each(|(bias, p)| *bias = *p as f32);
    }

    fn state(&self, images: usize, role: Role) -> LinearState {
        let rows = images * self.input.positions();
        let gradients = match (self.method, role) {
            (NormMethod::Materialised, Role::Learned) => rows / self.positions * self.parameters(),
            (NormMethod::Materialised, Role::Frozen) => 0,
            (NormMethod::RankOne | NormMethod::Ghost, _) => 0,
        };
        LinearState {
            input_rows: RowTable::dense(rows, self.inputs, self.outputs),
            backward_rows: RowTable::dense(rows, self.outputs, self.inputs),
            outer_rows: outer_rows(rows, self.outputs),
            input_squares: Vec::with_capacity(if self.is_narrow() { rows } else { 0 }),
            gradients: vec![0.0; gradients],
        }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let Work { pass, prepared, state, scratch } = work;
        if self.is_narrow() {
            let (rows, weights) = (self.rows(pass, input), &prepared.forward[prepared.forward_start..]);
            state.input_squares.resize(rows.len(), 0.0);
            let squares = pass.is_private.then_some(&mut state.input_squares[..]);
            narrow_product(pass.isa, &rows, weights, &prepared.bias, scratch, squares, output);
            return;
        }
        let factors = Product {
            rows: &state.input_rows,
            count: pass.images * self.input.positions(),
            data: input,
            matrix: PackedMatrix { packed: &prepared.forward, depth: self.inputs, width: self.outputs },
            init: Init::Bias(&prepared.bias),
        };
        multiply(pass.isa, factors, scratch, output);
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let Work { pass, prepared, state, scratch } = work;
        let Some(d_input) = d_input else { return };
        let factors = Product {
            rows: &state.backward_rows,
            count: pass.images * self.input.positions(),
            data: data.d_output,
            matrix: PackedMatrix { packed: &prepared.backward, depth: self.outputs, width: self.inputs },
            init: Init::Zero,
        };
        multiply(pass.isa, factors, scratch, d_input);
    }

    fn measure(&self, work: Work<'_, Self>, data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        let Work { pass, state, .. } = work;
        let LayerData { input, d_output } = data;
        let rows = self.positions;
        let numbers = |example: usize, width: usize| example * rows * width..(example + 1) * rows * width;
        match self.method {
            NormMethod::RankOne => {
                let inputs = self.rows(pass, input).into_iter().zip(d_output.chunks_exact(self.outputs));
                norms[0].extend(inputs.enumerate().map(|(row, (a, d))| {
                    let a =
                        if self.is_narrow() { state.input_squares[row] } else { sum_of_squares(pass.isa, a) };
                    let d = sum_of_squares(pass.isa, d);
                    let largest = a.max(d).sqrt();
                    let whole = NormBound::of_whole(d * (a + if self.has_bias { 1.0 } else { 0.0 }));
                    NormBound { largest, ..whole }
                }));
            }
            NormMethod::Materialised => {
                for example in 0..pass.examples() {
                    let (a, d) = (numbers(example, self.inputs), numbers(example, self.outputs));
                    let (a, d) = (&input[a.start..a.end + SPARE], &d_output[d.start..d.end + SPARE]);
                    let gradient = &mut state.gradients[example * self.parameters()..][..self.parameters()];
                    let data = LayerData { input: a, d_output: d };
                    self.gradient(pass, &state.outer_rows, data, rows, Write::Set, gradient);
                    norms[0].push(NormBound::of_whole(sum_of_squares(pass.isa, gradient)));
                }
            }
            NormMethod::Ghost => {
                norms[0].extend((0..pass.examples()).map(|example| {
                    let (a, d) = (numbers(example, self.inputs), numbers(example, self.outputs));
                    ghost::norm(&input[a], &d_output[d], rows, self.has_bias)
                }));
            }
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
        let Work { pass, state, .. } = work;
        let count = pass.images * self.input.positions();
        if let (Some(weights), NormMethod::Materialised) = (weights, self.method) {
            add_weighted(pass.isa, sum, &weights[0], &state.gradients);
            return;
        }
        if let Some(weights) = weights {
            weigh(pass.isa, &mut d_output[..count * self.outputs], &weights[0]);
        }
        let write = if pass.begins_group { Write::Set } else { Write::Add };
        self.gradient(pass, &state.outer_rows, LayerData { input, d_output }, count, write, sum);
    }

    fn reads_in_place(&self) -> bool {
        self.is_narrow()
    }

    fn as_rank_one(&self) -> Option<(usize, usize, bool)> {
        (self.method == NormMethod::RankOne).then_some((self.inputs, self.outputs, self.has_bias))
    }
}
