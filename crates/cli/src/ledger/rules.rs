//! The owner's rules: made from flags, and shown in words.

use std::path::Path;

use clap::ValueEnum;
use sordino::prelude::Unit;
use sordino_data::{CsvOptions, Reading};
use sordino_ledger::{Label, Rules};
use sordino_run::{LockSettings, Ownership, Payment};

use super::args::{RulesArgs, Verb};
use super::show::digest_of;
use crate::decimal;
use crate::error::Error;
use crate::table::Table;

/// The most names that are listed; the rest is counted.
const MAX_NAMES: usize = 8;

/// The rules that these flags state, and the unit that they protect. `unit` is that of the budget,
/// if it is known; `data` is the data file, if it is given.
pub(super) fn of(args: &RulesArgs, unit: Option<&Unit>, data: Option<&Path>) -> Result<(Rules, Unit), Error> {
    let schema = args.schema.as_deref().map(sordino_run::read_schema).transpose()?;
    // clap makes sure that all flags of a lock are given, or none.
    let lock = match (args.most_epsilon, &args.out_folder) {
        (Some(most), Some(folder)) if args.locked => {
            let verbs = args.verbs.iter().map(|verb| word(*verb)).collect();
            Some(LockSettings { verbs, most, folder: folder.clone() })
        }
        _ => None,
    };
    let owner = args.owner.clone().map_or_else(|| Payment::default().analyst(), Ok);
    let owner = owner.map_err(|_| Error::NoOwner)?;
    Ok(Ownership { schema, owner, lock }.rules(unit, data)?)
}

/// The word with which the purpose of this verb's charges begins.
fn word(verb: Verb) -> Label {
    let name = verb.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    // Cannot fail: the names of verbs are plain words, and these are labels.
    Label::new(name).expect("a plain word")
}

/// Adds the rules to a table for people.
pub(super) fn describe(rules: Option<&Rules>, table: &mut Table) {
    let Some(rules) = rules else {
        return table.row(["read as", "a plain table, until its owner sets rules (`sordino ledger rule`)"]);
    };
    table.row(["read as", &reading(rules)]);
    table.row(["owner", rules.owner().map_or("nobody who is named", Label::as_str)]);
    let Some(lock) = rules.lock() else { return };
    let verbs: Vec<&str> = lock.verbs().iter().map(Label::as_str).collect();
    let most = decimal::exact(lock.most().get());
    table.row(["locked", &format!("for {}, at most epsilon {most} a charge", verbs.join(", "))]);
    table.row(["", &format!("by one schema, {}", digest_of(lock.schema()))]);
    table.row(["", &format!("into `{}`", lock.folder().display())]);
    table.row(["", "without seeds, messages about records and free tests"]);
}

fn reading(rules: &Rules) -> String {
    match Reading::from_text(rules.reading()) {
        Ok(reading) => words(&reading),
        // A newer program may have written it. The rule still holds: a program that cannot read it
        // opens no data.
        Err(error) => format!("is written in the rules, but {error}"),
    }
}

fn words(reading: &Reading) -> String {
    let format = reading.format().unwrap_or("any format");
    let mut parts = vec![format.to_owned()];
    if matches!(format, "CSV" | "TSV" | "any format") {
        parts.extend(csv_words(reading.csv()));
    }
    if !reading.ignored().is_empty() {
        parts.push(format!("without {}", listed(reading.ignored())));
    }
    parts.join(", ")
}

fn csv_words(csv: &CsvOptions) -> Vec<String> {
    let usual = CsvOptions::default();
    let shown = |byte: u8| char::from(byte).escape_debug().to_string();
    let mut parts = vec![match &csv.names {
        Some(names) => format!("columns {}", listed(names)),
        None => "columns named by the first line".to_owned(),
    }];
    if csv.delimiter != usual.delimiter {
        parts.push(format!("delimiter `{}`", shown(csv.delimiter)));
    }
    if let Some(comment) = csv.comment {
        parts.push(format!("comments after `{}`", shown(comment)));
    }
    if csv.missing != usual.missing {
        parts.push(format!("missing where {}", listed(&csv.missing)));
    }
    if csv.decimal != usual.decimal {
        parts.push(format!("decimal `{}`", shown(csv.decimal)));
    }
    if let Some(thousands) = csv.thousands {
        parts.push(format!("thousands separator `{}`", shown(thousands)));
    }
    parts
}

/// The first names, with control characters escaped for the terminal.
fn listed(names: &[String]) -> String {
    let mut shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{}`", name.chars().take(60).collect::<String>().escape_debug()))
        .collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("{} more", names.len() - MAX_NAMES));
    }
    shown.join(", ")
}
