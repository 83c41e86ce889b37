//! Every preset has the weights that are known of it, fits the pictures that it says, and takes a step downhill.

mod support;

use sordino_nn::{DenseExamples, Examples, Network, NetworkObjective, Shape, preset};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, Training, TrainingOptions};
use sordino_privacy::{Delta, Neighbours, Unit, danger};
use support::plan;
use support::random::Random;

fn image(channels: usize, side: usize) -> Shape {
    Shape::Image { channels, height: side, width: side }
}

#[test]
fn presets_have_the_known_numbers_of_weights() {
    let known = [
        ("softmax", Shape::Features(4096), 40_970),
        ("mlp", Shape::Features(784), 1_863_690),
        ("mlp", image(1, 28), 1_863_690),
        ("cnn", image(1, 8), 9258),
        ("tanh_cnn", image(1, 28), 26_010),
        ("cifar_cnn", image(3, 32), 356_810),
        ("resnet20", image(3, 32), 272_474),
    ];
    for (name, input, weights) in known {
        let hidden = (name == "mlp").then_some(&[1024, 1024][..]);
        let network = preset::named(name, hidden).unwrap().network_for(input, 10).unwrap();
        assert_eq!(network.parameters(), weights, "{name} on {input}");
    }
    // 19 convolutions, 2 projections, a normalisation for each, and the last layer.
    assert_eq!(preset::resnet20().network_for(image(3, 32), 10).unwrap().parts().len(), 2 * 21 + 1);
}

#[test]
fn presets_fit_pictures_from_the_stated_size() {
    let least = [("cnn", 4), ("tanh_cnn", 14), ("cifar_cnn", 8), ("resnet20", 1)];
    for (name, side) in least {
        let build = |side: usize| preset::named(name, None).unwrap().network_for(image(3, side), 2);
        assert!(build(side).is_ok(), "{name} on {side}");
        let smaller = build(side - 1).map(drop).unwrap_err().to_string();
        assert!(smaller.starts_with("layers[") || side == 1, "{name}: {smaller}");
    }
}

/// Examples whose class is whether they are bright, with noise on them.
fn bright(network: &Network, examples: usize) -> DenseExamples {
    let (mut random, size) = (Random(3), network.input().size());
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for slot in 0..examples {
        let class = (slot % 2) as f32;
        inputs.extend((0..size).map(|_| class - 0.5 + 0.3 * random.uniform() as f32));
        targets.push(class);
    }
    DenseExamples::new(inputs, size, targets, 1)
}

fn loss(network: &Network, parameters: &[f64], rows: &DenseExamples) -> f64 {
    let mut evaluation = network.evaluator(parameters).unwrap();
    evaluation.score((0..rows.slots()).filter_map(|slot| rows.example(slot))).loss
}

#[test]
fn a_step_of_every_preset_goes_downhill() {
    let presets = [
        (preset::softmax(), Shape::Features(20)),
        (preset::mlp(&[32, 16]), Shape::Features(20)),
        (preset::cnn(), image(1, 8)),
        (preset::tanh_cnn(), image(1, 28)),
        (preset::cifar_cnn(), image(3, 32)),
        (preset::resnet20(), image(3, 32)),
    ];
    for (description, input) in presets {
        let network = description.network_for(input, 2).unwrap();
        let (rows, start) = (bright(&network, 8), network.initial(5));
        let plan = plan(8, Neighbours::ZeroOut, Clipping::Flat { norm: 1.0 });
        let objective = NetworkObjective::new(&network, &rows, 8.0).unwrap();
        let options =
            TrainingOptions { learning_rate: 5e-3, start: Some(start.clone()), ..TrainingOptions::default() };
        let permit = danger::unmetered(plan.claim(), Unit::Record, Delta::new(1e-5).unwrap()).unwrap();
        let training = Training::new(&plan, &objective, options).unwrap();
        let release = training.run_with(permit, &mut seeded(1), &mut |_| {}).unwrap();
        let (before, after) = (loss(&network, &start, &rows), loss(&network, release.value(), &rows));
        assert!(after < 0.999 * before, "{before} -> {after} on {input}, {} weights", start.len());
        // Every part with weights had a gradient.
        let mut moved = release.value().iter().zip(&start).map(|(after, before)| after - before);
        for (part, weights) in network.parts().into_iter().enumerate() {
            let largest = moved.by_ref().take(weights).fold(0.0, |most: f64, by| most.max(by.abs()));
            assert!(largest > 1e-6, "part {part} moved by {largest:e} on {input}");
        }
    }
}
