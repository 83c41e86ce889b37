//! Why a network cannot be built. Messages name the layer, never data.

use sordino_noise::EntropyError;
use sordino_optim::OptimError;

use crate::shape::Shape;

/// A plan that cannot be made, or a fit that did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The network does not fit.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The gate, the plan or the training loop.
    #[error(transparent)]
    Optim(#[from] OptimError),
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// A network that cannot be built, or numbers that do not fit it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A layer that cannot take what comes from the layer before it.
    #[error("{layer} needs {expected}, but gets {got}; {hint}")]
    Input {
        /// Its place and kind, such as `layers[3].body[1] (conv2d)`.
        layer: String,
        /// What it can take.
        expected: String,
        /// What comes.
        got: Shape,
        /// What to do.
        hint: &'static str,
    },
    /// A number of a layer outside its range.
    #[error("{layer}: {name} must be {expected}, got {got}")]
    Parameter {
        /// Its place and kind.
        layer: String,
        /// The parameter.
        name: &'static str,
        /// Its range, in words.
        expected: String,
        /// What came.
        got: String,
    },
    /// Class weights for a network that does not predict one of as many classes.
    #[error(
        "class weights are for a network that predicts one class: there are weights for {got} classes, \
         and it has \
         {expected} outputs"
    )]
    ClassWeights {
        /// Outputs of the network.
        expected: usize,
        /// Weights.
        got: usize,
    },
    /// A layer that mixes records.
    #[error(
        "{layer} normalises by statistics of the batch, so that each record changes what all others \
         contribute: no clipping of \
         single records bounds that; use group_norm or layer_norm, which look at one record at a time"
    )]
    MixesRecords {
        /// Its place and kind.
        layer: String,
    },
    /// No layer has weights that are learned.
    #[error("the network has nothing to learn; leave at least one layer with weights unfrozen")]
    NothingToLearn,
    /// An input that is empty or too large.
    #[error("the input is {input}; every side must be at least 1, and all numbers together at most 2^28")]
    Size {
        /// What came.
        input: Shape,
    },
    /// More weights than fit in an array.
    #[error("the network has {parameters} weights, and 2^28 are the most; make its layers narrower")]
    TooLarge {
        /// Weights of all layers.
        parameters: usize,
    },
    /// The branches of a residual block have different outputs.
    #[error(
        "{layer}: the body gives {body} and the shortcut {shortcut}; they are added, so both must have \
         one shape"
    )]
    Branches {
        /// Its place and kind.
        layer: String,
        /// The output of the body.
        body: Shape,
        /// The output of the shortcut.
        shortcut: Shape,
    },
    /// Data of another shape.
    #[error("the network takes {expected} numbers as {what} of an example, and the data has {got}")]
    Data {
        /// Inputs or targets.
        what: &'static str,
        /// What the network takes.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// A vector of the wrong length.
    #[error("{what} must have {expected} numbers, one for each parameter, got {got}")]
    Length {
        /// The vector.
        what: &'static str,
        /// Parameters of the network.
        expected: usize,
        /// What came.
        got: usize,
    },
    /// Shares of the clip norm that are not one number above 0 for each part.
    #[error(
        "per-layer clipping needs {expected} finite shares above 0, one for each part with weights, got \
         {got:?}"
    )]
    Shares {
        /// Parts with weights.
        expected: usize,
        /// What came.
        got: Vec<f64>,
    },
    /// A memory limit that is too small.
    #[error(
        "micro-batches of one example on each of {threads} threads, and what is kept of one group of \
         records, take {needed} bytes, and the memory limit is {limit}; raise it or use fewer threads"
    )]
    Memory {
        /// Bytes that all threads need for micro-batches of one example.
        needed: usize,
        /// Threads.
        threads: usize,
        /// The limit in bytes.
        limit: usize,
    },
}
