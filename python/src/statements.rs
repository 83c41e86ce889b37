//! What guarantees say, in words and pictures, and together.

use pyo3::prelude::*;
use serde_json::{Value, json};
use sordino_privacy::{Accountant, Bound, Claim, Count, Delta, Event, Statement, accounting};
use sordino_report::{Explanation, Promise, Whose, picture, words};

use crate::accounting::{claim, relation};
use crate::errors::{Failure, long};

/// Reads a statement and writes it in the one normal form.
#[pyfunction]
pub(crate) fn statement(py: Python<'_>, json: &str) -> PyResult<String> {
    long(py, || Ok(serde_json::to_string(&read(json)?)?))
}

/// A statement in one line.
#[pyfunction]
pub(crate) fn statement_words(json: &str) -> PyResult<String> {
    Ok(read(json)?.to_string())
}

/// What two statements say together, at the sum of their deltas.
///
/// If `planned`, the parameters of neither release were chosen by the result of the other, and the
/// tightest accountant prices both. Otherwise the upper end is at least the sum of both prices: see
/// `Release::after` in `sordino-privacy`.
#[pyfunction]
pub(crate) fn together(py: Python<'_>, first: &str, second: &str, planned: bool) -> PyResult<String> {
    long(py, || {
        let (first, second) = (read(first)?, read(second)?);
        if first.neighbours != second.neighbours {
            return Err(Failure::declaration(format!(
                "one guarantee is for {}, the other for {}: guarantees over different relations have no \
                 joint one; state both under one relation",
                first.neighbours, second.neighbours
            )));
        }
        if first.unit != second.unit {
            return Err(Failure::declaration(format!(
                "one guarantee protects a {}, the other a {}: they have no joint one; protect one unit in \
                 both",
                first.unit, second.unit
            )));
        }
        let delta = Delta::new(sum_up(first.delta.get(), second.delta.get()))?;
        let event = first.event.clone().followed_by(second.event.clone());
        let cost =
            accounting::epsilon(&Claim::new(first.neighbours, event.clone()), delta, Accountant::Auto)?;
        let sum = first.epsilon.upper + second.epsilon.upper;
        let Bound { lower, upper } = cost.bound;
        let bound = if planned { cost.bound } else { Bound::enclosing(lower, upper.max(sum)) };
        let both = json!({
            "neighbours": first.neighbours,
            "unit": first.unit,
            "epsilon": bound,
            "delta": delta,
            "accountant": cost.accountant,
            "event": event,
            "arithmetic": first.arithmetic.max(second.arithmetic),
            "seeded": first.seeded || second.seeded,
            "metered": first.metered && second.metered,
        });
        Ok(serde_json::to_string(&serde_json::from_value::<Statement>(both)?)?)
    })
}

/// What a promise means: numbers as JSON, paragraphs, and the trade-off curve as an SVG.
///
/// The promise is an event at a delta, or, without an event, a pair of epsilon and delta.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keyword arguments of one Python function")]
pub(crate) fn explain(
    py: Python<'_>,
    event: Option<&str>,
    epsilon: Option<f64>,
    delta: f64,
    neighbours: &str,
    unit: Option<&str>,
    people: Option<u64>,
    group: Option<u64>,
) -> PyResult<(String, Vec<String>, String)> {
    long(py, || {
        let delta = Delta::new(delta)?;
        let promise = match (event, epsilon) {
            (Some(event), None) => Promise::of(claim(event, neighbours)?, delta)?,
            (None, Some(epsilon)) => {
                let epsilon = sordino_privacy::Epsilon::new(epsilon)?;
                Promise::pair(epsilon, delta, relation(neighbours)?)
            }
            _ => return Err(Failure::declaration("state an event, or epsilon and delta, and not both")),
        };
        let whose = match unit {
            Some(unit) => Whose::unit(&serde_json::from_str(unit)?),
            None => Whose::person(),
        };
        let (people, group) = (people.map(Count::new).transpose()?, group.map(Count::new).transpose()?);
        let facts = Explanation::of(&promise, people, group);
        let numbers = serde_json::to_string(&facts)?;
        Ok((numbers, words(&facts, &whose), picture(&promise)))
    })
}

/// The sum of two probabilities, at most 1. Rounded up where it is rounded: a double sum may lie a
/// unit of the last place below the truth.
fn sum_up(one: f64, two: f64) -> f64 {
    let sum = one + two;
    if one == 0.0 || two == 0.0 { sum } else { sum.next_up().min(1.0) }
}

/// A statement from its JSON. Its number of bytes is limited as that of a claim is.
pub(crate) fn read(json: &str) -> Result<Statement, Failure> {
    if json.len() > Claim::MAX_BYTES {
        return Err(Failure::declaration("a guarantee in JSON must have at most 64 MiB"));
    }
    let value: Value = serde_json::from_str(json)?;
    // Messages of the event's reader say what is wrong with it, and nothing of other files.
    if let Some(event) = value.get("event") {
        let _: Event = Claim::from_json(&event.to_string())?.event;
    }
    Ok(serde_json::from_value(value)?)
}
