//! Layers whose weights are fixed: public numbers that are not learned, and so neither measured nor noisy.

use super::{Op, Pass, Ready, Saved};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Frozen {
    op: Box<dyn Op>,
    values: Vec<f64>,
}

impl Frozen {
    /// `values` has all of the layer's parameters: the caller has checked it.
    pub(crate) fn new(op: Box<dyn Op>, values: Vec<f64>) -> Self {
        Self { op, values }
    }
}

impl Op for Frozen {
    fn output(&self) -> Shape {
        self.op.output()
    }

    fn footprint(&self) -> usize {
        self.op.footprint()
    }

    fn room(&self, images: usize) -> usize {
        self.op.room(images)
    }

    fn prepare(&self, _parameters: &[f64], ready: &mut Ready) {
        self.op.prepare(&self.values, ready);
    }

    fn save(&self, images: usize) -> Saved {
        // Its gradients are never formed.
        Saved { gradients: Vec::new(), ..self.op.save(images) }
    }

    fn forward(&self, pass: &Pass, ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        self.op.forward(pass, ready, input, output, saved);
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
        // Nothing inside is measured either.
        let pass = Pass { is_private: false, ..*pass };
        self.op.backward(&pass, ready, input, d_output, d_input, saved);
    }
}
