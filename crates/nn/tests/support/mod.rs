//! Networks in double precision, straight from their definitions: channels first, one number after the other, and gradients by
//! differences of losses. Nothing of the engine is used.
#![allow(dead_code, reason = "each test uses its part")]

use sordino_data::{Batch, BatchPlan, ContributionLimit, Sampling, UnitRule};
use sordino_nn::{Activation, Examples, Layer, Loss, Network, NetworkObjective, Rows, Shape};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{ClippedSum, Clipping, Objective, Plan, PlanOptions};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};

pub(crate) mod pictures;
pub(crate) mod random;

/// The loss of one example.
pub(crate) fn loss(
    input: Shape,
    layers: &[Layer],
    loss: Loss,
    parameters: &[f64],
    x: &[f32],
    target: &[f32],
) -> f64 {
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let (shape, y) = forward(input, layers, &mut &parameters[..], &channels_first(input, &x));
    let (positions, channels) = (shape.positions(), shape.channels());
    match loss {
        Loss::CrossEntropy => (0..positions)
            .filter(|position| target[*position] >= 0.0)
            .map(|position| {
                let score = |channel: usize| y[channel * positions + position];
                let sum: f64 = (0..channels).map(|channel| score(channel).exp()).sum();
                sum.ln() - score(target[position] as usize)
            })
            .sum(),
        Loss::Squared => (0..positions * channels)
            .map(|at| {
                let (position, channel) = (at / channels, at % channels);
                (y[channel * positions + position] - f64::from(target[at])).powi(2) / 2.0
            })
            .sum(),
    }
}

/// Pictures come with channels first; sequences have them last.
fn channels_first(shape: Shape, x: &[f64]) -> Vec<f64> {
    match shape {
        Shape::Sequence { length, features } => {
            (0..length * features).map(|at| x[at % length * features + at / length]).collect()
        }
        Shape::Image { .. } | Shape::Features(_) | Shape::Tokens { .. } => x.to_vec(),
    }
}

/// Takes its parameters from the front of `parameters`.
pub(crate) fn forward(
    shape: Shape,
    layers: &[Layer],
    parameters: &mut &[f64],
    x: &[f64],
) -> (Shape, Vec<f64>) {
    layers.iter().fold((shape, x.to_vec()), |(shape, x), layer| one_layer(shape, layer, parameters, &x))
}

fn take<'a>(parameters: &mut &'a [f64], count: usize) -> &'a [f64] {
    let (taken, rest) = parameters.split_at(count);
    *parameters = rest;
    taken
}

fn one_layer(shape: Shape, layer: &Layer, parameters: &mut &[f64], x: &[f64]) -> (Shape, Vec<f64>) {
    let (positions, channels) = (shape.positions(), shape.channels());
    match layer {
        Layer::Linear { outputs, bias } => {
            let weights = take(parameters, outputs * channels);
            let biases = take(parameters, if *bias { *outputs } else { 0 });
            let y = (0..outputs * positions).map(|at| {
                let (output, position) = (at / positions, at % positions);
                let each =
                    (0..channels).map(|c| weights[output * channels + c] * x[c * positions + position]);
                each.sum::<f64>() + biases.get(output).copied().unwrap_or(0.0)
            });
            (with_channels(shape, *outputs), y.collect())
        }
        Layer::Conv2d {
            channels: outputs,
            kernel,
            stride,
            padding,
            dilation,
            groups,
            bias,
            standardised,
        } => {
            let geometry =
                Geometry { kernel: *kernel, stride: *stride, padding: *padding, dilation: *dilation };
            convolve(shape, *outputs, geometry, *groups, *bias, *standardised, parameters, x)
        }
        Layer::MaxPool { kernel, stride } => windows(shape, *kernel, *stride, x, |values| {
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
        }),
        Layer::AvgPool { kernel, stride } => {
            windows(shape, *kernel, *stride, x, |values| values.iter().sum::<f64>() / values.len() as f64)
        }
        Layer::AdaptiveAvgPool { output } => {
            adaptive(shape, *output, x, |values| values.iter().sum::<f64>() / values.len() as f64)
        }
        Layer::AdaptiveMaxPool { output } => {
            adaptive(shape, *output, x, |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        }
        Layer::Flatten => {
            // Channels first of pictures, positions first of sequences.
            let transposed = |at: usize| x[at % channels * positions + at / channels];
            let flat = match shape {
                Shape::Sequence { .. } => (0..x.len()).map(transposed).collect(),
                Shape::Image { .. } | Shape::Features(_) | Shape::Tokens { .. } => x.to_vec(),
            };
            (Shape::Features(positions * channels), flat)
        }
        Layer::Activation { function } => (shape, activate(*function, positions, x)),
        Layer::GroupNorm { groups, affine } => {
            let set = |channel: usize, _: usize| channel / (channels / groups);
            (shape, normalise(positions, channels, true, *affine, parameters, x, set))
        }
        Layer::LayerNorm { affine } => {
            (shape, normalise(positions, channels, true, *affine, parameters, x, |_, position| position))
        }
        Layer::RmsNorm { affine } => {
            (shape, normalise(positions, channels, false, *affine, parameters, x, |_, position| position))
        }
        Layer::Embedding { words, features, padding } => {
            let table = take(parameters, words * features);
            let y = (0..features * positions).map(|at| {
                let (feature, word) = (at / positions, x[at % positions] as usize);
                if Some(word) == *padding { 0.0 } else { table[word * features + feature] }
            });
            (Shape::Sequence { length: positions, features: *features }, y.collect())
        }
        Layer::Residual { body, shortcut } => {
            let (result, mut y) = forward(shape, body, parameters, x);
            let (_, other) = forward(shape, shortcut, parameters, x);
            y.iter_mut().zip(other).for_each(|(y, other)| *y += other);
            (result, y)
        }
        Layer::Frozen { layer, values } => one_layer(shape, layer, &mut &values[..], x),
        Layer::Dropout { .. } | Layer::BatchNorm | _ => unreachable!("no reference for {layer:?}"),
    }
}

fn with_channels(shape: Shape, channels: usize) -> Shape {
    match shape {
        Shape::Features(_) => Shape::Features(channels),
        Shape::Sequence { length, .. } | Shape::Tokens { length } => {
            Shape::Sequence { length, features: channels }
        }
        Shape::Image { height, width, .. } => Shape::Image { channels, height, width },
    }
}

fn activate(function: Activation, positions: usize, x: &[f64]) -> Vec<f64> {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let each = |f: &dyn Fn(f64) -> f64| x.iter().map(|x| f(*x)).collect();
    match function {
        Activation::Relu => each(&|x| x.max(0.0)),
        Activation::LeakyRelu { slope } => each(&|x| if x < 0.0 { f64::from(slope) * x } else { x }),
        Activation::Tanh => each(&f64::tanh),
        Activation::Sigmoid => each(&sigmoid),
        Activation::TemperedSigmoid { height, slope, shift } => {
            each(&|x| f64::from(height) * sigmoid(f64::from(slope) * x) - f64::from(shift))
        }
        Activation::Gelu => each(&|x| x * 0.5 * (1.0 + libm::erf(x / 2f64.sqrt()))),
        Activation::Silu => each(&|x| x * sigmoid(x)),
        Activation::Softmax => {
            let sum =
                |position: usize| x.iter().skip(position).step_by(positions).map(|x| x.exp()).sum::<f64>();
            x.iter().enumerate().map(|(at, x)| x.exp() / sum(at % positions)).collect()
        }
    }
}

/// Mean 0 (where `centred`) and mean square 1 in each set, then gains and shifts.
fn normalise(
    positions: usize,
    channels: usize,
    centred: bool,
    affine: bool,
    parameters: &mut &[f64],
    x: &[f64],
    set: impl Fn(usize, usize) -> usize,
) -> Vec<f64> {
    let gains = take(parameters, if affine { channels } else { 0 });
    let shifts = take(parameters, if affine && centred { channels } else { 0 });
    let set_of = |at: usize| set(at / positions, at % positions);
    (0..x.len())
        .map(|at| {
            let members: Vec<f64> =
                (0..x.len()).filter(|other| set_of(*other) == set_of(at)).map(|other| x[other]).collect();
            let count = members.len() as f64;
            let mean = if centred { members.iter().sum::<f64>() / count } else { 0.0 };
            let square = members.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            let channel = at / positions;
            let gain = gains.get(channel).copied().unwrap_or(1.0);
            (x[at] - mean) / (square + f64::from(1e-5f32)).sqrt() * gain
                + shifts.get(channel).copied().unwrap_or(0.0)
        })
        .collect()
}

struct Geometry {
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
}

#[allow(clippy::too_many_arguments, reason = "all that a convolution is made of")]
fn convolve(
    shape: Shape,
    outputs: usize,
    geometry: Geometry,
    groups: usize,
    bias: bool,
    standardised: bool,
    parameters: &mut &[f64],
    x: &[f64],
) -> (Shape, Vec<f64>) {
    let Shape::Image { channels, height, width } = shape else { unreachable!("a convolution has a picture") };
    let Geometry { kernel: [kh, kw], stride, padding, dilation } = geometry;
    let out = |size: usize, axis: usize, k: usize| {
        (size + 2 * padding[axis] - dilation[axis] * (k - 1) - 1) / stride[axis] + 1
    };
    let (oh, ow) = (out(height, 0, kh), out(width, 1, kw));
    let (from, to) = (channels / groups, outputs / groups);
    let mut weights = take(parameters, groups * kh * kw * from * to).to_vec();
    if standardised {
        for n in 0..outputs {
            let depth = kh * kw * from;
            let at = |k: usize| (n / to * depth + k) * to + n % to;
            let mean = (0..depth).map(|k| weights[at(k)]).sum::<f64>() / depth as f64;
            let variance = (0..depth).map(|k| (weights[at(k)] - mean).powi(2)).sum::<f64>() / depth as f64;
            (0..depth).for_each(|k| weights[at(k)] = (weights[at(k)] - mean) / (variance + 1e-5).sqrt());
        }
    }
    let biases = take(parameters, if bias { outputs } else { 0 });
    let pixel = |c: usize, y: usize, x_at: usize| {
        let y = (y).checked_sub(padding[0]).filter(|y| *y < height);
        let x_at = (x_at).checked_sub(padding[1]).filter(|x| *x < width);
        y.zip(x_at).map_or(0.0, |(y, x_at)| x[(c * height + y) * width + x_at])
    };
    let mut result = Vec::new();
    for n in 0..outputs {
        for oy in 0..oh {
            for ox in 0..ow {
                let group = n / to;
                let mut sum = biases.get(n).copied().unwrap_or(0.0);
                for ky in 0..kh {
                    for kx in 0..kw {
                        for c in 0..from {
                            let weight = weights[(((group * kh + ky) * kw + kx) * from + c) * to + n % to];
                            let (y, x) =
                                (oy * stride[0] + ky * dilation[0], ox * stride[1] + kx * dilation[1]);
                            sum += weight * pixel(group * from + c, y, x);
                        }
                    }
                }
                result.push(sum);
            }
        }
    }
    (Shape::Image { channels: outputs, height: oh, width: ow }, result)
}

fn windows(
    shape: Shape,
    kernel: [usize; 2],
    stride: [usize; 2],
    x: &[f64],
    f: impl Fn(&[f64]) -> f64,
) -> (Shape, Vec<f64>) {
    let Shape::Image { height, width, .. } = shape else { unreachable!("pooling has a picture") };
    let starts = |size: usize, axis: usize| -> Vec<(usize, usize)> {
        (0..)
            .map(|i| i * stride[axis])
            .take_while(|s| s + kernel[axis] <= size)
            .map(|s| (s, s + kernel[axis]))
            .collect()
    };
    pool(shape, &starts(height, 0), &starts(width, 1), x, f)
}

fn adaptive(shape: Shape, output: [usize; 2], x: &[f64], f: impl Fn(&[f64]) -> f64) -> (Shape, Vec<f64>) {
    let Shape::Image { height, width, .. } = shape else { unreachable!("pooling has a picture") };
    let bounds = |size: usize, count: usize| -> Vec<(usize, usize)> {
        (0..count).map(|i| (i * size / count, ((i + 1) * size).div_ceil(count))).collect()
    };
    pool(shape, &bounds(height, output[0]), &bounds(width, output[1]), x, f)
}

fn pool(
    shape: Shape,
    lines: &[(usize, usize)],
    columns: &[(usize, usize)],
    x: &[f64],
    f: impl Fn(&[f64]) -> f64,
) -> (Shape, Vec<f64>) {
    let Shape::Image { channels, height, width } = shape else { unreachable!("pooling has a picture") };
    let mut result = Vec::new();
    for c in 0..channels {
        for (top, bottom) in lines {
            for (left, right) in columns {
                let values: Vec<f64> = (*top..*bottom)
                    .flat_map(|y| (*left..*right).map(move |x_at| (c * height + y) * width + x_at))
                    .map(|at| x[at])
                    .collect();
                result.push(f(&values));
            }
        }
    }
    (Shape::Image { channels, height: lines.len(), width: columns.len() }, result)
}

/// The gradient of one example's loss by central differences: exact to some 1e-8.
pub(crate) fn gradient(f: impl Fn(&[f64]) -> f64, parameters: &[f64]) -> Vec<f64> {
    differences(f, parameters, 1e-7)
}

/// Central differences over steps of one length.
pub(crate) fn differences(f: impl Fn(&[f64]) -> f64, parameters: &[f64], step: f64) -> Vec<f64> {
    let mut moved = parameters.to_vec();
    (0..parameters.len())
        .map(|j| {
            moved[j] = parameters[j] + step;
            let above = f(&moved);
            moved[j] = parameters[j] - step;
            let below = f(&moved);
            moved[j] = parameters[j];
            (above - below) / (2.0 * step)
        })
        .collect()
}

pub(crate) fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// A plan for full batches with hardly any noise, so that the grid is fine.
pub(crate) fn plan(slots: usize, neighbours: Neighbours, clipping: Clipping) -> Plan {
    let options = PlanOptions {
        sampling: Sampling::FullBatch,
        slots: Count::new(slots as u64).unwrap(),
        rounds: Count::ONE,
        neighbours,
        clipping,
        scales: None,
        divisor: Some(1.0),
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    Plan::with_noise(options, NoiseMultiplier::new(1e-6).unwrap()).unwrap()
}

pub(crate) fn full_batch(slots: usize) -> Batch {
    let slots = Count::new(slots as u64).unwrap();
    let plan = BatchPlan::new(Sampling::FullBatch, slots, Count::ONE, Neighbours::ZeroOut).unwrap();
    plan.batches().next(&mut seeded(0)).unwrap()
}

/// The clipped sum in steps, and the length of a step.
pub(crate) fn units<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    plan: &Plan,
    clip_norm: f64,
    threads: usize,
) -> (Vec<i64>, f64) {
    let clip = plan.clip(clip_norm, objective.dimension(), objective.float_sums()).unwrap();
    let ClippedSum { gradient, .. } =
        objective.clipped_sum(parameters, batch, &clip, std::num::NonZero::new(threads).unwrap()).unwrap();
    (unprotected(&gradient).to_vec(), clip.grid().step())
}

/// The same in data units.
pub(crate) fn clipped_sum<E: Examples + ?Sized>(
    objective: &NetworkObjective<'_, E>,
    parameters: &[f64],
    batch: &Batch,
    plan: &Plan,
    clip_norm: f64,
) -> Vec<f64> {
    let (units, step) = units(objective, parameters, batch, plan, clip_norm, 2);
    units.iter().map(|unit| *unit as f64 * step).collect()
}

/// Everything that a comparison needs.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) input: Shape,
    pub(crate) layers: Vec<Layer>,
    pub(crate) loss: Loss,
    pub(crate) examples: usize,
    pub(crate) seed: u64,
}

impl Case {
    pub(crate) fn network(&self) -> Network {
        Network::new(self.input, &self.layers, self.loss).unwrap()
    }

    /// Random examples.
    pub(crate) fn rows(&self, network: &Network) -> Rows {
        let mut random = random::Random(self.seed);
        let (size, targets) = (self.input.size(), network.targets());
        let inputs = (0..self.examples * size).map(|_| self.number(&mut random)).collect();
        let classes = network.output().channels() as u64;
        let targets_all = (0..self.examples * targets)
            .map(|_| match self.loss {
                // Now and then a target that is to be ignored, where there are several.
                Loss::CrossEntropy if targets > 1 && random.below(4) == 0 => -1.0,
                Loss::CrossEntropy => random.below(classes) as f32,
                Loss::Squared => random.uniform() as f32,
            })
            .collect();
        Rows::new(inputs, size, targets_all, targets)
    }

    fn number(&self, random: &mut random::Random) -> f32 {
        match self.input {
            Shape::Tokens { .. } => random.below(5) as f32,
            Shape::Features(_) | Shape::Sequence { .. } | Shape::Image { .. } => {
                random.uniform() as f32 * 2.0
            }
        }
    }
}
