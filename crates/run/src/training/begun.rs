//! The settings that a run was begun with, kept in its working folder until the run is resumed.
//!
//! A checkpoint knows whether it belongs to a plan, but not which setting changed the plan. Nor can
//! it notice a schema with other bounds, whose rows have the same width and mean something else.

use serde::{Deserialize, Serialize};
use sordino_ledger::Digest;
use sordino_nn::Description;
use toml::{Table, Value};

use super::plan::RunPlan;
use crate::error::RunError;
use crate::settings::file;

/// Settings that may change between two parts of a run, or that are compared elsewhere.
const FREE: [&str; 17] = [
    "data",
    "schema",
    "estimate_schema_with",
    "numbers",
    "categories",
    "public_test",
    "by",
    "tuned_on",
    "out",
    "report",
    "threads",
    "ledger",
    "name",
    "who",
    "danger_seed",
    "memory",
    "checkpoint_every",
];

/// Settings that name a network.
const NETWORK: [&str; 2] = ["model", "hidden"];

/// The settings that a run was begun with.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    /// The given settings, as TOML.
    asked: String,
    /// All settings, defaults included.
    effective: String,
    schema: Digest,
    /// The description of the network, if it is one.
    network: Option<Digest>,
}

impl Begun {
    pub(super) fn of(plan: &RunPlan) -> Result<Self, RunError> {
        let network = plan.learner.network().map(|plan| Description::from(&**plan.network()).to_toml());
        let network =
            network.transpose().map_err(|error| RunError::Unwritable { reason: error.to_string() })?;
        Ok(Self {
            asked: file::text(&plan.asked)?,
            effective: file::text(&plan.settings)?,
            schema: Digest::from_bytes(plan.subject.schema.digest()),
            network: network.map(|text| Digest::of(text.as_bytes())),
        })
    }

    /// Checks that a resumed run has the settings of its first part. Names the first setting that
    /// differs.
    pub(super) fn check(&self, now: &Self) -> Result<(), RunError> {
        let differs = |setting: &str| RunError::OtherContent { setting: setting.to_owned() };
        if self.schema != now.schema {
            return Err(differs("--schema"));
        }
        // A network is compared by its description, not by its file's path.
        let effective = first_difference(&self.effective, &now.effective, &NETWORK);
        if effective.is_none() && self.network == now.network {
            return Ok(());
        }
        // The given settings come first: a default that follows from a flag differs with it, and
        // the message should name the flag.
        let asked = first_difference(&self.asked, &now.asked, &[]);
        let Some((name, then, now)) = asked.or(effective) else { return Err(differs("--model")) };
        let shown = |value: Option<Value>| value.map_or("not given".to_owned(), |value| value.to_string());
        let setting = format!("--{}", name.replace('_', "-"));
        Err(RunError::OtherSetting { setting, then: shown(then), now: shown(now) })
    }
}

/// The first setting, by name, whose values differ.
fn first_difference(then: &str, now: &str, but: &[&str]) -> Option<(String, Option<Value>, Option<Value>)> {
    let table = |text: &str| text.parse::<Table>().unwrap_or_default();
    let (then, now) = (table(then), table(now));
    let mut names: Vec<&String> = then.keys().chain(now.keys()).collect();
    names.sort();
    let is_free = |name: &str| FREE.contains(&name) || but.contains(&name);
    let name = names.into_iter().find(|name| !is_free(name) && then.get(*name) != now.get(*name))?;
    Some((name.clone(), then.get(name).cloned(), now.get(name).cloned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(asked: &str, effective: &str) -> Begun {
        let (asked, effective) = (asked.to_owned(), effective.to_owned());
        Begun { asked, effective, schema: Digest::of(b"s"), network: None }
    }

    #[test]
    fn the_flag_is_named_and_not_the_default_that_follows_from_it() {
        let then = begun("epsilon = 1.0", "epsilon = 1.0\nbatch_size = 3\nthreads = 2");
        let now = begun("epsilon = 2.0", "epsilon = 2.0\nbatch_size = 5\nthreads = 1");
        let error = then.check(&now).unwrap_err().to_string();
        assert!(error.contains("it was begun with --epsilon 1.0, and now it is 2.0"), "{error}");
        let spelled = begun("epsilon = 1.0\nbatch_size = 3", "epsilon = 1.0\nbatch_size = 3\nthreads = 1");
        assert!(then.check(&spelled).is_ok());
        let fewer = begun("epsilon = 1.0\nsteps = 5", "epsilon = 1.0\nsteps = 5\nbatch_size = 3");
        assert!(then.check(&fewer).unwrap_err().to_string().contains("--steps not given, and now it is 5"));
    }

    #[test]
    fn another_schema_is_another_run() {
        let then = begun("", "");
        let now = Begun { schema: Digest::of(b"t"), ..begun("", "") };
        assert!(then.check(&now).unwrap_err().to_string().contains("--schema"));
    }
}
