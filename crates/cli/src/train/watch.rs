//! How far a run is: one line that changes on a terminal, and the curve of public scores for the report.
//!
//! Steps, ε so far and the budget are public numbers. The score is that of the current iterate on public records; iterates are
//! accounted for as if each were released.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use sordino::prelude::*;
use sordino_optim::Progress;

use super::TrainArgs;
use super::blueprint::Blueprint;
use super::evaluation::PublicTest;
use super::log::Log;
use crate::decimal;
use crate::error::Error;
use crate::purse::Purse;

/// Points of a curve, and lines of a log.
const POINTS: u64 = 100;
const LINES: u64 = 10;
/// Between two changes of the line, and as part of all time.
const PAUSE: Duration = Duration::from_millis(100);
const PATIENCE: u32 = 20;

pub(crate) struct Watch<'a> {
    blueprint: &'a Blueprint,
    public: Option<&'a PublicTest>,
    log: &'a mut Log,
    /// What is left of the budget, in words.
    left: String,
    is_live: bool,
    next: Instant,
    score: Option<f64>,
    curve: Vec<(u64, f64)>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(
        blueprint: &'a Blueprint,
        public: Option<&'a PublicTest>,
        purse: &Purse,
        args: &TrainArgs,
        log: &'a mut Log,
    ) -> Result<Self, Error> {
        let left = match purse.left()? {
            Some(left) => format!("left {}", decimal::down(left)),
            None => "unmetered".to_owned(),
        };
        let is_live = std::io::stderr().is_terminal() && !args.output.quiet && !args.verbose;
        let (next, curve) = (Instant::now(), Vec::new());
        Ok(Self { blueprint, public, log, left, is_live, next, score: None, curve })
    }

    pub(crate) fn step(&mut self, progress: Progress<'_>) {
        let (step, of) = (progress.step(), progress.of());
        if is_due(step, of, POINTS) {
            let model = || self.blueprint.learner.model(progress.parameters()).ok();
            self.score = self.public.and_then(|public| public.score(&model()?).ok());
            self.curve.extend(self.score.map(|score| (step, score)));
        }
        if is_due(step, of, LINES) {
            let [name, _] = self.blueprint.learner.step_name();
            self.log.say(&format!("{name} {step} of {of}"));
        }
        if self.is_live && (Instant::now() >= self.next || step == of) {
            let start = Instant::now();
            self.show(&self.line(&progress));
            // A line that takes long to make, as ε of sampled batches may, is made seldom.
            self.next = Instant::now() + PAUSE.max(start.elapsed() * PATIENCE);
        }
    }

    /// Takes the line away, and gives the public scores by step.
    pub(crate) fn finish(mut self) -> Vec<(u64, f64)> {
        std::mem::take(&mut self.curve)
    }

    fn line(&self, progress: &Progress<'_>) -> String {
        let spent = match progress.epsilon(self.blueprint.subject.delta) {
            // Three digits, upwards: enough for a line that changes.
            Ok(Bound { upper, .. }) => format!("{:.3}", (upper * 1000.0).ceil() / 1000.0),
            Err(_) => "?".to_owned(),
        };
        let name = self.blueprint.subject.score_name();
        let score = self.score.map(|score| format!("  public {name} {score:.3}")).unwrap_or_default();
        let (of, [what, _]) = (self.blueprint.subject.epsilon, self.blueprint.learner.step_name());
        format!(
            "{what} {} of {}  epsilon {spent} of {of}  {}{score}",
            progress.step(),
            progress.of(),
            self.left
        )
    }

    fn show(&self, line: &str) {
        // To the start of the line, and clear what was there. If standard error is closed, nobody is left to tell.
        let mut error = std::io::stderr().lock();
        let _ = write!(error, "\r\x1b[2K{line}").and_then(|()| error.flush());
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if self.is_live {
            self.show("");
        }
    }
}

/// Some `points` steps of all, the last among them.
fn is_due(step: u64, of: u64, points: u64) -> bool {
    step.is_multiple_of(of.div_ceil(points)) || step == of
}
