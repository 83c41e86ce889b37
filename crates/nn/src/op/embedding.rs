//! Rows of a table, chosen by tokens.
//!
//! # Norms
//! A token that occurs twice in an example has one row and one gradient, the sum of both positions:
//! ```text
//! ‖g‖² = Σ_words ‖Σ_(t: token_t = word) d_t‖²
//! ```
//! which is not `Σ_t ‖d_t‖²`. So gradients are first added by word, within the example. These sums are
//! measured, and later added to the total.
//!
//! The padding word, if there is one, has a row of zeros that is not learned. A record with a token that
//! is no word contributes nothing.

use super::{LayerData, Leaf, NormBound, NormMethod, Op, Role, State, WeightTensor, Work, reserved};
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

    /// The word that a token stands for.
    fn word(&self, token: f32) -> Option<usize> {
        let word = token as usize;
        (token >= 0.0 && token.fract() == 0.0 && word < self.words).then_some(word)
    }

    /// The word, if its row is learned.
    fn learned(&self, token: f32) -> Option<usize> {
        self.word(token).filter(|word| Some(*word) != self.padding)
    }
}

/// The table, a row for each word.
#[derive(Debug, Default)]
pub(crate) struct WordTable {
    rows: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct EmbeddingState {
    /// A row for each token. The first occurrence of a word in an example has the word's whole gradient; the
    /// others have zeros.
    word_gradients: Vec<f32>,
}

impl State for EmbeddingState {
    fn bytes(&self) -> usize {
        let Self { word_gradients } = self;
        reserved(word_gradients)
    }
}

impl Op for Embedding {
    type Prepared = WordTable;
    type State = EmbeddingState;

    fn output(&self) -> Shape {
        Shape::Sequence { length: self.length, features: self.features }
    }

    fn parameters(&self) -> usize {
        self.words * self.features
    }

    fn leaves(&self) -> Vec<Leaf> {
        let positions = self.length * self.views;
        vec![Leaf { parameters: self.parameters(), method: NormMethod::Materialised, positions }]
    }

    fn tensors(&self) -> Vec<WeightTensor> {
        let weight = WeightTensor::weight([self.words, self.features]);
        vec![WeightTensor { padding: self.padding, ..weight }]
    }

    fn materialised(&self) -> usize {
        self.length * self.views * self.features
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        // Variance 1, like PyTorch's normal numbers.
        parameters.iter_mut().for_each(|parameter| *parameter = 3f64.sqrt() * uniform());
    }

    fn prepare(&self, parameters: &[f64], prepared: &mut WordTable) {
        prepared.rows.clear();
        prepared.rows.extend(parameters.iter().map(|parameter| *parameter as f32));
    }

    fn state(&self, images: usize, role: Role) -> EmbeddingState {
        let numbers = match role {
            Role::Learned => images * self.length * self.features,
            Role::Frozen => 0,
        };
        EmbeddingState { word_gradients: vec![0.0; numbers] }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let tokens = &input[..work.pass.images * self.length];
        for (token, to) in tokens.iter().zip(output.chunks_exact_mut(self.features)) {
            match self.word(*token) {
                Some(word) if Some(word) == self.padding => to.fill(0.0),
                Some(word) => {
                    to.copy_from_slice(&work.prepared.rows[word * self.features..][..self.features]);
                }
                None => to.fill(f32::NAN),
            }
        }
    }

    fn backward(&self, _work: Work<'_, Self>, _data: LayerData<'_>, _d_input: Option<&mut [f32]>) {
        // Tokens have no gradient.
    }

    fn measure(&self, work: Work<'_, Self>, data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        let (tokens, numbers) = (self.length * self.views, self.length * self.views * self.features);
        for example in 0..work.pass.examples() {
            let words = &data.input[example * tokens..][..tokens];
            let rows = &mut work.state.word_gradients[example * numbers..][..numbers];
            rows.fill(0.0);
            for (at, token) in words.iter().enumerate() {
                if self.learned(*token).is_none() {
                    continue;
                }
                // The word's row is at its first occurrence, which is `at` or earlier.
                let first = words.iter().position(|other| other == token).unwrap_or(at);
                let gradient = &data.d_output[(example * tokens + at) * self.features..][..self.features];
                let row = &mut rows[first * self.features..][..self.features];
                row.iter_mut().zip(gradient).for_each(|(row, d)| *row += d);
            }
            // A token that is no word has no row, so its NaN would go unseen.
            let is_sound = words.iter().all(|token| self.word(*token).is_some());
            let squared = if is_sound { sum_of_squares(work.pass.isa, rows) } else { f64::NAN };
            norms[0].push(NormBound::of_whole(squared));
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
        let per_example = self.length * self.views;
        let rows = if weights.is_some() { &work.state.word_gradients[..] } else { &d_output[..] };
        for (at, token) in input[..work.pass.images * self.length].iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[0][at / per_example]);
            let Some(word) = self.learned(*token).filter(|_| weight != 0.0) else { continue };
            let row = &rows[at * self.features..][..self.features];
            add_scaled(work.pass.isa, &mut sum[word * self.features..][..self.features], weight, row);
        }
    }
}
