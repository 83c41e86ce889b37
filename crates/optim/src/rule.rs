//! How a noisy gradient updates the parameters. All of it is post-processing.
//!
//! # Definition
//! With g the noisy mean gradient (penalty included) and η the rate:
//!
//! | rule | state | update |
//! |---|---|---|
//! | `Sgd` | | `w -= η g` |
//! | `Momentum` | `m = β m + g` | `w -= η m` |
//! | `Nesterov` | `m = β m + g` | `w -= η (g + β m)` |
//! | `Adam` | `m = β1 m + (1-β1) g`, `v = β2 v + (1-β2) g²` | `w -= η m/(sqrt(v) + ε)` |
//! | `Adam`, corrected | | `w -= η m/sqrt(max(v - s², ε²))` |
//! | `AdaGrad` | `v += g²` | `w -= η g/(sqrt(v) + ε)` |
//! | `Diagonal` | | `w_j -= η a_j g_j` |
//!
//! `Adam` divides m and v by `1 - β^t`. s² is the variance of the noise in the mean gradient, which
//! is public. v estimates `E g² + s²`; where the noise dominates, plain Adam is nearly gradient
//! descent with an arbitrary rate (Tang, Shpilevskiy, Lécuyer, *DP-AdamBC*, 2023).

use std::num::NonZero;

use serde::{Deserialize, Serialize};

use crate::error::{OptimError, positive, within};
use crate::threads::in_parts;

/// How a noisy gradient updates the parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateRule {
    /// Plain gradient descent.
    #[default]
    Sgd,
    /// Momentum (heavy ball).
    Momentum {
        /// β, the decay of past gradients.
        momentum: f64,
    },
    /// Nesterov's momentum.
    Nesterov {
        /// β, the decay of past gradients.
        momentum: f64,
    },
    /// Kingma, Ba, *Adam*, 2015.
    Adam {
        /// β1, the decay of the first moment.
        first: f64,
        /// β2, the decay of the second moment.
        second: f64,
        /// ε, the least denominator.
        floor: f64,
        /// Whether the variance of the noise is subtracted from the second moment.
        corrected: bool,
    },
    /// Duchi, Hazan, Singer, *Adaptive Subgradient Methods*, 2011.
    AdaGrad {
        /// ε, the least denominator.
        floor: f64,
    },
    /// Gradient descent with a public factor for each coordinate.
    Diagonal {
        /// The factors a_j.
        factors: Vec<f64>,
    },
}

impl UpdateRule {
    pub(crate) fn check(&self, dimension: usize) -> Result<(), OptimError> {
        let decay = |name, got| within(name, "at least 0 and below 1", got, |x| (0.0..1.0).contains(&x));
        match self {
            Self::Sgd => Ok(()),
            Self::Momentum { momentum } | Self::Nesterov { momentum } => {
                decay("momentum", *momentum).map(drop)
            }
            Self::Adam { first, second, floor, .. } => {
                decay("first decay of Adam", *first)?;
                decay("second decay of Adam", *second)?;
                positive("floor of Adam", *floor).map(drop)
            }
            Self::AdaGrad { floor } => positive("floor of AdaGrad", *floor).map(drop),
            Self::Diagonal { factors } if factors.len() != dimension => {
                Err(OptimError::Length { what: "diagonal factors", expected: dimension, got: factors.len() })
            }
            Self::Diagonal { factors } => {
                factors.iter().try_for_each(|factor| positive("diagonal factor", *factor).map(drop))
            }
        }
    }
}

/// The state of a rule: m and v, each empty where the rule has none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RuleState {
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
}

impl RuleState {
    pub(crate) fn new(rule: &UpdateRule, dimension: usize) -> Self {
        let [first, second] = state_lengths(rule, dimension).map(|length| vec![0.0; length]);
        Self { first, second }
    }

    pub(crate) fn has_dimension(&self, rule: &UpdateRule, dimension: usize) -> bool {
        [self.first.len(), self.second.len()] == state_lengths(rule, dimension)
    }

    /// Does one update. `t` counts steps from 0.
    pub(crate) fn update(
        &mut self,
        rule: &UpdateRule,
        t: u64,
        rate: f64,
        gradient: Gradient<impl Fn(usize, f64) -> f64 + Sync, impl Fn(usize) -> f64 + Sync>,
        parameters: &mut [f64],
        threads: NonZero<usize>,
    ) {
        let arrays = [parameters, &mut self.first, &mut self.second];
        in_parts(threads, arrays, |start, part| update_part(rule, t, rate, &gradient, start, part));
    }
}

/// The noisy gradient as functions, so that no vector of it is stored.
pub(crate) struct Gradient<G, D> {
    /// Coordinate j of the gradient, for parameter w.
    pub(crate) of: G,
    /// The standard deviation of the noise in coordinate j.
    pub(crate) deviation: D,
}

/// Updates the coordinates from `start` on: their parameters, m and v.
fn update_part<G: Fn(usize, f64) -> f64, D: Fn(usize) -> f64>(
    rule: &UpdateRule,
    t: u64,
    rate: f64,
    gradient: &Gradient<G, D>,
    start: usize,
    [parameters, m, v]: [&mut [f64]; 3],
) {
    let gradient_of = |j: usize, w: f64| (gradient.of)(start + j, w);
    let heavy = |m: &mut f64, momentum: f64, g: f64| {
        *m = momentum * *m + g;
        *m
    };
    match rule {
        UpdateRule::Sgd => each(parameters, rate, gradient_of),
        UpdateRule::Momentum { momentum } => {
            each(parameters, rate, |j, w| heavy(&mut m[j], *momentum, gradient_of(j, w)));
        }
        UpdateRule::Nesterov { momentum } => each(parameters, rate, |j, w| {
            let g = gradient_of(j, w);
            g + momentum * heavy(&mut m[j], *momentum, g)
        }),
        UpdateRule::Adam { first, second, floor, corrected } => {
            let whole = [first, second].map(|decay| 1.0 - decay.powf((t + 1) as f64));
            each(parameters, rate, |j, w| {
                let g = gradient_of(j, w);
                m[j] = first * m[j] + (1.0 - first) * g;
                v[j] = second * v[j] + (1.0 - second) * g * g;
                let (mean, square) = (m[j] / whole[0], v[j] / whole[1]);
                if *corrected {
                    mean / (square - (gradient.deviation)(start + j).powi(2)).max(floor * floor).sqrt()
                } else {
                    mean / (square.sqrt() + floor)
                }
            });
        }
        UpdateRule::AdaGrad { floor } => each(parameters, rate, |j, w| {
            let g = gradient_of(j, w);
            v[j] += g * g;
            g / (v[j].sqrt() + floor)
        }),
        UpdateRule::Diagonal { factors } => {
            let factors = &factors[start..][..parameters.len()];
            each(parameters, rate, |j, w| factors[j] * gradient_of(j, w));
        }
    }
}

/// The lengths of m and v.
fn state_lengths(rule: &UpdateRule, dimension: usize) -> [usize; 2] {
    match rule {
        UpdateRule::Sgd | UpdateRule::Diagonal { .. } => [0, 0],
        UpdateRule::Momentum { .. } | UpdateRule::Nesterov { .. } => [dimension, 0],
        UpdateRule::Adam { .. } => [dimension, dimension],
        UpdateRule::AdaGrad { .. } => [0, dimension],
    }
}

/// `w_j -= rate step(j, w_j)` for all j.
fn each(parameters: &mut [f64], rate: f64, mut step: impl FnMut(usize, f64) -> f64) {
    for (j, w) in parameters.iter_mut().enumerate() {
        *w -= rate * step(j, *w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far two steps with gradients 1 and 2 move a parameter from 0, at rate 1.
    fn after_two(rule: UpdateRule) -> f64 {
        let mut state = RuleState::new(&rule, 1);
        let mut w = [0.0];
        for (t, g) in [(0, 1.0), (1, 2.0)] {
            let gradient = Gradient { of: |_, _| g, deviation: |_| 0.5 };
            state.update(&rule, t, 1.0, gradient, &mut w, NonZero::<usize>::MIN);
        }
        -w[0]
    }

    #[test]
    fn updates_are_those_of_the_table() {
        let close = |rule, expected: f64| {
            let got = after_two(rule);
            assert!((got - expected).abs() < 1e-12, "{got} against {expected}");
        };
        close(UpdateRule::Sgd, 3.0);
        close(UpdateRule::Momentum { momentum: 0.5 }, 1.0 + 2.5);
        close(UpdateRule::Nesterov { momentum: 0.5 }, 1.5 + (2.0 + 0.5 * 2.5));
        close(UpdateRule::AdaGrad { floor: 1e-300 }, 1.0 + 2.0 / 5f64.sqrt());
        close(UpdateRule::Diagonal { factors: vec![4.0] }, 12.0);
        let (m, v) = ((0.25 + 1.0) / 0.75, (0.25 + 2.0) / 0.75);
        let adam = |corrected| UpdateRule::Adam { first: 0.5, second: 0.5, floor: 1e-9, corrected };
        close(adam(false), 1.0 / (1.0 + 1e-9) + m / (f64::sqrt(v) + 1e-9));
        close(adam(true), 1.0 / f64::sqrt(1.0 - 0.25) + m / f64::sqrt(v - 0.25));
        assert!(UpdateRule::Momentum { momentum: 1.0 }.check(1).is_err());
        assert!(UpdateRule::Diagonal { factors: vec![1.0] }.check(2).is_err());
    }

    /// Coordinates differ, and there are enough of them that each thread has a part with its own
    /// offset.
    #[test]
    fn updates_do_not_depend_on_the_number_of_threads() {
        let d = 2 * crate::threads::MIN_PART + 3;
        let number = |j: usize| 1.0 + (j % 1013) as f64 / 1013.0;
        let adam = UpdateRule::Adam { first: 0.9, second: 0.5, floor: 1e-9, corrected: true };
        let rules = [
            UpdateRule::Sgd,
            UpdateRule::Momentum { momentum: 0.5 },
            UpdateRule::Nesterov { momentum: 0.5 },
            adam,
            UpdateRule::AdaGrad { floor: 1e-9 },
            UpdateRule::Diagonal { factors: (0..d).map(|j| 3.0 - number(j)).collect() },
        ];
        for rule in rules {
            let after = |threads: usize| {
                let (mut state, mut w) = (RuleState::new(&rule, d), vec![1.0; d]);
                for t in 0..2 {
                    let gradient = Gradient { of: |j, w: f64| number(j) * w, deviation: |j| 0.1 * number(j) };
                    state.update(&rule, t, 0.5, gradient, &mut w, NonZero::new(threads).unwrap());
                }
                (state, w)
            };
            let (state, w) = after(1);
            assert!(
                w.iter().any(|x| *x != w[d - 1])
                    && [2, 3].into_iter().all(|threads| after(threads) == (state.clone(), w.clone()))
            );
        }
    }
}
