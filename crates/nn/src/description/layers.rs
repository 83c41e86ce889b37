//! Reads layers from a tree of values. Defaults are PyTorch's.

use serde_json::Value;
use sordino_spelling::{hint_or_all as hint, quoted_name as quoted};

use super::error::DescriptionError;
use super::fields::{Fields, wrong};
use super::words::plain;
use crate::error::NetworkError;
use crate::layer::Layer;
use crate::op::activation::Activation;

/// A kind of layer: its name, its fields beside `type`, and how a layer at some path is read from
/// them.
struct LayerKind {
    name: &'static str,
    fields: &'static [&'static str],
    read: fn(&str, &mut Fields) -> Result<Layer, DescriptionError>,
}

const fn kind(
    name: &'static str,
    fields: &'static [&'static str],
    read: fn(&str, &mut Fields) -> Result<Layer, DescriptionError>,
) -> LayerKind {
    LayerKind { name, fields, read }
}

/// Every kind of layer.
const KINDS: &[LayerKind] = &[
    kind("linear", &["outputs", "bias"], |_, fields| {
        let outputs = fields.optional_whole("outputs")?.unwrap_or(0);
        Ok(Layer::Linear { outputs, bias: fields.flag("bias", true)? })
    }),
    kind(
        "conv2d",
        &["channels", "kernel", "stride", "padding", "dilation", "groups", "bias", "standardised"],
        convolution,
    ),
    kind("max_pool", &["kernel", "stride"], |_, fields| {
        let (kernel, stride) = pool(fields)?;
        Ok(Layer::MaxPool { kernel, stride })
    }),
    kind("avg_pool", &["kernel", "stride"], |_, fields| {
        let (kernel, stride) = pool(fields)?;
        Ok(Layer::AvgPool { kernel, stride })
    }),
    kind("adaptive_avg_pool", &["output"], |_, fields| {
        Ok(Layer::AdaptiveAvgPool { output: fields.pair("output")? })
    }),
    kind("adaptive_max_pool", &["output"], |_, fields| {
        Ok(Layer::AdaptiveMaxPool { output: fields.pair("output")? })
    }),
    kind("flatten", &[], |_, _| Ok(Layer::Flatten)),
    kind("group_norm", &["groups", "affine"], |_, fields| {
        Ok(Layer::GroupNorm { groups: fields.whole("groups")?, affine: fields.flag("affine", true)? })
    }),
    kind("layer_norm", &["affine"], |_, fields| {
        Ok(Layer::LayerNorm { affine: fields.flag("affine", true)? })
    }),
    kind("rms_norm", &["affine"], |_, fields| Ok(Layer::RmsNorm { affine: fields.flag("affine", true)? })),
    kind("embedding", &["words", "features", "padding"], |_, fields| {
        let (words, features) = (fields.whole("words")?, fields.whole("features")?);
        Ok(Layer::Embedding { words, features, padding: fields.optional_whole("padding")? })
    }),
    kind("dropout", &["rate"], |_, fields| Ok(Layer::Dropout { rate: fields.number("rate")? })),
    kind("residual", &["body", "shortcut"], residual),
    kind("frozen", &["layer", "values"], frozen),
    kind("relu", &[], |_, _| activation(Activation::Relu)),
    kind("leaky_relu", &["slope"], |_, fields| {
        activation(Activation::LeakyRelu { slope: fields.optional_single("slope")?.unwrap_or(0.01) })
    }),
    kind("tanh", &[], |_, _| activation(Activation::Tanh)),
    kind("sigmoid", &[], |_, _| activation(Activation::Sigmoid)),
    kind("tempered_sigmoid", &["height", "slope", "shift"], |_, fields| {
        let [height, slope, shift] = ["height", "slope", "shift"].map(|name| fields.single(name));
        activation(Activation::TemperedSigmoid { height: height?, slope: slope?, shift: shift? })
    }),
    kind("gelu", &[], |_, _| activation(Activation::Gelu)),
    kind("silu", &[], |_, _| activation(Activation::Silu)),
    kind("softmax", &[], |_, _| activation(Activation::Softmax)),
];

/// The layers of the list at `at`.
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
    let Some(LayerKind { name: kind, fields, read }) = KINDS.iter().find(|kind| kind.name == name) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let (name, hint) = (quoted(&name), hint(&name, &known));
        return Err(DescriptionError::Unknown { at: at.to_owned(), what: "layer", name, hint });
    };
    let mut known = vec!["type"];
    known.extend_from_slice(fields);
    read(at, &mut Fields::new(&format!("{at} ({kind})"), value, &known)?)
}

fn convolution(_at: &str, fields: &mut Fields) -> Result<Layer, DescriptionError> {
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

/// Without a stride, windows are side by side.
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

fn activation(function: Activation) -> Result<Layer, DescriptionError> {
    Ok(Layer::Activation { function })
}

fn untyped(at: &str) -> DescriptionError {
    let expected = "the name of a layer, such as `type = \"linear\"`".to_owned();
    DescriptionError::Missing { at: at.to_owned(), name: "type", expected }
}
