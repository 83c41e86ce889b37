//! From positions and channels to plain features, channels first: the order that PyTorch has.

use super::{Op, Pass, Ready, Saved};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Flatten {
    input: Shape,
}

impl Flatten {
    pub(crate) fn new(input: Shape) -> Self {
        Self { input }
    }

    /// (channels first, channels last) of each number.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let (positions, channels) = (self.input.positions(), self.input.channels());
        (0..channels).flat_map(move |channel| {
            (0..positions)
                .map(move |position| (channel * positions + position, position * channels + channel))
        })
    }
}

impl Op for Flatten {
    fn output(&self) -> Shape {
        Shape::Features(self.input.size())
    }

    fn forward(&self, pass: &Pass, _ready: &Ready, input: &[f32], output: &mut [f32], _saved: &mut Saved) {
        let size = self.input.size();
        for (from, to) in input.chunks_exact(size).zip(output.chunks_exact_mut(size)).take(pass.images) {
            self.pairs().for_each(|(first, last)| to[first] = from[last]);
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        _saved: &mut Saved,
    ) {
        let (size, Some(d_input)) = (self.input.size(), d_input) else { return };
        for (from, to) in d_output.chunks_exact(size).zip(d_input.chunks_exact_mut(size)).take(pass.images) {
            self.pairs().for_each(|(first, last)| to[last] = from[first]);
        }
    }
}
