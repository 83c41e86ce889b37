//! Events that are made of another event in a way of their own.
//!
//! # Epochs and bins
//! Every unit is in exactly one batch an epoch. A group of k may be spread over several batches; if each unit has the
//! trade-off f, k of them have at least `1 - (1 - f)^(o k)` however they are spread (Dong, Roth, Su, *Gaussian
//! Differential Privacy*, 2019), which for shifted log-concave noise is the curve of k-fold shift: what all k
//! in one batch cost.
//! # Selection
//! The premises of Papernot and Steinke (*Hyperparameter Tuning with Rényi Differential Privacy*, 2022): the number of
//! runs is secret and drawn first, each run costs the same, the score is part of its output, losers stay
//! unseen.
//! # Last iterate
//! `HiddenDescent` has the theorem and its premises. Where they fail, or where the step is not Gaussian, all
//! iterates are accounted as if they were seen.
//! # Trees
//! A leaf of a binary tree over T steps lies in at most as many nodes as T has binary digits, and each node is released
//! once: one contribution moves the list of nodes by `sqrt(digits)` clip norms, and p of them by at most p times that.
//! Inputs may depend on earlier nodes (Gaussian noise; Denisov, McMahan, Rush, Smith, Thakurta, 2022).
//! # Shuffled reports
//! Each of n units reports once through a local randomizer; module `shuffled`.

use super::super::error::AccountError;
use super::super::step::{Step, Steps};
use super::super::{closed, with_replacement};
use super::lower::{Lens, lower};
use super::{Walk, multiply, unwrap_single};
use crate::event::{Event, FixedSample};
use crate::notion::{Gdp, HiddenDescent};
use crate::params::{Count, Mu, NoiseMultiplier};

/// Is some mechanism known that this event allows and that costs what its steps do? Not where the steps are only
/// an upper bound: secret bins may hide more than they are given credit for, and leaves of one unit may lie apart.
pub(crate) fn is_attained(event: &Event) -> bool {
    match event {
        Event::BallsInBins { bins, event, .. } => *bins == Count::ONE && is_attained(event),
        Event::TreeAggregation { participations, .. } => *participations == Count::ONE,
        Event::Composed { events } => events.iter().all(is_attained),
        Event::PoissonSampled { event, .. }
        | Event::SampledWithoutReplacement { event, .. }
        | Event::SampledWithReplacement { event, .. }
        | Event::Repeated { event, .. }
        | Event::ShuffledEpochs { event, .. }
        | Event::ShuffledReports { event, .. }
        | Event::LastIterate { event, .. }
        | Event::Group { event, .. }
        | Event::Selected { event, .. } => is_attained(event),
        Event::Gaussian(_)
        | Event::Laplace(_)
        | Event::DiscreteGaussian { .. }
        | Event::DiscreteLaplace { .. }
        | Event::RandomizedResponse(_)
        | Event::Exponential { .. }
        | Event::Pure { .. }
        | Event::Approximate { .. }
        | Event::Zcdp { .. }
        | Event::Gdp { .. }
        | Event::Renyi(_)
        | Event::AboveThreshold { .. }
        | Event::Toeplitz { .. }
        | Event::NonPrivate => true,
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
        &self,
        lens: Lens,
        group: u64,
        event: &Event,
        depth: usize,
    ) -> Result<Steps, AccountError> {
        let mut walk = Walk {
            group,
            in_epoch: self.in_epoch,
            in_sample: self.in_sample,
            ..Walk::new(self.neighbours, lens)
        };
        walk.visit(event, 1, depth + 1)?;
        Ok(walk.out.into_steps())
    }

    /// Only the last of many steps is seen.
    pub(super) fn last_iterate(
        &mut self,
        event: &Event,
        count: u64,
        depth: usize,
    ) -> Result<(), AccountError> {
        let Event::LastIterate { steps, step_size, strong_convexity, smoothness, event: inner } = event
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
            let last = Mu::new(mu).and_then(|mu| descent.last_iterate(Gdp::new(mu), *steps));
            // Out of range is no guarantee.
            let step = last.map_or(Step::NonPrivate, |gdp| Step::Gaussian { mu: gdp.mu().get() });
            return self.add(step, count);
        }
        self.visit(inner, multiply(count, *steps)?, depth + 1)
    }

    /// Noisy nodes of a binary tree.
    pub(super) fn tree(
        &self,
        event: &Event,
        steps: Count,
        participations: Count,
        noise_multiplier: NoiseMultiplier,
    ) -> Result<Step, AccountError> {
        let digits = f64::from(u64::BITS - steps.get().leading_zeros());
        let norms = self.lens.norms(event)? * participations.get() as f64;
        let mu = norms * digits.sqrt() / noise_multiplier.get() * (1.0 + 4.0 * f64::EPSILON);
        let step = Step::Gaussian { mu: mu.max(f64::MIN_POSITIVE) };
        Ok(if mu.is_finite() { step } else { Step::NonPrivate })
    }

    /// Local reports in random order.
    pub(super) fn shuffled(
        &self,
        event: &Event,
        reports: Count,
        inner: &Event,
        depth: usize,
    ) -> Result<Step, AccountError> {
        self.replaced(event)?;
        let local = self.apart(Lens::TwoNorms, 1, inner, depth)?;
        let epsilon = closed::at_delta_zero(&local).upper;
        if epsilon.is_finite() {
            return Ok(Step::Shuffled { reports: reports.get(), epsilon });
        }
        Err(AccountError::unsupported(
            event.name(),
            "only local randomizers with a pure bound gain by shuffling here; state one, such as \
             randomized_response or pure",
        ))
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
            return Ok(base);
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
