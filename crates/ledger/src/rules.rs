//! The owner's rules: how a data set may be read and used. They are fixed together with its budget.
//!
//! # Guarantee
//! A data set has no rules, or one set of rules for good: they are an entry of the chain, and no
//! later entry replaces them. A budget protects the people in the data, so an analyst must not
//! choose what a record is and whose it is. The owner states that as a [`reading`](Rules::reading),
//! a text that the crate which reads files understands.
//!
//! A [`Lock`] limits analysts further. The ledger itself checks what it can see at every charge:
//! the verb, the price of the charge alone, and that its noise is not seeded. The price follows
//! from the rules and the event. It is computed before the store is locked; under the lock the
//! rules must still be the same. The program that reads the file checks the rest: the schema, the
//! folder of results, that no message depends on a record, and that no score is free.
//!
//! # Limits
//! The ledger believes the purpose of a charge and whether it is seeded, as the calling program
//! states them. So a lock binds analysts who use somebody else's program, and not those who call
//! this library themselves.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sordino_privacy::{ChargeError, Epsilon, Event, Gate, Spent, Terms};

use crate::digest::Digest;
use crate::error::LedgerError;
use crate::label::Label;

/// How a data set may be read and used.
///
/// ```
/// use sordino_ledger::{Digest, Label, Lock, Rules};
/// use sordino_privacy::Epsilon;
/// let verbs = vec![Label::new("query")?];
/// let lock = Lock::new(Digest::of(b"the schema"), verbs, Epsilon::new(0.5)?, "/srv/results")?;
/// let rules = Rules::new("unit = \"record\"")?.owned_by(Label::new("ann")?).locked(lock);
/// assert!(rules.is_owner(&Label::new("ann")?));
/// assert!(rules.lock().is_some_and(|lock| !lock.allows("train")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredRules")]
pub struct Rules {
    reading: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<Lock>,
}

/// Limits for analysts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredLock")]
pub struct Lock {
    schema: Digest,
    verbs: Vec<Label>,
    most: Epsilon,
    folder: PathBuf,
}

impl Rules {
    /// The longest reading, in bytes.
    pub const MAX_READING: usize = 1 << 20;

    /// Rules with this reading, without an owner or a lock. Fails if the text is empty or longer
    /// than [`Rules::MAX_READING`].
    pub fn new(reading: impl Into<String>) -> Result<Self, RulesError> {
        let reading = reading.into();
        if reading.is_empty() || reading.len() > Self::MAX_READING {
            return Err(RulesError::Reading { bytes: reading.len() });
        }
        Ok(Self { reading, owner: None, lock: None })
    }

    /// Names the owner.
    pub fn owned_by(self, owner: Label) -> Self {
        Self { owner: Some(owner), ..self }
    }

    /// Locks the data set.
    pub fn locked(self, lock: Lock) -> Self {
        Self { lock: Some(lock), ..self }
    }

    /// The reading: how records are parsed and whose they are, as the crate that reads files wrote
    /// it.
    pub fn reading(&self) -> &str {
        &self.reading
    }

    /// The owner, who may learn which record does not fit.
    pub fn owner(&self) -> Option<&Label> {
        self.owner.as_ref()
    }

    /// Is `who` the owner? False for everybody if no owner is named.
    pub fn is_owner(&self, who: &Label) -> bool {
        self.owner.as_ref() == Some(who)
    }

    /// The limits for analysts, if the data set is locked.
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }

    /// Checks verb and seed of a charge against the lock, but not its price. `name` is the name of
    /// the data set.
    pub(crate) fn check_kind(&self, name: &Label, what: &Label, seeded: bool) -> Result<(), LedgerError> {
        let Some(lock) = &self.lock else { return Ok(()) };
        if seeded {
            return Err(LedgerError::SeededCharge { name: name.clone() });
        }
        let verb = first_word(what);
        if !lock.allows(verb) {
            let verbs = lock.verbs.iter().map(Label::as_str).collect::<Vec<_>>().join(", ");
            return Err(LedgerError::OtherVerb { name: name.clone(), verb: verb.to_owned(), verbs });
        }
        Ok(())
    }
}

impl Lock {
    /// The longest list of verbs.
    pub const MAX_VERBS: usize = 16;

    /// The longest path of a folder, in bytes.
    pub const MAX_FOLDER: usize = 4096;

    /// A lock: the digest of the one schema; the verbs, each a single word; the largest price of
    /// one charge alone, at the budget's δ; the one folder for results, as an absolute path without
    /// `.`, `..` or doubled slashes.
    pub fn new(
        schema: Digest,
        verbs: Vec<Label>,
        most: Epsilon,
        folder: impl Into<PathBuf>,
    ) -> Result<Self, RulesError> {
        let folder = folder.into();
        if !(1..=Self::MAX_VERBS).contains(&verbs.len()) {
            return Err(RulesError::VerbCount { verbs: verbs.len() });
        }
        let is_wrong = |(place, verb): (usize, &Label)| {
            first_word(verb) != verb.as_str() || verbs[..place].contains(verb)
        };
        if let Some(place) = verbs.iter().enumerate().position(is_wrong) {
            return Err(RulesError::Verb { verb: verbs[place].clone() });
        }
        if !is_plain(&folder) {
            let shown = folder.display().to_string().escape_debug().take(200).collect();
            return Err(RulesError::Folder { shown });
        }
        Ok(Self { schema, verbs, most, folder })
    }

    /// The digest of the one schema that may be used.
    pub fn schema(&self) -> Digest {
        self.schema
    }

    /// The allowed verbs. The verb of a charge is the first word of its purpose.
    pub fn verbs(&self) -> &[Label] {
        &self.verbs
    }

    /// Is this verb allowed?
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known.as_str() == verb)
    }

    /// The largest price of one charge alone, at the budget's δ.
    pub fn most(&self) -> Epsilon {
        self.most
    }

    /// The one folder that results are written to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that `event` alone costs at most [`most`](Self::most), by the same comparison, with
    /// the same slack, that a budget makes.
    pub(crate) fn check_price(&self, terms: &Terms, event: &Event) -> Result<(), LedgerError> {
        let alone =
            Terms::new(self.most, terms.neighbours).with_delta(terms.delta).for_unit(terms.unit.clone());
        match Gate::new(&alone).decide(&Spent::default(), event) {
            Err(ChargeError::Refused(refusal)) => {
                Err(LedgerError::ChargeTooLarge { costs: refusal.costs.upper, most: self.most })
            }
            decided => Ok(decided?),
        }
    }
}

/// The verb of a purpose.
fn first_word(what: &Label) -> &str {
    what.as_str().split_whitespace().next().unwrap_or_default()
}

/// Whether a path is absolute, in its shortest spelling, and safe to show on a terminal.
fn is_plain(folder: &Path) -> bool {
    let shortest: PathBuf = folder.components().collect();
    folder.is_absolute()
        && shortest.as_os_str() == folder.as_os_str()
        && !folder.components().any(|part| part == Component::ParentDir)
        && folder.to_str().is_some_and(|text| {
            text.len() <= Lock::MAX_FOLDER && !text.chars().any(crate::label::is_invisible)
        })
}

/// Why rules are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// The reading is empty or too long.
    #[error("how records are read must be 1 to {} bytes of text, got {bytes}", Rules::MAX_READING)]
    Reading {
        /// Its length.
        bytes: usize,
    },
    /// No verb, or too many.
    #[error("a locked data set must allow 1 to {} verbs, got {verbs}", Lock::MAX_VERBS)]
    VerbCount {
        /// Their number.
        verbs: usize,
    },
    /// A verb of several words, or one that is listed twice.
    #[error("the verbs of a locked data set must be different single words, got `{verb}`")]
    Verb {
        /// The verb.
        verb: Label,
    },
    /// A folder with other spellings, or one that cannot be shown.
    #[error(
        "the folder of results must be an absolute path without `.`, `..`, doubled `/` and invisible \
         characters, of at most {} bytes, got \"{shown}\"",
        Lock::MAX_FOLDER
    )]
    Folder {
        /// The path, escaped.
        shown: String,
    },
}

/// [`Rules`] as they are written, before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRules {
    reading: String,
    #[serde(default)]
    owner: Option<Label>,
    #[serde(default)]
    lock: Option<Lock>,
}

impl TryFrom<StoredRules> for Rules {
    type Error = RulesError;

    fn try_from(stored: StoredRules) -> Result<Self, RulesError> {
        let StoredRules { reading, owner, lock } = stored;
        Ok(Self { owner, lock, ..Self::new(reading)? })
    }
}

/// A [`Lock`] as it is written, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredLock {
    schema: Digest,
    verbs: Vec<Label>,
    most: Epsilon,
    folder: PathBuf,
}

impl TryFrom<StoredLock> for Lock {
    type Error = RulesError;

    fn try_from(stored: StoredLock) -> Result<Self, RulesError> {
        let StoredLock { schema, verbs, most, folder } = stored;
        Self::new(schema, verbs, most, folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> Label {
        Label::new(text).unwrap()
    }

    fn lock(verbs: &[&str], folder: &str) -> Result<Lock, RulesError> {
        let verbs = verbs.iter().map(|verb| label(verb)).collect();
        Lock::new(Digest::of(b"schema"), verbs, Epsilon::new(0.5).unwrap(), folder)
    }

    #[test]
    fn rules_have_bounded_sizes_and_one_spelling() {
        assert!(Rules::new("").is_err());
        assert!(Rules::new("x".repeat(Rules::MAX_READING)).is_ok());
        assert_eq!(
            Rules::new("x".repeat(Rules::MAX_READING + 1)),
            Err(RulesError::Reading { bytes: Rules::MAX_READING + 1 })
        );
        assert!(lock(&["train", "query"], "/srv/results").is_ok());
        let many: Vec<String> = (0..=Lock::MAX_VERBS).map(|place| format!("verb{place}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for verbs in [&[][..], &["train", "train"], &["train all"], &many] {
            assert!(lock(verbs, "/srv/results").is_err(), "{verbs:?}");
        }
        let long = format!("/{}", "x".repeat(Lock::MAX_FOLDER));
        for folder in [
            "",
            "results",
            "./results",
            "/srv/../results",
            "/srv/./x",
            "/srv//x",
            "/srv/x/",
            "/s\u{1b}[2J",
            &long,
        ] {
            assert!(matches!(lock(&["train"], folder), Err(RulesError::Folder { .. })), "{folder}");
        }
    }

    /// The chain hashes this text. Fields without a value are not written.
    #[test]
    fn rules_are_written_as_they_are_read() {
        let plain = Rules::new("unit = \"record\"\n").unwrap();
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(text, r#"{"reading":"unit = \"record\"\n"}"#);
        let whole = plain.owned_by(label("ann")).locked(lock(&["train", "query"], "/srv/results").unwrap());
        let text = serde_json::to_string(&whole).unwrap();
        let digest = Digest::of(b"schema");
        assert_eq!(
            text,
            [
                &format!(r#"{{"reading":"unit = \"record\"\n","owner":"ann","lock":{{"schema":"{digest}","#),
                r#""verbs":["train","query"],"most":0.5,"folder":"/srv/results"}}"#,
            ]
            .concat()
        );
        assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), whole);
        for (from, to) in [
            ("\"owner\"", "\"friend\""),
            ("\"most\"", "\"least\""),
            ("\"most\":0.5,", ""),
            ("/srv/results", "results"),
            ("[\"train\",\"query\"]", "[]"),
            ("\"query\"", "\"train\""),
            ("unit = \\\"record\\\"\\n", ""),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(serde_json::from_str::<Rules>(&changed).is_err(), "{changed}");
        }
    }
}
