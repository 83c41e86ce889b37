//! From a batch of slots to a sum of clipped gradients.
//!
//! ```text
//! batch ─► groups (fixed blocks of slots) ─► micro-batches, one thread each:
//!            forward, one backward pass that measures, weights, weighted sum into the group's float sum
//!          ─► each group's sum rounded to integers once ─► integers added over groups and threads
//! ```
//! Layers whose weights do not fit in a cache next to a micro-batch are *deferred*: their inputs and weighted slopes are kept for a
//! slab of many examples, and one product for each tile of weights over all groups of the slab rounds and adds where the tile still
//! is in registers ([`deferred`]). So no float sum of a large layer is ever written to memory.
//!
//! # The same bits at any number of threads
//! A group is summed by one thread in the order of its slots (or, deferred, tile by tile in that order), and what is added across
//! groups is integers. (A limit of memory is shared by threads: with one, their number decides how large micro-batches are, and where sums of some layers are cut.)

pub(crate) mod deferred;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod worker;
