//! What a first pass over a file finds out: what is in it, how much of it there is, whether it fits, and what
//! units keep.
//!
//! # Guarantee
//! A survey never fails for what a record holds; only file and schema can make it fail. The second pass reads
//! the same open file, keeps what the survey chose, and fails if it does not find the same bytes
//! ([`DataError::Changed`]).

use std::fmt;

use crate::encoding::Encoding;
use crate::error::DataError;
use crate::misfit::Misfit;
use crate::schema::UnitRule;
use crate::source::Door;
use crate::source::kept::KeptFile;

/// For which columns records are checked.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// Features and target of an encoding, as [`Loader::encoded`](crate::Loader::encoded) reads them.
    Encoding(&'a Encoding),
    /// Columns by their names, as [`Loader::table`](crate::Loader::table) reads them.
    Columns(&'a [&'a str]),
}

/// What a first pass over a file found out. Nothing of it is for other eyes than the owner's until it is paid
/// for or known to be public.
///
/// ```no_run
/// use sordino_data::{Door, Loader, Schema, Source, Wanted};
/// let schema = Schema::from_toml(&std::fs::read_to_string("patients.toml")?)?;
/// let source = Source::open("patients.csv".as_ref(), schema.csv())?;
/// let loader = Loader::new(&source, &schema, Door::Strict);
/// let survey = loader.survey(Wanted::Columns(&["age"]), &mut sordino_noise::entropy()?)?;
/// survey.check()?; // whoever runs this is the owner
/// let table = loader.table(&["age"], &survey)?; // of the bytes that `survey.content()` digests
/// # let _ = table;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Survey {
    pub(crate) file: KeptFile,
    pub(crate) unit: UnitRule,
    pub(crate) door: Door,
    pub(crate) content: [u8; 32],
    pub(crate) slots: u64,
    pub(crate) misfit: Option<Misfit>,
    pub(crate) kept: Option<Kept>,
}

/// What is kept of units.
pub(crate) struct Kept {
    /// Whether a slot is.
    pub(crate) slots: Vec<bool>,
    /// The unit of each slot.
    pub(crate) owners: Vec<u64>,
}

impl Survey {
    /// What identifies the data that was surveyed: see [`Source::content`](crate::Source::content).
    pub fn content(&self) -> [u8; 32] {
        self.content
    }

    /// n: how many slots there are, empty ones included. Public under `zero_out` and `replace`; under
    /// `add_remove` it is a statistic that must be paid for.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Whether every record has its place in the schema; names row and column of the first that has none.
    /// Through the strict door only, and so for the data's owner alone: whoever else calls it, or is told
    /// what it says, must have paid. Through the permissive door every record has its place.
    pub fn check(&self) -> Result<(), DataError> {
        match (&self.misfit, self.slots) {
            (Some(misfit), _) => Err(misfit.error(self.file.path())),
            (None, 0) if self.door == Door::Strict => {
                Err(DataError::NoRecords { path: self.file.path().to_owned() })
            }
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Debug for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Survey").field("path", &self.file.path()).finish_non_exhaustive()
    }
}
