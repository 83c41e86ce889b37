//! What flows between layers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The shape of one example between two layers. In memory every shape is positions by channels, channels last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// Plain numbers.
    Features(usize),
    /// Positions in order, each with its numbers.
    Sequence {
        /// Positions.
        length: usize,
        /// Numbers at each.
        features: usize,
    },
    /// A picture.
    Image {
        /// Numbers at each pixel.
        channels: usize,
        /// Lines.
        height: usize,
        /// Columns.
        width: usize,
    },
    /// Words of a vocabulary by their numbers.
    Tokens {
        /// Positions.
        length: usize,
    },
}

impl Shape {
    /// Where numbers are: 1 for features, pixels of a picture.
    pub fn positions(self) -> usize {
        match self {
            Self::Features(_) => 1,
            Self::Sequence { length, .. } | Self::Tokens { length } => length,
            Self::Image { height, width, .. } => height * width,
        }
    }

    /// Numbers at each position.
    pub fn channels(self) -> usize {
        match self {
            Self::Features(features) | Self::Sequence { features, .. } => features,
            Self::Image { channels, .. } => channels,
            Self::Tokens { .. } => 1,
        }
    }

    /// All numbers, unless there are more than an address can count.
    pub(crate) fn checked_size(self) -> Option<usize> {
        match self {
            Self::Features(features) => Some(features),
            Self::Sequence { length, features } => length.checked_mul(features),
            Self::Image { channels, height, width } => height.checked_mul(width)?.checked_mul(channels),
            Self::Tokens { length } => Some(length),
        }
    }

    /// All numbers.
    pub fn size(self) -> usize {
        self.positions() * self.channels()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features(features) => write!(f, "{features} features"),
            Self::Sequence { length, features } => write!(f, "a sequence of {length} × {features}"),
            Self::Image { channels, height, width } => {
                write!(f, "an image of {channels} × {height} × {width}")
            }
            Self::Tokens { length } => write!(f, "{length} tokens"),
        }
    }
}
