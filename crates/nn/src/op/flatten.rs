//! From positions and channels to plain features, channels first, in PyTorch's order.

use super::{LayerData, Op, Role, Work};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Flatten {
    input: Shape,
}

impl Flatten {
    pub(crate) fn new(input: Shape) -> Self {
        Self { input }
    }

    /// The index of each number in both orders: (channels first, channels last).
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let (positions, channels) = (self.input.positions(), self.input.channels());
        (0..channels).flat_map(move |channel| {
            (0..positions)
                .map(move |position| (channel * positions + position, position * channels + channel))
        })
    }
}

impl Op for Flatten {
    type Prepared = ();
    type State = ();

    fn output(&self) -> Shape {
        Shape::Features(self.input.size())
    }

    fn state(&self, _images: usize, _role: Role) {}

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let (size, images) = (self.input.size(), work.pass.images);
        for (from, to) in input.chunks_exact(size).zip(output.chunks_exact_mut(size)).take(images) {
            self.pairs().for_each(|(first, last)| to[first] = from[last]);
        }
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let (size, images, Some(d_input)) = (self.input.size(), work.pass.images, d_input) else { return };
        for (from, to) in data.d_output.chunks_exact(size).zip(d_input.chunks_exact_mut(size)).take(images) {
            self.pairs().for_each(|(first, last)| to[last] = from[first]);
        }
    }
}
