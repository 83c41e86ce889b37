//! Products of many rows with a matrix that does not fit in a cache: wide dense layers.
//!
//! # Definition
//! With x_r the r-th row of `data` and B a packed matrix of K rows and N columns,
//! ```text
//! out[r] = init + x_r B
//! ```
//! as in [`product`](super::product), and with the same bits: every number is one chain in the order of K, so that a row depends
//! neither on its neighbours nor on which of the two functions was called. A test compares them.
//!
//! # Order
//! ```text
//! for a block of rows (MOST_ROWS)            its numbers are copied out, tile by tile, into a second-level cache
//!   for a part of K (DEEP)
//!     for a panel of sixteen columns of B    64 KiB, read by all tiles; the next panel is asked for meanwhile
//!       for a tile of rows                   sums stay in registers over the whole part of K
//! ```
//! Rows of a layer's input are often a multiple of 4096 bytes apart, all in the same few sets of a cache: hence the copy. With parts of K so
//! long results are seldom read again: they too are 4096 bytes apart, and were what shorter parts spent their time on.

use super::isa::{Isa, LANES, Machine, vectorised};
use super::product::Init;
use super::tile::{load_some, store_some, tile};

/// Rows of a block: their numbers are half a megabyte.
pub(crate) const MOST_ROWS: usize = 144;

/// Numbers of a row that are used at a time.
const DEEP: usize = 1024;

/// Of these, numbers between which some of the next panel is asked for: a core keeps track of a few dozen lines on their way, and
/// waits when it is asked for more.
const STRETCH: usize = 128;

/// A packed matrix, see [`pack`](super::product::pack).
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub(crate) packed: &'a [f32],
    pub(crate) depth: usize,
    pub(crate) width: usize,
}

impl<'a> Matrix<'a> {
    /// Rows `from..from + count` of sixteen columns.
    #[inline(always)]
    fn lines(self, panel: usize, from: usize, count: usize) -> &'a [[f32; LANES]] {
        &self.packed.as_chunks::<LANES>().0[panel * self.depth + from..][..count]
    }

    fn panels(self) -> usize {
        self.width.div_ceil(LANES)
    }
}

/// Whether a copy of the rows is paid for: there are a few tiles, and each is used for several panels.
pub(crate) fn is_worthwhile(isa: Isa, rows: usize, width: usize) -> bool {
    rows >= 2 * isa.tile_rows() && width >= 8 * LANES
}

/// Most numbers of room that [`dense_product`] takes on any machine, where a product of so many rows may be worth a copy.
pub(crate) fn dense_room(rows: usize, depth: usize, width: usize) -> usize {
    let most_tile_rows = 12;
    if width < 8 * LANES { 0 } else { rows.min(MOST_ROWS).next_multiple_of(most_tile_rows) * depth.min(DEEP) }
}

vectorised! {
    /// `out[r] = init + x_r B` for the first `rows` rows. `room` is a place to work in, which grows as it needs to.
    fn dense_product(
        rows: usize,
        data: &[f32],
        matrix: Matrix<'_>,
        init: Init<'_>,
        room: &mut Vec<f32>,
        out: &mut [f32],
    ) = dense_body;
}

#[inline(always)]
fn dense_body<M: Machine>(
    machine: M,
    rows: usize,
    data: &[f32],
    matrix: Matrix<'_>,
    init: Init<'_>,
    room: &mut Vec<f32>,
    out: &mut [f32],
) {
    match M::ROWS {
        4 => blocks::<M, 4>(machine, rows, data, matrix, init, room, out),
        6 => blocks::<M, 6>(machine, rows, data, matrix, init, room, out),
        12 => blocks::<M, 12>(machine, rows, data, matrix, init, room, out),
        _ => unreachable!("no machine has other tiles"),
    }
}

#[inline(always)]
fn blocks<M: Machine, const H: usize>(
    machine: M,
    rows: usize,
    data: &[f32],
    matrix: Matrix<'_>,
    init: Init<'_>,
    room: &mut Vec<f32>,
    out: &mut [f32],
) {
    let Matrix { depth, width, .. } = matrix;
    let block = even_part(rows, MOST_ROWS).next_multiple_of(H);
    let part = even_part(depth, DEEP);
    room.resize(room.len().max(block * part), 0.0);
    for first in (0..rows).step_by(block) {
        let count = block.min(rows - first);
        let (data, out) =
            (&data[first * depth..][..count * depth], &mut out[first * width..][..count * width]);
        for from in (0..depth).step_by(part) {
            let part = part.min(depth - from);
            let tiles = copy_out(room, data, depth, from, part);
            for panel in 0..matrix.panels() {
                let lines = matrix.lines(panel, from, part);
                let next =
                    if panel + 1 < matrix.panels() { matrix.lines(panel + 1, from, part) } else { &[] };
                let column = panel * LANES;
                let init = (from == 0).then(|| init.line(column, LANES.min(width - column)));
                sweep::<M, H>(machine, tiles, lines, next, init, width, column, out);
            }
        }
    }
}

/// All rows of a block against one panel, while the next panel comes nearer.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "one level of a nest of loops")]
fn sweep<M: Machine, const H: usize>(
    machine: M,
    tiles: &[[f32; H]],
    lines: &[[f32; LANES]],
    next: &[[f32; LANES]],
    init: Option<[f32; LANES]>,
    width: usize,
    column: usize,
    out: &mut [f32],
) {
    let lanes = LANES.min(width - column);
    let tiles = tiles.chunks_exact(lines.len());
    let stretches = tiles.len() * lines.len().div_ceil(STRETCH);
    let mut next = next.chunks(next.len().div_ceil(stretches.max(1)).max(1));
    for (factors, rows) in tiles.zip(out.chunks_mut(H * width)) {
        let mut sums = [machine.zero(); H];
        for (sum, row) in sums.iter_mut().zip(rows.chunks_exact(width)) {
            *sum = match &init {
                Some(init) => machine.load(init),
                None => load_some(machine, &row[column..column + lanes]),
            };
        }
        for (factors, lines) in factors.chunks(STRETCH).zip(lines.chunks(STRETCH)) {
            next.next().unwrap_or_default().iter().for_each(|line| machine.prefetch(line));
            sums = tile(machine, factors, lines, sums);
        }
        for (sum, row) in sums.iter().zip(rows.chunks_exact_mut(width)) {
            store_some(machine, *sum, &mut row[column..column + lanes]);
        }
    }
}

/// Copies `part` numbers of each row of `data` from `from` on, H rows side by side. What a last tile has to spare keeps some numbers or
/// others, whose sums nobody takes.
#[inline(always)]
fn copy_out<'a, const H: usize>(
    room: &'a mut [f32],
    data: &[f32],
    depth: usize,
    from: usize,
    part: usize,
) -> &'a [[f32; H]] {
    let tiles = (data.len() / depth).div_ceil(H);
    let (room, _) = room.as_chunks_mut::<H>();
    let room = &mut room[..tiles * part];
    for (tile, rows) in room.chunks_exact_mut(part).zip(data.chunks(H * depth)) {
        for (i, row) in rows.chunks_exact(depth).enumerate() {
            tile.iter_mut().zip(&row[from..from + part]).for_each(|(to, x)| to[i] = *x);
        }
    }
    room
}

/// The length of each of as few parts as can be, of nearly the same length.
fn even_part(whole: usize, most: usize) -> usize {
    whole.div_ceil(whole.div_ceil(most).max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::product::{Rows, pack, packed_len, product};
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    /// Also beside rows that are not finite, and where the room still has such numbers of another product.
    #[test]
    fn a_row_has_the_same_bits_in_both_products() {
        let mut room = vec![f32::NAN; 100];
        for (rows, depth, width) in [(1, 1, 1), (13, 37, 33), (29, 1030, 17), (150, 20, 130), (12, 2049, 16)]
        {
            let (mut data, matrix) = (numbers(rows * depth, 1), numbers(depth * width, 2));
            data.iter_mut().skip(depth).take(depth).step_by(7).for_each(|x| *x = f32::INFINITY);
            let bias = numbers(width, 3);
            let mut packed = vec![0.0; packed_len(depth, width)];
            pack(&mut packed, depth, width, |k, n| matrix[k * width + n]);
            for (isa, init) in [(Isa::portable(), Init::Zero), (Isa::detect(), Init::Bias(&bias))] {
                let [mut dense, mut plain] = [(); 2].map(|()| vec![0.0; rows * width]);
                let matrix = Matrix { packed: &packed, depth, width };
                dense_product(isa, rows, &data, matrix, init, &mut room, &mut dense);
                let table = Rows::dense(rows, depth, width);
                product(isa, &table, rows, &data, &packed, width, init, &mut plain);
                let same = dense
                    .iter()
                    .zip(&plain)
                    .all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()));
                assert!(same, "{rows} {depth} {width}");
            }
        }
    }
}
