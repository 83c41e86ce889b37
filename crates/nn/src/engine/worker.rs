//! One thread's arrays, and what it does with a micro-batch.

use std::sync::{Mutex, PoisonError};

use sordino_noise::grid::{Rounding, SumError};
use sordino_optim::Clip;

use super::kept::{ExampleMatrix, KeptRows};
use super::layout::Layout;
use crate::chain::ChainState;
use crate::examples::{Example, Examples};
use crate::kernel::isa::Isa;
use crate::network::{Network, Stream};
use crate::op::{AnyPrepared, NormBound, Pass, Role, reserved};

/// Records with inputs or gradients of a larger norm contribute nothing: the allowance for underflow needs a bound.
const LARGEST_NORM: f64 = (1u64 << 40) as f64;

/// Weighted numbers must stay far below the largest `f32`.
const LARGEST_WEIGHTED: f64 = 1e30;

/// What is the same for all workers of one step.
pub(crate) struct Job<'a, E: ?Sized> {
    pub(crate) network: &'a Network,
    pub(crate) layout: &'a Layout,
    pub(crate) examples: &'a E,
    pub(crate) prepared: &'a [AnyPrepared],
    /// How gradients are clipped. `None` is not private: nothing is clipped.
    pub(crate) clip: Option<&'a Clip<'a>>,
    /// A public number that changes with the parameters.
    pub(crate) salt: u64,
    /// Weights of classes, at most 1, for targets of one class. They multiply clipped gradients, or loss gradients
    /// if nothing is clipped.
    pub(crate) class_weights: Option<&'a [f64]>,
}

#[derive(Debug)]
pub(crate) struct Worker {
    state: ChainState,
    /// Norms and clipping weights, by leaf and example.
    norms: Vec<Vec<NormBound>>,
    weights: Vec<Vec<f32>>,
    /// The float sum of a group, without deferred layers.
    pub(crate) sum: Vec<f32>,
    /// Records whose norm is within the clip norm, and beyond it.
    pub(crate) within: u64,
    pub(crate) beyond: u64,
    /// Records whose weight was lowered by the cap.
    pub(crate) capped: u64,
    /// The seed of each image.
    seeds: Vec<u64>,
    /// Stands in for the input of an empty slot, if inputs are read in place.
    zeros: Vec<f32>,
    capacity: usize,
}

impl Worker {
    pub(crate) fn new(network: &Network, micro_batch: usize) -> Self {
        let (chain, images) = (network.chain(), micro_batch * network.views().len());
        let leaves = chain.leaves().len();
        Self {
            state: chain.state(images, Role::Learned),
            // Not `vec![...; leaves]`: a clone of an empty array has no capacity.
            norms: (0..leaves).map(|_| Vec::with_capacity(micro_batch)).collect(),
            weights: (0..leaves).map(|_| Vec::with_capacity(micro_batch)).collect(),
            sum: vec![0.0; chain.parameters()],
            within: 0,
            beyond: 0,
            capped: 0,
            seeds: Vec::with_capacity(images),
            zeros: vec![0.0; network.input().size()],
            capacity: micro_batch,
        }
    }

    /// Bytes of what grows with the micro-batch. The sum grows with the weights, and is not counted.
    pub(crate) fn bytes(&self) -> usize {
        let norms = self.norms.iter().map(reserved).sum::<usize>();
        let weights = self.weights.iter().map(reserved).sum::<usize>();
        // Two short-lived lists of inputs that are read in place: the worker's, and the layer's.
        let lists = 2 * self.seeds.capacity() * size_of::<&[f32]>();
        self.state.bytes() + norms + weights + reserved(&self.seeds) + reserved(&self.zeros) + lists
    }

    /// Begins a step.
    pub(crate) fn begin<E: ?Sized>(&mut self, job: &Job<'_, E>) {
        (self.within, self.beyond, self.capped) = (0, 0, 0);
        job.summed().for_each(|range| self.sum[range].fill(0.0));
    }

    /// Runs the slots of a group: adds to the float sum, which is zero when a group begins, and keeps the rows of
    /// deferred layers from row 0 on. If all layers are deferred or nothing is clipped, `slots` may be a part of a
    /// group.
    pub(crate) fn run<E: Examples + ?Sized>(
        &mut self,
        job: &Job<'_, E>,
        slots: &[usize],
        mut kept: Option<&mut KeptRows<'_>>,
    ) {
        let parts = slots.len().div_ceil(self.capacity).max(1);
        for (start, some) in even_parts(slots, parts) {
            let (seeds, zeros) = (self.load(job, some), std::mem::take(&mut self.zeros));
            let mut inputs = job.inputs(some, &zeros);
            let pass = self.pass(job, &seeds, inputs.as_deref());
            self.differentiate(job, &pass, some);
            let is_private = job.clip.map(|clip| self.weigh(job, &pass, clip, some)).is_some();
            let weights = is_private.then_some(&self.weights[..]);
            if let (Some(inputs), Some([weights, ..])) = (&mut inputs, weights) {
                // Weight 0 does not erase NaN, so the input is replaced.
                let erased = inputs.iter_mut().zip(weights).filter(|(_, weight)| **weight == 0.0);
                erased.for_each(|(input, _)| *input = &zeros);
            }
            // Rounding a group sets the sum to zero.
            let pass =
                Pass { begins_group: is_private && start == 0, ..self.pass(job, &seeds, inputs.as_deref()) };
            let is_summed = |layer: usize| job.layout.deferred.iter().all(|dense| dense.layer != layer);
            job.network.chain().accumulate(
                &pass,
                job.prepared,
                &mut self.state,
                weights,
                is_summed,
                &mut self.sum,
            );
            if let Some(kept) = &mut kept {
                self.keep(job, &pass, start, kept);
            }
            (self.seeds, self.zeros) = (seeds, zeros);
        }
    }

    /// Rounds the float sum of a group, adds it to the total, and sets it to zero.
    pub(crate) fn round(&mut self, isa: Isa, rounding: Rounding, total: &Total<'_>) {
        let mut add = |start: usize, units: &mut [i64]| {
            round_into(isa, rounding, &mut self.sum[start..][..units.len()], units);
        };
        // First the parts that no other thread has locked.
        let mut parts: Vec<&(usize, Mutex<&mut [i64]>)> = total.parts.iter().collect();
        parts.retain(|(start, units)| units.try_lock().map(|mut units| add(*start, &mut units)).is_err());
        for (start, units) in parts {
            add(*start, &mut units.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The gradient of one example at weight 1; `None` if the slot is empty or the gradient is not finite.
    pub(crate) fn single<E: Examples + ?Sized>(&mut self, job: &Job<'_, E>, slot: usize) -> Option<&[f32]> {
        job.present(slot)?;
        self.sum.fill(0.0);
        let (seeds, zeros) = (self.load(job, &[slot]), std::mem::take(&mut self.zeros));
        let inputs = job.inputs(&[slot], &zeros);
        let pass = Pass { is_private: true, ..self.pass(job, &seeds, inputs.as_deref()) };
        self.differentiate(job, &pass, &[slot]);
        let is_usable = self.norms.iter().all(|norms| usable(&norms[0]));
        job.network.chain().accumulate(&pass, job.prepared, &mut self.state, None, |_| true, &mut self.sum);
        (self.seeds, self.zeros) = (seeds, zeros);
        is_usable.then_some(&self.sum[..])
    }

    fn pass<'s, E: ?Sized>(
        &self,
        job: &Job<'_, E>,
        seeds: &'s [u64],
        inputs: Option<&'s [&'s [f32]]>,
    ) -> Pass<'s> {
        let (isa, views) = (job.network.isa(), job.network.views().len());
        let is_private = job.clip.is_some();
        Pass { isa, images: seeds.len(), views, is_private, begins_group: false, seeds, inputs }
    }

    /// The seeds of all images. Copies their inputs, unless they are read in place.
    fn load<E: Examples + ?Sized>(&mut self, job: &Job<'_, E>, slots: &[usize]) -> Vec<u64> {
        let mut seeds = std::mem::take(&mut self.seeds);
        seeds.clear();
        let (network, views) = (job.network, job.network.views());
        let mut images = self.state.values[0].chunks_exact_mut(network.input().size());
        for slot in slots {
            let input = job.present(*slot).map(|example| example.input);
            for (number, (view, to)) in views.iter().zip(&mut images).enumerate() {
                seeds.push(Stream(job.salt ^ ((*slot as u64) << 16 | number as u64)).next());
                match input {
                    _ if job.layout.reads_in_place => {}
                    Some(input) => view.write(network.input(), input, to),
                    None => to.fill(0.0),
                }
            }
        }
        seeds
    }

    /// Forward pass, loss, backward pass; norms of all leaves.
    fn differentiate<E: Examples + ?Sized>(&mut self, job: &Job<'_, E>, pass: &Pass, slots: &[usize]) {
        let (chain, state) = (job.network.chain(), &mut self.state);
        chain.forward(pass, job.prepared, state);
        let (size, last) = (chain.output().size(), state.values.len() - 1);
        let share = 1.0 / pass.views as f32;
        let outputs = &state.values[last][..pass.images * size];
        state.gradients[last][..outputs.len()].copy_from_slice(outputs);
        let mut images = state.gradients[last].chunks_exact_mut(size);
        for slot in slots {
            let example = job.present(*slot);
            let weight = if job.clip.is_none() { job.class_weight(*slot) as f32 } else { 1.0 };
            for image in (&mut images).take(pass.views) {
                match example {
                    Some(example) => job.network.loss().differentiate(image, example.target, share * weight),
                    None => image.fill(0.0),
                }
            }
        }
        self.norms.iter_mut().for_each(Vec::clear);
        chain.backward(pass, job.prepared, state, false, &mut self.norms);
    }

    /// Computes the clipping weight of each example, in steps of the grid, and erases examples that cannot count.
    fn weigh<E: Examples + ?Sized>(
        &mut self,
        job: &Job<'_, E>,
        pass: &Pass,
        clip: &Clip<'_>,
        slots: &[usize],
    ) {
        self.weights.iter_mut().for_each(Vec::clear);
        for (example, slot) in slots.iter().enumerate() {
            let class_weight = job.class_weight(*slot);
            if let Some(shares) = &job.layout.shares {
                self.weigh_by_layers(job, pass, clip, shares, (example, class_weight));
                continue;
            }
            let norms = self.norms.iter().map(|norms| norms[example]);
            let is_usable = norms.clone().all(|bound| usable(&bound));
            let norm = norms.clone().map(|bound| bound.squared).sum::<f64>().sqrt();
            let spread = norms.clone().map(|bound| bound.spread).sum::<f64>().sqrt();
            let largest = norms.map(|bound| bound.largest).fold(0.0, f64::max);
            let plain = clip.weight(norm);
            let most = job.layout.sums.beta * clip.grid().clip_units() as f64 * (1.0 - 1e-12) / spread;
            let weight = below(plain.min(most) * class_weight);
            let counts = is_usable && norm <= LARGEST_NORM && f64::from(weight) * largest <= LARGEST_WEIGHTED;
            if counts {
                let is_within = norm <= clip.grid().clip_norm();
                *(if is_within { &mut self.within } else { &mut self.beyond }) += 1;
                self.capped += u64::from(is_capped(most, plain));
            } else {
                job.network.chain().erase(pass, &mut self.state, example);
            }
            let weight = if counts { weight } else { 0.0 };
            self.weights.iter_mut().for_each(|weights| weights.push(weight));
        }
    }

    /// The same, layer by layer. The squares of the shares s_l sum to at most 1, so parts with norms of at most
    /// `s_l C` have a joint norm of at most C. Caps hold layer by layer as well.
    fn weigh_by_layers<E: ?Sized>(
        &mut self,
        job: &Job<'_, E>,
        pass: &Pass,
        clip: &Clip<'_>,
        shares: &[f64],
        (example, class_weight): (usize, f64),
    ) {
        let most = job.layout.sums.beta * clip.grid().clip_units() as f64 * (1.0 - 1e-12);
        let (mut counts, mut is_within, mut is_capped) = (true, true, false);
        for ((norms, weights), share) in self.norms.iter().zip(&mut self.weights).zip(shares) {
            let bound = norms[example];
            let norm = bound.squared.sqrt() / share;
            let (plain, cap) = (clip.weight(norm), share * most / bound.spread.sqrt());
            let weight = below(plain.min(cap) * class_weight);
            counts &= usable(&bound)
                && norm <= LARGEST_NORM
                && f64::from(weight) * bound.largest <= LARGEST_WEIGHTED;
            is_within &= norm <= clip.grid().clip_norm();
            is_capped |= self::is_capped(cap, plain);
            weights.push(weight);
        }
        if counts {
            *(if is_within { &mut self.within } else { &mut self.beyond }) += 1;
            self.capped += u64::from(is_capped);
        } else {
            job.network.chain().erase(pass, &mut self.state, example);
            self.weights.iter_mut().filter_map(|weights| weights.last_mut()).for_each(|weight| *weight = 0.0);
        }
    }

    /// Keeps inputs and weighted output gradients of deferred layers.
    fn keep<E: ?Sized>(&self, job: &Job<'_, E>, pass: &Pass, start: usize, kept: &mut KeptRows<'_>) {
        for (layer, dense) in job.layout.deferred.iter().enumerate() {
            let inputs = &self.state.values[dense.from][..pass.examples() * dense.inputs];
            let gradients = &self.state.gradients[dense.to][..pass.examples() * dense.outputs];
            let inputs = ExampleMatrix { data: inputs, width: dense.inputs };
            let gradients = ExampleMatrix { data: gradients, width: dense.outputs };
            let weights = pass.is_private.then_some(&self.weights[dense.leaf][..]);
            kept.put(pass.isa, layer, start, inputs, gradients, weights);
        }
    }
}

impl<'a, E: Examples + ?Sized> Job<'a, E> {
    fn present(&self, slot: usize) -> Option<Example<'a>> {
        present(self.network, self.examples, slot)
    }

    /// The weight of a slot's class.
    fn class_weight(&self, slot: usize) -> f64 {
        let Some(weights) = self.class_weights else { return 1.0 };
        self.present(slot).map_or(1.0, |example| class_weight(weights, example.target))
    }

    /// The inputs of all slots, if the first layer reads them in place.
    fn inputs<'s>(&'s self, slots: &[usize], zeros: &'s [f32]) -> Option<Vec<&'s [f32]>> {
        let input = |slot: &usize| self.present(*slot).map_or(zeros, |example| example.input);
        self.layout.reads_in_place.then(|| slots.iter().map(input).collect())
    }
}

impl<E: ?Sized> Job<'_, E> {
    /// The parameters of each layer that is not deferred.
    pub(crate) fn summed(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let layers = self.network.chain().with_weights();
        layers
            .filter(|(number, _)| self.layout.deferred.iter().all(|dense| dense.layer != *number))
            .map(|(_, parameters)| parameters)
    }
}

/// Rounded sums over all groups, of layers that are not deferred. They are integers, so the order in which threads
/// add does not matter.
pub(crate) struct Total<'a> {
    /// Parts with the parameter that each starts at. A thread locks one at a time.
    parts: Vec<(usize, Mutex<&'a mut [i64]>)>,
}

impl<'a> Total<'a> {
    /// Coordinates of a part: a few microseconds of work.
    const PART: usize = 1 << 13;

    pub(crate) fn new<E: ?Sized>(job: &Job<'_, E>, mut units: &'a mut [i64]) -> Self {
        let (mut parts, mut done) = (Vec::new(), 0);
        for range in job.summed() {
            let (_, from) = units.split_at_mut(range.start - done);
            let (of_layer, later) = from.split_at_mut(range.len());
            for (number, part) in of_layer.chunks_mut(Self::PART).enumerate() {
                parts.push((range.start + number * Self::PART, Mutex::new(part)));
            }
            (units, done) = (later, range.end);
        }
        Self { parts }
    }
}

/// The example in a slot, if it has the network's shape. A record of another shape contributes nothing.
pub(crate) fn present<'a, E: Examples + ?Sized>(
    network: &Network,
    examples: &'a E,
    slot: usize,
) -> Option<Example<'a>> {
    let fits = |example: &Example<'_>| network.check([example.input.len(), example.target.len()]).is_ok();
    examples.example(slot).filter(fits)
}

/// The weight of a target's class; 1 for ignored or unknown classes, which contribute nothing anyway.
pub(crate) fn class_weight(weights: &[f64], target: &[f32]) -> f64 {
    target.first().and_then(|class| weights.get(*class as usize)).copied().unwrap_or(1.0)
}

/// Divides slots into parts of nearly the same length, each with its start.
fn even_parts(slots: &[usize], parts: usize) -> impl Iterator<Item = (usize, &[usize])> {
    (0..parts).map(move |part| {
        let (start, end) = (part * slots.len() / parts, (part + 1) * slots.len() / parts);
        (start, &slots[start..end])
    })
}

fn usable(bound: &NormBound) -> bool {
    // A comparison with NaN is false.
    bound.squared.is_finite() && bound.spread.is_finite() && bound.largest <= LARGEST_NORM
}

/// Whether the cap lowers a weight, beyond rounding: if a gradient's spread is its norm and β is 1, both are equal.
fn is_capped(cap: f64, plain: f64) -> bool {
    cap < plain * (1.0 - 1e-6)
}

/// Rounds down to `f32`.
fn below(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x { near.next_down() } else { near }
}

crate::kernel::isa::vectorised! {
    /// Rounds float sums, adds them to `units`, and sets them to zero.
    fn round_into(rounding: Rounding, sums: &mut [f32], units: &mut [i64]) = round_body;
}

#[inline(always)]
fn round_body<M: crate::kernel::isa::Machine>(_: M, rounding: Rounding, sums: &mut [f32], units: &mut [i64]) {
    for (sum, unit) in sums.iter_mut().zip(units) {
        *unit += rounding.round((*sum).into());
        *sum = 0.0;
    }
}

/// The count of unclipped records of a step, for the adaptive clip norm.
pub(crate) fn counted(
    workers: &[Worker],
    clip: &Clip<'_>,
) -> Result<Option<sordino_noise::grid::GridSum>, SumError> {
    let Some(grid) = clip.count() else { return Ok(None) };
    let mut count = sordino_noise::grid::GridSum::new(grid);
    for worker in workers {
        (0..worker.within).try_for_each(|_| count.add(&[0.5]))?;
        (0..worker.beyond).try_for_each(|_| count.add(&[-0.5]))?;
    }
    Ok(Some(count))
}
