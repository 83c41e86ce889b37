//! Events that are made of another event in a way of their own.
//!
//! # Epochs and bins
//! Every unit is in exactly one batch an epoch. A group of k may be spread over several batches; if
//! each unit has the trade-off f, k of them have at least `1 - (1 - f)^(o k)` however they are
//! spread (Dong, Roth, Su, *Gaussian Differential Privacy*, 2019), which for shifted log-concave
//! noise is the curve of k-fold shift: what all k in one batch cost.
//! # Selection
//! The premises of Papernot and Steinke (*Hyperparameter Tuning with Rényi Differential Privacy*,
//! 2022): the number of runs is secret and drawn first, each run costs the same, the score is part
//! of its output, losers stay unseen.
//! # Last iterate
//! `HiddenDescent` has the theorem and its premises. Where they fail, or where the step is not
//! Gaussian, all iterates are accounted as if they were seen.
//! # Trees
//! Every node of a binary tree over T steps is released once; module `tree` has the sensitivity of
//! the list of nodes. Inputs may depend on earlier nodes (Gaussian noise; Denisov, McMahan, Rush,
//! Smith, Thakurta, 2022).
//! # Correlated noise
//! Prefix sums from a square root of their matrix are one Gaussian release, too; module `toeplitz`.
//! # Shuffled reports
//! Each of n units reports once through a local randomizer; module `shuffled`.

use super::super::error::AccountError;
use super::super::step::{Sided, Step, Steps};
use super::super::{closed, instance, selected, shuffled, with_replacement};
use super::lower::{Lens, lower, ratio};
use super::toeplitz::Toeplitz;
use super::tree::Tree;
use super::{LOCAL_DELTA, Walk, drawn, multiply, unwrap_single};
use crate::event::{Event, FixedSample, GaussianNoise, Trials};
use crate::notion::{Gdp, HiddenDescent};
use crate::numerics::gaussian_profile;
use crate::numerics::logspace::ln_mixture;
use crate::params::{Count, Mu, NoiseMultiplier, Scale};
use crate::relation::Contribution;

/// Is some mechanism known that this event allows and that costs what its steps do? Not where the
/// steps are only an upper bound: secret bins may hide more than they are given credit for, leaves
/// of one unit may lie apart, a descent may contract by turning back and forth, and what is known
/// of groups may be no more than a chain of single units.
pub(crate) fn is_attained(event: &Event) -> bool {
    is_attained_by(event, false)
}

/// The same, for one unit or for groups of several. Two outcomes with losses of k eps would need
/// intermediate inputs that tell more than eps apart.
fn is_attained_by(event: &Event, groups: bool) -> bool {
    match event {
        Event::BallsInBins { bins, event, .. } => *bins == Count::ONE && is_attained_by(event, groups),
        Event::TreeAggregation { steps, participations, separation, nodes, .. } => {
            Tree::new(*steps, *participations, *separation, *nodes).is_exact()
        }
        Event::Toeplitz { steps, bands, participations, separation, .. } => {
            Toeplitz::new(*steps, *bands, *participations, *separation).is_exact()
        }
        Event::Composed { events } => events.iter().all(|event| is_attained_by(event, groups)),
        Event::Group { size, event } => is_attained_by(event, groups || *size > Count::ONE),
        Event::LastIterate { steps, step_size, strong_convexity, smoothness, diameter, event } => {
            let curved = [strong_convexity.get(), smoothness.get()].map(|curve| step_size.get() * curve);
            // A quadratic of the least curvature meets the bound if none of a larger one contracts
            // less.
            let by_quadratic = diameter.is_none() && (curved[0] == 0.0 || curved[0] + curved[1] <= 2.0);
            let gaussian = matches!(unwrap_single(event), Event::Gaussian(_)) && by_quadratic;
            gaussian || (*steps == Count::ONE && is_attained_by(event, groups))
        }
        Event::OnePass { .. } => false,
        Event::PoissonSampled { event, .. } => {
            let single = unwrap_single(event);
            let shifted = matches!(single, Event::Gaussian(_) | Event::Laplace(_) | Event::Gdp { .. });
            is_attained_by(event, groups) && (shifted || !groups)
        }
        Event::PoissonSampledTruncated { population, max_batch, event, .. } => {
            max_batch >= population && !groups && is_attained_by(event, groups)
        }
        Event::SampledWithoutReplacement { event, .. } | Event::SampledWithReplacement { event, .. } => {
            !groups && is_attained_by(event, groups)
        }
        // The survey that is known to cost something may be another randomizer's.
        Event::ShuffledReports { .. } => false,
        Event::Repeated { event, .. } | Event::ShuffledEpochs { event, .. } => is_attained_by(event, groups),
        Event::Selected { event, .. } => is_attained_by(event, groups) && !may_disclose(event),
        Event::Pure { .. }
        | Event::Approximate { .. }
        | Event::RandomizedResponse(_)
        | Event::AboveThreshold { .. } => !groups,
        Event::Gaussian(_)
        | Event::Laplace(_)
        | Event::DiscreteGaussian { .. }
        | Event::DiscreteLaplace { .. }
        | Event::Exponential { .. }
        | Event::Zcdp { .. }
        | Event::Gdp { .. }
        | Event::Renyi(_)
        | Event::NonPrivate => true,
    }
}

/// Some part has no pure bound and no Rényi divergence, so that what it may disclose is set aside.
fn may_disclose(event: &Event) -> bool {
    match event {
        Event::Approximate { delta, .. } => delta.get() > 0.0,
        Event::NonPrivate | Event::PoissonSampledTruncated { .. } => true,
        // Gaussian reports are taken at a delta of their own.
        Event::ShuffledReports { .. } => true,
        Event::Composed { events } => events.iter().any(may_disclose),
        Event::PoissonSampled { event, .. }
        | Event::SampledWithoutReplacement { event, .. }
        | Event::SampledWithReplacement { event, .. }
        | Event::Repeated { event, .. }
        | Event::ShuffledEpochs { event, .. }
        | Event::BallsInBins { event, .. }
        | Event::LastIterate { event, .. }
        | Event::OnePass { event, .. }
        | Event::Group { event, .. }
        | Event::Selected { event, .. } => may_disclose(event),
        Event::Gaussian(_)
        | Event::Laplace(_)
        | Event::DiscreteGaussian { .. }
        | Event::DiscreteLaplace { .. }
        | Event::RandomizedResponse(_)
        | Event::Exponential { .. }
        | Event::Pure { .. }
        | Event::Zcdp { .. }
        | Event::Gdp { .. }
        | Event::Renyi(_)
        | Event::AboveThreshold { .. }
        | Event::TreeAggregation { .. }
        | Event::Toeplitz { .. } => false,
    }
}

impl Walk {
    /// `inner` on each of the disjoint batches of some epochs.
    pub(super) fn epochs(
        &mut self,
        epochs: Count,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        let before = std::mem::replace(&mut self.in_epoch, true);
        let done = self.visit(inner, multiply(count, epochs)?, depth + 1);
        self.in_epoch = before;
        done
    }

    /// `inner` on each of the bins of some epochs: a Gaussian release is amplified for one unit
    /// that is there or is not. For anything else: given who is in which bin, the batches of an
    /// epoch are disjoint and everybody is in one. The bins are drawn alike for all neighbours, and
    /// a mixture is no easier to tell apart than its parts.
    pub(super) fn balls(
        &mut self,
        bins: Count,
        epochs: Count,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        let alone = self.group == 1 && !self.in_epoch && !self.in_sample && bins > Count::ONE;
        let absent = matches!(self.neighbours.contribution(), Some(Contribution::Absent));
        let single = unwrap_single(inner);
        if alone
            && absent
            && matches!(single, Event::Gaussian(_))
            && let Step::Gaussian { mu } = lower(single, self.lens)?
        {
            return self.out.add(Step::BallsInBins { bins: bins.get(), mu }, multiply(count, epochs)?);
        }
        if self.instance && bins > Count::ONE {
            // One unit, whose contribution becomes nothing; of other noise no instance is known.
            if !self.in_epoch
                && !self.in_sample
                && matches!(single, Event::Gaussian(GaussianNoise::Multiplier { .. }))
                && let Step::Gaussian { mu } = lower(single, Lens::AgainstAbsent)?
            {
                let mu = mu * (1.0 - 4.0 * f64::EPSILON);
                return self.out.add(Step::BallsInBins { bins: bins.get(), mu }, multiply(count, epochs)?);
            }
            return Ok(());
        }
        self.epochs(epochs, inner, count, depth)
    }

    /// `inner`, for groups.
    pub(super) fn grouped(
        &mut self,
        event: &Event,
        size: Count,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        if self.in_sample {
            return Err(AccountError::unsupported(
                event.name(),
                "inside a sample: say group of sampled events instead",
            ));
        }
        self.units(event, "its vectors are not units in groups")?;
        let before = self.group;
        self.group = multiply(before, size)?;
        let done = self.visit(inner, count, depth + 1);
        self.group = before;
        done
    }

    /// The releases of `event` by themselves.
    pub(super) fn apart(
        &mut self,
        lens: Lens,
        group: u64,
        event: &Event,
        depth: usize,
    ) -> Result<Steps, AccountError> {
        let mut walk = Walk {
            group,
            in_epoch: self.in_epoch,
            in_sample: self.in_sample,
            local_delta: self.local_delta,
            instance: self.instance,
            ..Walk::new(self.neighbours, lens)
        };
        walk.visit(event, 1, depth + 1)?;
        self.local_reports += walk.local_reports;
        Ok(walk.out.into_steps())
    }

    /// Only the last of many steps is seen.
    pub(super) fn last_iterate(
        &mut self,
        event: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        let Event::LastIterate { steps, step_size, strong_convexity, smoothness, diameter, event: inner } =
            event
        else {
            return Ok(()); // the one caller has matched it
        };
        let descent = HiddenDescent::new(*step_size, *strong_convexity, *smoothness)
            .map_err(|error| AccountError::meaningless(event.name(), error.to_string()))?;
        let single = unwrap_single(inner);
        // The noise itself must be Gaussian: a promise of Gaussian privacy is not enough.
        if matches!(single, Event::Gaussian(_))
            && let Step::Gaussian { mu } = lower(single, self.lens)?
        {
            if self.instance {
                // A set that keeps the iterates together may help more than a quadratic tells.
                let mu = if diameter.is_some() { 0.0 } else { descent.on_quadratic(mu, *steps, None) };
                return self.add(Step::Gaussian { mu }, count);
            }
            let last = Mu::new(mu).map(Gdp::new).and_then(|step| match diameter {
                Some(diameter) => descent.last_iterate_within(step, *steps, *diameter, Scale::new(1.0)?),
                None => descent.last_iterate(step, *steps),
            });
            // Out of range is no guarantee.
            let step = last.map_or(Step::NonPrivate, |gdp| Step::Gaussian { mu: gdp.mu().get() });
            return self.add(step, count);
        }
        if self.instance && *steps > Count::ONE {
            return Ok(());
        }
        self.visit(inner, multiply(count, *steps)?, depth + 1)
    }

    /// One pass over the records, of which only the last iterate is seen. Each unit is in one step.
    pub(super) fn one_pass(&mut self, event: &Event, count: u64, depth: usize) -> Result<(), AccountError> {
        let Event::OnePass { records, position, step_size, strong_convexity, smoothness, event: inner } =
            event
        else {
            return Ok(()); // the one caller has matched it
        };
        if !self.neighbours.has_public_size() {
            return Err(AccountError::meaningless(
                event.name(),
                format!(
                    "under {}: a record more or fewer moves all that come after it to other places; claim it \
                     under zero_out or replace",
                    self.neighbours
                ),
            ));
        }
        let descent = HiddenDescent::new(*step_size, *strong_convexity, *smoothness)
            .map_err(|error| AccountError::meaningless(event.name(), error.to_string()))?;
        let single = unwrap_single(inner);
        if matches!(single, Event::Gaussian(_))
            && let Step::Gaussian { mu } = lower(single, self.lens)?
        {
            if self.instance {
                let mu = descent.on_quadratic(mu, *records, Some(*position));
                return self.add(Step::Gaussian { mu }, count);
            }
            let seen = Mu::new(mu).and_then(|mu| descent.one_pass(Gdp::new(mu), *position, *records));
            let step = seen.map_or(Step::NonPrivate, |gdp| Step::Gaussian { mu: gdp.mu().get() });
            return self.add(step, count);
        }
        if self.instance {
            return Ok(());
        }
        self.epochs(Count::ONE, inner, count, depth)
    }

    /// One Gaussian release of what a unit of norm 1 moves by `sensitivity`: the nodes of a tree,
    /// or prefix sums before correlation.
    pub(super) fn correlated(
        &self,
        event: &Event,
        sensitivity: f64,
        noise_multiplier: NoiseMultiplier,
    ) -> Result<Step, AccountError> {
        // Twice a double is a double.
        let mu = ratio(self.lens.norms(event)? * sensitivity, noise_multiplier.get());
        Ok(if mu.is_finite() { Step::Gaussian { mu } } else { Step::NonPrivate })
    }

    /// Local reports in random order; what they may disclose is a release of its own.
    pub(super) fn shuffled(
        &mut self,
        event: &Event,
        reports: Count,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        self.replaced(event)?;
        let local = self.apart(Lens::TwoNorms, 1, inner, depth)?;
        if self.instance {
            // One unit. All reports are added up, or each is made a coin.
            return if let Some(mu) = closed::gaussian_distance(&local) {
                let mu = mu.lower / (reports.get() as f64).sqrt() * (1.0 - 4.0 * f64::EPSILON);
                self.out.add(Step::Gaussian { mu }, count)
            } else if let Some(good) = instance::coin(&local) {
                let epsilon = (good / (1.0 - good)).ln().min(700.0) * (1.0 - 1e-12);
                self.out.add(Step::Shuffled { reports: reports.get(), epsilon }, count)
            } else {
                Ok(())
            };
        }
        let found = self.local(&local, reports.get() as f64 * count as f64);
        if self.local_delta == 0.0 && found.is_some_and(|(_, delta)| delta > 0.0) {
            // One unit reports once: what its report costs is enough.
            return local
                .0
                .into_iter()
                .try_for_each(|(step, times)| self.add(step, count.saturating_mul(times)));
        }
        let (epsilon, delta) = found.ok_or_else(|| {
            AccountError::unsupported(
                event.name(),
                "only local randomizers that are pure, approximate or Gaussian gain by shuffling here; \
                 state one, such as randomized_response, approximate or gaussian",
            )
        })?;
        let Some((epsilon, delta)) = shuffled::approximate(reports.get(), epsilon, delta) else {
            return self.add(Step::NonPrivate, count);
        };
        self.add(Step::Shuffled { reports: reports.get(), epsilon }, count)?;
        self.add(Step::Approximate { epsilon: 0.0, delta }, count)
    }

    /// `(epsilon, delta)` of a local randomizer: the sums, or for Gaussian noise its own profile.
    fn local(&mut self, steps: &Steps, reports: f64) -> Option<(f64, f64)> {
        let (rest, lost) = set_aside(steps);
        let epsilon = closed::at_delta_zero(&rest).upper;
        if epsilon.is_finite() {
            self.local_reports += if lost > 0.0 { reports } else { 0.0 };
            return Some((epsilon, lost));
        }
        let mu = closed::gaussian_distance(steps)?.upper;
        self.local_reports += reports;
        let delta = if self.local_delta > 0.0 { self.local_delta } else { LOCAL_DELTA };
        Some((gaussian_profile::epsilon(delta, mu).upper, delta))
    }

    /// The best of several runs. What a run may disclose, with probability l, is set aside: if no
    /// run does, which has probability `E[(1-l)^K] >= 1 - l E[K]` under both neighbours, the runs
    /// are what is left, and K has the law with `1 - gamma` or the mean times 1 - l, which costs
    /// less.
    pub(super) fn selected(
        &mut self,
        trials: Trials,
        inner: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        let run = self.apart(self.lens, self.group, inner, depth)?;
        if self.instance {
            return self.out.add(Step::Selected { trials, run }, count);
        }
        let (run, lost) = set_aside(&run);
        let step = Step::Selected { trials, run };
        self.spread_over_batches(&step)?;
        self.out.add(step, count)?;
        let delta = lost * selected::mean(trials);
        let disclosed = Step::Approximate { epsilon: 0.0, delta };
        self.out.add(if delta < 1.0 { disclosed } else { Step::NonPrivate }, count)
    }

    /// `inner` on independent draws.
    pub(super) fn with_replacement(
        &self,
        event: &Event,
        sample: FixedSample,
        inner: &Event,
        depth: usize,
    ) -> Result<Step, AccountError> {
        self.replaced(event)?;
        let base = self.base(event.name(), unwrap_single(inner), Lens::TwoNorms, depth)?;
        let (sample, population) = (sample.sample_size().get(), sample.population().get());
        if base == Step::NonPrivate {
            return Ok(drawn(with_replacement::rate(sample, population)));
        }
        if with_replacement::is_known(&base) {
            return Ok(Step::WithReplacement { sample, population, base: Box::new(base) });
        }
        Err(AccountError::unsupported(
            event.name(),
            "only Gaussian, Laplace, pure and approximate releases have known group profiles; state the \
             release as one of these",
        ))
    }
}

/// The releases outside an event in which nothing is promised, and its probability, rounded up:
/// outside its delta an approximate release is pure (Kairouz, Oh, Viswanath, *The Composition Theorem
/// for Differential Privacy*, 2015), and so is a sample of it (Balle, Barthe, Gaboardi 2018).
fn set_aside(steps: &Steps) -> (Steps, f64) {
    let mut lost = 0.0;
    let mut outside = |step: &Step, count: u64| {
        let (epsilon, delta) = approximate(step)?;
        lost += count as f64 * delta * (1.0 + 8.0 * f64::EPSILON);
        Some(Step::Pure { epsilon })
    };
    let kept = steps.0.iter().map(|(step, count)| (outside(step, *count).unwrap_or(step.clone()), *count));
    let kept = kept.filter(|(step, _)| *step != Step::Pure { epsilon: 0.0 }).collect();
    (Steps(kept), lost.min(1.0))
}

/// `(epsilon, delta)` of an approximate release or a sample of one.
fn approximate(step: &Step) -> Option<(f64, f64)> {
    let sampled = |rate: f64, base: &Step| {
        let (epsilon, delta) = approximate(base)?;
        Some((ln_mixture(rate, epsilon) * (1.0 + 1e-14), rate * delta))
    };
    if let Step::Approximate { epsilon, delta } = step {
        Some((*epsilon, *delta))
    } else if let Step::Poisson { rate, sided: Sided::One, base } = step {
        sampled(*rate, base)
    } else if let Step::WithoutReplacement { sample, population, base } = step {
        sampled((*sample as f64 / *population as f64).next_up().min(1.0), base)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::accounting::{Accountant, delta};
    use crate::bound::Bound;
    use crate::claim::Claim;
    use crate::params::Epsilon;

    fn ends(neighbours: &str, event: &str, epsilon: f64) -> Bound {
        let json = format!(r#"{{"neighbours":"{neighbours}","event":{event}}}"#);
        let claim = Claim::from_json(&json).unwrap();
        delta(&claim, Epsilon::new(epsilon).unwrap(), Accountant::Auto).unwrap().bound
    }

    /// If each of two units changes a probability by a factor of at most e, the worst case is a
    /// coin that passes through 1/2: total variation `1 - e^-1`, and not the `tanh(1)` of a
    /// release that is 2-DP for one unit.
    #[test]
    fn no_lower_end_for_groups_beyond_what_a_chain_of_units_can_do() {
        for event in [
            r#"{"type":"pure","epsilon":1}"#,
            r#"{"type":"approximate","epsilon":1,"delta":0}"#,
            r#"{"type":"randomized_response","categories":2,"truth_probability":0.7310585786300049}"#,
        ] {
            let found = ends("replace", &format!(r#"{{"type":"group","size":2,"event":{event}}}"#), 0.0);
            assert!(
                found.lower <= -(-1f64).exp_m1() && found.upper >= 1f64.tanh() * (1.0 - 1e-9),
                "{found:?}"
            );
            assert!(ends("replace", event, 0.0).lower > 0.46, "one unit has its lower end");
        }
        let found = ends(
            "replace",
            r#"{"type":"group","size":99,"event":{"type":"approximate","epsilon":1,"delta":1e-6}}"#,
            0.0,
        );
        // Laplace noise on a sum that moves by 99: 1 - e^-49.5.
        assert!(found.lower > 0.999_999 && found.upper == 1.0, "{found:?}");
        let shifted = ends(
            "add_remove",
            r#"{"type":"group","size":2,"event":{"type":"laplace","noise_multiplier":1}}"#,
            0.0,
        );
        assert!(shifted.contains(-(-1f64).exp_m1()) && shifted.relative_gap() < 1e-6, "{shifted:?}");
    }

    /// Curvature 1.9 with steps of 1: iterates jump over the minimum, and of 10 shifts of 1 little
    /// is left. The exact law on that quadratic, and on the one of curvature 0.5, against what the
    /// lower end says.
    #[test]
    fn no_lower_end_for_descents_that_no_quadratic_follows() {
        let event = |smoothness: f64, step: &str| {
            format!(
                r#"{{"type":"last_iterate","steps":10,"step_size":1,"strong_convexity":0.5,
                    "smoothness":{smoothness},"event":{{"type":"{step}","noise_multiplier":1}}}}"#
            )
        };
        let quadratic = |factor: f64| {
            let (mut distance, mut variance) = (0.0f64, 0.0f64);
            for _ in 0..10 {
                (distance, variance) = (factor * distance + 1.0, factor * factor * variance + 1.0);
            }
            crate::numerics::gaussian_profile::delta(1.0, distance / variance.sqrt())
        };
        let best = f64::max(quadratic(-0.9), quadratic(0.5));
        for smoothness in [1.9, 3.0] {
            let found = ends("add_remove", &event(smoothness, "gaussian"), 1.0);
            assert!(found.lower <= best && found.upper >= best, "{smoothness}: {found:?} against {best}");
        }
        assert!(ends("add_remove", &event(1.5, "gaussian"), 1.0).contains(quadratic(0.5)));
        assert_eq!(ends("add_remove", &event(1.5, "laplace"), 1.0).lower, 0.0);
    }
}
