//! The store for teams: two tables in a PostgreSQL database.
//!
//! # Guarantee
//! Each charge is one transaction that first takes an advisory lock of the table: it waits for
//! every other writer, and under `READ COMMITTED` all that is read after it is all there is
//! (PostgreSQL documentation, "Explicit Locking" and "Transaction Isolation"). Whoever writes
//! without the lock cannot take a number twice: it is the primary key, and the later of two
//! transactions fails. With `synchronous_commit = on`, set by every session, a commit returns after
//! the server's log is on its disk. A server that runs with `fsync = off` could forget a charge and
//! is refused. A process killed at any point leaves a committed entry or none; if a connection
//! breaks during a commit there is no permit, and the charge may be spent.
//!
//! # Pitfalls
//! - The connection is not encrypted. Use a socket, the loopback interface or a tunnel.
//! - There is no witness beside the database: a database restored from an older dump has lost
//!   charges, and only a head that was kept elsewhere tells. Whoever administers the database is
//!   the operator of the threat model.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, Config, GenericClient, IsolationLevel, NoTls, Transaction};

use super::{Store, known_version, shown};
use crate::digest::Digest;
use crate::entry::{Head, Row};
use crate::error::LedgerError;

/// The triggers keep honest hands off; whoever means it is found by the chain.
const SCHEMA: &str = "
CREATE TABLE sordino_ledger (format_version integer NOT NULL);
CREATE TABLE sordino_entries (number bigint PRIMARY KEY, body text NOT NULL, hash bytea NOT NULL);
CREATE FUNCTION sordino_entries_stay() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'append-only'; END $$;
CREATE TRIGGER sordino_entries_stay BEFORE UPDATE OR DELETE ON sordino_entries
    FOR EACH ROW EXECUTE FUNCTION sordino_entries_stay();
CREATE TRIGGER sordino_entries_stay_all BEFORE TRUNCATE ON sordino_entries
    FOR EACH STATEMENT EXECUTE FUNCTION sordino_entries_stay();";

/// Settings of every session; the defaults of the server may be weaker.
const SESSION: &str =
    "SET synchronous_commit TO on; SET lock_timeout TO '60s'; SET client_encoding TO 'UTF8'";

/// Holds until the transaction ends. Locking the table itself would need the right to change its
/// rows, which analysts should not have. The first number is "SrdL".
const LOCK: &str = "SELECT pg_advisory_xact_lock(1400005708, 'sordino_entries'::regclass::oid::integer)";

/// How long to wait for another process, in seconds, as `SESSION` says.
const PATIENCE: u64 = 60;

pub(super) struct Postgres {
    client: RefCell<Client>,
    /// The URL without its password.
    place: String,
}

/// A new ledger in a database that has none.
pub(super) fn create(url: &str, rows: &[Row], version: u32) -> Result<Box<dyn Store>, LedgerError> {
    let store = Postgres::connect(url)?;
    if store.has_tables()? {
        return Err(LedgerError::Exists { path: store.place.into() });
    }
    store.doing("create", |client| {
        let mut transaction = client.transaction()?;
        transaction.batch_execute(SCHEMA)?;
        set_version(&mut transaction, "INSERT INTO sordino_ledger (format_version) VALUES ($1)", version)?;
        for row in rows {
            insert(&mut transaction, row)?;
        }
        transaction.commit()
    })?;
    Ok(Box::new(store))
}

/// A ledger that was made by `create`.
pub(super) fn open(url: &str) -> Result<Box<dyn Store>, LedgerError> {
    let store = Postgres::connect(url)?;
    if !store.has_tables()? {
        return Err(LedgerError::NotALedger {
            path: store.place.into(),
            detail: ": the database has no such tables",
        });
    }
    store.version()?;
    Ok(Box::new(store))
}

/// Does the database have a ledger?
pub(super) fn exists(url: &str) -> Result<bool, LedgerError> {
    Postgres::connect(url)?.has_tables()
}

impl Postgres {
    fn connect(url: &str) -> Result<Self, LedgerError> {
        let place = shown(url);
        let wrap = |error: postgres::Error| LedgerError::Postgres {
            doing: "connect to",
            place: place.clone(),
            detail: words(&error),
        };
        let mut config = Config::from_str(url).map_err(wrap)?;
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        config.application_name("sordino").connect_timeout(Duration::from_secs(10));
        let mut client = config.connect(NoTls).map_err(wrap)?;
        client.batch_execute(SESSION).map_err(wrap)?;
        let fsync: String = client.query_one("SHOW fsync", &[]).map_err(wrap)?.get(0);
        if fsync != "on" {
            let detail = "the server runs with fsync = off, so that a crash may forget charges".to_owned();
            return Err(LedgerError::Postgres { doing: "use", place, detail });
        }
        Ok(Self { client: RefCell::new(client), place })
    }

    fn has_tables(&self) -> Result<bool, LedgerError> {
        self.doing("read", |client| {
            let row = client.query_one("SELECT to_regclass('sordino_entries') IS NOT NULL", &[])?;
            row.try_get(0)
        })
    }

    /// Runs `work` and says in our words why it failed.
    fn doing<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, LedgerError> {
        work(&mut self.client.borrow_mut()).map_err(|error| self.failed(doing, &error))
    }

    fn failed(&self, doing: &'static str, error: &postgres::Error) -> LedgerError {
        if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return LedgerError::Busy { path: self.place.clone().into(), seconds: PATIENCE };
        }
        LedgerError::Postgres { doing, place: self.place.clone(), detail: words(error) }
    }

    fn version_of(&self, client: &mut impl GenericClient) -> Result<u32, LedgerError> {
        let row = client.query_one("SELECT format_version FROM sordino_ledger", &[]);
        let found: i32 = row.and_then(|row| row.try_get(0)).map_err(|error| self.failed("read", &error))?;
        known_version(Path::new(&self.place), found.into())
    }

    fn rows(
        &self,
        client: &mut impl GenericClient,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let query = "SELECT number, body, hash FROM sordino_entries WHERE number >= $1 ORDER BY number";
        for row in client.query(query, &[&from]).map_err(|error| self.failed("read", &error))? {
            each(read(&row)?)?;
        }
        Ok(())
    }
}

impl Store for Postgres {
    fn read(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.rows(&mut *self.client.borrow_mut(), from, each)
    }

    fn append(
        &self,
        from: u64,
        each: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
        next: &mut dyn FnMut() -> Result<(Row, u32), LedgerError>,
    ) -> Result<(), LedgerError> {
        let failed = |error: postgres::Error| self.failed("write", &error);
        let mut client = self.client.borrow_mut();
        // Rolled back when dropped, whatever goes wrong before the commit.
        let mut transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::ReadCommitted)
            .start()
            .map_err(failed)?;
        transaction.batch_execute(LOCK).map_err(failed)?;
        let found = self.version_of(&mut transaction)?;
        self.rows(&mut transaction, from, each)?;
        let (row, version) = next()?;
        insert(&mut transaction, &row).map_err(failed)?;
        if version != found {
            set_version(&mut transaction, "UPDATE sordino_ledger SET format_version = $1", version)
                .map_err(failed)?;
        }
        // A rule or trigger of the database may have written something else, or nothing.
        let mut is_written = false;
        self.rows(&mut transaction, row.number, &mut |found| {
            is_written = found == row;
            Ok(())
        })?;
        if !is_written {
            let detail = "the database did not keep the entry as it was written".to_owned();
            return Err(LedgerError::Postgres { doing: "write", place: self.place.clone(), detail });
        }
        transaction.commit().map_err(failed)
    }

    fn version(&self) -> Result<u32, LedgerError> {
        self.version_of(&mut *self.client.borrow_mut())
    }

    fn witness(&self) -> Result<Option<Head>, LedgerError> {
        Ok(None)
    }

    fn backup(&self, to: &Path) -> Result<(), LedgerError> {
        super::copy_rows(self, to)
    }

    /// The server looks after its own pages.
    fn check(&self) -> Result<(), LedgerError> {
        self.version().map(drop)
    }

    fn witness_path(&self) -> PathBuf {
        self.place.clone().into()
    }
}

/// The client's own form would show the password.
impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("place", &self.place).finish_non_exhaustive()
    }
}

fn insert(transaction: &mut Transaction<'_>, row: &Row) -> Result<(), postgres::Error> {
    // A number beyond 2^63 would be 2^63 - 1 here, which does not follow its predecessor and is not
    // read back.
    let number = i64::try_from(row.number).unwrap_or(i64::MAX);
    let statement = "INSERT INTO sordino_entries (number, body, hash) VALUES ($1, $2, $3)";
    transaction.execute(statement, &[&number, &row.body, &row.hash.bytes().as_slice()]).map(drop)
}

fn set_version(
    transaction: &mut Transaction<'_>,
    statement: &str,
    version: u32,
) -> Result<(), postgres::Error> {
    // Versions are small numbers.
    let version = i32::try_from(version).unwrap_or(i32::MAX);
    transaction.execute(statement, &[&version]).map(drop)
}

fn read(row: &postgres::Row) -> Result<Row, LedgerError> {
    let number: i64 =
        row.try_get(0).map_err(|error| LedgerError::Broken { number: 0, reason: words(&error) })?;
    let number = number.unsigned_abs();
    let broken = |reason: String| LedgerError::Broken { number, reason };
    let body = row.try_get(1).map_err(|error| broken(words(&error)))?;
    let hash: &[u8] = row.try_get(2).map_err(|error| broken(words(&error)))?;
    let hash = hash.try_into().map_err(|_| broken(format!("its hash has {} bytes", hash.len())))?;
    Ok(Row { number, body, hash: Digest::from_bytes(hash) })
}

/// The message of the server, not only the fact that it failed.
fn words(error: &postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}
