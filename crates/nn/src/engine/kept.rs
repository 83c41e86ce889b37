//! Inputs and slopes of deferred layers, as their products want them, and where the examples of a group are among them.
//!
//! Inputs are kept in panels of sixteen columns and weighted slopes in panels of as many as a tile has rows, each by examples: a
//! tile of weights is one pass over two panels. A thread fills a part of its own; groups go across parts as they come.

use std::ops::Range;

use crate::chain::DenseLayer;
use crate::kernel::isa::{Isa, LANES, Machine, vectorised};

/// Examples of one chain of additions. Sums leave their registers at its end.
pub(crate) const LONG_RUN: usize = 128;

/// Room for inputs and slopes of a slab of examples. It is cut anew for every slab, into parts of as many rows as there are examples: groups of a sample differ, and
/// parts for the largest that could come would take several times as much.
#[derive(Debug, Default)]
pub(crate) struct Area {
    numbers: Vec<f32>,
}

impl Area {
    /// Bytes of an area for that many examples.
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

    /// Parts of so many examples each, `most` in all.
    pub(crate) fn cut(
        &mut self,
        isa: Isa,
        deferred: &[DenseLayer],
        most: usize,
        parts: impl IntoIterator<Item = usize>,
    ) -> Vec<KeptRows<'_>> {
        let length = Self::length(isa, deferred, most);
        if self.numbers.len() < length {
            self.numbers = Vec::new(); // not both at a time
            self.numbers = vec![0.0; length];
        }
        // A load that goes across two lines of the cache takes twice as long.
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

/// Numbers of one example: whole lines, so that every part begins with one.
fn row_length(isa: Isa, deferred: &[DenseLayer]) -> usize {
    let widths = deferred.iter().map(|dense| padded(isa, dense));
    widths.map(|(inputs, slopes)| inputs + slopes).sum::<usize>().next_multiple_of(LANES)
}

/// Inputs and slopes of one example, with what fills their last panels.
fn padded(isa: Isa, dense: &DenseLayer) -> (usize, usize) {
    (dense.inputs.next_multiple_of(LANES), dense.outputs.next_multiple_of(isa.tile_rows()))
}

/// Inputs and slopes of some examples, for all deferred layers.
#[derive(Debug)]
pub(crate) struct KeptRows<'a> {
    layers: Vec<KeptLayerRows<'a>>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct KeptLayerRows<'a> {
    inputs: &'a mut [f32],
    slopes: &'a mut [f32],
}

impl<'a> KeptRows<'a> {
    /// That many examples, in `room`.
    fn new(isa: Isa, deferred: &[DenseLayer], capacity: usize, mut room: &'a mut [f32]) -> Self {
        let mut layers: Vec<KeptLayerRows<'a>> = deferred.iter().map(|_| KeptLayerRows::default()).collect();
        let mut taken = |numbers: usize| {
            let (taken, later) = std::mem::take(&mut room).split_at_mut(numbers * capacity);
            room = later;
            taken
        };
        // First all that is in whole lines.
        layers.iter_mut().zip(deferred).for_each(|(layer, dense)| layer.inputs = taken(padded(isa, dense).0));
        layers.iter_mut().zip(deferred).for_each(|(layer, dense)| layer.slopes = taken(padded(isa, dense).1));
        Self { layers, capacity }
    }

    /// Keeps inputs of examples that lie one after the other, and their slopes times their weights (1 if none are given), from row
    /// `start` on.
    pub(crate) fn put(
        &mut self,
        isa: Isa,
        layer: usize,
        start: usize,
        inputs: ExampleMatrix<'_>,
        slopes: ExampleMatrix<'_>,
        weights: Option<&[f32]>,
    ) {
        let (kept, capacity) = (&mut self.layers[layer], self.capacity);
        // A group of empty slots has no panels.
        if capacity > 0 {
            put_inputs(isa, inputs, start, capacity, kept.inputs);
            put_slopes(isa, slopes, weights, start, capacity, kept.slopes);
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

/// Panel by panel: what is written lies in one place, and what is read is near.
#[inline(always)]
fn put_inputs_body<M: Machine>(
    _: M,
    inputs: ExampleMatrix<'_>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    let panels = kept.as_chunks_mut::<LANES>().0.chunks_exact_mut(capacity);
    for (panel, lines) in panels.enumerate() {
        let column = panel * LANES;
        let lanes = LANES.min(inputs.width - column);
        for (line, row) in lines[start..].iter_mut().zip(inputs.data.chunks_exact(inputs.width)) {
            let from = &row[column..column + lanes];
            match from.first_chunk() {
                Some(from) => *line = *from,
                None => {
                    line[..lanes].copy_from_slice(from);
                    // Whatever was there before has had other columns here.
                    line[lanes..].fill(0.0);
                }
            }
        }
    }
}

vectorised! {
    fn put_slopes(
        slopes: ExampleMatrix<'_>,
        weights: Option<&[f32]>,
        start: usize,
        capacity: usize,
        kept: &mut [f32],
    ) = put_slopes_body;
}

#[inline(always)]
fn put_slopes_body<M: Machine>(
    _: M,
    slopes: ExampleMatrix<'_>,
    weights: Option<&[f32]>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    match M::ROWS {
        4 => put_slopes_of::<4>(slopes, weights, start, capacity, kept),
        6 => put_slopes_of::<6>(slopes, weights, start, capacity, kept),
        12 => put_slopes_of::<12>(slopes, weights, start, capacity, kept),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn put_slopes_of<const H: usize>(
    slopes: ExampleMatrix<'_>,
    weights: Option<&[f32]>,
    start: usize,
    capacity: usize,
    kept: &mut [f32],
) {
    let panels = kept.as_chunks_mut::<H>().0.chunks_exact_mut(capacity);
    for (panel, tiles) in panels.enumerate() {
        let column = panel * H;
        let height = H.min(slopes.width - column);
        let rows = slopes.data.chunks_exact(slopes.width).enumerate();
        for (to, (example, row)) in tiles[start..].iter_mut().zip(rows) {
            let (weight, from) =
                (weights.map_or(1.0, |weights| weights[example]), &row[column..column + height]);
            match from.first_chunk::<H>() {
                Some(from) => *to = from.map(|slope| slope * weight),
                None => {
                    to.fill(0.0);
                    to.iter_mut().zip(from).for_each(|(to, slope)| *to = slope * weight);
                }
            }
        }
    }
}

/// Where the examples of a group are.
#[derive(Clone, Debug)]
pub(crate) struct PlacedGroup {
    /// Records that the group covers.
    pub(crate) records: u32,
    pub(crate) ranges: Vec<PlacedRange>,
}

/// Examples of one run, or of a part of it, that lie one after the other.
#[derive(Clone, Debug)]
pub(crate) struct PlacedRange {
    part: usize,
    rows: Range<usize>,
    pub(crate) ends_run: bool,
}

impl PlacedGroup {
    /// At some rows of some kept parts, in order.
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

    /// Inputs of sixteen columns, range by range; nothing beyond the last column.
    pub(crate) fn lines<'k>(
        &self,
        kept: &'k [KeptRows<'_>],
        layer: usize,
        panel: usize,
    ) -> impl Iterator<Item = &'k [[f32; LANES]]> {
        self.ranges.iter().filter_map(move |PlacedRange { part, rows, .. }| {
            let lines = kept[*part].layers[layer].inputs.as_chunks::<LANES>().0;
            Some(&lines.chunks_exact(kept[*part].capacity).nth(panel)?[rows.clone()])
        })
    }

    /// Slopes of H rows, range by range.
    pub(crate) fn slopes<'k, const H: usize>(
        &self,
        kept: &'k [KeptRows<'_>],
        layer: usize,
        panel: usize,
    ) -> impl Iterator<Item = &'k [[f32; H]]> {
        self.ranges.iter().map(move |PlacedRange { part, rows, .. }| {
            let slopes = kept[*part].layers[layer].slopes.as_chunks::<H>().0;
            &slopes[panel * kept[*part].capacity..][rows.clone()]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs do not feel how examples are spread over parts.
    #[test]
    fn runs_end_after_as_many_examples_wherever_these_are() {
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
