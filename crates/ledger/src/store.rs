//! Where entries are kept.

mod head;
mod sqlite;

use std::path::Path;

pub(crate) use self::sqlite::Sqlite;
use crate::entry::{Head, Row};
use crate::error::LedgerError;

/// Rows in order, and one lock that all writers share. It stores; it knows nothing of budgets.
///
/// # Contract
/// - Rows are numbered from 1 without gaps, and never change.
/// - `append` is one step for everyone who shares the store: rows that it shows are all there are until it
///   returns, and what it returned `Ok` for survives the loss of power a moment later.
pub(crate) trait Store: std::fmt::Debug + Send {
    /// Hands over every row from number `from` on, in order.
    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Under the lock: hands over every row from number `from` on, then appends the row that `next` makes.
    fn append(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
        next: &mut dyn FnMut() -> Result<Row, LedgerError>,
    ) -> Result<(), LedgerError>;

    /// The last row that was ever known to be stored, if something remembers it.
    fn witness(&self) -> Result<Option<Head>, LedgerError>;

    /// A copy of one moment, as a file of its own that must not exist.
    fn backup(&self, to: &Path) -> Result<(), LedgerError>;

    /// Is the container sound, apart from what is in it?
    fn check(&self) -> Result<(), LedgerError>;

    /// What an operator looks at when rows are missing.
    fn witness_path(&self) -> &Path;
}
