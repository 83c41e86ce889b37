//! The facts of a run, from which report, model card and `--json` are made.

use std::path::Path;

use sordino_privacy::{Epsilon, Guarantee, Neighbours};
use sordino_report::{
    Better, Bounds, BudgetUse, Curve, Evaluation, Method, PublicData, PublicRows, Released, Requested, Run,
    Scale, Score, Source, Task, Tuning,
};

use super::effective;
use super::plan::Plan;
use super::public_test::PublicTest;
use super::subject::Subject;
use crate::error::RunError;
use crate::model::Model;
use crate::purse::Purse;
use crate::settings::{Settings, TunedOn, file};

/// The longest description of a network that a report shows, in bytes.
const LONGEST_DESCRIPTION: usize = 1 << 14;

/// What is known at the end of a run, beside its plan.
pub(crate) struct Outcome<'a> {
    pub(crate) model: &'a Model,
    pub(crate) guarantee: &'a Guarantee,
    /// Public records, and the model's score on them.
    pub(crate) public: Option<&'a (PublicTest, f64)>,
    /// Scores on public records, by step.
    pub(crate) curve: &'a [(u64, f64)],
    /// ε that was spent from the budget before this run.
    pub(crate) spent_before: Option<f64>,
}

pub(crate) fn run(plan: &Plan, purse: &Purse, outcome: &Outcome<'_>) -> Result<Run, RunError> {
    let &Outcome { model, guarantee, public, .. } = outcome;
    let mut run = Run::new(
        released(model, plan.settings.learner.model.as_deref()),
        source(plan, guarantee.neighbours),
        method(plan),
        guarantee.clone(),
    );
    let Settings { epsilon, delta, .. } = plan.settings;
    let epsilon = epsilon.unwrap_or(plan.subject.epsilon);
    run.requested = Some(Requested { epsilon, delta: delta.unwrap_or(guarantee.delta) });
    run.budget = budget(plan, purse, outcome.spent_before)?;
    run.evaluation = public.map(|(public, score)| evaluation(model, public, *score, outcome.curve));
    run.tuning = tuning(plan.settings.tuned_on);
    run.configuration = Some(file::without_folders(&plan.settings)?);
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

/// The description of a network, unless frozen weights make it too long to read.
fn layers(model: &Model) -> Result<Option<String>, RunError> {
    let Model::Network(network) = model else { return Ok(None) };
    let text = network.description().map_err(|error| RunError::Unwritable { reason: error.to_string() })?;
    Ok(Some(text).filter(|text| text.len() <= LONGEST_DESCRIPTION))
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

fn source(plan: &Plan, neighbours: Neighbours) -> Source {
    let Plan { input, subject, .. } = plan;
    let Subject { schema, encoding, n, .. } = subject;
    Source {
        data: input.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        identity: None,
        rows: PublicRows::new(*n, neighbours).ok(),
        features: Some(encoding.width() as u64),
        max_records: schema.unit().column().map(|_| schema.unit().max_records().get()),
        bounds: match plan.settings.estimate_schema_with {
            Some(_) => Bounds::Estimated,
            None => Bounds::Declared,
        },
    }
}

/// Settings that decide what was released.
fn method(plan: &Plan) -> Method {
    let settings = effective::shown(&plan.subject, &plan.learner, &plan.settings.learner);
    Method { name: plan.learner.method().name().replace('-', " "), settings }
}

fn budget(plan: &Plan, purse: &Purse, before: Option<f64>) -> Result<Option<BudgetUse>, RunError> {
    let (Some(terms), Some(spent_before), Some(left)) = (purse.terms(), before, purse.left()?) else {
        return Ok(None);
    };
    let payment = &plan.settings.payment;
    // A report is handed out, so it names files without their folders.
    let shown = |path: Option<&Path>| {
        let name = path.and_then(Path::file_name);
        name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let name = payment.name.as_ref().map(ToString::to_string);
    Ok(Some(BudgetUse {
        ledger: shown(payment.ledger.as_deref()),
        data_set: name.unwrap_or_else(|| shown(Some(plan.input.path()))),
        epsilon: terms.epsilon,
        delta: terms.delta,
        spent_before: Epsilon::new(spent_before)?,
        spent_after: Epsilon::new((terms.epsilon.get() - left).max(0.0))?,
    }))
}

fn evaluation(model: &Model, public: &PublicTest, value: f64, points: &[(u64, f64)]) -> Evaluation {
    let name = model.score_name();
    let (score, scale, better) = if model.is_classification() {
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
