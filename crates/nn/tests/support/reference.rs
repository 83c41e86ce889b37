//! Networks in double precision with their derivatives, straight from their definitions: channels first, one number after the other. Nothing
//! of the engine is used.

use sordino_nn::{Activation, Layer, NetworkLoss, Shape, View};

use super::dropout;
use super::dual::Dual;

/// Where layers stand in a network, and what decides who is left out there.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// The number of the list that they are in.
    pub(crate) of: u64,
    /// The seed of one image; none leaves nothing out.
    pub(crate) seed: Option<u64>,
}

/// What an example's loss depends on beside the example and the parameters.
pub(crate) struct Model<'a> {
    pub(crate) input: Shape,
    pub(crate) layers: &'a [Layer],
    pub(crate) loss: NetworkLoss,
    pub(crate) views: &'a [View],
    /// Of each view.
    pub(crate) seeds: Vec<u64>,
}

impl Model<'_> {
    /// The mean over views.
    pub(crate) fn loss(&self, parameters: &[Dual], x: &[f32], target: &[f32]) -> Dual {
        let x = numbers(x);
        let x = channels_first(self.input, &x);
        let each = self.views.iter().zip(&self.seeds).map(|(view, seed)| {
            let place = Place { of: 0, seed: Some(*seed) };
            let seen = seen(*view, self.input, &x);
            let (shape, y) = forward(self.input, self.layers, place, &mut &parameters[..], &seen);
            loss(shape, self.loss, &y, target)
        });
        each.sum::<Dual>() * (self.views.len() as f64).recip()
    }
}

/// What the first layers make of an input that is seen as it is, with nothing left out.
pub(crate) fn values(input: Shape, layers: &[Layer], parameters: &[Dual], x: &[f32]) -> (Shape, Vec<Dual>) {
    let x = numbers(x);
    forward(input, layers, Place { of: 0, seed: None }, &mut &parameters[..], &channels_first(input, &x))
}

fn numbers(x: &[f32]) -> Vec<Dual> {
    x.iter().map(|x| f64::from(*x).into()).collect()
}

/// One view of a picture; of anything else the same.
fn seen(view: View, shape: Shape, x: &[Dual]) -> Vec<Dual> {
    let Shape::Image { height, width, .. } = shape else { return x.to_vec() };
    let moved = |at: usize, by: i32, size: usize| {
        let from = at as i64 - i64::from(by);
        (0..size as i64).contains(&from).then_some(from as usize)
    };
    let pixel = |at: usize| {
        let (line, column) = (at / width % height, at % width);
        let (line, column) = match view {
            View::Same => (Some(line), Some(column)),
            View::Mirrored => (Some(line), Some(width - 1 - column)),
            View::Shifted { lines, columns } => (moved(line, lines, height), moved(column, columns, width)),
        };
        let plane = at / (height * width) * height * width;
        line.zip(column).map_or(Dual::ZERO, |(line, column)| x[plane + line * width + column])
    };
    (0..x.len()).map(pixel).collect()
}

/// Of outputs.
fn loss(shape: Shape, loss: NetworkLoss, y: &[Dual], target: &[f32]) -> Dual {
    let (positions, channels) = (shape.positions(), shape.channels());
    match loss {
        NetworkLoss::CrossEntropy => (0..positions)
            .filter(|position| target[*position] >= 0.0)
            .map(|position| {
                let score = |channel: usize| y[channel * positions + position];
                let sum: Dual = (0..channels).map(|channel| score(channel).exp()).sum();
                sum.ln() - score(target[position] as usize)
            })
            .sum(),
        NetworkLoss::Squared => (0..positions * channels)
            .map(|at| {
                let (position, channel) = (at / channels, at % channels);
                let error = y[channel * positions + position] - f64::from(target[at]).into();
                error * error * 0.5
            })
            .sum(),
    }
}

/// Pictures come with channels first; sequences have them last.
fn channels_first(shape: Shape, x: &[Dual]) -> Vec<Dual> {
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
    place: Place,
    parameters: &mut &[Dual],
    x: &[Dual],
) -> (Shape, Vec<Dual>) {
    layers.iter().enumerate().fold((shape, x.to_vec()), |(shape, x), (at, layer)| {
        let place = Place { of: dropout::number(place.of, at), ..place };
        one_layer(shape, layer, place, parameters, &x)
    })
}

fn take<'a>(parameters: &mut &'a [Dual], count: usize) -> &'a [Dual] {
    let (taken, rest) = parameters.split_at(count);
    *parameters = rest;
    taken
}

/// `place.of` is the layer's own number.
fn one_layer(
    shape: Shape,
    layer: &Layer,
    place: Place,
    parameters: &mut &[Dual],
    x: &[Dual],
) -> (Shape, Vec<Dual>) {
    let (positions, channels) = (shape.positions(), shape.channels());
    match layer {
        Layer::Linear { outputs, bias } => {
            let weights = take(parameters, outputs * channels);
            let biases = take(parameters, if *bias { *outputs } else { 0 });
            let y = (0..outputs * positions).map(|at| {
                let (output, position) = (at / positions, at % positions);
                let each =
                    (0..channels).map(|c| weights[output * channels + c] * x[c * positions + position]);
                each.sum::<Dual>() + biases.get(output).copied().unwrap_or(Dual::ZERO)
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
        Layer::MaxPool { kernel, stride } => windows(shape, *kernel, *stride, x, largest),
        Layer::AvgPool { kernel, stride } => windows(shape, *kernel, *stride, x, mean),
        Layer::AdaptiveAvgPool { output } => adaptive(shape, *output, x, mean),
        Layer::AdaptiveMaxPool { output } => adaptive(shape, *output, x, largest),
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
                let (feature, word) = (at / positions, x[at % positions].value as usize);
                if Some(word) == *padding { Dual::ZERO } else { table[word * features + feature] }
            });
            (Shape::Sequence { length: positions, features: *features }, y.collect())
        }
        Layer::Residual { body, shortcut } => {
            let branch = |number: usize| Place { of: dropout::number(place.of, number), ..place };
            let (result, mut y) = forward(shape, body, branch(0), parameters, x);
            let (_, other) = forward(shape, shortcut, branch(1), parameters, x);
            y.iter_mut().zip(other).for_each(|(y, other)| *y += other);
            (result, y)
        }
        Layer::Frozen { layer, values } => {
            let values: Vec<Dual> = values.iter().map(|w| Dual::from(*w)).collect();
            one_layer(shape, layer, place, &mut &values[..], x)
        }
        Layer::Dropout { rate } => {
            let Some(seed) = place.seed else { return (shape, x.to_vec()) };
            let factors = dropout::factors(seed, place.of, *rate, x.len());
            // Choices are made position by position.
            let y =
                x.iter().enumerate().map(|(at, x)| *x * factors[at % positions * channels + at / positions]);
            (shape, y.collect())
        }
        Layer::BatchNorm | _ => unreachable!("no reference for {layer:?}"),
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

fn activate(function: Activation, positions: usize, x: &[Dual]) -> Vec<Dual> {
    let one = Dual::from(1.0);
    let sigmoid = |x: Dual| one / (one + (-x).exp());
    let each = |f: &dyn Fn(Dual) -> Dual| x.iter().map(|x| f(*x)).collect();
    match function {
        // Of two equal numbers the first has the slope: at 0 it is 0.
        Activation::Relu => each(&|x| Dual::ZERO.larger(x)),
        Activation::LeakyRelu { slope } => each(&|x| if x.value < 0.0 { x * f64::from(slope) } else { x }),
        Activation::Tanh => each(&Dual::tanh),
        Activation::Sigmoid => each(&sigmoid),
        Activation::TemperedSigmoid { height, slope, shift } => {
            each(&|x| sigmoid(x * f64::from(slope)) * f64::from(height) - f64::from(shift).into())
        }
        Activation::Gelu => each(&|x| x * (one + (x * 0.5f64.sqrt()).erf()) * 0.5),
        Activation::Silu => each(&|x| x * sigmoid(x)),
        Activation::Softmax => {
            let sum =
                |position: usize| x.iter().skip(position).step_by(positions).map(|x| x.exp()).sum::<Dual>();
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
    parameters: &mut &[Dual],
    x: &[Dual],
    set: impl Fn(usize, usize) -> usize,
) -> Vec<Dual> {
    let gains = take(parameters, if affine { channels } else { 0 });
    let shifts = take(parameters, if affine && centred { channels } else { 0 });
    let set_of = |at: usize| set(at / positions, at % positions);
    let sets = (0..x.len()).map(set_of).max().map_or(0, |last| last + 1);
    let means_of = |y: &[Dual]| {
        let (mut sums, mut counts) = (vec![Dual::ZERO; sets], vec![0.0f64; sets]);
        for (at, y) in y.iter().enumerate() {
            sums[set_of(at)] += *y;
            counts[set_of(at)] += 1.0;
        }
        sums.iter().zip(counts).map(|(sum, count)| *sum * count.recip()).collect::<Vec<Dual>>()
    };
    let means = if centred { means_of(x) } else { vec![Dual::ZERO; sets] };
    let moved: Vec<Dual> = x.iter().enumerate().map(|(at, x)| *x - means[set_of(at)]).collect();
    let squares = means_of(&moved.iter().map(|x| *x * *x).collect::<Vec<Dual>>());
    let result = moved.iter().enumerate().map(|(at, x)| {
        let (channel, square) = (at / positions, squares[set_of(at)]);
        let gain = gains.get(channel).copied().unwrap_or(Dual::from(1.0));
        let shift = shifts.get(channel).copied().unwrap_or(Dual::ZERO);
        *x / (square + f64::from(1e-5f32).into()).sqrt() * gain + shift
    });
    result.collect()
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
    parameters: &mut &[Dual],
    x: &[Dual],
) -> (Shape, Vec<Dual>) {
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
            let mean = (0..depth).map(|k| weights[at(k)]).sum::<Dual>() * (depth as f64).recip();
            (0..depth).for_each(|k| weights[at(k)] = weights[at(k)] - mean);
            let squares = (0..depth).map(|k| weights[at(k)] * weights[at(k)]).sum::<Dual>();
            let deviation = (squares * (depth as f64).recip() + 1e-5.into()).sqrt();
            (0..depth).for_each(|k| weights[at(k)] = weights[at(k)] / deviation);
        }
    }
    let biases = take(parameters, if bias { outputs } else { 0 });
    let pixel = |c: usize, y: usize, x_at: usize| {
        let y = (y).checked_sub(padding[0]).filter(|y| *y < height);
        let x_at = (x_at).checked_sub(padding[1]).filter(|x| *x < width);
        y.zip(x_at).map_or(Dual::ZERO, |(y, x_at)| x[(c * height + y) * width + x_at])
    };
    let mut result = Vec::new();
    for n in 0..outputs {
        for oy in 0..oh {
            for ox in 0..ow {
                let group = n / to;
                let mut sum = biases.get(n).copied().unwrap_or(Dual::ZERO);
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
    x: &[Dual],
    f: impl Fn(&[Dual]) -> Dual,
) -> (Shape, Vec<Dual>) {
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

fn adaptive(shape: Shape, output: [usize; 2], x: &[Dual], f: impl Fn(&[Dual]) -> Dual) -> (Shape, Vec<Dual>) {
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
    x: &[Dual],
    f: impl Fn(&[Dual]) -> Dual,
) -> (Shape, Vec<Dual>) {
    let Shape::Image { channels, height, width } = shape else { unreachable!("pooling has a picture") };
    let mut result = Vec::new();
    for c in 0..channels {
        for (top, bottom) in lines {
            for (left, right) in columns {
                let values: Vec<Dual> = (*top..*bottom)
                    .flat_map(|y| (*left..*right).map(move |x_at| (c * height + y) * width + x_at))
                    .map(|at| x[at])
                    .collect();
                result.push(f(&values));
            }
        }
    }
    (Shape::Image { channels, height: lines.len(), width: columns.len() }, result)
}

fn largest(values: &[Dual]) -> Dual {
    values.iter().copied().reduce(Dual::larger).unwrap()
}

fn mean(values: &[Dual]) -> Dual {
    values.iter().copied().sum::<Dual>() * (values.len() as f64).recip()
}
