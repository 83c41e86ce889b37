//! The JSON form of an encoding, which is stored with a model.

use serde::{Deserialize, Serialize};

use super::{ENCODING_FORMAT_VERSION, Encoding, EncodingOptions, Scaling};
use crate::error::DataError;
use crate::schema::Schema;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format_version: u32,
    /// The schema, as TOML.
    schema: String,
    /// The names of the features, in order.
    features: Vec<String>,
    target: Option<String>,
    scaling: Scaling,
    intercept: bool,
    row_norm: Option<f64>,
}

impl Encoding {
    /// The JSON form, which [`from_json`](Self::from_json) reads back as the same encoding.
    pub fn to_json(&self) -> String {
        let stored = Stored {
            format_version: ENCODING_FORMAT_VERSION,
            schema: self.schema.to_toml(),
            features: self.features().map(str::to_owned).collect(),
            target: self.target().map(str::to_owned),
            scaling: self.scaling,
            intercept: self.intercept,
            row_norm: self.row_norm,
        };
        // Texts, finite numbers and lists of them always serialise.
        serde_json::to_string(&stored).expect("an encoding is JSON")
    }

    /// Reads the JSON form through the same checks as [`Encoding::new`].
    pub fn from_json(text: &str) -> Result<Self, DataError> {
        let refused = |reason: String| DataError::Encoding { reason };
        // States the place and shows no text: the file may hold anything.
        let unsound = |error: serde_json::Error| {
            refused(format!("line {}, column {} is not as it was written", error.line(), error.column()))
        };
        let stored: Stored = serde_json::from_str(text).map_err(unsound)?;
        if stored.format_version != ENCODING_FORMAT_VERSION {
            let known = ENCODING_FORMAT_VERSION;
            return Err(refused(format!("format_version {} is not {known}", stored.format_version)));
        }
        let schema = Schema::from_toml(&stored.schema)?;
        let mut names = stored.features.clone();
        names.extend(stored.target.clone());
        let Stored { target, scaling, intercept, row_norm, .. } = stored;
        let encoding = Self::new(&schema, &names, EncodingOptions { target, scaling, intercept, row_norm })?;
        if !encoding.features().eq(stored.features.iter().map(String::as_str)) {
            return Err(refused("a feature is not in its schema".to_owned()));
        }
        Ok(encoding)
    }
}
