//! A trained model for people and for programs.

use std::time::Duration;

use serde::Serialize;
use sordino::prelude::*;

use super::Trained;
use super::args::Settings;
use super::blueprint::Blueprint;
use super::estimate::{Estimate, Memory, Scores};
use super::network::{AveragingStyle, ClippingStyle};
use crate::decimal;
use crate::describe;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::purse::{Purse, SEEDED_NOTE, UNMETERED_NOTE};
use crate::table::Table;

/// What must be said even if nobody asks.
pub(crate) fn notes(trained: &Trained) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if !trained.guarantee.metered {
        notes.push(UNMETERED_NOTE);
    }
    if trained.guarantee.seeded {
        notes.push(SEEDED_NOTE);
    }
    if trained.public.is_none() {
        notes.push(
            "no accuracy is shown: on these records it would be one more release; --public-test FILE names others, declared public",
        );
    }
    notes
}

pub(crate) fn text(blueprint: &Blueprint, trained: &Trained, purse: &Purse) -> Result<String, Error> {
    let Trained { model, guarantee, public } = trained;
    let mut table = Table::default();
    table.row(["model", &blueprint.out.display().to_string()]);
    table.row(["predicts", blueprint.target()]);
    let method = how(blueprint);
    table.row([
        "learned by",
        &format!("{method}, {} loss, {} records", model.loss_name(), blueprint.subject.n),
    ]);
    if let Some(public) = public {
        let score = format!("{:.4} on {} public records", public.score(model)?, public.rows());
        table.row([model.score_name(), &score]);
    }
    table.row(["epsilon", &decimal::between(guarantee.epsilon)]);
    table.row(["delta", &decimal::exact(guarantee.delta.get())]);
    table.row(["neighbours", &guarantee.neighbours.to_string()]);
    table.row(["unit", &guarantee.unit.to_string()]);
    if let Some(left) = purse.left_shown()? {
        table.row(["left", &left]);
    }
    Ok(table.text())
}

/// A plan for people.
pub(crate) fn plan_text(blueprint: &Blueprint, purse: &Purse, estimate: &Estimate) -> Result<String, Error> {
    let claim = blueprint.learner.claim();
    let subject = &blueprint.subject;
    let cost = accounting::epsilon(&claim, subject.delta, Accountant::Auto)?.bound;
    let mut table = Table::default();
    table.row(["would predict", blueprint.target()]);
    let method = how(blueprint);
    let size = format!("{} records, {} coordinates", subject.n, subject.encoding.width());
    table.row(["learn by", &format!("{method}, {} loss, {size}", blueprint.learner.loss_name())]);
    table.row(["spend", &format!("epsilon {}", decimal::between(cost))]);
    table.row(["delta", &decimal::exact(subject.delta.get())]);
    table.row(["neighbours", &claim.neighbours.to_string()]);
    table.row(["event", &describe::event(&claim.event)]);
    if let Some(noise) = blueprint.learner.noise_multiplier() {
        table.row(["noise multiplier", &decimal::up(noise)]);
    }
    styles(&mut table, blueprint);
    if let Some(left) = purse.left_shown()? {
        table.row(["left before", &left]);
    }
    table.row(["time", &format!("about {}, reading aside", duration(estimate.time))]);
    table.row(["memory", &estimate.memory.text()]);
    let scores = match estimate.scores {
        Some(Scores { with_noise, without_noise }) => format!(
            "{with_noise:.3} with the noise, {without_noise:.3} without: an estimate from invented records"
        ),
        None => "not estimated: a rehearsal of this network would take too long".to_owned(),
    };
    table.row([subject.score_name(), &scores]);
    Ok(table.text())
}

/// The method, and the network that it trains; its clipping, if that is not the usual one.
fn how(blueprint: &Blueprint) -> String {
    let Settings { method, model, clipping, .. } = &blueprint.settings;
    let method = method.unwrap_or_default().name();
    let Some(model) = model else { return method.to_owned() };
    match clipping.filter(|style| *style != ClippingStyle::default()) {
        Some(style) => format!("{model} by {method} with {} clipping", style.name()),
        None => format!("{model} by {method}"),
    }
}

/// How a network's gradients are clipped and which iterates are the result.
fn styles(table: &mut Table, blueprint: &Blueprint) {
    let Settings { clipping: Some(clipping), averaging: Some(averaging), .. } = &blueprint.settings else {
        return;
    };
    let settings = &blueprint.settings;
    let norm = settings.clip_norm.map(|norm| decimal::exact(norm.get())).unwrap_or_default();
    let count = blueprint.learner.noise_split().and_then(|split| split.with_count());
    let clipped = match count {
        Some((gradients, count)) => format!(
            "{}, from norm {norm} to quantile {}; noise multipliers {} of gradients and {} of a count",
            clipping.name(),
            settings.clip_quantile.map(decimal::exact).unwrap_or_default(),
            decimal::up(gradients),
            decimal::up(count),
        ),
        None => format!("{}, to norm {norm}", clipping.name()),
    };
    table.row(["clipping", &clipped]);
    let (tail, decay) = (settings.averaging_tail, settings.averaging_decay);
    let averaged = match (tail, decay) {
        (Some(part), _) => format!("{}, the last {} of the iterates", averaging.name(), decimal::exact(part)),
        (None, Some(decay)) => format!("{}, decay {}", averaging.name(), decimal::exact(decay)),
        (None, None) => format!("{}, the last iterate", averaging.name()),
    };
    table.row(["averaging", &averaged]);
}

pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        "a second".to_owned()
    } else if seconds < 100.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} minutes", seconds / 60.0)
    }
}

/// `sordino train --plan --json`.
#[derive(Serialize)]
struct PlanObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    weights: usize,
    method: &'static str,
    loss: &'static str,
    rows: u64,
    coordinates: usize,
    neighbours: Neighbours,
    epsilon: Bound,
    delta: f64,
    event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise_multiplier: Option<f64>,
    /// Of a network; what stands beside a count of unclipped records has both parts of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    clipping: Option<ClippingStyle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_noise_multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count_noise_multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    averaging: Option<AveragingStyle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    memory: Memory,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_with_noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_without_noise: Option<f64>,
}

pub(crate) fn plan_object(
    blueprint: &Blueprint,
    purse: &Purse,
    estimate: &Estimate,
) -> Result<String, Error> {
    let (claim, subject) = (blueprint.learner.claim(), &blueprint.subject);
    let count = blueprint.learner.noise_split().and_then(|split| split.with_count());
    json::text(&PlanObject {
        writer: Writer::this(),
        model: blueprint.settings.model.as_deref(),
        weights: blueprint.learner.weights(),
        method: blueprint.settings.method.unwrap_or_default().name(),
        loss: blueprint.learner.loss_name(),
        rows: subject.n.get(),
        coordinates: subject.encoding.width(),
        neighbours: claim.neighbours,
        epsilon: accounting::epsilon(&claim, subject.delta, Accountant::Auto)?.bound,
        delta: subject.delta.get(),
        event: &claim.event,
        noise_multiplier: blueprint.learner.noise_multiplier(),
        clipping: blueprint.settings.clipping,
        gradient_noise_multiplier: count.map(|(gradients, _)| gradients),
        count_noise_multiplier: count.map(|(_, count)| count),
        averaging: blueprint.settings.averaging,
        left: purse.left()?,
        seconds: estimate.time.as_secs_f64(),
        memory: estimate.memory,
        score_with_noise: estimate.scores.as_ref().map(|scores| scores.with_noise),
        score_without_noise: estimate.scores.as_ref().map(|scores| scores.without_noise),
    })
}
