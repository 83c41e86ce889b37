//! An event under a relation: the whole question that accounting answers.

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::event::{Event, TopLevel, read_top_level};
use crate::relation::Neighbours;

/// What is done, and whom it is claimed to protect.
///
/// In JSON `{"neighbours": ..., "event": {...}}`, perhaps with a `format_version`; a bare event is
/// read as a claim under `add_remove`.
///
/// ```
/// use sordino_privacy::{Claim, Neighbours};
/// let claim = Claim::from_json(r#"{"neighbours":"replace","event":{"type":"pure","epsilon":0.5}}"#)?;
/// assert_eq!(claim.neighbours, Neighbours::Replace);
/// let error = Claim::from_json(r#"{"type":"gausian","noise_multiplier":1.1}"#).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown type of event `gausian`; did you mean `gaussian`? at line 1 column 17"
/// );
/// # Ok::<(), sordino_privacy::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The relation.
    pub neighbours: Neighbours,
    /// The computation.
    pub event: Event,
}

impl Claim {
    /// The version of the JSON form that this program writes, and the newest that it reads.
    pub const FORMAT_VERSION: u64 = 1;

    /// The longest text that is read, 64 MiB: some millions of events.
    pub const MAX_BYTES: usize = 64 << 20;

    /// An event under a relation.
    pub fn new(neighbours: Neighbours, event: Event) -> Self {
        Self { neighbours, event }
    }

    /// Reads a claim or a bare event.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        if text.len() > Self::MAX_BYTES {
            return Err(ReadError::TooLong { bytes: text.len(), limit: Self::MAX_BYTES });
        }
        if text.trim().is_empty() {
            return Err(ReadError::Empty);
        }
        // Before anything else: a newer file may hold words that only a newer program knows, and to
        // call them misspelled would be misleading.
        if let Some(version) = stated_version(text).filter(|version| *version > Self::FORMAT_VERSION) {
            return Err(ReadError::Newer { version, known: Self::FORMAT_VERSION });
        }
        serde_json::from_str(text).map_err(|error| ReadError::Json(without_value(error)))
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Claim", 3)?;
        out.serialize_field("format_version", &Self::FORMAT_VERSION)?;
        out.serialize_field("neighbours", &self.neighbours)?;
        out.serialize_field("event", &self.event)?;
        out.end()
    }
}

impl<'de> Deserialize<'de> for Claim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (format_version, claim) = match read_top_level(deserializer)? {
            TopLevel::Bare(event) => (None, Self::new(Neighbours::AddRemove, event)),
            TopLevel::Claim { format_version, neighbours, event } => {
                (format_version, Self::new(neighbours, event))
            }
        };
        match format_version {
            None | Some(Self::FORMAT_VERSION) => Ok(claim),
            Some(version) if version > Self::FORMAT_VERSION => {
                Err(de::Error::custom(ReadError::Newer { version, known: Self::FORMAT_VERSION }))
            }
            Some(version) => Err(de::Error::custom(format_args!(
                "format_version must be {}, got {version}",
                Self::FORMAT_VERSION
            ))),
        }
    }
}

/// The `format_version` of an object, whatever else it holds; none if it cannot be read. The strict
/// reading then says what is wrong.
fn stated_version(text: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Stated {
        format_version: Option<u64>,
    }
    // Derived code also takes a list for a struct, field by field; a claim is never a list.
    let is_object = text.trim_start().starts_with('{');
    is_object.then(|| serde_json::from_str::<Stated>(text).ok()?.format_version)?
}

/// Removes the value from an error: what is read may be any file, and a refusal must not show its
/// content. Type and place are kept.
fn without_value(error: serde_json::Error) -> serde_json::Error {
    let message = error.to_string();
    let starts = ["invalid type: ", "invalid value: ", "unknown variant ", "unknown field "];
    // The value may hold these words too; the last ones are the reader's own.
    match message.rsplit_once(", expected ") {
        Some((came, expected)) if starts.iter().any(|start| came.starts_with(start)) => {
            let kind = came.split(['"', '`']).next().unwrap_or_default().trim_end();
            de::Error::custom(format_args!("{kind}, expected {expected}"))
        }
        Some(_) | None => error,
    }
}

/// Text that is no claim.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Not JSON, or not JSON of an event; the message says where.
    #[error(transparent)]
    Json(serde_json::Error),
    /// Only white space.
    #[error(
        "it is empty; expected an event, such as {{\"type\":\"gaussian\",\"noise_multiplier\":1.1}}, or \
         {{\"neighbours\": ..., \"event\": {{...}}}}"
    )]
    Empty,
    /// A format that this program does not know.
    #[error(
        "format_version must be {known}, got {version}; it was written by a newer program: update this one"
    )]
    Newer {
        /// What came.
        version: u64,
        /// The newest that is read.
        known: u64,
    },
    /// More text than is read.
    #[error("a claim must have at most {limit} bytes, got {bytes}; group equal events with `repeated`")]
    TooLong {
        /// What came.
        bytes: usize,
        /// What is read.
        limit: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Epsilon;

    fn pure() -> Event {
        Event::Pure { epsilon: Epsilon::new(0.5).unwrap() }
    }

    fn read(json: &str) -> Result<Claim, String> {
        Claim::from_json(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bare_event_means_add_remove() {
        let claim = read(r#"{"type":"pure","epsilon":0.5}"#).unwrap();
        assert_eq!(claim, Claim::new(Neighbours::AddRemove, pure()));
    }

    #[test]
    fn a_claim_survives_json() {
        let claim = Claim::new(Neighbours::ZeroOut, pure());
        let json = serde_json::to_string(&claim).unwrap();
        assert_eq!(
            json,
            r#"{"format_version":1,"neighbours":"zero_out","event":{"type":"pure","epsilon":0.5}}"#
        );
        assert_eq!(read(&json).unwrap(), claim);
        assert_eq!(
            read(r#"{"event":{"type":"pure","epsilon":0.5},"neighbours":"zero_out"}"#).unwrap(),
            claim
        );
    }

    #[test]
    fn a_bare_event_that_holds_another_is_no_claim() {
        let json = r#"{"event":{"type":"pure","epsilon":0.5},"count":3,"type":"repeated"}"#;
        assert_eq!(read(json).unwrap().event.name(), "repeated");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (json, part) in [
            (r#"{"neighbours":"replace"}"#, "the claim must have a field `event`"),
            (r#"{"event":{"type":"non_private"}}"#, "the claim must have a field `neighbours`"),
            (
                r#"{"neighbours":"replace","neighbours":"replace","event":{"type":"non_private"}}"#,
                "given twice",
            ),
            (
                r#"{"neighbours":"replace","delta":1e-5,"event":{"type":"non_private"}}"#,
                "`delta` belongs inside an event",
            ),
            (r#"{"neighbours":"replaced","event":{"type":"non_private"}}"#, "did you mean `replace`?"),
            (
                r#"{"format_version":1.0,"neighbours":"replace","event":{"type":"non_private"}}"#,
                "expected a whole number for `format_version`",
            ),
            (
                r#"{"format_version":"1","neighbours":"replace","event":{"type":"non_private"}}"#,
                "expected a whole number for `format_version`",
            ),
            (
                concat!(
                    r#"{"format_version":2,"format_version":1,"neighbours":"replace","#,
                    r#""event":{"type":"pure","epsilon":1}}"#,
                ),
                "field `format_version` is given twice",
            ),
            ("[2]", "expected an event"),
            ("", "it is empty"),
            (" \n", "it is empty"),
            (
                r#"{"format_version":0,"neighbours":"replace","event":{"type":"non_private"}}"#,
                "format_version must be 1, got 0",
            ),
            (r#"{"neighbours":"replace","type":"non_private"}"#, "`neighbours` stands beside an event"),
            ("{}", "found neither"),
        ] {
            let error = read(json).expect_err(json);
            assert!(error.contains(part), "{json}: {error}");
        }
        let long = " ".repeat(Claim::MAX_BYTES + 1);
        assert!(read(&long).unwrap_err().contains("at most 67108864 bytes"));
    }

    /// A file of one text was printed from beginning to end.
    #[test]
    fn what_is_no_claim_is_not_shown() {
        assert_eq!(
            read(r#""hunter2, expected \"x\"""#).unwrap_err(),
            "invalid type: string, expected an event, such as \
             {\"type\":\"gaussian\",\"noise_multiplier\":1.1} at line 1 column 25"
        );
        let ball = r#"{"event":{"type":"non_private"},"neighbours":{"metric_ball":"#;
        for json in [
            "271828".to_owned(),
            "271828.5".to_owned(),
            r#"{"event":"hunter2"}"#.to_owned(),
            r#"{"type":"pure","epsilon":"hunter2"}"#.to_owned(),
            r#"{"type":"composed","events":"hunter2"}"#.to_owned(),
            r#"{"format_version":"hunter2","neighbours":"replace"}"#.to_owned(),
            format!(r#"{ball}"hunter2"}}}}"#),
            format!(r#"{ball}{{"p":2,"radius":"hunter2"}}}}}}"#),
            format!(r#"{ball}{{"hunter2":2}}}}}}"#),
        ] {
            let error = Claim::from_json(&json).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2") && !shown.contains("271828"), "{json}: {shown}");
            assert!(shown.contains(" at line 1 column "), "{json}: {shown}");
        }
    }

    /// Words of a few letters are shown, of longer ones nothing.
    #[test]
    fn words_that_are_no_names_are_not_shown() {
        for word in ["my secret phrase", &"a".repeat(41)] {
            for json in [format!(r#"{{"type":"{word}"}}"#), format!(r#"{{"{word}":1}}"#)] {
                let error = read(&json).unwrap_err();
                assert!(error.contains("`…`") && !error.contains("my s"), "{error}");
            }
        }
    }

    /// Whatever a newer format brings, the message is that it is newer, and not that a word is
    /// misspelled.
    #[test]
    fn a_newer_file_is_recognised_as_newer() {
        for json in [
            r#"{"format_version":2,"neighbours":"replace","event":{"type":"non_private"}}"#,
            r#"{"format_version":2,"neighbours":"add_remove","event":{"type":"brandnew","x":1}}"#,
            concat!(
                r#"{"format_version":2,"who":["x"],"neighbours":"add_remove","event":{"type":"pure","#,
                r#""epsilon":1}}"#,
            ),
            r#"{"who":{"x":{}},"neighbours":"nobody","event":[],"format_version":2}"#,
            r#"{"format_version":2,"type":"pure","epsilon":0.5}"#,
            r#"{"format_version":2}"#,
        ] {
            assert_eq!(
                read(json).expect_err(json),
                "format_version must be 1, got 2; it was written by a newer program: update this one",
                "{json}"
            );
        }
        // An event's own fields are not looked at.
        let inner = r#"{"neighbours":"replace","event":{"type":"pure","epsilon":1,"format_version":2}}"#;
        assert!(read(inner).unwrap_err().contains("stands beside an event"));
    }
}
