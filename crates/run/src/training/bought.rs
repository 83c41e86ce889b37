//! `train --estimate-schema-with FRACTION`: a part of ε and δ buys the bounds and categories that
//! no schema declares, and the rest trains.
//!
//! The model's guarantee covers both releases. The schema is written to the working folder before
//! training starts, so that a run that fails or is killed does not pay for it twice. A later run
//! uses it only for the same question, about the same data, with the same ledger.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sordino_data::Schema;
use sordino_ledger::Digest;
use sordino_privacy::{Claim, Delta, Epsilon, Paid, Release, Statement};

use super::input::Input;
use crate::discovery::{self, Columns};
use crate::error::RunError;
use crate::folder::Folder;
use crate::model::Model;
use crate::purse::Purse;
use crate::receipt::Receipt;
use crate::schema_file;
use crate::settings::Settings;

/// A schema that was bought, with its guarantee.
pub(crate) struct Bought {
    path: PathBuf,
    paid: Paid,
    /// δ of schema and model together.
    delta: Delta,
    /// ε that is left for training.
    epsilon: Epsilon,
    /// δ that is left for training, if no ledger states it.
    rest: Option<Delta>,
}

impl Bought {
    /// Checks that columns to buy are named only with
    /// `--estimate-schema-with`, and that it is a fraction.
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

    /// Buys the schema, or takes the one that an earlier run has bought.
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
            Purchase::kept(question, content, &plan.claim(), purse, folder)?
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

    /// The model with the guarantee of schema and model together. The two compose
    /// adaptively: the schema decides the number of coordinates, and people may read it
    /// before they choose other settings.
    pub(crate) fn together(self, model: Release<Model>) -> Result<Release<Model>, RunError> {
        let guarantee = model.guarantee();
        let delta = if guarantee.metered { guarantee.delta } else { self.delta };
        Ok(model.after(self.paid, delta)?)
    }
}

/// δ of both together, δ of the schema, and δ of the training if no ledger states it.
fn deltas(asked: &Settings, fraction: f64, purse: &Purse) -> Result<(Delta, Delta, Option<Delta>), RunError> {
    if let Some(terms) = purse.terms() {
        return Ok((terms.delta, terms.set_aside, None));
    }
    let delta = asked.delta.unwrap_or_else(discovery::default_delta);
    let part = Delta::new(delta.get() * fraction)?;
    Ok((delta, part, Some(Delta::new(delta.get() - part.get())?)))
}

/// The record of a purchase, kept beside the schema.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Purchase {
    /// Digest of the question: columns, price, relation and what was declared; not of the data.
    question: Digest,
    receipt: Receipt,
    guarantee: Statement,
}

impl Purchase {
    /// Evidence of payment for the schema of an earlier run, if it answers this question about this
    /// data.
    fn kept(
        question: Digest,
        content: Digest,
        claim: &Claim,
        purse: &mut Purse,
        folder: &Folder,
    ) -> Result<Paid, RunError> {
        let path = folder.schema();
        let kept: Self = folder.kept(&folder.purchase())?;
        if kept.question != question {
            return Err(RunError::OtherSchemaBought { path });
        }
        let name = format!("`{}`", path.display());
        let text = std::fs::read(&path).map_err(|source| RunError::Read { name, source })?;
        let result = Digest::of(&text);
        let is_booked = kept.receipt.check_kept(content, purse, result)?;
        let charges: Vec<u64> = kept.receipt.charges().collect();
        let paid = purse.paid(&charges, &kept.guarantee)?;
        // Exactly one charge, and for this very search: no other open charge will do.
        if *paid.event() != claim.event {
            return Err(RunError::OtherSchemaBought { path });
        }
        if !is_booked {
            kept.book(result, purse)?;
        }
        Ok(paid)
    }

    fn book(&self, result: Digest, purse: &mut Purse) -> Result<(), RunError> {
        self.receipt.book_last(purse, result)
    }
}
