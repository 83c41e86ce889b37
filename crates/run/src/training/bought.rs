//! `train --estimate-schema-with FRACTION`: a part of ε and δ buys the bounds and categories that no schema declares, and the rest trains.
//!
//! The model's guarantee is that of both releases together. The schema is kept in the working folder before anything else happens, so that a run
//! that fails, or is killed, does not pay for it twice: what was asked then has to be what is asked now, of the same data and from the same
//! ledger.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_data::Schema;
use sordino_ledger::Digest;
use sordino_privacy::{Delta, Epsilon, Paid, Release, Statement};

use super::input::Input;
use crate::discovery::{self, Columns};
use crate::error::RunError;
use crate::folder::Folder;
use crate::model::Model;
use crate::purse::Purse;
use crate::receipt::Receipt;
use crate::schema_file;
use crate::settings::Settings;

/// A schema that was bought, and what was promised about it.
pub(crate) struct Bought {
    path: PathBuf,
    paid: Paid,
    /// δ of schema and model together.
    delta: Delta,
    /// What is left for training.
    epsilon: Epsilon,
    rest: Option<Delta>,
}

impl Bought {
    /// Columns to be bought have a meaning only where there is a price for them, which is a part of ε.
    pub(crate) fn check_settings(asked: &Settings) -> Result<(), RunError> {
        let given = [(asked.numbers.is_some(), "--numbers"), (asked.categories.is_some(), "--categories")];
        match (asked.estimate_schema_with, given.into_iter().find(|(is_given, _)| *is_given)) {
            (None, Some((_, setting))) => {
                let by = "a run that buys no schema (--estimate-schema-with)".to_owned();
                Err(RunError::Unused { setting: setting.to_owned(), by })
            }
            (Some(part), _) if !(part > 0.0 && part < 1.0) => {
                let (setting, expected) = ("--estimate-schema-with", "above 0 and below 1");
                Err(RunError::Number { setting, expected, got: part })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Buys it, or takes that of an earlier run.
    pub(crate) fn buy(
        asked: &Settings,
        fraction: f64,
        input: &Input,
        purse: &mut Purse,
        folder: &Folder,
    ) -> Result<Self, RunError> {
        let whole = asked.epsilon.ok_or(RunError::Missing { setting: "--epsilon E" })?;
        let part = Epsilon::new(whole.get() * fraction)?;
        let (delta, of_schema, rest) = deltas(asked, fraction, purse)?;
        let known = &input.schema;
        let words = {
            let columns = Columns::of(asked);
            format!("{} {columns:?} {part:?} {of_schema:?} {}", known.to_toml(), purse.neighbours())
        };
        let question = Digest::of(words.as_bytes());
        let content = purse.content().ok_or(RunError::Missing { setting: "DATA" })?;
        let wanted =
            discovery::wanted(&Columns::of(asked), known.clone(), &input.source, purse.neighbours())?;
        let (plan, unit) = (wanted.plan(part, of_schema)?, known.unit().unit());
        let epsilon = Epsilon::new(whole.get() - part.get())?;
        let path = folder.schema();
        let paid = if path.exists() {
            Purchase::kept(question, content, purse, folder)?
        } else {
            purse.ask(&plan.claim(), &unit)?;
            let bought = discovery::search(&plan, &input.source, purse, unit, of_schema, asked.danger_seed)?;
            let receipt = Receipt::new(content).with(bought.reservation, purse)?;
            let purchase = Purchase { question, receipt, guarantee: Statement::from(&bought.guarantee) };
            folder.keep_record(&folder.purchase(), &purchase)?;
            folder.keep(&path, &bought.text)?;
            purchase.book(Digest::of(bought.text.as_bytes()), purse)?;
            bought.paid
        };
        Ok(Self { path, paid, delta, epsilon, rest })
    }

    /// The schema.
    pub(crate) fn schema(&self) -> Result<Schema, RunError> {
        schema_file::read(&self.path)
    }

    /// The settings of the training alone.
    pub(crate) fn settings(&self, asked: &Settings) -> Settings {
        let (schema, epsilon) = (Some(self.path.clone()), Some(self.epsilon));
        Settings { schema, epsilon, delta: self.rest.or(asked.delta), ..asked.clone() }
    }

    /// What is promised about schema and model together. The schema decides how many coordinates there are, and people may
    /// read it before they choose the rest.
    pub(crate) fn together(self, model: Release<Model>) -> Result<Release<Model>, RunError> {
        let guarantee = model.guarantee();
        let delta = if guarantee.metered { guarantee.delta } else { self.delta };
        Ok(model.after(self.paid, delta)?)
    }
}

/// δ of all, of the schema, and of the training where no ledger says it.
fn deltas(asked: &Settings, fraction: f64, purse: &Purse) -> Result<(Delta, Delta, Option<Delta>), RunError> {
    if let Some(terms) = purse.terms() {
        return Ok((terms.delta, terms.set_aside, None));
    }
    let delta = asked.delta.unwrap_or_else(discovery::default_delta);
    let part = Delta::new(delta.get() * fraction)?;
    Ok((delta, part, Some(Delta::new(delta.get() - part.get())?)))
}

/// What is kept beside a schema that was bought.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Purchase {
    /// Digest of all that the schema is an answer to, but the data.
    question: Digest,
    receipt: Receipt,
    guarantee: Statement,
}

impl Purchase {
    /// What was paid for the schema of an earlier run, if it answers this question about this data.
    fn kept(question: Digest, content: Digest, purse: &mut Purse, folder: &Folder) -> Result<Paid, RunError> {
        let path = folder.schema();
        let kept: Self = folder.kept(&folder.purchase())?;
        if kept.question != question {
            return Err(RunError::OtherSchemaBought { path });
        }
        let name = format!("`{}`", path.display());
        let text = std::fs::read(&path).map_err(|source| RunError::Read { name, source })?;
        let result = Digest::of(&text);
        if !kept.receipt.check_kept(content, purse, result)? {
            kept.book(result, purse)?;
        }
        let charges: Vec<u64> = kept.receipt.charges().collect();
        purse.paid(&charges, &kept.guarantee)
    }

    fn book(&self, result: Digest, purse: &mut Purse) -> Result<(), RunError> {
        self.receipt.book_last(purse, result)
    }
}
