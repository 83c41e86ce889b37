//! Networks as they are written down, in TOML or JSON.
//!
//! # Definition
//! ```toml
//! input = { image = { channels = 1, height = 28, width = 28 } }   # or { features = 784 }, { tokens = { length = 64 } }, ...
//! loss = "cross_entropy"                                          # the default; or "squared"
//! views = ["same", { shifted = { lines = 1, columns = 0 } }]      # in training; the default is ["same"]
//!
//! [[layers]]
//! type = "conv2d"
//! channels = 16
//! kernel = 8                                                      # or [8, 8], lines first
//! stride = 2
//!
//! [[layers]]
//! type = "tanh"
//!
//! [[layers]]
//! type = "flatten"
//!
//! [[layers]]
//! type = "linear"                                                 # the last layer's outputs may be left to the data
//! ```
//! In place of `layers` may stand `preset = "tanh_cnn"`, a name of [`preset`]. Each layer has the fields of [`Layer`]; what PyTorch has a
//! default for has the same one here.
//!
//! `format_version = 1` may stand before all, and is written.
//!
//! # Pitfalls
//! A description may come from anywhere, so nothing is guessed: what is not known is refused with its place, and numbers that no computer holds are
//! refused before anything of their size is made.

mod error;
mod fields;
mod layers;
mod tree;
mod words;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

pub use error::DescriptionError;
use fields::{Fields, wrong};
use tree::Tree;

use crate::layer::Layer;
use crate::loss::NetworkLoss;
use crate::network::Network;
use crate::preset;
use crate::shape::Shape;
use crate::view::View;

/// The format that is written, and the newest that is read.
const FORMAT_VERSION: u64 = 1;

/// A network that is written down. What the data decides may be left out, and [`network_for`](Self::network_for) fills it in.
///
/// ```
/// use sordino_nn::{Description, Shape};
/// let text = r#"
///     [[layers]]
///     type = "linear"
///     outputs = 32
///     [[layers]]
///     type = "tanh"
///     [[layers]]
///     type = "linear"
/// "#;
/// let network = Description::from_toml(text)?.network_for(Shape::Features(64), 10)?;
/// assert_eq!(network.parameters(), 65 * 32 + 33 * 10);
/// # Ok::<(), sordino_nn::DescriptionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Description {
    /// The shape of inputs; left out, that of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Shape>,
    /// What outputs are compared with; left out, classes by their cross entropy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<NetworkLoss>,
    /// How examples are looked at in training; none: as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<View>,
    /// The layers. Those of a preset stand here once it is read.
    pub layers: Vec<Layer>,
}

impl Description {
    /// Layers for any input that fits.
    pub fn new(layers: Vec<Layer>) -> Self {
        Self { layers, ..Self::default() }
    }

    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Self, DescriptionError> {
        // Not the parser's picture of the text: it shows a line of a file that may be anything.
        let Tree(value) = toml::from_str(text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            DescriptionError::Syntax { format: "TOML", reason: placed(text, start, error.message()) }
        })?;
        read(value)
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Self, DescriptionError> {
        let Tree(value) = serde_json::from_str(text)
            .map_err(|error| DescriptionError::Syntax { format: "JSON", reason: error.to_string() })?;
        read(value)
    }

    /// As TOML that [`from_toml`](Self::from_toml) reads as the same description.
    pub fn to_toml(&self) -> Result<String, DescriptionError> {
        toml::to_string(&self.versioned())
            .map_err(|error| DescriptionError::Unwritable { reason: error.to_string() })
    }

    /// As JSON that [`from_json`](Self::from_json) reads as the same description.
    pub fn to_json(&self) -> Result<String, DescriptionError> {
        serde_json::to_string_pretty(&self.versioned())
            .map_err(|error| DescriptionError::Unwritable { reason: error.to_string() })
    }

    /// The network, if nothing was left to the data.
    pub fn network(&self) -> Result<Network, DescriptionError> {
        let input = self.input.ok_or(DescriptionError::NoInput)?;
        match self.layers.last() {
            Some(Layer::Linear { outputs: 0, .. }) => {
                Err(DescriptionError::Open { layer: format!("layers[{}] (linear)", self.layers.len() - 1) })
            }
            _ => self.build(input, &self.layers),
        }
    }

    /// The network for data whose examples have this shape and one target: one of `outputs` classes, or `outputs` numbers.
    ///
    /// An input that the description states must have as many numbers, and is then the one that counts: a table's 784 columns may be a
    /// picture. Outputs that it states must be those of the data.
    pub fn network_for(&self, input: Shape, outputs: usize) -> Result<Network, DescriptionError> {
        let stated = self.input.unwrap_or(input);
        if stated.checked_size() != input.checked_size() {
            return Err(DescriptionError::Input { stated, data: input });
        }
        let mut layers = self.layers.clone();
        if let Some(Layer::Linear { outputs: open @ 0, .. }) = layers.last_mut() {
            *open = outputs;
        }
        let network = self.build(stated, &layers)?;
        if network.output() != Shape::Features(outputs) {
            return Err(DescriptionError::Outputs { network: network.output(), data: outputs });
        }
        Ok(network)
    }

    fn versioned(&self) -> Versioned<'_> {
        Versioned { format_version: FORMAT_VERSION, description: self }
    }

    fn build(&self, input: Shape, layers: &[Layer]) -> Result<Network, DescriptionError> {
        let loss = self.loss.unwrap_or(NetworkLoss::CrossEntropy);
        Ok(Network::with_views(input, layers, loss, &self.views)?)
    }
}

/// A reason with line and column.
fn placed(text: &str, start: usize, reason: &str) -> String {
    let before = String::from_utf8_lossy(&text.as_bytes()[..start.min(text.len())]);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    format!("line {line}, column {column}: {}", reason.lines().next().unwrap_or("cannot be read"))
}

/// A description as a file of its own.
#[derive(Serialize)]
struct Versioned<'a> {
    format_version: u64,
    #[serde(flatten)]
    description: &'a Description,
}

impl From<&Network> for Description {
    /// The whole network: nothing is left to the data.
    fn from(network: &Network) -> Self {
        Self {
            input: Some(network.input()),
            loss: Some(network.loss()),
            views: network.views().to_vec(),
            layers: network.layers().to_vec(),
        }
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Tree::deserialize(deserializer)?.0).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Layer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        layers::one("layer", Tree::deserialize(deserializer)?.0).map_err(de::Error::custom)
    }
}

/// The one door: from a tree to a description.
fn read(value: Value) -> Result<Description, DescriptionError> {
    let known = ["format_version", "input", "loss", "views", "layers", "preset", "hidden"];
    // A newer file may have fields that only its own version knows.
    if let Some(got) = value.get("format_version").and_then(Value::as_u64).filter(|got| *got > FORMAT_VERSION)
    {
        return Err(DescriptionError::Newer { got, known: FORMAT_VERSION });
    }
    let mut fields = Fields::new("the description", value, &known)?;
    if fields.optional_whole("format_version")? == Some(0) {
        return Err(wrong("the description", "format_version", "a whole number from 1", &0.into()));
    }
    let (preset, hidden) = (fields.optional_text("preset")?, fields.wholes("hidden")?);
    let written = fields.list("layers")?;
    let layers = match (preset, written) {
        (Some(_), Some(_)) => return Err(DescriptionError::Twice),
        (Some(name), None) => preset::named(&name, hidden.as_deref())?.layers,
        (None, Some(written)) => layers::list("layers", written)?,
        (None, None) => return Err(fields.missing("layers", "a list of layers, or `preset` with a name")),
    };
    Ok(Description {
        input: fields
            .other("input", "{ features = 64 } or { image = { channels = 1, height = 8, width = 8 } }")?,
        loss: fields.other("loss", "\"cross_entropy\"")?,
        views: fields.other("views", "[\"same\", \"mirrored\"]")?.unwrap_or_default(),
        layers,
    })
}
