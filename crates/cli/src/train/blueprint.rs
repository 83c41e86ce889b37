//! A run, decided from public things: its [`Subject`], how it learns, and where its model goes.

use std::path::PathBuf;

use sordino::prelude::*;
use sordino_data::{Door, Loader, Source, Survey};

use super::args::Settings;
use super::learner::Learner;
use super::method::Method;
use super::subject::{Subject, data_of, door};
use crate::args::Relation;
use crate::error::Error;
use crate::purse::Purse;

pub(crate) struct Blueprint {
    pub(crate) source: Source,
    pub(crate) subject: Subject,
    pub(crate) learner: Box<dyn Learner>,
    /// Defaults included.
    pub(crate) settings: Settings,
    /// As they were given.
    pub(crate) asked: Settings,
    pub(crate) out: PathBuf,
    /// What was decided and should be said.
    pub(crate) notes: Vec<String>,
}

impl Blueprint {
    /// Reads the schema, the header and, unless it is given, the number of records.
    pub(crate) fn draw(asked: &Settings, purse: &Purse) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let (subject, source) = Subject::of_file(asked, purse, &mut notes)?;
        let mut settings = asked.clone();
        settings.image = subject.image;
        let learner = subject.task(&settings).learner()?;
        settings.data = Some(data_of(&settings)?);
        settings.delta = Some(subject.delta);
        settings.method = Some(Method::of(asked));
        settings.neighbours = Relation::of(subject.neighbours);
        settings.rows = Some(subject.n);
        learner.settle(&mut settings);
        let out = out_of(&settings)?;
        settings.out.get_or_insert_with(|| out.clone());
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
    pub(crate) fn check_rows(&self, survey: &Survey) -> Result<(), Error> {
        let (stated, counted) = (self.subject.n.get(), survey.slots());
        if stated == counted {
            return Ok(());
        }
        Err(Error::OtherRows { data: self.source.path().to_owned(), stated, counted })
    }

    pub(crate) fn unit(&self) -> Unit {
        self.subject.unit()
    }

    pub(crate) fn target(&self) -> &str {
        self.subject.encoding.target().unwrap_or_default()
    }
}

/// Where the model goes; without a slash at the end, to which nothing can be appended.
pub(crate) fn out_of(settings: &Settings) -> Result<PathBuf, Error> {
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
