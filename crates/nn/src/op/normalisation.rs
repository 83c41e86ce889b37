//! Normalisation of one example by its own numbers.
//!
//! # Definition
//! A *set* of numbers is brought to mean 0 and variance 1 (for the root mean square: to mean square 1), then each channel has its gain and
//! shift:
//! ```text
//! x^ = (x - mean)/sqrt(var + ε)          y = gain_c x^ + shift_c                                   (1)
//! ```
//!
//! | | a set is | shift |
//! |---|---|---|
//! | group normalisation | some channels at all positions (Wu, He, *Group Normalization*, 2018) | yes |
//! | layer normalisation | all channels at one position | yes |
//! | root mean square | all channels at one position, mean not subtracted | no |
//!
//! Of a set of a few numbers the normalised ones say hardly anything but their order, and slopes by x are differences of nearly equal numbers:
//! they are in double precision, from x itself and not from rounded x^.
//!
//! An example's gradient by gains is `Σ_t d_t x^_t`, by shifts `Σ_t d_t`: two numbers a channel, materialised.
//!
//! # Pitfalls
//! Statistics over the *batch* would let each record change all others' contributions.

use super::{Leaf, Op, Pass, Ready, Saved, Size, Style};
use crate::kernel::isa::Isa;
use crate::kernel::normal::{
    column_map, column_moments, column_products, column_slopes, moments, row_map, row_moments, row_products,
    row_slopes,
};
use crate::kernel::pointwise::{add_weighted, sum_of_squares};
use crate::shape::Shape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sets {
    /// So many groups of channels.
    Groups(usize),
    /// Positions.
    Positions,
    /// Positions, means not subtracted.
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

impl Normalisation {
    pub(crate) fn new(shape: Shape, sets: Sets, epsilon: f32, is_affine: bool, views: usize) -> Self {
        Self { shape, sets, epsilon, is_affine, positions: shape.positions() * views }
    }

    fn has_shift(&self) -> bool {
        self.sets != Sets::MeanSquares
    }

    /// Means and factors of one image: of each channel, or of each position.
    fn lines(&self) -> usize {
        match self.sets {
            Sets::Groups(_) => self.shape.channels(),
            Sets::Positions | Sets::MeanSquares => self.shape.positions(),
        }
    }

    /// Numbers that are kept of one image.
    fn kept(&self) -> usize {
        2 * (self.lines() + self.shape.channels())
    }

    /// Images that were kept; and a place for three numbers of each channel.
    fn split<'a>(&self, statistics: &'a mut [f64]) -> (impl Iterator<Item = Kept<'a>>, &'a mut [f64]) {
        let (lines, channels) = (self.lines(), self.shape.channels());
        let (images, place) = statistics.split_at_mut(statistics.len() - 3 * channels);
        let each = images.chunks_exact_mut(self.kept()).map(move |kept| {
            let (means, rest) = kept.split_at_mut(lines);
            let (factors, rest) = rest.split_at_mut(lines);
            let (sums, products) = rest.split_at_mut(channels);
            Kept { means, factors, sums, products }
        });
        (each, place)
    }

    /// One image, in groups of channels.
    fn map_groups(&self, isa: Isa, groups: usize, ready: &Ready, x: &[f32], y: &mut [f32], kept: Kept) {
        let Kept { means, factors, sums, products: squares } = kept;
        let channels = self.shape.channels();
        let (gains, shifts) = ready.exact.split_at(channels);
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

    /// One image, position by position.
    fn map_positions(&self, isa: Isa, ready: &Ready, x: &[f32], y: &mut [f32], kept: Kept) {
        let channels = self.shape.channels();
        let (gains, shifts) = ready.exact.split_at(channels);
        let rows = x.chunks_exact(channels).zip(y.chunks_exact_mut(channels));
        for ((x, y), (mean, factor)) in rows.zip(kept.means.iter_mut().zip(kept.factors)) {
            let from = if self.has_shift() { f64::from(x[0]) } else { 0.0 };
            let [sum, squares] = row_moments(isa, x, from);
            let sum = if self.has_shift() { sum } else { 0.0 };
            let (moved, found) = moments(sum, squares, channels, f64::from(self.epsilon));
            (*mean, *factor) = (from + moved, found);
            row_map(isa, x, *mean, *factor, gains, shifts, y);
        }
    }

    /// Slopes by x from slopes by y, of one image in groups of channels; and sums by channels.
    #[allow(clippy::too_many_arguments, reason = "what slopes are made of")]
    fn slopes_of_groups(
        &self,
        isa: Isa,
        groups: usize,
        gains: &[f64],
        [x, d]: [&[f32]; 2],
        to: Option<&mut [f32]>,
        kept: Kept,
        place: &mut [f64],
    ) {
        let Kept { means, factors, sums, products } = kept;
        let channels = self.shape.channels();
        sums.fill(0.0);
        products.fill(0.0);
        column_products(isa, x, means, d, sums, products);
        products.iter_mut().zip(&*factors).for_each(|(product, factor)| *product *= factor);
        let Some(to) = to else { return };
        let (a, rest) = place.split_at_mut(channels);
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
        column_slopes(isa, x, means, d, a, b, e, to);
    }

    /// The same, position by position.
    fn slopes_of_positions(
        &self,
        isa: Isa,
        gains: &[f64],
        [x, d]: [&[f32]; 2],
        mut to: Option<&mut [f32]>,
        kept: Kept,
    ) {
        let Kept { means, factors, sums, products } = kept;
        let channels = self.shape.channels();
        sums.fill(0.0);
        products.fill(0.0);
        let rows = x.chunks_exact(channels).zip(d.chunks_exact(channels));
        for (row, ((x, d), (mean, factor))) in rows.zip(means.iter().zip(&*factors)).enumerate() {
            let [sum, product] = row_products(isa, x, *mean, *factor, gains, d, sums, products);
            let b = if self.has_shift() { sum / channels as f64 } else { 0.0 };
            if let Some(to) = &mut to {
                let to = &mut to[row * channels..][..channels];
                row_slopes(isa, x, *mean, *factor, gains, d, b, product / channels as f64, to);
            }
        }
    }

    /// Adds the gradient of images that were kept.
    fn gradient<'a>(&self, images: impl Iterator<Item = Kept<'a>>, sum: &mut [f32]) {
        let (gains, shifts) = sum.split_at_mut(self.shape.channels());
        for kept in images {
            gains.iter_mut().zip(kept.products).for_each(|(gain, product)| *gain += *product as f32);
            shifts.iter_mut().zip(kept.sums).for_each(|(shift, sum)| *shift += *sum as f32);
        }
    }
}

/// What is kept of one image.
struct Kept<'a> {
    means: &'a mut [f64],
    /// `1/sqrt(var + ε)`.
    factors: &'a mut [f64],
    /// `Σ d` and `Σ d x^` of each channel, after the pass back.
    sums: &'a mut [f64],
    products: &'a mut [f64],
}

impl Op for Normalisation {
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
        let leaf =
            Leaf { parameters: self.parameters(), style: Style::Materialised, positions: self.positions };
        if self.is_affine { vec![leaf] } else { Vec::new() }
    }

    fn initialise(&self, _uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        parameters.iter_mut().take(self.shape.channels()).for_each(|gain| *gain = 1.0);
    }

    fn prepare(&self, parameters: &[f64], ready: &mut Ready) {
        let channels = self.shape.channels();
        let or = |default: f64| move |index: usize| parameters.get(index).copied().unwrap_or(default);
        ready.exact.clear();
        ready.exact.extend((0..channels).map(or(1.0)));
        ready.exact.extend((channels..2 * channels).map(or(0.0)));
    }

    fn save(&self, images: usize) -> Saved {
        let examples = images * self.shape.positions() / self.positions;
        Saved {
            statistics: vec![0.0; images * self.kept() + 3 * self.shape.channels()],
            gradients: vec![0.0; examples * self.parameters()],
            ..Saved::default()
        }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let size = self.shape.size();
        let images = input.chunks_exact(size).zip(output.chunks_exact_mut(size));
        let (kept, _) = self.split(&mut saved.statistics);
        for ((x, y), kept) in images.zip(kept).take(pass.images) {
            match self.sets {
                Sets::Groups(groups) => self.map_groups(pass.isa, groups, ready, x, y, kept),
                Sets::Positions | Sets::MeanSquares => self.map_positions(pass.isa, ready, x, y, kept),
            }
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        mut d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let (size, gains) = (self.shape.size(), &ready.exact[..self.shape.channels()]);
        let (kept, place) = self.split(&mut saved.statistics);
        for (image, kept) in kept.take(pass.images).enumerate() {
            let all = image * size..(image + 1) * size;
            let from = [&input[all.clone()], &d_output[all.clone()]];
            let to = d_input.as_mut().map(|to| &mut to[all]);
            match self.sets {
                Sets::Groups(groups) => {
                    self.slopes_of_groups(pass.isa, groups, gains, from, to, kept, place);
                }
                Sets::Positions | Sets::MeanSquares => {
                    self.slopes_of_positions(pass.isa, gains, from, to, kept);
                }
            }
        }
    }

    fn measure(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &[f32],
        saved: &mut Saved,
        sizes: &mut [Vec<Size>],
    ) {
        let Some(sizes) = sizes.first_mut() else { return };
        let (mut kept, _) = self.split(&mut saved.statistics);
        for gradient in saved.gradients.chunks_exact_mut(self.parameters()).take(pass.examples()) {
            gradient.fill(0.0);
            self.gradient(kept.by_ref().take(pass.views), gradient);
            sizes.push(Size::of_whole(sum_of_squares(pass.isa, gradient)));
        }
    }

    fn accumulate(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &mut [f32],
        saved: &mut Saved,
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        match weights {
            Some(weights) => {
                add_weighted(pass.isa, sum, &weights[0], &saved.gradients);
            }
            None => self.gradient(self.split(&mut saved.statistics).0.take(pass.images), sum),
        }
    }
}
