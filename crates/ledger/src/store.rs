//! Where entries are kept.

mod head;
mod place;
#[cfg(feature = "postgresql")]
mod postgres;
mod sqlite;

use std::path::{Path, PathBuf};

use self::sqlite::Sqlite;
use crate::FORMAT_VERSION;
use crate::entry::{Head, Row};
use crate::error::LedgerError;

/// Rows in order, a version, and one lock that all writers share. It stores; it knows nothing of
/// budgets.
///
/// # Contract
/// - Rows are numbered from 1 without gaps, and never change.
/// - `append` is one step for everyone who shares the store: rows that it shows are all there are
///   until it returns, and what it returned `Ok` for survives the loss of power a moment later.
/// - A store whose version is newer than this program's is not read and not written.
pub(crate) trait Store: std::fmt::Debug + Send {
    /// Hands over every row from number `from` on, in order.
    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Takes the lock, hands over every row from number `from` on, appends the row that `next`
    /// makes, and sets the version that comes with it.
    fn append(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
        next: &mut dyn FnMut() -> Result<(Row, u32), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// The format version that it states.
    fn version(&self) -> Result<u32, LedgerError>;

    /// The last row that was ever known to be stored, if something remembers it.
    fn witness(&self) -> Result<Option<Head>, LedgerError>;

    /// Copies the store as it is at one moment to a new place, which must be empty.
    fn backup(&self, to: &Path) -> Result<(), LedgerError>;

    /// Is the container sound? Its contents are checked elsewhere.
    fn check(&self) -> Result<(), LedgerError>;

    /// Fails if what was read may be no moment of the store, because somebody has written since it
    /// was opened without locks.
    fn check_still(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The place that an operator should inspect when rows are missing.
    fn witness_path(&self) -> PathBuf;
}

/// A new store with its first rows. What is there already is left alone.
pub(crate) fn create(place: &Path, rows: &[Row], version: u32) -> Result<Box<dyn Store>, LedgerError> {
    match url(place) {
        Some(url) => database::create(url, rows, version),
        None => Ok(Box::new(Sqlite::create(place, rows, version)?)),
    }
}

/// A store that was made by `create`.
pub(crate) fn open(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match url(place) {
        Some(url) => database::open(url),
        None => Ok(Box::new(Sqlite::open(place)?)),
    }
}

/// Opens it for reading only; the right to write is not needed.
pub(crate) fn open_to_read(place: &Path) -> Result<Box<dyn Store>, LedgerError> {
    match url(place) {
        Some(url) => database::open(url),
        None => Ok(Box::new(Sqlite::open_to_read(place)?)),
    }
}

/// Is something there?
pub(crate) fn exists(place: &Path) -> Result<bool, LedgerError> {
    match url(place) {
        Some(url) => database::exists(url),
        None => Ok(place.exists()),
    }
}

/// A version that this program understands.
fn known_version(place: &Path, found: i64) -> Result<u32, LedgerError> {
    let other = LedgerError::OtherVersion { path: place.to_owned(), found, known: FORMAT_VERSION };
    u32::try_from(found).ok().filter(|version| (1..=FORMAT_VERSION).contains(version)).ok_or(other)
}

/// Copies row by row, for stores that have nothing better or go elsewhere.
fn copy_rows(from: &dyn Store, to: &Path) -> Result<(), LedgerError> {
    let (version, mut rows) = (from.version()?, Vec::new());
    from.read(1, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    create(to, &rows, version).map(drop)
}

/// A database, and not a file.
fn url(place: &Path) -> Option<&str> {
    place.to_str().filter(|text| text.starts_with("postgres://") || text.starts_with("postgresql://"))
}

/// A URL as it may be shown: without the password.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (place, options) = rest.split_once('?').map_or((rest, ""), |(place, _)| (place, "?…"));
    match place.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}@{host}{options}")
        }
        None => format!("{scheme}://{place}{options}"),
    }
}

#[cfg(feature = "postgresql")]
use self::postgres as database;

#[cfg(not(feature = "postgresql"))]
mod database {
    use super::{LedgerError, Row, Store, shown};

    pub(super) fn create(url: &str, _: &[Row], _: u32) -> Result<Box<dyn Store>, LedgerError> {
        Err(LedgerError::NoPostgres { place: shown(url) })
    }

    pub(super) fn open(url: &str) -> Result<Box<dyn Store>, LedgerError> {
        Err(LedgerError::NoPostgres { place: shown(url) })
    }

    pub(super) fn exists(url: &str) -> Result<bool, LedgerError> {
        Err(LedgerError::NoPostgres { place: shown(url) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages end in logs.
    #[test]
    fn a_password_is_never_shown() {
        for (url, expected) in [
            ("postgres://ann:s3cret@host:5432/db", "postgres://ann@host:5432/db"),
            ("postgres://ann:p@ss@host/db", "postgres://ann@host/db"),
            ("postgresql://host/db?password=s3cret&user=ann", "postgresql://host/db?…"),
            ("postgres://ann@host/db", "postgres://ann@host/db"),
        ] {
            assert_eq!(url_shown(url), expected);
        }
        assert!(url(Path::new("/srv/postgres.ledger")).is_none());
    }

    fn url_shown(text: &str) -> String {
        shown(url(Path::new(text)).unwrap())
    }
}
