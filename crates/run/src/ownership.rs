//! The rules that the owner of a data set fixes with its budget: how the data is read, who owns it,
//! and what limits analysts.

use std::fs;
use std::io::{Error as IoError, ErrorKind};
use std::path::{Path, PathBuf};

use sordino_data::{Reading, Schema, Source};
use sordino_ledger::{Digest, Identity, Label, Ledger, LedgerError, Lock, Rules};
use sordino_privacy::{Epsilon, Unit};

use crate::error::RunError;
use crate::identity::table_identity;

/// What an owner states. Without a schema the data is a plain table with no ignored column.
#[derive(Clone, Debug)]
pub struct Ownership {
    /// How records are read, and the unit that they belong to.
    pub schema: Option<Schema>,
    /// Who may use the strict door.
    pub owner: Label,
    /// Further limits for analysts. A lock needs a schema.
    pub lock: Option<LockSettings>,
}

/// Limits for analysts of a locked data set.
#[derive(Clone, Debug)]
pub struct LockSettings {
    /// The allowed verbs, among `train`, `query` and `schema`.
    pub verbs: Vec<Label>,
    /// The largest ε of one charge.
    pub most: Epsilon,
    /// The only folder to which results are written; it must exist.
    pub folder: PathBuf,
}

impl Ownership {
    /// The rules for a ledger, and the unit that they protect. `unit` is the budget's unit, if it
    /// is known. With `data`, the rules fix the format of that file too.
    pub fn rules(&self, unit: Option<&Unit>, data: Option<&Path>) -> Result<(Rules, Unit), RunError> {
        let stated = self.schema.as_ref().map(|schema| schema.unit().unit());
        let unit = match (unit, stated) {
            (Some(unit), Some(stated)) if *unit != stated => return Err(RunError::other_unit(unit, &stated)),
            (Some(unit), _) => unit.clone(),
            (None, stated) => stated.unwrap_or(Unit::Record),
        };
        let mut reading =
            self.schema.as_ref().map_or_else(|| Reading::default_for(unit.clone()), Reading::of);
        if let Some(data) = data {
            reading = reading.clone().in_format(&Source::open(data, reading.csv())?);
        }
        let rules = Rules::new(reading.to_text()).map_err(LedgerError::from)?.owned_by(self.owner.clone());
        let rules = match &self.lock {
            Some(lock) => rules.locked(self.locked(lock)?),
            None => rules,
        };
        Ok((rules, unit))
    }

    /// Links the identity of the values, under the owner's schema, to the data set of this name.
    /// The same table in memory then spends from the budget of its file.
    pub fn link_values(&self, ledger: &Ledger, name: &Label, table: &Source) -> Result<Digest, RunError> {
        let schema = self.schema.as_ref().ok_or(RunError::Missing { setting: "--schema FILE" })?;
        link_values(ledger, name, table, schema)
    }

    fn locked(&self, lock: &LockSettings) -> Result<Lock, RunError> {
        let schema = self.schema.as_ref().ok_or(RunError::Missing { setting: "--schema FILE" })?;
        let digest = Digest::from_bytes(schema.digest());
        let LockSettings { verbs, most, folder } = lock.clone();
        Ok(Lock::new(digest, verbs, most, existing(&folder)?).map_err(LedgerError::from)?)
    }
}

/// Links the identity of a table's values under a schema to the data set of this name; see
/// [`Ownership::link_values`].
pub fn link_values(
    ledger: &Ledger,
    name: &Label,
    table: &Source,
    schema: &Schema,
) -> Result<Digest, RunError> {
    let content = table_identity(table, schema)?;
    ledger.link(&Identity { name: name.clone(), content })?;
    Ok(content)
}

/// The absolute path of an existing folder, so that it means the same in every working directory.
fn existing(folder: &Path) -> Result<PathBuf, RunError> {
    let failed = |source| RunError::Read { name: format!("`{}`", folder.display()), source };
    let place = fs::canonicalize(folder).map_err(failed)?;
    if place.is_dir() { Ok(place) } else { Err(failed(IoError::from(ErrorKind::NotADirectory))) }
}
