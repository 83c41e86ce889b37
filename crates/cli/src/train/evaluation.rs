//! How good a model is, on records that are declared public. On any others the answer would be one more release.

use std::path::PathBuf;

use sordino::noise::danger;
use sordino_data::{Encoded, Loader, Source};
use sordino_ledger::Digest;

use super::blueprint::Blueprint;
use crate::error::Error;
use crate::ledger::content;
use crate::model::Model;
use crate::purse::Purse;

pub(crate) struct PublicTest {
    pub(crate) path: PathBuf,
    data: Encoded,
}

impl PublicTest {
    /// Reads the records that `--public-test` names, by the encoding of the run. The table itself, and others that have a budget, are not public;
    /// what else is, the owner has to know.
    pub(crate) fn open(blueprint: &Blueprint, private: Digest, purse: &Purse) -> Result<Option<Self>, Error> {
        let Some(path) = &blueprint.settings.public_test else { return Ok(None) };
        let content = content(path)?;
        let budgets = purse.account().map(|account| account.ledger().data_sets()).transpose()?;
        let has_budget = budgets.unwrap_or_default().iter().any(|set| set.contents.contains(&content));
        if content == private || has_budget {
            return Err(Error::PrivateTest { path: path.clone() });
        }
        let source = Source::open(path, blueprint.subject.schema.csv())?;
        let loader = Loader::new(&source, &blueprint.subject.schema, blueprint.door());
        // Which records of a unit are kept protects nobody here: the same ones each time.
        let data = loader.read(&blueprint.subject.encoding, &mut danger::seeded(0))?;
        if !data.has_target() {
            let column = blueprint.target().to_owned();
            return Err(Error::NoPublicTarget { path: path.clone(), column });
        }
        Ok(Some(Self { path: path.clone(), data }))
    }

    pub(crate) fn rows(&self) -> u64 {
        self.data.slots() as u64
    }

    pub(crate) fn score(&self, model: &Model) -> Result<f64, Error> {
        model.score(&self.data)
    }
}
