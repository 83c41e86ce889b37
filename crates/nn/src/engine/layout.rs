//! What is summed at once and what is deferred, how large micro-batches and groups are. Depends on the network and public
//! numbers only.
//!
//! # Groups
//! A group of at most m records is rounded once. Larger groups round less often, and their float error is larger: with u = 2^-24,
//! ```text
//! F = (2m + 1) γ_K β,    γ_K = K u/(1 - K u)                                                    (1)
//! ```
//! of the clip norm (see `sordino_noise::grid::FloatGroups`). K is the longest chain of additions, plus 2:
//!
//! | layer | K | β |
//! |---|---|---|
//! | dense on one position: however m records are cut into runs, the first run and the additions of the others are at most `m + 1` | `m + 3` | 1 |
//! | materialised: the record's gradient is a number of its own, and only records are added | `m + 2` | 1 |
//! | ghost, T positions | `RUN + m (T/RUN + V) + 2` | [`SPREAD`] |
//! | deferred | `LONG_RUN + m/LONG_RUN + 2` | 1 |
//!
//! The layout takes the largest groups whose F is at most [`MOST_INFLATION`] and whose rounding is about a percent of the work.

use sordino_noise::grid::FloatGroups;
use sordino_optim::FloatSums;

use super::kept::LONG_RUN;
use crate::chain::{Chain, Dense};
use crate::error::NetworkError;
use crate::kernel::dense::MOST_ROWS;
use crate::kernel::outer::RUN;
use crate::op::Style;
use crate::view::View;

/// β where gradients are not materialised: records whose positions cancel more than that are clipped further.
pub(crate) const SPREAD: f64 = 8.0;

/// Of the clip norm, by equation (1).
const MOST_INFLATION: f64 = 0.008;

/// Weights from which a dense layer is deferred: half a megabyte.
const LARGE: usize = 1 << 17;

/// Bytes that a micro-batch may take of a second-level cache, gradients that are written once and read once included.
const CACHE: usize = 640 << 10;

/// Rows of a micro-batch even where they take more. Weights of dense layers come from further away still, but pictures whose layers do not fit in a cache are slower together
/// than one by one.
const LEAST: usize = 2;

/// Rows of a micro-batch where more would fit. (Where weights, and not activations, are what does not fit in a cache, it is a whole block
/// of the product.)
const WIDE: usize = 64;

/// Examples whose inputs and slopes are kept at a time.
const SLAB: usize = 2048;

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) deferred: Vec<Dense>,
    /// Whether all layers with weights are deferred; then threads need not keep to groups.
    pub(crate) defers_all: bool,
    /// Whether the first layer reads inputs where they are.
    pub(crate) reads_in_place: bool,
    /// Largest micro-batch.
    pub(crate) micro_batch: usize,
    /// Most examples of a slab.
    pub(crate) slab: usize,
    /// Bytes that one more example in a micro-batch takes.
    pub(crate) example_bytes: usize,
    /// Each leaf's share of the clip norm, where leaves are clipped by themselves; the sum of squares is at most 1.
    pub(crate) shares: Option<Vec<f64>>,
    pub(crate) sums: FloatSums,
}

impl Layout {
    /// For batches of about `batch` records out of `slots`.
    pub(crate) fn new(chain: &Chain, views: &[View], slots: usize, batch: f64) -> Self {
        let dense: Vec<Dense> = chain.dense().collect();
        let layers = chain.with_weights().count();
        let defers_all = dense.len() == layers && chain.parameters() >= LARGE;
        let deferred: Vec<Dense> =
            dense.into_iter().filter(|dense| defers_all || dense.inputs * dense.outputs >= LARGE).collect();
        let is_deferred = deferred.iter().any(|dense| dense.from == 0);
        let reads_in_place = *views == [View::Same] && chain.reads_in_place() && !is_deferred;
        let (views, untouched) = (views.len(), if reads_in_place { 2 * chain.input().size() } else { 0 });
        let example_bytes = 4 * (chain.footprint() * views + chain.materialised() - untouched);
        let micro_batch =
            if defers_all { MOST_ROWS } else { (CACHE / example_bytes.max(1)).clamp(LEAST, WIDE) };
        let mut layout = Self {
            deferred,
            defers_all,
            reads_in_place,
            micro_batch,
            slab: SLAB,
            example_bytes,
            shares: None,
            sums: FloatSums {
                block: 1,
                group_size: 1,
                chain: 3,
                unit_roundoff: FloatGroups::F32,
                beta: 1.0,
                positions: 1,
            },
        };
        layout.sums = layout.float_sums(chain, views, slots, batch);
        layout
    }

    /// Clips each leaf to its share of the clip norm: shares are scaled so that their squares sum to 1, rounded down.
    pub(crate) fn with_shares(mut self, shares: &[f64], leaves: usize) -> Result<Self, NetworkError> {
        let length = shares.iter().map(|share| share * share).sum::<f64>().sqrt();
        let is_sound =
            shares.iter().all(|share| *share > 0.0 && (share / length) > 0.0) && length.is_finite();
        if shares.len() != leaves || !is_sound {
            return Err(NetworkError::Shares { expected: leaves, got: shares.to_vec() });
        }
        self.shares = Some(shares.iter().map(|share| share / length * (1.0 - 1e-12)).collect());
        Ok(self)
    }

    /// Keeps all threads' memory below a limit, where micro-batches of one example do.
    pub(crate) fn within(mut self, memory: usize, threads: usize) -> Result<Self, NetworkError> {
        let kept = self.kept_bytes();
        let share = memory / threads.max(1) / 2;
        if self.example_bytes > share || kept > share {
            let needed = 2 * self.example_bytes.max(kept);
            return Err(NetworkError::Memory { needed, threads, limit: memory });
        }
        self.micro_batch = self.micro_batch.min(share / self.example_bytes.max(1)).max(1);
        self.slab = self.slab.min(memory / 2 / kept.max(1)).max(1);
        Ok(self)
    }

    /// Rows of micro-batches of so many examples where all layers are deferred: as many as are allowed, but as much work for
    /// each thread. (No sum depends on it: a row has the same bits among any others, and groups are summed in the order of their
    /// slots.)
    pub(crate) fn even_rows(&self, examples: usize, threads: usize, tile_rows: usize) -> usize {
        let runs = examples.div_ceil(self.micro_batch).next_multiple_of(threads.max(1));
        let rows = examples.div_ceil(runs.max(1)).next_multiple_of(tile_rows);
        rows.clamp(1, self.micro_batch)
    }

    /// Bytes that one more example in a slab takes: inputs and slopes of deferred layers.
    fn kept_bytes(&self) -> usize {
        self.deferred.iter().map(|dense| 4 * (dense.inputs + dense.outputs)).sum()
    }

    /// Bytes of micro-batches on all threads, and of a slab of at most `slots` examples.
    pub(crate) fn batch_bytes(&self, threads: usize, slots: usize) -> usize {
        threads * self.micro_batch * self.example_bytes + self.slab.min(slots) * self.kept_bytes()
    }

    fn float_sums(&self, chain: &Chain, views: usize, slots: usize, batch: f64) -> FloatSums {
        let mut mean = self.mean_group(chain, batch);
        loop {
            let sums = self.groups_of(chain, views, mean, slots, batch);
            let gamma = sums.chain as f64 * FloatGroups::F32;
            if (2.0 * f64::from(sums.group_size) + 1.0) * gamma * sums.beta <= MOST_INFLATION || mean <= 1.0 {
                return sums;
            }
            mean /= 2.0;
        }
    }

    /// Records of a group on average, to begin with: so that rounding is about a percent of the work, but fewer where a batch would have fewer than sixteen groups (threads take
    /// whole ones), and between 16 and 128. Where all is deferred nobody takes whole ones.
    fn mean_group(&self, chain: &Chain, batch: f64) -> f64 {
        if self.defers_all {
            return 256.0;
        }
        // Half a nanosecond for each weight that is rounded, against 6 operations for each weight and position at 60 a nanosecond.
        let deferred: usize = self.deferred.iter().map(|dense| dense.parameters.len()).sum();
        let rounding = 0.5 * (chain.parameters() - deferred) as f64;
        let work: f64 =
            chain.leaves().iter().map(|leaf| (leaf.parameters * leaf.positions) as f64 * 0.1).sum();
        (rounding / (0.01 * work)).min(batch / 16.0).clamp(16.0, 128.0)
    }

    fn groups_of(&self, chain: &Chain, views: usize, mean: f64, slots: usize, batch: f64) -> FloatSums {
        let block = (mean * slots as f64 / batch.max(1.0)).ceil().clamp(1.0, slots.max(1) as f64);
        // So many that a Poisson block has no more but once in 10^15 times, or as many as there are.
        let group_size = (mean + 8.0 * mean.sqrt() + 8.0).min(block).ceil();
        let m = group_size as u64;
        let is_deferred = |index: usize| self.deferred.iter().any(|dense| dense.leaf == index);
        let leaves = chain.leaves().iter().enumerate();
        let chains = leaves.clone().map(|(index, leaf)| match leaf.style {
            _ if is_deferred(index) => LONG_RUN as u64 + m.div_ceil(LONG_RUN as u64) + 2,
            Style::RankOne => m + 3,
            Style::Materialised => m + 2,
            Style::Ghost => RUN as u64 + m * (leaf.positions / RUN + views) as u64 + 2,
        });
        let ghosts =
            || leaves.clone().filter(|(_, leaf)| leaf.style == Style::Ghost).map(|(_, leaf)| leaf.positions);
        FloatSums {
            block: block as u32,
            group_size: group_size as u32,
            chain: chains.max().unwrap_or(3),
            unit_roundoff: FloatGroups::F32,
            beta: if ghosts().next().is_some() { SPREAD } else { 1.0 },
            positions: ghosts().max().unwrap_or(1) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Loss, Network, Shape};

    fn layout(input: usize, layers: &[Layer]) -> (Layout, usize) {
        let network = Network::new(Shape::Features(input), layers, Loss::CrossEntropy).unwrap();
        (Layout::new(network.chain(), &[View::Same], 10_000, 500.0), network.parameters())
    }

    /// As many neurons in all, and up to 64 times as many weights: who forms gradients of single examples needs 4 bytes a weight. (Layers
    /// of fewer outputs than a line has lanes take other room.)
    #[test]
    fn memory_of_an_example_does_not_depend_on_the_number_of_weights() {
        let of =
            |hidden: usize| layout(4096 - hidden, &[Layer::linear(hidden), Layer::tanh(), Layer::linear(16)]);
        let (few, few_weights) = of(16);
        for hidden in [200, 512, 2048] {
            let (many, weights) = of(hidden);
            assert!(weights > 10 * few_weights, "{weights}");
            assert_eq!(many.example_bytes, few.example_bytes);
            assert!(many.kept_bytes() <= many.example_bytes, "{}", many.kept_bytes());
        }
    }

    /// Every further layer takes as much as the one before.
    #[test]
    fn memory_of_an_example_is_linear_in_depth() {
        let of = |depth: usize| {
            let hidden = (0..depth).flat_map(|_| [Layer::linear(64), Layer::tanh()]);
            layout(64, &hidden.chain([Layer::linear(10)]).collect::<Vec<_>>()).0.example_bytes
        };
        let each = of(2) - of(1);
        assert!(each > 0 && [4, 16, 64].into_iter().all(|depth| of(depth) == of(1) + (depth - 1) * each));
    }

    #[test]
    fn threads_get_as_much_work_each() {
        let (layout, _) = layout(784, &[Layer::linear(1024), Layer::relu(), Layer::linear(10)]);
        assert!(layout.defers_all);
        for (examples, threads, runs) in
            [(256, 2, 2), (256, 1, 2), (2048, 2, 16), (7, 2, 2), (1, 4, 1), (144, 1, 1)]
        {
            let rows = layout.even_rows(examples, threads, 6);
            assert!(rows >= 1 && rows <= layout.micro_batch);
            assert_eq!(examples.div_ceil(rows), runs, "{examples} on {threads}");
        }
        assert_eq!(layout.even_rows(0, 2, 6), 1);
    }

    /// The inflation that groups cost is within what was set, for full batches and for samples.
    #[test]
    fn float_sums_of_large_dense_layers_stay_within_the_allowance() {
        let layers = [Layer::linear(1024), Layer::relu(), Layer::linear(10)];
        let network = Network::new(Shape::Features(784), &layers, Loss::CrossEntropy).unwrap();
        for (slots, batch) in [(2048, 2048.0), (60_000, 256.0), (60_000, 4096.0), (10, 10.0)] {
            let sums = Layout::new(network.chain(), &[View::Same], slots, batch).sums;
            let inflation = (2.0 * f64::from(sums.group_size) + 1.0) * sums.chain as f64 * sums.unit_roundoff;
            assert!(inflation * sums.beta <= MOST_INFLATION, "{inflation} for {slots}, {batch}");
        }
    }
}
