//! Weights as safetensors, which PyTorch, JAX and NumPy users can open.

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};
use sordino_data::Encoding;
use sordino_learn::{LinearModel, Loss};

use super::manifest::FORMAT_VERSION;
use crate::error::RunError;

const TENSOR: &str = "weights";
/// The key of the metadata, which identifies a file without its folder. There is one key only,
/// because safetensors does not keep the order of keys.
const KIND: &str = "sordino_linear";

/// The value of [`KIND`], as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    format_version: u32,
    loss: Loss,
}

pub(crate) fn bytes(model: &LinearModel) -> Result<Vec<u8>, RunError> {
    let unwritable = |reason: String| RunError::Unwritable { reason };
    let data: Vec<u8> = model.weights().flatten().flat_map(|weight| weight.to_le_bytes()).collect();
    let shape = vec![model.loss().outputs(), model.encoding().width()];
    let view = TensorView::new(Dtype::F64, shape, &data).map_err(|error| unwritable(error.to_string()))?;
    let kind = Kind { format_version: FORMAT_VERSION, loss: model.loss() };
    let kind = serde_json::to_string(&kind).map_err(|error| unwritable(error.to_string()))?;
    let metadata = [(KIND.to_owned(), kind)].into_iter().collect();
    serialize([(TENSOR, view)], Some(metadata)).map_err(|error| unwritable(error.to_string()))
}

/// The model in a file's bytes. `Err` says what is wrong with them.
pub(crate) fn model(bytes: &[u8], encoding: Encoding) -> Result<LinearModel, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let kind = header.metadata().as_ref().and_then(|metadata| metadata.get(KIND));
    let kind = kind.ok_or_else(|| format!("its metadata has no `{KIND}`"))?;
    let Kind { format_version, loss } = serde_json::from_str(kind).map_err(|error| error.to_string())?;
    if format_version != FORMAT_VERSION {
        return Err(format!("it has format version {format_version}, this program knows {FORMAT_VERSION}"));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let tensor = tensors.tensor(TENSOR).map_err(|error| error.to_string())?;
    let expected = [loss.outputs(), encoding.width()];
    if tensor.dtype() != Dtype::F64 || tensor.shape() != expected {
        return Err(format!(
            "`{TENSOR}` is {:?} of shape {:?}, expected F64 of shape {expected:?}",
            tensor.dtype(),
            tensor.shape()
        ));
    }
    // `chunks_exact(8)` yields slices of eight bytes.
    let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let weights = tensor.data().chunks_exact(8).map(number).collect();
    LinearModel::from_parts(loss, encoding, weights).map_err(|error| error.to_string())
}
