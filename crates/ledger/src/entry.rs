//! What is written down: one entry for each thing that happened, chained by hashes.
//!
//! # Definition
//! Entry n is the JSON text `body(n)`. With h(0) the hash of a fixed text, h(n) = SHA-256(h(n-1) ‖
//! body(n)). Whoever knows h(n) can tell whether any of the first n entries was changed, removed,
//! inserted or moved: another history with the same h(n) would be a collision of SHA-256.

use serde::{Deserialize, Serialize};
use sordino_privacy::{Delta, Epsilon, Event, Terms};

use crate::clock::Time;
use crate::digest::Digest;
use crate::label::Label;
use crate::rules::Rules;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// 1 for the first, then without gaps.
    pub number: u64,
    /// When, by the clock of whoever wrote it; never before the entry before.
    pub time: Time,
    /// What.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Body {
    /// The ledger was made; always the first entry and only that.
    Ledger {
        /// The version of everything that follows.
        format_version: u32,
    },
    /// From here on entries may be of a newer format.
    Migrated {
        /// The version of everything that follows.
        format_version: u32,
    },
    /// A data set got a budget. Later entries call it by the number of this one.
    Created {
        /// Its name.
        name: Label,
        /// Its content.
        content: Digest,
        /// What may be spent on it.
        terms: Terms,
        /// How it may be read and used. Since format version 3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<Rules>,
    },
    /// The owner gave rules to a data set that was created without them. Since format version 3.
    Ruled {
        /// Number of the entry that created the data set.
        data_set: u64,
        /// How.
        rules: Rules,
    },
    /// The owner declared that this name or this content is the same data set.
    Linked {
        /// Number of the entry that created the data set.
        data_set: u64,
        /// The name that was given with it.
        name: Label,
        /// The content that was given with it.
        content: Digest,
    },
    /// An analyst got a share of a budget, or a new share instead of the old one. Since format
    /// version 2.
    Granted {
        /// Number of the entry that created the data set.
        data_set: u64,
        /// Who may spend it.
        to: Label,
        /// The most that they may spend.
        epsilon: Epsilon,
        /// δ of it.
        delta: Delta,
    },
    /// A charge was granted, before the data was touched. From here on it is spent.
    Reserved {
        /// Number of the entry that created the data set.
        data_set: u64,
        /// Who asked.
        who: Label,
        /// The purpose.
        what: Label,
        /// The event that it pays for.
        event: Event,
        /// Whether the noise comes from a fixed seed, so that nobody is protected. Since format
        /// version 3.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        seeded: bool,
        /// The charge whose run this one resumes and ends. Since format version 3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<u64>,
    },
    /// A run reached a checkpoint. Since format version 3.
    Kept {
        /// Number of the entry that reserved the charge.
        reservation: u64,
        /// Steps done.
        steps: u64,
        /// Hash of the checkpoint.
        checkpoint: Digest,
        /// Is it the last checkpoint of the run?
        last: bool,
    },
    /// The computation of a charge ended and its result was released.
    Booked {
        /// Number of the entry that reserved it.
        reservation: u64,
        /// Hash of the result, if it was given.
        result: Option<Digest>,
    },
}

/// The name and the content under which somebody presents a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What it is called.
    pub name: Label,
    /// What is in it.
    pub content: Digest,
}

/// An entry as it is stored: its text, and the hash of all texts up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) body: String,
    pub(crate) hash: Digest,
}

impl Row {
    /// The history that ends here.
    pub(crate) fn head(&self) -> Head {
        Head { number: self.number, hash: self.hash }
    }
}

/// The last entry, by number and hash: it stands for the whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Head {
    /// How many entries there are.
    pub number: u64,
    /// h(number).
    pub hash: Digest,
}

impl Head {
    /// Before the first entry.
    pub(crate) fn start() -> Self {
        Self { number: 0, hash: Digest::of(b"sordino ledger") }
    }

    /// The row of a next entry with this text.
    pub(crate) fn next(self, body: String) -> Row {
        Row { number: self.number + 1, hash: self.hash.then(body.as_bytes()), body }
    }
}

/// `NUMBER:HASH`.
impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.number, self.hash)
    }
}

impl From<Head> for String {
    fn from(head: Head) -> Self {
        head.to_string()
    }
}

impl TryFrom<String> for Head {
    type Error = HeadError;

    fn try_from(text: String) -> Result<Self, HeadError> {
        text.parse()
    }
}

impl std::str::FromStr for Head {
    type Err = HeadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || HeadError(text.chars().take(100).collect());
        let (number, hash) = text.split_once(':').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        Ok(Self { number, hash: hash.parse().map_err(|_| wrong())? })
    }
}

/// Text that is no head.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a head is written NUMBER:HASH, as `verify` prints it, got `{0}`")]
pub struct HeadError(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved() -> Entry {
        let event = Event::Pure { epsilon: Epsilon::new(0.1 + 0.2).unwrap() };
        let (who, what) = (Label::new("ann").unwrap(), Label::new("a \"count\"").unwrap());
        Entry {
            number: 3,
            time: Time::from_millis(7),
            body: Body::Reserved { data_set: 2, who, what, event, seeded: false, follows: None },
        }
    }

    /// The text is what is hashed: it must not change between versions of the program.
    #[test]
    fn the_text_of_an_entry_is_stable_and_reads_back() {
        let text = serde_json::to_string(&reserved()).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"number":3,"time":7,"type":"reserved","data_set":2,"who":"ann","what":"a \"count\"","#,
                r#""event":{"type":"pure","epsilon":0.30000000000000004}}"#,
            )
        );
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), reserved());
    }

    /// Entries of older versions have the text that they had.
    #[test]
    fn what_is_not_said_is_not_written() {
        let terms = Terms::new(Epsilon::new(1.0).unwrap(), sordino_privacy::Neighbours::AddRemove);
        let (name, content) = (Label::new("census").unwrap(), Digest::of(b"abc"));
        let body = Body::Created { name, content, terms, rules: None };
        let text = serde_json::to_string(&Entry { number: 2, time: Time::from_millis(7), body }).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"number":2,"time":7,"type":"created","name":"census","#,
                r#""content":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","#,
                r#""terms":{"epsilon":1.0,"delta":0.0,"neighbours":"add_remove","unit":"record","#,
                r#""choice":"adaptive"}}"#,
            )
        );
    }

    #[test]
    fn what_came_with_version_3_is_written_so() {
        let text =
            |body| serde_json::to_string(&Entry { number: 4, time: Time::from_millis(7), body }).unwrap();
        let kept = Body::Kept { reservation: 3, steps: 10, checkpoint: Digest::of(b"abc"), last: true };
        assert_eq!(
            text(kept),
            concat!(
                r#"{"number":4,"time":7,"type":"kept","reservation":3,"steps":10,"#,
                r#""checkpoint":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","#,
                r#""last":true}"#,
            )
        );
        let rules = Rules::new("x").unwrap();
        assert_eq!(
            text(Body::Ruled { data_set: 2, rules }),
            r#"{"number":4,"time":7,"type":"ruled","data_set":2,"rules":{"reading":"x"}}"#
        );
        let mut seeded = reserved();
        if let Body::Reserved { seeded, .. } = &mut seeded.body {
            *seeded = true;
        }
        let text = serde_json::to_string(&seeded).unwrap();
        assert!(text.ends_with(r#"0.30000000000000004},"seeded":true}"#), "{text}");
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), seeded);
    }

    /// What this program does not understand may be a charge.
    #[test]
    fn nothing_is_passed_over() {
        let text = serde_json::to_string(&reserved()).unwrap();
        for (from, to) in [
            (r#""data_set":2"#, r#""data_set":2,"discount":0.5"#),
            (r#""type":"reserved""#, r#""type":"refunded""#),
            (r#""data_set":2"#, r#""data_set":2,"data_set":4"#),
            (r#""number":3"#, r#""number":-3"#),
            (r#""who":"ann","#, ""),
            (r#""who":"ann""#, r#""who":"\u001b[2J""#),
            (r#""epsilon":0.3"#, r#""epsilon":-0.3"#),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text);
            assert!(serde_json::from_str::<Entry>(&changed).is_err(), "{changed}");
        }
    }

    #[test]
    fn heads_are_read_as_they_are_written() {
        let head = Head::start();
        assert_eq!(head.to_string().parse(), Ok(head));
        for text in ["", "3", "3:x", "x:00", "-1:00"] {
            assert!(text.parse::<Head>().is_err(), "{text}");
        }
    }
}
