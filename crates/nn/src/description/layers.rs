//! From a tree to layers. Defaults are PyTorch's.

use serde_json::Value;
use sordino_spelling::{hint_or_all as hint, quoted_name as quoted};

use super::error::DescriptionError;
use super::fields::{Fields, wrong};
use super::words::plain;
use crate::error::NetworkError;
use crate::layer::Layer;
use crate::op::activation::Activation;

/// Every kind of layer with its fields beside `type`.
const KINDS: [(&str, &[&str]); 22] = [
    ("linear", &["outputs", "bias"]),
    ("conv2d", &["channels", "kernel", "stride", "padding", "dilation", "groups", "bias", "standardised"]),
    ("max_pool", &["kernel", "stride"]),
    ("avg_pool", &["kernel", "stride"]),
    ("adaptive_avg_pool", &["output"]),
    ("adaptive_max_pool", &["output"]),
    ("flatten", &[]),
    ("group_norm", &["groups", "affine"]),
    ("layer_norm", &["affine"]),
    ("rms_norm", &["affine"]),
    ("embedding", &["words", "features", "padding"]),
    ("dropout", &["rate"]),
    ("residual", &["body", "shortcut"]),
    ("frozen", &["layer", "values"]),
    ("relu", &[]),
    ("leaky_relu", &["slope"]),
    ("tanh", &[]),
    ("sigmoid", &[]),
    ("tempered_sigmoid", &["height", "slope", "shift"]),
    ("gelu", &[]),
    ("silu", &[]),
    ("softmax", &[]),
];

/// The layers of a list that stands at `at`.
pub(super) fn list(at: &str, written: Vec<Value>) -> Result<Vec<Layer>, DescriptionError> {
    let each = written.into_iter().enumerate();
    each.map(|(number, value)| one(&format!("{at}[{number}]"), value)).collect()
}

/// The layer at `at`.
pub(super) fn one(at: &str, value: Value) -> Result<Layer, DescriptionError> {
    let name = match value.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(other) => return Err(wrong(at, "type", "the name of a layer, in quotes", other)),
        None if value.is_object() => return Err(untyped(at)),
        None => return Err(wrong("the description", at, "a table with `type`", &value)),
    };
    if plain(&name) == "batchnorm" {
        return Err(NetworkError::MixesRecords { layer: format!("{at} (batch_norm)") }.into());
    }
    let Some((kind, own)) = KINDS.iter().find(|(kind, _)| *kind == name) else {
        let known = KINDS.map(|(kind, _)| kind);
        let (name, hint) = (quoted(&name), hint(&name, &known));
        return Err(DescriptionError::Unknown { at: at.to_owned(), what: "layer", name, hint });
    };
    let mut known = vec!["type"];
    known.extend_from_slice(own);
    layer(kind, at, &mut Fields::new(&format!("{at} ({kind})"), value, &known)?)
}

fn layer(kind: &str, at: &str, fields: &mut Fields) -> Result<Layer, DescriptionError> {
    Ok(match kind {
        "linear" => Layer::Linear {
            outputs: fields.optional_whole("outputs")?.unwrap_or(0),
            bias: fields.flag("bias", true)?,
        },
        "conv2d" => convolution(fields)?,
        "max_pool" => {
            let (kernel, stride) = pool(fields)?;
            Layer::MaxPool { kernel, stride }
        }
        "avg_pool" => {
            let (kernel, stride) = pool(fields)?;
            Layer::AvgPool { kernel, stride }
        }
        "adaptive_avg_pool" => Layer::AdaptiveAvgPool { output: fields.pair("output")? },
        "adaptive_max_pool" => Layer::AdaptiveMaxPool { output: fields.pair("output")? },
        "flatten" => Layer::Flatten,
        "group_norm" => {
            Layer::GroupNorm { groups: fields.whole("groups")?, affine: fields.flag("affine", true)? }
        }
        "layer_norm" => Layer::LayerNorm { affine: fields.flag("affine", true)? },
        "rms_norm" => Layer::RmsNorm { affine: fields.flag("affine", true)? },
        "embedding" => Layer::Embedding {
            words: fields.whole("words")?,
            features: fields.whole("features")?,
            padding: fields.optional_whole("padding")?,
        },
        "dropout" => Layer::Dropout { rate: fields.number("rate")? },
        "residual" => residual(at, fields)?,
        "frozen" => frozen(at, fields)?,
        function => Layer::Activation { function: activation(function, fields)? },
    })
}

fn convolution(fields: &mut Fields) -> Result<Layer, DescriptionError> {
    Ok(Layer::Conv2d {
        channels: fields.whole("channels")?,
        kernel: fields.pair("kernel")?,
        stride: fields.optional_pair("stride")?.unwrap_or([1; 2]),
        padding: fields.optional_pair("padding")?.unwrap_or([0; 2]),
        dilation: fields.optional_pair("dilation")?.unwrap_or([1; 2]),
        groups: fields.optional_whole("groups")?.unwrap_or(1),
        bias: fields.flag("bias", true)?,
        standardised: fields.flag("standardised", false)?,
    })
}

/// Windows side by side, unless a stride is written.
fn pool(fields: &mut Fields) -> Result<([usize; 2], [usize; 2]), DescriptionError> {
    let kernel = fields.pair("kernel")?;
    Ok((kernel, fields.optional_pair("stride")?.unwrap_or(kernel)))
}

fn residual(at: &str, fields: &mut Fields) -> Result<Layer, DescriptionError> {
    let body = fields.list("body")?.ok_or_else(|| fields.missing("body", "a list of layers"))?;
    let shortcut = fields.list("shortcut")?.unwrap_or_default();
    Ok(Layer::Residual {
        body: list(&format!("{at}.body"), body)?,
        shortcut: list(&format!("{at}.shortcut"), shortcut)?,
    })
}

fn frozen(at: &str, fields: &mut Fields) -> Result<Layer, DescriptionError> {
    let layer =
        fields.take("layer").ok_or_else(|| fields.missing("layer", "the layer whose weights are fixed"))?;
    let layer = Box::new(one(&format!("{at}.layer"), layer)?);
    Ok(Layer::Frozen { layer, values: fields.numbers("values")? })
}

fn activation(name: &str, fields: &mut Fields) -> Result<Activation, DescriptionError> {
    Ok(match name {
        "relu" => Activation::Relu,
        "leaky_relu" => Activation::LeakyRelu { slope: fields.optional_single("slope")?.unwrap_or(0.01) },
        "tanh" => Activation::Tanh,
        "sigmoid" => Activation::Sigmoid,
        "tempered_sigmoid" => Activation::TemperedSigmoid {
            height: fields.single("height")?,
            slope: fields.single("slope")?,
            shift: fields.single("shift")?,
        },
        "gelu" => Activation::Gelu,
        "silu" => Activation::Silu,
        "softmax" => Activation::Softmax,
        other => unreachable!("`{other}` is in the table of kinds, and all others were read"),
    })
}

fn untyped(at: &str) -> DescriptionError {
    let expected = "the name of a layer, such as `type = \"linear\"`".to_owned();
    DescriptionError::Missing { at: at.to_owned(), name: "type", expected }
}
