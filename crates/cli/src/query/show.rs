//! Shows an answer and a plan, for people and for programs.

use serde::Serialize;
use sordino::prelude::*;
use sordino::privacy::Guarantee;
use sordino_run::Purse;
use sordino_run::query::{Answer, AnswerValue, Cells, Estimate, PlannedQuery, Ranked, Statistic, Winner};

use super::args::QueryArgs;
use crate::decimal;
use crate::describe;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output::{SEEDED_NOTE, Taken, UNMETERED_NOTE, left};
use crate::table::Table;

const CONFIDENCE: f64 = 0.95;

/// Notes that a user must read.
pub(crate) fn notes(answer: &Answer) -> Vec<&'static str> {
    let mut notes = answer.notes.clone();
    if !answer.guarantee.metered {
        notes.push(UNMETERED_NOTE);
    }
    if answer.guarantee.seeded {
        notes.push(SEEDED_NOTE);
    }
    notes
}

pub(crate) fn text(args: &QueryArgs, answer: &Answer, purse: &Purse) -> Result<String, Error> {
    let mut table = Table::default();
    let what = what(args);
    match &answer.value {
        AnswerValue::Estimate(Estimate { value, error }) => {
            table.row([&what, &with_error(*value, *error)]);
        }
        AnswerValue::Ranked(Ranked { value, rank_error }) => {
            table.row([&what, &number(*value)]);
            table.row(["rank", &format!("off by at most {}", records(rank_error.ceil()))]);
        }
        AnswerValue::Cells(Cells { counts, error }) => {
            for (key, count) in counts {
                table.row([key, &format!("{count} ± {}", two_digits(*error).0)]);
            }
        }
        AnswerValue::Winner(Winner { key, gap }) => {
            table.row([&what, key]);
            table.row(["gap", &format!("fewer than {} below the most frequent", records(gap.ceil()))]);
        }
    }
    table.row(["confidence", "95 %"]);
    table.row(["epsilon", &decimal::between(answer.guarantee.epsilon)]);
    table.row(["delta", &decimal::exact(answer.guarantee.delta.get())]);
    table.row(["neighbours", &answer.guarantee.neighbours.to_string()]);
    table.row(["unit", &answer.guarantee.unit.to_string()]);
    if let Some(cost) = Taken::new(purse, answer.took)? {
        table.row(["took", &cost.takes()]);
    }
    if let Some(left) = left(purse)? {
        table.row(["left", &left]);
    }
    Ok(table.text())
}

/// The error rounded up to two digits, and the value rounded to the same decimal place.
fn with_error(value: f64, error: f64) -> String {
    let (error, decimals) = two_digits(error);
    format!("{value:.decimals$} ± {error}")
}

/// The first two digits of an error, rounded up, and the number of decimals.
fn two_digits(error: f64) -> (String, usize) {
    if !(error.is_finite() && error > 0.0) {
        return (number(error), 6);
    }
    let place = error.log10().floor() as i32 - 1;
    // 10^k is exact for small k >= 0, and 10^-k is not: hence two branches. The 1e-9 absorbs the
    // last rounding, so that 12 does not become 13.
    let up = |place: i32| {
        let scaled = if place < 0 { error * 10f64.powi(-place) } else { error / 10f64.powi(place) };
        (scaled - 1e-9).ceil()
    };
    let digits = up(place);
    // 0.995 becomes 1.0, not 1.00.
    let (digits, place) = if digits >= 100.0 { (digits / 10.0, place + 1) } else { (digits, place) };
    let decimals = usize::try_from(-place).unwrap_or(0).min(300);
    let value = if place < 0 { digits / 10f64.powi(-place) } else { digits * 10f64.powi(place) };
    (format!("{value:.decimals$}"), decimals)
}

/// A query and its price, before anybody pays.
pub(crate) fn plan_text(args: &QueryArgs, planned: &PlannedQuery) -> Result<String, Error> {
    let mut table = Table::default();
    table.row(["would ask", &what(args)]);
    table.row(["spend", &format!("epsilon {}", decimal::between(price(planned)?))]);
    table.row(["delta", "0"]);
    table.row(["neighbours", &planned.claim.neighbours.to_string()]);
    table.row(["unit", &planned.unit.to_string()]);
    table.row(["event", &describe::event(&planned.claim.event)]);
    if let Some(cost) = Taken::new(&planned.purse, planned.quote)? {
        cost.plan(&mut table);
    }
    Ok(table.text())
}

/// ε at δ = 0: every statistic that `sordino query` offers is pure.
fn price(planned: &PlannedQuery) -> Result<Bound, Error> {
    Ok(accounting::epsilon(&planned.claim, Delta::ZERO, Accountant::Auto)?.bound)
}

fn what(args: &QueryArgs) -> String {
    let what = [Some(args.statistic.name()), args.column.as_deref(), args.equals.as_deref()];
    what.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The statistic's name in JSON, where a median is a quantile.
fn statistic(args: &QueryArgs) -> &'static str {
    let is_median = args.statistic == Statistic::Median;
    if is_median { Statistic::Quantile.name() } else { args.statistic.name() }
}

/// `sordino query --plan --json`.
#[derive(Serialize)]
struct PlanObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    statistic: &'static str,
    column: Option<&'a str>,
    neighbours: Neighbours,
    epsilon: Bound,
    delta: f64,
    event: &'a Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    takes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_after: Option<f64>,
}

pub(crate) fn plan_object(args: &QueryArgs, planned: &PlannedQuery) -> Result<String, Error> {
    let quote = planned.quote;
    json::text(&PlanObject {
        writer: Writer::this(),
        statistic: statistic(args),
        column: args.column.as_deref(),
        neighbours: planned.claim.neighbours,
        epsilon: price(planned)?,
        delta: 0.0,
        event: &planned.claim.event,
        takes: quote.map(|quote| quote.price()),
        left: quote.map(|quote| quote.before),
        left_after: quote.map(|quote| quote.after),
    })
}

/// `1 record`, `12 records`.
fn records(count: f64) -> String {
    format!("{} {}", number(count), if count == 1.0 { "record" } else { "records" })
}

/// The number with six digits, which is more than the noise leaves.
fn number(value: f64) -> String {
    let digits = 5 - value.abs().max(1e-300).log10().floor() as i32;
    let text = format!("{value:.*}", digits.clamp(0, 12) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `sordino query --json`.
#[derive(Serialize)]
struct QueryObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    statistic: &'static str,
    column: Option<&'a str>,
    #[serde(flatten)]
    value: ValueObject<'a>,
    confidence: f64,
    /// What the charge took of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<f64>,
    guarantee: &'a Guarantee,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ValueObject<'a> {
    Estimate { value: f64, error: f64 },
    Ranked { value: f64, rank_error: f64 },
    Cells { counts: Vec<CellObject<'a>>, error: f64 },
    Winner { value: &'a str, gap: f64 },
}

#[derive(Serialize)]
struct CellObject<'a> {
    value: &'a str,
    /// The ends of a cell of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<[f64; 2]>,
    count: i64,
}

/// The ends of a cell with a name such as `[0, 10)`.
fn cell_bounds(name: &str) -> Option<[f64; 2]> {
    let ends = name.strip_prefix('[')?.trim_end_matches([')', ']']);
    let (lower, upper) = ends.split_once(", ")?;
    Some([lower.parse().ok()?, upper.parse().ok()?])
}

pub(crate) fn object(args: &QueryArgs, answer: &Answer, purse: &Purse) -> Result<String, Error> {
    let value = match &answer.value {
        AnswerValue::Estimate(Estimate { value, error }) => {
            ValueObject::Estimate { value: *value, error: *error }
        }
        AnswerValue::Ranked(Ranked { value, rank_error }) => {
            ValueObject::Ranked { value: *value, rank_error: *rank_error }
        }
        AnswerValue::Cells(Cells { counts, error }) => ValueObject::Cells {
            counts: counts
                .iter()
                .map(|(value, count)| {
                    let bounds = args.edges.as_ref().and_then(|_| cell_bounds(value));
                    CellObject { value, bounds, count: *count }
                })
                .collect(),
            error: *error,
        },
        AnswerValue::Winner(Winner { key, gap }) => ValueObject::Winner { value: key, gap: *gap },
    };
    json::text(&QueryObject {
        writer: Writer::this(),
        statistic: statistic(args),
        column: args.column.as_deref(),
        value,
        confidence: CONFIDENCE,
        took: answer.took.map(|quote| quote.price()),
        left: purse.left()?,
        guarantee: &answer.guarantee,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_two_digits_and_values_no_more() {
        let cases = [
            (14.1441, 0.985438, "14.14 ± 0.99"),
            (1203.0, 38.2, "1203 ± 39"),
            (1203.4, 384.2, "1203 ± 390"),
            (0.123456, 0.0012, "0.1235 ± 0.0012"),
            (5.0, 0.996, "5.0 ± 1.0"),
            (5.0, 12.0, "5 ± 12"),
            (5.0, 9.96, "5 ± 10"),
            (-2.5, 0.5, "-2.50 ± 0.50"),
            (1e9, 123456.0, "1000000000 ± 130000"),
        ];
        for (value, error, text) in cases {
            assert_eq!(with_error(value, error), text);
        }
    }
}
