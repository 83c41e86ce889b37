//! Many points of a profile from a few compositions.
//!
//! One composed distribution knows the whole profile, best near the point that it was tilted for. A
//! picture needs a hundred points to a part in a thousand: a handful of compositions, each
//! evaluated everywhere, and the least of their upper ends at each point.

use super::compose::compose;
use super::pair::{End, View};
use super::panel::{LOSS_ERROR, Panel};
use super::plan::Plan;
use super::profile::{Profile, Rest};
use super::task::Task;
use super::{Question, reduced, views};
use crate::accounting::step::Steps;

/// Distributions are tilted for so many points of the list.
const ANCHORS: usize = 6;
/// Most outcomes that are looked at for the largest loss.
const MOST_PANELS: usize = 1_000_000;
/// Relative error of delta that is aimed at.
const GOAL: f64 = 1e-3;

/// Upper ends of delta at these epsilons, or why these steps have no privacy-loss distributions.
pub(crate) fn profile(steps: &Steps, epsilons: &[f64]) -> Result<Vec<f64>, String> {
    let steps = &reduced(steps);
    let mut worst = vec![0.0f64; epsilons.len()];
    for view in views(steps) {
        let seen = one_view(steps, view, epsilons)?;
        worst.iter_mut().zip(seen).for_each(|(worst, seen)| *worst = worst.max(seen));
    }
    Ok(worst)
}

/// The same, of one direction.
pub(super) fn one_view(steps: &Steps, view: View, epsilons: &[f64]) -> Result<Vec<f64>, String> {
    let mut best = vec![1.0f64; epsilons.len()];
    let stride = epsilons.len().div_ceil(ANCHORS).max(1);
    // All others may lie beyond the largest loss, where nothing tells how to tilt.
    let least = epsilons.iter().take(1);
    for anchor in least.chain(epsilons.iter().skip(stride / 2).step_by(stride)) {
        let task = Task::new(steps, view, End::Upper, Question::Delta { epsilon: *anchor })?;
        let Some(plan) = task.plan(GOAL, f64::INFINITY) else { continue };
        let Some(found) = task.upper_ends(&plan, epsilons) else { continue };
        best.iter_mut().zip(found).for_each(|(best, found)| *best = best.min(found));
    }
    let (largest, infinite) = Task::new(steps, view, End::Upper, Question::Delta { epsilon: 0.0 })?.beyond();
    for (best, _) in best.iter_mut().zip(epsilons).filter(|(_, epsilon)| **epsilon >= largest) {
        *best = best.min(infinite);
    }
    Ok(best)
}

impl Task {
    /// The sum of the largest losses, and a bound on delta from there on.
    fn beyond(&self) -> (f64, f64) {
        let (mut largest, mut infinite) = (0.0, 0.0);
        for (pair, count) in &self.steps {
            let (mut top, mut panels) = (0.0f64, 0);
            let mut look = |panel: Panel| {
                top = top.max(panel.high);
                panels += 1;
                panels < MOST_PANELS
            };
            let ends = pair.walk(&|_, _| f64::INFINITY, 1e-12, 1e-280, &mut look);
            if panels >= MOST_PANELS {
                return (f64::INFINITY, 1.0);
            }
            largest += *count as f64 * top * (1.0 + 2.0 * LOSS_ERROR);
            infinite += *count as f64 * ends.right * (1.0 + 1e-12);
        }
        (largest, infinite)
    }

    /// Upper ends of delta at each epsilon by one composition.
    fn upper_ends(&self, plan: &Plan, epsilons: &[f64]) -> Option<Vec<f64>> {
        let (mut above, mut ln_finite) = (Vec::new(), 0.0);
        for ((pair, count), ln_moment) in self.steps.iter().zip(&plan.ln_moment) {
            let walk = plan.walk(pair, *ln_moment)?;
            let anchor = plan.anchor(pair, &walk.panels);
            ln_finite += *count as f64 * (-walk.jumps.infinite.min(1.0)).ln_1p();
            above.extend(plan.above(&walk, anchor, *ln_moment, *count)?);
        }
        let composed = compose(above, End::Upper, plan.ring, &mut 0.0)?;
        let profile = Profile::new(composed, Rest::AtMost(-ln_finite.exp_m1()));
        Some(epsilons.iter().map(|epsilon| profile.delta(*epsilon)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::pld;
    use crate::accounting::step::{Sided, Step};

    /// Points far beyond the largest loss do not spoil the others: `(e^r - e^eps) / (1 + e^r)`, and
    /// two of them.
    #[test]
    fn beyond_the_largest_loss() {
        let places = (0..61).map(|i| 1e-4 * (f64::from(i) * 0.2).exp());
        let epsilons: Vec<f64> = std::iter::once(0.0).chain(places).collect();
        for (range, count) in [(0.3f64, 1u64), (0.3, 2), (1e-3, 1), (2.0, 5), (1e-9, 3)] {
            let swept = profile(&Steps(vec![(Step::Pure { epsilon: range }, count)]), &epsilons).unwrap();
            for (epsilon, swept) in epsilons.iter().zip(swept) {
                let exact = crate::accounting::optimal::optimal_delta(range, 0.0, count, *epsilon);
                assert!(
                    swept >= exact * (1.0 - 1e-9) && swept <= exact * 1.3 + 1e-9,
                    "{range} {count} at {epsilon}: {swept} against {exact}"
                );
            }
        }
    }

    /// Never below the certified lower end at the same point, and within
    /// a few per cent of the upper one.
    #[test]
    fn a_sweep_is_above_the_truth_and_close_to_it() {
        let sampled =
            |rate, mu| Step::Poisson { rate, sided: Sided::One, base: Box::new(Step::Gaussian { mu }) };
        for steps in [
            Steps(vec![(sampled(0.01, 1.0), 1000)]),
            Steps(vec![(sampled(0.1, 0.7), 1)]),
            Steps(vec![(Step::Laplace { epsilon: 0.3 }, 10), (Step::Gaussian { mu: 0.5 }, 1)]),
        ] {
            let epsilons: Vec<f64> = (0..40).map(|i| 0.06 * f64::from(i)).collect();
            let swept = profile(&steps, &epsilons).unwrap();
            for (epsilon, swept) in epsilons.iter().zip(&swept).step_by(7) {
                let exact = pld::delta(&steps, *epsilon).unwrap();
                assert!(*swept >= exact.lower, "{steps:?} at {epsilon}: {swept} below {exact:?}");
                assert!(
                    *swept <= exact.upper * 1.02 + 1e-14,
                    "{steps:?} at {epsilon}: {swept} above {exact:?}"
                );
            }
            assert!(swept.windows(2).all(|w| w[1] <= w[0] * (1.0 + 1e-6)));
        }
    }
}
