//! An answer for people and for programs.

use serde::Serialize;
use sordino::privacy::Guarantee;
use sordino_run::Purse;
use sordino_run::query::{Answer, Cells, Estimate, Ranked, Value, Winner};

use super::args::QueryArgs;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output::{SEEDED_NOTE, UNMETERED_NOTE, left};
use crate::table::Table;

const CONFIDENCE: f64 = 0.95;

/// What must be said even if nobody asks.
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
    let what = [Some(args.statistic.name()), args.column.as_deref(), args.equals.as_deref()];
    let what = what.into_iter().flatten().collect::<Vec<_>>().join(" ");
    match &answer.value {
        Value::Estimate(Estimate { value, error }) => {
            table.row([&what, &format!("{} ± {}", number(*value), number(*error))]);
        }
        Value::Ranked(Ranked { value, rank_error }) => {
            table.row([&what, &number(*value)]);
            table.row(["rank", &format!("off by at most {} records", number(rank_error.ceil()))]);
        }
        Value::Cells(Cells { counts, error }) => {
            for (key, count) in counts {
                table.row([key, &format!("{count} ± {}", number(*error))]);
            }
        }
        Value::Winner(Winner { key, gap }) => {
            table.row([&what, key]);
            table.row(["gap", &format!("fewer than {} records below the most frequent", number(gap.ceil()))]);
        }
    }
    table.row(["confidence", "95 %"]);
    table.row(["epsilon", &decimal::between(answer.guarantee.epsilon)]);
    table.row(["delta", &decimal::exact(answer.guarantee.delta.get())]);
    table.row(["neighbours", &answer.guarantee.neighbours.to_string()]);
    table.row(["unit", &answer.guarantee.unit.to_string()]);
    if let Some(left) = left(purse)? {
        table.row(["left", &left]);
    }
    Ok(table.text())
}

/// Six digits: more than any noise leaves.
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
    count: i64,
}

pub(crate) fn object(args: &QueryArgs, answer: &Answer, purse: &Purse) -> Result<String, Error> {
    let value = match &answer.value {
        Value::Estimate(Estimate { value, error }) => ValueObject::Estimate { value: *value, error: *error },
        Value::Ranked(Ranked { value, rank_error }) => {
            ValueObject::Ranked { value: *value, rank_error: *rank_error }
        }
        Value::Cells(Cells { counts, error }) => ValueObject::Cells {
            counts: counts.iter().map(|(value, count)| CellObject { value, count: *count }).collect(),
            error: *error,
        },
        Value::Winner(Winner { key, gap }) => ValueObject::Winner { value: key, gap: *gap },
    };
    json::text(&QueryObject {
        writer: Writer::this(),
        statistic: args.statistic.name(),
        column: args.column.as_deref(),
        value,
        confidence: CONFIDENCE,
        left: purse.left()?,
        guarantee: &answer.guarantee,
    })
}
