//! Layers of any type behind one object-safe trait.
//!
//! A chain stores each layer's weights and state as `dyn Any`, next to the layer that made them. Every call
//! finds their types again, once per layer and micro-batch.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;

use super::{LayerData, Leaf, NormBound, Op, Pass, Role, State, WeightTensor, Work};
use crate::shape::Shape;

/// A layer's [`Op::Prepared`].
pub(crate) type AnyPrepared = Box<dyn Any + Send + Sync>;

/// [`Work`] for a layer of any type.
pub(crate) struct AnyWork<'a> {
    pub(crate) pass: &'a Pass<'a>,
    pub(crate) prepared: &'a AnyPrepared,
    pub(crate) state: &'a mut dyn State,
    pub(crate) scratch: &'a mut Vec<f32>,
}

impl<'a> AnyWork<'a> {
    fn typed<O: Op>(self) -> Work<'a, O> {
        let Some(prepared) = self.prepared.downcast_ref() else { mixed_up() };
        Work { pass: self.pass, prepared, state: typed_state::<O>(self.state), scratch: self.scratch }
    }
}

fn typed_state<O: Op>(state: &mut dyn State) -> &mut O::State {
    let state: &mut dyn Any = state;
    match state.downcast_mut() {
        Some(state) => state,
        None => mixed_up(),
    }
}

fn mixed_up() -> ! {
    unreachable!("a chain gives each layer the weights and the state that this layer made")
}

/// An [`Op`] without its types.
pub(crate) trait AnyOp: Debug + Send + Sync {
    fn output(&self) -> Shape;
    fn parameters(&self) -> usize;
    fn leaves(&self) -> Vec<Leaf>;
    fn tensors(&self) -> Vec<WeightTensor>;
    fn materialised(&self) -> usize;
    fn footprint(&self) -> usize;
    fn scratch(&self, images: usize) -> usize;
    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]);
    /// Weights that [`prepare`](Self::prepare) has still to fill in.
    fn unprepared(&self) -> AnyPrepared;
    fn prepare(&self, parameters: &[f64], prepared: &mut AnyPrepared);
    fn state(&self, images: usize, role: Role) -> Box<dyn State>;
    fn forward(&self, work: AnyWork<'_>, input: &[f32], output: &mut [f32]);
    fn backward(&self, work: AnyWork<'_>, data: LayerData<'_>, d_input: Option<&mut [f32]>);
    fn measure(&self, work: AnyWork<'_>, data: LayerData<'_>, norms: &mut [Vec<NormBound>]);
    fn accumulate(
        &self,
        work: AnyWork<'_>,
        input: &[f32],
        d_output: &mut [f32],
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    );
    fn erase(&self, pass: &Pass, state: &mut dyn State, images: Range<usize>);
    fn reads_in_place(&self) -> bool;
    fn as_rank_one(&self) -> Option<(usize, usize, bool)>;
}

impl<O: Op> AnyOp for O {
    fn output(&self) -> Shape {
        Op::output(self)
    }

    fn parameters(&self) -> usize {
        Op::parameters(self)
    }

    fn leaves(&self) -> Vec<Leaf> {
        Op::leaves(self)
    }

    fn tensors(&self) -> Vec<WeightTensor> {
        Op::tensors(self)
    }

    fn materialised(&self) -> usize {
        Op::materialised(self)
    }

    fn footprint(&self) -> usize {
        Op::footprint(self)
    }

    fn scratch(&self, images: usize) -> usize {
        Op::scratch(self, images)
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        Op::initialise(self, uniform, parameters);
    }

    fn unprepared(&self) -> AnyPrepared {
        Box::new(O::Prepared::default())
    }

    fn prepare(&self, parameters: &[f64], prepared: &mut AnyPrepared) {
        let Some(prepared) = prepared.downcast_mut() else { mixed_up() };
        Op::prepare(self, parameters, prepared);
    }

    fn state(&self, images: usize, role: Role) -> Box<dyn State> {
        Box::new(Op::state(self, images, role))
    }

    fn forward(&self, work: AnyWork<'_>, input: &[f32], output: &mut [f32]) {
        Op::forward(self, work.typed(), input, output);
    }

    fn backward(&self, work: AnyWork<'_>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        Op::backward(self, work.typed(), data, d_input);
    }

    fn measure(&self, work: AnyWork<'_>, data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        Op::measure(self, work.typed(), data, norms);
    }

    fn accumulate(
        &self,
        work: AnyWork<'_>,
        input: &[f32],
        d_output: &mut [f32],
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        Op::accumulate(self, work.typed(), input, d_output, weights, sum);
    }

    fn erase(&self, pass: &Pass, state: &mut dyn State, images: Range<usize>) {
        Op::erase(self, pass, typed_state::<O>(state), images);
    }

    fn reads_in_place(&self) -> bool {
        Op::reads_in_place(self)
    }

    fn as_rank_one(&self) -> Option<(usize, usize, bool)> {
        Op::as_rank_one(self)
    }
}
