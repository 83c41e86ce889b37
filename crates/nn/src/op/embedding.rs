//! Rows of a table, chosen by tokens.
//!
//! # Lengths
//! A token that occurs twice in an example has one row and one gradient, the sum of both slopes:
//! ```text
//! ‖g‖² = Σ_words ‖Σ_(t: token_t = word) d_t‖²
//! ```
//! which is not `Σ_t ‖d_t‖²`. So slopes are first added by words, within the example; what is measured and added to the sum are these rows.
//!
//! The padding word, if there is one, has a row of zeros that is not learned. A token that is no word makes the record count as
//! nothing.

use super::{Leaf, Op, Pass, Ready, Saved, Size, Style};
use crate::kernel::pointwise::{add_scaled, sum_of_squares};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Embedding {
    length: usize,
    words: usize,
    features: usize,
    padding: Option<usize>,
    views: usize,
}

impl Embedding {
    pub(crate) fn new(
        length: usize,
        words: usize,
        features: usize,
        padding: Option<usize>,
        views: usize,
    ) -> Self {
        Self { length, words, features, padding, views }
    }

    /// The word that a number stands for.
    fn word(&self, token: f32) -> Option<usize> {
        let word = token as usize;
        (token >= 0.0 && token.fract() == 0.0 && word < self.words).then_some(word)
    }

    /// The word, if it has a row that is learned.
    fn learned(&self, token: f32) -> Option<usize> {
        self.word(token).filter(|word| Some(*word) != self.padding)
    }
}

impl Op for Embedding {
    fn output(&self) -> Shape {
        Shape::Sequence { length: self.length, features: self.features }
    }

    fn parameters(&self) -> usize {
        self.words * self.features
    }

    fn leaves(&self) -> Vec<Leaf> {
        let positions = self.length * self.views;
        vec![Leaf { parameters: self.parameters(), style: Style::Materialised, positions }]
    }

    fn materialised(&self) -> usize {
        self.length * self.views * self.features
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        // Variance 1, as the normal numbers of PyTorch have.
        parameters.iter_mut().for_each(|parameter| *parameter = 3f64.sqrt() * uniform());
    }

    fn prepare(&self, parameters: &[f64], ready: &mut Ready) {
        ready.panels = vec![parameters.iter().map(|parameter| *parameter as f32).collect()];
    }

    fn save(&self, images: usize) -> Saved {
        Saved { gradients: vec![0.0; images * self.length * self.features], ..Saved::default() }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], _saved: &mut Saved) {
        let tokens = &input[..pass.images * self.length];
        for (token, to) in tokens.iter().zip(output.chunks_exact_mut(self.features)) {
            match self.word(*token) {
                Some(word) if Some(word) == self.padding => to.fill(0.0),
                Some(word) => to.copy_from_slice(&ready.panels[0][word * self.features..][..self.features]),
                None => to.fill(f32::NAN),
            }
        }
    }

    fn backward(
        &self,
        _pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        _d_output: &[f32],
        _d_input: Option<&mut [f32]>,
        _saved: &mut Saved,
    ) {
        // Tokens have no slopes.
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
        let (tokens, numbers) = (self.length * self.views, self.length * self.views * self.features);
        for example in 0..pass.examples() {
            let words = &input[example * tokens..][..tokens];
            let rows = &mut saved.gradients[example * numbers..][..numbers];
            rows.fill(0.0);
            for (at, token) in words.iter().enumerate() {
                if self.learned(*token).is_none() {
                    continue;
                }
                // The row stands where the word is first. (`at` itself has it.)
                let first = words.iter().position(|other| other == token).unwrap_or(at);
                let slopes = &d_output[(example * tokens + at) * self.features..][..self.features];
                let row = &mut rows[first * self.features..][..self.features];
                row.iter_mut().zip(slopes).for_each(|(row, slope)| *row += slope);
            }
            // A token that is no word is in no row: its NaN must be seen.
            let is_sound = words.iter().all(|token| self.word(*token).is_some());
            let squared = if is_sound { sum_of_squares(pass.isa, rows) } else { f64::NAN };
            sizes[0].push(Size::of_whole(squared));
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
        let per_example = self.length * self.views;
        let rows = if weights.is_some() { &saved.gradients[..] } else { &d_output[..] };
        for (at, token) in input[..pass.images * self.length].iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[0][at / per_example]);
            let Some(word) = self.learned(*token).filter(|_| weight != 0.0) else { continue };
            // Rows that stand elsewhere are zero here.
            let row = &rows[at * self.features..][..self.features];
            add_scaled(pass.isa, &mut sum[word * self.features..][..self.features], weight, row);
        }
    }
}
