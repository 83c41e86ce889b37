//! From a plan and a permit to a network that predicts.

mod support;

use std::num::NonZero;

use sordino_nn::{Examples, Network, NetworkObjective};
use sordino_noise::danger::seeded;
use sordino_optim::{Clipping, Training};
use sordino_privacy::Release;
use support::pictures::{SLOTS, lines, network, options, permit, plan, poisson};

fn run(clipping: Clipping, threads: usize) -> (Network, Release<Vec<f64>>) {
    let (network, rows) = (network(), lines());
    let plan = plan(poisson(0.1), 60, clipping, 1.0);
    let objective = NetworkObjective::new(&network, &rows, 200.0).unwrap();
    let training = Training::new(&plan, &objective, options(&network)).unwrap();
    let training = training.threads(NonZero::new(threads).unwrap());
    let release = training.run_with(permit(plan.claim()), &mut seeded(11), &mut |_| {}).unwrap();
    drop(objective);
    (network, release)
}

fn accuracy(network: &Network, parameters: &[f64]) -> f64 {
    let rows = lines();
    let mut evaluation = network.evaluator(parameters).unwrap();
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
