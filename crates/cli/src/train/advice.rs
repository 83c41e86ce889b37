//! The planner's advice, for people and for programs.

use serde::Serialize;
use sordino::prelude::*;
use sordino_run::training::{Advice, Candidate, MemoryNeed, Merit};
use sordino_run::{AveragingName, ClippingName};

use super::show::duration;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::table::Table;

pub(crate) fn text(advice: &Advice, minutes: f64) -> Result<String, Error> {
    let (best, subject) = (advice.best(), &advice.subject);
    let mut table = Table::default();
    table.row(["use", &flags(best)]);
    let mut size = format!("{} records, {} coordinates", subject.n, subject.encoding.width());
    if best.chosen.model.is_some() {
        size += &format!(", {} weights", best.learner.weights());
    }
    table.row(["for", &size]);
    let cost = accounting::epsilon(&best.learner.claim(), subject.delta, Accountant::Auto)?.bound;
    table.row(["spend", &format!("epsilon {}", decimal::between(cost))]);
    table.row(["delta", &decimal::exact(subject.delta.get())]);
    table.row(["neighbours", &subject.neighbours.to_string()]);
    if let Some(noise) = best.learner.noise_multiplier() {
        table.row(["noise multiplier", &decimal::up(noise)]);
    }
    if let Merit::Bound { noise, .. } = best.merit {
        let batch = best.learner.batch().unwrap_or_default();
        table.row(["noise", &format!("{noise:.2} clip norms long in the mean of {batch:.0} records")]);
    }
    let time = format!("about {} of {minutes} minutes, without reading", duration(best.time));
    table.row(["time", &time]);
    table.row(["memory", &advice.memory.text()]);
    let expected = match score(best) {
        Some(score) => format!("{score}, on synthetic records"),
        None => "not estimated: synthetic records do not predict the accuracy of networks".to_owned(),
    };
    table.row([subject.score_name(), &expected]);
    table.row(["sure", &sure(advice)]);
    Ok(table.text())
}

/// The flags and the rehearsed score of settings that are better than the default.
pub(crate) fn suggestion(candidate: &Candidate) -> String {
    match candidate.merit {
        Merit::Rehearsed { score, error } => {
            format!("{}: {score:.3} ± {:.3}, on synthetic records", flags(candidate), 2.0 * error)
        }
        Merit::Bound { .. } => flags(candidate),
    }
}

/// The flags of the candidate, beside those that the user gave.
fn flags(candidate: &Candidate) -> String {
    let chosen = &candidate.chosen;
    if chosen.model.is_none() && chosen.method.is_none() {
        return format!("no other settings: the default is {}", candidate.learner.method().name());
    }
    if chosen.model.is_none() {
        let rate = chosen.sampling_rate.map(|rate| format!(" --sampling-rate {rate}"));
        let steps = chosen.steps.map(|steps| format!(" --steps {steps}"));
        let method = candidate.learner.method().name();
        return format!("--method {method}{}{}", rate.unwrap_or_default(), steps.unwrap_or_default());
    }
    let whole = [("--batch-size", chosen.batch_size), ("--epochs", chosen.epochs), ("--steps", chosen.steps)];
    let mut flags: Vec<String> =
        whole.into_iter().filter_map(|(name, count)| Some(format!("{name} {}", count?))).collect();
    let rate = candidate.effective().learning_rate.filter(|_| chosen.learning_rate.is_none());
    flags.extend(rate.map(|rate| format!("--learning-rate {}", decimal::down(rate))));
    flags.join(" ")
}

fn score(candidate: &Candidate) -> Option<String> {
    match candidate.merit {
        Merit::Rehearsed { score, error } => Some(format!("{score:.3} ± {:.3}", 2.0 * error)),
        Merit::Bound { .. } => None,
    }
}

fn sure(advice: &Advice) -> String {
    let weighed = advice.ranked.len() + advice.too_long;
    let fit = match advice.too_long {
        0 => format!("best of {weighed}"),
        late => format!("best of {weighed}, {late} of which would take too long"),
    };
    match (advice.rival(), advice.best().merit) {
        (_, Merit::Bound { .. }) => {
            format!("{fit}, by a bound for convex losses, which networks do not have")
        }
        (Some(rival), _) => {
            format!("{fit}; {} could be as good: {}", flags(rival), score(rival).unwrap_or_default())
        }
        (None, _) if advice.ranked.len() > 1 => format!("{fit}, beyond the error of the rehearsals"),
        (None, _) => fit,
    }
}

/// `sordino train --plan --minutes M --json`.
#[derive(Serialize)]
struct AdviceObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    weights: usize,
    rows: u64,
    coordinates: usize,
    neighbours: Neighbours,
    delta: f64,
    minutes: f64,
    #[serde(flatten)]
    memory: MemoryNeed,
    /// Seconds for one record of a batch.
    seconds_of_record: f64,
    /// Seconds for the rest of a step.
    seconds_of_step: f64,
    /// The number of candidates that would take too long.
    too_long: usize,
    /// The candidates in time, the best first.
    candidates: Vec<CandidateObject>,
}

/// One choice of settings.
#[derive(Serialize)]
struct CandidateObject {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clipping: Option<ClippingName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    averaging: Option<AveragingName>,
    event: Event,
    seconds: f64,
    #[serde(flatten)]
    merit: MeritObject,
}

#[derive(Serialize)]
#[serde(untagged)]
enum MeritObject {
    Rehearsed {
        score: f64,
        score_error: f64,
    },
    Bound {
        /// The length of the noise in the mean of a batch, in clip norms.
        noise_length: f64,
        bound: f64,
    },
}

impl CandidateObject {
    fn of(candidate: &Candidate) -> Self {
        let (settings, learner) = (candidate.effective(), &candidate.learner);
        Self {
            method: learner.method().name(),
            steps: settings.steps.map(Count::get),
            sampling_rate: settings.sampling_rate.map(SamplingRate::get),
            learning_rate: settings.learning_rate,
            noise_multiplier: learner.noise_multiplier(),
            clipping: settings.clipping,
            averaging: settings.averaging,
            event: learner.claim().event,
            seconds: candidate.time.as_secs_f64(),
            merit: match candidate.merit {
                Merit::Rehearsed { score, error } => MeritObject::Rehearsed { score, score_error: error },
                Merit::Bound { noise, bound } => MeritObject::Bound { noise_length: noise, bound },
            },
        }
    }
}

pub(crate) fn object(advice: &Advice, minutes: f64) -> Result<String, Error> {
    let (best, subject) = (advice.best(), &advice.subject);
    json::text(&AdviceObject {
        writer: Writer::this(),
        model: best.chosen.model.as_deref(),
        weights: best.learner.weights(),
        rows: subject.n.get(),
        coordinates: subject.encoding.width(),
        neighbours: subject.neighbours,
        delta: subject.delta.get(),
        minutes,
        memory: advice.memory,
        seconds_of_record: advice.pace.record,
        seconds_of_step: advice.pace.step,
        too_long: advice.too_long,
        candidates: advice.ranked.iter().map(CandidateObject::of).collect(),
    })
}
