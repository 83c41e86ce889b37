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

use std::ops::Range;

use super::{Leaf, Op, Pass, Ready, Saved, Size, Style};
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

    fn count(&self) -> usize {
        match self.sets {
            Sets::Groups(groups) => groups,
            Sets::Positions | Sets::MeanSquares => self.shape.positions(),
        }
    }

    /// Runs of one image that make up set number `set`.
    fn runs(&self, set: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let (positions, channels) = (self.shape.positions(), self.shape.channels());
        let (first, step, length, count) = match self.sets {
            Sets::Groups(groups) => (set * channels / groups, channels, channels / groups, positions),
            Sets::Positions | Sets::MeanSquares => (set * channels, 0, channels, 1),
        };
        (0..count).map(move |run| first + run * step..first + run * step + length)
    }

    fn has_shift(&self) -> bool {
        self.sets != Sets::MeanSquares
    }

    /// Means and factors `1/sqrt(var + ε)` of one image's sets.
    fn find(&self, image: &[f32], statistics: &mut [[f64; 2]]) {
        for (set, [mean, factor]) in statistics.iter_mut().enumerate() {
            let count: usize = self.runs(set).map(|run| run.len()).sum();
            let numbers = || self.runs(set).flat_map(|run| &image[run]).map(|x| f64::from(*x));
            *mean = if self.has_shift() { numbers().sum::<f64>() / count as f64 } else { 0.0 };
            let square = numbers().map(|x| (x - *mean) * (x - *mean)).sum::<f64>() / count as f64;
            *factor = (square + f64::from(self.epsilon)).sqrt().recip();
        }
    }

    /// Slopes by x from slopes by y.
    fn slopes(
        &self,
        x: &[f32],
        gains: &[f32],
        statistics: &[[f64; 2]],
        d_output: &[f32],
        d_input: &mut [f32],
    ) {
        let channels = self.shape.channels();
        for (set, [mean, factor]) in statistics.iter().enumerate() {
            let runs = || {
                self.runs(set).map(|run| {
                    let gains = &gains[run.start % channels..][..run.len()];
                    let slopes = d_output[run.clone()]
                        .iter()
                        .zip(gains)
                        .map(|(d, gain)| f64::from(*d) * f64::from(*gain));
                    let normal = x[run.clone()].iter().map(|x| (f64::from(*x) - mean) * factor);
                    (run, slopes.zip(normal))
                })
            };
            let (mut sum, mut product, mut count) = (0.0, 0.0, 0);
            for (run, pairs) in runs() {
                count += run.len();
                for (d, normal) in pairs {
                    sum += d;
                    product += d * normal;
                }
            }
            let mean = if self.has_shift() { sum / count as f64 } else { 0.0 };
            let part = product / count as f64;
            for (run, pairs) in runs() {
                for (to, (d, normal)) in d_input[run].iter_mut().zip(pairs) {
                    *to = (factor * (d - mean - normal * part)) as f32;
                }
            }
        }
    }

    /// Adds the gradient of one image.
    fn gradient(&self, x: &[f32], statistics: &[[f64; 2]], d_output: &[f32], sum: &mut [f32]) {
        let channels = self.shape.channels();
        let (gains, shifts) = sum.split_at_mut(channels);
        for (set, [mean, factor]) in statistics.iter().enumerate() {
            for run in self.runs(set) {
                let first = run.start % channels;
                let (d, x) = (&d_output[run.clone()], &x[run]);
                for (gain, (d, x)) in gains[first..].iter_mut().zip(d.iter().zip(x)) {
                    *gain += d * ((f64::from(*x) - mean) * factor) as f32;
                }
                shifts.iter_mut().skip(first).zip(d).for_each(|(shift, d)| *shift += d);
            }
        }
    }

    /// Inputs, statistics and slopes of some images, one after the other.
    fn images<'a>(
        &self,
        input: &'a [f32],
        saved: &'a Saved,
        d_output: &'a [f32],
        images: Range<usize>,
    ) -> impl Iterator<Item = (&'a [f32], &'a [[f64; 2]], &'a [f32])> {
        let (size, sets) = (self.shape.size(), self.count());
        let statistics = saved.statistics.as_chunks().0;
        images.map(move |image| {
            let numbers = image * size..(image + 1) * size;
            (&input[numbers.clone()], &statistics[image * sets..][..sets], &d_output[numbers])
        })
    }
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
        let at = |index: usize, default: f32| parameters.get(index).map_or(default, |p| *p as f32);
        ready.panels = vec![
            (0..channels).map(|channel| at(channel, 1.0)).collect(),
            (0..channels).map(|channel| at(channels + channel, 0.0)).collect(),
        ];
    }

    fn save(&self, images: usize) -> Saved {
        let examples = images * self.shape.positions() / self.positions;
        Saved {
            statistics: vec![0.0; 2 * images * self.count()],
            gradients: vec![0.0; examples * self.parameters()],
            ..Saved::default()
        }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let (size, sets, channels) = (self.shape.size(), self.count(), self.shape.channels());
        let statistics = saved.statistics.as_chunks_mut().0;
        for image in 0..pass.images {
            let (x, y) = (&input[image * size..][..size], &mut output[image * size..][..size]);
            let statistics = &mut statistics[image * sets..][..sets];
            self.find(x, statistics);
            for (set, [mean, factor]) in statistics.iter().enumerate() {
                for run in self.runs(set) {
                    let first = run.start % channels;
                    let affine = ready.panels[0][first..].iter().zip(&ready.panels[1][first..]);
                    for ((y, x), (gain, shift)) in y[run.clone()].iter_mut().zip(&x[run]).zip(affine) {
                        *y = gain * ((f64::from(*x) - mean) * factor) as f32 + shift;
                    }
                }
            }
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let Some(d_input) = d_input else { return };
        let to = d_input.chunks_exact_mut(self.shape.size());
        for ((x, statistics, from), to) in self.images(input, saved, d_output, 0..pass.images).zip(to) {
            self.slopes(x, &ready.panels[0], statistics, from, to);
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
        let Some(sizes) = sizes.first_mut() else { return };
        let mut gradients = std::mem::take(&mut saved.gradients);
        let each = gradients.chunks_exact_mut(self.parameters()).take(pass.examples());
        for (example, gradient) in each.enumerate() {
            gradient.fill(0.0);
            let images = example * pass.views..(example + 1) * pass.views;
            for (x, statistics, slopes) in self.images(input, saved, d_output, images) {
                self.gradient(x, statistics, slopes, gradient);
            }
            sizes.push(Size::of_whole(sum_of_squares(pass.isa, gradient)));
        }
        saved.gradients = gradients;
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
        if let Some(weights) = weights {
            add_weighted(pass.isa, sum, &weights[0], &saved.gradients);
            return;
        }
        for (x, statistics, slopes) in self.images(input, saved, d_output, 0..pass.images) {
            self.gradient(x, statistics, slopes, sum);
        }
    }
}
