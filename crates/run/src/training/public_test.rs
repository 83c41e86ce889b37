//! Scores a model on records that are declared public. A score on private records would be one more release.

use std::path::PathBuf;

use sordino_data::{Encoded, Loader, Source};
use sordino_ledger::Digest;
use sordino_noise::danger;

use super::plan::Plan;
use crate::error::RunError;
use crate::model::Model;
use crate::purse::Purse;

/// Records that were declared public.
#[derive(Debug)]
pub struct PublicTest {
    /// Their file.
    pub path: PathBuf,
    data: Encoded,
}

impl PublicTest {
    /// Reads the records that `--public-test` names, by the encoding of the run. Refuses the private table
    /// itself and every table that has a budget in the ledger. Whether other records are public is for the
    /// owner to know.
    pub(crate) fn open(plan: &Plan, purse: &Purse) -> Result<Option<Self>, RunError> {
        let Some(path) = &plan.settings.public_test else { return Ok(None) };
        let source = Source::open(path, plan.subject.schema.csv())?;
        let content = Digest::from_bytes(source.content()?);
        let budgets = purse.account().map(|account| account.ledger().data_sets()).transpose()?;
        let has_budget = budgets.unwrap_or_default().iter().any(|set| set.contents.contains(&content));
        // Private images are private beside other labels, too.
        let files = plan.input.source.digests()?;
        let has_private_file = source.digests()?.iter().any(|digest| files.contains(digest));
        if Some(content) == purse.content() || has_budget || has_private_file {
            return Err(RunError::PrivateTest { path: path.clone() });
        }
        let loader = Loader::new(&source, &plan.subject.schema, plan.input.door);
        // The records are public, so the choice of a unit's records may be repeatable.
        let data = loader.read(&plan.subject.encoding, &mut danger::seeded(0))?;
        if !data.has_target() {
            let column = plan.target().to_owned();
            return Err(RunError::NoPublicTarget { path: path.clone(), column });
        }
        Ok(Some(Self { path: path.clone(), data }))
    }

    /// The number of records.
    pub fn rows(&self) -> u64 {
        self.data.slots() as u64
    }

    /// The score of a model.
    pub fn score(&self, model: &Model) -> Result<f64, RunError> {
        model.score(&self.data)
    }

    /// The records with the score of a model.
    pub(crate) fn scored(self, model: &Model) -> Result<(Self, f64), RunError> {
        let score = self.score(model)?;
        Ok((self, score))
    }
}
