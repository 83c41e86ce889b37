//! What a program asks for, and what it gets: runs whose models stay in memory.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use sordino_nn::Description;
use sordino_privacy::{Guarantee, Quote};
use sordino_report::Evaluation;

use super::learner::Learner;
use super::subject::Subject;
use crate::error::RunError;
use crate::folder;
use crate::model::{Decision, Model, Package};
use crate::payer::Given;
use crate::settings::Settings;

/// A run that a program asks for.
#[derive(Debug)]
pub struct Request<'a> {
    /// What is asked for. Settings that name files are used where [`given`](Self::given) has
    /// nothing.
    pub settings: &'a Settings,
    /// What is in memory, and who pays.
    pub given: Given,
    /// The network, in the place of `--model`.
    pub network: Option<Description>,
    /// A working folder, so that the run can be stopped and resumed: `FOLDER.part`, which is
    /// removed when the run is done.
    pub folder: Option<PathBuf>,
}

impl<'a> Request<'a> {
    /// A request for what the settings name.
    pub fn new(settings: &'a Settings) -> Self {
        Self { settings, given: Given::default(), network: None, folder: None }
    }

    /// The settings, with a name for a network that is described.
    pub(super) fn settings(&self) -> Result<Cow<'a, Settings>, RunError> {
        if self.network.is_none() {
            return Ok(Cow::Borrowed(self.settings));
        }
        if self.settings.learner.model.is_some() {
            return Err(RunError::TwoSettings { first: "--model", second: "a described network" });
        }
        let mut settings = self.settings.clone();
        settings.learner.model = Some("described".to_owned());
        Ok(Cow::Owned(settings))
    }
}

/// A model that was released and booked, without the data that it was learned from.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// Its guarantee.
    pub guarantee: Guarantee,
    /// The threshold that turns a probability into a class, if one was declared.
    pub decision: Option<Decision>,
    /// The model's scores on public records.
    pub public: Option<Evaluation>,
    /// Every setting of the run, defaults included.
    pub settings: Settings,
    /// The number of steps, for methods that have steps.
    pub steps: Option<u64>,
    /// What the fit has taken of what was left, if there is a budget.
    pub took: Option<Quote>,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
    /// The findings that weaken the claim.
    pub findings: Vec<String>,
    /// The facts of the run, as JSON on one line.
    pub json: String,
    /// The report (HTML) and the model card (Markdown); `None` if they could not be drawn.
    pub pages: Option<(String, String)>,
    pub(super) package: Package,
}

impl Fitted {
    /// Writes the model's directory, which [`Stored`](crate::model::Stored) reads. It must not
    /// exist.
    pub fn save(&self, out: &Path) -> Result<(), RunError> {
        let files = self.files();
        folder::save_files(files.iter().map(|(name, content)| (*name, content.as_slice())), out)
    }

    /// The files of the model's directory, by name, its manifest included.
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.package.files()
    }
}

/// A plan of a run whose data nobody has: the schema and n are enough.
#[derive(Debug)]
pub struct Prospect {
    /// The data, the target and the price.
    pub subject: Subject,
    /// The learner.
    pub learner: Learner,
    /// Every setting, defaults included.
    pub settings: Settings,
    /// What it would take of what is left, if a budget pays.
    pub quote: Option<Quote>,
    /// Defaults that the user should know of.
    pub notes: Vec<String>,
}
