//! Inputs and output gradients of deferred layers, in the layout that products read, and where the examples of
//! each group are.
//!
//! Inputs are kept in panels of sixteen columns, and weighted output gradients in panels of as many columns as a
//! tile has rows, each example by example: a tile of weights is one pass over two panels. Each thread fills parts
//! of its own, and a group may extend over several parts.

use std::ops::Range;

use crate::chain::DenseLayer;
use crate::kernel::isa::{Isa, LANES, Machine, vectorised};

/// Examples in one chain of additions; sums stay in registers until its end.
pub(crate) const LONG_RUN: usize = 128;

/// Memory for inputs and output gradients of a slab of examples. It is divided anew for every slab, by the actual
/// number of examples: parts for the largest possible groups would take several times as much.
#[derive(Debug, Default)]
pub(crate) struct SlabMemory {
    numbers: Vec<f32>,
}

impl SlabMemory {
    /// Bytes for so many examples.
    pub(crate) fn bytes_for(isa: Isa, deferred: &[DenseLayer], examples: usize) -> usize {
        size_of::<f32>() * Self::length(isa, deferred, examples)
    }

    fn length(isa: Isa, deferred: &[DenseLayer], examples: usize) -> usize {
        match row_length(isa, deferred) {
            0 => 0,
            row => examples * row + LANES,
        }
    }

    /// Bytes that are reserved.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        crate::op::reserved(&self.numbers)
    }

    /// Divides the memory into parts of so many examples each, `most` in all.
    pub(crate) fn divide(
        &mut self,
        isa: Isa,
        deferred: &[DenseLayer],
        most: usize,
        parts: impl IntoIterator<Item = usize>,
    ) -> Vec<KeptRows<'_>> {
        let length = Self::length(isa, deferred, most);
        if self.numbers.len() < length {
            self.numbers = Vec::new(); // free the old array first
            self.numbers = vec![0.0; length];
        }
        // Aligned: a load across two cache lines takes twice as long.
        let first = self.numbers.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
        let mut rest = self.numbers.get_mut(first..).unwrap_or_default();
        let part = |examples: usize| {
            let (part, later) = std::mem::take(&mut rest).split_at_mut(examples * row_length(isa, deferred));
            rest = later;
            KeptRows::new(isa, deferred, examples, part)
        };
        parts.into_iter().map(part).collect()
    }
}

/// Numbers of one example, a multiple of a cache line, so that every part is aligned.
fn row_length(isa: Isa, deferred: &[DenseLayer]) -> usize {
    let widths = deferred.iter().map(|dense| padded(isa, dense));
    widths.map(|(inputs, gradients)| inputs + gradients).sum::<usize>().next_multiple_of(LANES)
}

/// Inputs and output gradients of one example, padded to whole panels.
fn padded(isa: Isa, dense: &DenseLayer) -> (usize, usize) {
    (dense.inputs.next_multiple_of(LANES), dense.outputs.next_multiple_of(isa.tile_rows()))
}

/// Inputs and output gradients of some examples, for all deferred layers.
#[derive(Debug)]
pub(crate) struct KeptRows<'a> {
    layers: Vec<KeptLayerRows<'a>>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct KeptLayerRows<'a> {
    inputs: &'a mut [f32],
    gradients: &'a mut [f32],
}

impl<'a> KeptRows<'a> {
    /// For so many examples, in `memory`.
    fn new(isa: Isa, deferred: &[DenseLayer], capacity: usize, mut memory: &'a mut [f32]) -> Self {
        let mut layers: Vec<KeptLayerRows<'a>> = deferred.iter().map(|_| KeptLayerRows::default()).collect();
        let mut taken = |numbers: usize| {
            let (taken, later) = std::mem::take(&mut memory).split_at_mut(numbers * capacity);
            memory = later;
            taken
        };
        // Inputs first: they fill whole cache lines.
        layers.iter_mut().zip(deferred).for_each(|(layer, dense)| layer.inputs = taken(padded(isa, dense).0));
        layers
            .iter_mut()
            .zip(deferred)
            .for_each(|(layer, dense)| layer.gradients = taken(padded(isa, dense).1));
        Self { layers, capacity }
    }

    /// Keeps inputs of consecutive examples, and their output gradients times their weights (1 if there are none),
    /// from row `start` on.
    pub(crate) fn put(
        &mut self,
        isa: Isa,
        layer: usize,
        start: usize,
        inputs: ExampleMatrix<'_>,
        gradients: ExampleMatrix<'_>,
        weights: Option<&[f32]>,
    ) {
        let (kept, capacity) = (&mut self.layers[layer], self.capacity);
        // Without examples there are no panels.
        if capacity > 0 {
            put_inputs(isa, inputs, start, capacity, kept.inputs);
            put_gradients(isa, gradients, weights, start, capacity, kept.gradients);
        }
    }
}

/// Rows of `width` numbers, one for each example.
#[derive(Clone, Copy)]
pub(crate) struct ExampleMatrix<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) width: usize,
}

vectorised! {
    fn put_inputs(inputs: ExampleMatrix<'_>, start: usize, capacity: usize, kept: &mut [f32]) = put_inputs_body;
}

/// Panel by panel: writes are contiguous, and reads are close together.
#[inline(always)]
fn put_inputs_body<M: Machine>(
    _: M,
    inputs: ExampleMatrix<'_>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    let panels = kept.as_chunks_mut::<LANES>().0.chunks_exact_mut(capacity);
    for (panel, vectors) in panels.enumerate() {
        let column = panel * LANES;
        let lanes = LANES.min(inputs.width - column);
        for (vector, row) in vectors[start..].iter_mut().zip(inputs.data.chunks_exact(inputs.width)) {
            let from = &row[column..column + lanes];
            match from.first_chunk() {
                Some(from) => *vector = *from,
                None => {
                    vector[..lanes].copy_from_slice(from);
                    // An earlier slab may have had other columns here.
                    vector[lanes..].fill(0.0);
                }
            }
        }
    }
}

vectorised! {
    fn put_gradients(
        gradients: ExampleMatrix<'_>,
        weights: Option<&[f32]>,
        start: usize,
        capacity: usize,
        kept: &mut [f32],
    ) = put_gradients_body;
}

#[inline(always)]
fn put_gradients_body<M: Machine>(
    _: M,
    gradients: ExampleMatrix<'_>,
    weights: Option<&[f32]>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    match M::ROWS {
        4 => put_gradients_of::<4>(gradients, weights, start, capacity, kept),
        6 => put_gradients_of::<6>(gradients, weights, start, capacity, kept),
        12 => put_gradients_of::<12>(gradients, weights, start, capacity, kept),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn put_gradients_of<const H: usize>(
    gradients: ExampleMatrix<'_>,
    weights: Option<&[f32]>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    let panels = kept.as_chunks_mut::<H>().0.chunks_exact_mut(capacity);
    for (panel, tiles) in panels.enumerate() {
        let column = panel * H;
        let height = H.min(gradients.width - column);
        let rows = gradients.data.chunks_exact(gradients.width).enumerate();
        for (to, (example, row)) in tiles[start..].iter_mut().zip(rows) {
            let (weight, from) =
                (weights.map_or(1.0, |weights| weights[example]), &row[column..column + height]);
            match from.first_chunk::<H>() {
                Some(from) => *to = from.map(|gradient| gradient * weight),
                None => {
                    to.fill(0.0);
                    to.iter_mut().zip(from).for_each(|(to, gradient)| *to = gradient * weight);
                }
            }
        }
    }
}

/// Where the examples of a group are.
#[derive(Clone, Debug)]
pub(crate) struct PlacedGroup {
    /// Records of the group, empty slots included.
    pub(crate) records: u32,
    pub(crate) ranges: Vec<PlacedRange>,
}

/// Consecutive rows of one part that belong to the same run.
#[derive(Clone, Debug)]
pub(crate) struct PlacedRange {
    part: usize,
    rows: Range<usize>,
    pub(crate) ends_run: bool,
}

impl PlacedGroup {
    /// For a group at these rows of these parts, in order.
    pub(crate) fn new(records: u32, parts: impl IntoIterator<Item = (usize, Range<usize>)>) -> Self {
        let (mut ranges, mut left) = (Vec::new(), LONG_RUN);
        for (part, Range { mut start, end }) in parts {
            while start < end {
                let rows = start..end.min(start + left);
                (start, left) = (rows.end, left - rows.len());
                let ends_run = left == 0;
                left = if ends_run { LONG_RUN } else { left };
                ranges.push(PlacedRange { part, rows, ends_run });
            }
        }
        Self { records, ranges }
    }

    /// Inputs of a panel of sixteen columns, range by range; empty beyond the last panel.
    pub(crate) fn inputs<'k>(
        &self,
        kept: &'k [KeptRows<'_>],
        layer: usize,
        panel: usize,
    ) -> impl Iterator<Item = &'k [[f32; LANES]]> {
        self.ranges.iter().filter_map(move |PlacedRange { part, rows, .. }| {
            let vectors = kept[*part].layers[layer].inputs.as_chunks::<LANES>().0;
            Some(&vectors.chunks_exact(kept[*part].capacity).nth(panel)?[rows.clone()])
        })
    }

    /// Output gradients of a panel of H columns, range by range.
    pub(crate) fn gradients<'k, const H: usize>(
        &self,
        kept: &'k [KeptRows<'_>],
        layer: usize,
        panel: usize,
    ) -> impl Iterator<Item = &'k [[f32; H]]> {
        self.ranges.iter().map(move |PlacedRange { part, rows, .. }| {
            let gradients = kept[*part].layers[layer].gradients.as_chunks::<H>().0;
            &gradients[panel * kept[*part].capacity..][rows.clone()]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_runs_does_not_depend_on_how_parts_divide_the_examples() {
        let lengths = |parts: &[usize]| -> Vec<usize> {
            let placed = PlacedGroup::new(0, parts.iter().map(|length| 3..3 + length).enumerate());
            let mut runs = vec![0];
            for range in &placed.ranges {
                runs[0] += range.rows.len();
                if range.ends_run {
                    runs.insert(0, 0);
                }
            }
            runs.into_iter().rev().collect()
        };
        let whole = lengths(&[2 * LONG_RUN + 9]);
        assert_eq!(whole, [LONG_RUN, LONG_RUN, 9]);
        assert_eq!(lengths(&[5, 0, LONG_RUN, 1, LONG_RUN + 3]), whole);
        assert_eq!(lengths(&[LONG_RUN - 1, 1, LONG_RUN, 9]), whole);
        assert_eq!(lengths(&[]), [0]);
    }
}
