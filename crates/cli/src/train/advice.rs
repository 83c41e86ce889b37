//! What the planner advises, for people and for programs.

use serde::Serialize;
use sordino::prelude::*;

use super::planner::{Advice, Candidate};
use super::show::duration;
use super::subject::Subject;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::table::Table;

pub(crate) fn text(subject: &Subject, advice: &Advice, minutes: f64) -> Result<String, Error> {
    let best = advice.best();
    let mut table = Table::default();
    table.row(["use", &best.flags()]);
    table.row(["for", &format!("{} records, {} coordinates", subject.n, subject.encoding.width())]);
    terms(&mut table, subject, &best.claim, best.noise_multiplier)?;
    let time = format!("about {} of {minutes} minutes, reading aside", duration(best.time));
    table.row(["time", &time]);
    table.row(["memory", &format!("about {} MB for the data", advice.memory.div_ceil(1_000_000))]);
    table.row([subject.score_name(), &format!("{}, on invented records", score(best))]);
    table.row(["sure", &sure(advice)]);
    Ok(table.text())
}

/// What is spent, and for what noise.
pub(crate) fn terms(
    table: &mut Table,
    subject: &Subject,
    claim: &Claim,
    noise_multiplier: Option<f64>,
) -> Result<(), Error> {
    let cost = accounting::epsilon(claim, subject.delta, Accountant::Auto)?.bound;
    table.row(["spend", &format!("epsilon {}", decimal::between(cost))]);
    table.row(["delta", &decimal::exact(subject.delta.get())]);
    table.row(["neighbours", &subject.neighbours.to_string()]);
    if let Some(noise) = noise_multiplier {
        table.row(["noise multiplier", &decimal::up(noise)]);
    }
    Ok(())
}

fn score(candidate: &Candidate) -> String {
    format!("{:.3} ± {:.3}", candidate.score, 2.0 * candidate.error)
}

fn sure(advice: &Advice) -> String {
    let weighed = advice.ranked.len() + advice.too_long;
    let fit = match advice.too_long {
        0 => format!("best of {weighed}"),
        late => format!("best of {weighed}, {late} of which would take too long"),
    };
    match advice.rival() {
        Some(rival) => format!("{fit}; {} could be as good: {}", rival.flags(), score(rival)),
        None if advice.ranked.len() > 1 => format!("{fit}, beyond the error of the rehearsals"),
        None => fit,
    }
}

/// `sordino train --plan --minutes M --json`.
#[derive(Serialize)]
struct AdviceObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    rows: u64,
    coordinates: usize,
    neighbours: Neighbours,
    delta: f64,
    minutes: f64,
    bytes: u64,
    /// Seconds of one number of a record, and of one noisy number.
    seconds_of_data: f64,
    seconds_of_noise: f64,
    too_long: usize,
    candidates: Vec<CandidateObject<'a>>,
}

/// The best comes first.
#[derive(Serialize)]
struct CandidateObject<'a> {
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_multiplier: Option<f64>,
    event: &'a Event,
    seconds: f64,
    score: f64,
    score_error: f64,
}

impl<'a> CandidateObject<'a> {
    fn of(candidate: &'a Candidate) -> Self {
        let settings = &candidate.settings;
        Self {
            method: settings.method.unwrap_or_default().name(),
            steps: settings.steps.map(Count::get),
            sampling_rate: settings.sampling_rate.map(SamplingRate::get),
            noise_multiplier: candidate.noise_multiplier,
            event: &candidate.claim.event,
            seconds: candidate.time.as_secs_f64(),
            score: candidate.score,
            score_error: candidate.error,
        }
    }
}

pub(crate) fn object(subject: &Subject, advice: &Advice, minutes: f64) -> Result<String, Error> {
    json::text(&AdviceObject {
        writer: Writer::this(),
        rows: subject.n.get(),
        coordinates: subject.encoding.width(),
        neighbours: subject.neighbours,
        delta: subject.delta.get(),
        minutes,
        bytes: advice.memory,
        seconds_of_data: advice.speed.of_data,
        seconds_of_noise: advice.speed.of_noise,
        too_long: advice.too_long,
        candidates: advice.ranked.iter().map(CandidateObject::of).collect(),
    })
}
