//! Shapes of examples between layers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The shape of one example between two layers. In memory every shape is positions by channels, channels last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// Plain numbers.
    Features(usize),
    /// A sequence of positions with several numbers each.
    Sequence {
        /// The number of positions.
        length: usize,
        /// Numbers at each position.
        features: usize,
    },
    /// An image.
    Image {
        /// Numbers at each pixel.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Columns of pixels.
        width: usize,
    },
    /// Words of a vocabulary, by number.
    Tokens {
        /// The number of positions.
        length: usize,
    },
}

impl Shape {
    /// The number of positions: 1 for features, the pixels of an image.
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

    /// The number of all numbers, unless it overflows.
    pub(crate) fn checked_size(self) -> Option<usize> {
        match self {
            Self::Features(features) => Some(features),
            Self::Sequence { length, features } => length.checked_mul(features),
            Self::Image { channels, height, width } => height.checked_mul(width)?.checked_mul(channels),
            Self::Tokens { length } => Some(length),
        }
    }

    /// The number of all numbers.
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
