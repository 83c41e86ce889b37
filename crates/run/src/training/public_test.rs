//! Scores a model on records that are declared public. A score on private records would be one more
//! release.

use std::path::PathBuf;

use sordino_data::{Encoded, Loader, Source};
use sordino_ledger::Digest;
use sordino_noise::danger;

use sordino_report::{Evaluation, PublicData};

use super::by::Grouping;
use super::plan::RunPlan;
use crate::error::RunError;
use crate::model::{Decision, Model};
use crate::purse::Purse;
use crate::scores;

/// Records that were declared public.
#[derive(Debug)]
pub struct PublicTest {
    /// Their file.
    pub path: PathBuf,
    data: Encoded,
    decision: Option<Decision>,
    grouping: Option<Grouping>,
}

impl PublicTest {
    /// Reads the records that `--public-test` names, with the encoding of the run. Refuses the
    /// private table itself and every table that has a budget in the ledger, packed or unpacked.
    /// Only the owner can know whether other records are public.
    pub(crate) fn open(plan: &RunPlan, purse: &Purse) -> Result<Option<Self>, RunError> {
        let Some(path) = &plan.settings.public_test else { return Ok(None) };
        let source = Source::open(path, plan.subject.schema.csv())?;
        let content = Digest::from_bytes(source.content()?);
        let budgets = purse.account().map(|account| account.ledger().data_sets()).transpose()?;
        let contents: Vec<Digest> =
            budgets.unwrap_or_default().into_iter().flat_map(|set| set.contents).collect();
        let has_budget = contents.contains(&content) || has_private_values(plan, &source, &contents)?;
        if Some(content) == purse.content() || has_budget || has_private_file(plan, &source, &contents)? {
            return Err(RunError::PrivateTest { path: path.clone() });
        }
        let loader = Loader::new(&source, &plan.subject.schema, plan.input.door);
        // The records are public, so the choice of each unit's records may be seeded.
        let data = loader.read(&plan.subject.encoding, &mut danger::seeded(0))?;
        if !data.has_target() {
            let column = plan.target().to_owned();
            return Err(RunError::NoPublicTarget { path: path.clone(), column });
        }
        let by = plan.settings.by.as_ref();
        let grouping = by.map(|by| by.read(&source, &plan.subject.schema)).transpose()?;
        Ok(Some(Self { path: path.clone(), data, decision: plan.decision.clone(), grouping }))
    }

    /// The number of records.
    pub fn rows(&self) -> u64 {
        self.data.slots() as u64
    }

    /// The first score of a model: its accuracy or its root mean squared error.
    pub fn score(&self, model: &Model) -> Result<f64, RunError> {
        Ok(model.outcomes(&self.data, self.decision.as_ref(), false)?.headline())
    }

    /// All scores of a model.
    pub fn evaluation(&self, model: &Model) -> Result<Evaluation, RunError> {
        let outcomes = model.outcomes(&self.data, self.decision.as_ref(), true)?;
        let file = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let scores = outcomes.scores();
        let mut evaluation = Evaluation::new(PublicData::declared(file, Some(self.rows())), scores);
        evaluation.remark = scores::verdict(&evaluation.scores);
        evaluation.confusion = outcomes.confusion();
        evaluation.calibration = outcomes.calibration();
        evaluation.threshold = self.decision.as_ref().map(Decision::rule);
        evaluation.groups = self.grouping.as_ref().map(|Grouping { column, values, value_of }| {
            let is_record = |(slot, value): (usize, &Option<usize>)| self.data.row(slot).map(|_| *value);
            let value_of: Vec<Option<usize>> = value_of.iter().enumerate().filter_map(is_record).collect();
            scores::groups(&outcomes, column, values, &value_of)
        });
        Ok(evaluation)
    }
}

/// Whether the values of the test are those of the run's table in memory, or of a data set that is
/// known by its values.
fn has_private_values(plan: &RunPlan, test: &Source, budgets: &[Digest]) -> Result<bool, RunError> {
    let private = &plan.input.source;
    if !private.is_memory() && budgets.is_empty() {
        return Ok(false);
    }
    // A test with other columns, such as one without a unit, has no identity under this schema.
    let Ok(values) = test.identity(&plan.subject.schema) else { return Ok(false) };
    let is_table = private.is_memory() && private.identity(&plan.subject.schema)? == values;
    Ok(is_table || budgets.contains(&Digest::from_bytes(values)))
}

/// Whether a file of the test, packed or unpacked, is a file of the run's data or of a data set
/// with a budget. Private images stay private beside other labels.
fn has_private_file(plan: &RunPlan, test: &Source, budgets: &[Digest]) -> Result<bool, RunError> {
    let private = &plan.input.source;
    let files = [private.digests()?, private.unpacked_digests()?].concat();
    let is_private =
        |digest: &[u8; 32]| files.contains(digest) || budgets.contains(&Digest::from_bytes(*digest));
    Ok(test.digests()?.iter().chain(&test.unpacked_digests()?).any(is_private))
}
