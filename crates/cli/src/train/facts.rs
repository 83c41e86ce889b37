//! Everything that there is to say about a run, as the value that report, card and `--json` are made from.

use sordino::prelude::*;
use sordino_learn::{LinearModel, Loss};
use sordino_report::{
    Better, Bounds, BudgetUse, Curve, Evaluation, Method, PublicData, PublicRows, Released, Requested, Run,
    Scale, Score, Setting, Source, Task,
};

use super::Trained;
use super::args::Settings;
use super::blueprint::Blueprint;
use super::evaluation::{PublicTest, score_name};
use crate::error::Error;
use crate::purse::Purse;

/// What is known beside the plan when a run has ended.
pub(crate) struct Outcome<'a> {
    pub(crate) trained: &'a Trained,
    /// Public scores by step.
    pub(crate) curve: &'a [(u64, f64)],
    /// ε that the ledger had spent before.
    pub(crate) spent_before: Option<f64>,
    pub(crate) configuration: &'a str,
}

pub(crate) fn run(blueprint: &Blueprint, purse: &Purse, outcome: &Outcome<'_>) -> Result<Run, Error> {
    let Trained { model, guarantee, public } = outcome.trained;
    let mut run = Run::new(
        released(model),
        source(blueprint, guarantee.neighbours),
        method(blueprint),
        guarantee.clone(),
    );
    run.requested = Some(Requested { epsilon: blueprint.epsilon, delta: blueprint.delta });
    run.budget = budget(blueprint, purse, outcome.spent_before)?;
    run.evaluation = public.as_ref().map(|public| evaluation(model, public, outcome.curve));
    run.configuration = Some(outcome.configuration.to_owned());
    Ok(run)
}

fn released(model: &LinearModel) -> Released {
    let name = match model.loss() {
        Loss::Logistic => "logistic regression",
        Loss::SmoothHinge { .. } => "linear classifier with a smooth hinge loss",
        Loss::Squared => "linear regression",
        Loss::Huber { .. } => "linear regression with a Huber loss",
        // The enum may grow; of several classes there is one.
        Loss::Softmax { .. } | _ => "multinomial logistic regression",
    };
    Released {
        model: name.to_owned(),
        task: if model.loss().is_classification() { Task::Classification } else { Task::Regression },
        target: model.encoding().target().map(str::to_owned),
        weights: (model.loss().outputs() * model.encoding().width()) as u64,
    }
}

fn source(blueprint: &Blueprint, neighbours: Neighbours) -> Source {
    let Blueprint { source, schema, encoding, n, .. } = blueprint;
    Source {
        data: source.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        identity: None,
        rows: PublicRows::new(*n, neighbours).ok(),
        features: Some(encoding.width() as u64),
        max_records: schema.unit().column().map(|_| schema.unit().max_records().get()),
        bounds: Bounds::Declared,
    }
}

/// Settings that decide what was released, by the names of their flags.
fn method(blueprint: &Blueprint) -> Method {
    let Settings { method, steps, sampling_rate, learning_rate, clip_norm, row_norm, l2, .. } =
        &blueprint.settings;
    let mut settings: Vec<Setting> = Vec::new();
    settings.extend(steps.map(|steps| Setting::from(("steps", steps.get()))));
    let numbers = [
        ("noise_multiplier", blueprint.learner.noise_multiplier()),
        ("clip_norm", clip_norm.map(|norm| norm.get())),
        ("row_norm", Some(row_norm.unwrap_or_else(|| blueprint.encoding.row_norm()))),
        ("sampling_rate", sampling_rate.map(|rate| rate.get())),
        ("learning_rate", *learning_rate),
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
    let shown =
        |path: Option<&std::path::Path>| path.map(|path| path.display().to_string()).unwrap_or_default();
    let name = payment.name.as_ref().map(ToString::to_string);
    Ok(Some(BudgetUse {
        ledger: shown(payment.ledger.as_deref()),
        data_set: name
            .unwrap_or_else(|| shown(blueprint.source.path().file_name().map(std::path::Path::new))),
        epsilon: terms.epsilon,
        delta: terms.delta,
        spent_before: Epsilon::new(spent_before)?,
        spent_after: Epsilon::new((terms.epsilon.get() - left).max(0.0))?,
    }))
}

fn evaluation(model: &LinearModel, public: &PublicTest, points: &[(u64, f64)]) -> Evaluation {
    let (name, value) = (score_name(model), public.score(model));
    let (score, scale, better) = if model.loss().is_classification() {
        (Score::share(name, value), Scale::Share, Better::Higher)
    } else {
        (Score::new(name, value, Better::Lower), Scale::Number, Better::Lower)
    };
    let mut curve = Curve::new(name, scale, better);
    points.iter().for_each(|(step, value)| curve.push(*step, *value));
    let file = public.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let curves = if points.is_empty() { Vec::new() } else { vec![curve] };
    Evaluation { data: PublicData::declared(file, Some(public.rows())), scores: vec![score], curves }
}
