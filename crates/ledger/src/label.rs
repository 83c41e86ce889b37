//! Short texts that people wrote: names of data sets, of analysts, of purposes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One line of at most [`Label::MAX_CHARS`] characters, none of them a control character: whoever
/// lists the ledger on a terminal must not be at the mercy of whoever wrote into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

impl Label {
    /// The longest label.
    pub const MAX_CHARS: usize = 200;

    /// Accepts one to [`Label::MAX_CHARS`] characters without control characters or space at the
    /// ends.
    pub fn new(text: impl Into<String>) -> Result<Self, LabelError> {
        let text = text.into();
        let chars = text.chars().count();
        if chars == 0 || chars > Self::MAX_CHARS {
            return Err(LabelError::Length { chars });
        }
        if text.trim() != text || text.chars().any(is_invisible) {
            return Err(LabelError::Invisible { shown: text.escape_debug().to_string() });
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Control characters, and those that reorder or hide text (Unicode Technical Report 36, section
/// 2.10).
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Text that is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelError {
    /// Empty, or too long.
    #[error("a name or note must have 1 to {} characters, got {chars}", Label::MAX_CHARS)]
    Length {
        /// How many there are.
        chars: usize,
    },
    /// Something that cannot be seen.
    #[error("a name or note must have no control characters and no space at its ends, got \"{shown}\"")]
    Invisible {
        /// The text, escaped.
        shown: String,
    },
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for Label {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_one_visible_line() {
        for text in ["census", "Ärzte 2026, north", "'; drop table entries; --", "=1+1"] {
            assert_eq!(Label::new(text).unwrap().as_str(), text);
        }
        for text in ["", " census", "a\nb", "a\u{1b}[2J", "a\u{202e}b", "a\0", &"x".repeat(201)] {
            assert!(Label::new(text).is_err(), "{text:?}");
        }
    }
}
