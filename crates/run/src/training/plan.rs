//! The plan of a run, made from public facts: its [`Subject`], its learner, and the place of its
//! model.

use std::path::PathBuf;

use sordino_privacy::Unit;
use sordino_threads::available;

use super::effective;
use super::input::{Input, data_of};
use super::learner::Learner;
use super::subject::Subject;
use crate::error::RunError;
use crate::model::{Decision, Threshold};
use crate::settings::Settings;

/// The least signal with which something is learned.
const MIN_SIGNAL: f64 = 0.5;

/// A run with nothing left to decide.
#[derive(Debug)]
pub struct RunPlan {
    pub(crate) input: Input,
    /// The data, the target and the price.
    pub subject: Subject,
    /// The learner.
    pub learner: Learner,
    /// Every setting, defaults included.
    pub settings: Settings,
    /// The settings as they were given.
    pub(crate) asked: Settings,
    /// The threshold that turns a probability into a class, if one is declared.
    pub decision: Option<Decision>,
    /// The directory of the model; empty if the model stays in memory.
    pub out: PathBuf,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
}

impl RunPlan {
    /// Makes the plan: decides every setting that is not given.
    pub(crate) fn draw(
        asked: &Settings,
        input: Input,
        subject: Subject,
        out: Option<PathBuf>,
        mut notes: Vec<String>,
    ) -> Result<Self, RunError> {
        let (learner, decision) = decided(asked, &subject, &mut notes)?;
        if asked.by.is_some() && asked.public_test.is_none() {
            return Err(RunError::Unused {
                setting: "--by".into(),
                by: "a run without --public-test".into(),
            });
        }
        let settings = effective::settings(asked, &subject, &learner, out.as_deref());
        let (asked, out) = (asked.clone(), out.unwrap_or_default());
        Ok(Self { input, subject, learner, settings, asked, decision, out, notes })
    }

    /// States schema, ε and δ as they were given, where a bought schema took a part of ε and δ.
    pub(crate) fn stating(mut self, asked: &Settings) -> Self {
        self.settings.schema.clone_from(&asked.schema);
        self.settings.epsilon = asked.epsilon;
        self.settings.delta = asked.delta;
        self
    }

    /// Bytes of the data, and of matrices that grow with the square of its width. A
    /// network's batches are not counted.
    pub(crate) fn bytes(&self) -> u64 {
        let threads = self.settings.threads.unwrap_or_else(available);
        // The memory of a network was checked when it was planned.
        let batches =
            self.learner.batch_memory(threads).ok().flatten().map_or(0, |memory| memory.bytes as u64);
        let own = self.learner.square_bytes().saturating_add(batches);
        self.subject.data_bytes().saturating_add(own)
    }

    /// Bytes that were read from the data file in all its passes.
    pub fn bytes_read(&self) -> u64 {
        self.input.source.bytes_read()
    }

    /// The unit that it protects.
    pub fn unit(&self) -> Unit {
        self.subject.unit()
    }

    /// The method and, for a network, its name, and its clipping unless that is the default.
    pub fn how(&self) -> String {
        effective::how(&self.learner, self.settings.learner.model.as_deref())
    }

    /// The column that is predicted.
    pub fn target(&self) -> &str {
        self.subject.encoding.target().unwrap_or_default()
    }
}

/// The learner of a subject, and the threshold. Adds what the user should know to `notes`.
pub(crate) fn decided(
    asked: &Settings,
    subject: &Subject,
    notes: &mut Vec<String>,
) -> Result<(Learner, Option<Decision>), RunError> {
    let learner = subject.task().learner(&asked.learner)?;
    notes.extend(drowned(subject, &learner));
    let (classes, has_probabilities) = (subject.encoding.classes(), learner.has_probabilities());
    let decision = |threshold: &Threshold| threshold.among(classes, has_probabilities);
    let decision = asked.threshold.as_ref().map(decision).transpose()?;
    Ok((learner, decision))
}

/// A note if the noise drowns everything: a mean of gradients is then shorter than its noise,
/// whatever the data.
fn drowned(subject: &Subject, learner: &Learner) -> Option<String> {
    let signal = subject.task().facts().signal(learner.weights()).ok()?;
    let (n, epsilon) = (subject.n.get(), subject.epsilon.get());
    (signal < MIN_SIGNAL).then(|| {
        format!(
            "expect no more than from a constant: {n} records at epsilon {epsilon} are too few for {} \
            weights; use more records, a larger epsilon or fewer columns",
            learner.weights()
        )
    })
}

/// The directory of the model, without a slash at the end: `.part` is appended to it.
pub(crate) fn out_of(settings: &Settings) -> Result<PathBuf, RunError> {
    let data = data_of(settings)?;
    Ok(settings.out.clone().unwrap_or_else(|| default_out(&data)).components().collect())
}

/// The default directory: `patients.model` in the current folder for `somewhere/patients.csv.gz`.
fn default_out(data: &std::path::Path) -> PathBuf {
    let name = data.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem =
        name.trim_start_matches('.').split('.').next().filter(|stem| !stem.is_empty()).unwrap_or("data");
    PathBuf::from(format!("{stem}.model"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_after_its_data() {
        for (data, out) in [("a/patients.csv.gz", "patients.model"), ("x", "x.model"), ("..", "data.model")] {
            assert_eq!(default_out(data.as_ref()), PathBuf::from(out));
        }
    }
}
