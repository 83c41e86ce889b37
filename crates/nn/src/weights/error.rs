//! Why weights cannot be read or written. Messages name the tensor and shapes, never numbers.

use std::path::PathBuf;

use crate::error::NetworkError;

/// Weights that do not belong to a network.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// Bytes of another format, or damaged ones.
    #[error("these are no safetensors: {reason}")]
    Format {
        /// What the reader says.
        reason: String,
    },
    /// A tensor that the network needs.
    #[error("tensor `{tensor}` of shape {shape:?} is missing; {hint}")]
    Missing {
        /// Its name.
        tensor: String,
        /// What the network needs.
        shape: Vec<usize>,
        /// What to do.
        hint: String,
    },
    /// A tensor that the network has no place for.
    #[error(
        "tensor {tensor} has no place in the network; compare its layers with those that the weights are from"
    )]
    Unexpected {
        /// Its name, quoted.
        tensor: String,
    },
    /// A tensor of another shape.
    #[error(
        "tensor `{tensor}` must have shape {expected:?}, got {got:?}; compare the layer with the one \
         that the weights are from"
    )]
    Shape {
        /// Its name.
        tensor: String,
        /// What the network needs.
        expected: Vec<usize>,
        /// What came.
        got: Vec<usize>,
    },
    /// Numbers of another kind.
    #[error("tensor `{tensor}` must hold F32 or F64, got {got}; convert it, in PyTorch by `.float()`")]
    Type {
        /// Its name.
        tensor: String,
        /// What came.
        got: String,
    },
    /// Numbers that are not finite.
    #[error("tensor `{tensor}` has numbers that are not finite; train again with a smaller learning rate")]
    NotFinite {
        /// Its name.
        tensor: String,
    },
    /// A row that is never used, and would be lost.
    #[error(
        "row {word} of tensor `{tensor}` is that of the padding word and must be 0; leave `padding` out \
         of the layer, or set the row to 0"
    )]
    Padding {
        /// Its name.
        tensor: String,
        /// The padding word.
        word: usize,
    },
    /// Other numbers in a frozen layer.
    #[error(
        "tensor `{tensor}` belongs to a frozen layer with other weights; take them over first, by \
         `with_frozen_weights`"
    )]
    Frozen {
        /// Its name.
        tensor: String,
    },
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its place.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file that is larger than the network's weights can be.
    #[error(
        "{}: the file has {got} bytes, and weights of this network have at most {most}; \
         give the file of this network",
        path.display()
    )]
    Large {
        /// Its place.
        path: PathBuf,
        /// Its bytes.
        got: u64,
        /// The most that can be of use.
        most: u64,
    },
    /// Parameters of another network.
    #[error(transparent)]
    Network(#[from] NetworkError),
}
