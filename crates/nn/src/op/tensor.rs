//! A layer's weights as PyTorch's tensors.

/// One tensor of a layer, as PyTorch names it and lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WeightTensor {
    pub(crate) name: &'static str,
    pub(crate) shape: Vec<usize>,
    /// The groups of a convolution's weight, which has another order in our parameters.
    pub(crate) groups: Option<usize>,
    /// The padding word of an embedding, whose row must be 0.
    pub(crate) padding: Option<usize>,
}

impl WeightTensor {
    /// A weight in the order of our parameters.
    pub(crate) fn weight(shape: impl Into<Vec<usize>>) -> Self {
        Self { name: "weight", shape: shape.into(), groups: None, padding: None }
    }

    /// A bias.
    pub(crate) fn bias(size: usize) -> Self {
        Self { name: "bias", ..Self::weight([size]) }
    }
}
