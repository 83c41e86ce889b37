//! `cargo xtask bench noise|mechanisms|accounting|ledger|linear|networks|python`: Sordino and its
//! peers on the same work, in one run.
//!
//! Every contestant is a program that prints one measurement on each line (see [`Line`]). They take
//! turns, round after round, so that a machine that slows down slows all of them down; a figure is
//! the median over rounds. (Steps of networks last milliseconds, and their contestants take many
//! seconds to start. So these are all started first, and take [`turns`] block by block.) The peers
//! are in a Python environment made for this alone, below Cargo's target directory. Every figure
//! has the load of *other* processes meanwhile: if there was any, repeat the run.

mod line;
mod linear;
mod load;
mod networks;
mod peers;
mod plot;
mod python;
mod table;
mod turns;

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::failure::Failure;
use crate::run;
use line::{Line, Summary};
use load::Load;

/// How a comparison is run.
struct Plan {
    /// `noise`, `mechanisms`, `accounting`, `ledger`, `linear`, `networks` or `python`: the name of
    /// our program and of the peers' script.
    name: &'static str,
    /// Whether other systems do the same work. None has a ledger, and Python's tables are ours.
    has_peers: bool,
    rounds: usize,
    quick: bool,
    /// For networks: measures how cost grows, instead of a comparison.
    scaling: bool,
}

/// Runs the comparison that the words after `bench` name.
pub(crate) fn compare(words: &[&str]) -> Result<(), Failure> {
    let plan = Plan::parse(words)?;
    run::shown(run::cargo().args(["build", "--release", "--package", "sordino-bench", "--bin", plan.name]))?;
    let peers = if plan.has_peers { Some(peers::environment(plan.requirements())?) } else { None };
    let lines = if plan.name == "python" {
        python::measure(&plan)?
    } else if plan.takes_turns() {
        by_turns(&plan, peers.as_deref())?
    } else {
        by_rounds(&plan, peers.as_deref())?
    };
    let summaries = line::summaries(&lines);
    match plan.name {
        "linear" => {
            print!("{}", linear::table(&summaries));
            linear::plots(&summaries, plan.quick)?;
        }
        "networks" if plan.scaling => print!("{}", networks::scaling(&summaries, plan.quick)?),
        "networks" => print!("{}", networks::table(&summaries)),
        "python" => print!("{}", python::table(&summaries)),
        _ => print!("{}", table::of(&summaries)),
    }
    save(&plan, &summaries)
}

/// Runs all contestants from beginning to end, one after the other, round after round.
fn by_rounds(plan: &Plan, python: Option<&Path>) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for round in 0..plan.rounds {
        eprintln!("round {} of {}", round + 1, plan.rounds);
        lines.extend(measured(program(plan), plan, round)?);
        if let Some(python) = python {
            lines.extend(measured(script(plan, python), plan, round)?);
        }
    }
    Ok(lines)
}

/// For each network, starts all contestants and lets them take turns, block after block.
fn by_turns(plan: &Plan, python: Option<&Path>) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for (work, ..) in networks::BARS {
        let mut commands = Vec::new();
        for start in [Some(program(plan)), python.map(|python| script(plan, python))].into_iter().flatten() {
            let again = || {
                let mut command = Command::new(start.get_program());
                command.args(start.get_args()).env("PYTHONDONTWRITEBYTECODE", "1");
                command
            };
            for name in run::captured(again().args(["--list", work]))?.lines() {
                let mut command = again();
                command.args(plan.quick.then_some("--quick"));
                command.args(["--turns", &plan.rounds.to_string(), "--one", name, work]);
                commands.push(command);
            }
        }
        eprintln!("{work}: {} contestants, {} turns each", commands.len(), plan.rounds);
        let before = Load::now();
        let output = turns::take(commands, plan.rounds)?;
        lines.extend(line::parse(&output, before.others_since())?);
    }
    Ok(lines)
}

/// The peers' script.
fn script(plan: &Plan, python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg(run::root().join("bench/peers").join(plan.name).with_extension("py"));
    command
}

/// Our own contestant.
fn program(plan: &Plan) -> Command {
    let name = format!("{}{}", plan.name, std::env::consts::EXE_SUFFIX);
    Command::new(run::target_dir().join("release").join(name))
}

impl Plan {
    fn parse(words: &[&str]) -> Result<Self, Failure> {
        let usage = || {
            Failure::usage(
                "expected `cargo xtask bench noise|mechanisms|accounting|ledger|linear|networks|python \
                [--rounds N] [--quick]`, and --scaling with networks",
            )
        };
        let (name, has_peers, rounds) = match words.first() {
            Some(&"noise") => ("noise", true, 5),
            Some(&"mechanisms") => ("mechanisms", true, 5),
            Some(&"accounting") => ("accounting", true, 5),
            Some(&"ledger") => ("ledger", false, 1),
            Some(&"linear") => ("linear", true, 3),
            Some(&"networks") => ("networks", true, 21),
            Some(&"python") => ("python", false, 21),
            _ => return Err(usage()),
        };
        let mut plan = Self { name, has_peers, rounds, quick: false, scaling: false };
        let mut rest = words[1..].iter();
        while let Some(word) = rest.next() {
            match *word {
                "--quick" => plan.quick = true,
                // Only Sordino's cost is measured here.
                "--scaling" if plan.name == "networks" => {
                    (plan.scaling, plan.has_peers, plan.rounds) = (true, false, 1);
                }
                "--rounds" => {
                    let number = rest.next().and_then(|number| number.parse().ok());
                    plan.rounds = number.filter(|&number| number > 0).ok_or_else(usage)?;
                }
                _ => return Err(usage()),
            }
        }
        Ok(plan)
    }

    /// Whether contestants take turns block by block, instead of running from beginning to end.
    fn takes_turns(&self) -> bool {
        self.name == "networks" && !self.scaling
    }

    /// The file that names the peers and their versions.
    fn requirements(&self) -> &'static str {
        if self.name == "networks" { "networks-requirements" } else { "requirements" }
    }
}

/// Runs one contestant once. Returns its lines, each with the load of other processes meanwhile.
fn measured(mut command: Command, plan: &Plan, round: usize) -> Result<Vec<Line>, Failure> {
    if plan.quick {
        command.arg("--quick");
    }
    command.args(plan.scaling.then_some("--scaling"));
    if plan.name == "linear" {
        // Tables of some gigabytes that contestants share. They are removed with the target
        // directory.
        command.arg("--data").arg(run::target_dir().join("bench-linear"));
    }
    if round == 0 && plan.name != "networks" {
        // The ends of intervals do not change from round to round, so they are computed once.
        command.arg("--ends");
    }
    let before = Load::now();
    // Peers run from the checkout and must leave no files in it.
    let output = run::captured(command.env("PYTHONDONTWRITEBYTECODE", "1"))?;
    let others = before.others_since();
    line::parse(&output, others)
}

/// Writes the results to `bench/results/`, for later comparison.
fn save(plan: &Plan, summaries: &[Summary]) -> Result<(), Failure> {
    let folder = run::root().join("bench/results");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let path = folder.join(format!("{}-{}.json", plan.name, since_epoch.as_secs()));
    let document = json!({
        "format_version": 1,
        "bench": plan.name,
        "rounds": plan.rounds,
        "quick": plan.quick,
        "scaling": plan.scaling,
        "unix_time": since_epoch.as_secs(),
        "processor": load::processor(),
        "results": summaries,
    });
    std::fs::write(&path, format!("{document:#}\n")).map_err(|error| Failure::file(&path, &error))?;
    println!("\nwritten to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_plan_or_a_usage_error() {
        let plan = Plan::parse(&["noise", "--rounds", "7", "--quick"]).unwrap();
        assert_eq!((plan.name, plan.rounds, plan.quick), ("noise", 7, true));
        for wrong in
            [&[][..], &["nois"], &["noise", "--rounds"], &["noise", "--rounds", "0"], &["noise", "--scaling"]]
        {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn networks_take_turns_block_by_block() {
        let plan = Plan::parse(&["networks"]).unwrap();
        assert!(plan.takes_turns() && plan.has_peers && plan.rounds >= 5);
        let plan = Plan::parse(&["networks", "--scaling"]).unwrap();
        assert!(!plan.takes_turns() && !plan.has_peers);
        assert!(!Plan::parse(&["noise"]).unwrap().takes_turns());
    }
}
