//! The subject of a run: the data, the target and the price. All of it follows from public facts:
//! the header, the schema, the number of records, the settings and the ledger's terms.
//!
//! # Defaults
//! - Relation: `zero_out`, under which n is public; with a ledger, the ledger's.
//! - δ: the ledger's; without one 10^-6, or the first power of ten below 1/(10 n) if that is less.
//! - n is counted unless it is given. It is public under both relations that learners accept.

use std::num::NonZero;

use sordino_data::{Column, Encoding, EncodingOptions, Sampling, Schema};
use sordino_learn::Facts;
use sordino_nn::Description;
use sordino_optim::{ClassWeights, Noise};
use sordino_privacy::{Choice, Count, Delta, Epsilon, Neighbours, NoiseMultiplier, SamplingRate, Unit};

use super::input::Input;
use super::learner::Learner;
use super::network::{self, ImageShape};
use super::{effective, linear};
use crate::error::RunError;
use crate::purse::Purse;
use crate::schema_file;
use crate::settings::{LearnerSettings, Method, SamplingName, Settings, file};

/// The default δ of small tables.
const USUAL_DELTA: f64 = 1e-6;

/// The subject of a run: the data, the target and the price.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The schema of the table.
    pub schema: Schema,
    /// The columns of the file, in order.
    pub names: Vec<String>,
    /// How records become rows.
    pub encoding: Encoding,
    /// The number of records, which is public.
    pub n: Count,
    /// The price ε.
    pub epsilon: Epsilon,
    /// The price δ.
    pub delta: Delta,
    /// The neighbouring relation.
    pub neighbours: Neighbours,
    /// Whether the payer can pay for an event with a δ of its own.
    pub pays_delta: bool,
    /// The shape of the records, if they are images.
    pub image: Option<ImageShape>,
    /// Threads to compute with; all processors if none are named.
    pub threads: Option<NonZero<usize>>,
    /// The network, if a program describes it.
    pub(crate) network: Option<Description>,
}

impl Subject {
    /// The subject of an open file. n is counted unless it is given. Adds defaults that
    /// the user should know of to `notes`.
    pub(crate) fn of_input(
        settings: &Settings,
        input: &Input,
        encoding: Encoding,
        purse: &Purse,
        notes: &mut Vec<String>,
    ) -> Result<Self, RunError> {
        // Checked before n is counted: n must be public.
        let neighbours = public_size(purse)?;
        let n = settings.rows.map_or_else(|| input.rows(), Ok)?;
        let format = || ImageShape::of_format(input.source.format(), encoding.width());
        let image = settings.learner.image.or_else(format).filter(|_| settings.learner.model.is_some());
        let (epsilon, delta) = (target_and_epsilon(settings)?.1, delta(settings, purse, n, notes)?);
        let (schema, names) = (input.schema.clone(), input.source.names());
        Ok(Self {
            schema,
            names,
            encoding,
            n,
            epsilon,
            delta,
            neighbours,
            pays_delta: pays_delta(purse),
            image,
            threads: settings.threads,
            network: None,
        })
    }

    /// The subject of a table that need not exist: the schema names its
    /// columns, and `--rows` states n.
    pub(crate) fn of_schema(
        settings: &Settings,
        schema: Option<Schema>,
        purse: &Purse,
        notes: &mut Vec<String>,
    ) -> Result<Self, RunError> {
        let (target, epsilon) = target_and_epsilon(settings)?;
        let schema = match schema {
            Some(schema) => schema,
            None => schema_of(settings)?.ok_or(RunError::Missing { setting: "--schema FILE" })?,
        };
        let names: Vec<String> = schema.columns().map(|(name, _)| name.to_owned()).collect();
        if let Some(pattern) = names.iter().find(|name| name.ends_with('*')) {
            return Err(RunError::PatternWithoutData { pattern: pattern.clone() });
        }
        let encoding = encoding(&schema, &names, target, settings)?;
        let n = settings.rows.ok_or(RunError::Missing { setting: "--rows N" })?;
        let delta = delta(settings, purse, n, notes)?;
        let neighbours = public_size(purse)?;
        let image = settings.learner.image;
        Ok(Self {
            schema,
            names,
            encoding,
            n,
            epsilon,
            delta,
            neighbours,
            pays_delta: pays_delta(purse),
            image,
            threads: settings.threads,
            network: None,
        })
    }

    /// The same subject, for a network that a program describes.
    pub(crate) fn with_network(self, network: Option<Description>) -> Self {
        Self { network, ..self }
    }

    /// The task for a planner.
    pub(crate) fn task(&self) -> Task<'_> {
        let &Self { ref encoding, n, epsilon, delta, neighbours, pays_delta, image, threads, .. } = self;
        let network = self.network.as_ref();
        Task { encoding, n, epsilon, delta, neighbours, pays_delta, image, threads, network, noise: None }
    }

    /// Bytes of the encoded records in memory.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.encoding.bytes(self.n.get())
    }

    /// The unit that it protects.
    pub fn unit(&self) -> Unit {
        self.schema.unit().unit()
    }

    /// The word for scores of its models.
    pub fn score_name(&self) -> &'static str {
        if self.encoding.classes().is_some() { "accuracy" } else { "error" }
    }
}

pub(super) fn target_and_epsilon(settings: &Settings) -> Result<(&str, Epsilon), RunError> {
    let target = settings.target.as_deref().ok_or(RunError::Missing { setting: "--target COLUMN" })?;
    let epsilon = settings.epsilon.ok_or(RunError::Missing { setting: "--epsilon E" })?;
    if epsilon.get() == 0.0 {
        return Err(RunError::NoEpsilon);
    }
    Ok((target, epsilon))
}

pub(super) fn schema_of(settings: &Settings) -> Result<Option<Schema>, RunError> {
    settings.schema.as_deref().map(schema_file::read).transpose()
}

pub(super) fn encoding(
    schema: &Schema,
    names: &[String],
    target: &str,
    settings: &Settings,
) -> Result<Encoding, RunError> {
    let options = EncodingOptions {
        target: Some(target.to_owned()),
        // A network's layers have biases of their own.
        intercept: settings.learner.model.is_none(),
        row_norm: settings.learner.row_norm,
        ..EncodingOptions::default()
    };
    if let Some(Column::Category(category)) = schema.column(target)
        && let [value] = category.values()
    {
        let (column, value) = (target.to_owned(), value.clone());
        return Err(RunError::OneClass { column, value });
    }
    Ok(Encoding::new(schema, names, options)?)
}

fn delta(settings: &Settings, purse: &Purse, n: Count, notes: &mut Vec<String>) -> Result<Delta, RunError> {
    let delta = match (settings.delta, purse.terms()) {
        (Some(delta), _) => delta,
        (None, Some(terms)) => terms.delta,
        (None, None) => {
            let delta = delta_for(n.get());
            notes.push(format!(
                "no --delta given: took delta = {delta:e} (1e-6, or the first power of ten below 1/(10 n) if \
                that is less)"
            ));
            Delta::new(delta)?
        }
    };
    Ok(delta)
}

/// 10^-6, or the first power of ten below 1/(10 n) if that is less.
fn delta_for(n: u64) -> f64 {
    // 10 n has one digit more than n; 10^digits is the first power of ten above it.
    let digits = n.to_string().len() as i32 + 1;
    10f64.powi(-digits).min(USUAL_DELTA)
}

/// An adaptive budget pays for an event's own δ only from the δ that it has set aside.
fn pays_delta(purse: &Purse) -> bool {
    purse.terms().is_none_or(|terms| terms.choice == Choice::Planned || terms.set_aside > Delta::ZERO)
}

/// Learners divide by n, so n must be public.
pub(super) fn public_size(purse: &Purse) -> Result<Neighbours, RunError> {
    let neighbours = purse.neighbours();
    if neighbours.has_public_size() { Ok(neighbours) } else { Err(RunError::PrivateSize { neighbours }) }
}

/// The task for which a planner makes a learner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) encoding: &'a Encoding,
    pub(crate) n: Count,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) neighbours: Neighbours,
    pub(crate) pays_delta: bool,
    pub(crate) image: Option<ImageShape>,
    pub(crate) threads: Option<NonZero<usize>>,
    pub(crate) network: Option<&'a Description>,
    /// The noise multiplier of a step, if it does not follow from ε: a rehearsal takes it from the
    /// real run. Learners without steps have none.
    pub(crate) noise: Option<NoiseMultiplier>,
}

impl Task<'_> {
    /// The learner that the settings name, with all its numbers. A setting
    /// that it does not use is refused.
    pub(crate) fn learner(&self, asked: &LearnerSettings) -> Result<Learner, RunError> {
        let mut wishes = asked.clone();
        let learner = match wishes.model.take() {
            Some(model) => network::plan(&model, self, &mut wishes)?,
            None => linear::plan(self, &mut wishes)?,
        };
        match file::first_given(&wishes)? {
            Some(name) => {
                let setting = format!("--{}", name.replace('_', "-"));
                Err(RunError::Unused { setting, by: effective::in_full(&learner, asked.model.as_deref()) })
            }
            None => Ok(learner),
        }
    }

    /// The facts that the rules for defaults use.
    pub(crate) fn facts(&self) -> Facts<'_> {
        let &Self { encoding, n, epsilon, delta, neighbours, pays_delta, .. } = self;
        Facts { encoding, n, epsilon, delta, neighbours, pays_delta }
    }

    /// The noise: as given, or calibrated to the price.
    pub(crate) fn noise(&self) -> Noise {
        self.noise.map_or(Noise::Budget { epsilon: self.epsilon, delta: self.delta }, Noise::Multiplier)
    }

    /// Takes the sampling of batches out of `wishes`. By default they are Poisson samples of the
    /// rate `usual`. Also returns the expected fraction of the records in a batch.
    pub(crate) fn sampling(
        &self,
        wishes: &mut LearnerSettings,
        usual: f64,
    ) -> Result<(Sampling, f64), RunError> {
        let n = self.n.get() as f64;
        match wishes.sampling.take().unwrap_or_default() {
            SamplingName::Poisson => {
                let rate = self.rate(wishes, usual)?;
                Ok((Sampling::Poisson { rate }, rate.get()))
            }
            SamplingName::Fixed => {
                let usual = || Count::new((usual * n).round().max(1.0) as u64);
                let size = wishes.batch_size.take().map_or_else(usual, Ok)?;
                self.check_batch(size)?;
                let sampling = Sampling::WithoutReplacement { size };
                if !sampling.admits(self.neighbours) {
                    return Err(RunError::FixedNeedsReplace { neighbours: self.neighbours });
                }
                Ok((sampling, size.get() as f64 / n))
            }
        }
    }

    fn check_batch(&self, batch: Count) -> Result<(), RunError> {
        if batch > self.n {
            return Err(RunError::LargeBatch { batch: batch.get(), n: self.n.get() });
        }
        Ok(())
    }

    /// Takes the sampling rate out of `wishes`, from `--sampling-rate` or
    /// `--batch-size`. The default is `usual`.
    fn rate(&self, wishes: &mut LearnerSettings, usual: f64) -> Result<SamplingRate, RunError> {
        match (wishes.sampling_rate.take(), wishes.batch_size.take()) {
            (Some(_), Some(_)) => {
                Err(RunError::TwoSettings { first: "--sampling-rate", second: "--batch-size" })
            }
            (Some(rate), None) => Ok(rate),
            (None, Some(batch)) => {
                self.check_batch(batch)?;
                Ok(SamplingRate::new(batch.get() as f64 / self.n.get() as f64)?)
            }
            (None, None) => Ok(SamplingRate::new(usual)?),
        }
    }

    /// Takes the number of steps out of `wishes`, from `--steps` or `--epochs`. The default
    /// is the steps of `passes` passes.
    pub(crate) fn steps(
        &self,
        wishes: &mut LearnerSettings,
        rate: f64,
        passes: f64,
    ) -> Result<Count, RunError> {
        match (wishes.steps.take(), wishes.epochs.take()) {
            (Some(_), Some(_)) => Err(RunError::TwoSettings { first: "--steps", second: "--epochs" }),
            (Some(steps), None) => Ok(steps),
            (None, epochs) => {
                let passes = epochs.map_or(passes, |epochs| epochs.get() as f64);
                Ok(Count::new((passes / rate).ceil() as u64)?)
            }
        }
    }

    /// Takes the class weights out of `wishes`.
    pub(crate) fn class_weights(
        &self,
        wishes: &mut LearnerSettings,
    ) -> Result<Option<ClassWeights>, RunError> {
        wishes.class_weights.take().map(|weights| weights.among(self.encoding)).transpose()
    }

    /// Checks that δ is above 0 for methods that have Gaussian noise only.
    pub(crate) fn check_delta(&self, method: Method) -> Result<(), RunError> {
        let has_pure_noise = matches!(method, Method::OutputPerturbation | Method::ObjectivePerturbation);
        if self.delta > Delta::ZERO || has_pure_noise {
            return Ok(());
        }
        Err(RunError::PureTraining { method: method.name() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_delta_follows_its_rule() {
        for (n, delta) in
            [(1, 1e-6), (569, 1e-6), (60_000, 1e-6), (99_999, 1e-6), (100_000, 1e-7), (1_000_000, 1e-8)]
        {
            assert!((delta_for(n) / delta - 1.0).abs() < 1e-12, "{n}: {}", delta_for(n));
            assert!(delta_for(n) < 1.0 / (10.0 * n as f64), "{n}");
        }
    }
}
