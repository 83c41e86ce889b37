//! What the owner of the data fixes: from flags, and in words.

use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::ValueEnum;
use sordino::prelude::Unit;
use sordino_data::{CsvOptions, Reading, Schema, Source};
use sordino_ledger::{Digest, Label, LedgerError, Lock, Rules};

use super::args::{RulesArgs, Verb};
use super::show::short;
use crate::decimal;
use crate::error::Error;
use crate::schema_file;
use crate::table::Table;

/// Names that are listed before the rest is counted.
const NAMES: usize = 8;

/// The rules that these flags ask for, and the unit that they protect. `unit` is that of the budget, if it is known; `data` is the file, if it is at
/// hand.
pub(super) fn of(args: &RulesArgs, unit: Option<&Unit>, data: Option<&Path>) -> Result<(Rules, Unit), Error> {
    let schema = args.schema.as_deref().map(schema_file::read).transpose()?;
    let stated = schema.as_ref().map(|schema| schema.unit().unit());
    let unit = match (unit, stated) {
        (Some(unit), Some(stated)) if *unit != stated => return Err(Error::other_unit(unit, &stated)),
        (Some(unit), _) => unit.clone(),
        (None, stated) => stated.unwrap_or(Unit::Record),
    };
    let mut reading = schema.as_ref().map_or_else(|| Reading::default_for(unit.clone()), Reading::of);
    if let Some(data) = data {
        reading = reading.clone().in_format(&Source::open(data, reading.csv())?);
    }
    let rules = Rules::new(reading.to_text()).map_err(LedgerError::from)?.owned_by(owner(args)?);
    let rules = match lock(args, schema.as_ref())? {
        Some(lock) => rules.locked(lock),
        None => rules,
    };
    Ok((rules, unit))
}

fn lock(args: &RulesArgs, schema: Option<&Schema>) -> Result<Option<Lock>, Error> {
    // All of them are there, or none: the flags require each other.
    let (true, Some(schema), Some(most), Some(folder)) =
        (args.locked, schema, args.most_epsilon, &args.out_folder)
    else {
        return Ok(None);
    };
    let verbs = args.verbs.iter().map(|verb| word(*verb)).collect();
    let schema = Digest::from_bytes(schema.digest());
    Ok(Some(Lock::new(schema, verbs, most, existing(folder)?).map_err(LedgerError::from)?))
}

/// The first word of the purpose of what this verb charges.
fn word(verb: Verb) -> Label {
    let name = verb.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    // The names of the command's own verbs are labels.
    Label::new(name).expect("a plain word")
}

/// The folder by the one name that it has, so that it is the same wherever the command is run.
fn existing(folder: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::Read { name: format!("`{}`", folder.display()), source };
    let place = fs::canonicalize(folder).map_err(failed)?;
    if place.is_dir() { Ok(place) } else { Err(failed(IoError::from(ErrorKind::NotADirectory))) }
}

fn owner(args: &RulesArgs) -> Result<Label, Error> {
    if let Some(owner) = &args.owner {
        return Ok(owner.clone());
    }
    let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| env::var(name).ok());
    user.and_then(|user| Label::new(user).ok()).ok_or(Error::NoOwner)
}

/// Lines for people.
pub(super) fn describe(rules: Option<&Rules>, table: &mut Table) {
    let Some(rules) = rules else {
        return table.row(["read as", "anybody likes: its owner has set no rules (`sordino ledger rule`)"]);
    };
    table.row(["read as", &reading(rules)]);
    table.row(["owner", rules.owner().map_or("nobody who is named", Label::as_str)]);
    let Some(lock) = rules.lock() else { return };
    let verbs: Vec<&str> = lock.verbs().iter().map(Label::as_str).collect();
    let most = decimal::exact(lock.most().get());
    table.row(["locked", &format!("for {}, at most epsilon {most} a charge", verbs.join(", "))]);
    table.row(["", &format!("by one schema, {}", short(lock.schema()))]);
    table.row(["", &format!("into `{}`", lock.folder().display())]);
    table.row(["", "without seeds, messages about records and free tests"]);
}

fn reading(rules: &Rules) -> String {
    match Reading::from_text(rules.reading()) {
        Ok(reading) => words(&reading),
        // Of a newer program, say. It is still kept to: whoever cannot read it reads no data by it.
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
        parts.push(format!("fields apart by `{}`", shown(csv.delimiter)));
    }
    if let Some(comment) = csv.comment {
        parts.push(format!("comments after `{}`", shown(comment)));
    }
    if csv.missing != usual.missing {
        parts.push(format!("missing where {}", listed(&csv.missing)));
    }
    parts
}

/// The first of them, without anything that a terminal would obey.
fn listed(names: &[String]) -> String {
    let mut shown: Vec<String> = names
        .iter()
        .take(NAMES)
        .map(|name| format!("`{}`", name.chars().take(60).collect::<String>().escape_debug()))
        .collect();
    if names.len() > NAMES {
        shown.push(format!("{} more", names.len() - NAMES));
    }
    shown.join(", ")
}
