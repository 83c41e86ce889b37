//! Products of many rows with a matrix that does not fit in a cache: wide dense layers.
//!
//! # Definition
//! With x_r the r-th row of `data` and B a packed matrix of K rows and N columns,
//! ```text
//! out[r] = init + x_r B
//! ```
//! as in [`product`](super::product), and with the same bits: every number is one chain in the order of K, so
//! a row depends neither on its neighbours nor on which of the two functions is called. A test compares them.
//!
//! # Order
//! ```text
//! for a block of rows (MOST_ROWS)            copied tile by tile into a second-level cache
//!   for a part of K (DEEP)
//!     for a panel of sixteen columns of B    64 KiB, read by all tiles; the next panel is prefetched
//!       for a tile of rows                   sums stay in registers over the whole part of K
//! ```
//! Rows of a layer's input are often a multiple of 4096 bytes apart, and then compete for the same few sets of
//! a cache: hence the copy. Results are 4096 bytes apart too; long parts of K read them back seldom.

use super::isa::{Isa, LANES, Machine, vectorised};
use super::product::{PackedMatrix, Product};
use super::tile::{load_some, store_some, tile};

/// Rows of a block: half a megabyte.
pub(crate) const MOST_ROWS: usize = 144;

/// Numbers of a row that are used at a time.
const DEEP: usize = 1024;

/// Of these, numbers between two prefetches: a core has a few dozen cache lines on their way at a time, and
/// waits if it is asked for more.
const PREFETCH_INTERVAL: usize = 128;

impl<'a> PackedMatrix<'a> {
    /// Rows `from..from + count` of a panel of sixteen columns.
    #[inline(always)]
    fn vectors(self, panel: usize, from: usize, count: usize) -> &'a [[f32; LANES]] {
        &self.packed.as_chunks::<LANES>().0[panel * self.depth + from..][..count]
    }

    fn panels(self) -> usize {
        self.width.div_ceil(LANES)
    }
}

/// Whether copying the rows pays: there are several tiles, and each is used for several panels.
pub(crate) fn is_worthwhile(isa: Isa, rows: usize, width: usize) -> bool {
    rows >= 2 * isa.tile_rows() && width >= 8 * LANES
}

/// The most scratch space that [`dense_product`] takes on any machine, in numbers; 0 if copying never pays.
pub(crate) fn dense_scratch(rows: usize, depth: usize, width: usize) -> usize {
    let most_tile_rows = 12;
    if width < 8 * LANES { 0 } else { rows.min(MOST_ROWS).next_multiple_of(most_tile_rows) * depth.min(DEEP) }
}

vectorised! {
    /// `out[r] = init + x_r B`, for rows that follow each other in `data`; the table of rows is not read.
    /// `scratch` grows to [`dense_scratch`] at most.
    fn dense_product(factors: Product<'_>, scratch: &mut Vec<f32>, out: &mut [f32]) = dense_body;
}

#[inline(always)]
fn dense_body<M: Machine>(machine: M, factors: Product<'_>, scratch: &mut Vec<f32>, out: &mut [f32]) {
    match M::ROWS {
        4 => blocks::<M, 4>(machine, factors, scratch, out),
        6 => blocks::<M, 6>(machine, factors, scratch, out),
        12 => blocks::<M, 12>(machine, factors, scratch, out),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn blocks<M: Machine, const H: usize>(
    machine: M,
    factors: Product<'_>,
    scratch: &mut Vec<f32>,
    out: &mut [f32],
) {
    let Product { count: rows, data, matrix, init, .. } = factors;
    let PackedMatrix { depth, width, .. } = matrix;
    let block = even_part(rows, MOST_ROWS).next_multiple_of(H);
    let part = even_part(depth, DEEP);
    scratch.resize(scratch.len().max(block * part), 0.0);
    for first in (0..rows).step_by(block) {
        let count = block.min(rows - first);
        let (data, out) =
            (&data[first * depth..][..count * depth], &mut out[first * width..][..count * width]);
        for from in (0..depth).step_by(part) {
            let part = part.min(depth - from);
            let tiles = copy_tiles(scratch, data, depth, from, part);
            for panel in 0..matrix.panels() {
                let column = panel * LANES;
                let is_last = panel + 1 == matrix.panels();
                let panel = Panel {
                    vectors: matrix.vectors(panel, from, part),
                    next: if is_last { &[] } else { matrix.vectors(panel + 1, from, part) },
                    init: (from == 0).then(|| init.vector(column, LANES.min(width - column))),
                    column,
                };
                sweep::<M, H>(machine, tiles, panel, width, out);
            }
        }
    }
}

/// A part of K in sixteen columns of B.
#[derive(Clone, Copy)]
struct Panel<'a> {
    vectors: &'a [[f32; LANES]],
    /// The same rows of the next columns, to prefetch.
    next: &'a [[f32; LANES]],
    /// What results start from, in the first part of K.
    init: Option<[f32; LANES]>,
    column: usize,
}

/// Multiplies all rows of a block with one panel, and prefetches the next panel.
#[inline(always)]
fn sweep<M: Machine, const H: usize>(
    machine: M,
    tiles: &[[f32; H]],
    panel: Panel<'_>,
    width: usize,
    out: &mut [f32],
) {
    let Panel { vectors, next, init, column } = panel;
    let lanes = LANES.min(width - column);
    let tiles = tiles.chunks_exact(vectors.len());
    let prefetches = tiles.len() * vectors.len().div_ceil(PREFETCH_INTERVAL);
    let mut next = next.chunks(next.len().div_ceil(prefetches.max(1)).max(1));
    for (factors, rows) in tiles.zip(out.chunks_mut(H * width)) {
        let mut sums = [machine.zero(); H];
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(width)) {
            *sum = match &init {
                Some(init) => machine.load(init),
                None => load_some(machine, &row[column..column + lanes]),
            };
        }
        for (factors, vectors) in factors.chunks(PREFETCH_INTERVAL).zip(vectors.chunks(PREFETCH_INTERVAL)) {
            next.next().unwrap_or_default().iter().for_each(|vector| machine.prefetch(vector));
            sums = tile(machine, factors, vectors, sums);
        }
        for (sum, row) in sums.iter().zip(rows.chunks_exact_mut(width)) {
            store_some(machine, *sum, &mut row[column..column + lanes]);
        }
    }
}

/// Copies `part` numbers of each row of `data` from `from` on, H rows side by side. Missing rows of the last tile
/// keep arbitrary numbers, and their sums are not used.
#[inline(always)]
fn copy_tiles<'a, const H: usize>(
    scratch: &'a mut [f32],
    data: &[f32],
    depth: usize,
    from: usize,
    part: usize,
) -> &'a [[f32; H]] {
    let tiles = (data.len() / depth).div_ceil(H);
    let (scratch, _) = scratch.as_chunks_mut::<H>();
    let scratch = &mut scratch[..tiles * part];
    for (tile, rows) in scratch.chunks_exact_mut(part).zip(data.chunks(H * depth)) {
        for (i, row) in rows.chunks_exact(depth).enumerate() {
            tile.iter_mut().zip(&row[from..from + part]).for_each(|(to, x)| to[i] = *x);
        }
    }
    scratch
}

/// The length of each of as few parts as possible, of nearly the same length.
fn even_part(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::product::{Init, RowTable, pack, packed_len, product};
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    /// Also beside rows that are not finite, and with scratch space that has such numbers.
    #[test]
    fn both_products_give_a_row_the_same_bits() {
        let mut scratch = vec![f32::NAN; 100];
        for (rows, depth, width) in [(1, 1, 1), (13, 37, 33), (29, 1030, 17), (150, 20, 130), (12, 2049, 16)]
        {
            let (mut data, matrix) = (numbers(rows * depth, 1), numbers(depth * width, 2));
            data.iter_mut().skip(depth).take(depth).step_by(7).for_each(|x| *x = f32::INFINITY);
            let bias = numbers(width, 3);
            let mut packed = vec![0.0; packed_len(depth, width)];
            pack(&mut packed, depth, width, |k, n| matrix[k * width + n]);
            for (isa, init) in [(Isa::portable(), Init::Zero), (Isa::detect(), Init::Bias(&bias))] {
                let [mut dense, mut plain] = [(); 2].map(|()| vec![0.0; rows * width]);
                let matrix = PackedMatrix { packed: &packed, depth, width };
                let table = RowTable::dense(rows, depth, width);
                let factors = Product { rows: &table, count: rows, data: &data, matrix, init };
                dense_product(isa, factors, &mut scratch, &mut dense);
                product(isa, factors, &mut plain);
                let same = dense
                    .iter()
                    .zip(&plain)
                    .all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
                assert!(same, "{rows} {depth} {width}");
            }
        }
    }
}
