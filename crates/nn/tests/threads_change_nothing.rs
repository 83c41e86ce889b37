//! Sums and counts have the same bits at any number of threads, on every path through the engine.

mod support;

use std::num::NonZero;

use sordino_data::{Batch, ContributionLimit, Sampling, UnitRule};
use sordino_nn::{Layer, Network, NetworkLoss, NetworkObjective, Shape, View};
use sordino_noise::danger::{seeded, unprotected};
use sordino_optim::{Clipping, Objective, PlanOptions, TrainingPlan};
use sordino_privacy::{Count, Neighbours, NoiseMultiplier};
use support::networks::{dense, flat, ghost, mixed, narrow, narrow_branch, sample, words};
use support::{Case, full_batch, plan};

/// A network and how it is clipped.
struct Setup {
    case: Case,
    views: Vec<View>,
    /// Whether each layer is clipped separately.
    by_layers: bool,
    clipping: Clipping,
    neighbours: Neighbours,
}

impl Setup {
    fn of(case: Case) -> Self {
        let (views, neighbours) = (vec![View::Same], Neighbours::ZeroOut);
        Self { case, views, by_layers: false, clipping: flat(0.5), neighbours }
    }

    /// Sum and count in steps of their grids.
    fn run(&self, batch: &Batch, threads: usize) -> (Vec<i64>, Option<i64>) {
        let Case { input, layers, loss, examples, .. } = &self.case;
        let network = Network::with_views(*input, layers, *loss, &self.views).unwrap();
        let (rows, parameters) = (self.case.rows(&network), network.initial(1));
        let objective = NetworkObjective::new(&network, &rows, batch.len() as f64).unwrap();
        let shares: Vec<f64> = (0..network.parts().len()).map(|part| 1.0 + part as f64).collect();
        let objective = if self.by_layers { objective.per_layer(&shares).unwrap() } else { objective };
        let plan = plan(*examples, self.neighbours, self.clipping.clone());
        let clip = plan.clip(0.5, objective.dimension(), objective.float_sums()).unwrap();
        let sum = objective.clipped_sum(&parameters, batch, &clip, NonZero::new(threads).unwrap()).unwrap();
        (unprotected(&sum.gradient).to_vec(), sum.count.map(|count| unprotected(&count)[0]))
    }

    fn is_the_same_at_any_number_of_threads(&self) {
        for batch in [full_batch(self.case.examples), sample(self.case.examples)] {
            let one = self.run(&batch, 1);
            assert!(one.0.iter().any(|unit| *unit != 0), "{:?}", self.case);
            for threads in [2, 3, 7] {
                assert!(self.run(&batch, threads) == one, "{threads} threads for {:?}", self.case);
            }
        }
    }
}

fn quantile() -> Clipping {
    Clipping::Quantile { initial: 0.5, quantile: 0.5, rate: 0.2, count_noise: 10.0 }
}

fn leaving_out() -> Case {
    let layers = vec![Layer::linear(20), Layer::Dropout { rate: 0.5 }, Layer::tanh(), Layer::linear(3)];
    Case { input: Shape::Features(6), layers, loss: NetworkLoss::CrossEntropy, examples: 90, seed: 8 }
}

#[test]
fn every_network_ignores_thread_count() {
    for case in [mixed(), dense(), narrow(), narrow_branch(), ghost(), words(), leaving_out()] {
        Setup::of(case).is_the_same_at_any_number_of_threads();
    }
}

#[test]
fn several_views_ignore_thread_count() {
    let views = [View::Same, View::Mirrored, View::Shifted { lines: 1, columns: 0 }];
    for case in [mixed(), ghost(), leaving_out()] {
        Setup { views: views.to_vec(), ..Setup::of(case) }.is_the_same_at_any_number_of_threads();
    }
}

#[test]
fn per_layer_clipping_ignores_thread_count() {
    for case in [mixed(), dense(), narrow(), ghost(), words()] {
        Setup { by_layers: true, ..Setup::of(case) }.is_the_same_at_any_number_of_threads();
    }
}

#[test]
fn automatic_and_adaptive_clipping_ignore_thread_count() {
    let automatic = Clipping::Automatic { norm: 0.5, gamma: 0.01 };
    for clipping in [automatic, quantile()] {
        for case in [dense(), narrow(), words()] {
            for by_layers in [false, true] {
                let clipping = clipping.clone();
                Setup { clipping, by_layers, ..Setup::of(clone(&case)) }
                    .is_the_same_at_any_number_of_threads();
            }
        }
    }
}

#[test]
fn records_one_by_one_ignore_thread_count() {
    for case in [narrow(), ghost(), words(), leaving_out()] {
        for clipping in [flat(0.5), quantile()] {
            let (case, neighbours) = (clone(&case), Neighbours::AddRemove);
            Setup { neighbours, clipping, ..Setup::of(case) }.is_the_same_at_any_number_of_threads();
        }
    }
}

fn clone(case: &Case) -> Case {
    Case { layers: case.layers.clone(), ..*case }
}

/// A batch that is drawn with replacement may have more draws than there are records. Memory was
/// once allocated for as many examples as there are records.
#[test]
fn a_batch_may_have_more_draws_than_records() {
    for case in [dense(), mixed(), narrow()] {
        let options = PlanOptions {
            sampling: Sampling::WithReplacement { size: Count::new(3 * case.examples as u64).unwrap() },
            slots: Count::new(case.examples as u64).unwrap(),
            rounds: Count::ONE,
            neighbours: Neighbours::ReplaceOrdered,
            clipping: flat(0.5),
            scales: None,
            divisor: Some(1.0),
            limit: ContributionLimit::of(&UnitRule::Record),
        };
        let plan = TrainingPlan::with_noise(options, NoiseMultiplier::new(1e-6).unwrap()).unwrap();
        let batch = plan.batches().batches().next(&mut seeded(3)).unwrap();
        let network = case.network();
        let (rows, parameters) = (case.rows(&network), network.initial(1));
        let objective = NetworkObjective::new(&network, &rows, batch.len() as f64).unwrap();
        let clip = plan.clip(0.5, objective.dimension(), objective.float_sums()).unwrap();
        let units = |threads: usize| {
            let threads = NonZero::new(threads).unwrap();
            unprotected(&objective.clipped_sum(&parameters, &batch, &clip, threads).unwrap().gradient)
                .to_vec()
        };
        assert!(units(1) == units(2), "{case:?}");
        // Each draw counts: with a large clip norm the sum is the plain sum.
        let plain = sordino_nn::danger::unclipped_sum(
            &objective,
            &parameters,
            &batch,
            NonZero::<usize>::MIN,
            Vec::new(),
        );
        let clip = plan.clip(1e3, objective.dimension(), objective.float_sums()).unwrap();
        let sum = objective.clipped_sum(&parameters, &batch, &clip, NonZero::<usize>::MIN).unwrap().gradient;
        let (mut error, mut length) = (0.0, 0.0);
        for (unit, plain) in unprotected(&sum).iter().zip(&plain) {
            error += (*unit as f64 * clip.grid().step() - plain).powi(2);
            length += plain * plain;
        }
        assert!(error < 1e-8 * length, "{error} of {length} for {case:?}");
    }
}
