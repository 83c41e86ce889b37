//! Shows a trained model and a plan, for people and for programs.

use std::time::Duration;

use serde::Serialize;
use sordino::prelude::*;
use sordino_run::training::{Learner, MemoryNeed, PlannedTraining, RunPlan, Scores, Trained};
use sordino_run::{AveragingName, ClippingName};

use super::{advice, scores};
use crate::decimal;
use crate::describe;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output::{SEEDED_NOTE, Taken, UNMETERED_NOTE, left};
use crate::table::Table;

/// Notes that a user must read.
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
            "no accuracy is shown: on these records it would be one more release; --public-test FILE names \
            others, declared public",
        );
    }
    notes
}

pub(crate) fn text(trained: &Trained) -> Result<String, Error> {
    let Trained { plan, model, guarantee, public, purse, took, .. } = trained;
    let mut table = Table::default();
    table.row(["model", &plan.out.display().to_string()]);
    table.row(["predicts", plan.target()]);
    let how = format!("{}, {} loss, {} records", plan.how(), model.loss_name(), plan.subject.n);
    table.row(["learned by", &how]);
    if let Some(weights) = plan.learner.class_weights() {
        table.row(["class weights", &weights.to_string()]);
    }
    if let Some(public) = public {
        scores::rows(&mut table, public);
    }
    table.row(["epsilon", &decimal::between(guarantee.epsilon)]);
    table.row(["delta", &decimal::exact(guarantee.delta.get())]);
    table.row(["neighbours", &guarantee.neighbours.to_string()]);
    table.row(["unit", &guarantee.unit.to_string()]);
    if let Some(cost) = Taken::new(purse, *took)? {
        table.row(["took", &cost.takes()]);
    }
    if let Some(left) = left(purse)? {
        table.row(["left", &left]);
    }
    Ok(table.text())
}

/// A plan for people.
pub(crate) fn plan_text(planned: &PlannedTraining) -> Result<String, Error> {
    let PlannedTraining { plan, purse, quote, estimate, better } = planned;
    let (claim, subject) = (plan.learner.claim(), &plan.subject);
    let cost = accounting::epsilon(&claim, subject.delta, Accountant::Auto)?.bound;
    let mut table = Table::default();
    table.row(["would predict", plan.target()]);
    let size = format!("{} records, {} coordinates", subject.n, subject.encoding.width());
    table.row(["learn by", &format!("{}, {} loss, {size}", plan.how(), plan.learner.loss_name())]);
    if let Some(weights) = plan.learner.class_weights() {
        table.row(["class weights", &weights.to_string()]);
    }
    table.row(["spend", &format!("epsilon {}", decimal::between(cost))]);
    table.row(["delta", &decimal::exact(subject.delta.get())]);
    table.row(["neighbours", &claim.neighbours.to_string()]);
    table.row(["event", &describe::event(&claim.event)]);
    if let Some(noise) = plan.learner.noise_multiplier() {
        table.row(["noise multiplier", &decimal::up(noise)]);
    }
    styles(&mut table, plan);
    if let Some(cost) = Taken::new(purse, *quote)? {
        cost.plan(&mut table);
    }
    table.row(["time", &format!("about {}, without reading", duration(estimate.time))]);
    table.row(["memory", &estimate.memory.text()]);
    let scores = match estimate.scores {
        Some(Scores { with_noise, without_noise }) => format!(
            "{with_noise:.3} with the noise, {without_noise:.3} without: an estimate from synthetic records"
        ),
        None => "not estimated: a rehearsal would take too long".to_owned(),
    };
    table.row([subject.score_name(), &scores]);
    if let Some(better) = better {
        table.row(["try instead", &advice::suggestion(better)]);
    }
    Ok(table.text())
}

/// Adds how a network's gradients are clipped and which iterates make the result.
fn styles(table: &mut Table, plan: &RunPlan) {
    let Learner::Network(network) = &plan.learner else { return };
    let settings = &plan.settings.learner;
    let (name, norm) = (network.clipping().name(), settings.clip_norm.map(|norm| decimal::exact(norm.get())));
    let norm = norm.unwrap_or_default();
    let clipped = match plan.learner.count_noise() {
        Some((gradients, count)) => format!(
            "{name}, from norm {norm} to quantile {}; noise multipliers {} of gradients and {} of a count",
            settings.clip_quantile.map(decimal::exact).unwrap_or_default(),
            decimal::up(gradients),
            decimal::up(count),
        ),
        None => format!("{name}, to norm {norm}"),
    };
    table.row(["clipping", &clipped]);
    let averaged = match (settings.averaging_tail, settings.averaging_decay) {
        (Some(part), _) => format!("tail, the last {} of the iterates", decimal::exact(part)),
        (None, Some(decay)) => format!("ema, decay {}", decimal::exact(decay)),
        (None, None) => "none, the last iterate".to_owned(),
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
    /// For a network. With adaptive clipping, `noise_multiplier` is that of gradients and count
    /// together, and the next two are its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    clipping: Option<ClippingName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient_noise_multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count_noise_multiplier: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    averaging: Option<AveragingName>,
    /// What the charge would take of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    takes: Option<f64>,
    /// What is left before the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_after: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    memory: MemoryNeed,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_with_noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_without_noise: Option<f64>,
}

pub(crate) fn plan_object(planned: &PlannedTraining) -> Result<String, Error> {
    let PlannedTraining { plan, quote, estimate, .. } = planned;
    let (claim, subject, settings) = (plan.learner.claim(), &plan.subject, &plan.settings.learner);
    let count = plan.learner.count_noise();
    json::text(&PlanObject {
        writer: Writer::this(),
        model: settings.model.as_deref(),
        weights: plan.learner.weights(),
        method: plan.learner.method().name(),
        loss: plan.learner.loss_name(),
        rows: subject.n.get(),
        coordinates: subject.encoding.width(),
        neighbours: claim.neighbours,
        epsilon: accounting::epsilon(&claim, subject.delta, Accountant::Auto)?.bound,
        delta: subject.delta.get(),
        event: &claim.event,
        noise_multiplier: plan.learner.noise_multiplier(),
        clipping: settings.clipping,
        gradient_noise_multiplier: count.map(|(gradients, _)| gradients),
        count_noise_multiplier: count.map(|(_, count)| count),
        averaging: settings.averaging,
        takes: quote.map(|quote| quote.price()),
        left: quote.map(|quote| quote.before),
        left_after: quote.map(|quote| quote.after),
        seconds: estimate.time.as_secs_f64(),
        memory: estimate.memory,
        score_with_noise: estimate.scores.map(|scores| scores.with_noise),
        score_without_noise: estimate.scores.map(|scores| scores.without_noise),
    })
}
