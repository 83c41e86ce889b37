//! The facts of a run, from which report, model card and `--json` are made.

use std::path::Path;

use sordino_ledger::{Digest, Time};
use sordino_privacy::{Epsilon, Guarantee, Neighbours};
use sordino_report::{
    BoundsOrigin, BudgetUse, Curve, DataFacts, Evaluation, MethodFacts, Provenance, PublicRows, Released,
    ReleasedFile, Requested, RunFacts, Task, Tuning, WholeBudget,
};

use super::plan::RunPlan;
use super::subject::Subject;
use super::{declared, effective};
use crate::error::RunError;
use crate::model::Model;
use crate::purse::Purse;
use crate::settings::{Settings, TunedOn, file};

/// The longest description of a network that a report shows, in bytes.
const MAX_DESCRIPTION_BYTES: usize = 1 << 14;

/// The outcome of a run, beside its plan.
pub(crate) struct Outcome<'a> {
    pub(crate) model: &'a Model,
    pub(crate) guarantee: &'a Guarantee,
    /// Its scores on public records.
    pub(crate) public: Option<&'a Evaluation>,
    /// ε that was spent from the budget before this run.
    pub(crate) spent_before: Option<f64>,
    /// The charges of this run, by their numbers in the ledger.
    pub(crate) charges: Vec<u64>,
    /// When it began.
    pub(crate) began: Time,
}

pub(crate) fn run(plan: &RunPlan, purse: &Purse, outcome: &Outcome<'_>) -> Result<RunFacts, RunError> {
    let &Outcome { model, guarantee, public, .. } = outcome;
    let mut run = RunFacts::new(
        released(model, plan.settings.learner.model.as_deref()),
        source(plan, guarantee.neighbours),
        method(plan),
        guarantee.clone(),
    );
    let Settings { epsilon, delta, .. } = plan.settings;
    let epsilon = epsilon.unwrap_or(plan.subject.epsilon);
    run.requested = Some(Requested { epsilon, delta: delta.unwrap_or(guarantee.delta) });
    run.budget = budget(plan, purse, outcome.spent_before)?;
    run.evaluation = public.cloned();
    run.provenance = Some(provenance(plan, purse, outcome)?);
    run.tuning = tuning(plan.settings.tuned_on);
    run.configuration = Some(file::without_folders(&plan.settings)?);
    run.network = layers(model)?;
    Ok(run)
}

fn provenance(plan: &RunPlan, purse: &Purse, outcome: &Outcome<'_>) -> Result<Provenance, RunError> {
    let who = purse.account().and_then(|_| plan.settings.payment.analyst().ok());
    // Only the day: two times of day would tell how long the run took.
    let date = outcome.began.to_string().split('T').next().map(str::to_owned);
    let Subject { schema, encoding, .. } = &plan.subject;
    // Without the manifest, which covers the very pages that would state its hash.
    let file = |(name, content): (&str, Vec<u8>)| ReleasedFile {
        name: name.to_owned(),
        sha256: Digest::of(&content).to_string(),
    };
    Ok(Provenance {
        date,
        who: who.map(|who| who.to_string()),
        charges: outcome.charges.clone(),
        files: outcome.model.files()?.into_iter().map(file).collect(),
        schema_digest: Some(Digest::from_bytes(schema.digest()).to_string()),
        columns: declared::columns(schema, encoding),
    })
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
    Ok(Some(text).filter(|text| text.len() <= MAX_DESCRIPTION_BYTES))
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

fn source(plan: &RunPlan, neighbours: Neighbours) -> DataFacts {
    let RunPlan { input, subject, .. } = plan;
    let Subject { schema, encoding, n, .. } = subject;
    DataFacts {
        data: input.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        identity: None,
        rows: PublicRows::new(*n, neighbours).ok(),
        features: Some((encoding.width() - usize::from(encoding.has_intercept())) as u64),
        max_records: schema.unit().column().map(|_| schema.unit().max_records().get()),
        bounds: match plan.settings.estimate_schema_with {
            Some(_) => BoundsOrigin::Estimated,
            None => BoundsOrigin::Declared,
        },
    }
}

/// Settings that decide what was released.
fn method(plan: &RunPlan) -> MethodFacts {
    let settings = effective::shown(&plan.subject, &plan.learner, &plan.settings.learner);
    MethodFacts { name: plan.learner.method().name().replace('-', " "), settings }
}

fn budget(plan: &RunPlan, purse: &Purse, before: Option<f64>) -> Result<Option<BudgetUse>, RunError> {
    let (Some(limit), Some(spent_before)) = (purse.limit()?, before) else { return Ok(None) };
    let (terms, gauge) = (&limit.terms, limit.gauge);
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
        // An analyst may have spent more than a share before it was granted.
        spent_before: Epsilon::new(spent_before.min(terms.epsilon.get()))?,
        // A rest within rounding counts as nothing.
        spent_after: if gauge.left > 0.0 { Epsilon::new(gauge.used)? } else { terms.epsilon },
        // The promise is that of the data set's budget. The report does not say how much of it
        // others have spent.
        whole: limit
            .share_of
            .as_ref()
            .and_then(|_| purse.terms())
            .map(|whole| WholeBudget { epsilon: whole.epsilon, delta: whole.delta }),
    }))
}

/// The scores, with the curve of the iterates.
pub(crate) fn with_curve(mut evaluation: Evaluation, plan: &RunPlan, points: &[(u64, f64)]) -> Evaluation {
    let Some(headline) = evaluation.scores.first().filter(|_| !points.is_empty()) else { return evaluation };
    let mut curve = Curve::new(headline.name.clone(), headline.scale, headline.better);
    points.iter().for_each(|(step, value)| curve.push(*step, *value));
    evaluation.curves = vec![curve];
    evaluation.curves_of = plan.learner.result().map(|result| {
        format!(
            "The curve is of single iterates on the way. The released model is {result}; its own score \
            is the mark."
        )
    });
    evaluation
}
