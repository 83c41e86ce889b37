//! Chooses method, steps and batches for n records, (ε, δ) and a limit of time. It does not look at
//! the data, which need not exist: a schema and a number of records suffice.
//!
//! # How it is chosen
//! Settings that are given stay as they are. Candidates that take longer than the limit at the
//! [pace](super::pace) of this machine are left out.
//!
//! - **Linear models.** The default is a candidate, and every method that suits the target, sgd
//!   with several batch sizes. Each is rehearsed five times on [synthetic
//!   records](super::synthetic) with its noise, and the best mean score wins. The default wins
//!   against scores that are within two standard errors, a point of accuracy, or 2 % of the error.
//!   A runner-up within two standard errors is named: the rehearsals cannot tell the two apart. The
//!   error does not say how much synthetic records differ from real ones; the guide compares them.
//! - **Networks.** Batches of 64 to 8192 records and 5 to 80 passes are candidates. Calibration
//!   gives the noise multiplier z of each, and with it ν, the length of the noise in the mean of a
//!   batch in clip norms: `ν = z √d / B` for d weights and B records. Candidates are compared by
//!   ```text
//!   √((1 + ν²) / T)                                                                            (1)
//!   ```
//!   for T steps. Up to a factor that is the same for all, (1) bounds the excess loss of the
//!   average iterate of stochastic gradient descent on a convex loss, at the best learning rate,
//!   when second moments of gradients are at most 1 + ν² (Bassily, Smith, Thakurta, *Private
//!   Empirical Risk Minimization*, 2014; Shamir, Zhang, *Stochastic Gradient Descent for
//!   Non-smooth Optimization*, 2013). The quickest candidate within a tenth of the smallest
//!   bound is advised, with its default learning rate. Networks are not convex: (1) weighs noise
//!   against steps, and does not predict accuracy. Nothing is rehearsed: synthetic records have
//!   no shapes for a network to find.

use std::time::Duration;

use sordino_nn::noise_length;
use sordino_privacy::{Count, SamplingRate};

use super::effective;
use super::estimate::{MemoryNeed, TIME_LIMIT, is_short, records};
use super::learner::Learner;
use super::pace::Pace;
use super::plan::RunPlan;
use super::rehearsal::Rehearsal;
use super::subject::Subject;
use crate::error::RunError;
use crate::settings::{LearnerSettings, Method, SamplingName, Settings};

/// Numbers of steps of full-batch networks.
const STEPS: [u64; 5] = [25, 50, 100, 200, 400];
/// Batch sizes and passes of linear candidates with random batches.
const LINEAR_BATCHES: [(u64, u64); 3] = [(256, 10), (1024, 10), (4096, 20)];
/// Batch sizes of networks, each tried with all of [`EPOCHS`].
const BATCHES: [u64; 8] = [64, 128, 256, 512, 1024, 2048, 4096, 8192];
/// Passes of networks.
const EPOCHS: [u64; 5] = [5, 10, 20, 40, 80];
/// The least gain in accuracy over the default.
const MIN_ACCURACY_GAIN: f64 = 0.01;
/// The least gain over the default as a part of the error.
const MIN_ERROR_GAIN: f64 = 0.02;
/// The fewest records for which rehearsals are meaningful.
const MIN_RECORDS: u64 = 50;
/// Bounds within this ratio count as equal.
const EQUAL_BOUNDS: f64 = 1.1;
/// The numbers that one rehearsal touches.
const REHEARSAL_WORK: f64 = 3e6;
/// Rehearsals per candidate.
const REPEATS: u64 = 5;

/// The advice, with all candidates.
#[derive(Debug)]
pub struct Advice {
    /// The subject of the run.
    pub subject: Subject,
    /// All candidates that fit, the best first.
    pub ranked: Vec<Candidate>,
    /// The number of candidates that would take too long.
    pub too_long: usize,
    /// The speed of this machine.
    pub pace: Pace,
    /// The memory of the best candidate.
    pub memory: MemoryNeed,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
}

/// One choice of settings.
#[derive(Debug)]
pub struct Candidate {
    /// The settings, given or chosen.
    pub chosen: LearnerSettings,
    /// The learner that follows from it.
    pub learner: Learner,
    /// The estimated time.
    pub time: Duration,
    /// What it is ranked by.
    pub merit: Merit,
}

impl Candidate {
    /// Every setting of its learner, defaults included.
    pub fn effective(&self) -> LearnerSettings {
        effective::of_learner(&self.learner)
    }
}

/// What candidates are compared by.
#[derive(Clone, Copy, Debug)]
pub enum Merit {
    /// The mean score of its rehearsals, and its standard error.
    Rehearsed {
        /// The mean.
        score: f64,
        /// Its standard error.
        error: f64,
    },
    /// (1), less is better.
    Bound {
        /// ν.
        noise: f64,
        /// (1).
        bound: f64,
    },
}

impl Advice {
    pub(super) fn of(
        subject: Subject,
        asked: &Settings,
        limit: Duration,
        notes: Vec<String>,
    ) -> Result<Self, RunError> {
        let pace = Pace::measured(&subject, asked)?;
        let (mut ranked, mut too_long, mut shortest) = (Vec::new(), 0, Duration::MAX);
        for chosen in candidates(&subject, &asked.learner) {
            let timed = Timed { subject: &subject, asked, pace, limit };
            match timed.weighed(chosen)? {
                Weighed::Unfit => {}
                Weighed::Fits(candidate) => ranked.push(*candidate),
                Weighed::TooLong(time) => {
                    too_long += 1;
                    shortest = shortest.min(time);
                }
            }
        }
        if ranked.is_empty() {
            let minutes = |time: Duration| time.as_secs_f64() / 60.0;
            return Err(RunError::NoTime { needed: minutes(shortest), given: minutes(limit) });
        }
        drop_equals_of_default(&mut ranked);
        let is_accuracy = subject.encoding.classes().is_some();
        rank(&mut ranked, is_accuracy);
        prefer_default(&mut ranked, is_accuracy);
        let memory = MemoryNeed::of(&subject, &ranked[0].learner, asked)?;
        Ok(Self { subject, ranked, too_long, pace, memory, notes })
    }

    /// The best candidate. It exists: without candidates there is an error and no advice.
    pub fn best(&self) -> &Candidate {
        &self.ranked[0]
    }

    /// The runner-up, if its score is within two standard errors.
    pub fn rival(&self) -> Option<&Candidate> {
        self.ranked.get(1).filter(|next| are_alike(self.best(), next))
    }
}

/// The outcome of weighing a candidate.
enum Weighed {
    /// The method does not suit the target, or does not use a setting that was given.
    Unfit,
    TooLong(Duration),
    Fits(Box<Candidate>),
}

struct Timed<'a> {
    subject: &'a Subject,
    asked: &'a Settings,
    pace: Pace,
    limit: Duration,
}

impl Timed<'_> {
    fn weighed(&self, chosen: LearnerSettings) -> Result<Weighed, RunError> {
        // The time of a network follows from its sizes alone. Calibration takes longer, so it comes
        // later.
        if let Some(time) = self.time_of_network(&chosen)?.filter(|time| *time > self.limit) {
            return Ok(Weighed::TooLong(time));
        }
        let learner = match self.subject.task().learner(&chosen) {
            Ok(learner) => learner,
            Err(_) if self.asked.learner.method.is_none() && chosen.model.is_none() => {
                return Ok(Weighed::Unfit);
            }
            Err(error) => return Err(error),
        };
        let paced = self.pace.of_learner(&learner);
        if let Some(time) = paced.filter(|time| *time > self.limit) {
            return Ok(Weighed::TooLong(time));
        }
        let merit = match learner.network() {
            Some(_) => Some((bound(&learner), Duration::ZERO)),
            None => self.rehearsed(&learner, &chosen)?,
        };
        let Some((merit, rehearsed)) = merit else {
            return Ok(Weighed::TooLong(paced.unwrap_or(TIME_LIMIT)));
        };
        let time = paced.unwrap_or(rehearsed);
        if time > self.limit {
            return Ok(Weighed::TooLong(time));
        }
        Ok(Weighed::Fits(Box::new(Candidate { chosen, learner, time, merit })))
    }

    /// The time of a network, from its batch size and steps, before anything is calibrated.
    fn time_of_network(&self, chosen: &LearnerSettings) -> Result<Option<Duration>, RunError> {
        if chosen.model.is_none() {
            return Ok(None);
        }
        let (task, mut wishes) = (self.subject.task(), chosen.clone());
        let is_sampled = chosen.method != Some(Method::GradientDescent);
        let rate = if is_sampled { task.sampling(&mut wishes, 1.0)?.1 } else { 1.0 };
        let steps = task.steps(&mut wishes, rate, 1.0)?.get() as f64;
        Ok(Some(self.pace.of(steps, rate * self.subject.n.get() as f64, is_sampled)))
    }

    /// The mean score of its rehearsals, and the time scaled to the real number of records.
    fn rehearsed(
        &self,
        learner: &Learner,
        chosen: &LearnerSettings,
    ) -> Result<Option<(Merit, Duration)>, RunError> {
        let n = records(self.subject, learner, REHEARSAL_WORK);
        if !is_short(self.subject, learner, None, n) {
            return Ok(None);
        }
        let rehearsal = Rehearsal::new(self.subject, learner, chosen, self.asked, n)?;
        let (train, test) = (rehearsal.table.train()?, rehearsal.table.test()?);
        let here = rehearsal.with_noise()?;
        let (mut scores, mut fastest) = (Vec::new(), Duration::MAX);
        for seed in 1..=REPEATS {
            let Some((model, time)) = rehearsal.run(&here, &train, seed, TIME_LIMIT)? else {
                return Ok(None);
            };
            scores.push(model.score(&test)?);
            fastest = fastest.min(time);
        }
        let (score, error) = mean_and_error(&scores);
        Ok(Some((Merit::Rehearsed { score, error }, rehearsal.grown(fastest))))
    }
}

/// The bound (1) of a learner with batches.
fn bound(learner: &Learner) -> Merit {
    let (z, batch) = (learner.noise_multiplier().unwrap_or_default(), learner.batch().unwrap_or(1.0));
    let noise = noise_length(z, learner.weights(), batch);
    Merit::Bound { noise, bound: ((1.0 + noise * noise) / learner.steps().unwrap_or(1) as f64).sqrt() }
}

/// Sorts the best first: the largest accuracy, or the smallest error or bound. Among bounds that
/// count as equal the quickest comes first.
fn rank(ranked: &mut [Candidate], is_accuracy: bool) {
    let key = |candidate: &Candidate| match candidate.merit {
        Merit::Rehearsed { score, .. } => {
            if is_accuracy {
                -score
            } else {
                score
            }
        }
        Merit::Bound { bound, .. } => bound,
    };
    ranked.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let Merit::Bound { bound: least, .. } = ranked[0].merit else { return };
    let alike = ranked.iter().enumerate().filter(|(_, candidate)| key(candidate) <= EQUAL_BOUNDS * least);
    // The first candidate is among them.
    let quickest = alike.min_by_key(|(_, candidate)| candidate.time).map_or(0, |(place, _)| place);
    ranked[..=quickest].rotate_right(1);
}

/// The best candidate for a linear model that is planned by default, unless that is the default.
pub(super) fn better(plan: &RunPlan, limit: Duration) -> Option<Candidate> {
    if !is_default(&plan.asked.learner) || plan.subject.n.get() < MIN_RECORDS {
        return None;
    }
    // If no suggestion can be made, the plan does not fail.
    let advice = Advice::of(plan.subject.clone(), &plan.asked, limit, Vec::new()).ok()?;
    advice.ranked.into_iter().next().filter(|best| !is_default(&best.chosen))
}

/// Removes candidates that equal the default under another name.
fn drop_equals_of_default(candidates: &mut Vec<Candidate>) {
    let Some(default) = candidates.iter().find(|candidate| is_default(&candidate.chosen)) else { return };
    let default = default.effective();
    candidates.retain(|candidate| is_default(&candidate.chosen) || candidate.effective() != default);
}

/// Puts the default first, unless another candidate is better by more than the errors of their
/// scores and by more than the least gain. Smaller differences mean little on synthetic records.
fn prefer_default(ranked: &mut [Candidate], is_accuracy: bool) {
    let Some(place) = ranked.iter().position(|candidate| is_default(&candidate.chosen)) else { return };
    let (best, default) = (&ranked[0], &ranked[place]);
    let matters = match (best.merit, default.merit) {
        (Merit::Rehearsed { score: best, .. }, Merit::Rehearsed { score, .. }) => {
            (best - score).abs() > if is_accuracy { MIN_ACCURACY_GAIN } else { MIN_ERROR_GAIN * score }
        }
        (Merit::Bound { .. }, _) | (_, Merit::Bound { .. }) => true,
    };
    if are_alike(best, default) || !matters {
        ranked[..=place].rotate_right(1);
    }
}

fn is_default(chosen: &LearnerSettings) -> bool {
    chosen.model.is_none() && chosen.method.is_none()
}

/// Whether two scores are within two standard errors of each other.
fn are_alike(one: &Candidate, other: &Candidate) -> bool {
    match (one.merit, other.merit) {
        (Merit::Rehearsed { score, error }, Merit::Rehearsed { score: other, error: error_of_other }) => {
            (score - other).abs() <= 2.0 * error.hypot(error_of_other)
        }
        (Merit::Bound { .. }, _) | (_, Merit::Bound { .. }) => false,
    }
}

/// Every choice that no setting excludes.
fn candidates(subject: &Subject, asked: &LearnerSettings) -> Vec<LearnerSettings> {
    if asked.model.is_some() {
        return networks(subject, asked);
    }
    let methods = asked.method.map_or_else(|| Method::ALL.to_vec(), |method| vec![method]);
    let mut all = if asked.method.is_none() { vec![asked.clone()] } else { Vec::new() };
    for method in methods {
        let plain = LearnerSettings { method: Some(method), ..asked.clone() };
        match method {
            Method::Sgd
                if asked.steps.is_none() && asked.sampling_rate.is_none() && asked.batch_size.is_none() =>
            {
                all.extend(LINEAR_BATCHES.iter().filter_map(|(batch, passes)| {
                    let n = subject.n.get();
                    // At most half of all records: for larger batches the
                    // full batch is a candidate.
                    let rate = SamplingRate::new(*batch as f64 / n as f64).ok().filter(|_| 2 * batch <= n)?;
                    let steps = Count::new((passes * n).div_ceil(*batch)).ok();
                    let plain = LearnerSettings { steps, ..plain.clone() };
                    Some(match asked.sampling.unwrap_or_default() {
                        SamplingName::Poisson => LearnerSettings { sampling_rate: Some(rate), ..plain },
                        SamplingName::Fixed => {
                            LearnerSettings { batch_size: Some(Count::new(*batch).ok()?), ..plain }
                        }
                    })
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

fn networks(subject: &Subject, asked: &LearnerSettings) -> Vec<LearnerSettings> {
    let method = asked.method.unwrap_or(Method::Sgd);
    let is_full = method == Method::GradientDescent;
    let plain = LearnerSettings { method: Some(method), image: subject.image, ..asked.clone() };
    let with_batch =
        |batch: u64| Some(LearnerSettings { batch_size: Some(Count::new(batch).ok()?), ..plain.clone() });
    let batches = if is_full || asked.sampling_rate.is_some() || asked.batch_size.is_some() {
        vec![plain.clone()]
    } else {
        let fit = BATCHES.iter().filter(|batch| 2 * **batch <= subject.n.get());
        let some: Vec<_> = fit.filter_map(|batch| with_batch(*batch)).collect();
        // A table that is too small for any of them gets batches of half its records.
        if some.is_empty() { with_batch(subject.n.get().div_ceil(2)).into_iter().collect() } else { some }
    };
    if asked.steps.is_some() || asked.epochs.is_some() {
        return batches;
    }
    let passes = if is_full { STEPS } else { EPOCHS };
    let with_passes = |wishes: &LearnerSettings, passes: u64| {
        Some(LearnerSettings { epochs: Some(Count::new(passes).ok()?), ..wishes.clone() })
    };
    let all = batches.iter().flat_map(|wishes| passes.map(|passes| with_passes(wishes, passes)));
    all.flatten().collect()
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
        // The variance of one score is 5/3; that of the mean of four is a quarter of it.
        assert!((mean - 2.5).abs() < 1e-15 && (error - (5.0f64 / 12.0).sqrt()).abs() < 1e-15);
    }
}
