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
use super::super::step::{Step, Steps};
use super::super::{closed, instance, selected, shuffled, with_replacement};
use super::aside::set_aside;
use super::lower::{Lens, lower, ratio};
use super::{LOCAL_DELTA, Walk, drawn, multiply, unwrap_single};
use crate::event::{Event, FixedSample, GaussianNoise, Trials};
use crate::notion::{Gdp, HiddenDescent};
use crate::numerics::gaussian_profile;
use crate::params::{Count, Mu, NoiseMultiplier, Scale};
use crate::relation::Contribution;

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
        let plain = self.local_delta == 0.0 || self.group > 1;
        if plain && found.is_some_and(|(_, delta)| delta > 0.0) {
            // One unit reports once: what its report costs is enough. A group may not take the
            // reports and what they disclose apart: its delta grows faster than its size.
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
