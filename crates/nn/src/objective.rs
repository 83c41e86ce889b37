//! The sum of a network's losses as an [`Objective`].

#[cfg(test)]
mod tests;
#[cfg(test)]
mod weighted_tests;

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use sordino_data::{Batch, ContributionLimit};
use sordino_noise::grid::{Allowance, GridSum, NoisySum, Rounding, SumError};
use sordino_optim::{ClassWeights, Clip, ClipRule, ClippedSum, FloatSums, Objective, Partial, sum_by_groups};
use sordino_threads::share;

use crate::engine::deferred::{self, Dispatch, GroupSum, Products, Unrounded};
use crate::engine::kept::{KeptRows, PlacedGroup, SlabMemory};
use crate::engine::layout::Layout;
use crate::engine::worker::{Job, Total, Worker, class_weight, counted, present};
use crate::error::NetworkError;
use crate::examples::Examples;
use crate::kernel::outer::Write;
use crate::loss::NetworkLoss;
use crate::network::Network;
use crate::op::AnyPrepared;

/// The losses of a network on examples. Its parameters are the network's.
pub struct NetworkObjective<'a, E: ?Sized> {
    network: &'a Network,
    examples: &'a E,
    layout: Layout,
    buffers: Mutex<StepBuffers>,
    /// One for each class, at most 1.
    class_weights: Option<Vec<f64>>,
}

/// Arrays that steps reuse.
#[derive(Default)]
struct StepBuffers {
    prepared: Vec<AnyPrepared>,
    workers: Vec<Worker>,
    slab: SlabMemory,
    /// The salt of the current parameters.
    salt: u64,
    /// The array of the last release, for the next sum.
    spent: Vec<i64>,
}

impl<'a, E: Examples + ?Sized> NetworkObjective<'a, E> {
    /// For batches of about `batch` records. The number is public and decides how records are grouped. A number that is
    /// far off costs time, not privacy.
    pub fn new(network: &'a Network, examples: &'a E, batch: f64) -> Result<Self, NetworkError> {
        network.check(examples.widths())?;
        let layout = Layout::new(network, examples.slots(), batch);
        Ok(Self { network, examples, layout, buffers: Mutex::default(), class_weights: None })
    }

    /// Limits [`batch_bytes`](Self::batch_bytes) on `threads` threads, by smaller micro-batches. Sums are the same up to
    /// rounding. Fails if micro-batches of one example, with the rows of one group of records, need more.
    pub fn memory(self, bytes: usize, threads: NonZero<usize>) -> Result<Self, NetworkError> {
        let layout = self.layout.within(self.network, self.examples.slots(), bytes, threads.get())?;
        Ok(Self { layout, buffers: Mutex::default(), ..self })
    }

    /// Clips the gradient of each part with weights ([`Network::parts`]) separately, to its share of the plan's clip norm
    /// C. Shares are scaled so that their squares sum to 1: one record still contributes norm at most C. With the
    /// adaptive quantile, a record counts as unclipped if none of its parts was clipped.
    pub fn per_layer(self, shares: &[f64]) -> Result<Self, NetworkError> {
        let leaves = self.network.chain().leaves().len();
        Ok(Self { layout: self.layout.with_shares(shares, leaves)?, ..self })
    }

    /// Multiplies each record's clipped gradient by the weight of its class. Weights are at most 1, so norms and the
    /// bounds of float sums do not grow. For networks that predict one class, with one weight per class.
    pub fn class_weights(self, weights: &ClassWeights) -> Result<Self, NetworkError> {
        let (expected, got) = (self.network.output().size(), weights.as_slice().len());
        if self.network.loss() != NetworkLoss::CrossEntropy || self.network.targets() != 1 || expected != got
        {
            return Err(NetworkError::ClassWeights { expected, got });
        }
        Ok(Self { class_weights: Some(weights.as_slice().to_vec()), ..self })
    }

    /// The number of examples in a micro-batch.
    pub fn micro_batch(&self) -> usize {
        self.layout.micro_batch
    }

    /// Bytes of a step's arrays that grow with micro-batches, on all of `threads` threads: what [`memory`](Self::memory)
    /// limits. The rows of large dense layers, for a slab of up to 2048 examples, are part of it. Not counted are arrays
    /// that grow with weights (packed weights, sums, noise), and about ten bytes for each record of a batch.
    pub fn batch_bytes(&self, threads: NonZero<usize>) -> usize {
        self.layout.batch_bytes(self.network, self.examples.slots(), threads.get())
    }

    /// The plain sum of gradients over `batch`, neither clipped nor noisy: see [`danger`](crate::danger).
    pub(crate) fn unclipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        threads: NonZero<usize>,
        place: Vec<f64>,
    ) -> Vec<f64> {
        let mut buffers = self.take_buffers(parameters, threads);
        self.resize_workers(&mut buffers.workers, threads);
        let StepBuffers { prepared, workers, slab: memory, salt, .. } = &mut buffers;
        let job = self.job(prepared, None, *salt);
        workers.iter_mut().for_each(|worker| worker.begin(&job));
        let (mut sum, mut write) = (place, Write::Set);
        sum.resize(self.network.parameters(), 0.0);
        let slots: Vec<usize> = batch.iter().collect();
        // The first products of deferred layers overwrite the array.
        if slots.is_empty() {
            sum.fill(0.0);
        }
        for slab in slots.chunks(self.slab().max(1)) {
            let runs: Vec<&[usize]> = slab.chunks(self.run_rows(slab.len(), workers.len())).collect();
            let mut kept = self.divide(memory, runs.iter().map(|run| run.len()));
            let items = runs.iter().zip(&mut kept).collect();
            share(workers, items, |worker, (slots, kept)| worker.run(&job, slots, Some(kept)));
            let parts = runs.iter().enumerate().map(|(part, run)| (part, 0..run.len()));
            let groups = [(PlacedGroup::new(0, parts), Unrounded)];
            self.products(workers, &kept, &groups, write, &mut sum);
            write = Write::Add;
        }
        for range in job.summed() {
            sum[range.clone()].fill(0.0);
            for worker in workers.iter() {
                let parts = sum[range.clone()].iter_mut().zip(&worker.sum[range.clone()]);
                parts.for_each(|(sum, part)| *sum += f64::from(*part));
            }
        }
        self.put_back(buffers);
        sum
    }

    /// The number of records of `batch` for which the cap binds: see [`danger`](crate::danger).
    pub(crate) fn cap_count(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<u64, SumError> {
        if self.is_grouped(clip) {
            Ok(self.grouped_sum(parameters, batch, clip, threads)?.1)
        } else {
            // RecordGroup that are quantised one by one need no cap.
            Ok(0)
        }
    }

    /// Whether clipped sums are float sums of groups.
    fn is_grouped(&self, clip: &Clip<'_>) -> bool {
        let is_flat = match clip.rule() {
            ClipRule::Flat | ClipRule::Automatic { .. } => true,
            ClipRule::Coordinates => false,
        };
        is_flat && !clip.is_exact() && clip.scales().is_none()
    }

    /// The fast path: float sums of groups. Also returns the number of capped records, which is as sensitive as the
    /// records.
    fn grouped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<(ClippedSum, u64), SumError> {
        let mut buffers = self.take_buffers(parameters, threads);
        self.resize_workers(&mut buffers.workers, threads);
        let StepBuffers { prepared, workers, slab: memory, salt, spent } = &mut buffers;
        let job = self.job(prepared, Some(clip), *salt);
        workers.iter_mut().for_each(|worker| worker.begin(&job));
        let groups = self.groups(batch);
        let (mut rest, mut write) = (&groups[..], Write::Set);
        let mut units = self.empty_units(std::mem::take(spent), groups.is_empty());
        while !rest.is_empty() {
            let slab;
            (slab, rest) = rest.split_at(self.slab_end(rest));
            let (kept, placed) = if self.layout.defers_all {
                self.run_chunks(&job, workers, memory, slab)
            } else {
                self.run_groups(&job, workers, memory, slab, clip, &mut units)
            };
            let with_rounding = |placed: PlacedGroup| {
                let rounding = Rounding::new(&clip.grid(), placed.records);
                (placed, rounding)
            };
            let placed: Vec<_> = placed.into_iter().map(with_rounding).collect();
            self.products(workers, &kept, &placed, write, &mut units);
            write = Write::Add;
        }
        let count = counted(workers, clip)?;
        let capped = workers.iter().map(|worker| worker.capped).sum();
        let records = groups.iter().map(|group| group.records);
        let gradient = GridSum::of_groups(clip.grid(), units, records)?;
        self.put_back(buffers);
        Ok((ClippedSum { gradient, count }, capped))
    }

    /// An array for the sum. It is zero, except for deferred layers: their first products overwrite it, if there are any
    /// groups.
    fn empty_units(&self, spent: Vec<i64>, has_no_groups: bool) -> Vec<i64> {
        let mut units = spent;
        units.resize(self.network.parameters(), 0);
        let (mut rest, mut done) = (&mut units[..], 0);
        for dense in self.layout.deferred.iter().filter(|_| !has_no_groups) {
            let (before, from) = rest.split_at_mut(dense.parameters.start - done);
            before.fill(0);
            (rest, done) = (&mut from[dense.parameters.len()..], dense.parameters.end);
        }
        rest.fill(0);
        units
    }

    /// Phase 1 if some layers are not deferred: a thread takes a whole group.
    fn run_groups<'m>(
        &self,
        job: &Job<'_, E>,
        workers: &mut [Worker],
        memory: &'m mut SlabMemory,
        slab: &[RecordGroup],
        clip: &Clip<'_>,
        units: &mut [i64],
    ) -> (Vec<KeptRows<'m>>, Vec<PlacedGroup>) {
        let mut kept = self.divide(memory, slab.iter().map(|group| group.slots.len()));
        let items: Vec<(&RecordGroup, &mut KeptRows<'_>)> = slab.iter().zip(&mut kept).collect();
        let (isa, total) = (self.network.isa(), Total::new(job, units));
        share(workers, items, |worker, (group, kept)| {
            worker.run(job, &group.slots, Some(kept));
            worker.round(isa, Rounding::new(&clip.grid(), group.records), &total);
        });
        let placed = slab.iter().enumerate();
        let placed =
            placed.map(|(part, group)| PlacedGroup::new(group.records, [(part, 0..group.slots.len())]));
        (kept, placed.collect())
    }

    /// Phase 1 if all layers are deferred: a thread takes the next few examples, whatever their group.
    fn run_chunks<'m>(
        &self,
        job: &Job<'_, E>,
        workers: &mut [Worker],
        memory: &'m mut SlabMemory,
        slab: &[RecordGroup],
    ) -> (Vec<KeptRows<'m>>, Vec<PlacedGroup>) {
        let slots: Vec<usize> = slab.iter().flat_map(|group| group.slots.iter().copied()).collect();
        let rows = self.run_rows(slots.len(), workers.len());
        let runs: Vec<&[usize]> = slots.chunks(rows).collect();
        let mut kept = self.divide(memory, runs.iter().map(|run| run.len()));
        let items: Vec<(&[usize], &mut KeptRows<'_>)> = runs.into_iter().zip(&mut kept).collect();
        share(workers, items, |worker, (slots, kept)| worker.run(job, slots, Some(kept)));
        let mut start = 0;
        let mut place = |group: &RecordGroup| {
            let (from, end) = (start, start + group.slots.len());
            start = end;
            let parts = (from / rows..end.div_ceil(rows)).map(|part| {
                (part, from.max(part * rows) - part * rows..end.min((part + 1) * rows) - part * rows)
            });
            PlacedGroup::new(group.records, parts)
        };
        let placed = slab.iter().map(&mut place).collect();
        (kept, placed)
    }

    /// Phase 2: the products of deferred layers, tile by tile.
    fn products<L: GroupSum>(
        &self,
        workers: &mut [Worker],
        kept: &[KeptRows<'_>],
        groups: &[(PlacedGroup, L)],
        write: Write,
        sums: &mut [L::Total],
    ) where
        Dispatch: Products<L>,
    {
        let (isa, mut tasks, mut rest, mut done) = (self.network.isa(), Vec::new(), sums, 0);
        for (layer, dense) in self.layout.deferred.iter().enumerate() {
            let (_, from) = rest.split_at_mut(dense.parameters.start - done);
            let (of_layer, later) = from.split_at_mut(dense.parameters.len());
            tasks.extend(deferred::tasks(isa, layer, dense, write, of_layer));
            (rest, done) = (later, dense.parameters.end);
        }
        // Longest first, so that all threads finish at about the same time.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.len()));
        share(workers, tasks, |_, task| deferred::run(isa, kept, groups, task));
    }

    /// The slow path, record by record: exact grids, scales, bounds on coordinates.
    fn one_by_one(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        let buffers = self.take_buffers(parameters, threads);
        // Gradients are clipped and then weighted one by one, below.
        let job = Job { class_weights: None, ..self.job(&buffers.prepared, None, buffers.salt) };
        let d = self.network.parameters();
        let workspace = || (Worker::new(self.network, 1), vec![0.0f64; d], vec![0.0f64; d]);
        let sums = self.float_sums();
        let total =
            sum_by_groups(clip, batch, sums, threads, workspace, |(worker, record, sum), group, partial| {
                let records = group.len() as u32;
                sum.fill(0.0);
                for slot in group.into_slots() {
                    if let Some(gradient) = worker.single(&job, slot) {
                        record.iter_mut().zip(gradient).for_each(|(to, from)| *to = f64::from(*from));
                        self.add_record(slot, clip, record, sum, partial)?;
                    }
                }
                if clip.is_exact() { Ok(()) } else { partial.gradient.add_group(sum, records) }
            });
        self.put_back(buffers);
        total
    }

    /// Clips one whole gradient and adds it to the exact sum, or to the sum of its group.
    fn add_record(
        &self,
        slot: usize,
        clip: &Clip<'_>,
        record: &mut [f64],
        sum: &mut [f64],
        partial: &mut Partial,
    ) -> Result<(), SumError> {
        if let Some(scales) = clip.scales() {
            record.iter_mut().zip(scales).for_each(|(g, scale)| *g /= scale);
        }
        let whole = [(record.len(), 1.0)];
        let parts: Vec<(usize, f64)> = match &self.layout.shares {
            Some(shares) => self.network.parts().into_iter().zip(shares.iter().copied()).collect(),
            None => whole.to_vec(),
        };
        let (mut rest, mut is_within) = (&mut record[..], true);
        for (length, share) in parts {
            let (part, later) = rest.split_at_mut(length);
            let Some(norm) = clip_part(clip, part, share) else { return Ok(()) };
            is_within &= norm <= clip.grid().clip_norm();
            rest = later;
        }
        if let (Some(weights), Some(example)) = (&self.class_weights, self.examples.example(slot)) {
            let weight = class_weight(weights, example.target);
            record.iter_mut().for_each(|g| *g *= weight);
        }
        partial.counted(is_within)?;
        if clip.is_exact() {
            return partial.gradient.add(record);
        }
        sum.iter_mut().zip(record.iter()).for_each(|(sum, g)| *sum += g);
        Ok(())
    }

    fn job<'b>(&'b self, prepared: &'b [AnyPrepared], clip: Option<&'b Clip<'b>>, salt: u64) -> Job<'b, E> {
        let class_weights = self.class_weights.as_deref();
        Job {
            network: self.network,
            layout: &self.layout,
            examples: self.examples,
            prepared,
            clip,
            salt,
            class_weights,
        }
    }

    fn groups(&self, batch: &Batch) -> Vec<RecordGroup> {
        let FloatSums { block, group_size, .. } = self.layout.sums;
        let groups = batch.groups(block, group_size);
        let present = |slot: &usize| present(self.network, self.examples, *slot).is_some();
        groups
            .map(|group| {
                let (records, mut slots) = (group.len() as u32, Vec::with_capacity(group.len()));
                slots.extend(group.into_slots().filter(present));
                RecordGroup { records, slots }
            })
            .collect()
    }

    /// The number of groups that fit in one slab, at least one.
    fn slab_end(&self, groups: &[RecordGroup]) -> usize {
        let mut examples = 0;
        let fits = |group: &&RecordGroup| {
            examples += group.slots.len();
            examples <= self.slab()
        };
        groups.iter().take_while(fits).count().max(1)
    }

    /// Examples that a thread takes at a time.
    fn run_rows(&self, examples: usize, threads: usize) -> usize {
        if self.layout.defers_all {
            self.layout.even_rows(examples, threads, self.network.isa().tile_rows())
        } else {
            self.layout.micro_batch
        }
    }

    /// Memory for parts of so many examples.
    fn divide<'m>(
        &self,
        memory: &'m mut SlabMemory,
        runs: impl IntoIterator<Item = usize>,
    ) -> Vec<KeptRows<'m>> {
        memory.divide(self.network.isa(), &self.layout.deferred, self.slab(), runs)
    }

    /// The most examples that are kept at a time. A batch drawn with replacement may have more examples than slots.
    fn slab(&self) -> usize {
        self.layout.kept_examples(self.examples.slots())
    }

    /// Makes a worker for each thread.
    fn resize_workers(&self, workers: &mut Vec<Worker>, threads: NonZero<usize>) {
        workers.resize_with(threads.get(), || Worker::new(self.network, self.layout.micro_batch));
    }

    /// The arrays of the last step, with this step's weights.
    fn take_buffers(&self, parameters: &[f64], threads: NonZero<usize>) -> StepBuffers {
        // Contents that a panic left behind are overwritten before they are read.
        let mut buffers = std::mem::take(&mut *self.buffers.lock().unwrap_or_else(PoisonError::into_inner));
        if buffers.prepared.is_empty() {
            buffers.prepared = self.network.chain().unprepared();
        }
        let mut salts = vec![0; parameters.len().div_ceil(SALTED)];
        let salted = parameters.chunks(SALTED).zip(&mut salts);
        let salted = salted.map(|(part, to)| Box::new(|| *to = salt(part)) as Box<dyn FnOnce() + Send>);
        let layers = self.network.chain().preparations(parameters, &mut buffers.prepared);
        let prepared = layers.into_iter().map(|(op, parameters, prepared)| -> Box<dyn FnOnce() + Send> {
            Box::new(|| op.prepare(parameters, prepared))
        });
        share(&mut vec![(); threads.get()], prepared.chain(salted).collect(), |(), work| work());
        buffers.salt = salts.into_iter().fold(0, mixed);
        buffers
    }

    fn put_back(&self, buffers: StepBuffers) {
        *self.buffers.lock().unwrap_or_else(PoisonError::into_inner) = buffers;
    }
}

/// A group of records.
struct RecordGroup {
    /// The number of its slots, empty ones included.
    records: u32,
    slots: Vec<usize>,
}

impl<E: Examples + ?Sized> Objective for NetworkObjective<'_, E> {
    fn dimension(&self) -> usize {
        self.network.parameters()
    }

    fn slots(&self) -> usize {
        self.examples.slots()
    }

    fn limit(&self) -> ContributionLimit {
        self.examples.limit()
    }

    fn float_sums(&self) -> FloatSums {
        self.layout.sums
    }

    fn clipped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        if self.is_grouped(clip) {
            Ok(self.grouped_sum(parameters, batch, clip, threads)?.0)
        } else {
            self.one_by_one(parameters, batch, clip, threads)
        }
    }

    fn take_back(&self, spent: NoisySum) {
        // The slow path has its own sums.
        if matches!(spent.grid().allowance(), Allowance::FloatGroups(_)) {
            self.buffers.lock().unwrap_or_else(PoisonError::into_inner).spent = spent.into_units();
        }
    }
}

/// Parameters that one thread hashes at a time; fixed, so that the salt does not depend on the number of threads.
const SALTED: usize = 1 << 18;

/// A hash of the parameters. They are public and noisy, so the hash, and the random choices seeded by it, change from
/// step to step.
fn salt(parameters: &[f64]) -> u64 {
    // Eight chains: a single one would wait for each multiplication, milliseconds for a million parameters.
    let mut chains = [0, 1, 2, 3, 4, 5, 6, 7];
    for some in parameters.chunks(chains.len()) {
        chains.iter_mut().zip(some).for_each(|(chain, w)| *chain = mixed(*chain, w.to_bits()));
    }
    chains.into_iter().fold(0, mixed)
}

fn mixed(salt: u64, bits: u64) -> u64 {
    (salt ^ bits).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
}

/// Clips a part of a gradient to its share of the clip norm. Returns its norm divided by the share, or `None` if the
/// norm is too large to count.
fn clip_part(clip: &Clip<'_>, part: &mut [f64], share: f64) -> Option<f64> {
    let squared: f64 = part.iter().map(|g| g * g).sum();
    let norm = ((squared * (1.0 + 1e-9)).sqrt() + 1e-150) / share;
    if !norm.is_finite() || norm > (1u64 << 40) as f64 {
        return None;
    }
    match clip.rule() {
        ClipRule::Flat | ClipRule::Automatic { .. } => {
            let weight = clip.weight(norm);
            part.iter_mut().for_each(|g| *g *= weight);
        }
        ClipRule::Coordinates => {
            let (weight, limit) = (clip.weight(0.0), clip.coordinate_limit());
            part.iter_mut().for_each(|g| *g = (*g * weight).clamp(-limit, limit));
        }
    }
    Some(norm)
}
