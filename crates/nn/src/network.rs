//! A network: layers and a loss.

use crate::build;
use crate::chain::{Chain, ChainState};
use crate::error::NetworkError;
use crate::examples::Example;
use crate::kernel::isa::Isa;
use crate::layer::Layer;
use crate::loss::NetworkLoss;
use crate::op::{AnyPrepared, Pass, Role};
use crate::shape::Shape;
use crate::view::View;

/// Examples that are evaluated at a time.
const EVALUATED: usize = 32;

/// Layers with a loss, for inputs of one shape. Its parameters are one vector, layer after layer.
///
/// ```
/// use sordino_nn::{Layer, NetworkLoss, Network, Shape};
/// let layers = [
///     Layer::conv2d(16, 8, 2, 3), Layer::tanh(), Layer::max_pool(2, 1),
///     Layer::conv2d(32, 4, 2, 0), Layer::tanh(), Layer::max_pool(2, 1),
///     Layer::Flatten, Layer::linear(32), Layer::tanh(), Layer::linear(10),
/// ];
/// let network = Network::new(Shape::Image { channels: 1, height: 28, width: 28 }, &layers, NetworkLoss::CrossEntropy)?;
/// assert_eq!(network.parameters(), 26_010);
/// # Ok::<(), sordino_nn::NetworkError>(())
/// ```
#[derive(Debug)]
pub struct Network {
    chain: Chain,
    input: Shape,
    loss: NetworkLoss,
    layers: Vec<Layer>,
    views: Vec<View>,
    isa: Isa,
}

impl Network {
    /// Builds a network, if its layers fit each other.
    pub fn new(input: Shape, layers: &[Layer], loss: NetworkLoss) -> Result<Self, NetworkError> {
        Self::with_views(input, layers, loss, &[View::Same])
    }

    /// Builds a network that sees several views of each example in training.
    pub fn with_views(
        input: Shape,
        layers: &[Layer],
        loss: NetworkLoss,
        views: &[View],
    ) -> Result<Self, NetworkError> {
        build::check_input(input)?;
        let chain = build::network(input, layers, views.len().max(1))?;
        build::check_parameters(chain.parameters())?;
        let views = if views.is_empty() { vec![View::Same] } else { views.to_vec() };
        Ok(Self { chain, input, loss, layers: layers.to_vec(), views, isa: Isa::detect() })
    }

    /// The number of parameters, d.
    pub fn parameters(&self) -> usize {
        self.chain.parameters()
    }

    /// The shape of inputs.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// The shape of outputs.
    pub fn output(&self) -> Shape {
        self.chain.output()
    }

    /// The loss.
    pub fn loss(&self) -> NetworkLoss {
        self.loss
    }

    /// The layers as they were written.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The views of each example in training.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The number of targets of an example.
    pub fn targets(&self) -> usize {
        self.loss.targets(self.output())
    }

    /// The number of parameters of each part with weights, in order: what per-layer clipping clips separately.
    pub fn parts(&self) -> Vec<usize> {
        self.chain.leaves().iter().map(|leaf| leaf.parameters).collect()
    }

    /// Initial parameters: uniform in ±1/sqrt(inputs of a neuron), the same for the same seed. The seed is public, so no
    /// cryptographic randomness is needed.
    pub fn initial(&self, seed: u64) -> Vec<f64> {
        let mut stream = Stream(seed);
        let mut parameters = vec![0.0; self.parameters()];
        self.chain.initialise(&mut || stream.uniform(), &mut parameters);
        parameters
    }

    /// The outputs for the examples in `inputs`, which follow each other.
    pub fn outputs(&self, parameters: &[f64], inputs: &[f32]) -> Result<Vec<f32>, NetworkError> {
        let (size, output) = (self.input.size(), self.output().size());
        let mut evaluator = self.evaluator(parameters)?;
        if !inputs.len().is_multiple_of(size) {
            return Err(NetworkError::Data { what: "input", expected: size, got: inputs.len() });
        }
        let mut outputs = Vec::with_capacity(inputs.len() / size * output);
        for some in inputs.chunks(size * EVALUATED) {
            outputs.extend_from_slice(evaluator.outputs(some.chunks_exact(size)));
        }
        Ok(outputs)
    }

    /// An evaluator of examples at these parameters.
    pub fn evaluator(&self, parameters: &[f64]) -> Result<Evaluator<'_>, NetworkError> {
        self.check_parameters(parameters)?;
        let mut prepared = self.chain.unprepared();
        self.chain.prepare(parameters, &mut prepared);
        Ok(Evaluator { network: self, prepared, state: self.chain.state(EVALUATED, Role::Learned) })
    }

    /// Checks the number of parameters.
    pub(crate) fn check_parameters(&self, parameters: &[f64]) -> Result<(), NetworkError> {
        if parameters.len() != self.parameters() {
            let (expected, got) = (self.parameters(), parameters.len());
            return Err(NetworkError::Length { what: "the parameters", expected, got });
        }
        Ok(())
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }

    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// Checks the lengths of an input and a target.
    pub(crate) fn check(&self, [input, target]: [usize; 2]) -> Result<(), NetworkError> {
        let expected = [("input", self.input.size(), input), ("target", self.targets(), target)];
        match expected.into_iter().find(|(_, expected, got)| expected != got) {
            Some((what, expected, got)) => Err(NetworkError::Data { what, expected, got }),
            None => Ok(()),
        }
    }
}

/// Evaluates examples at fixed parameters.
#[derive(Debug)]
pub struct Evaluator<'a> {
    network: &'a Network,
    prepared: Vec<AnyPrepared>,
    state: ChainState,
}

impl Evaluator<'_> {
    /// The outputs for at most 32 inputs.
    fn outputs<'b>(&mut self, inputs: impl Iterator<Item = &'b [f32]>) -> &[f32] {
        let (chain, shape) = (&self.network.chain, self.network.input);
        let mut images = 0;
        for (input, to) in inputs.zip(self.state.values[0].chunks_exact_mut(shape.size())) {
            View::Same.write(shape, input, to);
            images += 1;
        }
        let pass = Pass {
            isa: self.network.isa,
            images,
            views: 1,
            is_private: false,
            begins_group: false,
            seeds: &[],
            inputs: None,
        };
        chain.forward(&pass, &self.prepared, &mut self.state);
        let last = self.state.values.len() - 1; // there is always the input
        &self.state.values[last][..images * chain.output().size()]
    }

    /// The mean loss over `examples` and, for classes, the accuracy over their positions. Not private: for public examples,
    /// or for results that are paid for.
    pub fn score<'b>(&mut self, examples: impl Iterator<Item = Example<'b>>) -> NetworkScore {
        let (loss, output) = (self.network.loss, self.network.output());
        let (mut total, mut right, mut count, mut positions) = (0.0, 0, 0, 0);
        for example in examples {
            let outputs = self.outputs(std::iter::once(example.input));
            total += loss.value(outputs, example.target);
            count += 1;
            if loss == NetworkLoss::CrossEntropy {
                for (scores, target) in outputs.chunks_exact(output.channels()).zip(example.target) {
                    positions += usize::from(*target >= 0.0);
                    right += usize::from(largest(scores) as f32 == *target);
                }
            }
        }
        NetworkScore {
            loss: total / f64::from(count.max(1)),
            accuracy: right as f64 / positions.max(1) as f64,
        }
    }
}

/// How well a network predicts examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkScore {
    /// The mean loss of an example.
    pub loss: f64,
    /// The fraction of positions whose largest output is the target; 0 if targets are not classes.
    pub accuracy: f64,
}

/// The index of the largest number, the first if there are several.
pub(crate) fn largest(numbers: &[f32]) -> usize {
    let mut best = 0;
    for (at, number) in numbers.iter().enumerate() {
        if *number > numbers[best] {
            best = at;
        }
    }
    best
}

/// Public pseudo-random numbers: SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, 2014).
pub(crate) struct Stream(pub(crate) u64);

impl Stream {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-52) - 1.0
    }
}
