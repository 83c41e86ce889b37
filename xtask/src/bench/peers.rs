//! Python environments of the peers: made by this program, thrown away with the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// Names an environment that has the peers already.
const READY: &str = "SORDINO_PEERS";

/// The Python that has the peers at the versions of `bench/peers/<name>.txt`: of the
/// environment that `SORDINO_PEERS` names, whose versions are its owner's business,
/// or of one that is made from PyPI.
pub(crate) fn environment(name: &str) -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os(READY) {
        let python = python_of(Path::new(&folder));
        if !python.exists() {
            let place = python.display();
            return Err(Failure::usage(format!(
                "{READY} must name a Python environment, but there is no {place}"
            )));
        }
        return Ok(python);
    }
    let requirements = run::root().join("bench/peers").join(name).with_extension("txt");
    let wanted =
        std::fs::read_to_string(&requirements).map_err(|error| Failure::file(&requirements, &error))?;
    let folder = run::target_dir().join(if name == "requirements" { "peers" } else { name });
    let python = python_of(&folder);
    // Written last, so an environment whose making was cut short is made again.
    let stamp = folder.join("requirements.installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) && python.exists() {
        return Ok(python);
    }
    eprintln!("making {} from PyPI", folder.display());
    run::shown(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    run::shown(Command::new(&python).args(install).arg(&requirements))?;
    std::fs::write(&stamp, wanted).map_err(|error| Failure::file(&stamp, &error))?;
    Ok(python)
}

fn python_of(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}
