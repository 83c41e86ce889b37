//! What the planner advises on a network, for people and for programs.

use serde::Serialize;
use sordino::prelude::*;

use super::planner::{NetworkAdvice, NetworkCandidate};
use super::style::{AveragingStyle, ClippingStyle};
use crate::error::Error;
use crate::json::{self, Writer};
use crate::table::Table;
use crate::train::advice;
use crate::train::estimate::Memory;
use crate::train::show::duration;
use crate::train::subject::Subject;

pub(crate) fn text(subject: &Subject, advice: &NetworkAdvice, minutes: f64) -> Result<String, Error> {
    let best = advice.best();
    let mut table = Table::default();
    table.row(["use", &best.flags()]);
    let weights = best.learner.weights();
    let size = format!("{} records, {} coordinates, {weights} weights", subject.n, subject.encoding.width());
    table.row(["for", &size]);
    advice::terms(&mut table, subject, &best.learner.claim(), best.learner.noise_multiplier())?;
    let noise = format!("{:.2} clip norms long in the mean of {:.0} records", best.noise, best.batch);
    table.row(["noise", &noise]);
    let time = format!("about {} of {minutes} minutes, reading aside", duration(best.time));
    table.row(["time", &time]);
    table.row(["memory", &Memory::of(subject, &*best.learner, &best.settings).text()]);
    table.row([subject.score_name(), "not foretold: invented records say too little about networks"]);
    table.row(["sure", &sure(advice)]);
    Ok(table.text())
}

fn sure(advice: &NetworkAdvice) -> String {
    let weighed = advice.ranked.len() + advice.too_long;
    let by = "by a bound for convex losses, which networks do not have";
    match advice.too_long {
        0 => format!("best of {weighed}, {by}"),
        late => format!("best of {weighed}, {late} of which would take too long, {by}"),
    }
}

/// `sordino train --model ... --plan --minutes M --json`.
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
    memory: Memory,
    /// Of one record in a batch, and of a step beside its records.
    seconds_of_record: f64,
    seconds_of_step: f64,
    too_long: usize,
    candidates: Vec<CandidateObject>,
}

/// The best comes first.
#[derive(Serialize)]
struct CandidateObject {
    method: &'static str,
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_rate: Option<f64>,
    learning_rate: Option<f64>,
    noise_multiplier: Option<f64>,
    clipping: Option<ClippingStyle>,
    averaging: Option<AveragingStyle>,
    event: Event,
    seconds: f64,
    /// In the mean of a batch, in clip norms.
    noise_length: f64,
    bound: f64,
}

impl CandidateObject {
    fn of(candidate: &NetworkCandidate) -> Self {
        let (settings, learner) = (&candidate.settings, &candidate.learner);
        Self {
            method: settings.method.unwrap_or_default().name(),
            steps: settings.steps.map(Count::get),
            sampling_rate: settings.sampling_rate.map(SamplingRate::get),
            learning_rate: settings.learning_rate,
            noise_multiplier: learner.noise_multiplier(),
            clipping: settings.clipping,
            averaging: settings.averaging,
            event: learner.claim().event,
            seconds: candidate.time.as_secs_f64(),
            noise_length: candidate.noise,
            bound: candidate.bound,
        }
    }
}

pub(crate) fn object(subject: &Subject, advice: &NetworkAdvice, minutes: f64) -> Result<String, Error> {
    let best = advice.best();
    json::text(&AdviceObject {
        writer: Writer::this(),
        model: best.settings.model.as_deref(),
        weights: best.learner.weights(),
        rows: subject.n.get(),
        coordinates: subject.encoding.width(),
        neighbours: subject.neighbours,
        delta: subject.delta.get(),
        minutes,
        memory: Memory::of(subject, &*best.learner, &best.settings),
        seconds_of_record: advice.pace.record,
        seconds_of_step: advice.pace.step,
        too_long: advice.too_long,
        candidates: advice.ranked.iter().map(CandidateObject::of).collect(),
    })
}
