//! The data of a run, a file or a table in memory: opened once, under the owner's rules, and
//! surveyed in one pass.

use std::path::{Path, PathBuf};

use sordino_data::{DataError, Door, Encoded, Encoding, Loader, Schema, Source, Survey, Wanted};
use sordino_ledger::Digest;
use sordino_noise::{Bits, danger, entropy};
use sordino_privacy::Count;

use crate::access::Access;
use crate::error::RunError;
use crate::purse::Purse;
use crate::settings::Settings;

/// An open file or a table, with the schema that it is read by.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) source: Source,
    pub(crate) schema: Schema,
    pub(crate) door: Door,
    survey: Option<Survey>,
    seed: Option<u32>,
}

impl Input {
    /// Opens the file, or takes the table, after checking schema and seed against the owner's
    /// rules.
    pub(crate) fn open(
        settings: &Settings,
        table: Option<Source>,
        schema: Schema,
        access: &Access,
    ) -> Result<Self, RunError> {
        access.check_schema(&schema)?;
        access.check_seed(settings.danger_seed.is_some())?;
        let source = match table {
            Some(table) => table,
            None => Source::open(&data_of(settings)?, schema.csv())?,
        };
        access.check_source(&schema, &source)?;
        let door = access.door(settings.permissive);
        Ok(Self { source, schema, door, survey: None, seed: settings.danger_seed })
    }

    /// The same file with the schema that was bought for it. Needs a new survey.
    pub(crate) fn with_schema(self, schema: Schema) -> Self {
        Self { schema, survey: None, ..self }
    }

    /// The first pass over the file: its content, the number of records and, through the strict
    /// door, the first record that does not fit.
    pub(crate) fn survey(&mut self, encoding: &Encoding) -> Result<&Survey, RunError> {
        let mut bits: Box<dyn Bits> = match self.seed {
            // A stream apart from the noise, which is seeded with `seed` itself.
            Some(seed) => Box::new(danger::seeded(u64::from(seed) | 1 << 63)),
            None => Box::new(entropy()?),
        };
        let survey = self.loader().survey(Wanted::Encoding(encoding), &mut *bits)?;
        Ok(self.survey.insert(survey))
    }

    /// n, the number of surveyed records. Call it only where n is public.
    pub(crate) fn rows(&self) -> Result<Count, RunError> {
        match self.surveyed()?.slots() {
            0 => Err(DataError::NoRecords { path: self.path().to_owned() }.into()),
            slots => Ok(Count::new(slots)?),
        }
    }

    /// The digest of the file, if it was surveyed.
    pub(crate) fn content(&self) -> Option<[u8; 32]> {
        self.survey.as_ref().map(Survey::content)
    }

    /// Checks before the charge that the purse is for the surveyed file, that it has as many
    /// records as stated and, through the strict door, that all of them fit.
    pub(crate) fn check(&self, purse: &Purse, stated: u64) -> Result<(), RunError> {
        let survey = self.surveyed()?;
        if purse.content() != Some(Digest::from_bytes(survey.content())) {
            return Err(DataError::Changed { path: self.path().to_owned() }.into());
        }
        let counted = survey.slots();
        if stated != counted {
            return Err(RunError::OtherRows { data: self.path().to_owned(), stated, counted });
        }
        if self.door == Door::Strict {
            survey.check()?;
        }
        Ok(())
    }

    /// The second pass: encodes the records, from the bytes that were
    /// surveyed. Call it after the charge.
    pub(crate) fn read(&self, encoding: &Encoding) -> Result<Encoded, RunError> {
        Ok(self.loader().encoded(encoding, self.surveyed()?)?)
    }

    pub(crate) fn path(&self) -> &Path {
        self.source.path()
    }

    fn loader(&self) -> Loader<'_> {
        Loader::new(&self.source, &self.schema, self.door)
    }

    fn surveyed(&self) -> Result<&Survey, RunError> {
        // Every run surveys the file first, so this error does not occur.
        self.survey.as_ref().ok_or_else(|| DataError::Changed { path: self.path().to_owned() }.into())
    }
}

pub(crate) fn data_of(settings: &Settings) -> Result<PathBuf, RunError> {
    settings.data.clone().ok_or(RunError::Missing { setting: "DATA" })
}
