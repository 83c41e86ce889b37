//! Runs the real binary.
// Each test binary uses a part of this module only.
#![allow(dead_code)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The JSON object on standard output of a successful run.
    #[track_caller]
    pub(crate) fn object(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        let value: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{self:?}");
        value
    }

    /// Checks that the run exited with 2, printed no result, and that its message has each of
    /// `parts`.
    #[track_caller]
    pub(crate) fn refuses(&self, parts: &[&str]) {
        assert_eq!(self.code, 2, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {self:?}");
        }
    }

    /// The rest of the line that starts with `name` in a table.
    #[track_caller]
    pub(crate) fn line(&self, name: &str) -> &str {
        assert_eq!(self.code, 0, "{self:?}");
        let line = self.stdout.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no line {name:?} in {self:?}")).trim()
    }
}

/// Runs `sordino` with these arguments.
pub(crate) fn sordino(line: &str) -> Run {
    sordino_reading(line, b"")
}

/// Runs `sordino` with these arguments and this standard input.
pub(crate) fn sordino_reading(line: &str, input: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(line.split_whitespace())
        .env("USER", "ada")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // The command may close its standard input early.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    Run {
        code: output.status.code().expect("the command was not killed"),
        stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs `sordino account FILE WORDS`, where FILE holds `content`.
pub(crate) fn account_file(name: &str, content: &[u8], words: &str) -> Run {
    let path = place(name);
    fs::write(&path, content).expect("a file can be written");
    sordino(&format!("account {} {words}", path.display()))
}

/// A path for this test binary's own files; names must differ between its tests.
pub(crate) fn place(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder.join(name)
}

/// The ends of an interval; `null` is an infinite end.
#[track_caller]
pub(crate) fn ends(bound: &Value) -> (f64, f64) {
    let end = |name: &str| {
        let value = &bound[name];
        if value.is_null() {
            f64::INFINITY
        } else {
            value.as_f64().unwrap_or_else(|| panic!("{name} in {bound}"))
        }
    };
    (end("lower"), end("upper"))
}

/// Checks that the interval contains `truth` and is at most `width` times its upper end wide.
#[track_caller]
pub(crate) fn encloses(bound: &Value, truth: f64, width: f64) {
    let (lower, upper) = ends(bound);
    assert!(lower <= truth && truth <= upper, "{truth} is outside {bound}");
    assert!(upper - lower <= width * upper, "{bound} is wider than {width}");
}

/// Runs `sordino` with these arguments in `folder`.
pub(crate) fn sordino_in(folder: &Path, words: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_sordino"))
        .args(words)
        .current_dir(folder)
        .env("USER", "ada")
        .output()
        .expect("the command starts");
    Run {
        code: output.status.code().expect("the command was not killed"),
        stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// A file that ships with the project.
pub(crate) fn example(name: &str) -> String {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("Cargo says where it is"))
        .join("../../examples")
        .join(name)
        .display()
        .to_string()
}

/// A fresh folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = place(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a folder can be made");
    folder
}

/// Writes the shipped digits into two files, `train.csv` and `public.csv`: every fifth is public.
pub(crate) fn digits(folder: &Path) {
    let mut text = String::new();
    let file = fs::File::open(example("data/digits.csv.gz")).expect("the digits are shipped");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("they are text");
    let (header, records) = text.split_once('\n').expect("they have a header");
    for (name, is_public) in [("train.csv", false), ("public.csv", true)] {
        let lines = records.lines().enumerate().filter(|(row, _)| (row % 5 == 4) == is_public);
        let lines: Vec<&str> = std::iter::once(header).chain(lines.map(|(_, line)| line)).collect();
        fs::write(folder.join(name), lines.join("\n") + "\n").expect("a file can be written");
    }
    fs::copy(example("digits.toml"), folder.join("digits.toml")).expect("a file can be written");
}
