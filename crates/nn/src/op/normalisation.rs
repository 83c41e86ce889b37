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
//! An example's gradient by gains is `Σ_t d_t x^_t`, by shifts `Σ_t d_t`: two numbers a channel, materialised.
//!
//! # Pitfalls
//! Statistics over the *batch* would let each record change all others' contributions.

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
    fn runs(&self, set: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
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

    /// Brings one image to (1) without gains; keeps the factors.
    fn normalise(&self, image: &mut [f32], factors: &mut [f32]) {
        for (set, factor) in factors.iter_mut().enumerate() {
            let (mut sum, mut count) = (0.0f64, 0usize);
            for run in self.runs(set) {
                count += run.len();
                sum += image[run].iter().map(|x| f64::from(*x)).sum::<f64>();
            }
            let mean = if self.has_shift() { sum / count as f64 } else { 0.0 };
            let square: f64 =
                self.runs(set).flat_map(|run| &image[run]).map(|x| (f64::from(*x) - mean).powi(2)).sum();
            *factor = ((square / count as f64) + f64::from(self.epsilon)).sqrt().recip() as f32;
            for run in self.runs(set) {
                image[run].iter_mut().for_each(|x| *x = (f64::from(*x) - mean) as f32 * *factor);
            }
        }
    }

    /// Slopes by x from slopes by x^, in place.
    fn slopes(&self, normal: &[f32], slopes: &mut [f32], factors: &[f32]) {
        for (set, factor) in factors.iter().enumerate() {
            let (mut sum, mut product, mut count) = (0.0f64, 0.0f64, 0usize);
            for run in self.runs(set) {
                count += run.len();
                for (d, x) in slopes[run.clone()].iter().zip(&normal[run]) {
                    sum += f64::from(*d);
                    product += f64::from(*d) * f64::from(*x);
                }
            }
            let mean = if self.has_shift() { (sum / count as f64) as f32 } else { 0.0 };
            let part = (product / count as f64) as f32;
            for run in self.runs(set) {
                for (d, x) in slopes[run.clone()].iter_mut().zip(&normal[run]) {
                    *d = factor * (*d - mean - x * part);
                }
            }
        }
    }

    /// Adds the gradient of some images.
    fn gradient(&self, normal: &[f32], d_output: &[f32], sum: &mut [f32]) {
        let channels = self.shape.channels();
        let (gains, shifts) = sum.split_at_mut(channels);
        for (d, x) in d_output.chunks_exact(channels).zip(normal.chunks_exact(channels)) {
            gains.iter_mut().zip(d.iter().zip(x)).for_each(|(gain, (d, x))| *gain += d * x);
            shifts.iter_mut().zip(d).for_each(|(shift, d)| *shift += d);
        }
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
            input: vec![0.0; images * self.shape.size()],
            work: vec![0.0; images * self.count()],
            gradients: vec![0.0; examples * self.parameters()],
            ..Saved::default()
        }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let (size, sets, channels) = (self.shape.size(), self.count(), self.shape.channels());
        for image in 0..pass.images {
            let normal = &mut saved.input[image * size..][..size];
            normal.copy_from_slice(&input[image * size..][..size]);
            self.normalise(normal, &mut saved.work[image * sets..][..sets]);
            let output = &mut output[image * size..][..size];
            for (to, from) in output.chunks_exact_mut(channels).zip(normal.chunks_exact(channels)) {
                for (channel, (to, from)) in to.iter_mut().zip(from).enumerate() {
                    *to = ready.panels[0][channel] * from + ready.panels[1][channel];
                }
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
        let (size, sets, channels) = (self.shape.size(), self.count(), self.shape.channels());
        let Some(d_input) = d_input else { return };
        for image in 0..pass.images {
            let (from, to) = (&d_output[image * size..][..size], &mut d_input[image * size..][..size]);
            for (to, from) in to.chunks_exact_mut(channels).zip(from.chunks_exact(channels)) {
                to.iter_mut()
                    .zip(from)
                    .zip(&ready.panels[0])
                    .for_each(|((to, from), gain)| *to = from * gain);
            }
            self.slopes(&saved.input[image * size..][..size], to, &saved.work[image * sets..][..sets]);
        }
    }

    fn measure(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        d_output: &[f32],
        saved: &mut Saved,
        sizes: &mut [Vec<Size>],
    ) {
        let Some(sizes) = sizes.first_mut() else { return };
        let numbers = pass.views * self.shape.size();
        let (normal, parameters) = (&saved.input, self.parameters());
        let gradients = saved.gradients.chunks_exact_mut(parameters).take(pass.examples());
        for (example, gradient) in gradients.enumerate() {
            gradient.fill(0.0);
            let all = example * numbers..(example + 1) * numbers;
            self.gradient(&normal[all.clone()], &d_output[all], gradient);
            sizes.push(Size::of_whole(sum_of_squares(pass.isa, gradient)));
        }
    }

    fn accumulate(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        d_output: &mut [f32],
        saved: &mut Saved,
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let numbers = pass.images * self.shape.size();
        match weights {
            Some(weights) => {
                add_weighted(pass.isa, sum, &weights[0], &saved.gradients);
            }
            None => self.gradient(&saved.input[..numbers], &d_output[..numbers], sum),
        }
    }
}
