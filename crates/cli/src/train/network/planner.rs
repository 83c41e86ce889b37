//! `train --model ... --plan --minutes M`: which batches, how many passes over the data and which rate suit n records, (ε, δ) and M minutes.
//!
//! # How it is chosen
//! Batches of 64 to 8192 records and 5 to 80 passes are candidates; what is given by flags stays as it is given. Those that take
//! longer than M minutes at the [pace](super::pace) of this machine are left out. The noise of the others is calibrated, which gives ν, the length of the noise in the mean of
//! a batch in clip norms: `ν = z √d / B` for the noise multiplier z, d weights and B records. Candidates are compared by
//! ```text
//! √((1 + ν²) / T)                                                                              (1)
//! ```
//! for T steps: but for a factor that is the same for all, the excess loss of the average iterate of stochastic gradient descent on a convex loss, when its rate is the best
//! one and second moments of gradients are at most 1 + ν² (Bassily, Smith, Thakurta, *Private Empirical Risk Minimization*, 2014; Shamir, Zhang, *Stochastic
//! Gradient Descent for Non-smooth Optimization*, 2013). Of those within a tenth of the least the quickest is advised, with
//! the rate that (1) is the bound for.
//!
//! # How sure it is
//! Networks are not convex, and (1) is a bound: it weighs noise against steps as it should, and says nothing about accuracy. Nothing is rehearsed: invented records
//! have no shapes to be found, so scores on them would rank networks and settings by what pictures do not have. No accuracy is foretold.

use std::time::Duration;

use sordino::prelude::*;

use super::learner::noise_length;
use super::pace::Pace;
use crate::decimal;
use crate::error::Error;
use crate::train::args::Settings;
use crate::train::learner::Learner;
use crate::train::method::Method;
use crate::train::subject::Subject;

/// Records of a batch, and passes over all; steps where every record is in each.
const BATCHES: [u64; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];
const EPOCHS: [u64; 5] = [5, 10, 20, 40, 80];
const STEPS: [u64; 5] = [25, 50, 100, 200, 400];
/// Bounds that differ by less are the same.
const ALIKE: f64 = 1.1;

/// What is advised, and what else was weighed.
pub(crate) struct NetworkAdvice {
    /// Of all that fit: the one to use, then the others by their bounds.
    pub(crate) ranked: Vec<NetworkCandidate>,
    /// How many would take too long.
    pub(crate) too_long: usize,
    pub(crate) pace: Pace,
}

pub(crate) struct NetworkCandidate {
    /// What was given or chosen, and all that follows from it.
    chosen: Settings,
    pub(crate) settings: Settings,
    pub(crate) learner: Box<dyn Learner>,
    /// Records of a batch, on average.
    pub(crate) batch: f64,
    pub(crate) time: Duration,
    /// ν.
    pub(crate) noise: f64,
    /// (1).
    pub(crate) bound: f64,
}

impl NetworkAdvice {
    pub(crate) fn of(subject: &Subject, asked: &Settings, limit: Duration) -> Result<Self, Error> {
        let asked = Settings { image: subject.image, ..asked.clone() };
        let pace = Pace::measured(subject, &asked)?;
        let (mut ranked, mut too_long, mut shortest) = (Vec::new(), 0, Duration::MAX);
        for settings in candidates(subject, &asked) {
            let (batch, steps) = size(subject, &settings)?;
            let time = pace.of(steps, batch);
            if time > limit {
                too_long += 1;
                shortest = shortest.min(time);
            } else {
                ranked.push(NetworkCandidate::planned(subject, settings, batch, time)?);
            }
        }
        if ranked.is_empty() {
            let minutes = |time: Duration| time.as_secs_f64() / 60.0;
            return Err(Error::NoTime { needed: minutes(shortest), given: minutes(limit) });
        }
        ranked.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        let most = ALIKE * ranked[0].bound;
        let alike = ranked.iter().enumerate().filter(|(_, candidate)| candidate.bound <= most);
        // The first is one of them.
        let quickest = alike.min_by_key(|(_, candidate)| candidate.time).map_or(0, |(place, _)| place);
        ranked[..=quickest].rotate_right(1);
        Ok(Self { ranked, too_long, pace })
    }

    /// The one to use. There is one: [`NetworkAdvice::of`] fails without.
    pub(crate) fn best(&self) -> &NetworkCandidate {
        &self.ranked[0]
    }
}

impl NetworkCandidate {
    fn planned(subject: &Subject, chosen: Settings, batch: f64, time: Duration) -> Result<Self, Error> {
        let learner = subject.task(&chosen).learner()?;
        let mut settings = chosen.clone();
        learner.settle(&mut settings);
        let z = learner.noise_multiplier().unwrap_or_default();
        let noise = noise_length(z, learner.weights(), batch);
        let steps = learner.steps().unwrap_or(1) as f64;
        let bound = ((1.0 + noise * noise) / steps).sqrt();
        Ok(Self { chosen, settings, learner, batch, time, noise, bound })
    }

    /// The flags that make a run of it.
    pub(crate) fn flags(&self) -> String {
        let Self { chosen, settings, .. } = self;
        let whole =
            [("--batch-size", chosen.batch_size), ("--epochs", chosen.epochs), ("--steps", chosen.steps)];
        let mut flags: Vec<String> =
            whole.into_iter().filter_map(|(name, count)| Some(format!("{name} {}", count?))).collect();
        let rate = settings.learning_rate.filter(|_| chosen.learning_rate.is_none());
        flags.extend(rate.map(|rate| format!("--learning-rate {}", decimal::down(rate))));
        flags.join(" ")
    }
}

/// Every size that no flag excludes.
fn candidates(subject: &Subject, asked: &Settings) -> Vec<Settings> {
    let is_full = Method::of(asked) == Method::GradientDescent;
    let plain = Settings { method: Some(Method::of(asked)), ..asked.clone() };
    let batches = if is_full || asked.sampling_rate.is_some() || asked.batch_size.is_some() {
        vec![plain]
    } else {
        let fit = BATCHES.iter().filter(|batch| 2 * **batch <= subject.n.get());
        let some: Vec<_> = fit.filter_map(|batch| with_batch(&plain, *batch)).collect();
        // A table that is too small for any of them takes half of itself.
        if some.is_empty() {
            with_batch(&plain, subject.n.get().div_ceil(2)).into_iter().collect()
        } else {
            some
        }
    };
    if asked.steps.is_some() || asked.epochs.is_some() {
        return batches;
    }
    let passes = if is_full { STEPS } else { EPOCHS };
    let with_passes = |settings: &Settings, passes: u64| {
        Some(Settings { epochs: Some(Count::new(passes).ok()?), ..settings.clone() })
    };
    let all = batches.iter().flat_map(|settings| passes.map(|passes| with_passes(settings, passes)));
    all.flatten().collect()
}

fn with_batch(settings: &Settings, batch: u64) -> Option<Settings> {
    Some(Settings { batch_size: Some(Count::new(batch).ok()?), ..settings.clone() })
}

/// Records of a batch and steps, before anything is calibrated.
fn size(subject: &Subject, settings: &Settings) -> Result<(f64, f64), Error> {
    let (task, n) = (subject.task(settings), subject.n.get() as f64);
    let rate = if Method::of(settings) == Method::GradientDescent { 1.0 } else { task.rate(1.0)?.get() };
    Ok((rate * n, task.steps(rate, 1.0)?.get() as f64))
}
