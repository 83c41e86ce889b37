//! A copy of its input: used before an in-place function that would overwrite values which the function
//! before it still needs.

use super::{LayerData, Op, Pass, Role, Work};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Copied {
    shape: Shape,
}

impl Copied {
    pub(crate) fn new(shape: Shape) -> Self {
        Self { shape }
    }

    fn copy(&self, pass: &Pass, from: &[f32], to: &mut [f32]) {
        let all = ..pass.images * self.shape.size();
        to[all].copy_from_slice(&from[all]);
    }
}

impl Op for Copied {
    type Prepared = ();
    type State = ();

    fn output(&self) -> Shape {
        self.shape
    }

    fn state(&self, _images: usize, _role: Role) {}

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        self.copy(work.pass, input, output);
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        if let Some(d_input) = d_input {
            self.copy(work.pass, data.d_output, d_input);
        }
    }
}
