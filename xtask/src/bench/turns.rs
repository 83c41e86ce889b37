//! Contestants that take turns block by block, in one process each, so that a machine that slows
//! down for a minute slows everybody down.
//!
//! A contestant says `waiting` when it is ready and before each of its blocks of work, and goes
//! on when it reads a line. After its last block it prints its [`Line`](super::line::Line) and
//! ends; who is slow may have fewer.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::failure::Failure;
use crate::run;

/// Threads of whoever had the last turn may look for more work for a while.
const PAUSE: Duration = Duration::from_millis(100);

/// What a contestant says when it waits.
const WAITING: &str = "waiting";

/// A contestant that has been started, and ends with this value.
struct Contestant {
    name: String,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    is_done: bool,
}

impl Contestant {
    /// Starts it and waits until it is ready.
    fn start(mut command: Command, said: &mut String) -> Result<Self, Failure> {
        let name = run::written(&command);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.map_err(|error| Failure::check(format!("could not start {name}: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::check(format!("{name} has no input or no output")));
        };
        let mut contestant = Self { name, child, input, output: BufReader::new(output), is_done: false };
        contestant.listen(said)?;
        Ok(contestant)
    }

    /// One block of work.
    fn take_turn(&mut self, said: &mut String) -> Result<(), Failure> {
        if self.is_done {
            return Ok(());
        }
        writeln!(self.input, "go").map_err(|error| self.failed(&error.to_string()))?;
        self.listen(said)
    }

    /// Until it waits again or has ended; whatever else it says is a result.
    fn listen(&mut self, said: &mut String) -> Result<(), Failure> {
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
            said.push_str(&line);
        }
    }

    fn failed(&self, why: &str) -> Failure {
        Failure::check(format!("failed ({why}): {}", self.name))
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        if !self.is_done {
            // On the way out after a failure: of this one or of another.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Starts all, lets each do `turns` blocks, one after the other, and gives back what they print.
pub(crate) fn take(commands: Vec<Command>, turns: usize) -> Result<String, Failure> {
    let mut said = String::new();
    let mut contestants = Vec::new();
    for command in commands {
        contestants.push(Contestant::start(command, &mut said)?);
    }
    for _ in 0..turns {
        for contestant in &mut contestants {
            std::thread::sleep(PAUSE);
            contestant.take_turn(&mut said)?;
        }
        // Nobody comes after the same one each time.
        contestants.reverse();
    }
    if let Some(late) = contestants.iter().find(|contestant| !contestant.is_done) {
        return Err(late.failed("it wants more turns than there are"));
    }
    Ok(said)
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

    /// Each waits twice; the order in which they write to one file is that of their turns.
    #[test]
    fn contestants_take_turns() {
        let folder = Scratch::new("turns");
        let log = folder.join("log");
        let one = |name: &str| {
            let block = format!("echo waiting; read go; echo {name} >> {};", log.display());
            shell(&format!("{block} {block} echo result of {name}"))
        };
        let said = take(vec![one("a"), one("b")], 2).unwrap();
        assert_eq!(said, "result of b\nresult of a\n");
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "a\nb\nb\na\n");
    }

    #[test]
    fn who_fails_or_wants_more_turns_is_named() {
        let failing = take(vec![shell("echo waiting; read go; exit 3")], 1).unwrap_err();
        assert!(failing.to_string().contains("exit 3"), "{failing}");
        let greedy = take(vec![shell("while true; do echo waiting; read go; done")], 2).unwrap_err();
        assert!(greedy.to_string().contains("more turns"), "{greedy}");
    }
}
