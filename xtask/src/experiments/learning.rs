//! Studies of learners: run by `sordino-bench`'s program `learning`, which has the library at hand.

use std::process::Command;

use super::no_options;
use crate::data;
use crate::failure::Failure;
use crate::run;

pub(crate) fn adult(words: &[&str]) -> Result<(), Failure> {
    study("adult", &["adult"], words)
}

pub(crate) fn mnist_softmax(words: &[&str]) -> Result<(), Failure> {
    study("mnist-softmax", &["mnist"], words)
}

pub(crate) fn coordinate(words: &[&str]) -> Result<(), Failure> {
    study("coordinate", &[], words)
}

fn study(name: &str, sets: &[&str], words: &[&str]) -> Result<(), Failure> {
    no_options(words)?;
    if !sets.is_empty() {
        data::fill(sets)?;
    }
    run::shown(run::cargo().args(["build", "--quiet", "--release", "--package", "sordino-bench"]))?;
    let program = run::target_dir().join("release").join(format!("learning{}", std::env::consts::EXE_SUFFIX));
    run::shown(Command::new(program).arg(name).arg(data::folder()))
}
