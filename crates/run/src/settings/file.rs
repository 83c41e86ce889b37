//! Settings from a file, and the settings of a run as a file again.
//!
//! A file names settings as `clip_norm` or `clip-norm`. Settings that are given by flags
//! or in code win over the file. Both become TOML tables and are merged, so a new field
//! of [`Settings`] needs no line here.

use std::fs;
use std::path::{Path, PathBuf};

use sordino_spelling::{hint, name as shown};
use toml::Table;

use super::{LearnerSettings, Settings};
use crate::error::RunError;

/// The longest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The settings in the file, overridden by `given`.
pub fn merged(given: Settings, path: Option<&Path>) -> Result<Settings, RunError> {
    let Some(path) = path else { return Ok(given) };
    let mut settings = read(path)?;
    settings.extend(table(&given)?);
    settings_of(settings, path)
}

/// The settings in a file's text.
pub fn parsed(text: &str, path: &Path) -> Result<Settings, RunError> {
    settings_of(known_table(text, path)?, path)
}

/// The settings in a JSON object, whose nulls are settings that are not given. For front ends that
/// pass keyword arguments on.
pub fn from_json(text: &str) -> Result<Settings, RunError> {
    let place = Path::new("settings");
    let unsound = |error: serde_json::Error| {
        wrong(place, format!("it is no JSON object: line {}, column {}", error.line(), error.column()))
    };
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).map_err(unsound)?;
    let names = names();
    let mut table = Table::new();
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        let value = toml::Value::try_from(value).map_err(|error| wrong(place, error.to_string()))?;
        table.insert(known(place, &name, &names)?, value);
    }
    settings_of(table, place)
}

/// The settings as a file that can be read again.
pub fn text(settings: &Settings) -> Result<String, RunError> {
    let table = table(settings)?;
    Ok(format!(
        "# Every setting of this run, defaults included. `sordino train --config FILE` reads it.\n{table}"
    ))
}

/// The settings for a page that is handed out: files by name, without their folders.
pub fn without_folders(settings: &Settings) -> Result<String, RunError> {
    let mut shown = settings.clone();
    let Settings { data, schema, public_test, out, report, payment, learner, .. } = &mut shown;
    let paths = [data, schema, public_test, out, report, &mut payment.ledger];
    paths.into_iter().flatten().for_each(|path| *path = file_name(path));
    if let Some(model) = &mut learner.model {
        *model = file_name(Path::new(model)).to_string_lossy().into_owned();
    }
    Ok(format!(
        "# Every setting of this run, defaults included; files without their folders.\n{}",
        table(&shown)?
    ))
}

/// The name of the first setting that is given.
pub(crate) fn first_given(settings: &LearnerSettings) -> Result<Option<String>, RunError> {
    let table =
        Table::try_from(settings).map_err(|error| RunError::Unwritable { reason: error.to_string() })?;
    Ok(table.keys().next().cloned())
}

fn settings_of(table: Table, path: &Path) -> Result<Settings, RunError> {
    table.try_into().map_err(|error: toml::de::Error| {
        // The last line of a longer message says where the value stands.
        let text = error.to_string();
        let place = text.lines().last().filter(|line| line.starts_with("in `")).unwrap_or_default();
        wrong(path, format!("{} {place}", without_values(error.message())))
    })
}

fn file_name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.to_owned(), PathBuf::from)
}

fn table(settings: &Settings) -> Result<Table, RunError> {
    Table::try_from(settings).map_err(|error| RunError::Unwritable { reason: error.to_string() })
}

fn read(path: &Path) -> Result<Table, RunError> {
    let failed = |source| RunError::Read { name: format!("`{}`", path.display()), source };
    if fs::metadata(path).map_err(failed)?.len() > MAX_FILE_BYTES {
        return Err(wrong(path, format!("it has more than {MAX_FILE_BYTES} bytes")));
    }
    known_table(&fs::read_to_string(path).map_err(failed)?, path)
}

/// The table in a text, if all of its names are those of settings.
fn known_table(text: &str, path: &Path) -> Result<Table, RunError> {
    let table: Table = text.parse().map_err(|error| wrong(path, syntax(text, &error)))?;
    let names = names();
    table.into_iter().map(|(name, value)| Ok((known(path, &name, &names)?, value))).collect()
}

/// Says where a text stops being TOML. Does not show the line: the user may name a
/// file that only this process may read.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let (line, column) =
        (before.lines().count().max(1), before.lines().last().map_or(0, |line| line.chars().count()) + 1);
    format!("it is no TOML: line {line}, column {column} is the first wrong place")
}

/// Every setting there is.
fn names() -> Vec<String> {
    let all = Settings { permissive: true, ..Settings::default() };
    // A field without a value is null in JSON and absent in TOML.
    let value = serde_json::to_value(all).unwrap_or_default();
    value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
}

/// The name of a setting, as fields spell it.
fn known(path: &Path, name: &str, names: &[String]) -> Result<String, RunError> {
    let spelled = name.replace('-', "_");
    if names.contains(&spelled) {
        return Ok(spelled);
    }
    let hint = hint(&spelled, names.iter().map(String::as_str));
    Err(wrong(path, format!("there is no setting `{}`{hint}", shown(name))))
}

/// A parser's message without the value that it quotes: what it
/// expected, or the text around the quotes.
fn without_values(message: &str) -> String {
    if let Some((_, expected)) = message.rsplit_once(", expected ") {
        return format!("expected {expected}");
    }
    let is_quote = |c: char| c == '`' || c == '"';
    match (message.find(is_quote), message.rfind(is_quote)) {
        (Some(first), Some(last)) if shown(&message[first + 1..last.max(first + 1)]) == "…" => {
            format!("{}…{}", &message[..first], &message[last + 1..])
        }
        _ => message.to_owned(),
    }
}

fn wrong(path: &Path, reason: String) -> RunError {
    RunError::Config { name: path.display().to_string(), reason: reason.trim_end().to_owned() }
}

#[cfg(all(test, feature = "clap"))]
mod tests {
    use clap::{Args, Command, FromArgMatches};
    use sordino_testing::ScratchFile;

    use super::*;

    fn flags(line: &str) -> Settings {
        let command = Settings::augment_args(Command::new("train").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_whitespace()).unwrap();
        Settings::from_arg_matches(&matches).unwrap()
    }

    fn file(name: &str, text: &str) -> ScratchFile {
        let path = ScratchFile::new(&format!("config-{name}"), "run.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes every setting, so that one that cannot be written is found here.
    const ALL: &str = "a.csv --target y --epsilon 1 --delta 1e-6 --schema s.toml --estimate-schema-with 0.1 \
        --numbers a,b --categories c --neighbours replace --rows 7 --method sgd --model mlp \
        --hidden 8,4 --image 1x2x2 --batch-size 3 --epochs 2 --momentum 0.5 --memory 100 \
        --clipping per-layer --clip-quantile 0.4 --averaging ema --averaging-tail 0.2 \
        --averaging-decay 0.9 --loss huber --huber-width 0.3 --class-weights a=1,b=3 --steps \
        9 --sampling fixed --sampling-rate 0.5 --learning-rate 0.1 --clip-norm 2 --row-norm \
        3 --l2 0.01 --public-test t.csv --by a=b,c --threshold d=0.3 --permissive --ledger l \
        --name n --who w --out o --report r --checkpoint-every 3 --threads 2 --danger-seed 5 \
        --tuned-on public";

    #[test]
    fn written_settings_are_read_back() {
        let all = flags(ALL);
        let text = text(&all).unwrap();
        let path = file("all", &text);
        assert_eq!(merged(Settings::default(), Some(&path)).unwrap(), all, "{text}");
        let known = Settings::augment_args(Command::new("settings"));
        for argument in known.get_arguments() {
            assert!(text.contains(&format!("\n{} = ", argument.get_id())), "{argument} is not in {text}");
            assert!(names().contains(&argument.get_id().to_string()), "{argument} is no name in files");
        }
    }

    /// A report is handed out, so it shows no folders and no names of machines.
    #[test]
    fn shown_settings_have_files_without_folders() {
        let settings = flags(
            "/home/ann/secret/a.csv --schema ../secret/s.toml --public-test secret/t.csv --model \
            /secret/net.toml --out /secret/o --report secret/r.html --ledger \
            postgres://ann:secret@host/budgets --target y",
        );
        let text = without_folders(&settings).unwrap();
        assert!(!text.contains("secret") && !text.contains('/'), "{text}");
        for file in ["a.csv", "s.toml", "t.csv", "net.toml", "o", "r.html", "budgets"] {
            assert!(text.contains(&format!("\"{file}\"")), "{file}: {text}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let path = file("flags", "data = 'a.csv'\nsteps = 5\nclip-norm = 2.5\npermissive = true\n");
        let merged = merged(flags("--steps 6"), Some(&path)).unwrap();
        assert_eq!(merged, flags("a.csv --steps 6 --clip-norm 2.5 --permissive"));
    }

    /// The user can name any file as a configuration. Nothing of another
    /// file is shown but a short name.
    #[test]
    fn a_file_that_is_no_configuration_is_not_shown() {
        for (name, text, says) in [
            ("passwd", "root:x:0:0:root:/root:/bin/bash\n", "line 1, column "),
            ("client", "[client]\npassword = hunter2\n", "line 2, column "),
            ("secret", "password = 'hunter2'\n", "there is no setting `password`"),
            ("line", "'root:x:0:0:hunter2' = 1\n", "there is no setting `…`"),
            ("value", "steps = 'root:x:0:0, expected hunter2'\n", "expected a whole number"),
            ("variant", "method = 'root:x:0:0'\n", "expected one of"),
            ("label", "name = \"root:\\u0007hunter2\"\n", "got …"),
            ("picture", "image = 'root:x:0:0'\n", "a picture is CHANNELSxHEIGHTxWIDTH"),
        ] {
            let error = merged(Settings::default(), Some(&file(name, text))).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert!(
                !error.contains("hunter2") && !error.contains("root:") && !error.contains("/bin"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_that_says_something_else_is_refused() {
        for (name, text, says) in [
            ("unknown", "stepz = 5", "there is no setting `stepz`; did you mean `steps`?"),
            ("range", "epsilon = -1", "epsilon must be"),
            ("type", "steps = 'many'", "expected"),
            ("toml", "a = 1\nsteps = = 1", "it is no TOML: line 2, column 9"),
        ] {
            let error = merged(Settings::default(), Some(&file(name, text))).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    /// `--config /etc/shadow` once printed a line of it.
    #[test]
    fn nothing_of_a_file_that_is_no_configuration_is_shown() {
        for (name, text) in [
            ("shadow", "root:$6$SECRET:19000:0:99999:7:::\nann:SECRET\n"),
            ("key", "-----BEGIN SECRET-----\nMIISECRET\n"),
            ("value", "steps = 'SECRET'\n"),
            ("name", "'SECRET word' = 1\n"),
        ] {
            let error = merged(Settings::default(), Some(&file(name, text))).unwrap_err().to_string();
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
