//! From a plan and a permit to a network that predicts, and back to the middle of a run that was stopped.

mod support;

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use sordino_data::{ContributionLimit, Sampling, UnitRule};
use sordino_nn::{Examples, Layer, Loss, Network, NetworkObjective, Rows, Shape};
use sordino_noise::danger::seeded;
use sordino_optim::{
    Checkpoint, Checkpoints, Clipping, OptimError, Plan, PlanOptions, Training, TrainingOptions, UpdateRule,
};
use sordino_privacy::{
    Claim, Count, Delta, Neighbours, NoiseMultiplier, Permit, Release, SamplingRate, Unit, danger,
};
use support::random::Random;

const SLOTS: usize = 2000;

/// A bright line on noise, upright or lying: two classes that no single pixel tells apart.
fn lines() -> Rows {
    let mut random = Random(5);
    let (mut inputs, mut targets) = (Vec::new(), Vec::new());
    for slot in 0..SLOTS {
        let mut picture: Vec<f32> = (0..64).map(|_| 0.3 * random.uniform() as f32).collect();
        let at = random.within(0, 7);
        (0..8).for_each(|i| picture[if slot % 2 == 0 { at * 8 + i } else { i * 8 + at }] += 1.0);
        inputs.extend(picture);
        targets.push((slot % 2) as f32);
    }
    Rows::new(inputs, 64, targets, 1)
}

fn network() -> Network {
    let layers = [
        Layer::conv2d(8, 3, 1, 1),
        Layer::tanh(),
        Layer::max_pool(2, 2),
        Layer::Flatten,
        Layer::linear(16),
        Layer::tanh(),
        Layer::linear(2),
    ];
    Network::new(Shape::Image { channels: 1, height: 8, width: 8 }, &layers, Loss::CrossEntropy).unwrap()
}

fn plan(steps: u64, clipping: Clipping) -> Plan {
    let options = PlanOptions {
        sampling: Sampling::Poisson { rate: SamplingRate::new(0.1).unwrap() },
        slots: Count::new(SLOTS as u64).unwrap(),
        rounds: Count::new(steps).unwrap(),
        neighbours: Neighbours::ZeroOut,
        clipping,
        scales: None,
        divisor: None,
        limit: ContributionLimit::of(&UnitRule::Record),
    };
    Plan::with_noise(options, NoiseMultiplier::new(1.0).unwrap()).unwrap()
}

fn permit(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::new(1e-5).unwrap()).unwrap()
}

fn options(network: &Network) -> TrainingOptions {
    TrainingOptions {
        rule: UpdateRule::Momentum { momentum: 0.9 },
        learning_rate: 0.2,
        start: Some(network.initial(7)),
        ..TrainingOptions::default()
    }
}

fn run(clipping: Clipping, threads: usize) -> (Network, Release<Vec<f64>>) {
    let (network, rows) = (network(), lines());
    let plan = plan(60, clipping);
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let training = Training::new(&plan, &objective, options(&network)).unwrap();
    let training = training.threads(NonZero::new(threads).unwrap());
    let release = training.run_with(permit(plan.claim()), &mut seeded(11), &mut |_| {}).unwrap();
    drop(objective);
    (network, release)
}

fn accuracy(network: &Network, parameters: &[f64]) -> f64 {
    let rows = lines();
    let mut evaluation = network.evaluation(parameters).unwrap();
    evaluation.score((0..SLOTS).filter_map(|slot| rows.example(slot))).accuracy
}

#[test]
fn every_way_of_clipping_learns_and_states_its_arithmetic() {
    let ways = [
        Clipping::Flat { norm: 1.0 },
        Clipping::Automatic { norm: 1.0, gamma: 0.01 },
        Clipping::Quantile { initial: 1.0, quantile: 0.5, rate: 0.2, count_noise: 10.0 },
    ];
    for clipping in ways {
        let (network, release) = run(clipping.clone(), 2);
        let arithmetic = release.guarantee().arithmetic.get();
        assert!(arithmetic > 0.0 && arithmetic <= 0.01, "{arithmetic}");
        let right = accuracy(&network, release.value());
        assert!(right > 0.95, "{right} with {clipping:?}");
    }
}

#[test]
fn the_same_bits_give_the_same_network_at_any_number_of_threads() {
    let clipping = Clipping::Flat { norm: 1.0 };
    let one = run(clipping.clone(), 1).1;
    assert_eq!(one.value(), run(clipping, 3).1.value());
}

#[test]
fn a_stopped_run_goes_on_and_pays_for_no_step_less() {
    let (network, rows) = (network(), lines());
    let plan = plan(12, Clipping::Flat { norm: 1.0 });
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let folder = std::env::temp_dir().join(format!("sordino-nn-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.json");
    let stop = AtomicBool::new(false);
    let checkpoints = || Checkpoints { path: path.clone(), every: 4 };
    let training = Training::new(&plan, &objective, options(&network)).unwrap();
    let training = training.with_checkpoints(checkpoints()).unwrap().cancelled_by(&stop);
    let stopped = training.run(permit(plan.claim()), &mut |progress| {
        stop.store(progress.step() == 5, Ordering::Relaxed);
    });
    assert!(matches!(stopped, Err(OptimError::Cancelled { steps: 5 })));
    stop.store(false, Ordering::Relaxed);
    let checkpoint = Checkpoint::read(&path).unwrap();
    let replays = training.replay_claim(&checkpoint).unwrap();
    let mut steps = Vec::new();
    let release =
        training.resume(checkpoint, permit(replays), &mut |progress| steps.push(progress.step())).unwrap();
    assert_eq!(steps, (6..=12).collect::<Vec<_>>());
    assert_eq!(release.value().len(), network.parameters());
    std::fs::remove_dir_all(&folder).unwrap();
}
