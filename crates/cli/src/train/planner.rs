//! `train --plan --minutes M`: which method, how many steps and which batches suit n records, (ε, δ) and M minutes. The data is not looked
//! at, and need not be there: a schema and `--rows` will do.
//!
//! # How it is chosen
//! Every method that suits the target is a candidate, with some numbers of steps and sizes of batches; what is given by flags stays as
//! it is given. Those that take longer than M minutes by the [cost model](super::cost) are left out (methods that are done at once by the time
//! of their rehearsal, in proportion to n). The others are rehearsed on [invented records](super::invented) with their noise, five times each,
//! and the best mean score wins.
//!
//! # How sure it is
//! Scores come with their standard error over the rehearsals. A runner-up within two of them is named: the choice between the two
//! is then a matter of taste. How far invented records are from real ones is not in that error; the guide compares them.

use std::time::Duration;

use clap::ValueEnum;
use sordino::prelude::*;

use super::args::Settings;
use super::cost::Speed;
use super::estimate::{Rehearsal, data_bytes};
use super::learner::Learner;
use super::method::Method;
use super::subject::Subject;
use crate::error::Error;

/// Steps of full-batch candidates.
const STEPS: [u64; 5] = [25, 50, 100, 200, 400];
/// Records of a batch, and passes over all, of candidates with random batches.
const BATCHES: [(u64, u64); 3] = [(256, 10), (1024, 10), (4096, 20)];
/// Numbers that one rehearsal touches.
const WORK: f64 = 3e6;
/// Rehearsals of a candidate.
const REPEATS: u64 = 5;

/// What is advised, and what else was weighed.
pub(crate) struct Advice {
    /// Of all that fit, the best first.
    pub(crate) ranked: Vec<Candidate>,
    /// How many would take too long.
    pub(crate) too_long: usize,
    pub(crate) speed: Speed,
    pub(crate) memory: u64,
}

pub(crate) struct Candidate {
    /// All of its settings.
    pub(crate) settings: Settings,
    pub(crate) claim: Claim,
    pub(crate) noise_multiplier: Option<f64>,
    pub(crate) time: Duration,
    /// The mean score of its rehearsals, and its standard error.
    pub(crate) score: f64,
    pub(crate) error: f64,
}

impl Advice {
    pub(crate) fn of(subject: &Subject, asked: &Settings, limit: Duration) -> Result<Self, Error> {
        let speed = Speed::measured(subject, asked)?;
        let (mut ranked, mut too_long, mut shortest) = (Vec::new(), 0, Duration::MAX);
        for settings in candidates(subject, asked) {
            let method = settings.method.unwrap_or_default();
            let learner = match method.plan(&subject.task(&settings)) {
                Ok(learner) => learner,
                // What was asked for does not suit this method, or this method not the target.
                Err(_) if asked.method.is_none() => continue,
                Err(error) => return Err(error),
            };
            // By the model where it applies, so that nothing is rehearsed in vain.
            let modelled = speed.of(&*learner, subject.n);
            let candidate = match modelled {
                Some(time) if time > limit => Err(time),
                _ => Candidate::rehearsed(subject, settings, &*learner, modelled).map(Ok)?,
            };
            match candidate {
                Ok(candidate) if candidate.time <= limit => ranked.push(candidate),
                Ok(Candidate { time, .. }) | Err(time) => {
                    too_long += 1;
                    shortest = shortest.min(time);
                }
            }
        }
        if ranked.is_empty() {
            return Err(Error::NoTime {
                needed: shortest.as_secs_f64() / 60.0,
                given: limit.as_secs_f64() / 60.0,
            });
        }
        // Of errors the smallest is best.
        let sign = if subject.encoding.classes().is_some() { -1.0 } else { 1.0 };
        ranked.sort_by(|a, b| (sign * a.score).total_cmp(&(sign * b.score)));
        Ok(Self { ranked, too_long, speed, memory: data_bytes(subject) })
    }

    /// The one to use. There is one: [`Advice::of`] fails without.
    pub(crate) fn best(&self) -> &Candidate {
        &self.ranked[0]
    }

    /// The next best, if its score could be as good.
    pub(crate) fn rival(&self) -> Option<&Candidate> {
        let (best, next) = (self.best(), self.ranked.get(1)?);
        let apart = (best.score - next.score).abs();
        (apart <= 2.0 * best.error.hypot(next.error)).then_some(next)
    }
}

impl Candidate {
    fn rehearsed(
        subject: &Subject,
        mut settings: Settings,
        learner: &dyn Learner,
        modelled: Option<Duration>,
    ) -> Result<Self, Error> {
        let rehearsal = Rehearsal::new(subject, learner, &settings, WORK)?;
        let (train, test) = (rehearsal.table.train()?, rehearsal.table.test()?);
        let here = rehearsal.with_noise()?;
        let (mut scores, mut fastest) = (Vec::new(), Duration::MAX);
        for seed in 1..=REPEATS {
            let (model, time) = rehearsal.run(&*here, &train, seed)?;
            scores.push(model.score(&test)?);
            fastest = fastest.min(time);
        }
        let grown = fastest.mul_f64(subject.n.get() as f64 / rehearsal.table.n as f64);
        let (score, error) = mean_and_error(&scores);
        learner.settle(&mut settings);
        Ok(Self {
            settings,
            claim: learner.claim(),
            noise_multiplier: learner.noise_multiplier(),
            time: modelled.unwrap_or(grown),
            score,
            error,
        })
    }

    /// The flags that make a run of it, beside those that were given.
    pub(crate) fn flags(&self) -> String {
        let Settings { method, steps, sampling_rate, .. } = &self.settings;
        let mut flags = format!("--method {}", method.unwrap_or_default().name());
        if let Some(rate) = sampling_rate {
            flags += &format!(" --sampling-rate {rate}");
        }
        if let Some(steps) = steps {
            flags += &format!(" --steps {steps}");
        }
        flags
    }
}

/// Every method that is not excluded by a flag, with the settings that are not given.
fn candidates(subject: &Subject, asked: &Settings) -> Vec<Settings> {
    let methods = asked.method.map_or_else(|| Method::value_variants().to_vec(), |method| vec![method]);
    let mut all = Vec::new();
    for method in methods {
        let plain = Settings { method: Some(method), ..asked.clone() };
        match method {
            Method::GradientDescent if asked.steps.is_none() => {
                let steps = STEPS.iter().filter_map(|steps| Count::new(*steps).ok());
                all.extend(steps.map(|steps| Settings { steps: Some(steps), ..plain.clone() }));
            }
            Method::Sgd if asked.steps.is_none() && asked.sampling_rate.is_none() => {
                all.extend(BATCHES.iter().filter_map(|(batch, passes)| {
                    let n = subject.n.get();
                    // Half of all records at most; beyond that the full batch is a candidate.
                    let rate = SamplingRate::new(*batch as f64 / n as f64).ok().filter(|_| 2 * batch <= n)?;
                    let steps = Count::new((passes * n).div_ceil(*batch)).ok();
                    Some(Settings { sampling_rate: Some(rate), steps, ..plain.clone() })
                }));
            }
            Method::GradientDescent
            | Method::Sgd
            | Method::CoordinateDescent
            | Method::OutputPerturbation
            | Method::ObjectivePerturbation
            | Method::SufficientStatistics => all.push(plain),
        }
    }
    all
}

fn mean_and_error(scores: &[f64]) -> (f64, f64) {
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_a_mean() {
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0, 4.0]);
        // Variance 5/3 of one, a quarter of that of the mean.
        assert!((mean - 2.5).abs() < 1e-15 && (error - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
    }
}
