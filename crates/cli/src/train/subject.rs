//! What is to be learned, from what, for how much: decided from public things alone, which are the header, the schema, the number of
//! records, the flags and the ledger's terms.
//!
//! # Defaults
//! - Relation: `zero_out`, under which n is public; with a ledger, the ledger's.
//! - δ: the ledger's; without one 10^-6, or the first power of ten below 1/(10 n) if that is less.
//! - n is counted unless it is given. It is public under both relations that learners accept.

use std::path::PathBuf;

use sordino::noise::danger;
use sordino::prelude::*;
use sordino_data::{DataError, Door, Encoding, EncodingOptions, Loader, Schema, Source, Wanted};

use super::args::Settings;
use super::method::Task;
use super::network::ImageShape;
use crate::error::Error;
use crate::purse::Purse;
use crate::schema_file;

/// δ of small tables.
const USUAL_DELTA: f64 = 1e-6;

pub(crate) struct Subject {
    pub(crate) schema: Schema,
    /// The columns of the file, in order.
    pub(crate) names: Vec<String>,
    pub(crate) encoding: Encoding,
    pub(crate) n: Count,
    pub(crate) epsilon: Epsilon,
    pub(crate) delta: Delta,
    pub(crate) neighbours: Neighbours,
    /// The shape of pictures, where records are some.
    pub(crate) image: Option<ImageShape>,
}

impl Subject {
    /// Of a file. Reads the schema, the header and, unless it is given, the number of records. What was decided and should be said is
    /// added to `notes`.
    pub(crate) fn of_file(
        settings: &Settings,
        purse: &Purse,
        notes: &mut Vec<String>,
    ) -> Result<(Self, Source), Error> {
        let (target, epsilon) = target_and_epsilon(settings)?;
        let data = data_of(settings)?;
        let schema = schema_of(settings)?.ok_or_else(|| Error::NoSchema { data: data.clone() })?;
        let source = Source::open(&data, schema.csv())?;
        let names = source.names();
        let encoding = encoding(&schema, &names, target, settings)?;
        let n = match settings.rows {
            Some(n) => n,
            None => Count::new(counted(&source, &schema, door(settings))?)?,
        };
        let delta = delta(settings, purse, n, notes)?;
        let neighbours = public_size(purse)?;
        let image = settings.image.or_else(|| ImageShape::of_format(source.format(), encoding.width()));
        let image = image.filter(|_| settings.model.is_some());
        Ok((Self { schema, names, encoding, n, epsilon, delta, neighbours, image }, source))
    }

    /// Of a table that need not be there: n and the names of the columns are those that the schema and `--rows` state.
    pub(crate) fn of_schema(
        settings: &Settings,
        purse: &Purse,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let (target, epsilon) = target_and_epsilon(settings)?;
        let schema = schema_of(settings)?.ok_or(Error::NoSetting { flag: "--schema FILE" })?;
        let names: Vec<String> = schema.columns().map(|(name, _)| name.to_owned()).collect();
        if let Some(pattern) = names.iter().find(|name| name.ends_with('*')) {
            return Err(Error::PatternWithoutData { pattern: pattern.clone() });
        }
        let encoding = encoding(&schema, &names, target, settings)?;
        let n = settings.rows.ok_or(Error::NoSetting { flag: "--rows N" })?;
        let delta = delta(settings, purse, n, notes)?;
        let neighbours = public_size(purse)?;
        let image = settings.image;
        Ok(Self { schema, names, encoding, n, epsilon, delta, neighbours, image })
    }

    /// What a learner is made for.
    pub(crate) fn task<'a>(&'a self, settings: &'a Settings) -> Task<'a> {
        let &Self { ref encoding, n, epsilon, delta, neighbours, .. } = self;
        Task { encoding, n, epsilon, delta, neighbours, settings, noise: None }
    }

    pub(crate) fn unit(&self) -> Unit {
        self.schema.unit().unit()
    }

    /// What scores of its models are called.
    pub(crate) fn score_name(&self) -> &'static str {
        if self.encoding.classes().is_some() { "accuracy" } else { "error" }
    }
}

pub(crate) fn data_of(settings: &Settings) -> Result<PathBuf, Error> {
    settings.data.clone().ok_or(Error::NoSetting { flag: "DATA" })
}

pub(crate) fn door(settings: &Settings) -> Door {
    if settings.permissive { Door::Permissive } else { Door::Strict }
}

/// How many records there are. Nothing that is drawn leaves this place.
fn counted(source: &Source, schema: &Schema, door: Door) -> Result<u64, Error> {
    let loader = Loader::new(source, schema, Door::Permissive);
    match loader.survey(Wanted::Columns(&[]), &mut danger::seeded(0))?.slots() {
        0 if door == Door::Strict => Err(DataError::NoRecords { path: source.path().to_owned() }.into()),
        slots => Ok(slots),
    }
}

fn target_and_epsilon(settings: &Settings) -> Result<(&str, Epsilon), Error> {
    let target = settings.target.as_deref().ok_or(Error::NoSetting { flag: "--target COLUMN" })?;
    let epsilon = settings.epsilon.ok_or(Error::NoSetting { flag: "--epsilon E" })?;
    if epsilon.get() == 0.0 {
        return Err(Error::NoEpsilon);
    }
    check_numbers(settings)?;
    Ok((target, epsilon))
}

/// Numbers that learners check when they run, which is after they were paid for.
fn check_numbers(settings: &Settings) -> Result<(), Error> {
    let Settings { learning_rate, l2, momentum, clip_quantile, averaging_tail, averaging_decay, .. } =
        *settings;
    let part = "above 0 and at most 1";
    let checks = [
        ("--learning-rate", "a finite number above 0", learning_rate.map(|x| (x, x > 0.0 && x.is_finite()))),
        ("--l2", "a finite number of at least 0", l2.map(|x| (x, x >= 0.0 && x.is_finite()))),
        ("--momentum", "at least 0 and below 1", momentum.map(|x| (x, (0.0..1.0).contains(&x)))),
        ("--clip-quantile", "above 0 and below 1", clip_quantile.map(|x| (x, x > 0.0 && x < 1.0))),
        ("--averaging-tail", part, averaging_tail.map(|x| (x, x > 0.0 && x <= 1.0))),
        (
            "--averaging-decay",
            "at least 0 and below 1",
            averaging_decay.map(|x| (x, (0.0..1.0).contains(&x))),
        ),
    ];
    for (flag, expected, given) in checks {
        if let Some((got, false)) = given {
            return Err(Error::Number { flag, expected, got });
        }
    }
    Ok(())
}

fn schema_of(settings: &Settings) -> Result<Option<Schema>, Error> {
    settings.schema.as_deref().map(schema_file::read).transpose()
}

fn encoding(schema: &Schema, names: &[String], target: &str, settings: &Settings) -> Result<Encoding, Error> {
    let options = EncodingOptions {
        target: Some(target.to_owned()),
        // Layers have their own.
        intercept: settings.model.is_none(),
        row_norm: settings.row_norm,
        ..EncodingOptions::default()
    };
    Ok(Encoding::new(schema, names, options)?)
}

fn delta(settings: &Settings, purse: &Purse, n: Count, notes: &mut Vec<String>) -> Result<Delta, Error> {
    let delta = match (settings.delta, purse.terms()) {
        (Some(delta), _) => delta,
        (None, Some(terms)) => terms.delta,
        (None, None) => {
            let delta = delta_for(n.get());
            notes.push(format!(
                "no --delta given: took delta = {delta:e} (1e-6, or the first power of ten below 1/(10 n) if that is less)"
            ));
            Delta::new(delta)?
        }
    };
    Ok(delta)
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
