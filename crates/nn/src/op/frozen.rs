//! A layer with fixed weights: public numbers that are not learned, and so neither measured nor noisy.

use super::{AnyOp, AnyPrepared, AnyWork, LayerData, Op, Pass, Role, State, Work};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Frozen {
    op: Box<dyn AnyOp>,
    values: Vec<f64>,
}

impl Frozen {
    /// `values` are all of the layer's parameters: the caller has checked their number.
    pub(crate) fn new(op: Box<dyn AnyOp>, values: Vec<f64>) -> Self {
        Self { op, values }
    }
}

/// The inner layer's weights, once they are prepared.
#[derive(Debug, Default)]
pub(crate) struct FrozenWeights(Option<AnyPrepared>);

impl FrozenWeights {
    fn get(&self) -> &AnyPrepared {
        self.0.as_ref().unwrap_or_else(|| unreachable!("weights are prepared before every pass"))
    }
}

/// The inner layer's state.
#[derive(Debug)]
pub(crate) struct FrozenState(Box<dyn State>);

impl State for FrozenState {
    fn bytes(&self) -> usize {
        let Self(inner) = self;
        size_of_val(&**inner) + inner.bytes()
    }
}

impl Op for Frozen {
    type Prepared = FrozenWeights;
    type State = FrozenState;

    fn output(&self) -> Shape {
        self.op.output()
    }

    fn footprint(&self) -> usize {
        self.op.footprint()
    }

    fn scratch(&self, images: usize) -> usize {
        self.op.scratch(images)
    }

    fn prepare(&self, _parameters: &[f64], prepared: &mut FrozenWeights) {
        self.op.prepare(&self.values, prepared.0.get_or_insert_with(|| self.op.unprepared()));
    }

    fn state(&self, images: usize, _role: Role) -> FrozenState {
        FrozenState(self.op.state(images, Role::Frozen))
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let Work { pass, prepared, state: FrozenState(state), scratch } = work;
        let work = AnyWork { pass, prepared: prepared.get(), state: &mut **state, scratch };
        self.op.forward(work, input, output);
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let Work { pass, prepared, state: FrozenState(state), scratch } = work;
        // Nothing inside is measured.
        let pass = &Pass { is_private: false, ..*pass };
        let work = AnyWork { pass, prepared: prepared.get(), state: &mut **state, scratch };
        self.op.backward(work, data, d_input);
    }
}
