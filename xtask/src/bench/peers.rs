//! The Python environments of the peers. This program makes them below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// The variable that names an environment with the peers installed.
const PEERS_VARIABLE: &str = "SORDINO_PEERS";

/// A Python that has the peers: that of the environment that `SORDINO_PEERS` names, with whatever
/// versions it has, or of one made from PyPI with the versions of `bench/peers/<name>.txt`.
pub(crate) fn environment(name: &str) -> Result<PathBuf, Failure> {
    if let Some(folder) = std::env::var_os(PEERS_VARIABLE) {
        let python = python_of(Path::new(&folder));
        if !python.exists() {
            let place = python.display();
            return Err(Failure::usage(format!(
                "{PEERS_VARIABLE} must name a Python environment, but there is no {place}"
            )));
        }
        return Ok(python);
    }
    let requirements = run::root().join("bench/peers").join(name).with_extension("txt");
    let wanted =
        std::fs::read_to_string(&requirements).map_err(|error| Failure::file(&requirements, &error))?;
    let folder = run::target_dir().join(if name == "requirements" { "peers" } else { name });
    let python = python_of(&folder);
    // Written last, so that an incomplete environment is made again.
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
