//! Studies of learners, run by the program `learning` of `sordino-bench`, which links the library.

use crate::data;
use crate::failure::Failure;
use crate::run;

pub(crate) fn adult(words: &[&str]) -> Result<(), Failure> {
    choosing(words)?;
    study("adult", &["adult"], words)
}

pub(crate) fn mnist_softmax(words: &[&str]) -> Result<(), Failure> {
    choosing(words)?;
    study("mnist-softmax", &["mnist"], words)
}

/// `--try` is followed by settings, which the study reads.
pub(crate) fn mnist_cnn(words: &[&str]) -> Result<(), Failure> {
    if words.first() != Some(&"--try") {
        choosing(words)?;
    }
    study("mnist-cnn", &["mnist"], words)
}

pub(crate) fn width(words: &[&str]) -> Result<(), Failure> {
    super::no_options(words)?;
    study("width", &["mnist"], words)
}

/// The words are options and names of problems, which the study reads.
pub(crate) fn coordinate(words: &[&str]) -> Result<(), Failure> {
    study("coordinate", &[], words)
}

/// The words are names of tables, which the study reads.
pub(crate) fn defaults(words: &[&str]) -> Result<(), Failure> {
    study("defaults", &["adult"], words)
}

/// Checks the words of a study whose one option is `--choose`, which tries settings on training
/// data.
fn choosing(words: &[&str]) -> Result<(), Failure> {
    match words {
        [] | ["--choose"] => Ok(()),
        [first, ..] => {
            Err(Failure::usage(format!("this experiment has one option, --choose, got `{first}`")))
        }
    }
}

fn study(name: &str, sets: &[&str], words: &[&str]) -> Result<(), Failure> {
    if !sets.is_empty() {
        data::fill(sets)?;
    }
    let program = ["run", "--quiet", "--release", "--package", "sordino-bench", "--bin", "learning", "--"];
    run::shown(run::cargo().args(program).arg(name).arg(data::folder()).args(words))
}
