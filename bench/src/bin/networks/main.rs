//! Training steps of four networks: clipped and noisy, and by the same engine without either.
//! `peers/networks.py` does work of the same names: the batch is in memory, and a step is forward,
//! backward, clip, noise, update.
//!
//! ```text
//! networks [--quick] [--scaling] [MODEL:BATCH ...]   all figures; with --scaling how cost grows
//! networks [--quick] --one MODE MODEL:BATCH          one of them, in this process;
//!                                                    with --turns N it waits before each block
//! networks --list MODEL:BATCH                        its modes
//! ```
//! Every figure comes from a process of its own, so that its peak memory is that of this work
//! alone.
#![expect(clippy::print_stdout, reason = "lines of child processes are passed on, and modes listed")]

mod scaling;
mod step;
mod work;

use std::error::Error;
use std::process::{Command, Stdio};

use sordino_bench::Options;
use work::Work;

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments();
    let words = options.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--one", "scaling", axis, size] => scaling::one(options, axis, size.parse()?),
        ["--one", mode, name] => step::measure(options, mode, &Work::named(name)?),
        ["--list", _] => {
            step::MODES.iter().for_each(|mode| println!("{mode}"));
            Ok(())
        }
        ["--scaling"] => scaling::points(options)
            .try_for_each(|(axis, size)| child(options, &["scaling", axis, &size.to_string()])),
        [] => compared(options, &work::ALL),
        ref names => compared(options, names),
    }
}

/// Measures all modes of the named work.
fn compared(options: Options, names: &[&str]) -> Result<(), Box<dyn Error>> {
    for name in names {
        step::MODES.into_iter().try_for_each(|mode| child(options, &[mode, name]))?;
    }
    Ok(())
}

/// Does one piece of work in a child process, and passes its lines on.
fn child(options: Options, words: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(options.quick.then_some("--quick")).arg("--one").args(words).stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{words:?} failed: {}", output.status).into());
    }
    print!("{}", String::from_utf8(output.stdout)?);
    Ok(())
}
