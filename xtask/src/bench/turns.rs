//! Contestants that take turns block by block, in one process each, so that a machine that slows
//! down for a minute slows all of them down.
//!
//! A contestant prints `waiting` when it is ready and before each of its blocks of work, and
//! continues when it reads a line. After its last block it prints its [`Line`](super::line::Line)
//! and ends. A slow contestant may do fewer blocks.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::failure::Failure;
use crate::run;

/// The pause between two turns. The threads of the last contestant may spin for a while.
const PAUSE: Duration = Duration::from_millis(100);

/// What a contestant prints when it waits.
const WAITING: &str = "waiting";

/// A running contestant, which is killed when this value is dropped.
struct Contestant {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    is_done: bool,
}

impl Contestant {
    /// Starts a contestant and waits until it is ready.
    fn start(mut command: Command, results: &mut String) -> Result<Self, Failure> {
        let name = run::written(&command);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.map_err(|error| Failure::check(format!("could not start {name}: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::check(format!("{name} has no input or no output")));
        };
        let mut contestant = Self { name, child, input, output: BufReader::new(output), is_done: false };
        contestant.listen(results)?;
        Ok(contestant)
    }

    /// Lets it do one block of work.
    fn take_turn(&mut self, results: &mut String) -> Result<(), Failure> {
        if self.is_done {
            return Ok(());
        }
        writeln!(self.input, "go").map_err(|error| self.failed(&error.to_string()))?;
        self.listen(results)
    }

    /// Reads its output until it waits again or has ended. All other lines are results.
    fn listen(&mut self, results: &mut String) -> Result<(), Failure> {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).map_err(|error| self.failed(&error.to_string()))?;
            if length == 0 {
                self.is_done = true;
                let status = self.child.wait().map_err(|error| self.failed(&error.to_string()))?;
                return if status.success() { Ok(()) } else { Err(self.failed(&status.to_string())) };
            }
            if line.trim() == WAITING {
                return Ok(());
            }
            results.push_str(&line);
        }
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::check(format!("failed ({why}): {}", self.name))
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        if !self.is_done {
            // It is dropped early because it or another contestant failed.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Starts all contestants, lets each do `turns` blocks in turn, and returns what they print.
pub(crate) fn take(commands: Vec<Command>, turns: usize) -> Result<String, Failure> {
    let mut results = String::new();
    let mut contestants = Vec::new();
    for command in commands {
        contestants.push(Contestant::start(command, &mut results)?);
    }
    for _ in 0..turns {
        for contestant in &mut contestants {
            std::thread::sleep(PAUSE);
            contestant.take_turn(&mut results)?;
        }
        // The order changes, so that no contestant always follows the same one.
        contestants.reverse();
    }
    if let Some(late) = contestants.iter().find(|contestant| !contestant.is_done) {
        return Err(late.failed("it wants more turns than there are"));
    }
    Ok(results)
}

#[cfg(all(test, unix))]
mod tests {
    use sordino_testing::Scratch;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// Each waits twice. They write to one file in the order of their turns.
    #[test]
    fn contestants_take_turns() {
        let folder = Scratch::new("turns");
        let log = folder.join("log");
        let one = |name: &str| {
            let block = format!("echo waiting; read go; echo {name} >> {};", log.display());
            shell(&format!("{block} {block} echo result of {name}"))
        };
        let results = take(vec![one("a"), one("b")], 2).unwrap();
        assert_eq!(results, "result of b\nresult of a\n");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "a\nb\nb\na\n");
    }

    #[test]
    fn a_contestant_that_fails_or_wants_more_turns_is_named() {
        let failing = take(vec![shell("echo waiting; read go; exit 3")], 1).unwrap_err();
        assert!(failing.to_string().contains("exit 3"), "{failing}");
        let greedy = take(vec![shell("while true; do echo waiting; read go; done")], 2).unwrap_err();
        assert!(greedy.to_string().contains("more turns"), "{greedy}");
    }
}
