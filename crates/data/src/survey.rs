//! The first pass over a file or a table: its digest, the number of records, what does not fit, and
//! the records that each unit keeps.
//!
//! # Guarantee
//! A survey never fails because of a record's values, only because of the file or the schema. The
//! second pass reads the same open file, keeps the records that the survey chose, and fails if the
//! bytes differ ([`DataError::Changed`]).

use std::fmt;

use crate::encoding::Encoding;
use crate::error::DataError;
use crate::misfit::Misfits;
use crate::schema::UnitRule;
use crate::source::{Door, Origin};

/// The columns that a survey checks.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Features and target of an encoding, for [`Loader::encoded`](crate::Loader::encoded).
    Encoding(&'a Encoding),
    /// Columns by name, for [`Loader::table`](crate::Loader::table).
    Columns(&'a [&'a str]),
}

/// The result of a first pass over a file. Only the owner may see it, until it is paid for or known
/// to be public.
///
/// ```no_run
/// use sordino_data::{Door, Loader, Schema, Source, Wanted};
/// let schema = Schema::from_toml(&std::fs::read_to_string("patients.toml")?)?;
/// let source = Source::open("patients.csv".as_ref(), schema.csv())?;
/// let loader = Loader::new(&source, &schema, Door::Strict);
/// let survey = loader.survey(Wanted::Columns(&["age"]), &mut sordino_noise::entropy()?)?;
/// survey.check()?; // only the owner may see this error
/// let table = loader.table(&["age"], &survey)?; // reads the bytes that `survey.content()` digests
/// # let _ = table;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Survey {
    pub(crate) origin: Origin,
    pub(crate) unit: UnitRule,
    pub(crate) door: Door,
    pub(crate) content: [u8; 32],
    pub(crate) slots: u64,
    pub(crate) misfits: Option<Misfits>,
    pub(crate) kept: Option<Kept>,
}

/// The records that units keep.
pub(crate) struct Kept {
    /// Whether each slot is kept.
    pub(crate) slots: Vec<bool>,
    /// The unit of each slot.
    pub(crate) owners: Vec<u64>,
}

impl Survey {
    /// The digest of the surveyed data; see [`Source::content`](crate::Source::content).
    pub fn content(&self) -> [u8; 32] {
        self.content
    }

    /// n, the number of slots, empty ones included. It is public under `zero_out` and `replace`.
    /// Under `add_remove` it is a statistic that must be paid for.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Checks that every record fits the schema. The error counts those that do not, by column and
    /// kind, and names the first row of each, so only the owner of the data may call this or see
    /// its result, unless it was paid for. Through the permissive door every record fits.
    pub fn check(&self) -> Result<(), DataError> {
        match (&self.misfits, self.slots) {
            (Some(misfits), _) => Err(misfits.error(self.origin.path())),
            (None, 0) if self.door == Door::Strict => {
                Err(DataError::NoRecords { path: self.origin.path().to_owned() })
            }
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Debug for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Survey").field("path", &self.origin.path()).finish_non_exhaustive()
    }
}
