//! The Python environment of the peers: made by this program, thrown away with the target directory.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// The Python that has the peers at the versions of `bench/peers/requirements.txt`.
pub(crate) fn environment() -> Result<PathBuf, Failure> {
    let requirements = run::root().join("bench/peers/requirements.txt");
    let wanted =
        std::fs::read_to_string(&requirements).map_err(|error| Failure::file(&requirements, &error))?;
    let folder = run::target_dir().join("peers");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
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
