//! The version of the JSON form.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The current version. It is written as a number; reading any other number fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version;

impl Version {
    pub(super) const CURRENT: u64 = 1;
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(Self::CURRENT)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let known = Self::CURRENT;
        match u64::deserialize(deserializer)? {
            Self::CURRENT => Ok(Self),
            newer if newer > known => Err(de::Error::custom(format_args!(
                "format_version must be {known}, got {newer}; it was written by a newer program: update this \
                one"
            ))),
            other => Err(de::Error::custom(format_args!("format_version must be {known}, got {other}"))),
        }
    }
}
