//! Everything that there is to say about a run, as the value that report, card and `--json` are made from.

use std::path::Path;

use sordino::prelude::*;
use sordino_report::{
    Better, Bounds, BudgetUse, Curve, Evaluation, Method, PublicData, PublicRows, Released, Requested, Run,
    Scale, Score, Setting, Source, Task, Tuning,
};

use super::Trained;
use super::args::{Settings, TunedOn};
use super::blueprint::Blueprint;
use super::config;
use super::evaluation::PublicTest;
use super::network::{AveragingStyle, ClippingStyle, style};
use super::subject::Subject;
use crate::error::Error;
use crate::model::Model;
use crate::purse::Purse;

/// Bytes of a network's description that a report still shows.
const LONGEST_DESCRIPTION: usize = 1 << 14;

/// What is known beside the plan when a run has ended.
pub(crate) struct Outcome<'a> {
    pub(crate) trained: &'a Trained,
    /// Public scores by step.
    pub(crate) curve: &'a [(u64, f64)],
    /// ε that the ledger had spent before.
    pub(crate) spent_before: Option<f64>,
}

pub(crate) fn run(blueprint: &Blueprint, purse: &Purse, outcome: &Outcome<'_>) -> Result<Run, Error> {
    let Trained { model, guarantee, public } = outcome.trained;
    let mut run = Run::new(
        released(model, blueprint.settings.model.as_deref()),
        source(blueprint, guarantee.neighbours),
        method(blueprint),
        guarantee.clone(),
    );
    let Settings { epsilon, delta, .. } = blueprint.settings;
    let epsilon = epsilon.unwrap_or(blueprint.subject.epsilon);
    run.requested = Some(Requested { epsilon, delta: delta.unwrap_or(guarantee.delta) });
    run.budget = budget(blueprint, purse, outcome.spent_before)?;
    run.evaluation = public.as_ref().map(|public| evaluation(model, public, outcome.curve)).transpose()?;
    run.tuning = tuning(blueprint.settings.tuned_on);
    run.configuration = Some(config::without_folders(&blueprint.settings)?);
    run.network = layers(model)?;
    Ok(run)
}

fn tuning(tuned_on: Option<TunedOn>) -> Tuning {
    match tuned_on {
        None => Tuning::NotStated,
        Some(TunedOn::None | TunedOn::Public) => Tuning::WithoutData,
        Some(TunedOn::Booked) => Tuning::Booked,
        Some(TunedOn::Private) => Tuning::NotBooked,
    }
}

/// The layers of a network, unless frozen weights make them too long to be read.
fn layers(model: &Model) -> Result<Option<String>, Error> {
    let Model::Network(network) = model else { return Ok(None) };
    Ok(Some(network.description()?).filter(|text| text.len() <= LONGEST_DESCRIPTION))
}

fn released(model: &Model, network: Option<&str>) -> Released {
    let name = network.and_then(|name| Path::new(name).file_stem()).map(|name| name.to_string_lossy());
    Released {
        model: name.map_or_else(|| model.kind(), |name| format!("{}: {name}", model.kind())),
        task: if model.is_classification() { Task::Classification } else { Task::Regression },
        target: model.encoding().target().map(str::to_owned),
        weights: model.weights(),
    }
}

fn source(blueprint: &Blueprint, neighbours: Neighbours) -> Source {
    let Blueprint { source, subject, .. } = blueprint;
    let Subject { schema, encoding, n, .. } = subject;
    Source {
        data: source.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        identity: None,
        rows: PublicRows::new(*n, neighbours).ok(),
        features: Some(encoding.width() as u64),
        max_records: schema.unit().column().map(|_| schema.unit().max_records().get()),
        bounds: match blueprint.settings.estimate_schema_with {
            Some(_) => Bounds::Estimated,
            None => Bounds::Declared,
        },
    }
}

/// Settings that decide what was released, by the names of their flags.
fn method(blueprint: &Blueprint) -> Method {
    let Settings {
        model,
        method,
        steps,
        sampling_rate,
        learning_rate,
        momentum,
        clipping,
        clip_norm,
        clip_quantile,
        averaging,
        averaging_tail,
        averaging_decay,
        row_norm,
        l2,
        ..
    } = &blueprint.settings;
    let learner = &blueprint.learner;
    let (is_automatic, count) = (
        *clipping == Some(ClippingStyle::Automatic),
        learner.noise_split().and_then(|split| split.with_count()),
    );
    // Networks are clipped, whatever their inputs are.
    let row_norm = || row_norm.unwrap_or_else(|| blueprint.subject.encoding.row_norm());
    let mut settings: Vec<Setting> = Vec::new();
    settings.extend(steps.map(|steps| Setting::from(("steps", steps.get()))));
    let words =
        [("clipping", clipping.map(ClippingStyle::name)), ("averaging", averaging.map(AveragingStyle::name))];
    settings.extend(words.into_iter().filter_map(|(name, value)| Some(Setting::from((name, value?)))));
    let numbers = [
        ("noise_multiplier", learner.noise_multiplier()),
        ("gradient_noise_multiplier", count.map(|(gradients, _)| gradients)),
        ("count_noise_multiplier", count.map(|(_, count)| count)),
        ("clip_norm", clip_norm.map(|norm| norm.get())),
        ("clip_quantile", *clip_quantile),
        ("clip_rate", count.map(|_| style::CLIP_RATE)),
        ("clip_gamma", is_automatic.then_some(style::GAMMA)),
        ("averaging_tail", *averaging_tail),
        ("averaging_decay", *averaging_decay),
        ("row_norm", model.is_none().then(row_norm)),
        ("sampling_rate", sampling_rate.map(|rate| rate.get())),
        ("learning_rate", *learning_rate),
        ("momentum", *momentum),
        ("l2", *l2),
    ];
    settings.extend(numbers.into_iter().filter_map(|(name, value)| Some(Setting::from((name, value?)))));
    Method { name: method.unwrap_or_default().name().replace('-', " "), settings }
}

fn budget(blueprint: &Blueprint, purse: &Purse, before: Option<f64>) -> Result<Option<BudgetUse>, Error> {
    let (Some(terms), Some(spent_before), Some(left)) = (purse.terms(), before, purse.left()?) else {
        return Ok(None);
    };
    let payment = &blueprint.settings.payment;
    // Where it lies is nobody's business who reads the report.
    let shown = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name);
        name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let name = payment.name.as_ref().map(ToString::to_string);
    Ok(Some(BudgetUse {
        ledger: shown(payment.ledger.as_deref()),
        data_set: name.unwrap_or_else(|| shown(Some(blueprint.source.path()))),
        epsilon: terms.epsilon,
        delta: terms.delta,
        spent_before: Epsilon::new(spent_before)?,
        spent_after: Epsilon::new((terms.epsilon.get() - left).max(0.0))?,
    }))
}

fn evaluation(model: &Model, public: &PublicTest, points: &[(u64, f64)]) -> Result<Evaluation, Error> {
    let (name, value) = (model.score_name(), public.score(model)?);
    let (score, scale, better) = if model.is_classification() {
        (Score::share(name, value), Scale::Share, Better::Higher)
    } else {
        (Score::new(name, value, Better::Lower), Scale::Number, Better::Lower)
    };
    let mut curve = Curve::new(name, scale, better);
    points.iter().for_each(|(step, value)| curve.push(*step, *value));
    let file = public.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let curves = if points.is_empty() { Vec::new() } else { vec![curve] };
    Ok(Evaluation { data: PublicData::declared(file, Some(public.rows())), scores: vec![score], curves })
}
