//! `train --estimate-schema-with FRACTION`: a part of ε and δ buys the bounds and categories that no schema declares, and the rest trains.
//!
//! The model's guarantee is that of both releases together. The schema is kept in the working folder before anything else happens, so that a run
//! that fails, or is killed, does not pay for it twice.

use std::fs;
use std::path::PathBuf;

use sordino::prelude::*;
use sordino_data::Source;
use sordino_ledger::Digest;

use super::args::Settings;
use super::place::Place;
use super::subject::data_of;
use crate::args::default_delta;
use crate::error::Error;
use crate::purse::Purse;
use crate::schema::found::{self, Columns};

/// A schema that was bought, and what was promised about it.
pub(crate) struct Estimated {
    pub(crate) path: PathBuf,
    pub(crate) guarantee: Guarantee,
    /// δ of schema and model together.
    delta: Delta,
    /// What is left for training.
    epsilon: Epsilon,
    rest: Option<Delta>,
}

impl Estimated {
    /// Buys it, or takes that of an earlier run.
    pub(crate) fn buy(
        asked: &Settings,
        fraction: f64,
        purse: &mut Purse,
        place: &Place,
    ) -> Result<Self, Error> {
        let whole = asked.epsilon.ok_or(Error::NoSetting { flag: "--epsilon E" })?;
        let part = Epsilon::new(whole.get() * fraction)?;
        let (delta, of_schema, rest) = deltas(asked, fraction, purse)?;
        let known = found::known(asked.schema.as_deref(), b',')?;
        let source = Source::open(&data_of(asked)?, known.csv())?;
        let unit = known.unit().unit();
        let columns = Columns {
            numbers: asked.numbers.as_deref().unwrap_or_default(),
            categories: asked.categories.as_deref().unwrap_or_default(),
        };
        let plan = found::wanted(&columns, known, &source, purse.neighbours())?.plan(part, of_schema)?;
        let epsilon = Epsilon::new(whole.get() - part.get())?;
        let (path, promise) = (place.schema(), place.schema_guarantee());
        if path.exists() {
            let guarantee = read(&promise)?;
            return match guarantee.event == plan.event() && guarantee.neighbours == purse.neighbours() {
                true => Ok(Self { path, guarantee, delta, epsilon, rest }),
                false => Err(Error::OtherSchemaBought { path }),
            };
        }
        purse.ask(&plan.claim(), &unit)?;
        let bought = found::search(&plan, &source, purse, unit, of_schema, asked.danger_seed)?;
        let written = serde_json::to_string(&bought.guarantee).map_err(|error| unwritable(&error))?;
        place.keep(&promise, &written)?;
        place.keep(&path, &bought.text)?;
        if let Some(reservation) = bought.reservation {
            purse.book(reservation, Digest::of(bought.text.as_bytes()))?;
        }
        Ok(Self { path, guarantee: bought.guarantee, delta, epsilon, rest })
    }

    /// The settings of the training alone.
    pub(crate) fn settings(&self, asked: &Settings) -> Settings {
        let (schema, epsilon) = (Some(self.path.clone()), Some(self.epsilon));
        Settings { schema, epsilon, delta: self.rest.or(asked.delta), ..asked.clone() }
    }

    /// What is promised about schema and model together.
    pub(crate) fn together(&self, model: &Guarantee) -> Result<Guarantee, Error> {
        let delta = if model.metered { model.delta } else { self.delta };
        Ok(model.together_with(&self.guarantee, delta)?)
    }
}

/// δ of all, of the schema, and of the training where no ledger says it.
fn deltas(asked: &Settings, fraction: f64, purse: &Purse) -> Result<(Delta, Delta, Option<Delta>), Error> {
    if let Some(terms) = purse.terms() {
        return Ok((terms.delta, terms.set_aside, None));
    }
    let delta = asked.delta.unwrap_or_else(default_delta);
    let part = Delta::new(delta.get() * fraction)?;
    Ok((delta, part, Some(Delta::new(delta.get() - part.get())?)))
}

fn read(path: &PathBuf) -> Result<Guarantee, Error> {
    let name = format!("`{}`", path.display());
    let text = fs::read_to_string(path).map_err(|source| Error::Read { name, source })?;
    serde_json::from_str(&text).map_err(|error| unwritable(&error))
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::Unwritable { reason: error.to_string() }
}
