//! Normalisation of one example by its own numbers.
//!
//! # Definition
//! A *set* of numbers is brought to mean 0 and variance 1 (RMS normalisation: to mean square 1).
//! Then each channel has its gain and shift:
//! ```text
//! x^ = (x - mean)/sqrt(var + ε)          y = gain_c x^ + shift_c                              (1)
//! ```
//!
//! | | a set is | shift |
//! |---|---|---|
//! | group normalisation | some channels at all positions | yes |
//! | layer normalisation | all channels at one position | yes |
//! | root mean square | all channels at one position, mean not subtracted | no |
//!
//! (Wu, He, *Group Normalization*, 2018.)
//!
//! In small sets gradients by x are differences of nearly equal numbers. They are computed in
//! double precision, from x itself and not from rounded x^.
//!
//! An example's gradient is `Σ_t d_t x^_t` by gains and `Σ_t d_t` by shifts: two numbers per
//! channel, which are materialised.
//!
//! # Pitfalls
//! Statistics over the *batch* would let each record change what all others contribute.

use super::{LayerData, Leaf, NormBound, NormMethod, Op, Role, State, WeightTensor, Work, reserved};
use crate::kernel::isa::Isa;
use crate::kernel::normal::{
    ColumnCoefficients, NormalRow, column_backward, column_map, column_moments, column_products, moments,
    row_backward, row_map, row_moments, row_products,
};
use crate::kernel::pointwise::{add_weighted, sum_of_squares};
use crate::shape::Shape;

/// Which numbers are normalised together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sets {
    /// This many groups of channels, each over all positions.
    Groups(usize),
    /// The channels of each position.
    Positions,
    /// The channels of each position, mean not subtracted.
    MeanSquares,
}

#[derive(Debug)]
pub(crate) struct Normalisation {
    shape: Shape,
    sets: Sets,
    epsilon: f32,
    /// Whether there are gains and shifts.
    is_affine: bool,
    /// T V.
    positions: usize,
}

/// Gain and shift of each channel.
#[derive(Debug, Default)]
pub(crate) struct Affine {
    gains: Vec<f64>,
    shifts: Vec<f64>,
}

#[derive(Debug)]
pub(crate) struct NormalisationState {
    /// Mean and `1/sqrt(var + ε)`: per image, of each channel or of each position.
    means: Vec<f64>,
    factors: Vec<f64>,
    /// `Σ d` and `Σ d x^` after the backward pass: per image, of each channel.
    sums: Vec<f64>,
    products: Vec<f64>,
    /// Coefficients of the backward pass of one image: three per channel.
    coefficients: Vec<f64>,
    /// Gradients of all examples.
    gradients: Vec<f32>,
}

impl State for NormalisationState {
    fn bytes(&self) -> usize {
        let Self { means, factors, sums, products, coefficients, gradients } = self;
        let statistics = [means, factors, sums, products, coefficients].into_iter().map(reserved);
        statistics.sum::<usize>() + reserved(gradients)
    }
}

/// The statistics of one image.
struct ImageMoments<'a> {
    means: &'a mut [f64],
    factors: &'a mut [f64],
    sums: &'a mut [f64],
    products: &'a mut [f64],
}

/// One image on its way back: input, output gradient, and where the gradient by the input goes.
struct ImageGradient<'a> {
    x: &'a [f32],
    d: &'a [f32],
    to: Option<&'a mut [f32]>,
}

impl Normalisation {
    pub(crate) fn new(shape: Shape, sets: Sets, epsilon: f32, is_affine: bool, views: usize) -> Self {
        Self { shape, sets, epsilon, is_affine, positions: shape.positions() * views }
    }

    fn has_shift(&self) -> bool {
        self.sets != Sets::MeanSquares
    }

    /// Means of one image: one for each channel, or for each position.
    fn means(&self) -> usize {
        match self.sets {
            Sets::Groups(_) => self.shape.channels(),
            Sets::Positions | Sets::MeanSquares => self.shape.positions(),
        }
    }

    /// The statistics image by image, the coefficients, and the gradients of examples.
    fn split<'a>(
        &self,
        state: &'a mut NormalisationState,
    ) -> (impl Iterator<Item = ImageMoments<'a>>, &'a mut [f64], &'a mut [f32]) {
        let (count, channels) = (self.means(), self.shape.channels());
        let NormalisationState { means, factors, sums, products, coefficients, gradients } = state;
        let statistics = means.chunks_exact_mut(count).zip(factors.chunks_exact_mut(count));
        let by_channel = sums.chunks_exact_mut(channels).zip(products.chunks_exact_mut(channels));
        let images = statistics.zip(by_channel).map(|((means, factors), (sums, products))| ImageMoments {
            means,
            factors,
            sums,
            products,
        });
        (images, coefficients, gradients)
    }

    /// Normalises one image in groups of channels.
    fn map_groups(
        &self,
        isa: Isa,
        groups: usize,
        Affine { gains, shifts }: &Affine,
        x: &[f32],
        y: &mut [f32],
        image: ImageMoments,
    ) {
        // Until the backward pass, the arrays of gradient sums have room for sums of x and x².
        let ImageMoments { means, factors, sums, products: squares } = image;
        let channels = self.shape.channels();
        let (group, count) = (channels / groups, x.len() / groups);
        for (number, means) in means.chunks_exact_mut(group).enumerate() {
            means.fill(f64::from(x[number * group]));
        }
        sums.fill(0.0);
        squares.fill(0.0);
        column_moments(isa, x, means, sums, squares);
        for first in (0..channels).step_by(group) {
            let all = first..first + group;
            let (sum, square) = (sums[all.clone()].iter().sum(), squares[all.clone()].iter().sum());
            let (moved, factor) = moments(sum, square, count, f64::from(self.epsilon));
            means[all.clone()].iter_mut().for_each(|mean| *mean += moved);
            factors[all].fill(factor);
        }
        sums.iter_mut().zip(factors).zip(gains).for_each(|((to, factor), gain)| *to = *factor * gain);
        column_map(isa, x, means, sums, shifts, y);
    }

    /// Normalises one image position by position.
    fn map_positions(&self, isa: Isa, affine: &Affine, x: &[f32], y: &mut [f32], image: ImageMoments) {
        let channels = self.shape.channels();
        let rows = x.chunks_exact(channels).zip(y.chunks_exact_mut(channels));
        for ((x, y), (mean, factor)) in rows.zip(image.means.iter_mut().zip(image.factors)) {
            let from = if self.has_shift() { f64::from(x[0]) } else { 0.0 };
            let [sum, squares] = row_moments(isa, x, from);
            let sum = if self.has_shift() { sum } else { 0.0 };
            let (moved, found) = moments(sum, squares, channels, f64::from(self.epsilon));
            (*mean, *factor) = (from + moved, found);
            row_map(isa, x, *mean, *factor, &affine.gains, &affine.shifts, y);
        }
    }

    /// Sums by channels, and the gradient by x, of one image in groups of channels.
    fn groups_backward(
        &self,
        isa: Isa,
        groups: usize,
        gains: &[f64],
        image: ImageGradient<'_>,
        moments: ImageMoments,
        coefficients: &mut [f64],
    ) {
        let ImageGradient { x, d, to } = image;
        let ImageMoments { means, factors, sums, products } = moments;
        let channels = self.shape.channels();
        sums.fill(0.0);
        products.fill(0.0);
        column_products(isa, x, means, d, sums, products);
        products.iter_mut().zip(&*factors).for_each(|(product, factor)| *product *= factor);
        let Some(to) = to else { return };
        let (a, rest) = coefficients.split_at_mut(channels);
        let (b, e) = rest.split_at_mut(channels);
        let (group, count) = (channels / groups, (x.len() / groups) as f64);
        for first in (0..channels).step_by(group) {
            let all = first..first + group;
            let mean_of = |numbers: &[f64]| {
                let each = numbers[all.clone()].iter().zip(&gains[all.clone()]);
                each.map(|(number, gain)| number * gain).sum::<f64>() / count
            };
            let (mean, part, factor) = (mean_of(sums), mean_of(products), factors[first]);
            for channel in all.clone() {
                a[channel] = factor * gains[channel];
                b[channel] = factor * mean;
                e[channel] = factor * factor * part;
            }
        }
        column_backward(isa, x, means, d, ColumnCoefficients { a, b, e }, to);
    }

    /// The same, position by position.
    fn positions_backward(&self, isa: Isa, gains: &[f64], image: ImageGradient<'_>, moments: ImageMoments) {
        let ImageGradient { x, d, mut to } = image;
        let ImageMoments { means, factors, sums, products } = moments;
        let channels = self.shape.channels();
        sums.fill(0.0);
        products.fill(0.0);
        let rows = x.chunks_exact(channels).zip(d.chunks_exact(channels));
        for (row, ((x, d), (mean, factor))) in rows.zip(means.iter().zip(&*factors)).enumerate() {
            let normal = NormalRow { x, mean: *mean, factor: *factor, gains, d };
            let [sum, product] = row_products(isa, normal, sums, products);
            let b = if self.has_shift() { sum / channels as f64 } else { 0.0 };
            if let Some(to) = &mut to {
                let to = &mut to[row * channels..][..channels];
                row_backward(isa, normal, b, product / channels as f64, to);
            }
        }
    }

    /// Adds the gradient of some images.
    fn gradient<'a>(&self, images: impl Iterator<Item = ImageMoments<'a>>, sum: &mut [f32]) {
        let (gains, shifts) = sum.split_at_mut(self.shape.channels());
        for image in images {
            gains.iter_mut().zip(image.products).for_each(|(gain, product)| *gain += *product as f32);
            shifts.iter_mut().zip(image.sums).for_each(|(shift, sum)| *shift += *sum as f32);
        }
    }
}

impl Op for Normalisation {
    type Prepared = Affine;
    type State = NormalisationState;

    fn output(&self) -> Shape {
        self.shape
    }

    fn parameters(&self) -> usize {
        match (self.is_affine, self.has_shift()) {
            (false, _) => 0,
            (true, false) => self.shape.channels(),
            (true, true) => 2 * self.shape.channels(),
        }
    }

    fn leaves(&self) -> Vec<Leaf> {
        let (parameters, positions) = (self.parameters(), self.positions);
        let leaf = Leaf { parameters, method: NormMethod::Materialised, positions };
        if self.is_affine { vec![leaf] } else { Vec::new() }
    }

    fn tensors(&self) -> Vec<WeightTensor> {
        let channels = self.shape.channels();
        let (gains, shifts) = (WeightTensor::weight([channels]), WeightTensor::bias(channels));
        match (self.is_affine, self.has_shift()) {
            (false, _) => Vec::new(),
            (true, false) => vec![gains],
            (true, true) => vec![gains, shifts],
        }
    }

    fn initialise(&self, _uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        parameters.iter_mut().take(self.shape.channels()).for_each(|gain| *gain = 1.0);
    }

    fn prepare(&self, parameters: &[f64], prepared: &mut Affine) {
        let channels = self.shape.channels();
        let or = |default: f64| move |index: usize| parameters.get(index).copied().unwrap_or(default);
        prepared.gains.clear();
        prepared.gains.extend((0..channels).map(or(1.0)));
        prepared.shifts.clear();
        prepared.shifts.extend((channels..2 * channels).map(or(0.0)));
    }

    fn state(&self, images: usize, role: Role) -> NormalisationState {
        let channels = self.shape.channels();
        let examples = match role {
            Role::Learned => images * self.shape.positions() / self.positions,
            Role::Frozen => 0,
        };
        NormalisationState {
            means: vec![0.0; images * self.means()],
            factors: vec![0.0; images * self.means()],
            sums: vec![0.0; images * channels],
            products: vec![0.0; images * channels],
            coefficients: vec![0.0; 3 * channels],
            gradients: vec![0.0; examples * self.parameters()],
        }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let Work { pass, prepared, state, .. } = work;
        let size = self.shape.size();
        let images = input.chunks_exact(size).zip(output.chunks_exact_mut(size));
        let (moments, ..) = self.split(state);
        for ((x, y), moments) in images.zip(moments).take(pass.images) {
            match self.sets {
                Sets::Groups(groups) => self.map_groups(pass.isa, groups, prepared, x, y, moments),
                Sets::Positions | Sets::MeanSquares => self.map_positions(pass.isa, prepared, x, y, moments),
            }
        }
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, mut d_input: Option<&mut [f32]>) {
        let Work { pass, prepared: Affine { gains, .. }, state, .. } = work;
        let size = self.shape.size();
        let (moments, coefficients, _) = self.split(state);
        for (image, moments) in moments.take(pass.images).enumerate() {
            let all = image * size..(image + 1) * size;
            let (x, d) = (&data.input[all.clone()], &data.d_output[all.clone()]);
            let image = ImageGradient { x, d, to: d_input.as_mut().map(|to| &mut to[all]) };
            match self.sets {
                Sets::Groups(groups) => {
                    self.groups_backward(pass.isa, groups, gains, image, moments, coefficients);
                }
                Sets::Positions | Sets::MeanSquares => {
                    self.positions_backward(pass.isa, gains, image, moments);
                }
            }
        }
    }

    fn measure(&self, work: Work<'_, Self>, _data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        let Work { pass, state, .. } = work;
        let Some(norms) = norms.first_mut() else { return };
        let (mut images, _, gradients) = self.split(state);
        for gradient in gradients.chunks_exact_mut(self.parameters()).take(pass.examples()) {
            gradient.fill(0.0);
            self.gradient(images.by_ref().take(pass.views), gradient);
            norms.push(NormBound::of_whole(sum_of_squares(pass.isa, gradient)));
        }
    }

    fn accumulate(
        &self,
        work: Work<'_, Self>,
        _input: &[f32],
        _d_output: &mut [f32],
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let Work { pass, state, .. } = work;
        match weights {
            Some(weights) => add_weighted(pass.isa, sum, &weights[0], &state.gradients),
            None => self.gradient(self.split(state).0.take(pass.images), sum),
        }
    }
}
