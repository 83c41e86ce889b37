//! The sum of a network's losses, as an [`Objective`].

#[cfg(test)]
mod tests;
#[cfg(test)]
mod weighted_tests;

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use sordino_data::{Batch, ContributionLimit};
use sordino_noise::grid::{Allowance, NoisySum, Rounding, Sum, SumError};
use sordino_optim::{ClassWeights, Clip, ClipRule, ClippedSum, FloatSums, Objective, Partial, sum_by_groups};
use sordino_threads::share;

use crate::engine::deferred::{self, Dispatch, Landing, Products, Unrounded};
use crate::engine::kept::{Area, KeptRows, PlacedGroup};
use crate::engine::layout::Layout;
use crate::engine::worker::{Job, Total, Worker, class_weight, counted, present};
use crate::error::NetworkError;
use crate::examples::Examples;
use crate::kernel::outer::Write;
use crate::loss::Loss;
use crate::network::Network;
use crate::op::AnyPrepared;

/// Losses of a network on examples. Its parameters are the network's.
pub struct NetworkObjective<'a, E: ?Sized> {
    network: &'a Network,
    examples: &'a E,
    layout: Layout,
    memory: Mutex<Memory>,
    /// In order of classes, at most 1.
    class_weights: Option<Vec<f64>>,
}

/// Arrays that the next step uses again.
#[derive(Default)]
struct Memory {
    prepared: Vec<AnyPrepared>,
    workers: Vec<Worker>,
    kept: Area,
    /// Of the parameters at hand.
    salt: u64,
    /// Of the last release: a place for the next sum.
    spent: Vec<i64>,
}

impl<'a, E: Examples + ?Sized> NetworkObjective<'a, E> {
    /// For batches of about `batch` records. The number is public; it decides how records are grouped, and one that is far off costs
    /// time, not privacy.
    pub fn new(network: &'a Network, examples: &'a E, batch: f64) -> Result<Self, NetworkError> {
        network.check(examples.widths())?;
        let layout = Layout::new(network, examples.slots(), batch);
        Ok(Self { network, examples, layout, memory: Mutex::default(), class_weights: None })
    }

    /// Keeps what grows with micro-batches below so many bytes on all of `threads` threads, [`batch_bytes`](Self::batch_bytes) and so what is allocated: smaller micro-batches,
    /// the same sums but for roundings. Fails where even micro-batches of one example, with what is kept of one group of records, take more.
    pub fn memory(self, bytes: usize, threads: NonZero<usize>) -> Result<Self, NetworkError> {
        let layout = self.layout.within(self.network, self.examples.slots(), bytes, threads.get())?;
        Ok(Self { layout, memory: Mutex::default(), ..self })
    }

    /// Clips the gradient of each part with weights ([`Network::parts`]) by itself, to its share of the plan's clip norm C: shares are scaled so
    /// that their squares sum to 1, and what one record contributes has norm at most C as before. With the adaptive quantile a record
    /// counts as unclipped if none of its parts was clipped.
    pub fn per_layer(self, shares: &[f64]) -> Result<Self, NetworkError> {
        let leaves = self.network.chain().leaves().len();
        Ok(Self { layout: self.layout.with_shares(shares, leaves)?, ..self })
    }

    /// Multiplies what clipping leaves of a record's gradient by the weight of its class, a number of at most
    /// 1: its norm, and every bound that float sums rest on, stay within what they are for weight 1. For
    /// networks that predict one class, of as many as there are weights.
    pub fn class_weights(self, weights: &ClassWeights) -> Result<Self, NetworkError> {
        let (expected, got) = (self.network.output().size(), weights.as_slice().len());
        if self.network.loss() != Loss::CrossEntropy || self.network.targets() != 1 || expected != got {
            return Err(NetworkError::ClassWeights { expected, got });
        }
        Ok(Self { class_weights: Some(weights.as_slice().to_vec()), ..self })
    }

    /// Examples of a micro-batch.
    pub fn micro_batch(&self) -> usize {
        self.layout.micro_batch
    }

    /// Bytes of a step's arrays that grow with micro-batches, on all of `threads` threads: what [`memory`](Self::memory) limits, counted where it is allocated. Large dense layers of a
    /// slab of up to 2048 examples are part of it. Beside it are what grows with weights (their forms for inner loops, sums, noise) and some ten bytes for each record of a batch, the list of
    /// who is in it.
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
        let mut memory = self.take_memory(parameters, threads);
        self.employ(&mut memory.workers, threads);
        let Memory { prepared, workers, kept: area, salt, .. } = &mut memory;
        let job = self.job(prepared, None, *salt);
        workers.iter_mut().for_each(|worker| worker.begin(&job));
        let (mut sum, mut write) = (place, Write::Set);
        sum.resize(self.network.parameters(), 0.0);
        let slots: Vec<usize> = batch.iter().collect();
        // The first products of deferred layers overwrite what is there.
        if slots.is_empty() {
            sum.fill(0.0);
        }
        for slab in slots.chunks(self.slab().max(1)) {
            let runs: Vec<&[usize]> = slab.chunks(self.run_rows(slab.len(), workers.len())).collect();
            let mut kept = self.cut(area, runs.iter().map(|run| run.len()));
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
        self.put_back(memory);
        sum
    }

    /// How many records of `batch` weigh less than plain clipping would have them: see [`danger`](crate::danger).
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
            // Records that are quantised one by one need no cap.
            Ok(0)
        }
    }

    /// Whether a clipped sum is made of float groups.
    fn is_grouped(&self, clip: &Clip<'_>) -> bool {
        let is_flat = match clip.rule() {
            ClipRule::Flat | ClipRule::Automatic { .. } => true,
            ClipRule::Coordinates => false,
        };
        is_flat && !clip.is_exact() && clip.scales().is_none()
    }

    /// The fast road: float groups. Also the number of records that were capped, which is as private as the records.
    fn grouped_sum(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<(ClippedSum, u64), SumError> {
        let mut memory = self.take_memory(parameters, threads);
        self.employ(&mut memory.workers, threads);
        let Memory { prepared, workers, kept: area, salt, spent } = &mut memory;
        let job = self.job(prepared, Some(clip), *salt);
        workers.iter_mut().for_each(|worker| worker.begin(&job));
        let groups = self.groups(batch);
        let (mut rest, mut write) = (&groups[..], Write::Set);
        let mut units = self.empty_units(std::mem::take(spent), groups.is_empty());
        while !rest.is_empty() {
            let slab;
            (slab, rest) = rest.split_at(self.slab_end(rest));
            let (kept, placed) = if self.layout.defers_all {
                self.run_chunks(&job, workers, area, slab)
            } else {
                self.run_groups(&job, workers, area, slab, clip, &mut units)
            };
            let landing = |placed: PlacedGroup| {
                let rounding = Rounding::new(&clip.grid(), placed.records);
                (placed, rounding)
            };
            let placed: Vec<_> = placed.into_iter().map(landing).collect();
            self.products(workers, &kept, &placed, write, &mut units);
            write = Write::Add;
        }
        let count = counted(workers, clip)?;
        let capped = workers.iter().map(|worker| worker.capped).sum();
        let records = groups.iter().map(|group| group.records);
        let gradient = Sum::of_groups(clip.grid(), units, records)?;
        self.put_back(memory);
        Ok((ClippedSum { gradient, count }, capped))
    }

    /// A place for a sum: zeros, but for deferred layers, whose first products overwrite what is there. Where there are no products, zeros.
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

    /// Phase 1 where some layers are summed at once: a thread takes a whole group.
    fn run_groups<'m>(
        &self,
        job: &Job<'_, E>,
        workers: &mut [Worker],
        area: &'m mut Area,
        slab: &[Records],
        clip: &Clip<'_>,
        units: &mut [i64],
    ) -> (Vec<KeptRows<'m>>, Vec<PlacedGroup>) {
        let mut kept = self.cut(area, slab.iter().map(|group| group.slots.len()));
        let items: Vec<(&Records, &mut KeptRows<'_>)> = slab.iter().zip(&mut kept).collect();
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

    /// Phase 1 where all layers are deferred: a thread takes the next few examples, whatever their groups.
    fn run_chunks<'m>(
        &self,
        job: &Job<'_, E>,
        workers: &mut [Worker],
        area: &'m mut Area,
        slab: &[Records],
    ) -> (Vec<KeptRows<'m>>, Vec<PlacedGroup>) {
        let slots: Vec<usize> = slab.iter().flat_map(|group| group.slots.iter().copied()).collect();
        let rows = self.run_rows(slots.len(), workers.len());
        let runs: Vec<&[usize]> = slots.chunks(rows).collect();
        let mut kept = self.cut(area, runs.iter().map(|run| run.len()));
        let items: Vec<(&[usize], &mut KeptRows<'_>)> = runs.into_iter().zip(&mut kept).collect();
        share(workers, items, |worker, (slots, kept)| worker.run(job, slots, Some(kept)));
        let mut start = 0;
        let mut place = |group: &Records| {
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

    /// Phase 2: products of deferred layers, tile by tile.
    fn products<L: Landing>(
        &self,
        workers: &mut [Worker],
        kept: &[KeptRows<'_>],
        groups: &[(PlacedGroup, L)],
        write: Write,
        sums: &mut [L::Number],
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
        // The longest first: what is left for one thread in the end is short.
        tasks.sort_by_key(|task| std::cmp::Reverse(task.work()));
        share(workers, tasks, |_, task| deferred::run(isa, kept, groups, task));
    }

    /// The slow road, one record after the other: exact grids, scales, bounds of coordinates.
    fn one_by_one(
        &self,
        parameters: &[f64],
        batch: &Batch,
        clip: &Clip<'_>,
        threads: NonZero<usize>,
    ) -> Result<ClippedSum, SumError> {
        let memory = self.take_memory(parameters, threads);
        // Gradients come as they are; they are clipped, then weighted, one by one.
        let job = Job { class_weights: None, ..self.job(&memory.prepared, None, memory.salt) };
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
        self.put_back(memory);
        total
    }

    /// Clips one whole gradient and adds it, to the exact sum or to a group's.
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

    fn groups(&self, batch: &Batch) -> Vec<Records> {
        let FloatSums { block, group_size, .. } = self.layout.sums;
        let groups = batch.groups(block, group_size);
        let present = |slot: &usize| present(self.network, self.examples, *slot).is_some();
        groups
            .map(|group| {
                let (records, mut slots) = (group.len() as u32, Vec::with_capacity(group.len()));
                slots.extend(group.into_slots().filter(present));
                Records { records, slots }
            })
            .collect()
    }

    /// How many groups fit in one slab, at least one.
    fn slab_end(&self, groups: &[Records]) -> usize {
        let mut examples = 0;
        let fits = |group: &&Records| {
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

    /// Room for runs of so many examples.
    fn cut<'m>(&self, area: &'m mut Area, runs: impl IntoIterator<Item = usize>) -> Vec<KeptRows<'m>> {
        area.cut(self.network.isa(), &self.layout.deferred, self.slab(), runs)
    }

    /// Examples that are kept at a time. A batch may have more than there are slots: what is drawn with replacement comes several times.
    fn slab(&self) -> usize {
        self.layout.kept_examples(self.examples.slots())
    }

    /// A worker for each thread.
    fn employ(&self, workers: &mut Vec<Worker>, threads: NonZero<usize>) {
        workers.resize_with(threads.get(), || Worker::new(self.network, self.layout.micro_batch));
    }

    /// Arrays of the last step, and this step's weights.
    fn take_memory(&self, parameters: &[f64], threads: NonZero<usize>) -> Memory {
        // What a thread that panicked left behind is overwritten before it is read.
        let mut memory = std::mem::take(&mut *self.memory.lock().unwrap_or_else(PoisonError::into_inner));
        if memory.prepared.is_empty() {
            memory.prepared = self.network.chain().unprepared();
        }
        let mut salts = vec![0; parameters.len().div_ceil(SALTED)];
        let salted = parameters.chunks(SALTED).zip(&mut salts);
        let salted = salted.map(|(part, to)| Box::new(|| *to = salt(part)) as Box<dyn FnOnce() + Send>);
        let layers = self.network.chain().preparations(parameters, &mut memory.prepared);
        let prepared = layers.into_iter().map(|(op, parameters, prepared)| -> Box<dyn FnOnce() + Send> {
            Box::new(|| op.prepare(parameters, prepared))
        });
        share(&mut vec![(); threads.get()], prepared.chain(salted).collect(), |(), work| work());
        memory.salt = salts.into_iter().fold(0, mixed);
        memory
    }

    fn put_back(&self, memory: Memory) {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }
}

/// A group of records.
struct Records {
    /// How many slots it has, empty ones included.
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
        // The slow road has sums of its own.
        if matches!(spent.grid().allowance(), Allowance::FloatGroups(_)) {
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).spent = spent.into_units();
        }
    }
}

/// Parameters that one thread salts at a time; fixed, so that the number of threads changes nothing.
const SALTED: usize = 1 << 18;

/// Noisy parameters are public and differ from step to step: so does this number, and so do the choices that are made from it.
fn salt(parameters: &[f64]) -> u64 {
    // Eight chains: a single one waits for its multiplications, milliseconds for a million parameters.
    let mut chains = [0, 1, 2, 3, 4, 5, 6, 7];
    for some in parameters.chunks(chains.len()) {
        chains.iter_mut().zip(some).for_each(|(chain, w)| *chain = mixed(*chain, w.to_bits()));
    }
    chains.into_iter().fold(0, mixed)
}

fn mixed(salt: u64, bits: u64) -> u64 {
    (salt ^ bits).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
}

/// Clips a part of a gradient to its share of the clip norm; its norm divided by the share, unless it is beyond what can count.
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
