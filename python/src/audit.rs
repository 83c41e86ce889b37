//! Lower bounds on what code really leaks.

use std::sync::Mutex;

use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use sordino_audit::{Audit, ErrorRates, MechanismTester, Observe, OneRun, Row, Verdict};
use sordino_privacy::{Delta, Epsilon};

use crate::errors::long;

/// An output of a mechanism, as a test looks at it.
enum Output {
    Flag(bool),
    Integer(i128),
    Number(f64),
    Text(String),
    List(Vec<f64>),
    /// An exception, or nothing.
    Absent,
}

impl Observe for Output {
    const WIDTH: usize = 0;

    fn observe(&self, row: &mut Row) {
        match self {
            Self::Flag(flag) => flag.observe(row),
            Self::Integer(integer) => integer.observe(row),
            Self::Number(number) => number.observe(row),
            Self::Text(text) => text.observe(row),
            Self::List(list) => list.observe(row),
            Self::Absent => None::<bool>.observe(row),
        }
    }
}

/// Violated, bound on ε, bound on δ, ceiling, words.
type Found = (bool, f64, f64, f64, String);

/// Audits a callable of one argument on two neighbouring inputs. One thread: Python code takes
/// turns.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn audit_mechanism(
    py: Python<'_>,
    mechanism: Py<PyAny>,
    one: Py<PyAny>,
    two: Py<PyAny>,
    epsilon: f64,
    delta: f64,
    samples: u64,
    confidence: f64,
) -> PyResult<Found> {
    // What is not an output: a type that cannot be looked at, or Ctrl-C.
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let run = |input: &Py<PyAny>, _: &mut dyn sordino_noise::Bits| -> Output {
        if raised.lock().map_or(true, |raised| raised.is_some()) {
            return Output::Absent;
        }
        Python::attach(|py| {
            let stop = |error: PyErr| {
                if let Ok(mut raised) = raised.lock() {
                    raised.get_or_insert(error);
                }
                Output::Absent
            };
            if let Err(error) = py.check_signals() {
                return stop(error);
            }
            match mechanism.call1(py, (input,)) {
                Ok(output) => seen(output.bind(py)).unwrap_or_else(stop),
                Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => stop(error),
                // A failure leaves too.
                Err(_) => Output::Absent,
            }
        })
    };
    let audit = long(py, || {
        let tester = MechanismTester::new(Epsilon::new(epsilon)?)
            .with_delta(Delta::new(delta)?)
            .with_samples(samples, samples)
            .at_confidence(confidence)
            .with_threads(1);
        Ok(tester.test(run, &one, &two)?)
    });
    if let Ok(Some(error)) = raised.into_inner() {
        return Err(error);
    }
    let audit = audit?;
    let words = audit.to_string();
    let Audit { verdict, epsilon, delta, ceiling, .. } = audit;
    Ok((verdict == Verdict::Violation, epsilon, delta, ceiling, words))
}

/// The lower bound on ε that the counts of a test certify.
#[pyfunction]
pub(crate) fn audit_counts(
    py: Python<'_>,
    true_positives: u64,
    positives: u64,
    false_positives: u64,
    negatives: u64,
    delta: f64,
    confidence: f64,
) -> PyResult<f64> {
    long(py, || {
        let rates = ErrorRates::new(true_positives, positives, false_positives, negatives)?;
        Ok(rates.epsilon(Delta::new(delta)?, confidence)?)
    })
}

/// The lower bound on ε that one run with canaries certifies.
#[pyfunction]
pub(crate) fn audit_one_run(
    py: Python<'_>,
    canaries: u64,
    guesses: u64,
    correct: u64,
    delta: f64,
    confidence: f64,
) -> PyResult<f64> {
    long(py, || Ok(OneRun::new(canaries, guesses, correct)?.epsilon(Delta::new(delta)?, confidence)?))
}

fn seen(output: &Bound<'_, PyAny>) -> PyResult<Output> {
    if output.is_none() {
        return Ok(Output::Absent);
    }
    if output.is_instance_of::<PyBool>() {
        return Ok(Output::Flag(output.extract()?));
    }
    if output.is_instance_of::<PyInt>() {
        // Beyond 128 bits integers look like numbers.
        return Ok(output.extract().map_or_else(|_| Output::Text(output.to_string()), Output::Integer));
    }
    if output.is_instance_of::<PyFloat>() {
        return Ok(Output::Number(output.extract()?));
    }
    if output.is_instance_of::<PyString>() {
        return Ok(Output::Text(output.extract()?));
    }
    // A numpy array of no dimension and a numpy scalar are numbers.
    if let Ok(list) = output.call_method0("tolist") {
        return if list.is_instance_of::<pyo3::types::PyList>() { numbers(&list) } else { seen(&list) };
    }
    numbers(output)
}

fn numbers(output: &Bound<'_, PyAny>) -> PyResult<Output> {
    let flat: PyResult<Vec<f64>> = output.extract();
    flat.map(Output::List).map_err(|_| {
        let name = output.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "a mechanism under test must return a number, a truth value, text or a flat list of numbers, \
             got {name}; convert its output first"
        ))
    })
}
