//! Iterates of a round, and the mean of the last of them.
//!
//! # Definition
//! With w(t) the weights after step t = 0, ..., K - 1 of a round, its result is the mean of w(t)
//! over t >= F, F the first step of the tail. A step changes one weight, so the sum of the others
//! waits: `since_j` says up to which iterate weight j was added. [`Iterates::settle`] adds what is
//! outstanding, after which `since_j` is the same for all and need not be kept.

/// Weights, and the sum of the round's tail so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Iterates {
    pub(super) weights: Vec<f64>,
    pub(super) sum: Vec<f64>,
    /// Iterates of weight j from this one on are not in the sum yet.
    since: Vec<u64>,
    tail: Tail,
}

/// The last part of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    /// K.
    pub(super) steps: u64,
    /// F.
    first: u64,
}

impl Tail {
    /// A part `tail` of `steps`: at least one iterate, at most all.
    pub(super) fn new(steps: u64, tail: f64) -> Self {
        Self { steps, first: steps - ((tail * steps as f64).ceil() as u64).clamp(1, steps) }
    }
}

impl Iterates {
    /// Zeros, before the first step of a round.
    pub(super) fn new(dimension: usize, tail: Tail) -> Self {
        Self::from_parts(vec![0.0; dimension], vec![0.0; dimension], 0, tail)
    }

    /// As they were settled before step `at` of a round.
    pub(super) fn from_parts(weights: Vec<f64>, sum: Vec<f64>, at: u64, tail: Tail) -> Self {
        let since = vec![tail.first.max(at); weights.len()];
        Self { weights, sum, since, tail }
    }

    /// Step `at` of the round adds `change` to weight j.
    pub(super) fn step(&mut self, at: u64, j: usize, change: f64) {
        self.add(at, j);
        self.weights[j] += change;
    }

    /// Adds all iterates before step `at` of the round.
    pub(super) fn settle(&mut self, at: u64) {
        (0..self.weights.len()).for_each(|j| self.add(at, j));
    }

    /// After the last step of a round: the next one begins at the mean.
    pub(super) fn end_round(&mut self) {
        let Tail { steps, first } = self.tail;
        self.settle(steps);
        self.weights = self.sum.iter().map(|sum| sum / (steps - first) as f64).collect();
        self.sum.fill(0.0);
        self.since.fill(first);
    }

    fn add(&mut self, at: u64, j: usize) {
        self.sum[j] += self.weights[j] * at.saturating_sub(self.since[j]) as f64;
        self.since[j] = self.since[j].max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Step by step, all weights at each: the definition.
    fn naive(changes: &[(usize, f64)], steps: u64, first: u64, p: usize) -> Vec<f64> {
        let mut w = vec![0.0; p];
        for round in changes.chunks_exact(steps as usize) {
            let mut iterates = Vec::new();
            for (j, change) in round {
                w[*j] += change;
                iterates.push(w.clone());
            }
            let tail = &iterates[first as usize..];
            w = (0..p).map(|j| tail.iter().map(|w| w[j]).sum::<f64>() / tail.len() as f64).collect();
        }
        w
    }

    /// Rounds that end in the middle of passes, and a fit that is taken apart and
    /// put together again after each pass.
    #[test]
    fn what_is_settled_at_passes_is_the_mean_of_the_definition() {
        let p = 3;
        for (steps, rounds, tail) in
            [(7, 3, 0.5), (7, 2, 1.0), (5, 4, 0.01), (2, 6, 0.6), (12, 1, 0.3), (1, 5, 1.0)]
        {
            let tail = Tail::new(steps, tail);
            let total = steps * rounds;
            let changes: Vec<(usize, f64)> =
                (0..total).map(|t| ((t * 5 % 3) as usize, ((t * 37 + 11) % 19) as f64 - 9.0)).collect();
            let expected = naive(&changes, steps, tail.first, p);
            for resumes in [false, true] {
                let mut iterates = Iterates::new(p, tail);
                for (t, (j, change)) in (0..total).zip(&changes) {
                    iterates.step(t % steps, *j, *change);
                    if (t + 1) % steps == 0 {
                        iterates.end_round();
                    }
                    if (t + 1) % p as u64 == 0 {
                        let at = (t + 1) % steps;
                        iterates.settle(at);
                        if resumes {
                            let Iterates { weights, sum, .. } = iterates;
                            iterates = Iterates::from_parts(weights, sum, at, tail);
                        }
                    }
                }
                for (got, expected) in iterates.weights.iter().zip(&expected) {
                    assert!((got - expected).abs() < 1e-12, "K = {steps}: {got} against {expected}");
                }
            }
        }
    }
}
