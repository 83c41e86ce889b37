//! Small examples whose gradients fit on a page. Parameters are 0 and so are outputs: with squared losses, slopes are minus the targets.

mod support;

use sordino_nn::{DenseExamples, Layer, Network, NetworkLoss, NetworkObjective, Shape};
use sordino_optim::Clipping;
use sordino_privacy::Neighbours;
use support::{clipped_sum, full_batch, length, plan};

/// With room enough the sum is the gradient; clipped to 1 it is the gradient over its length. On both roads.
fn has_gradient(input: Shape, layer: Layer, x: &[f32], slopes: &[f32], gradient: &[f64], squared: f64) {
    assert_eq!(gradient.iter().map(|g| g * g).sum::<f64>(), squared);
    let network = Network::new(input, &[layer], NetworkLoss::Squared).unwrap();
    let targets: Vec<f32> = slopes.iter().map(|slope| -slope).collect();
    let rows = DenseExamples::new(x.to_vec(), x.len(), targets, slopes.len());
    let objective = NetworkObjective::new(&network, &rows, 1.0).unwrap();
    for neighbours in [Neighbours::ZeroOut, Neighbours::AddRemove] {
        for (clip_norm, divisor) in [(100.0, 1.0), (1.0, squared.sqrt())] {
            let plan = plan(1, neighbours, Clipping::Flat { norm: clip_norm });
            let zeros = vec![0.0; gradient.len()];
            let got = clipped_sum(&objective, &zeros, &full_batch(1), &plan, clip_norm);
            let difference: Vec<f64> = got.iter().zip(gradient).map(|(got, g)| got * divisor - g).collect();
            assert!(length(&difference) < 1e-5 * squared.sqrt(), "{got:?} under {neighbours}");
        }
    }
}

/// A picture of 1 to 9 and a kernel of two by two: the slope b at each place, times what the kernel's tap sees there. For the first tap
/// `1·1 - 1·2 + 0·4 + 2·5 = 9`, then `2 - 3 + 12 = 11`, `4 - 5 + 16 = 15` and `5 - 6 + 18 = 17`: `81 + 121 + 225 + 289 = 716`.
#[test]
fn of_a_convolution() {
    let input = Shape::Image { channels: 1, height: 3, width: 3 };
    let layer = Layer::Conv2d {
        channels: 1,
        kernel: [2, 2],
        stride: [1, 1],
        padding: [0, 0],
        dilation: [1, 1],
        groups: 1,
        bias: false,
        standardised: false,
    };
    let picture: Vec<f32> = (1..10).map(|pixel| pixel as f32).collect();
    has_gradient(input, layer, &picture, &[1.0, -1.0, 0.0, 2.0], &[9.0, 11.0, 15.0, 17.0], 716.0);
}

/// Word 2 occurs twice: its row has `(1, 0) + (3, 1) = (4, 1)`, and that of word 5 has (0, 2). `16 + 1 + 4 = 21`; position by position it would be
/// `1 + 4 + 10 = 15`, too short.
#[test]
fn of_an_embedding() {
    let layer = Layer::Embedding { words: 6, features: 2, padding: None };
    let mut gradient = [0.0; 12];
    gradient[4..6].copy_from_slice(&[4.0, 1.0]);
    gradient[10..].copy_from_slice(&[0.0, 2.0]);
    let slopes = [1.0, 0.0, 0.0, 2.0, 3.0, 1.0];
    has_gradient(Shape::Tokens { length: 3 }, layer, &[2.0, 5.0, 2.0], &slopes, &gradient, 21.0);
    // A word whose row is not learned has no gradient: 4 is left.
    let layer = Layer::Embedding { words: 6, features: 2, padding: Some(2) };
    gradient[4..6].fill(0.0);
    has_gradient(Shape::Tokens { length: 3 }, layer, &[2.0, 5.0, 2.0], &slopes, &gradient, 4.0);
}

/// Four positions of three inputs and two outputs. The first output has slopes 0, 3, 1, 0: `3 (-2, -1, -3) + (-3, -3, -2) = (-9, -6, -11)`, 238 when
/// squared. The second has 1, 2, 0, 3: `(2, 1, 0) + 2 (-2, -1, -3) + 3 (2, 1, 3) = (4, 2, 3)`, 29. Together 267; the bias has `(4, 6)`, 52 more, and
/// not the sum of squares of its slopes, 24.
#[test]
fn of_a_dense_layer_on_a_sequence() {
    let input = Shape::Sequence { length: 4, features: 3 };
    let x = [2.0, 1.0, 0.0, -2.0, -1.0, -3.0, -3.0, -3.0, -2.0, 2.0, 1.0, 3.0];
    let slopes = [0.0, 1.0, 3.0, 2.0, 1.0, 0.0, 0.0, 3.0];
    let gradient = [-9.0, -6.0, -11.0, 4.0, 2.0, 3.0, 4.0, 6.0];
    let layer = |bias| Layer::Linear { outputs: 2, bias };
    has_gradient(input, layer(false), &x, &slopes, &gradient[..6], 267.0);
    has_gradient(input, layer(true), &x, &slopes, &gradient, 319.0);
}
