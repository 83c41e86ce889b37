//! Layers one after the other, and the arrays between them.
//!
//! Array j holds the values of a whole micro-batch between two layers, and a second array their gradients. (Inputs
//! that are read in place have no array.) Activations work in place, because a layer that maps one array to another
//! does not read its own output later. An activation may, and then the next in-place layer gets a copy.

use std::ops::Range;

use crate::op::activation::{InPlace, InPlaceState};
use crate::op::copied::Copied;
use crate::op::{
    AnyOp, AnyPrepared, AnyWork, LayerData, Leaf, NormBound, Pass, Role, SPARE, State, reserved,
};
use crate::shape::Shape;

/// A layer of a chain.
#[derive(Debug)]
pub(crate) enum Step {
    Map(Box<dyn AnyOp>),
    InPlace(InPlace),
}

#[derive(Debug)]
struct Node {
    step: Step,
    /// Its range of the chain's parameters.
    parameters: Range<usize>,
    /// Its range of the chain's leaves.
    leaves: Range<usize>,
    /// The arrays that it reads and writes.
    from: usize,
    to: usize,
}

impl Node {
    /// Only the first layer reads inputs in place.
    fn pass<'a>(&self, pass: &Pass<'a>) -> Pass<'a> {
        Pass { inputs: pass.inputs.filter(|_| self.from == 0), ..*pass }
    }
}

/// Layers one after the other.
#[derive(Debug)]
pub(crate) struct Chain {
    nodes: Vec<Node>,
    /// The shape of each array.
    shapes: Vec<Shape>,
    parameters: usize,
    leaves: Vec<Leaf>,
}

/// A dense layer on one position, in a chain.
#[derive(Clone, Debug)]
pub(crate) struct DenseLayer {
    /// Its index in the chain.
    pub(crate) layer: usize,
    pub(crate) parameters: Range<usize>,
    pub(crate) leaf: usize,
    /// The arrays of its inputs and outputs.
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) has_bias: bool,
}

/// The arrays of a micro-batch.
#[derive(Debug)]
pub(crate) struct ChainState {
    pub(crate) values: Vec<Vec<f32>>,
    /// Gradients of the loss by `values`.
    pub(crate) gradients: Vec<Vec<f32>>,
    layers: Vec<LayerState>,
    /// Working space that all layers share.
    scratch: Vec<f32>,
}

/// What one layer keeps of a micro-batch.
#[derive(Debug)]
enum LayerState {
    Map(Box<dyn State>),
    InPlace(InPlaceState),
}

impl LayerState {
    fn bytes(&self) -> usize {
        match self {
            Self::Map(state) => size_of_val(&**state) + state.bytes(),
            Self::InPlace(state) => state.bytes(),
        }
    }
}

impl ChainState {
    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> usize {
        let Self { values, gradients, layers, scratch } = self;
        let arrays = [values, gradients];
        let arrays = arrays.map(|arrays| reserved(arrays) + arrays.iter().map(reserved).sum::<usize>());
        let layers = reserved(layers) + layers.iter().map(LayerState::bytes).sum::<usize>();
        arrays.into_iter().sum::<usize>() + layers + reserved(scratch)
    }
}

impl Chain {
    pub(crate) fn new(input: Shape) -> Self {
        Self { nodes: Vec::new(), shapes: vec![input], parameters: 0, leaves: Vec::new() }
    }

    /// The shape that the next layer gets.
    pub(crate) fn output(&self) -> Shape {
        self.shapes[self.shapes.len() - 1] // there is always the input
    }

    pub(crate) fn push(&mut self, step: Step) {
        if let Step::InPlace(next) = &step {
            let last = self.shapes.len() - 1;
            let allows = |node: &Node| match &node.step {
                Step::InPlace(before) => before.allows_after(*next),
                Step::Map(_) => true,
            };
            if !self.nodes.iter().filter(|node| node.to == last).all(allows) {
                self.push(Step::Map(Box::new(Copied::new(self.output()))));
            }
        }
        let from = self.shapes.len() - 1;
        let (mut to, mut parameters, mut leaves) = (from, 0, Vec::new());
        if let Step::Map(op) = &step {
            to = self.shapes.len();
            self.shapes.push(op.output());
            (parameters, leaves) = (op.parameters(), op.leaves());
        }
        let first_leaf = self.leaves.len();
        self.leaves.extend(leaves);
        self.nodes.push(Node {
            step,
            parameters: self.parameters..self.parameters + parameters,
            leaves: first_leaf..self.leaves.len(),
            from,
            to,
        });
        self.parameters += parameters;
    }

    pub(crate) fn parameters(&self) -> usize {
        self.parameters
    }

    pub(crate) fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// Numbers of one image that pass through the kernels: values, gradients, and what layers have beside them.
    /// It decides the size of micro-batches.
    pub(crate) fn footprint(&self) -> usize {
        let inner = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.footprint(),
            Step::InPlace(_) => 0,
        });
        2 * self.shapes.iter().map(|shape| shape.size()).sum::<usize>() + inner.sum::<usize>()
    }

    /// Numbers of an example's gradient that are kept.
    pub(crate) fn materialised(&self) -> usize {
        let each = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.materialised(),
            Step::InPlace(_) => 0,
        });
        each.sum()
    }

    pub(crate) fn input(&self) -> Shape {
        self.shapes[0]
    }

    /// Allocates everything for so many images.
    pub(crate) fn state(&self, images: usize, role: Role) -> ChainState {
        let arrays = || self.shapes.iter().map(|shape| vec![0.0; images * shape.size() + SPARE]).collect();
        let layers = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => LayerState::Map(op.state(images, role)),
            Step::InPlace(op) => LayerState::InPlace(op.state(images * self.shapes[node.to].size())),
        });
        let scratch = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.scratch(images),
            Step::InPlace(_) => 0,
        });
        let scratch = Vec::with_capacity(scratch.max().unwrap_or(0));
        ChainState { values: arrays(), gradients: arrays(), layers: layers.collect(), scratch }
    }

    /// Weights of all layers that [`prepare`](Self::prepare) has still to fill in.
    pub(crate) fn unprepared(&self) -> Vec<AnyPrepared> {
        let each = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.unprepared(),
            Step::InPlace(_) => Box::new(()) as AnyPrepared,
        });
        each.collect()
    }

    /// Initial parameters.
    pub(crate) fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        for node in &self.nodes {
            if let Step::Map(op) = &node.step {
                op.initialise(uniform, &mut parameters[node.parameters.clone()]);
            }
        }
    }

    /// Prepares all weights.
    pub(crate) fn prepare(&self, parameters: &[f64], prepared: &mut [AnyPrepared]) {
        for (op, parameters, prepared) in self.preparations(parameters, prepared) {
            op.prepare(parameters, prepared);
        }
    }

    /// What has to be prepared: a layer, its parameters, and where they go.
    pub(crate) fn preparations<'a>(
        &'a self,
        parameters: &'a [f64],
        prepared: &'a mut [AnyPrepared],
    ) -> Vec<(&'a dyn AnyOp, &'a [f64], &'a mut AnyPrepared)> {
        let nodes = self.nodes.iter().zip(prepared);
        let maps = nodes.filter_map(|(node, prepared)| match &node.step {
            Step::Map(op) => Some((&**op, &parameters[node.parameters.clone()], prepared)),
            Step::InPlace(_) => None,
        });
        maps.collect()
    }

    /// Whether the first layer can read inputs in place, and no other layer reads them.
    pub(crate) fn reads_in_place(&self) -> bool {
        let is_read = |node: &Node| matches!(&node.step, Step::Map(op) if op.reads_in_place());
        self.nodes.first().is_some_and(is_read)
    }

    /// Computes all arrays from `values[0]`, or from inputs in place.
    pub(crate) fn forward(&self, pass: &Pass, prepared: &[AnyPrepared], state: &mut ChainState) {
        let ChainState { values, layers, scratch, .. } = state;
        for ((node, prepared), layer) in self.nodes.iter().zip(prepared).zip(layers) {
            let pass = &node.pass(pass);
            match (&node.step, layer) {
                (Step::Map(op), LayerState::Map(state)) => {
                    let (before, after) = values.split_at_mut(node.to);
                    let work = AnyWork { pass, prepared, state: &mut **state, scratch };
                    op.forward(work, &before[node.from], &mut after[0]);
                }
                (Step::InPlace(op), LayerState::InPlace(state)) => {
                    let shape = self.shapes[node.to];
                    let data = &mut values[node.to][..pass.images * shape.size()];
                    op.forward(pass, shape.channels(), data, state);
                }
                (Step::Map(_), LayerState::InPlace(_)) | (Step::InPlace(_), LayerState::Map(_)) => mixed_up(),
            }
        }
    }

    /// Computes gradients from the last array back to the first layer with weights, or to the input, and measures
    /// norms on the way.
    pub(crate) fn backward(
        &self,
        pass: &Pass,
        prepared: &[AnyPrepared],
        state: &mut ChainState,
        wants_input: bool,
        norms: &mut [Vec<NormBound>],
    ) {
        let first = self.nodes.iter().position(|node| !node.leaves.is_empty()).unwrap_or(self.nodes.len());
        let first = if wants_input { 0 } else { first };
        let ChainState { values, gradients, layers, scratch } = state;
        let all = self.nodes.iter().zip(prepared).zip(layers).enumerate();
        for (number, ((node, prepared), layer)) in all.skip(first).rev() {
            let pass = &node.pass(pass);
            match (&node.step, layer) {
                (Step::Map(op), LayerState::Map(state)) => {
                    let (before, after) = gradients.split_at_mut(node.to);
                    let data = LayerData { input: &values[node.from], d_output: &after[0] };
                    let d_input = (wants_input || number > first).then_some(&mut before[node.from][..]);
                    let work = AnyWork { pass, prepared, state: &mut **state, scratch };
                    op.backward(work, data, d_input);
                    if pass.is_private && !node.leaves.is_empty() {
                        let work = AnyWork { pass, prepared, state: &mut **state, scratch };
                        op.measure(work, data, &mut norms[node.leaves.clone()]);
                    }
                }
                (Step::InPlace(op), LayerState::InPlace(state)) => {
                    let shape = self.shapes[node.to];
                    let all = ..pass.images * shape.size();
                    let (values, gradients) = (&values[node.to][all], &mut gradients[node.to][all]);
                    op.backward(pass, shape.channels(), values, gradients, state);
                }
                (Step::Map(_), LayerState::InPlace(_)) | (Step::InPlace(_), LayerState::Map(_)) => mixed_up(),
            }
        }
    }

    /// Adds the weighted gradients of all layers that are wanted to `sum`, which has all parameters.
    pub(crate) fn accumulate(
        &self,
        pass: &Pass,
        prepared: &[AnyPrepared],
        state: &mut ChainState,
        weights: Option<&[Vec<f32>]>,
        is_wanted: impl Fn(usize) -> bool,
        sum: &mut [f32],
    ) {
        let ChainState { values, gradients, layers, scratch } = state;
        for (number, ((node, prepared), layer)) in self.nodes.iter().zip(prepared).zip(layers).enumerate() {
            if node.leaves.is_empty() || !is_wanted(number) {
                continue;
            }
            if let (Step::Map(op), LayerState::Map(state)) = (&node.step, layer) {
                let weights = weights.map(|weights| &weights[node.leaves.clone()]);
                let (input, d_output) = (&values[node.from], &mut gradients[node.to]);
                let (pass, sum) = (&node.pass(pass), &mut sum[node.parameters.clone()]);
                let work = AnyWork { pass, prepared, state: &mut **state, scratch };
                op.accumulate(work, input, d_output, weights, sum);
            }
        }
    }

    /// Overwrites everything of one example with zeros: 0 times NaN is NaN, so a weight of 0 is not enough.
    pub(crate) fn erase(&self, pass: &Pass, state: &mut ChainState, example: usize) {
        let images = example * pass.views..(example + 1) * pass.views;
        // Inputs that are read in place are not in the first arrays.
        let first = usize::from(pass.inputs.is_some());
        for arrays in [&mut state.values, &mut state.gradients] {
            for (array, shape) in arrays.iter_mut().zip(&self.shapes).skip(first) {
                array[images.start * shape.size()..images.end * shape.size()].fill(0.0);
            }
        }
        for (node, layer) in self.nodes.iter().zip(&mut state.layers) {
            if let (Step::Map(op), LayerState::Map(state)) = (&node.step, layer) {
                // Inputs that this chain reads in place are not the inputs of a branch.
                op.erase(&node.pass(pass), &mut **state, images.clone());
            }
        }
    }

    /// The dense layers on one position.
    pub(crate) fn dense(&self) -> impl Iterator<Item = DenseLayer> {
        self.nodes.iter().enumerate().filter_map(|(layer, node)| match &node.step {
            Step::Map(op) => op.as_rank_one().map(|(inputs, outputs, has_bias)| DenseLayer {
                layer,
                parameters: node.parameters.clone(),
                leaf: node.leaves.start,
                from: node.from,
                to: node.to,
                inputs,
                outputs,
                has_bias,
            }),
            Step::InPlace(_) => None,
        })
    }

    /// The index and the parameters of each layer with weights.
    pub(crate) fn with_weights(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| !node.leaves.is_empty())
            .map(|(number, node)| (number, node.parameters.clone()))
    }
}

fn mixed_up() -> ! {
    unreachable!("the state of a chain has what each of its layers made")
}

#[cfg(test)]
mod tests {
    use crate::{Layer, Network, NetworkLoss, Shape};

    /// Tests of gradients rely on these shapes.
    #[test]
    fn layers_with_many_inputs_and_few_outputs_read_in_place() {
        let is_read = |inputs: usize, outputs: usize| {
            let layers = [Layer::linear(outputs), Layer::tanh(), Layer::linear(3)];
            let network = Network::new(Shape::Features(inputs), &layers, NetworkLoss::CrossEntropy).unwrap();
            network.chain().reads_in_place()
        };
        assert!([(64, 15), (64, 1), (150, 7)].into_iter().all(|(inputs, outputs)| is_read(inputs, outputs)));
        assert!([(63, 15), (64, 16), (20, 3)].into_iter().all(|(inputs, outputs)| !is_read(inputs, outputs)));
    }
}
