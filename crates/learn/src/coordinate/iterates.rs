//! The iterates of a round, and the mean of its last ones.
//!
//! # Definition
//! With w(t) the weights after step t = 0, ..., K - 1 of a round, its result is the mean of w(t)
//! over t >= F, F the first step of the tail. A step changes one weight, so the sums of the others
//! are brought up to date later: `since_j` is the first iterate of weight j that is not in its sum.
//! [`Iterates::settle`] adds all that are missing. Then `since_j` is the same for all j and need
//! not be stored.

/// The weights, and the sum of the round's tail so far.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Iterates {
    pub(super) weights: Vec<f64>,
    pub(super) sum: Vec<f64>,
    /// For each weight, the first iterate that is not in the sum yet.
    since: Vec<u64>,
    tail: Tail,
}

/// Which iterates of a round are in its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tail {
    /// K, the steps of a round.
    pub(super) steps: u64,
    /// F, the first step of the tail.
    first: u64,
}

impl Tail {
    /// The last `tail * steps` iterates, rounded up: at least one, at most all.
    pub(super) fn new(steps: u64, tail: f64) -> Self {
        Self { steps, first: steps - ((tail * steps as f64).ceil() as u64).clamp(1, steps) }
    }
}

impl Iterates {
    /// Weights of 0, before the first step of a round.
    pub(super) fn new(dimension: usize, tail: Tail) -> Self {
        Self::from_parts(vec![0.0; dimension], vec![0.0; dimension], 0, tail)
    }

    /// The iterates as [`Self::settle`] left them before step `at` of a round.
    pub(super) fn from_parts(weights: Vec<f64>, sum: Vec<f64>, at: u64, tail: Tail) -> Self {
        let since = vec![tail.first.max(at); weights.len()];
        Self { weights, sum, since, tail }
    }

    /// Does step `at` of the round: adds `change` to weight j.
    pub(super) fn step(&mut self, at: u64, j: usize, change: f64) {
        self.add(at, j);
        self.weights[j] += change;
    }

    /// Adds all iterates before step `at` of the round to the sum.
    pub(super) fn settle(&mut self, at: u64) {
        (0..self.weights.len()).for_each(|j| self.add(at, j));
    }

    /// Ends a round after its last step: the weights become the mean.
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

    /// The definition: stores all weights after each step.
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

    /// Includes rounds that end in the middle of a pass, and a fit that is stored and restored
    /// after each pass.
    #[test]
    fn the_mean_is_that_of_the_definition_also_after_a_restore() {
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
