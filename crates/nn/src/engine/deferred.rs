//! Products of large dense layers, over all groups of a slab, rounded in registers.
//!
//! Inputs are kept in panels of sixteen columns and weighted slopes in panels of as many as a tile has rows, each by examples: a
//! tile of weights is one pass over two panels. Examples of a group are summed in runs of at most [`LONG_RUN`], each from zero.

use std::ops::Range;

use sordino_noise::grid::Rounding;

use crate::chain::Dense;
use crate::kernel::isa::{Isa, LANES, Machine, vectorised};

/// Examples of one chain of additions.
pub(crate) const LONG_RUN: usize = 64;

/// Panels of slopes that one piece of work has: with a group's examples they fit in a second-level cache.
const PANELS: usize = 16;

/// Inputs and slopes of some examples, for all deferred layers.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    layers: Vec<KeptLayer>,
    capacity: usize,
}

#[derive(Debug)]
struct KeptLayer {
    inputs: Vec<f32>,
    slopes: Vec<f32>,
}

impl Kept {
    /// Room for that many examples.
    pub(crate) fn new(isa: Isa, deferred: &[Dense], capacity: usize) -> Self {
        let layers = deferred.iter().map(|dense| KeptLayer {
            inputs: vec![0.0; dense.inputs.next_multiple_of(LANES) * capacity],
            slopes: vec![0.0; dense.outputs.next_multiple_of(isa.tile_rows()) * capacity],
        });
        Self { layers: layers.collect(), capacity }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Keeps one example's inputs, and its slopes times its weight.
    pub(crate) fn put(
        &mut self,
        isa: Isa,
        layer: usize,
        row: usize,
        inputs: &[f32],
        slopes: &[f32],
        weight: f32,
    ) {
        let (kept, height) = (&mut self.layers[layer], isa.tile_rows());
        for (panel, from) in inputs.chunks(LANES).enumerate() {
            kept.inputs[(panel * self.capacity + row) * LANES..][..from.len()].copy_from_slice(from);
        }
        for (panel, from) in slopes.chunks(height).enumerate() {
            let to = &mut kept.slopes[(panel * self.capacity + row) * height..][..from.len()];
            to.iter_mut().zip(from).for_each(|(to, slope)| *to = slope * weight);
        }
    }
}

/// Where the examples of a group are.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// Records that the group covers.
    pub(crate) records: u32,
    /// Rows of which kept parts, in order.
    pub(crate) parts: Vec<(usize, Range<usize>)>,
}

/// What a float sum becomes.
pub(crate) trait Landing: Copy + Sync {
    type Number: Copy + Default + Send + std::ops::AddAssign;

    fn land(self, sum: f32) -> Self::Number;
}

impl Landing for Rounding {
    type Number = i64;

    #[inline(always)]
    fn land(self, sum: f32) -> i64 {
        self.round(sum.into())
    }
}

/// Without clipping and rounding, for comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrounded;

impl Landing for Unrounded {
    type Number = f64;

    #[inline(always)]
    fn land(self, sum: f32) -> f64 {
        sum.into()
    }
}

/// Some rows of a layer's weights, and where their sums go.
pub(crate) struct Task<'a, T> {
    layer: usize,
    inputs: usize,
    first_panel: usize,
    /// Whole rows of weights; or the bias.
    sums: &'a mut [T],
    is_bias: bool,
}

/// Cuts the sums of one deferred layer into tasks.
pub(crate) fn tasks<'a, T>(isa: Isa, layer: usize, dense: &Dense, sums: &'a mut [T]) -> Vec<Task<'a, T>> {
    let rows = PANELS * isa.tile_rows();
    let (weights, bias) = sums.split_at_mut(dense.inputs * dense.outputs);
    let parts = weights.chunks_mut(rows * dense.inputs).enumerate();
    let mut tasks: Vec<Task<'a, T>> = parts
        .map(|(part, sums)| Task {
            layer,
            inputs: dense.inputs,
            first_panel: part * PANELS,
            sums,
            is_bias: false,
        })
        .collect();
    if dense.has_bias {
        tasks.push(Task { layer, inputs: dense.inputs, first_panel: 0, sums: bias, is_bias: true });
    }
    tasks
}

/// Adds what all groups have to a task's sums.
pub(crate) fn run<L: Landing>(isa: Isa, kept: &[Kept], groups: &[(Placed, L)], task: Task<'_, L::Number>)
where
    Dispatch: Products<L>,
{
    if task.is_bias {
        bias(isa, kept, groups, task);
    } else {
        Dispatch::products(isa, kept, groups, task);
    }
}

/// The vectorised function for a landing.
pub(crate) trait Products<L: Landing> {
    fn products(isa: Isa, kept: &[Kept], groups: &[(Placed, L)], task: Task<'_, L::Number>);
}

pub(crate) struct Dispatch;

impl Products<Rounding> for Dispatch {
    fn products(isa: Isa, kept: &[Kept], groups: &[(Placed, Rounding)], task: Task<'_, i64>) {
        rounded_products(isa, kept, groups, task);
    }
}

impl Products<Unrounded> for Dispatch {
    fn products(isa: Isa, kept: &[Kept], groups: &[(Placed, Unrounded)], task: Task<'_, f64>) {
        plain_products(isa, kept, groups, task);
    }
}

vectorised! {
    fn rounded_products(kept: &[Kept], groups: &[(Placed, Rounding)], task: Task<'_, i64>) = products_body;
}

vectorised! {
    fn plain_products(kept: &[Kept], groups: &[(Placed, Unrounded)], task: Task<'_, f64>) = products_body;
}

#[inline(always)]
fn products_body<M: Machine, L: Landing>(
    machine: M,
    kept: &[Kept],
    groups: &[(Placed, L)],
    task: Task<'_, L::Number>,
) {
    match M::ROWS {
        4 => task_body::<M, L, 4>(machine, kept, groups, task),
        6 => task_body::<M, L, 6>(machine, kept, groups, task),
        12 => task_body::<M, L, 12>(machine, kept, groups, task),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn task_body<M: Machine, L: Landing, const H: usize>(
    machine: M,
    kept: &[Kept],
    groups: &[(Placed, L)],
    task: Task<'_, L::Number>,
) {
    let Task { layer, inputs, first_panel, sums, .. } = task;
    let rows = sums.len() / inputs;
    let panels = rows.div_ceil(H);
    let mut landed = vec![[[L::Number::default(); LANES]; H]; panels];
    for column_panel in 0..inputs.div_ceil(LANES) {
        landed.iter_mut().for_each(|tile| *tile = [[L::Number::default(); LANES]; H]);
        for (placed, landing) in groups {
            for (panel, landed) in landed.iter_mut().enumerate() {
                let tile =
                    group_tile::<M, H>(machine, kept, placed, layer, first_panel + panel, column_panel);
                for (landed, sum) in landed.iter_mut().zip(&tile) {
                    let sum = machine.store(*sum);
                    for lane in 0..LANES {
                        landed[lane] += landing.land(sum[lane]);
                    }
                }
            }
        }
        let column = column_panel * LANES;
        let lanes = LANES.min(inputs - column);
        for (row, landed) in landed.iter().flatten().take(rows).enumerate() {
            let to = &mut sums[row * inputs + column..][..lanes];
            to.iter_mut().zip(landed).for_each(|(to, landed)| *to += *landed);
        }
    }
}

/// One group's sum in one tile.
#[inline(always)]
fn group_tile<M: Machine, const H: usize>(
    machine: M,
    kept: &[Kept],
    placed: &Placed,
    layer: usize,
    panel: usize,
    column_panel: usize,
) -> [M::Line; H] {
    let (mut total, mut sums, mut left) = ([machine.zero(); H], [machine.zero(); H], LONG_RUN);
    for (part, rows) in &placed.parts {
        let (of_layer, capacity) = (&kept[*part].layers[layer], kept[*part].capacity);
        let inputs = &of_layer.inputs.as_chunks::<LANES>().0[column_panel * capacity..][rows.clone()];
        let slopes = &of_layer.slopes.as_chunks::<H>().0[panel * capacity..][rows.clone()];
        let (mut inputs, mut slopes) = (inputs, slopes);
        while !inputs.is_empty() {
            let now = left.min(inputs.len()).min(slopes.len());
            for (line, slope) in inputs[..now].iter().zip(&slopes[..now]) {
                let line = machine.load(line);
                for i in 0..H {
                    sums[i] = machine.multiply_add(slope[i], line, sums[i]);
                }
            }
            (inputs, slopes) = (&inputs[now..], &slopes[now..]);
            left -= now;
            if left == 0 {
                total = added(machine, total, sums);
                (sums, left) = ([machine.zero(); H], LONG_RUN);
            }
        }
    }
    added(machine, total, sums)
}

#[inline(always)]
fn added<M: Machine, const H: usize>(machine: M, total: [M::Line; H], sums: [M::Line; H]) -> [M::Line; H] {
    let mut total = total;
    for i in 0..H {
        total[i] = machine.multiply_add(1.0, sums[i], total[i]);
    }
    total
}

/// Sums of slopes, in the same chains.
fn bias<L: Landing>(isa: Isa, kept: &[Kept], groups: &[(Placed, L)], task: Task<'_, L::Number>) {
    match isa.tile_rows() {
        4 => bias_body::<L, 4>(kept, groups, task),
        6 => bias_body::<L, 6>(kept, groups, task),
        12 => bias_body::<L, 12>(kept, groups, task),
        _ => unreachable!("no machine has other tiles"),
    }
}

fn bias_body<L: Landing, const H: usize>(kept: &[Kept], groups: &[(Placed, L)], task: Task<'_, L::Number>) {
    for (panel, to) in task.sums.chunks_mut(H).enumerate() {
        for (placed, landing) in groups {
            let slopes = placed.parts.iter().flat_map(|(part, rows)| {
                let (of_layer, capacity) = (&kept[*part].layers[task.layer], kept[*part].capacity);
                &of_layer.slopes.as_chunks::<H>().0[panel * capacity..][rows.clone()]
            });
            let (mut total, mut sums, mut left) = ([0.0; H], [0.0; H], LONG_RUN);
            for slope in slopes {
                (0..H).for_each(|i| sums[i] += slope[i]);
                left -= 1;
                if left == 0 {
                    (0..H).for_each(|i| total[i] += sums[i]);
                    (sums, left) = ([0.0; H], LONG_RUN);
                }
            }
            let sums = total.iter().zip(&sums).map(|(total, sum)| total + sum);
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to += landing.land(sum));
        }
    }
}
