//! Products of large dense layers, over all groups of a slab, rounded in registers.
//!
//! Examples of a group are summed in runs of at most [`LONG_RUN`](super::kept::LONG_RUN), each from zero, and the runs are added: the
//! longest chain of additions that leads to a number of a group of m is `LONG_RUN + ceil(m/LONG_RUN)`.

use sordino_noise::grid::Rounding;

use super::kept::{KeptRows, PlacedGroup};
use crate::chain::DenseLayer;
use crate::kernel::isa::{Isa, LANES, Machine, vectorised};
use crate::kernel::outer::Write;
use crate::kernel::tile::tile;

/// Panels of slopes that one piece of work has: with a group's examples, and with their sums of so many panels of columns, they fit
/// in a second-level cache.
const PANELS: usize = 16;
const COLUMN_PANELS: usize = 8;

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
pub(crate) struct SumTask<'a, T> {
    layer: usize,
    inputs: usize,
    first_panel: usize,
    /// Whole rows of weights; or the bias.
    sums: &'a mut [T],
    is_bias: bool,
    write: Write,
}

impl<T> SumTask<'_, T> {
    /// Numbers that it sums.
    pub(crate) fn work(&self) -> usize {
        self.sums.len()
    }
}

/// Cuts the sums of one deferred layer into tasks.
pub(crate) fn tasks<'a, T>(
    isa: Isa,
    layer: usize,
    dense: &DenseLayer,
    write: Write,
    sums: &'a mut [T],
) -> Vec<SumTask<'a, T>> {
    let rows = PANELS * isa.tile_rows();
    let (weights, bias) = sums.split_at_mut(dense.inputs * dense.outputs);
    let parts = weights.chunks_mut(rows * dense.inputs).enumerate();
    let mut tasks: Vec<SumTask<'a, T>> = parts
        .map(|(part, sums)| SumTask {
            layer,
            inputs: dense.inputs,
            first_panel: part * PANELS,
            sums,
            is_bias: false,
            write,
        })
        .collect();
    if dense.has_bias {
        tasks.push(SumTask { layer, inputs: dense.inputs, first_panel: 0, sums: bias, is_bias: true, write });
    }
    tasks
}

/// Writes what all groups have to a task's sums.
pub(crate) fn run<L: Landing>(
    isa: Isa,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Number>,
) where
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
    fn products(isa: Isa, kept: &[KeptRows<'_>], groups: &[(PlacedGroup, L)], task: SumTask<'_, L::Number>);
}

pub(crate) struct Dispatch;

impl Products<Rounding> for Dispatch {
    fn products(isa: Isa, kept: &[KeptRows<'_>], groups: &[(PlacedGroup, Rounding)], task: SumTask<'_, i64>) {
        rounded_products(isa, kept, groups, task);
    }
}

impl Products<Unrounded> for Dispatch {
    fn products(
        isa: Isa,
        kept: &[KeptRows<'_>],
        groups: &[(PlacedGroup, Unrounded)],
        task: SumTask<'_, f64>,
    ) {
        plain_products(isa, kept, groups, task);
    }
}

vectorised! {
    fn rounded_products(kept: &[KeptRows<'_>], groups: &[(PlacedGroup, Rounding)], task: SumTask<'_, i64>) = products_body;
}

vectorised! {
    fn plain_products(kept: &[KeptRows<'_>], groups: &[(PlacedGroup, Unrounded)], task: SumTask<'_, f64>) = products_body;
}

#[inline(always)]
fn products_body<M: Machine, L: Landing>(
    machine: M,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Number>,
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
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Number>,
) {
    let SumTask { layer, inputs, first_panel, sums, write, .. } = task;
    let rows = sums.len() / inputs;
    let panels = rows.div_ceil(H);
    let slopes_of = |placed: &PlacedGroup| -> Vec<&[[f32; H]]> {
        (first_panel..first_panel + panels).flat_map(|panel| placed.slopes(kept, layer, panel)).collect()
    };
    let slopes: Vec<Vec<&[[f32; H]]>> = groups.iter().map(|(placed, _)| slopes_of(placed)).collect();
    let column_panels = inputs.div_ceil(LANES);
    let mut landed = vec![[[L::Number::default(); LANES]; H]; panels * COLUMN_PANELS];
    for first in (0..column_panels).step_by(COLUMN_PANELS) {
        let columns = first..column_panels.min(first + COLUMN_PANELS);
        landed.fill([[L::Number::default(); LANES]; H]);
        for ((placed, landing), slopes) in groups.iter().zip(&slopes) {
            for (column_panel, landed) in columns.clone().zip(landed.chunks_exact_mut(panels)) {
                let lines: Vec<&[[f32; LANES]]> = placed.lines(kept, layer, column_panel).collect();
                // The next columns come nearer meanwhile, some lines with each tile.
                let next = placed.lines(kept, layer, column_panel + 1).flat_map(|lines| lines.chunks(LANES));
                let next: Vec<&[[f32; LANES]]> = next.collect();
                for (panel, landed) in landed.iter_mut().enumerate() {
                    for line in next.get(panel).copied().unwrap_or_default() {
                        machine.prefetch(line);
                    }
                    let slopes = &slopes[panel * lines.len()..][..lines.len()];
                    let tile = group_tile(machine, placed, &lines, slopes);
                    for (landed, sum) in landed.iter_mut().zip(&tile) {
                        let sum = machine.store(*sum);
                        for lane in 0..LANES {
                            landed[lane] += landing.land(sum[lane]);
                        }
                    }
                }
            }
        }
        for (column_panel, landed) in columns.zip(landed.chunks_exact(panels)) {
            let column = column_panel * LANES;
            let lanes = LANES.min(inputs - column);
            for (row, landed) in landed.iter().flatten().take(rows).enumerate() {
                let to = &mut sums[row * inputs + column..][..lanes];
                // A whole line is some instructions; a part of one is a call.
                match (write, to.first_chunk_mut()) {
                    (Write::Set, Some(to)) => *to = *landed,
                    (Write::Set, None) => to.copy_from_slice(&landed[..lanes]),
                    (Write::Add, _) => to.iter_mut().zip(landed).for_each(|(to, landed)| *to += *landed),
                }
            }
        }
    }
}

/// One group's sum in one tile.
#[inline(always)]
fn group_tile<M: Machine, const H: usize>(
    machine: M,
    placed: &PlacedGroup,
    lines: &[&[[f32; LANES]]],
    slopes: &[&[[f32; H]]],
) -> [M::Vector; H] {
    let (mut total, mut sums) = ([machine.zero(); H], [machine.zero(); H]);
    for (range, (lines, slopes)) in placed.ranges.iter().zip(lines.iter().zip(slopes)) {
        sums = tile(machine, slopes, lines, sums);
        if range.ends_run {
            total = added(machine, total, sums);
            sums = [machine.zero(); H];
        }
    }
    added(machine, total, sums)
}

#[inline(always)]
fn added<M: Machine, const H: usize>(
    machine: M,
    total: [M::Vector; H],
    sums: [M::Vector; H],
) -> [M::Vector; H] {
    let mut total = total;
    for i in 0..H {
        total[i] = machine.multiply_add(1.0, sums[i], total[i]);
    }
    total
}

/// Sums of slopes, in the same chains.
fn bias<L: Landing>(
    isa: Isa,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Number>,
) {
    match isa.tile_rows() {
        4 => bias_body::<L, 4>(kept, groups, task),
        6 => bias_body::<L, 6>(kept, groups, task),
        12 => bias_body::<L, 12>(kept, groups, task),
        _ => unreachable!("no machine has other tiles"),
    }
}

fn bias_body<L: Landing, const H: usize>(
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Number>,
) {
    if task.write == Write::Set {
        task.sums.fill(L::Number::default());
    }
    for (panel, to) in task.sums.chunks_mut(H).enumerate() {
        for (placed, landing) in groups {
            let (mut total, mut sums) = ([0.0; H], [0.0; H]);
            for (range, slopes) in placed.ranges.iter().zip(placed.slopes::<H>(kept, task.layer, panel)) {
                for slope in slopes {
                    (0..H).for_each(|i| sums[i] += slope[i]);
                }
                if range.ends_run {
                    (0..H).for_each(|i| total[i] += sums[i]);
                    sums = [0.0; H];
                }
            }
            let sums = total.iter().zip(&sums).map(|(total, sum)| total + sum);
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to += landing.land(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::layout::Layout;
    use crate::{Layer, Loss, Network, Shape};

    /// What tests of gradients take for granted about their shapes: how many layers are deferred, and whether all are.
    #[test]
    fn large_dense_layers_are_deferred() {
        let of = |input: Shape, layers: &[Layer]| {
            let network = Network::new(input, layers, Loss::CrossEntropy).unwrap();
            let layout = Layout::new(&network, 90, 90.0);
            (layout.deferred.len(), layout.defers_all)
        };
        let dense = [Layer::linear(300), Layer::relu(), Layer::linear(400), Layer::tanh(), Layer::linear(5)];
        assert_eq!(of(Shape::Features(37), &dense), (3, true));
        let picture = Shape::Image { channels: 7, height: 5, width: 4 };
        let mixed =
            [Layer::conv2d(7, 1, 1, 0), Layer::Flatten, Layer::linear(950), Layer::tanh(), Layer::linear(4)];
        assert_eq!(of(picture, &mixed), (1, false));
    }
}
