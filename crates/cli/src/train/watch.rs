//! Shows the progress of a run: one line that changes on a terminal, lines of a log, and notes.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sordino::prelude::Bound;
use sordino_run::training::{Observer, Step};

use super::log::Log;
use super::{show, stop};
use crate::decimal;
use crate::output;

/// The number of progress lines in a log.
const LOG_LINES: u64 = 10;
/// The least time between two updates of the terminal's line.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// The pause after an update, in multiples of the time that the update took: updates take at most a
/// twentieth of the time.
const PAUSE_PER_UPDATE: u32 = 20;

pub(crate) struct Watch {
    log: Log,
    stop: Arc<AtomicBool>,
    is_quiet: bool,
    is_live: bool,
    next: Instant,
    /// The time of the first update in this process, and the step it showed.
    first: Option<(Instant, u64)>,
}

impl Watch {
    pub(crate) fn new(log: Log, stop: Arc<AtomicBool>, is_quiet: bool, is_verbose: bool) -> Self {
        let is_live = std::io::stderr().is_terminal() && !is_quiet && !is_verbose;
        Self { log, stop, is_quiet, is_live, next: Instant::now(), first: None }
    }

    /// Clears the line.
    pub(crate) fn clear(&self) {
        if self.is_live {
            self.show("");
        }
    }

    fn show(&self, line: &str) {
        // The codes return to the start of the line and clear it. If standard error is closed,
        // nobody reads it.
        let mut error = std::io::stderr().lock();
        let _ = write!(error, "\r\x1b[2K{line}").and_then(|()| error.flush());
    }
}

impl Observer for Watch {
    fn doing(&mut self, what: &str) {
        self.log.say(what);
    }

    fn decided(&mut self, notes: &[String]) {
        if !self.is_quiet {
            notes.iter().for_each(|note| output::note(note));
        }
    }

    fn begins(&mut self, can_stop: bool) {
        if can_stop {
            stop::on_request(&self.stop);
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        let (done, of) = (step.progress.step(), step.progress.of());
        if done.is_multiple_of(of.div_ceil(LOG_LINES)) || done == of {
            self.log.say(&format!("{} {done} of {of}", step.name));
        }
        if self.is_live && (Instant::now() >= self.next || done == of) {
            let start = Instant::now();
            let (began, first) = *self.first.get_or_insert((start, done));
            let left = left(began.elapsed(), done.saturating_sub(first), of.saturating_sub(done));
            self.show(&line(step, left));
            // Computing ε of sampled batches may take long, so such a line is updated less often.
            self.next = Instant::now() + MIN_PAUSE.max(start.elapsed() * PAUSE_PER_UPDATE);
        }
    }
}

/// The time left, if the remaining steps take as long as the steps so far.
fn left(elapsed: Duration, done: u64, remaining: u64) -> Option<Duration> {
    (done > 0 && remaining > 0).then(|| elapsed.mul_f64(remaining as f64 / done as f64))
}

fn line(step: &Step<'_>, left: Option<Duration>) -> String {
    let time = left.map(|left| format!("  {} to go", show::duration(left))).unwrap_or_default();
    let spent = match step.epsilon_so_far() {
        // Three decimals, rounded up, are enough for a line that changes.
        Ok(Bound { upper, .. }) => format!("{:.3}", (upper * 1000.0).ceil() / 1000.0),
        Err(_) => "?".to_owned(),
    };
    let left = match step.left {
        Some(left) => format!("left {}", decimal::down(left)),
        None => "unmetered".to_owned(),
    };
    let score = step.score.map(|score| format!("  public {} {score:.3}", step.score_name));
    let (done, of) = (step.progress.step(), step.progress.of());
    format!(
        "{} {done} of {of}{time}  epsilon {spent} of {}  {left}{}",
        step.name,
        step.epsilon,
        score.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(10), 20, 60), Some(seconds(30)));
        assert_eq!(left(seconds(10), 20, 0), None);
        // A resumed run has done no step of its own yet, whatever its step number.
        assert_eq!(left(seconds(1), 0, 60), None);
    }
}
