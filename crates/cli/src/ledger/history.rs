//! `sordino ledger history`: who spent what, when, and what became of it.

use std::collections::HashMap;

use serde::Serialize;
use sordino::prelude::Event;
use sordino_ledger::{ExportedCharge, Ledger};

use super::args::HistoryArgs;
use crate::describe;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

/// `sordino ledger history --json`.
#[derive(Debug, Serialize)]
struct HistoryObject {
    #[serde(flatten)]
    writer: Writer,
    charges: Vec<ExportedCharge>,
}

pub(super) fn run(args: HistoryArgs) -> Result<(), Error> {
    let export = Ledger::open_to_read(&args.file.ledger)?.export()?;
    let mut charges = export.charges;
    if let Some(name) = args.name {
        let set = export.data_sets.iter().find(|set| set.names.contains(&name));
        let number = set.ok_or(Error::NoSuchDataSet { name })?.data_set;
        charges.retain(|charge| charge.data_set == number);
    }
    if args.file.output.json {
        return output::result(&json::text(&HistoryObject { writer: Writer::this(), charges })?);
    }
    let charges = folded(charges);
    output::result(&if charges.is_empty() { "no charges\n".to_owned() } else { table(&charges) })
}

/// The charges, without the free ones of resumed runs. The state of such a run is shown with the
/// charge that paid for it.
fn folded(charges: Vec<ExportedCharge>) -> Vec<ExportedCharge> {
    let mut all: Vec<ExportedCharge> = Vec::new();
    // From a charge's number to the index of its line.
    let mut places = HashMap::new();
    for charge in charges {
        let before = charge.follows.and_then(|number| places.get(&number).copied());
        let place = match before.filter(|_| charge.event == Event::composed([])) {
            Some(place) => {
                let line: &mut ExportedCharge = &mut all[place];
                (line.state, line.ended) = (charge.state, charge.ended);
                line.steps = charge.steps.or(line.steps);
                place
            }
            None => {
                all.push(charge.clone());
                all.len() - 1
            }
        };
        places.insert(charge.charge, place);
    }
    all
}

fn table(charges: &[ExportedCharge]) -> String {
    let mut table = Table::default();
    table.row(["charge", "time", "data set", "who", "what", "state", "event"]);
    for charge in charges {
        table.row([
            &charge.charge.to_string(),
            &charge.time,
            charge.name.as_str(),
            charge.who.as_str(),
            charge.what.as_str(),
            &state(charge),
            &describe::event(&charge.event),
        ]);
    }
    table.text()
}

/// The state of a charge, the steps of its run, and whether it was seeded.
fn state(charge: &ExportedCharge) -> String {
    let steps = charge.steps.map(|steps| format!(", {steps} steps")).unwrap_or_default();
    let seeded = if charge.seeded { ", seeded: protects nobody" } else { "" };
    format!("{}{steps}{seeded}", charge.state)
}
