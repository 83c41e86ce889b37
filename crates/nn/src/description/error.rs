//! Why a description is no network. Messages name the place as a path.

use sordino_spelling::{hint_or_all as hint, quoted_name as quoted};

use crate::error::NetworkError;
use crate::preset;
use crate::shape::Shape;

/// A description that cannot be read, or whose network cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptionError {
    /// Text of another format.
    #[error("the description is no {format}: {reason}")]
    Syntax {
        /// TOML or JSON.
        format: &'static str,
        /// What its reader says.
        reason: String,
    },
    /// A file of a newer program.
    #[error("the description has format_version {got}; this version of the program reads {known}: update it")]
    Newer {
        /// The file's.
        got: u64,
        /// The newest that is known.
        known: u64,
    },
    /// A value that a format cannot hold.
    #[error("the description cannot be written: {reason}")]
    Unwritable {
        /// What the writer says.
        reason: String,
    },
    /// A word that is not known.
    #[error("{at}: there is no {what} {name}{hint}")]
    Unknown {
        /// Its place.
        at: String,
        /// Layer, field or preset.
        what: &'static str,
        /// The word, quoted.
        name: String,
        /// The nearest known one, or all.
        hint: String,
    },
    /// A field that must be there.
    #[error("{at}: {name} is missing; write {expected}")]
    Missing {
        /// Its place.
        at: String,
        /// The field.
        name: &'static str,
        /// What belongs there.
        expected: String,
    },
    /// A value that does not belong there.
    #[error("{at}: {name} must be {expected}, got {got}")]
    Value {
        /// Its place.
        at: String,
        /// The field.
        name: String,
        /// What belongs there.
        expected: String,
        /// What came, shortened.
        got: String,
    },
    /// Both a preset and layers.
    #[error("the description has a preset and layers of its own; write one of them")]
    Twice,
    /// Widths for a preset that has none to choose.
    #[error("`hidden` is for the preset `mlp`, and the preset is `{preset}`; leave it out, or write layers")]
    Hidden {
        /// The preset.
        preset: String,
    },
    /// Nothing says what comes in.
    #[error(
        "the description has no input; write one, such as `input = {{ features = 64 }}`, or build the \
         network for data"
    )]
    NoInput,
    /// Nothing says what goes out.
    #[error("{layer}: outputs is left to the data; write a number, or build the network for data")]
    Open {
        /// Its place and kind.
        layer: String,
    },
    /// The data is not what the description is for.
    #[error(
        "the description's input is {stated}, and the data has {data}; both must have as many numbers: \
         correct `input`, or leave it out"
    )]
    Input {
        /// In the description.
        stated: Shape,
        /// What the data has.
        data: Shape,
    },
    /// The network's outputs are not those that the data needs.
    #[error(
        "the network ends in {network}, and the data needs {data} features; let the last layer be \
         `linear` without `outputs`, after `flatten` \
         if it has several positions"
    )]
    Outputs {
        /// What the network gives.
        network: Shape,
        /// Classes, or numbers to predict.
        data: usize,
    },
    /// Layers that do not fit each other.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

impl DescriptionError {
    pub(crate) fn no_preset(name: &str) -> Self {
        let at = "the description".to_owned();
        Self::Unknown { at, what: "preset", name: quoted(name), hint: hint(name, &preset::NAMES) }
    }
}
