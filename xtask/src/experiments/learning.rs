//! Studies of learners: run by `sordino-bench`'s program `learning`, which has the library at hand.

use std::process::Command;

use crate::data;
use crate::failure::Failure;
use crate::run;

pub(crate) fn adult() -> Result<(), Failure> {
    study("adult", &["adult"])
}

pub(crate) fn mnist_softmax() -> Result<(), Failure> {
    study("mnist-softmax", &["mnist"])
}

pub(crate) fn coordinate() -> Result<(), Failure> {
    study("coordinate", &[])
}

fn study(name: &str, sets: &[&str]) -> Result<(), Failure> {
    if !sets.is_empty() {
        data::fill(sets)?;
    }
    run::shown(run::cargo().args(["build", "--quiet", "--release", "--package", "sordino-bench"]))?;
    let program = run::target_dir().join("release").join(format!("learning{}", std::env::consts::EXE_SUFFIX));
    run::shown(Command::new(program).arg(name).arg(data::folder()))
}
