//! Which iterate, or which average of iterates, is the result. The choice costs nothing: all
//! iterates are accounted for.
//!
//! With w_1 .. w_T the iterates after each step, the result is the last; `(1/T) Σ w_t`; the mean of
//! the last ones; or `a <- β a + (1 - β) w_t`, divided by `1 - β^T` so that it is an average.

use std::num::NonZero;

use serde::{Deserialize, Serialize};

use crate::error::{OptimError, within};
use crate::threads::in_parts;

/// Which iterates make the result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Averaging {
    /// The last iterate.
    #[default]
    Last,
    /// The mean of all iterates.
    All,
    /// The mean of the last iterates.
    Tail {
        /// Which fraction of all iterates, above 0 and at most 1.
        fraction: f64,
    },
    /// A mean whose weights fall off exponentially.
    Exponential {
        /// β, at least 0 and below 1.
        decay: f64,
    },
}

impl Averaging {
    pub(crate) fn check(self) -> Result<(), OptimError> {
        match self {
            Self::Last | Self::All => Ok(()),
            Self::Tail { fraction } => {
                within("averaged part", "above 0 and at most 1", fraction, |x| x > 0.0 && x <= 1.0).map(drop)
            }
            Self::Exponential { decay } => {
                within("decay of the average", "at least 0 and below 1", decay, |x| (0.0..1.0).contains(&x))
                    .map(drop)
            }
        }
    }
}

/// The average so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Average {
    pub(crate) averaging: Averaging,
    /// The weighted sum of iterates; empty where only the last one counts.
    pub(crate) sum: Vec<f64>,
    /// The sum of the weights.
    pub(crate) weight: f64,
}

impl Average {
    pub(crate) fn new(averaging: Averaging, dimension: usize) -> Self {
        Self { averaging, sum: vec![0.0; sum_length(averaging, dimension)], weight: 0.0 }
    }

    /// Adds the iterate after step `t` (from 0) of `steps`.
    pub(crate) fn take(&mut self, iterate: &[f64], t: u64, steps: u64, threads: NonZero<usize>) {
        let (keep, add) = match self.averaging {
            Averaging::Last => (0.0, 1.0),
            Averaging::All => (1.0, 1.0),
            Averaging::Tail { fraction } => {
                let is_tail = (steps - t) as f64 <= (fraction * steps as f64).max(1.0);
                (1.0, if is_tail { 1.0 } else { 0.0 })
            }
            Averaging::Exponential { decay } => (decay, 1.0 - decay),
        };
        self.weight = keep * self.weight + add;
        if (keep, add) == (1.0, 0.0) {
            return;
        }
        in_parts(threads, [&mut self.sum], |start, [sum]| {
            sum.iter_mut().zip(&iterate[start..]).for_each(|(sum, w)| *sum = keep * *sum + add * w);
        });
    }

    /// The result, given the last iterate.
    pub(crate) fn result(self, last: Vec<f64>) -> Vec<f64> {
        match self.averaging {
            Averaging::Last => last,
            Averaging::All | Averaging::Tail { .. } | Averaging::Exponential { .. } => {
                let weight = if self.weight > 0.0 { self.weight } else { 1.0 };
                self.sum.iter().map(|sum| sum / weight).collect()
            }
        }
    }

    pub(crate) fn has_dimension(&self, dimension: usize) -> bool {
        self.sum.len() == sum_length(self.averaging, dimension)
    }
}

/// How many numbers the sum has.
fn sum_length(averaging: Averaging, dimension: usize) -> usize {
    match averaging {
        Averaging::Last => 0,
        Averaging::All | Averaging::Tail { .. } | Averaging::Exponential { .. } => dimension,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_one_to_four(averaging: Averaging) -> f64 {
        let mut average = Average::new(averaging, 1);
        (0..4).for_each(|t| average.take(&[(t + 1) as f64], t, 4, NonZero::<usize>::MIN));
        average.result(vec![4.0])[0]
    }

    #[test]
    fn averages_are_those_of_the_definition() {
        assert_eq!(of_one_to_four(Averaging::Last), 4.0);
        assert_eq!(of_one_to_four(Averaging::All), 2.5);
        assert_eq!(of_one_to_four(Averaging::Tail { fraction: 0.5 }), 3.5);
        assert_eq!(of_one_to_four(Averaging::Tail { fraction: 1e-9 }), 4.0);
        let exact = (1.0 / 8.0 + 2.0 / 4.0 + 3.0 / 2.0 + 4.0) / (1.0 + 1.0 / 2.0 + 1.0 / 4.0 + 1.0 / 8.0);
        assert!((of_one_to_four(Averaging::Exponential { decay: 0.5 }) - exact).abs() < 1e-15);
        assert!(Averaging::Exponential { decay: 1.0 }.check().is_err());
        assert!(Averaging::Tail { fraction: 0.0 }.check().is_err());
    }

    #[test]
    fn averages_do_not_depend_on_the_number_of_threads() {
        let d = 2 * crate::threads::MIN_PART + 3;
        let iterate: Vec<f64> = (0..d).map(|j| j as f64).collect();
        for threads in [1, 2, 3] {
            let mut average = Average::new(Averaging::All, d);
            (0..2).for_each(|t| average.take(&iterate, t, 2, NonZero::new(threads).unwrap()));
            assert_eq!(average.result(Vec::new()), iterate);
        }
    }
}
