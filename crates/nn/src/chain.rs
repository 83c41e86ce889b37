//! Layers one after the other, and the arrays between them.
//!
//! Array j holds the values of the whole micro-batch between two layers (of inputs that are read in place, nothing), and there is a second one for their slopes. Activations
//! work in place: a layer that maps one array to another needs nothing of its output once it is there. An activation may need its own; what would
//! overwrite that gets a copy.

use std::ops::Range;

use crate::op::activation::InPlace;
use crate::op::copied::Copied;
use crate::op::{Leaf, Op, Pass, Ready, SPARE, Saved, Size, held};
use crate::shape::Shape;

/// What stands in a chain.
#[derive(Debug)]
pub(crate) enum Step {
    Map(Box<dyn Op>),
    InPlace(InPlace),
}

#[derive(Debug)]
struct Node {
    step: Step,
    /// Its parameters among the chain's.
    parameters: Range<usize>,
    /// Its leaves among the chain's.
    leaves: Range<usize>,
    /// Arrays that it reads and writes.
    from: usize,
    to: usize,
}

impl Node {
    /// Inputs are the first layer's alone.
    fn pass<'a>(&self, pass: &Pass<'a>) -> Pass<'a> {
        Pass { inputs: pass.inputs.filter(|_| self.from == 0), ..*pass }
    }
}

/// Layers one after the other.
#[derive(Debug)]
pub(crate) struct Chain {
    nodes: Vec<Node>,
    /// Of each array.
    shapes: Vec<Shape>,
    parameters: usize,
    leaves: Vec<Leaf>,
}

/// A dense layer on one position, in a chain.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub(crate) number: usize,
    pub(crate) parameters: Range<usize>,
    pub(crate) leaf: usize,
    /// Arrays of its inputs and outputs.
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
    pub(crate) slopes: Vec<Vec<f32>>,
    pub(crate) saved: Vec<Saved>,
    /// Lent to one layer after the other.
    room: Vec<f32>,
}

impl ChainState {
    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> usize {
        let Self { values, slopes, saved, room } = self;
        let arrays = [values, slopes].map(|arrays| held(arrays) + arrays.iter().map(held).sum::<usize>());
        let saved = held(saved) + saved.iter().map(Saved::bytes).sum::<usize>();
        arrays.into_iter().sum::<usize>() + saved + held(room)
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
            let bears = |node: &Node| match &node.step {
                Step::InPlace(before) => before.bears(*next),
                Step::Map(_) => true,
            };
            if !self.nodes.iter().filter(|node| node.to == last).all(bears) {
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

    /// Numbers of one image that come by in the inner loops: values, slopes, and what layers have beside them. What micro-batches are chosen by.
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

    pub(crate) fn state(&self, images: usize) -> ChainState {
        let arrays = || self.shapes.iter().map(|shape| vec![0.0; images * shape.size() + SPARE]).collect();
        let saved = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.save(images),
            Step::InPlace(activation) => activation.save(images * self.shapes[node.to].size()),
        });
        let rooms = self.nodes.iter().map(|node| match &node.step {
            Step::Map(op) => op.room(images),
            Step::InPlace(_) => 0,
        });
        let room = Vec::with_capacity(rooms.max().unwrap_or(0));
        ChainState { values: arrays(), slopes: arrays(), saved: saved.collect(), room }
    }

    pub(crate) fn ready(&self) -> Vec<Ready> {
        self.nodes.iter().map(|_| Ready::default()).collect()
    }

    /// Parameters to begin with.
    pub(crate) fn initialise(&self, uniform: &mut dyn FnMut() -> f64, parameters: &mut [f64]) {
        for node in &self.nodes {
            if let Step::Map(op) = &node.step {
                op.initialise(uniform, &mut parameters[node.parameters.clone()]);
            }
        }
    }

    /// Prepares all weights.
    pub(crate) fn prepare(&self, parameters: &[f64], ready: &mut [Ready]) {
        for (op, parameters, ready) in self.preparations(parameters, ready) {
            op.prepare(parameters, ready);
        }
    }

    /// What has to be prepared: a layer, its parameters, and where they go.
    pub(crate) fn preparations<'a>(
        &'a self,
        parameters: &'a [f64],
        ready: &'a mut [Ready],
    ) -> Vec<(&'a dyn Op, &'a [f64], &'a mut Ready)> {
        let nodes = self.nodes.iter().zip(ready);
        let maps = nodes.filter_map(|(node, ready)| match &node.step {
            Step::Map(op) => Some((&**op, &parameters[node.parameters.clone()], ready)),
            Step::InPlace(_) => None,
        });
        maps.collect()
    }

    /// Whether the first layer can read inputs where they are, and no other wants them.
    pub(crate) fn reads_in_place(&self) -> bool {
        let is_read = |node: &Node| matches!(&node.step, Step::Map(op) if op.reads_in_place());
        self.nodes.first().is_some_and(is_read)
    }

    /// From `values[0]`, or inputs where they are, to the last array.
    pub(crate) fn forward(&self, pass: &Pass, ready: &[Ready], state: &mut ChainState) {
        for ((node, ready), saved) in self.nodes.iter().zip(ready).zip(&mut state.saved) {
            let pass = &node.pass(pass);
            match &node.step {
                Step::Map(op) => {
                    let (before, after) = state.values.split_at_mut(node.to);
                    std::mem::swap(&mut saved.room, &mut state.room);
                    op.forward(pass, ready, &before[node.from], &mut after[0], saved);
                    std::mem::swap(&mut saved.room, &mut state.room);
                }
                Step::InPlace(activation) => {
                    let shape = self.shapes[node.to];
                    let data = &mut state.values[node.to][..pass.images * shape.size()];
                    activation.forward(pass, shape.channels(), data, saved);
                }
            }
        }
    }

    /// From the last array of slopes back to the first layer with weights, or to the input; measures on the way.
    pub(crate) fn backward(
        &self,
        pass: &Pass,
        ready: &[Ready],
        state: &mut ChainState,
        wants_input: bool,
        sizes: &mut [Vec<Size>],
    ) {
        let first = self.nodes.iter().position(|node| !node.leaves.is_empty()).unwrap_or(self.nodes.len());
        let first = if wants_input { 0 } else { first };
        let work = self.nodes.iter().zip(ready).zip(&mut state.saved).enumerate();
        for (number, ((node, ready), saved)) in work.skip(first).rev() {
            let pass = &node.pass(pass);
            match &node.step {
                Step::Map(op) => {
                    let (before, after) = state.slopes.split_at_mut(node.to);
                    let (input, d_output) = (&state.values[node.from], &after[0]);
                    let d_input = (wants_input || number > first).then_some(&mut before[node.from][..]);
                    std::mem::swap(&mut saved.room, &mut state.room);
                    op.backward(pass, ready, input, d_output, d_input, saved);
                    if pass.is_private && !node.leaves.is_empty() {
                        op.measure(pass, ready, input, d_output, saved, &mut sizes[node.leaves.clone()]);
                    }
                    std::mem::swap(&mut saved.room, &mut state.room);
                }
                Step::InPlace(activation) => {
                    let shape = self.shapes[node.to];
                    let all = ..pass.images * shape.size();
                    let (values, slopes) = (&state.values[node.to][all], &mut state.slopes[node.to][all]);
                    activation.backward(pass, shape.channels(), values, slopes, saved);
                }
            }
        }
    }

    /// Adds the weighted gradients of all layers that `is_wanted` to `sum`, which has all parameters.
    pub(crate) fn accumulate(
        &self,
        pass: &Pass,
        ready: &[Ready],
        state: &mut ChainState,
        weights: Option<&[Vec<f32>]>,
        is_wanted: impl Fn(usize) -> bool,
        sum: &mut [f32],
    ) {
        for (number, ((node, ready), saved)) in self.nodes.iter().zip(ready).zip(&mut state.saved).enumerate()
        {
            let has_weights = !node.leaves.is_empty();
            if let (Step::Map(op), true) = (&node.step, has_weights && is_wanted(number)) {
                let weights = weights.map(|weights| &weights[node.leaves.clone()]);
                let (input, d_output) = (&state.values[node.from], &mut state.slopes[node.to]);
                op.accumulate(
                    &node.pass(pass),
                    ready,
                    input,
                    d_output,
                    saved,
                    weights,
                    &mut sum[node.parameters.clone()],
                );
            }
        }
    }

    /// Overwrites everything of one example with zeros: 0 times NaN is NaN, so a weight of 0 is not enough.
    pub(crate) fn erase(&self, pass: &Pass, state: &mut ChainState, example: usize) {
        let images = example * pass.views..(example + 1) * pass.views;
        // Of inputs that are read in place the first arrays have nothing.
        let first = usize::from(pass.inputs.is_some());
        for arrays in [&mut state.values, &mut state.slopes] {
            for (array, shape) in arrays.iter_mut().zip(&self.shapes).skip(first) {
                array[images.start * shape.size()..images.end * shape.size()].fill(0.0);
            }
        }
        for (node, saved) in self.nodes.iter().zip(&mut state.saved) {
            if let Step::Map(op) = &node.step {
                // What is read in place is this chain's input, and no branch's.
                op.erase(&node.pass(pass), saved, images.clone());
            }
        }
    }

    /// Layers that are one dense layer on one position: their number, and where their parameters and arrays are.
    pub(crate) fn dense(&self) -> impl Iterator<Item = Dense> {
        self.nodes.iter().enumerate().filter_map(|(number, node)| match &node.step {
            Step::Map(op) => op.as_rank_one().map(|(inputs, outputs, has_bias)| Dense {
                number,
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

    /// Whether a layer has weights, by its number.
    pub(crate) fn with_weights(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(|(_, node)| !node.leaves.is_empty())
            .map(|(number, node)| (number, node.parameters.clone()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Layer, Loss, Network, Shape};

    /// What tests of gradients take for granted about their shapes.
    #[test]
    fn many_inputs_of_few_outputs_are_read_in_place() {
        let is_read = |inputs: usize, outputs: usize| {
            let layers = [Layer::linear(outputs), Layer::tanh(), Layer::linear(3)];
            let network = Network::new(Shape::Features(inputs), &layers, Loss::CrossEntropy).unwrap();
            network.chain().reads_in_place()
        };
        assert!([(64, 15), (64, 1), (150, 7)].into_iter().all(|(inputs, outputs)| is_read(inputs, outputs)));
        assert!([(63, 15), (64, 16), (20, 3)].into_iter().all(|(inputs, outputs)| !is_read(inputs, outputs)));
    }
}
