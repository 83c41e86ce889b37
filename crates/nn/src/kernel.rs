//! Kernels: the inner loops.

pub(crate) mod dense;
pub(crate) mod isa;
pub(crate) mod narrow;
pub(crate) mod normal;
pub(crate) mod outer;
pub(crate) mod pointwise;
pub(crate) mod product;
pub(crate) mod speed;
pub(crate) mod tile;
