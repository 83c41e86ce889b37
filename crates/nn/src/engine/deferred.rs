//! Products of large dense layers, over all groups of a slab, rounded in registers.
//!
//! Examples of a group are summed in runs of at most [`LONG_RUN`](super::kept::LONG_RUN), each from zero, and the
//! runs are added: the longest chain of additions in a group of m examples is `LONG_RUN + ceil(m/LONG_RUN)`.

use sordino_noise::grid::Rounding;

use super::kept::{KeptRows, PlacedGroup};
use crate::chain::DenseLayer;
use crate::kernel::isa::{Isa, LANES, Machine, vectorised};
use crate::kernel::outer::Write;
use crate::kernel::tile::tile;

/// Panels of output gradients in one task, and panels of inputs that it takes at a time. With a group's examples
/// and their sums, they fit in a second-level cache.
const PANELS: usize = 16;
const COLUMN_PANELS: usize = 8;

/// What the float sum of a group is converted to.
pub(crate) trait GroupSum: Copy + Sync {
    type Total: Copy + Default + Send + std::ops::AddAssign;

    fn convert(self, sum: f32) -> Self::Total;
}

impl GroupSum for Rounding {
    type Total = i64;

    #[inline(always)]
    fn convert(self, sum: f32) -> i64 {
        self.round(sum.into())
    }
}

/// For sums that are neither clipped nor rounded, to compare with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unrounded;

impl GroupSum for Unrounded {
    type Total = f64;

    #[inline(always)]
    fn convert(self, sum: f32) -> f64 {
        sum.into()
    }
}

/// Sums some rows of one layer's weights, or its bias.
pub(crate) struct SumTask<'a, T> {
    layer: usize,
    inputs: usize,
    first_panel: usize,
    /// Where the sums go: whole rows of weights, or the bias.
    sums: &'a mut [T],
    is_bias: bool,
    write: Write,
}

impl<T> SumTask<'_, T> {
    /// How many numbers it sums.
    pub(crate) fn len(&self) -> usize {
        self.sums.len()
    }
}

/// Divides the sums of one deferred layer into tasks.
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

/// Carries out a task over all groups.
pub(crate) fn run<L: GroupSum>(
    isa: Isa,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Total>,
) where
    Dispatch: Products<L>,
{
    if task.is_bias {
        bias(isa, kept, groups, task);
    } else {
        Dispatch::products(isa, kept, groups, task);
    }
}

/// The vectorised function for a type of group sums.
pub(crate) trait Products<L: GroupSum> {
    fn products(isa: Isa, kept: &[KeptRows<'_>], groups: &[(PlacedGroup, L)], task: SumTask<'_, L::Total>);
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
fn products_body<M: Machine, L: GroupSum>(
    machine: M,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Total>,
) {
    match M::ROWS {
        4 => task_body::<M, L, 4>(machine, kept, groups, task),
        6 => task_body::<M, L, 6>(machine, kept, groups, task),
        12 => task_body::<M, L, 12>(machine, kept, groups, task),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn task_body<M: Machine, L: GroupSum, const H: usize>(
    machine: M,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Total>,
) {
    let SumTask { layer, inputs, first_panel, sums, write, .. } = task;
    let rows = sums.len() / inputs;
    let panels = rows.div_ceil(H);
    let gradients_of = |placed: &PlacedGroup| -> Vec<&[[f32; H]]> {
        (first_panel..first_panel + panels).flat_map(|panel| placed.gradients(kept, layer, panel)).collect()
    };
    let gradients: Vec<Vec<&[[f32; H]]>> = groups.iter().map(|(placed, _)| gradients_of(placed)).collect();
    let column_panels = inputs.div_ceil(LANES);
    let mut totals = vec![[[L::Total::default(); LANES]; H]; panels * COLUMN_PANELS];
    for first in (0..column_panels).step_by(COLUMN_PANELS) {
        let columns = first..column_panels.min(first + COLUMN_PANELS);
        totals.fill([[L::Total::default(); LANES]; H]);
        for ((placed, group_sum), gradients) in groups.iter().zip(&gradients) {
            for (column_panel, totals) in columns.clone().zip(totals.chunks_exact_mut(panels)) {
                let inputs: Vec<&[[f32; LANES]]> = placed.inputs(kept, layer, column_panel).collect();
                // Each tile prefetches some of the next columns.
                let next = placed.inputs(kept, layer, column_panel + 1);
                let next = next.flat_map(|vectors| vectors.chunks(LANES));
                let next: Vec<&[[f32; LANES]]> = next.collect();
                for (panel, totals) in totals.iter_mut().enumerate() {
                    for vector in next.get(panel).copied().unwrap_or_default() {
                        machine.prefetch(vector);
                    }
                    let gradients = &gradients[panel * inputs.len()..][..inputs.len()];
                    let tile = group_tile(machine, placed, &inputs, gradients);
                    for (totals, sum) in totals.iter_mut().zip(&tile) {
                        let sum = machine.store(*sum);
                        for lane in 0..LANES {
                            totals[lane] += group_sum.convert(sum[lane]);
                        }
                    }
                }
            }
        }
        for (column_panel, totals) in columns.zip(totals.chunks_exact(panels)) {
            let column = column_panel * LANES;
            let lanes = LANES.min(inputs - column);
            for (row, totals) in totals.iter().flatten().take(rows).enumerate() {
                let to = &mut sums[row * inputs + column..][..lanes];
                // A whole vector is a few instructions; a part of one is a call.
                match (write, to.first_chunk_mut()) {
                    (Write::Set, Some(to)) => *to = *totals,
                    (Write::Set, None) => to.copy_from_slice(&totals[..lanes]),
                    (Write::Add, _) => to.iter_mut().zip(totals).for_each(|(to, total)| *to += *total),
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
    inputs: &[&[[f32; LANES]]],
    gradients: &[&[[f32; H]]],
) -> [M::Vector; H] {
    let (mut total, mut sums) = ([machine.zero(); H], [machine.zero(); H]);
    for (range, (inputs, gradients)) in placed.ranges.iter().zip(inputs.iter().zip(gradients)) {
        sums = tile(machine, gradients, inputs, sums);
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

/// Sums output gradients, in the same chains.
fn bias<L: GroupSum>(
    isa: Isa,
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Total>,
) {
    match isa.tile_rows() {
        4 => bias_body::<L, 4>(kept, groups, task),
        6 => bias_body::<L, 6>(kept, groups, task),
        12 => bias_body::<L, 12>(kept, groups, task),
        _ => unreachable!("no machine has other tiles"),
    }
}

fn bias_body<L: GroupSum, const H: usize>(
    kept: &[KeptRows<'_>],
    groups: &[(PlacedGroup, L)],
    task: SumTask<'_, L::Total>,
) {
    if task.write == Write::Set {
        task.sums.fill(L::Total::default());
    }
    for (panel, to) in task.sums.chunks_mut(H).enumerate() {
        for (placed, group_sum) in groups {
            let (mut total, mut sums) = ([0.0; H], [0.0; H]);
            let gradients = placed.gradients::<H>(kept, task.layer, panel);
            for (range, gradients) in placed.ranges.iter().zip(gradients) {
                for gradient in gradients {
                    (0..H).for_each(|i| sums[i] += gradient[i]);
                }
                if range.ends_run {
                    (0..H).for_each(|i| total[i] += sums[i]);
                    sums = [0.0; H];
                }
            }
            let sums = total.iter().zip(&sums).map(|(total, sum)| total + sum);
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to += group_sum.convert(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::layout::Layout;
    use crate::{Layer, Network, NetworkLoss, Shape};

    /// Tests of gradients rely on these shapes: how many layers are deferred, and whether all are.
    #[test]
    fn large_dense_layers_are_deferred() {
        let of = |input: Shape, layers: &[Layer]| {
            let network = Network::new(input, layers, NetworkLoss::CrossEntropy).unwrap();
            let layout = Layout::new(&network, 90, 90.0);
            (layout.deferred.len(), layout.defers_all)
        };
        let dense = [Layer::linear(300), Layer::relu(), Layer::linear(400), Layer::tanh(), Layer::linear(5)];
        assert_eq!(of(Shape::Features(37), &dense), (3, true));
        let image = Shape::Image { channels: 7, height: 5, width: 4 };
        let mixed =
            [Layer::conv2d(7, 1, 1, 0), Layer::Flatten, Layer::linear(950), Layer::tanh(), Layer::linear(4)];
        assert_eq!(of(image, &mixed), (1, false));
    }
}
