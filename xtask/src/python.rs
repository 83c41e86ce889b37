//! The Python package: `cargo xtask python` builds its wheel, and a check of `cargo xtask test`
//! builds it, installs it into an environment of its own and tests it there.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// The largest wheel, in bytes.
const MOST_BYTES: u64 = 12 << 20;
/// The stub of the native half, below `sordino/`.
const STUB: &str = "_sordino.pyi";
/// A program that needs numpy and nothing else.
const EXAMPLE: &str = "python/tests/typing/example_first_model.py";

/// `cargo xtask python`: the wheel as people install it, in `target/wheels`. With `--develop` the
/// package is installed into the active environment instead, and the stub is written anew. With
/// `--test` it is tested.
pub(crate) fn build(words: &[&str]) -> Result<(), Failure> {
    match words {
        [] => {
            let wheel = wheel(&environment("all")?, "release", &run::target_dir().join("wheels"))?;
            check_size(&wheel)?;
            println!("{}", wheel.display());
            Ok(())
        }
        ["--develop"] => develop(),
        ["--test"] => check(),
        _ => Err(Failure::usage(format!(
            "`python` takes --develop, --test or nothing, got `{}`",
            words.join(" ")
        ))),
    }
}

/// Builds the wheel with a fast profile, installs it beside numpy alone and beside all optional
/// packages, and runs its tests.
pub(crate) fn check() -> Result<(), Failure> {
    let all = environment("all")?;
    let wheel = wheel(&all, "dev", &run::target_dir().join("wheels-test"))?;
    let alone = environment("numpy")?;
    for environment in [&all, &alone] {
        install(environment, &wheel)?;
    }
    check_stub(&all)?;
    run::shown(Command::new(python_of(&alone)).arg(run::root().join(EXAMPLE)).current_dir(&alone))?;
    // Not `python -m pytest`: that would import the package from the sources, which have no native
    // half.
    let mut tests = Command::new(program(&all, "pytest"));
    tests.args(["--doctest-modules", "--pyargs", "sordino", "-p", "no:cacheprovider"]);
    tests.arg(run::root().join("python/tests")).current_dir(run::root().join("python/tests"));
    tests.args(["-c", "../pyproject.toml", "--rootdir", ".."]).env("PYTHONDONTWRITEBYTECODE", "1");
    // Pages of the book hand models from Python to the command.
    run::shown(run::cargo().args(["build", "--quiet", "--package", "sordino-cli"]))?;
    let command = format!("sordino{}", std::env::consts::EXE_SUFFIX);
    tests.env("SORDINO_COMMAND", run::target_dir().join("debug").join(command));
    let said = tests.output().map_err(|error| Failure::usage(format!("could not start pytest: {error}")))?;
    let text = String::from_utf8_lossy(&said.stdout);
    if !said.status.success() {
        return Err(Failure::check(format!("{text}{}", String::from_utf8_lossy(&said.stderr))));
    }
    println!("{}", text.lines().last().unwrap_or_default());
    Ok(())
}

/// Installs the package into the environment that is active, for work on it.
fn develop() -> Result<(), Failure> {
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let Some(active) = active else {
        return Err(Failure::usage(
            "activate a Python environment first: . ENVIRONMENT/bin/activate".to_owned(),
        ));
    };
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "maturin>=1.16,<2"];
    run::shown(Command::new(python_of(&active)).args(pip))?;
    let mut command = Command::new(program(&active, "maturin"));
    command.args(["develop", "--quiet", "--generate-stubs", "--manifest-path"]);
    run::shown(command.arg(manifest()).current_dir(run::root()))
}

/// Builds the wheel in a folder that holds nothing else.
pub(crate) fn wheel(environment: &Path, profile: &str, folder: &Path) -> Result<PathBuf, Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    }
    let mut command = Command::new(program(environment, "maturin"));
    command.args(["build", "--quiet", "--locked", "--profile", profile, "--interpreter"]);
    command.arg(python_of(environment)).arg("--manifest-path").arg(manifest());
    command.arg("--out").arg(folder).current_dir(run::root());
    if profile == "release" {
        command.arg("--strip");
    }
    run::shown(&mut command)?;
    let entries = fs::read_dir(folder).map_err(|error| Failure::file(folder, &error))?;
    let wheel =
        entries.flatten().map(|entry| entry.path()).find(|path| path.extension() == Some(OsStr::new("whl")));
    wheel.ok_or_else(|| Failure::check(format!("no wheel in {}", folder.display())))
}

fn check_size(wheel: &Path) -> Result<(), Failure> {
    let bytes = fs::metadata(wheel).map_err(|error| Failure::file(wheel, &error))?.len();
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Failure::check(format!("the wheel has {bytes} bytes, and at most {MOST_BYTES} are allowed")))
}

pub(crate) fn install(environment: &Path, wheel: &Path) -> Result<(), Failure> {
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"];
    run::shown(Command::new(python_of(environment)).args(pip).arg(wheel))
}

/// The stub in the sources must be the one that is made from the library.
fn check_stub(environment: &Path) -> Result<(), Failure> {
    let folder = run::target_dir().join("stub-test");
    let mut command = Command::new(program(environment, "maturin"));
    command.args(["generate-stubs", "--quiet", "--locked", "--profile", "dev", "--out"]).arg(&folder);
    command.arg("--manifest-path").arg(manifest()).arg("--interpreter").arg(python_of(environment));
    run::shown(command.current_dir(run::root()))?;
    let read = |path: PathBuf| fs::read_to_string(&path).map_err(|error| Failure::file(&path, &error));
    let made = read(found_below(&folder, STUB)?)?;
    if made == read(run::root().join("python/sordino").join(STUB))? {
        return Ok(());
    }
    Err(Failure::check(format!(
        "python/sordino/{STUB} is not that of the native half; write it anew with `cargo xtask python \
         --develop`"
    )))
}

/// A file of this name in a folder, or in a folder of it.
fn found_below(folder: &Path, name: &str) -> Result<PathBuf, Failure> {
    let direct = folder.join(name);
    if direct.exists() {
        return Ok(direct);
    }
    let entries = fs::read_dir(folder).map_err(|error| Failure::file(folder, &error))?;
    let inner = entries.flatten().map(|entry| entry.path().join(name)).find(|path| path.exists());
    inner.ok_or_else(|| Failure::check(format!("no {name} in {}", folder.display())))
}

fn manifest() -> PathBuf {
    run::root().join("python/Cargo.toml")
}

/// An environment outside of the checkout, with the packages of `python/tests/requirements.txt`, or
/// with numpy alone. It is made once for each list of packages.
pub(crate) fn environment(which: &str) -> Result<PathBuf, Failure> {
    let file = run::root().join("python/tests/requirements.txt");
    let text = fs::read_to_string(&file).map_err(|error| Failure::file(&file, &error))?;
    let wanted: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| which != "numpy" || line.starts_with("numpy=="))
        .collect();
    let mut hasher = DefaultHasher::new();
    (run::captured(Command::new("python3").arg("--version"))?, &wanted).hash(&mut hasher);
    let folder = std::env::temp_dir().join(format!("sordino-python-{which}-{:016x}", hasher.finish()));
    // Written last, so that an incomplete environment is made again.
    let stamp = folder.join("complete");
    if stamp.exists() && python_of(&folder).exists() {
        return Ok(folder);
    }
    eprintln!("making {} from PyPI", folder.display());
    run::shown(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run::shown(Command::new(python_of(&folder)).args(pip).args(&wanted))?;
    fs::write(&stamp, wanted.join("\n")).map_err(|error| Failure::file(&stamp, &error))?;
    Ok(folder)
}

pub(crate) fn python_of(environment: &Path) -> PathBuf {
    program(environment, "python")
}

fn program(environment: &Path, name: &str) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join(name).with_extension("exe")
    } else {
        environment.join("bin").join(name)
    }
}
