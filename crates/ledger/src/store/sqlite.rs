//! The embedded store: one SQLite file.
//!
//! # Guarantee
//! Write-ahead log with `synchronous = FULL`: a commit returns after the log is on the disk (SQLite
//! documentation, "PRAGMA synchronous"). `BEGIN IMMEDIATE` takes the one write lock before anything
//! is read, so no two writers decide on the same history. A process killed at any point leaves a
//! committed entry or none.
//!
//! # Pitfalls
//! - Locks of network file systems are often broken: the file belongs on a local disk.
//! - The file alone, copied while in use, lacks what is in `-wal`; [`Store::backup`] copies one
//!   moment.
//! - Log and locks belong to a name: a file must have one name and no other ([`Place`]).

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::backup::Backup;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::Store;
use super::head::Witness;
use super::place::Place;
use crate::digest::Digest;
use crate::entry::{Head, Row};
use crate::error::LedgerError;

/// The application id in the header of the file: "SrdL".
const APPLICATION_ID: i64 = 0x5372_644c;

/// The triggers keep honest hands off; whoever means it is found by the chain.
const SCHEMA: [&str; 3] = [
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT",
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER entries_stay_as_they_are BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, \
     'append-only'); END",
];

/// How long to wait for another process, in seconds. A charge holds the lock for as long as
/// accounting takes.
const PATIENCE: u64 = 60;

/// The longest sleep between two attempts to get the lock, in milliseconds.
const MAX_PAUSE: u64 = 4;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    place: Place,
    witness: Witness,
    /// How the file looked when it was opened without locks and log.
    still: Option<Look>,
}

/// What changes when somebody writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    length: u64,
    changed: Option<SystemTime>,
    has_log: bool,
}

impl Look {
    fn at(path: &Path) -> Result<Self, LedgerError> {
        let wrap = |source| LedgerError::Io { doing: "open", path: path.to_owned(), source };
        let file = fs::metadata(path).map_err(wrap)?;
        Ok(Self { length: file.len(), changed: file.modified().ok(), has_log: log_of(path).exists() })
    }
}

impl Sqlite {
    /// A new file with its first rows. If one is there already, it is left alone.
    pub(crate) fn create(path: &Path, rows: &[Row], version: u32) -> Result<Self, LedgerError> {
        let witness = Witness::beside(path);
        if witness.path.exists() {
            return Err(LedgerError::Exists { path: witness.path });
        }
        reserve_name(path)?;
        let store = Self::connect(path)?;
        store.doing("create", |connection| {
            connection.pragma_update(None, "journal_mode", "wal")?;
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", version)?;
            SCHEMA.iter().try_for_each(|statement| transaction.execute_batch(statement))?;
            rows.iter().try_for_each(|row| insert(&transaction, row))?;
            transaction.commit()
        })?;
        rows.last().map_or(Ok(()), |last| store.witness.write(last.head()))?;
        Ok(store)
    }

    /// A file that was made by `create`.
    pub(crate) fn open(path: &Path) -> Result<Self, LedgerError> {
        not_empty(path)?;
        Self::connect(path)?.checked()
    }

    /// Opens a file that one may only read, in a folder that one may only read. SQLite then cannot
    /// make the files that readers of a log share. If there is no log, everything is in the file,
    /// which is then read without locks; [`Store::check_still`] tells whether it changed meanwhile.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, LedgerError> {
        not_empty(path)?;
        match Self::connect(path).and_then(Self::checked) {
            Err(LedgerError::Sqlite { source, .. }) if is_denied(&source) => {}
            opened => return opened,
        }
        let place = Place::find(path)?;
        let look = Look::at(place.path())?;
        if look.has_log {
            return Err(LedgerError::LogInUse { path: path.to_owned() });
        }
        let wrap = |source| LedgerError::Sqlite { doing: "open", path: path.to_owned(), source };
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let uri = format!("file:{}?immutable=1", uri_of(place.path()));
        let connection = Connection::open_with_flags(uri, flags).map_err(wrap)?;
        place.check()?;
        Self::prepared(connection, path, place, Some(look))?.checked()
    }

    fn connect(path: &Path) -> Result<Self, LedgerError> {
        // Symbolic links are followed once: log and witness belong beside the same file.
        let place = Place::find(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let wrap = |source| LedgerError::Sqlite { doing: "open", path: path.to_owned(), source };
        let mut connection = Connection::open_with_flags(place.path(), flags).map_err(wrap)?;
        connection.busy_handler(Some(wait_a_little)).map_err(wrap)?;
        // The file that was opened is the one that was found.
        place.check()?;
        Self::prepared(connection, path, place, None)
    }

    fn prepared(
        connection: Connection,
        path: &Path,
        place: Place,
        still: Option<Look>,
    ) -> Result<Self, LedgerError> {
        let witness = Witness::beside(place.path());
        let store = Self { connection, path: path.to_owned(), place, witness, still };
        store.doing("open", |connection| {
            connection.pragma_update(None, "synchronous", "full")?;
            // A file may come from anywhere: do not run what its schema says, and look at cells
            // before using them.
            connection.pragma_update(None, "trusted_schema", false)?;
            connection.pragma_update(None, "cell_size_check", true)
        })?;
        Ok(store)
    }

    fn checked(self) -> Result<Self, LedgerError> {
        self.check_header()?;
        self.check_schema()?;
        Ok(self)
    }

    fn check_header(&self) -> Result<(), LedgerError> {
        let id: i64 =
            self.doing("open", |c| c.pragma_query_value(None, "application_id", |row| row.get(0)))?;
        if id != APPLICATION_ID {
            return Err(LedgerError::NotALedger {
                path: self.path.clone(),
                detail: ": it is another database",
            });
        }
        self.check_version().map(drop)
    }

    /// Checked again under the lock of every charge: a newer program may have changed the file
    /// since it was opened.
    fn check_version(&self) -> Result<u32, LedgerError> {
        let found: i64 =
            self.doing("read", |c| c.pragma_query_value(None, "user_version", |row| row.get(0)))?;
        super::known_version(&self.path, found)
    }

    /// Another trigger or view could change what a statement does.
    fn check_schema(&self) -> Result<(), LedgerError> {
        let found = self.doing("read", |connection| {
            let mut statement = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid")?;
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()
        })?;
        if found != SCHEMA {
            return Err(self.damaged("its tables and triggers are not the ones a ledger has"));
        }
        Ok(())
    }

    /// Runs `work` and says in our words why it failed.
    fn doing<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LedgerError> {
        work(&self.connection).map_err(|source| self.failed(doing, source))
    }

    fn failed(&self, doing: &'static str, source: rusqlite::Error) -> LedgerError {
        let path = self.path.clone();
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => {
                LedgerError::NotALedger { path, detail: " or its header is damaged" }
            }
            Some(ErrorCode::DatabaseCorrupt) => self.damaged(&source.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                LedgerError::Busy { path, seconds: PATIENCE }
            }
            _ => LedgerError::Sqlite { doing, path, source },
        }
    }

    fn damaged(&self, detail: &str) -> LedgerError {
        LedgerError::Damaged { path: self.path.clone(), detail: detail.to_owned() }
    }

    fn row(&self, row: &rusqlite::Row<'_>, number: i64) -> Result<Row, LedgerError> {
        let broken = |reason: String| LedgerError::Broken { number: number.unsigned_abs(), reason };
        let body = row.get(1).map_err(|error| broken(error.to_string()))?;
        let hash: [u8; 32] = row.get(2).map_err(|error| broken(error.to_string()))?;
        Ok(Row { number: number.unsigned_abs(), body, hash: Digest::from_bytes(hash) })
    }
}

impl Store for Sqlite {
    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let failed = |source| self.failed("read", source);
        let mut statement = self
            .connection
            .prepare("SELECT number, body, hash FROM entries WHERE number >= ?1 ORDER BY number")
            .map_err(failed)?;
        let mut rows = statement.query([i64::try_from(from).unwrap_or(i64::MAX)]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let number = row.get(0).map_err(failed)?;
            each(self.row(row, number)?)?;
        }
        Ok(())
    }

    fn append(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
        next: &mut dyn FnMut() -> Result<(Row, u32), LedgerError>,
    ) -> Result<(), LedgerError> {
        let failed = |source| self.failed("write", source);
        // Rolled back when dropped, whatever goes wrong before the commit.
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).map_err(failed)?;
        self.place.check()?;
        let found = self.check_version()?;
        self.read(from, each)?;
        let (row, version) = next()?;
        insert(&transaction, &row).map_err(failed)?;
        if version != found {
            transaction.pragma_update(None, "user_version", version).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.witness.write(row.head())
    }

    fn version(&self) -> Result<u32, LedgerError> {
        self.check_version()
    }

    fn witness(&self) -> Result<Option<Head>, LedgerError> {
        self.witness.read()
    }

    fn backup(&self, to: &Path) -> Result<(), LedgerError> {
        if super::url(to).is_some() {
            return super::copy_rows(self, to);
        }
        reserve_name(to)?;
        copy(&self.connection, to).map_err(|source| {
            // Half a copy must not be taken for a whole one. The error of the copy is the one
            // reported.
            let _ = fs::remove_file(to);
            LedgerError::Sqlite { doing: "back up into", path: to.to_owned(), source }
        })
    }

    fn check(&self) -> Result<(), LedgerError> {
        let said: String =
            self.doing("read", |c| c.pragma_query_value(None, "integrity_check", |row| row.get(0)))?;
        if said == "ok" { Ok(()) } else { Err(self.damaged(said.trim())) }
    }

    fn check_still(&self) -> Result<(), LedgerError> {
        match self.still {
            Some(look) if Look::at(self.place.path())? != look => {
                Err(LedgerError::LogInUse { path: self.path.clone() })
            }
            _ => Ok(()),
        }
    }

    fn witness_path(&self) -> PathBuf {
        self.witness.path.clone()
    }
}

/// SQLite takes an empty file for an empty database.
fn not_empty(path: &Path) -> Result<(), LedgerError> {
    let file = fs::metadata(path);
    let length =
        file.map_err(|source| LedgerError::Io { doing: "open", path: path.to_owned(), source })?.len();
    if length > 0 {
        return Ok(());
    }
    let detail = ": it is empty (if it never was one, remove it)";
    Err(LedgerError::NotALedger { path: path.to_owned(), detail })
}

/// The right to write is missing.
fn is_denied(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A path as the URIs of SQLite spell it.
fn uri_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn insert(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    // A number beyond 2^63 does not convert, and is refused.
    let number =
        i64::try_from(row.number).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    connection
        .execute(
            "INSERT INTO entries (number, body, hash) VALUES (?1, ?2, ?3)",
            (number, &row.body, row.hash.bytes()),
        )
        .map(drop)
}

/// Somebody else has the lock, for the `attempts`-th time. SQLite's own handler sleeps for up to
/// 100 ms, which is the time of many charges.
fn wait_a_little(attempts: i32) -> bool {
    let pause = u64::from(attempts.unsigned_abs()).clamp(1, MAX_PAUSE);
    std::thread::sleep(Duration::from_millis(pause));
    u64::from(attempts.unsigned_abs()) * MAX_PAUSE < PATIENCE * 1000
}

/// Copies all pages as of one moment. It begins again if somebody writes meanwhile.
fn copy(from: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    target.pragma_update(None, "synchronous", "full")?;
    Backup::new(from, &mut target)?.run_to_completion(1024, Duration::from_millis(5), None)?;
    target.close().map_err(|(_, error)| error)
}

/// An empty file under a name that was free: no two processes make the same ledger.
fn reserve_name(path: &Path) -> Result<(), LedgerError> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(LedgerError::Exists { path: path.to_owned() })
        }
        Err(source) => Err(LedgerError::Io { doing: "create", path: path.to_owned(), source }),
    }
}
