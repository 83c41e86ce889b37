//! From a batch of slots to a sum of clipped gradients.
//!
//! ```text
//! batch ─► groups (fixed blocks of slots) ─► micro-batches, one thread each:
//!            forward, backward with norms, clipping weights, weighted sum into the group's float sum
//!          ─► each group's sum rounded to integers once ─► integers added over groups and threads
//! ```
//! Dense layers whose weights do not fit in a cache beside a micro-batch are *deferred*: their inputs and weighted
//! output gradients are kept for a slab of many examples. Then each tile of weights is multiplied over all groups of
//! the slab, and rounded and added while it is still in registers ([`deferred`]). No float sum of a large layer is
//! ever written to memory.
//!
//! # The same bits at any number of threads
//! One thread sums a group in the order of its slots (deferred layers: tile by tile, in that order), and only
//! integers are added across groups. The exception is a memory limit, which threads share: with one, the number of
//! threads decides the size of micro-batches, and so where float sums of some layers are divided.

pub(crate) mod deferred;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod worker;
