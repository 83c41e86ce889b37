//! `sordino ledger show`: what is left, in words and as a bar.

use serde::Serialize;
use sordino::prelude::*;
use sordino::privacy::Choice;
use sordino_ledger::{DataSet, Digest, Label, Ledger, State};

use super::args::LedgerFile;
use crate::args::Output;
use crate::decimal;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

/// Characters of a bar.
const WIDTH: usize = 30;

pub(super) fn run(args: LedgerFile) -> Result<(), Error> {
    print(&Ledger::open(&args.ledger)?, None, args.output)
}

/// All data sets, or the one that has this name.
pub(super) fn print(ledger: &Ledger, name: Option<&Label>, output: Output) -> Result<(), Error> {
    let charges = ledger.charges()?;
    let mut lines = Vec::new();
    for set in ledger.data_sets()? {
        if name.is_some_and(|name| !set.names.contains(name)) {
            continue;
        }
        let is_open = |state: &State| matches!(state, State::Reserved);
        let not_booked =
            charges.iter().filter(|charge| charge.data_set == set.number && is_open(&charge.state)).count();
        let spent = ledger.total(set.number)?;
        let left = (set.terms.epsilon.get() - spent).max(0.0);
        lines.push(Line { set, spent, left, not_booked });
    }
    if output.json {
        let data_sets = lines.iter().map(Line::object).collect();
        return output::result(&json::text(&ShowObject { writer: Writer::this(), data_sets })?);
    }
    if lines.is_empty() {
        return output::result("no data sets\n");
    }
    output::result(&lines.iter().map(Line::table).collect::<Vec<_>>().join("\n"))
}

/// One budget.
struct Line {
    set: DataSet,
    spent: f64,
    left: f64,
    not_booked: usize,
}

impl Line {
    fn table(&self) -> String {
        let Self { set, spent, left, not_booked } = self;
        let terms = &set.terms;
        let epsilon = decimal::exact(terms.epsilon.get());
        let charges = match (set.spent.charges(), not_booked) {
            (0, _) => "none".to_owned(),
            (all, 0) => all.to_string(),
            (all, open) => {
                format!("{all}, of which {open} not booked (at work or crashed; spent all the same)")
            }
        };
        let contents: Vec<String> = set.contents.iter().map(|content| short(*content)).collect();
        let names: Vec<&str> = set.names.iter().map(Label::as_str).collect();
        let mut table = Table::default();
        table.row(["data set", &names.join(", also ")]);
        table.row(["budget", &format!("epsilon {epsilon}, delta {}", decimal::exact(terms.delta.get()))]);
        table.row(["spent", &format!("{} {}", bar(*spent, terms.epsilon.get()), decimal::up(*spent))]);
        table.row(["left", &format!("{} of {epsilon}", decimal::down(*left))]);
        table.row(["charges", &charges]);
        table.row(["neighbours", &terms.neighbours.to_string()]);
        table.row(["unit", &terms.unit.to_string()]);
        table.row(["chosen", chosen(terms.choice)]);
        table.row(["content", &contents.join(", also ")]);
        table.text()
    }

    fn object(&self) -> DataSetObject<'_> {
        let Self { set, spent, left, not_booked } = self;
        DataSetObject {
            data_set: set.number,
            names: &set.names,
            contents: &set.contents,
            epsilon: set.terms.epsilon,
            delta: set.terms.delta,
            neighbours: set.terms.neighbours,
            unit: &set.terms.unit,
            choice: set.terms.choice,
            spent: *spent,
            left: *left,
            charges: set.spent.charges(),
            not_booked: *not_booked,
        }
    }
}

/// Full when everything is spent, and not a moment before; empty only if nothing is.
fn bar(spent: f64, budget: f64) -> String {
    let share = if budget > 0.0 { (spent / budget).clamp(0.0, 1.0) } else { 1.0 };
    let full = match (share * WIDTH as f64) as usize {
        0 if spent > 0.0 => 1,
        cells => cells,
    };
    format!("[{}{}]", "#".repeat(full), ".".repeat(WIDTH - full))
}

fn short(digest: Digest) -> String {
    format!("sha256 {:.16}…", digest.to_string())
}

fn chosen(choice: Choice) -> &'static str {
    match choice {
        Choice::Adaptive => "as one goes: charges may depend on earlier results",
        Choice::Planned => "in advance: charges do not depend on earlier results",
    }
}

/// `sordino ledger show --json`.
#[derive(Debug, Serialize)]
struct ShowObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    data_sets: Vec<DataSetObject<'a>>,
}

#[derive(Debug, Serialize)]
struct DataSetObject<'a> {
    data_set: u64,
    names: &'a [Label],
    contents: &'a [Digest],
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    unit: &'a Unit,
    choice: Choice,
    spent: f64,
    left: f64,
    charges: u64,
    not_booked: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_full_at_the_end_and_empty_at_the_beginning_only() {
        let cells = |spent, budget| bar(spent, budget).matches('#').count();
        assert_eq!((cells(0.0, 1.0), cells(1e-9, 1.0), cells(0.5, 1.0)), (0, 1, WIDTH / 2));
        assert_eq!(
            (cells(0.999_999, 1.0), cells(1.0, 1.0), cells(1.000_000_001, 1.0)),
            (WIDTH - 1, WIDTH, WIDTH)
        );
        assert_eq!(bar(0.3, 0.9).len(), WIDTH + 2);
    }
}
