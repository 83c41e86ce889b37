//! Default widths, clip norms and learning rates of networks, by rules that use public numbers
//! alone.
//!
//! # Signal
//! A run has T steps on batches of B records, each with noise of z clip norms in each of d weights.
//! The noise in the mean of a batch has norm `z sqrt(d)/B` clip norms. The *signal* compares T
//! steps of the largest possible mean with T steps of noise:
//! ```text
//! s = sqrt(T) B / (z sqrt(d))                                                                  (1)
//! ```
//! On full batches it is `n/(σ sqrt(d))` for the multiplier σ of one release, whatever T is.
//!
//! | what | rule |
//! |---|---|
//! | width of `mlp` | one hidden layer: the widest of 32, 64, 128, 256 with s >= 100, or 32 |
//! | clip norm C | `s^(2/5)`, half of that for a number, between 1 and 10, to two decimals |
//! | learning rate | noise moves the weights by `κ D` in total: (2), up to a stable rate |
//! | κ | 3 for classes; `sqrt(s/3)`, at most 3, for a number |
//!
//! # The learning rate
//! With momentum m and a rate η that falls along a cosine, a step moves the weights by
//! `h = η/(1 - m)` gradients, and noise moves them by `h C sqrt(3/8) T/s` over the run (3/8 is the
//! mean square of the cosine's factor). D is the norm of the initial weights: changes of that size
//! change what the network does. So
//! ```text
//! h = min(κ D s / (sqrt(3/8) C T),  3,  200/X²,  n/T)                                          (2)
//! ```
//! for n rows of norm at most X: larger steps may be unstable, and longer runs memorise few
//! records. Predicted numbers have no largest useful value: noise that only moves a class boundary
//! can make a residual of any size, so κ is smaller if there is little signal.
//!
//! # Sources
//! Constants were chosen on the training parts of ten tables. The guide to networks discusses what
//! clipping does to probabilities.

use sordino_optim::TrainingPlan;

use crate::loss::NetworkLoss;
use crate::network::Network;

/// Widths of `mlp`, widest first.
const WIDTHS: [usize; 4] = [256, 128, 64, 32];
/// The least signal s for a network that is wider than the narrowest.
const MIN_SIGNAL: f64 = 100.0;
/// The smallest and the largest clip norm.
const CLIP_NORMS: (f64, f64) = (1.0, 10.0);
/// The largest κ.
const MAX_KAPPA: f64 = 3.0;
/// The largest h, and the largest h X².
const MAX_STEP: (f64, f64) = (3.0, 200.0);
/// The mean square of the factors of a cosine schedule.
const COSINE: f64 = 3.0 / 8.0;

/// The widths of hidden layers of `mlp` for so many inputs and outputs; `signal` is s of (1) for a
/// number of weights.
pub fn hidden<E>(
    inputs: usize,
    outputs: usize,
    signal: impl Fn(usize) -> Result<f64, E>,
) -> Result<Vec<usize>, E> {
    for width in WIDTHS {
        let weights = width.saturating_mul(inputs.saturating_add(outputs + 1)).saturating_add(outputs);
        if signal(weights)? >= MIN_SIGNAL {
            return Ok(vec![width]);
        }
    }
    Ok(vec![WIDTHS[WIDTHS.len() - 1]])
}

/// The public facts that the rules use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrainingFacts {
    signal: f64,
    steps: f64,
    records: f64,
    row_norm: f64,
    is_number: bool,
}

impl TrainingFacts {
    pub(crate) fn of(plan: &TrainingPlan, network: &Network, row_norm: f64) -> Self {
        let (steps, weights) = (plan.batches().steps() as f64, network.parameters() as f64);
        let signal = steps.sqrt() * plan.divisor() / (plan.noise_multiplier().get() * weights.sqrt());
        let records = plan.batches().slots().get() as f64;
        Self { signal, steps, records, row_norm, is_number: network.loss() == NetworkLoss::Squared }
    }

    /// C.
    pub(crate) fn clip_norm(self) -> f64 {
        let part = if self.is_number { 0.5 } else { 1.0 };
        let exact = (part * self.signal.powf(0.4)).clamp(CLIP_NORMS.0, CLIP_NORMS.1);
        (100.0 * exact).round() / 100.0
    }

    /// η for this clip norm, momentum and length of the first weights; a network that starts at 0
    /// counts as one of length 1.
    pub(crate) fn learning_rate(self, clip_norm: f64, momentum: f64, start: f64) -> f64 {
        let length = if start > 0.0 { start } else { 1.0 };
        let noise = if self.is_number { (self.signal / 3.0).sqrt().min(MAX_KAPPA) } else { MAX_KAPPA };
        let bearable = noise * length * self.signal / (COSINE.sqrt() * clip_norm * self.steps);
        let stable = MAX_STEP.0.min(MAX_STEP.1 / (self.row_norm * self.row_norm));
        (1.0 - momentum) * bearable.min(stable).min(self.records / self.steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(signal: f64, is_number: bool) -> TrainingFacts {
        TrainingFacts { signal, steps: 500.0, records: 1e6, row_norm: 4.0, is_number }
    }

    /// Every formula of the module, typed again.
    #[test]
    fn the_rules_are_those_of_the_table() {
        assert!((run(32.0, false).clip_norm() - 4.0).abs() < 1e-12, "32^(2/5) = 4");
        assert!((run(32.0, true).clip_norm() - 2.0).abs() < 1e-12);
        assert_eq!((run(1e-9, false).clip_norm(), run(1e9, true).clip_norm()), (1.0, 10.0));
        let h = |run: TrainingFacts| run.learning_rate(4.0, 0.9, 2.0) / 0.1;
        let by = |kappa: f64, s: f64| kappa * 2.0 * s / (0.375f64.sqrt() * 4.0 * 500.0);
        assert!((h(run(40.0, false)) / by(3.0, 40.0) - 1.0).abs() < 1e-12);
        assert!((h(run(2.0, false)) / by(3.0, 2.0) - 1.0).abs() < 1e-12);
        assert!((h(run(12.0, true)) / by(2.0, 12.0) - 1.0).abs() < 1e-12);
        // What is stable, and what few records can bear.
        assert!((h(run(1e9, false)) - 3.0).abs() < 1e-12);
        assert!((h(TrainingFacts { row_norm: 20.0, ..run(1e9, false) }) - 0.5).abs() < 1e-12);
        assert!((h(TrainingFacts { records: 100.0, ..run(1e9, true) }) - 0.2).abs() < 1e-12);
        assert!(run(0.5, true).learning_rate(1.0, 0.9, 0.0) > 0.0, "a start at zero has a rate too");
    }

    #[test]
    fn widths_grow_with_the_signal() {
        let of =
            |strength: f64| hidden(10, 2, |weights| Ok::<_, ()>(strength / (weights as f64).sqrt())).unwrap();
        // 32 units have 32 · 13 + 2 weights, and so on.
        for (width, weights) in [(64, 834.0f64), (128, 1666.0), (256, 3330.0)] {
            assert_eq!(of(100.01 * weights.sqrt()), [width]);
            assert_eq!(of(99.99 * weights.sqrt()), [width / 2]);
        }
        assert_eq!((of(1e-9), of(1e9)), (vec![32], vec![256]));
    }
}
