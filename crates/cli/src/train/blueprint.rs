//! A run, decided from public things: the header, the schema, the number of records, the flags and the ledger's terms.
//!
//! # Defaults
//! - Relation: `zero_out`, under which n is public; with a ledger, the ledger's.
//! - δ: the ledger's; without one 10^-6, or the first power of ten below 1/(10 n) if that is less.
//! - Loss: logistic for two classes, softmax for more, squared for a number.
//! - n is counted unless it is given. It is public under both relations that learners accept.

use std::path::PathBuf;

use sordino::prelude::*;
use sordino_data::{Door, Encoding, EncodingOptions, Loader, Schema, Source};
use sordino_learn::Loss;

use super::args::{LossFlag, Settings};
use super::learner::Learner;
use super::method::Task;
use crate::args::Relation;
use crate::error::Error;
use crate::purse::Purse;
use crate::schema_file;

/// δ of small tables.
const USUAL_DELTA: f64 = 1e-6;

pub(crate) struct Blueprint {
    pub(crate) source: Source,
    pub(crate) schema: Schema,
    pub(crate) encoding: Encoding,
    pub(crate) loss: Loss,
    pub(crate) n: Count,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) learner: Box<dyn Learner>,
    /// Defaults included.
    pub(crate) settings: Settings,
    pub(crate) out: PathBuf,
    /// What was decided and should be said.
    pub(crate) notes: Vec<String>,
}

impl Blueprint {
    /// Reads the schema, the header and, unless it is given, the number of records.
    pub(crate) fn draw(settings: &Settings, purse: &Purse) -> Result<Self, Error> {
        let mut settings = settings.clone();
        let mut notes = Vec::new();
        let target = settings.target.clone().ok_or(Error::NoSetting { flag: "--target COLUMN" })?;
        let epsilon = settings.epsilon.ok_or(Error::NoSetting { flag: "--epsilon E" })?;
        if epsilon.get() == 0.0 {
            return Err(Error::NoEpsilon);
        }
        check_numbers(&settings)?;
        let data = data_of(&settings)?;
        let schema = schema_file::read(
            settings.schema.as_deref().ok_or_else(|| Error::NoSchema { data: data.clone() })?,
        )?;
        let source = Source::open(&data, schema.csv())?;
        let encoding = encoding(&schema, &source, &target, settings.row_norm)?;
        let loss = loss(settings.loss, &encoding);
        loss.check(&encoding)?;
        let n = match settings.rows {
            Some(n) => n,
            None => Count::new(Loader::new(&source, &schema, door(&settings)).slots()?)?,
        };
        let delta = match settings.delta {
            Some(delta) => delta,
            None => default_delta(purse, n, &mut notes)?,
        };
        let method = settings.method.unwrap_or_default();
        if delta == Delta::ZERO && method.needs_delta() {
            return Err(Error::PureTraining { method: method.name() });
        }
        let neighbours = public_size(purse)?;
        let task = Task { loss, encoding: &encoding, n, epsilon, delta, neighbours, settings: &settings };
        let learner = method.plan(&task)?;
        settings.data = Some(data.clone());
        settings.delta = Some(delta);
        settings.method = Some(method);
        settings.loss = Some(flag_of(loss));
        settings.neighbours = Relation::of(neighbours);
        settings.rows = Some(n);
        learner.settle(&mut settings);
        let out = settings.out.get_or_insert_with(|| default_out(&data));
        // Without a slash at the end, to which nothing can be appended.
        let out = out.components().collect();
        Ok(Self { source, schema, encoding, loss, n, epsilon, delta, learner, settings, out, notes })
    }

    pub(crate) fn door(&self) -> Door {
        door(&self.settings)
    }

    pub(crate) fn loader(&self) -> Loader<'_> {
        Loader::new(&self.source, &self.schema, self.door())
    }

    /// That n is what was stated. Counted before anything is charged; n is public.
    pub(crate) fn check_rows(&self) -> Result<(), Error> {
        let (stated, counted) = (self.n.get(), self.loader().slots()?);
        if stated == counted {
            return Ok(());
        }
        Err(Error::OtherRows { data: self.source.path().to_owned(), stated, counted })
    }

    pub(crate) fn unit(&self) -> Unit {
        self.schema.unit().unit()
    }
}

pub(crate) fn data_of(settings: &Settings) -> Result<PathBuf, Error> {
    settings.data.clone().ok_or(Error::NoSetting { flag: "DATA" })
}

/// Numbers that learners check when they run, which is after they were paid for.
fn check_numbers(settings: &Settings) -> Result<(), Error> {
    match (settings.learning_rate, settings.l2) {
        (Some(got), _) if !(got > 0.0 && got.is_finite()) => {
            Err(Error::Number { flag: "--learning-rate", expected: "a finite number above 0", got })
        }
        (_, Some(got)) if !(got >= 0.0 && got.is_finite()) => {
            Err(Error::Number { flag: "--l2", expected: "a finite number of at least 0", got })
        }
        _ => Ok(()),
    }
}

fn door(settings: &Settings) -> Door {
    if settings.permissive { Door::Permissive } else { Door::Strict }
}

fn encoding(
    schema: &Schema,
    source: &Source,
    target: &str,
    row_norm: Option<f64>,
) -> Result<Encoding, Error> {
    let target = Some(target.to_owned());
    let options = EncodingOptions { target, intercept: true, row_norm, ..EncodingOptions::default() };
    Ok(Encoding::new(schema, &source.names(), options)?)
}

/// The loss that is asked for, or the usual one for the target.
fn loss(asked: Option<LossFlag>, encoding: &Encoding) -> Loss {
    let classes = encoding.classes().map_or(0, <[String]>::len);
    match asked {
        Some(LossFlag::Logistic) => Loss::Logistic,
        Some(LossFlag::SmoothHinge) => Loss::SmoothHinge { width: 0.5 },
        Some(LossFlag::Softmax) => Loss::Softmax { classes },
        Some(LossFlag::Squared) => Loss::Squared,
        Some(LossFlag::Huber) => Loss::Huber { width: 0.5 },
        None if encoding.target_bounds().is_some() => Loss::Squared,
        None if classes == 2 => Loss::Logistic,
        None => Loss::Softmax { classes },
    }
}

fn flag_of(loss: Loss) -> LossFlag {
    match loss {
        Loss::Logistic => LossFlag::Logistic,
        Loss::SmoothHinge { .. } => LossFlag::SmoothHinge,
        Loss::Squared => LossFlag::Squared,
        Loss::Huber { .. } => LossFlag::Huber,
        // The enum may grow; the command makes none but these.
        Loss::Softmax { .. } | _ => LossFlag::Softmax,
    }
}

fn default_delta(purse: &Purse, n: Count, notes: &mut Vec<String>) -> Result<Delta, Error> {
    if let Some(terms) = purse.terms() {
        return Ok(terms.delta);
    }
    let delta = delta_for(n.get());
    notes.push(format!(
        "no --delta given: took delta = {delta:e} (1e-6, or the first power of ten below 1/(10 n) if that is less)"
    ));
    Ok(Delta::new(delta)?)
}

/// 10^-6, or the first power of ten below 1/(10 n) if that is less.
fn delta_for(n: u64) -> f64 {
    // 10 n has as many digits as n and one more; 10^digits is the first power of ten above it.
    let digits = n.to_string().len() as i32 + 1;
    10f64.powi(-digits).min(USUAL_DELTA)
}

/// Learners divide by n, so n must be public.
fn public_size(purse: &Purse) -> Result<Neighbours, Error> {
    let neighbours = purse.neighbours();
    match neighbours {
        Neighbours::ZeroOut
        | Neighbours::ZeroOutUnordered
        | Neighbours::Replace
        | Neighbours::ReplaceOrdered => Ok(neighbours),
        Neighbours::AddRemove | Neighbours::AddRemoveOrdered | Neighbours::MetricBall(_) => {
            Err(Error::PrivateSize { neighbours })
        }
    }
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
    fn the_default_delta_follows_its_rule() {
        for (n, delta) in
            [(1, 1e-6), (569, 1e-6), (60_000, 1e-6), (99_999, 1e-6), (100_000, 1e-7), (1_000_000, 1e-8)]
        {
            assert!((delta_for(n) / delta - 1.0).abs() < 1e-12, "{n}: {}", delta_for(n));
            assert!(delta_for(n) < 1.0 / (10.0 * n as f64), "{n}");
        }
    }

    #[test]
    fn a_model_is_named_after_its_data() {
        for (data, out) in [("a/patients.csv.gz", "patients.model"), ("x", "x.model"), ("..", "data.model")] {
            assert_eq!(default_out(data.as_ref()), PathBuf::from(out));
        }
    }
}
