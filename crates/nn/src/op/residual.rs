//! Two branches of one input, added: `y = body(x) + shortcut(x)`. An empty shortcut is x itself.

use std::ops::Range;

use super::{AnyPrepared, LayerData, Leaf, NormBound, Op, Pass, Role, State, Work, reserved};
use crate::chain::{Chain, ChainState};
use crate::shape::Shape;

#[derive(Debug)]
pub(crate) struct Residual {
    body: Chain,
    shortcut: Chain,
}

impl Residual {
    /// Both branches have the same output shape: the caller has checked it.
    pub(crate) fn new(body: Chain, shortcut: Chain) -> Self {
        Self { body, shortcut }
    }

    fn branches(&self) -> [&Chain; 2] {
        [&self.body, &self.shortcut]
    }

    /// Each branch with its range of leaves and of parameters.
    fn ranges(&self) -> [(&Chain, Range<usize>, Range<usize>); 2] {
        let (leaves, parameters) = (self.body.leaves().len(), self.body.parameters());
        [
            (&self.body, 0..leaves, 0..parameters),
            (
                &self.shortcut,
                leaves..leaves + self.shortcut.leaves().len(),
                parameters..parameters + self.shortcut.parameters(),
            ),
        ]
    }
}

/// The last array.
fn last(arrays: &mut [Vec<f32>]) -> &mut [f32] {
    // A chain always has the array of its input.
    let last = arrays.len() - 1;
    &mut arrays[last]
}

/// Prepared weights of body and shortcut, layer by layer.
#[derive(Debug, Default)]
pub(crate) struct BranchWeights([Vec<AnyPrepared>; 2]);

#[derive(Debug)]
pub(crate) struct ResidualState {
    /// Body and shortcut.
    branches: [ChainState; 2],
    /// Norms by leaf and example, measured on the way back.
    norms: Vec<Vec<NormBound>>,
}

impl State for ResidualState {
    fn bytes(&self) -> usize {
        let Self { branches, norms } = self;
        let branches = branches.iter().map(ChainState::bytes).sum::<usize>();
        branches + reserved(norms) + norms.iter().map(reserved).sum::<usize>()
    }
}

impl Op for Residual {
    type Prepared = BranchWeights;
    type State = ResidualState;

    fn output(&self) -> Shape {
        self.body.output()
    }

    fn parameters(&self) -> usize {
        self.branches().iter().map(|chain| chain.parameters()).sum()
    }

    fn leaves(&self) -> Vec<Leaf> {
        self.branches().iter().flat_map(|chain| chain.leaves().iter().copied()).collect()
    }

    fn materialised(&self) -> usize {
        self.branches().iter().map(|chain| chain.materialised()).sum()
    }

    fn footprint(&self) -> usize {
        self.branches().iter().map(|chain| chain.footprint()).sum()
    }

    fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        for (chain, _, range) in self.ranges() {
            chain.initialise(uniform, &mut parameters[range]);
        }
    }

    fn prepare(&self, parameters: &[f64], BranchWeights(prepared): &mut BranchWeights) {
        for ((chain, _, range), prepared) in self.ranges().into_iter().zip(prepared) {
            if prepared.is_empty() {
                *prepared = chain.unprepared();
            }
            chain.prepare(&parameters[range], prepared);
        }
    }

    fn state(&self, images: usize, role: Role) -> ResidualState {
        let branches = self.branches().map(|chain| chain.state(images, role));
        // One for each example, and an example has at least one image.
        let norms = self.leaves().iter().map(|_| Vec::with_capacity(images)).collect();
        ResidualState { branches, norms }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let Work { pass, prepared: BranchWeights(prepared), state, .. } = work;
        let branches = self.branches().into_iter().zip(prepared).zip(&mut state.branches);
        let numbers = pass.images * self.output().size();
        for (number, ((chain, prepared), state)) in branches.enumerate() {
            let from = pass.images * chain.input().size();
            state.values[0][..from].copy_from_slice(&input[..from]);
            chain.forward(pass, prepared, state);
            let result = &last(&mut state.values)[..numbers];
            if number == 0 {
                output[..numbers].copy_from_slice(result);
            } else {
                output.iter_mut().zip(result).for_each(|(to, from)| *to += from);
            }
        }
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let Work { pass, prepared: BranchWeights(prepared), state, .. } = work;
        let ResidualState { branches, norms } = state;
        let numbers = pass.images * self.output().size();
        norms.iter_mut().for_each(Vec::clear);
        let each = self.ranges().into_iter().zip(prepared).zip(&mut *branches);
        for (((chain, leaves, _), prepared), state) in each {
            last(&mut state.gradients)[..numbers].copy_from_slice(&data.d_output[..numbers]);
            chain.backward(pass, prepared, state, d_input.is_some(), &mut norms[leaves]);
        }
        if let Some(d_input) = d_input {
            let [body, shortcut] = branches;
            for (to, (a, b)) in d_input.iter_mut().zip(body.gradients[0].iter().zip(&shortcut.gradients[0])) {
                *to = a + b;
            }
        }
    }

    fn measure(&self, work: Work<'_, Self>, _data: LayerData<'_>, norms: &mut [Vec<NormBound>]) {
        // The branches measured on the way back.
        norms.iter_mut().zip(&work.state.norms).for_each(|(to, from)| to.extend_from_slice(from));
    }

    fn accumulate(
        &self,
        work: Work<'_, Self>,
        _input: &[f32],
        _d_output: &mut [f32],
        weights: Option<&[Vec<f32>]>,
        sum: &mut [f32],
    ) {
        let Work { pass, prepared: BranchWeights(prepared), state, .. } = work;
        let branches = self.ranges().into_iter().zip(prepared).zip(&mut state.branches);
        for (((chain, leaves, parameters), prepared), state) in branches {
            let weights = weights.map(|weights| &weights[leaves]);
            chain.accumulate(pass, prepared, state, weights, |_| true, &mut sum[parameters]);
        }
    }

    fn erase(&self, pass: &Pass, state: &mut ResidualState, images: Range<usize>) {
        let example = images.start / pass.views;
        for (chain, state) in self.branches().into_iter().zip(&mut state.branches) {
            chain.erase(pass, state, example);
        }
    }
}
