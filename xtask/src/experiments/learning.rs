//! Studies of learners: run by `sordino-bench`'s program `learning`, which has the library at hand.

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

/// `--try` has one setting behind it, which the study reads.
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

/// The options are names of its problems.
pub(crate) fn coordinate(words: &[&str]) -> Result<(), Failure> {
    study("coordinate", &[], words)
}

/// The options are names of its tables.
pub(crate) fn defaults(words: &[&str]) -> Result<(), Failure> {
    study("defaults", &["adult"], words)
}

/// For a study whose one option tries settings on training data.
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
