//! A ledger is reached under a second name, which would have a log and locks of its own. A budget
//! of 1 once granted 0.9 under each.
#![cfg(unix)]

mod common;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{account, charge, folder, pure, terms, with_census};
use sordino_ledger::{Account, Ledger, LedgerError};

/// Tells [`charge_here`] which ledger it is to charge.
const LEDGER: &str = "SORDINO_TEST_LEDGER";

/// Is 0.9 granted to another process? SQLite shares locks between the names of a file within one
/// process.
fn is_granted_elsewhere(path: &Path) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "charge_here", "--ignored"]).env(LEDGER, path);
    child.output().unwrap().status.success()
}

#[test]
#[ignore = "run by the other tests, in a process of its own"]
fn charge_here() {
    let Some(path) = std::env::var_os(LEDGER) else { return };
    charge(&mut account(Path::new(&path), "bob").unwrap(), pure(0.9)).unwrap();
}

/// Why a charge was not recorded.
fn refused(account: &mut Account) -> String {
    let error = charge(account, pure(0.9)).unwrap_err();
    error.source().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn a_second_name_grants_nothing() {
    let folder = folder("second");
    let (path, link) = (folder.join("a.ledger"), folder.join("b.ledger"));
    with_census(&path, &terms(1.0));
    fs::hard_link(&path, &link).unwrap();
    assert!(!is_granted_elsewhere(&link) && !is_granted_elsewhere(&path));
    for name in [&path, &link] {
        let error = Ledger::open(name).unwrap_err();
        assert!(matches!(error, LedgerError::HardLinked { links: 2, .. }), "{error}");
        assert!(error.to_string().contains("-samefile"), "{error}");
    }
    // Without the second name it is the ledger that it was.
    fs::remove_file(&link).unwrap();
    assert!(is_granted_elsewhere(&path) && !is_granted_elsewhere(&path));
}

/// The link is made when the check at opening is past.
#[test]
fn a_name_that_is_given_later_grants_nothing_either() {
    let folder = folder("later");
    let (path, link) = (folder.join("a.ledger"), folder.join("b.ledger"));
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    fs::hard_link(&path, &link).unwrap();
    let elsewhere = is_granted_elsewhere(&link);
    let reason = refused(&mut ann);
    assert!(!elsewhere, "0.9 was granted under the other name");
    assert!(reason.contains("has 2 hard links"), "{reason}");
    // Nothing was written on the way.
    fs::remove_file(&link).unwrap();
    assert_eq!(ann.total().unwrap(), 0.0);
    charge(&mut ann, pure(0.9)).unwrap();
}

/// One name at a time, so that no link is ever counted twice: whoever has the old name open is
/// stopped.
#[test]
fn a_ledger_that_was_moved_under_an_open_account_is_not_continued() {
    let folder = folder("moved");
    let (path, other) = (folder.join("a.ledger"), folder.join("b.ledger"));
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    fs::rename(&path, &other).unwrap();
    assert!(refused(&mut ann).contains("no longer the file that was opened"));
    // Another ledger, or a link to the moved one, in its place is not it.
    fs::copy(&other, &path).unwrap();
    assert!(refused(&mut ann).contains("no longer the file that was opened"));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    assert!(refused(&mut ann).contains("no longer the file that was opened"));
    fs::remove_file(&path).unwrap();
    fs::rename(&other, &path).unwrap();
    charge(&mut ann, pure(0.9)).unwrap();
}

/// A symbolic link leads to the one name, wherever it is.
#[test]
fn symbolic_links_are_followed_to_one_budget() {
    let folder = folder("symbolic");
    let path = folder.join("a.ledger");
    with_census(&path, &terms(1.0));
    fs::create_dir(folder.join("elsewhere")).unwrap();
    let link = folder.join("elsewhere").join("b.ledger");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut ann = account(&path, "ann").unwrap();
    assert!(is_granted_elsewhere(&link));
    assert!(charge(&mut ann, pure(0.9)).is_err());
    assert!(!folder.join("elsewhere").join("b.ledger-head").exists());
}

/// `docker run -v a.ledger:/a.ledger` does this. A mounted folder is fine: the log is in it. Needs
/// the right to mount.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_mounted_by_itself_grants_nothing() {
    let folder = folder("mounted");
    let inside = folder.join("two words");
    fs::create_dir_all(&inside).unwrap();
    let (path, bound, whole) = (folder.join("a.ledger"), inside.join("a.ledger"), folder.join("whole"));
    with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    fs::write(&bound, "").unwrap();
    fs::create_dir(&whole).unwrap();
    let Some(mounted) = Mounted::bind(&path, &bound) else {
        return eprintln!("skipped: a mounted file, because this user cannot mount one");
    };
    let error = Ledger::open(&bound).unwrap_err();
    assert!(matches!(error, LedgerError::MountPoint { .. }), "{error}");
    drop(mounted);
    let _mounted = Mounted::bind(&folder, &whole).expect("a folder can be mounted where a file can");
    charge(&mut ann, pure(0.5)).unwrap();
    let mut bob = account(&whole.join("a.ledger"), "bob").unwrap();
    assert!(charge(&mut bob, pure(0.9)).is_err());
    charge(&mut bob, pure(0.5)).unwrap();
    assert_eq!(ann.total().unwrap(), 1.0);
    // SQLite keeps a file of one process open until its last lock on it is gone.
    drop((ann, bob));
}

/// A bind mount that ends with the test.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn bind(from: &Path, to: &'a Path) -> Option<Self> {
        let output = Command::new("mount").arg("--bind").arg(from).arg(to).output();
        output.is_ok_and(|output| output.status.success()).then_some(Self(to))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
