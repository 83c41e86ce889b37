//! A run, decided from public things: its [`Subject`], how it learns, and where its model goes.

use std::path::PathBuf;

use sordino_data::{Door, Encoded, Loader, Source};
use sordino_noise::{Bits, danger, entropy};
use sordino_privacy::Unit;

use super::effective;
use super::learner::Learner;
use super::subject::{Subject, data_of, door};
use crate::error::RunError;
use crate::purse::Purse;
use crate::settings::Settings;

/// A run with nothing left to decide.
#[derive(Debug)]
pub struct Plan {
    pub(crate) source: Source,
    /// What is learned, from what.
    pub subject: Subject,
    /// How it is learned.
    pub learner: Learner,
    /// Every setting, defaults included.
    pub settings: Settings,
    /// As they were given.
    pub(crate) asked: Settings,
    /// Where the model goes.
    pub out: PathBuf,
    /// What was decided and should be said.
    pub notes: Vec<String>,
}

impl Plan {
    /// Reads the schema, the header and, unless it is given, the number of records.
    pub(crate) fn draw(asked: &Settings, purse: &Purse) -> Result<Self, RunError> {
        let mut notes = Vec::new();
        let (subject, source) = Subject::of_file(asked, purse, &mut notes)?;
        let learner = subject.task().learner(&asked.learner)?;
        let out = out_of(asked)?;
        let settings = effective::settings(asked, &subject, &learner, &out);
        Ok(Self { source, subject, learner, settings, asked: asked.clone(), out, notes })
    }

    /// With what was asked for in place of what a bought schema has left of it.
    pub(crate) fn stating(mut self, asked: &Settings) -> Self {
        self.settings.schema.clone_from(&asked.schema);
        self.settings.epsilon = asked.epsilon;
        self.settings.delta = asked.delta;
        self
    }

    pub(crate) fn door(&self) -> Door {
        door(&self.settings)
    }

    pub(crate) fn loader(&self) -> Loader<'_> {
        Loader::new(&self.source, &self.subject.schema, self.door())
    }

    /// That n is what was stated. Counted before anything is charged; n is public.
    pub(crate) fn check_rows(&self) -> Result<(), RunError> {
        let (stated, counted) = (self.subject.n.get(), self.loader().slots()?);
        if stated == counted {
            return Ok(());
        }
        Err(RunError::OtherRows { data: self.source.path().to_owned(), stated, counted })
    }

    /// The data, encoded. To be called once it is paid for.
    pub(crate) fn read(&self) -> Result<Encoded, RunError> {
        let mut bits: Box<dyn Bits> = match self.settings.danger_seed {
            // Another stream than the noise's, which starts from the seed itself.
            Some(seed) => Box::new(danger::seeded(u64::from(seed) | 1 << 63)),
            None => Box::new(entropy()?),
        };
        Ok(self.loader().encoded(&self.subject.encoding, &mut *bits)?)
    }

    /// Bytes that the run takes, as far as they are known: the data, and what grows with the square of its columns.
    pub(crate) fn bytes(&self) -> u64 {
        self.subject.data_bytes().saturating_add(self.learner.square_bytes())
    }

    /// Whom it protects.
    pub fn unit(&self) -> Unit {
        self.subject.unit()
    }

    /// The method, and the network that it trains; its clipping, if that is not the usual one.
    pub fn how(&self) -> String {
        effective::how(&self.learner, self.settings.learner.model.as_deref())
    }

    /// The column that is predicted.
    pub fn target(&self) -> &str {
        self.subject.encoding.target().unwrap_or_default()
    }
}

/// Where the model goes; without a slash at the end, to which nothing can be appended.
pub(crate) fn out_of(settings: &Settings) -> Result<PathBuf, RunError> {
    let data = data_of(settings)?;
    Ok(settings.out.clone().unwrap_or_else(|| default_out(&data)).components().collect())
}

/// `patients.model` here for `somewhere/patients.csv.gz`.
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
