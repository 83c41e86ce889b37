//! Fits and their plans. What makes a run sound is in `sordino-run`; this file releases the
//! interpreter's lock, watches for Ctrl-C and passes progress on.
//!
//! # Ctrl-C
//! A fit works on a thread of its own, and the calling thread looks for signals every
//! [`LOOK`]. After a signal the fit is asked to stop, and `KeyboardInterrupt` is raised once it
//! has, or after [`PATIENCE`]: a method without steps, or one that still reads the data, is left
//! alone and ends by itself. A fit that was not charged yet is not charged any more; what was
//! charged stays charged, and the exception says so.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::json;
use sordino_data::Schema;
use sordino_nn::Description;
use sordino_privacy::{Accountant, accounting};
use sordino_run::training::{self, Fitted, Observer, Request, Session, Step};
use sordino_run::{Given, Payer, Settings, file};

use crate::budget::NativePayer;
use crate::errors::{Failure, long};
use crate::model::FittedModel;
use crate::table::PyTable;

/// The time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// How long an interrupted fit is waited for.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time between two computations of ε for the progress; each takes a moment.
const EPSILON_EVERY: Duration = Duration::from_millis(500);

/// A model of a table, or of the file that `settings["data"]` names.
///
/// `settings` is a JSON object of settings by name, `schema` is TOML, `network` a description in
/// TOML. `progress` is called with the steps done, all steps, and ε so far or `None`.
#[pyfunction]
#[pyo3(signature = (settings, table=None, schema=None, network=None, payer=None, folder=None, resume=false,
                    progress=None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn fit(
    py: Python<'_>,
    settings: &str,
    table: Option<PyRef<'_, PyTable>>,
    schema: Option<&str>,
    network: Option<&str>,
    payer: Option<PyRef<'_, NativePayer>>,
    folder: Option<PathBuf>,
    resume: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<FittedModel> {
    let settings = file::from_json(settings).map_err(Failure::from)?;
    let table = table.map(|table| table.source()).transpose()?;
    let given = Given { table, schema: schema_of(schema)?, payer: payer_of(payer) };
    let work = Work { settings, given, network: network_of(network)?, folder, resume };
    let fitted = watched(py, work, progress)?;
    Ok(FittedModel::of(fitted)?)
}

/// What a fit would cost, without data: a JSON object. `settings["rows"]` states n.
#[pyfunction]
#[pyo3(signature = (settings, schema, network=None, payer=None))]
pub(crate) fn plan(
    py: Python<'_>,
    settings: &str,
    schema: &str,
    network: Option<&str>,
    payer: Option<PyRef<'_, NativePayer>>,
) -> PyResult<String> {
    let settings = file::from_json(settings).map_err(Failure::from)?;
    let given = Given { table: None, schema: schema_of(Some(schema))?, payer: payer_of(payer) };
    let network = network_of(network)?;
    long(py, || {
        let plan = training::plan_for(Request { given, network, ..Request::new(&settings) })?;
        let (claim, delta) = (plan.learner.claim(), plan.subject.delta);
        let cost = accounting::epsilon(&claim, delta, Accountant::Auto)?;
        let json = json!({
            "event": claim.event,
            "neighbours": claim.neighbours,
            "unit": plan.subject.unit(),
            "epsilon": cost.bound,
            "delta": delta,
            "rows": plan.subject.n,
            "method": plan.learner.method().name(),
            "loss": plan.learner.loss_name(),
            "weights": plan.learner.weights(),
            "steps": plan.learner.steps(),
            "batch": plan.learner.batch(),
            "noise_multiplier": plan.learner.noise_multiplier(),
            "takes": plan.quote.map(|quote| quote.price()),
            "left": plan.quote.map(|quote| quote.before),
            "settings": plan.settings,
            "notes": plan.notes,
        });
        Ok(json.to_string())
    })
}

fn schema_of(text: Option<&str>) -> Result<Option<Schema>, Failure> {
    Ok(text.map(Schema::from_toml).transpose()?)
}

fn network_of(text: Option<&str>) -> Result<Option<Description>, Failure> {
    let read = |text| Description::from_toml(text).map_err(|error| Failure::declaration(error.to_string()));
    text.map(read).transpose()
}

pub(crate) fn payer_of(payer: Option<PyRef<'_, NativePayer>>) -> Payer {
    payer.map_or(Payer::Settings, |payer| payer.0.clone())
}

/// A fit with everything that it owns, so that it can outlive the call.
struct Work {
    settings: Settings,
    given: Given,
    network: Option<Description>,
    folder: Option<PathBuf>,
    resume: bool,
}

/// How far a fit is.
#[derive(Clone, Copy, Default)]
struct Latest {
    step: u64,
    of: u64,
    epsilon: Option<f64>,
}

type Shared = Arc<Mutex<Latest>>;

/// Notes how far the fit is.
struct Noting {
    latest: Shared,
    /// Whether somebody wants to know ε, and when it was computed last.
    epsilon: Option<Instant>,
}

impl Observer for Noting {
    fn step(&mut self, step: &Step<'_>) {
        let mut now = Latest { step: step.progress.step(), of: step.progress.of(), epsilon: None };
        let is_last = now.step == now.of;
        if self.epsilon.is_some_and(|last| is_last || last.elapsed() >= EPSILON_EVERY) {
            now.epsilon = step.epsilon_so_far().ok().map(|bound| bound.upper);
            self.epsilon = Some(Instant::now());
        }
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = Latest { epsilon: now.epsilon.or(latest.epsilon), ..now };
    }
}

fn watched(py: Python<'_>, work: Work, progress: Option<Py<PyAny>>) -> PyResult<Fitted> {
    let (stop, latest) = (Arc::new(AtomicBool::new(false)), Shared::default());
    let (sender, mut receiver) = mpsc::channel();
    let observer = Noting { latest: latest.clone(), epsilon: progress.as_ref().map(|_| Instant::now()) };
    let started = spawn(work, stop.clone(), observer, sender);
    started.map_err(|error| Failure::declaration(format!("no thread for the fit: {error}")))?;
    let (mut shown, mut raised): (u64, Option<(PyErr, Instant)>) = (0, None);
    loop {
        let waiting = &mut receiver;
        let done = py.detach(move || waiting.recv_timeout(LOOK));
        match (done, raised.take()) {
            (Ok(done), None) => {
                if let (Ok(_), Some(progress)) = (&done, &progress) {
                    report(py, progress, &latest, &mut shown)?;
                }
                return Ok(done?);
            }
            (Ok(done), Some((error, _))) => return Err(interrupted(py, &error, done.err())),
            (Err(RecvTimeoutError::Disconnected), _) => return Err(Failure::internal().into()),
            (Err(RecvTimeoutError::Timeout), Some((error, since))) if since.elapsed() >= PATIENCE => {
                return Err(interrupted(py, &error, None));
            }
            (Err(RecvTimeoutError::Timeout), Some(raised_before)) => raised = Some(raised_before),
            (Err(RecvTimeoutError::Timeout), None) => {
                let called = progress.as_ref().map(|progress| report(py, progress, &latest, &mut shown));
                let looked = py.check_signals().and(called.transpose().map(drop));
                if let Err(error) = looked {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some((error, Instant::now()));
                }
            }
        }
    }
}

/// Works on a thread of its own, and sends the result.
fn spawn(
    work: Work,
    stop: Arc<AtomicBool>,
    mut observer: Noting,
    sender: mpsc::Sender<Result<Fitted, Failure>>,
) -> std::io::Result<()> {
    let body = move || {
        let Work { settings, given, network, folder, resume } = work;
        let request = Request { settings: &settings, given, network, folder };
        let session = Session { resume, stop: &stop, observer: &mut observer };
        // If nobody waits any more, the result is dropped: its charge stays.
        let _ = sender.send(training::fit(request, session).map_err(Failure::from));
    };
    std::thread::Builder::new().name("sordino-fit".to_owned()).spawn(body).map(drop)
}

fn report(py: Python<'_>, progress: &Py<PyAny>, latest: &Shared, shown: &mut u64) -> PyResult<()> {
    let Latest { step, of, epsilon } = *latest.lock().unwrap_or_else(PoisonError::into_inner);
    if step != *shown {
        *shown = step;
        progress.call1(py, (step, of, epsilon))?;
    }
    Ok(())
}

/// The exception of a fit that was interrupted, by a signal or by its progress function.
fn interrupted(py: Python<'_>, error: &PyErr, stopped: Option<Failure>) -> PyErr {
    let said = stopped.map_or_else(
        || "the fit was interrupted; if it was charged, the charge stays spent".to_owned(),
        |failure| failure.message().to_owned(),
    );
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return PyKeyboardInterrupt::new_err(said);
    }
    let _ = error.value(py).call_method1("add_note", (said,));
    error.clone_ref(py)
}
