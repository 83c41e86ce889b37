//! Settings from flags and from a file, and the effective ones as a file again.
//!
//! A file has the names of the flags, as `clip_norm` or `clip-norm`. Flags win: both are made into TOML tables, and one is laid
//! over the other, so that a setting which is added to [`Settings`] needs no line here.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use toml::Table;

use super::args::Settings;
use crate::error::Error;
use crate::nearest::hint;

/// The longest file that is read.
const LONGEST: u64 = 1 << 20;

/// `flags` over what is in the file.
pub(crate) fn merged(flags: Settings, path: Option<&Path>) -> Result<Settings, Error> {
    let Some(path) = path else { return Ok(flags) };
    let mut settings = read(path)?;
    settings.extend(table(&flags)?);
    settings_of(settings, path)
}

/// The settings in a file's text.
pub(crate) fn parsed(text: &str, path: &Path) -> Result<Settings, Error> {
    settings_of(known_table(text, path)?, path)
}

fn settings_of(table: Table, path: &Path) -> Result<Settings, Error> {
    table.try_into().map_err(|error: toml::de::Error| {
        // The last line names the setting.
        let text = error.to_string();
        let place = text.lines().last().filter(|line| line.starts_with("in `")).unwrap_or_default();
        wrong(path, format!("{} {place}", without_values(error.message())))
    })
}

/// The settings as a file that `--config` reads.
pub(crate) fn text(settings: &Settings) -> Result<String, Error> {
    let table = table(settings)?;
    Ok(format!(
        "# Every setting of this run, defaults included. `sordino train --config FILE` reads it.\n{table}"
    ))
}

/// The same for a page that is handed out: files by their names, and not where they lie.
pub(crate) fn without_folders(settings: &Settings) -> Result<String, Error> {
    let mut shown = settings.clone();
    let Settings { data, schema, public_test, out, report, payment, model, .. } = &mut shown;
    let paths = [data, schema, public_test, out, report, &mut payment.ledger];
    paths.into_iter().flatten().for_each(|path| *path = file_name(path));
    if let Some(model) = model {
        *model = file_name(Path::new(model)).to_string_lossy().into_owned();
    }
    Ok(format!(
        "# Every setting of this run, defaults included; files without their folders.\n{}",
        table(&shown)?
    ))
}

fn file_name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.to_owned(), PathBuf::from)
}

fn table(settings: &Settings) -> Result<Table, Error> {
    Table::try_from(settings).map_err(|error| Error::Unwritable { reason: error.to_string() })
}

fn read(path: &Path) -> Result<Table, Error> {
    let failed = |source| Error::Read { name: format!("`{}`", path.display()), source };
    if fs::metadata(path).map_err(failed)?.len() > LONGEST {
        return Err(wrong(path, format!("it has more than {LONGEST} bytes")));
    }
    known_table(&fs::read_to_string(path).map_err(failed)?, path)
}

/// The table in a text, if all of its names are those of settings.
fn known_table(text: &str, path: &Path) -> Result<Table, Error> {
    // Not the parser's picture of the text: whoever may name a configuration can name any file, and it shows
    // a line of it.
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = String::from_utf8_lossy(&text.as_bytes()[..start]);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        wrong(path, format!("line {line}, column {column}: {}", error.message()))
    })?;
    let flags = Settings::augment_args(Command::new("settings"));
    let names: Vec<&str> = flags.get_arguments().map(|argument| argument.get_id().as_str()).collect();
    table.into_iter().map(|(name, value)| Ok((known(path, &name, &names)?, value))).collect()
}

/// The name of a setting, as fields spell it.
fn known(path: &Path, name: &str, names: &[&str]) -> Result<String, Error> {
    let spelled = name.replace('-', "_");
    if names.contains(&spelled.as_str()) {
        return Ok(spelled);
    }
    Err(wrong(
        path,
        format!("there is no setting `{}`{}", shown(name), hint(&spelled, names.iter().copied())),
    ))
}

/// A word of a file that may be anything: short names as they are, and nothing of the rest.
fn shown(word: &str) -> &str {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if word.chars().all(is_name) && word.chars().count() <= 40 { word } else { "…" }
}

/// What a reader says of a value, without the value: what it expected, or all but what stands between quotes.
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

fn wrong(path: &Path, reason: String) -> Error {
    Error::Config { name: path.display().to_string(), reason: reason.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Verb};

    fn flags(line: &str) -> Settings {
        let words = format!("sordino train {line}");
        let Verb::Train(args) = Arguments::try_parse_from(words.split_whitespace()).unwrap().verb else {
            panic!("another verb than train")
        };
        args.settings
    }

    fn file(name: &str, text: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("sordino-config-{}-{name}.toml", std::process::id()));
        fs::write(&path, text).unwrap();
        path
    }

    /// Every flag there is, so that a setting that cannot be written is found here.
    const ALL: &str = "a.csv --target y --epsilon 1 --delta 1e-6 --schema s.toml --estimate-schema-with 0.1 --numbers a,b --categories c --neighbours replace --rows 7 --method sgd \
        --model mlp --hidden 8,4 --image 1x2x2 --batch-size 3 --epochs 2 --momentum 0.5 --memory 100 \
        --clipping per-layer --clip-quantile 0.4 --averaging ema --averaging-tail 0.2 --averaging-decay 0.9 \
        --loss huber --steps 9 --sampling-rate 0.5 --learning-rate 0.1 --clip-norm 2 --row-norm 3 --l2 0.01 \
        --public-test t.csv --permissive --ledger l --name n --who w --out o --report r --checkpoint-every 3 --threads 2 \
        --danger-seed 5 --tuned-on public";

    #[test]
    fn what_is_written_is_read_back() {
        let all = flags(ALL);
        let text = text(&all).unwrap();
        let path = file("all", &text);
        assert_eq!(merged(Settings::default(), Some(&path)).unwrap(), all, "{text}");
        let known = Settings::augment_args(Command::new("settings"));
        for argument in known.get_arguments() {
            assert!(text.contains(&format!("\n{} = ", argument.get_id())), "{argument} is not in {text}");
        }
    }

    /// A report is handed out; folders and names of machines are not for everybody.
    #[test]
    fn what_is_shown_has_files_and_no_folders() {
        let settings = flags(
            "/home/ann/secret/a.csv --schema ../secret/s.toml --public-test secret/t.csv --model /secret/net.toml --out /secret/o \
             --report secret/r.html --ledger postgres://ann:secret@host/budgets --target y",
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

    /// Whoever may name a configuration can name any file: of one that is none, nothing is shown but a short
    /// name.
    #[test]
    fn a_file_that_is_no_configuration_is_not_shown() {
        for (name, text, says) in [
            ("passwd", "root:x:0:0:root:/root:/bin/bash\n", "line 1, column "),
            ("client", "[client]\npassword = hunter2\n", "line 2, column "),
            ("secret", "password = 'hunter2'\n", "there is no setting `password`"),
            ("line", "'root:x:0:0:hunter2' = 1\n", "there is no setting `…`"),
            ("value", "steps = 'root:x:0:0, expected hunter2'\n", "in `steps`"),
            ("variant", "method = 'root:x:0:0'\n", "in `method`"),
            ("label", "name = \"root:\\u0007hunter2\"\n", "got …"),
            ("picture", "image = 'root:x:0:0'\n", "in `image`"),
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
            ("type", "steps = 'many'", "in `steps`"),
            ("toml", "steps = = 1", "line 1, column 9: "),
        ] {
            let error = merged(Settings::default(), Some(&file(name, text))).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
