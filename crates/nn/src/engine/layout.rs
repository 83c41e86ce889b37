//! Which layers are deferred, and the sizes of micro-batches and groups. All of it depends on the network and on
//! public numbers only.
//!
//! # Groups
//! A group of at most m records is rounded once. Larger groups round less often, but their float error is larger. With
//! u = 2^-24 it is
//! ```text
//! F = (2m + 1) γ_K β,    γ_K = K u/(1 - K u)                                                    (1)
//! ```
//! clip norms (see `sordino_noise::grid::FloatGroups`). K is the longest chain of additions, plus 2:
//!
//! | layer | K | β |
//! |---|---|---|
//! | dense on one position: at most `m + 1`, however m records are divided into runs | `m + 3` | 1 |
//! | materialised: only whole gradients are added | `m + 2` | 1 |
//! | ghost, T positions | `RUN + m (T/RUN + V) + 2` | [`SPREAD`] |
//! | deferred | `LONG_RUN + m/LONG_RUN + 2` | 1 |
//!
//! The layout chooses groups with F of at most [`MAX_INFLATION`] whose rounding takes about a percent of the work. They
//! have room for all records that a sample has in a block, except once in 10^15 times. If such groups would be too
//! small (many views), the layout takes the largest groups whose F is small enough, for twice as many records as a block
//! has on average; a record beyond that gets a group of its own. In groups of one, F is small enough for every ghost
//! layer: with k inputs and n outputs it has `T V < sqrt(5.4 k n/(k + n))` positions
//! ([`cheapest`](crate::op::NormMethod::cheapest)), and more than 5000 only beyond 10^13 weights.
//!
//! # Memory
//! The memory of micro-batches and slabs is counted by the types that allocate it, [`Worker`] and [`SlabMemory`]. The
//! size of micro-batches follows from less: what passes through the kernels ([`cached_bytes`]).

use sordino_noise::grid::FloatGroups;
use sordino_optim::FloatSums;

use super::kept::{LONG_RUN, SlabMemory};
use super::worker::Worker;
use crate::chain::{Chain, DenseLayer};
use crate::error::NetworkError;
use crate::kernel::dense::MOST_ROWS;
use crate::kernel::outer::RUN;
use crate::network::Network;
use crate::op::NormMethod;
use crate::view::View;

/// β if gradients are not materialised: records whose positions cancel more than that are clipped further.
pub(crate) const SPREAD: f64 = 8.0;

/// The largest F of equation (1). Together with the rounding of groups, it stays below one percent of the clip norm.
const MAX_INFLATION: f64 = 0.008;

/// Below this mean number of records, four fifths of a group would be room for the largest samples.
const MIN_MEAN_GROUP: f64 = 8.0;

/// Dense layers with at least this many weights are deferred: half a megabyte.
const DEFERRED_WEIGHTS: usize = 1 << 17;

/// Bytes of a second-level cache that a micro-batch may take, materialised gradients included.
const CACHE: usize = 512 << 10;

/// The smallest micro-batch, even if it does not fit in the cache. More such images at a time would be slower than one
/// by one.
const MIN_MICRO_BATCH: usize = 2;

/// The largest micro-batch, even if more would fit. (If all layers are deferred, it is a whole block of the product.)
const MAX_MICRO_BATCH: usize = 64;

/// Examples whose inputs and output gradients are kept at a time.
const SLAB: usize = 2048;

#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) deferred: Vec<DenseLayer>,
    /// Whether all layers with weights are deferred; then threads need not keep to groups.
    pub(crate) defers_all: bool,
    /// Whether the first layer reads inputs in place.
    pub(crate) reads_in_place: bool,
    /// Largest micro-batch.
    pub(crate) micro_batch: usize,
    /// Most examples of a slab.
    pub(crate) slab: usize,
    /// Each leaf's share of the clip norm, if leaves are clipped separately; their squares sum to at most 1.
    pub(crate) shares: Option<Vec<f64>>,
    pub(crate) sums: FloatSums,
}

impl Layout {
    /// For batches of about `batch` records out of `slots`.
    pub(crate) fn new(network: &Network, slots: usize, batch: f64) -> Self {
        let (chain, views) = (network.chain(), network.views());
        let dense: Vec<DenseLayer> = chain.dense().collect();
        let layers = chain.with_weights().count();
        let defers_all = dense.len() == layers && chain.parameters() >= DEFERRED_WEIGHTS;
        let deferred: Vec<DenseLayer> = dense
            .into_iter()
            .filter(|dense| defers_all || dense.inputs * dense.outputs >= DEFERRED_WEIGHTS)
            .collect();
        let is_deferred = deferred.iter().any(|dense| dense.from == 0);
        let reads_in_place = *views == [View::Same] && chain.reads_in_place() && !is_deferred;
        let cached = cached_bytes(network, reads_in_place);
        let micro_batch = if defers_all {
            MOST_ROWS
        } else {
            (CACHE / cached.max(1)).clamp(MIN_MICRO_BATCH, MAX_MICRO_BATCH)
        };
        let mut layout = Self {
            deferred,
            defers_all,
            reads_in_place,
            micro_batch,
            slab: SLAB,
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
        layout.sums = layout.float_sums(chain, views.len(), slots, batch);
        layout
    }

    /// Clips each leaf to its share of the clip norm. Shares are scaled so that their squares sum to 1, rounded down.
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

    /// Keeps the memory of all threads within a limit, if micro-batches of one example and a slab of one group fit.
    pub(crate) fn within(
        mut self,
        network: &Network,
        slots: usize,
        limit: usize,
        threads: usize,
    ) -> Result<Self, NetworkError> {
        let workers = |rows: usize| threads * Worker::new(network, rows).bytes();
        let kept = |examples: usize| SlabMemory::bytes_for(network.isa(), &self.deferred, examples);
        let (least, most) = (self.largest_group(slots), self.kept_examples(slots));
        let needed = workers(1) + kept(least);
        if needed > limit {
            return Err(NetworkError::Memory { needed, threads, limit });
        }
        // Half of the limit, or what a whole slab leaves; but a slab of one group must fit.
        let share = (limit / 2).max(limit.saturating_sub(kept(most))).min(limit - kept(least));
        let micro_batch = most_that(1, self.micro_batch, |rows| workers(rows) <= share);
        let left = limit - workers(micro_batch);
        let slab = most_that(least, most, |examples| kept(examples) <= left);
        (self.micro_batch, self.slab) = (micro_batch, slab);
        Ok(self)
    }

    /// The size of micro-batches if all layers are deferred: as large as allowed, with equal work for each thread. No
    /// sum depends on it: the bits of a row do not depend on other rows, and groups are summed in the order of their
    /// slots.
    pub(crate) fn even_rows(&self, examples: usize, threads: usize, tile_rows: usize) -> usize {
        let runs = examples.div_ceil(self.micro_batch).next_multiple_of(threads.max(1));
        let rows = examples.div_ceil(runs.max(1)).next_multiple_of(tile_rows);
        rows.clamp(1, self.micro_batch)
    }

    /// The most examples that are kept at a time: a slab, or a group if that is larger.
    pub(crate) fn kept_examples(&self, slots: usize) -> usize {
        self.slab.min(slots).max(self.largest_group(slots))
    }

    fn largest_group(&self, slots: usize) -> usize {
        slots.min(self.sums.group_size as usize)
    }

    /// Bytes of micro-batches on all threads, and of a slab.
    pub(crate) fn batch_bytes(&self, network: &Network, slots: usize, threads: usize) -> usize {
        let kept = SlabMemory::bytes_for(network.isa(), &self.deferred, self.kept_examples(slots));
        threads * Worker::new(network, self.micro_batch).bytes() + kept
    }

    fn float_sums(&self, chain: &Chain, views: usize, slots: usize, batch: f64) -> FloatSums {
        let is_exact_enough = |sums: &FloatSums| inflation(sums) <= MAX_INFLATION;
        let mut mean = self.mean_group(chain, batch);
        while mean >= MIN_MEAN_GROUP {
            // A Poisson block has more records only once in 10^15 times.
            let sums = self.groups_of(chain, views, mean, mean + 8.0 * mean.sqrt() + 8.0, slots, batch);
            if is_exact_enough(&sums) {
                return sums;
            }
            mean /= 2.0;
        }
        let largest = |m: u32| {
            let mean = if batch < slots as f64 { f64::from(m) / 2.0 } else { f64::from(m) };
            self.groups_of(chain, views, mean, m.into(), slots, batch)
        };
        let few = (MIN_MEAN_GROUP + 8.0 * MIN_MEAN_GROUP.sqrt() + 8.0) as u32;
        (1..=few).rev().map(largest).find(is_exact_enough).unwrap_or_else(|| largest(1))
    }

    /// The mean number of records in a group to begin with: rounding takes about a percent of the work, and a batch has
    /// at least sixteen groups, because threads take whole ones. Between 16 and 128. If all layers are deferred, threads
    /// do not take whole groups.
    fn mean_group(&self, chain: &Chain, batch: f64) -> f64 {
        if self.defers_all {
            return 256.0;
        }
        // Half a nanosecond to round a weight, against 6 operations per weight and position at 60 per nanosecond.
        let deferred: usize = self.deferred.iter().map(|dense| dense.parameters.len()).sum();
        let rounding = 0.5 * (chain.parameters() - deferred) as f64;
        let work: f64 =
            chain.leaves().iter().map(|leaf| (leaf.parameters * leaf.positions) as f64 * 0.1).sum();
        (rounding / (0.01 * work)).min(batch / 16.0).clamp(16.0, 128.0)
    }

    /// Groups of `mean` records on average, and of at most `most`.
    fn groups_of(
        &self,
        chain: &Chain,
        views: usize,
        mean: f64,
        most: f64,
        slots: usize,
        batch: f64,
    ) -> FloatSums {
        let block = (mean * slots as f64 / batch.max(1.0)).ceil().clamp(1.0, slots.max(1) as f64);
        let group_size = most.min(block).ceil();
        let m = group_size as u64;
        let is_deferred = |index: usize| self.deferred.iter().any(|dense| dense.leaf == index);
        let leaves = chain.leaves().iter().enumerate();
        let chains = leaves.clone().map(|(index, leaf)| match leaf.method {
            _ if is_deferred(index) => LONG_RUN as u64 + m.div_ceil(LONG_RUN as u64) + 2,
            NormMethod::RankOne => m + 3,
            NormMethod::Materialised => m + 2,
            NormMethod::Ghost => RUN as u64 + m * (leaf.positions / RUN + views) as u64 + 2,
        });
        let ghosts = || {
            leaves
                .clone()
                .filter(|(_, leaf)| leaf.method == NormMethod::Ghost)
                .map(|(_, leaf)| leaf.positions)
        };
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

/// Bytes of an example that pass through the kernels. What is allocated is more; `CACHE` was measured with these.
fn cached_bytes(network: &Network, reads_in_place: bool) -> usize {
    let chain = network.chain();
    let untouched = if reads_in_place { 2 * chain.input().size() } else { 0 };
    4 * (chain.footprint() * network.views().len() + chain.materialised() - untouched)
}

/// Equation (1).
fn inflation(sums: &FloatSums) -> f64 {
    let error = sums.chain as f64 * sums.unit_roundoff;
    (2.0 * f64::from(sums.group_size) + 1.0) * error / (1.0 - error) * sums.beta
}

/// The largest number from `least` to `most` that `fits`. If a number fits, smaller ones do; `least` does.
fn most_that(least: usize, most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, mut most) = (least, most.max(least));
    while least < most {
        let middle = most - (most - least) / 2;
        if fits(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::View;
    use crate::{Layer, NetworkLoss, Shape, preset};

    fn dense(input: usize, layers: &[Layer]) -> (Network, Layout) {
        let network = Network::new(Shape::Features(input), layers, NetworkLoss::CrossEntropy).unwrap();
        let layout = Layout::new(&network, 10_000, 500.0);
        (network, layout)
    }

    /// What one more example in a micro-batch takes, on average.
    fn example_bytes(network: &Network) -> usize {
        let bytes = |rows: usize| Worker::new(network, rows).bytes();
        (bytes(72) - bytes(24)) / 48
    }

    /// With the same number of neurons, and up to 64 times as many weights. Materialised gradients would take 4 bytes per
    /// weight. (Rows that products copy take up to 4 KiB each.)
    #[test]
    fn memory_of_an_example_does_not_depend_on_the_number_of_weights() {
        let of =
            |hidden: usize| dense(4096 - hidden, &[Layer::linear(hidden), Layer::relu(), Layer::linear(16)]);
        let (few, _) = of(16);
        for hidden in [200, 512, 2048] {
            let (many, layout) = of(hidden);
            assert!(many.parameters() > 10 * few.parameters(), "{}", many.parameters());
            assert_eq!(cached_bytes(&many, false), cached_bytes(&few, false));
            let (bytes, few_bytes) = (example_bytes(&many), example_bytes(&few));
            assert!(bytes <= few_bytes + 4096, "{bytes}, {few_bytes} with {hidden}");
            assert!(SlabMemory::bytes_for(many.isa(), &layout.deferred, 1) <= bytes);
        }
    }

    /// Each further layer takes the same.
    #[test]
    fn memory_of_an_example_is_linear_in_depth() {
        let of = |depth: usize| {
            let hidden = (0..depth).flat_map(|_| [Layer::linear(64), Layer::tanh()]);
            example_bytes(&dense(64, &hidden.chain([Layer::linear(10)]).collect::<Vec<_>>()).0)
        };
        let each = of(2) - of(1);
        assert!(each > 0 && [4, 16, 64].into_iter().all(|depth| of(depth) == of(1) + (depth - 1) * each));
    }

    /// These sizes were measured to be fast, on the networks of the benchmarks.
    #[test]
    fn micro_batches_have_the_sizes_that_were_measured_to_be_fast() {
        let of = |name: &str, input: Shape| {
            let hidden = (name == "mlp").then_some(&[1024, 1024][..]);
            let network = preset::named(name, hidden).unwrap().network_for(input, 10).unwrap();
            Layout::new(&network, 256, 256.0).micro_batch
        };
        let image = |channels: usize, side: usize| Shape::Image { channels, height: side, width: side };
        let found = [
            of("softmax", Shape::Features(4096)),
            of("mlp", Shape::Features(784)),
            of("cnn", image(1, 8)),
            of("tanh_cnn", image(1, 28)),
            of("cifar_cnn", image(3, 32)),
            of("resnet20", image(3, 32)),
        ];
        assert_eq!(found, [64, 144, 14, 4, 2, 2]);
    }

    #[test]
    fn a_memory_limit_is_used_up_and_not_exceeded() {
        let layers =
            [Layer::linear(600), Layer::relu(), Layer::linear(700), Layer::tanh(), Layer::linear(10)];
        let (network, free) = dense(500, &layers);
        let slots = 10_000;
        let [two, whole] = [2, free.batch_bytes(&network, slots, 2)];
        let least = free.clone().within(&network, slots, 1, two).unwrap_err();
        let NetworkError::Memory { needed, .. } = least else { panic!("{least}") };
        for limit in [needed, needed + 100_000, whole / 2, whole - 1, whole, 2 * whole] {
            let layout = free.clone().within(&network, slots, limit, two).unwrap();
            let taken = layout.batch_bytes(&network, slots, two);
            assert!(taken <= limit, "{taken} of {limit}");
            // One more example on each thread, or one more kept example, would be too much.
            let room = two * example_bytes(&network) * 13
                + SlabMemory::bytes_for(network.isa(), &layout.deferred, 1);
            assert!(taken + room > limit.min(whole), "{taken} of {limit}");
        }
        assert!(free.within(&network, slots, needed - 1, two).is_err());
    }

    #[test]
    fn threads_get_equal_work() {
        let (_, layout) = dense(784, &[Layer::linear(1024), Layer::relu(), Layer::linear(10)]);
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

    /// Typed again from equation (1) and its table: T V positions of a record, m records.
    #[test]
    fn groups_with_many_views_are_as_large_as_the_allowance_permits() {
        let network = |views: usize| {
            let layers = [Layer::linear(1024), Layer::relu(), Layer::linear(10)];
            let views = vec![View::Same; views];
            Network::with_views(Shape::Features(784), &layers, NetworkLoss::CrossEntropy, &views).unwrap()
        };
        let f = |m: f64, views: f64| {
            let error = (66.0 + m * ((views / 64.0).floor() + views)) / (1u32 << 24) as f64;
            (2.0 * m + 1.0) * error / (1.0 - error) * 8.0
        };
        for (slots, batch) in [(2048, 2048.0), (60_000, 256.0), (60_000, 4096.0)] {
            for views in [24, 31, 40, 47] {
                let sums = Layout::new(&network(views), slots, batch).sums;
                let m = f64::from(sums.group_size);
                assert_eq!(sums.beta, SPREAD, "{views} views make a ghost layer");
                assert!((inflation(&sums) / f(m, views as f64) - 1.0).abs() < 1e-12);
                assert!(inflation(&sums) <= 0.008, "{views}");
                assert!(f(2.0 * m + 1.0, views as f64) > 0.008, "{m} records could be {}", 2.0 * m + 1.0);
            }
        }
    }

    /// At the largest number of positions that a ghost layer can have.
    #[test]
    fn groups_of_one_are_exact_enough_for_every_ghost_layer() {
        for width in [1usize << 6, 1 << 12, 1 << 20, 1 << 21] {
            let is_ghost = |views: usize| NormMethod::cheapest(views, width, width) == NormMethod::Ghost;
            let most = most_that(2, 1 << 20, is_ghost);
            let chain = (RUN + most / RUN + most + 2) as u64;
            let sums = FloatSums {
                block: 1,
                group_size: 1,
                chain,
                unit_roundoff: FloatGroups::F32,
                beta: SPREAD,
                positions: most as u64,
            };
            assert!(inflation(&sums) <= MAX_INFLATION, "{width}: {most}");
        }
    }
}
