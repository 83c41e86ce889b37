//! What a layer does to a micro-batch.
//!
//! # Definition
//! A micro-batch has M examples of V views each, `M V` images in memory one after the other (or inputs wherever they are, see [`Pass::inputs`]). A layer with weights knows of each
//! example, once its inputs `a_t` and the slopes `d_t` of the example's loss by its outputs are there (t over the positions of all views),
//! ```text
//! g = Σ_t a_t d_t^T          squared length and b = Σ_t ‖a_t‖ ‖d_t‖
//! ```
//! by one of three [`Style`]s, and then adds `Σ_i w_i g_i` to a sum: book-keeping (Bu, Wang, Zha, Karypis, *Differentially
//! Private Optimization on Large Model at Small Cost*, 2022), one backward pass in all.
//!
//! # Lengths
//! A [`Size`] is an upper bound: sums of squares are in double precision, or in short chains of single precision, and enlarged by more than their error. Where a gradient is
//! materialised it is the number itself that is measured and later added, so its own rounding does not matter, and b is the length.

pub(crate) mod activation;
pub(crate) mod convolution;
pub(crate) mod copied;
pub(crate) mod dropout;
pub(crate) mod embedding;
pub(crate) mod flatten;
pub(crate) mod frozen;
pub(crate) mod ghost;
pub(crate) mod linear;
pub(crate) mod normalisation;
pub(crate) mod pooling;
pub(crate) mod residual;

use std::fmt::Debug;

use crate::chain::ChainState;
use crate::kernel::isa::Isa;
use crate::kernel::outer::{FREE_RUN, RUN};
use crate::kernel::product::Rows;
use crate::shape::Shape;

/// Numbers that arrays have to spare at their ends, for loads of whole lines.
pub(crate) const SPARE: usize = crate::kernel::isa::LANES;

/// What is the same for all layers of one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) isa: Isa,
    /// M V.
    pub(crate) images: usize,
    /// V.
    pub(crate) views: usize,
    /// Whether lengths are wanted, and per-example gradients kept.
    pub(crate) is_private: bool,
    /// Whether sums are known to be zero: those of a group that begins.
    pub(crate) begins: bool,
    /// Public seeds of each image's random choices: of its slot, its view and the parameters, not of its place. None where nothing is
    /// learned.
    pub(crate) seeds: &'a [u64],
    /// Of each image the input, for a layer that reads it where it is.
    pub(crate) inputs: Option<&'a [&'a [f32]]>,
}

impl Pass<'_> {
    /// M.
    pub(crate) fn examples(&self) -> usize {
        self.images / self.views
    }
}

/// Weights as the inner loops want them.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    pub(crate) panels: Vec<Vec<f32>>,
    /// What is wanted in double precision: standardised weights and then their factors; gains and shifts.
    pub(crate) exact: Vec<f64>,
    /// Where the first panel begins, if not at its beginning.
    pub(crate) start: usize,
    pub(crate) inner: Vec<Ready>,
}

/// What a layer keeps of one micro-batch.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    /// Its own form of the input, or derivatives.
    pub(crate) input: Vec<f32>,
    /// A place to work in.
    pub(crate) work: Vec<f32>,
    /// Another, which the layers of a chain lend each other.
    pub(crate) room: Vec<f32>,
    /// Of each input its squared length, where a product has it by the way; of each normalised image what [`normalisation`] keeps.
    pub(crate) statistics: Vec<f64>,
    /// Gradients of all examples, where they are materialised.
    pub(crate) gradients: Vec<f32>,
    /// Rows of inputs, of slopes as factors of products, and of slopes as factors of outer products.
    pub(crate) rows: Rows,
    pub(crate) back: Rows,
    pub(crate) slopes: Rows,
    pub(crate) inner: Vec<ChainState>,
    pub(crate) sizes: Vec<Vec<Size>>,
}

impl Saved {
    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> usize {
        // By name: an array that is added has to be counted.
        let Self { input, work, room, statistics, gradients, rows, back, slopes, inner, sizes } = self;
        let numbers = [input, work, room, gradients].into_iter().map(held).sum::<usize>();
        let tables = [rows, back, slopes].into_iter();
        let tables = tables.map(|rows| held(&rows.bases) + held(&rows.outs) + held(&rows.segments));
        let sizes = held(sizes) + sizes.iter().map(held).sum::<usize>();
        let states = held(inner) + inner.iter().map(ChainState::bytes).sum::<usize>();
        numbers + held(statistics) + tables.sum::<usize>() + sizes + states
    }
}

/// Bytes that an array has reserved.
pub(crate) fn held<T>(array: &Vec<T>) -> usize {
    array.capacity() * size_of::<T>()
}

/// How a layer comes by lengths of gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// One position: the length of an outer product is the product of lengths.
    RankOne,
    /// The gradient of each example is formed and kept.
    Materialised,
    /// `‖Σ a_t d_t^T‖² = Σ_st (a_s·a_t)(d_s·d_t)`, and no gradient is formed.
    Ghost,
}

impl Style {
    /// Rows of one chain of additions in outer products of such layers.
    pub(crate) fn run(self) -> usize {
        match self {
            Style::Materialised => FREE_RUN,
            Style::RankOne | Style::Ghost => RUN,
        }
    }
}

/// How long one example's gradient is in one layer; upper bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    /// `‖g‖²`.
    pub(crate) squared: f64,
    /// `b²`.
    pub(crate) spread: f64,
    /// At least the largest entry of a and of d.
    pub(crate) largest: f64,
}

/// More than the relative error of a sum of squares in double precision, of all lengths that fit in memory.
const MARGIN: f64 = 1.0 + 1e-6;

impl Size {
    /// Of a gradient that was measured as a whole.
    pub(crate) fn of_whole(squared: f64) -> Self {
        let squared = squared * MARGIN;
        Self { squared, spread: squared, largest: squared.sqrt() }
    }

    /// Of `Σ a_t d_t^T`, from its computed squared length, `Σ ‖a_t‖ ‖d_t‖`, the longest of the vectors, and the number of
    /// operations in a chain of the computation.
    pub(crate) fn of_sum(squared: f64, spread: f64, largest: f64, operations: f64) -> Self {
        let spread = spread * spread * MARGIN;
        // What cancels was computed from numbers as large as the spread.
        let cancelled = spread * operations * f64::EPSILON;
        Self { squared: squared.max(0.0) * MARGIN + cancelled, spread, largest: largest * MARGIN }
    }
}

/// A layer that maps one array to another.
pub(crate) trait Op: Debug + Send + Sync {
    fn output(&self) -> Shape;

    /// Numbers that are learned.
    fn parameters(&self) -> usize {
        0
    }

    /// Its parts with weights, in the order of their parameters: how many parameters each has.
    fn leaves(&self) -> Vec<Leaf> {
        Vec::new()
    }

    /// Numbers of an example's gradient that are kept. Like [`footprint`](Self::footprint), for the choice of micro-batches.
    fn materialised(&self) -> usize {
        let leaves = self.leaves();
        let kept = leaves.iter().filter(|leaf| leaf.style == Style::Materialised);
        kept.map(|leaf| leaf.parameters).sum()
    }

    /// Numbers of one image that come by in the inner loops, beside its input and output: what micro-batches are chosen by. What is kept is more, and
    /// [`Saved::bytes`] has it.
    fn footprint(&self) -> usize {
        0
    }

    /// Most numbers of [`Saved::room`] that it works in, for that many images.
    fn room(&self, _images: usize) -> usize {
        0
    }

    /// Parameters to begin with, from uniform numbers in [-1, 1).
    fn initialise(&self, _uniform: &mut dyn FnMut() -> f64, _parameters: &mut [f64]) {}

    /// Puts weights in the form that the inner loops want.
    fn prepare(&self, _parameters: &[f64], _ready: &mut Ready) {}

    /// What it needs for that many images: all of it, so that nothing grows later and whoever counts it has counted everything.
    fn save(&self, _images: usize) -> Saved {
        Saved::default()
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved);

    /// Slopes by inputs from slopes by outputs, where somebody wants them.
    fn backward(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    );

    /// Measures each example's gradient: `sizes[leaf][example]`. After `backward`.
    fn measure(
        &self,
        _pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &[f32],
        _saved: &mut Saved,
        _sizes: &mut [Vec<Size>],
    ) {
    }

    /// Adds `Σ_i w_i g_i` to `sum`, with `weights[leaf][example]`, or 1 where none are given. After `measure`, if weights are given.
    /// Inputs and slopes of an example that must not count have been erased.
    #[allow(clippy::too_many_arguments, reason = "all that a gradient is made of")]
    fn accumulate(
        &self,
        _pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &mut [f32],
        _saved: &mut Saved,
        _weights: Option<&[Vec<f32>]>,
        _sum: &mut [f32],
    ) {
    }

    /// Overwrites what was kept of some images with zeros, if it takes part in products.
    fn erase(&self, _pass: &Pass, _saved: &mut Saved, _images: std::ops::Range<usize>) {}

    /// Whether it can read [`Pass::inputs`] instead of an array.
    fn reads_in_place(&self) -> bool {
        false
    }

    /// Inputs, outputs and whether there is a bias, if this is a dense layer on one position.
    fn as_rank_one(&self) -> Option<(usize, usize, bool)> {
        None
    }
}

/// A part with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    pub(crate) parameters: usize,
    pub(crate) style: Style,
    /// T V: outer products that make up an example's gradient.
    pub(crate) positions: usize,
}

/// Which style costs least, for T positions of K inputs and N outputs. A materialised number is written, read and added, some eight
/// multiplications' worth; a Gram matrix is computed in double precision.
pub(crate) fn cheapest(positions: usize, inputs: usize, outputs: usize) -> Style {
    let (t, k, n) = (positions as f64, inputs as f64, outputs as f64);
    if positions == 1 {
        Style::RankOne
    } else if 1.5 * t * t * (k + n) < 8.0 * k * n {
        Style::Ghost
    } else {
        Style::Materialised
    }
}

/// Uniform in ±1/sqrt(inputs of a neuron), as PyTorch has it for dense layers and convolutions.
pub(crate) fn uniform_start(inputs: usize, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
    let bound = (inputs as f64).sqrt().recip();
    parameters.iter_mut().for_each(|parameter| *parameter = bound * uniform());
}

/// Multiplies each example's part of an array by its weight; one of weight 0 becomes 0, whatever it was.
pub(crate) fn weigh(isa: Isa, data: &mut [f32], weights: &[f32]) {
    let part = data.len() / weights.len().max(1);
    for (part, weight) in data.chunks_exact_mut(part.max(1)).zip(weights) {
        if *weight == 0.0 {
            part.fill(0.0);
        } else {
            crate::kernel::pointwise::scale_all(isa, part, *weight);
        }
    }
}
