//! Products of rows with a packed matrix: forward passes (except of [layers with few outputs](super::narrow)),
//! and backward passes to inputs.
//!
//! # Definition
//! A row is a list of *segments* of one array, each at a fixed distance from the row's base. With x the numbers
//! of row r in the order of its segments, and B a matrix of K rows and N columns,
//! ```text
//! out[r] = init + x B
//! ```
//! A dense layer has one segment. A convolution on channels-last images has one for each row of its kernel, so
//! no patch is ever copied.
//!
//! # Row independence
//! Every number of the result is one chain `(((init + x_1 B_1) + x_2 B_2) + ...)` in the order of the segments,
//! in a full tile and in a tile of one row alike: the bits of a row depend on that row and B alone. A test
//! removes and replaces the other rows.

use super::isa::{LANES, Machine, vectorised};
use super::tile::{load_some, store_some};
use crate::op::reserved;

/// Rows of B that are used at a time: a panel of them takes half of a first-level cache.
const DEEP: usize = 256;

/// Tiles of at most so many rows are faster than memory, so they prefetch B.
const PREFETCH_ROWS: usize = 6;
/// How many rows of B ahead they prefetch.
const PREFETCH_DISTANCE: usize = 32;

/// A contiguous part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Distance from the row's base.
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

/// Which rows of an array are multiplied, and where their results go.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowTable {
    /// Where each row begins.
    pub(crate) bases: Vec<usize>,
    /// Where each row's result begins.
    pub(crate) outs: Vec<usize>,
    pub(crate) segments: Vec<Segment>,
}

impl RowTable {
    /// `count` rows of `width` numbers one after the other, with results of `out_width` numbers.
    pub(crate) fn dense(count: usize, width: usize, out_width: usize) -> Self {
        Self {
            bases: (0..count).map(|row| row * width).collect(),
            outs: (0..count).map(|row| row * out_width).collect(),
            segments: pieces(0, width).collect(),
        }
    }

    /// Bytes that its arrays have reserved.
    pub(crate) fn bytes(&self) -> usize {
        let Self { bases, outs, segments } = self;
        reserved(bases) + reserved(outs) + reserved(segments)
    }
}

/// Cuts a contiguous row into segments of at most [`DEEP`].
pub(crate) fn pieces(offset: usize, length: usize) -> impl Iterator<Item = Segment> {
    (0..length)
        .step_by(DEEP)
        .map(move |start| Segment { offset: offset + start, length: DEEP.min(length - start) })
}

/// Numbers that a packed matrix takes.
pub(crate) fn packed_len(depth: usize, width: usize) -> usize {
    depth * width.next_multiple_of(LANES)
}

/// Packs a matrix in panels of [`LANES`] columns, each row by row; missing columns are zero.
pub(crate) fn pack(packed: &mut [f32], depth: usize, width: usize, entry: impl Fn(usize, usize) -> f32) {
    for (panel, rows) in packed.chunks_exact_mut(depth * LANES).enumerate() {
        for (row, vector) in rows.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for (lane, out) in vector.iter_mut().enumerate() {
                let column = panel * LANES + lane;
                *out = if column < width { entry(row, column) } else { 0.0 };
            }
        }
    }
}

/// Packs rows from `first` on of a matrix that is stored by rows: `B[first + k][n] = rows[k * width + n]`.
pub(crate) fn pack_rows(packed: &mut [f32], depth: usize, first: usize, width: usize, rows: &[f64]) {
    for (panel, vectors) in packed.chunks_exact_mut(depth * LANES).enumerate() {
        let column = panel * LANES;
        let lanes = LANES.min(width - column);
        let vectors = &mut vectors.as_chunks_mut::<LANES>().0[first..];
        for (vector, row) in vectors.iter_mut().zip(rows.chunks_exact(width)) {
            vector.iter_mut().zip(&row[column..column + lanes]).for_each(|(to, from)| *to = *from as f32);
        }
    }
}

/// Packs a matrix that is stored by columns: `B[k][n] = matrix[n * depth + k]`.
pub(crate) fn pack_columns(packed: &mut [f32], depth: usize, matrix: &[f64]) {
    /// Vectors that stay in a first-level cache while their lanes are filled one by one.
    const NEAR: usize = 128;
    for (panel, vectors) in packed.chunks_exact_mut(depth * LANES).enumerate() {
        let columns = &matrix[panel * LANES * depth..];
        for (part, vectors) in vectors.as_chunks_mut::<LANES>().0.chunks_mut(NEAR).enumerate() {
            for (lane, column) in columns.chunks_exact(depth).take(LANES).enumerate() {
                let column = &column[part * NEAR..][..vectors.len()];
                vectors.iter_mut().zip(column).for_each(|(vector, from)| vector[lane] = *from as f32);
            }
        }
    }
}

/// What a result starts from.
#[derive(Clone, Copy)]
pub(crate) enum Init<'a> {
    Zero,
    /// The same for every row, N numbers.
    Bias(&'a [f32]),
}

impl Init<'_> {
    /// What `lanes` columns start from.
    #[inline(always)]
    pub(crate) fn vector(self, column: usize, lanes: usize) -> [f32; LANES] {
        let mut vector = [0.0; LANES];
        if let Init::Bias(bias) = self {
            vector[..lanes].copy_from_slice(&bias[column..column + lanes]);
        }
        vector
    }
}

/// A matrix of `depth` rows and `width` columns, packed by [`pack`].
#[derive(Clone, Copy)]
pub(crate) struct PackedMatrix<'a> {
    pub(crate) packed: &'a [f32],
    pub(crate) depth: usize,
    pub(crate) width: usize,
}

/// The factors of a product: the first `count` rows of `data` and a matrix.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a> {
    pub(crate) rows: &'a RowTable,
    pub(crate) count: usize,
    pub(crate) data: &'a [f32],
    pub(crate) matrix: PackedMatrix<'a>,
    pub(crate) init: Init<'a>,
}

vectorised! {
    /// `out[r] = init + x_r B`.
    fn product(factors: Product<'_>, out: &mut [f32]) = product_body;
}

#[inline(always)]
fn product_body<M: Machine>(machine: M, factors: Product<'_>, out: &mut [f32]) {
    let Product { rows, count, data, matrix: PackedMatrix { packed, depth, width }, init } = factors;
    let mut done = 0;
    let mut rest = &rows.segments[..];
    while !rest.is_empty() {
        let (now, later, deep) = split(rest);
        let mut column = 0;
        while column < width {
            let panels = &packed[column * depth..];
            let block = Block { rows, count, data, segments: now, from: done, deep, depth, column, width };
            let init = (done == 0).then_some(init);
            // Two panels at a time if there are registers for both: each number of a row is read once.
            if M::PANELS == 2 && width - column > LANES {
                sweep::<M, 2>(machine, block, panels, init, out);
                column += 2 * LANES;
            } else {
                sweep::<M, 1>(machine, block, panels, init, out);
                column += LANES;
            }
        }
        done += deep;
        rest = later;
    }
}

/// Some rows and columns of B, against all rows of data.
#[derive(Clone, Copy)]
struct Block<'a> {
    rows: &'a RowTable,
    count: usize,
    data: &'a [f32],
    segments: &'a [Segment],
    /// Rows of B: the first, how many, and K.
    from: usize,
    deep: usize,
    depth: usize,
    /// The first column, and N.
    column: usize,
    width: usize,
}

/// Splits off as many whole segments as are used at a time; also their total length.
fn split(segments: &[Segment]) -> (&[Segment], &[Segment], usize) {
    let (mut taken, mut deep) = (1, segments[0].length);
    while taken < segments.len() && deep + segments[taken].length <= DEEP {
        deep += segments[taken].length;
        taken += 1;
    }
    let (now, later) = segments.split_at(taken);
    (now, later, deep)
}

/// All rows against P panels.
#[inline(always)]
fn sweep<M: Machine, const P: usize>(
    machine: M,
    block: Block<'_>,
    panels: &[f32],
    init: Option<Init<'_>>,
    out: &mut [f32],
) {
    let Block { rows, from, deep, depth, column, width, .. } = block;
    let lanes: [usize; P] = std::array::from_fn(|panel| LANES.min(width - column - panel * LANES));
    let init =
        init.map(|init| std::array::from_fn(|panel| init.vector(column + panel * LANES, lanes[panel])));
    let vectors = std::array::from_fn(|panel| &panels.as_chunks().0[panel * depth + from..][..deep]);
    let panels = Panels { vectors, init, lanes };
    let (mut row, mut tiles) = (0, block.count.div_ceil(M::ROWS));
    while tiles > 0 {
        // As few tiles as possible, of nearly the same height.
        let height = (block.count - row).div_ceil(tiles);
        let bases = &rows.bases[row..row + height];
        let outs = &rows.outs[row..row + height];
        macro_rules! of_height {
            ($($h:literal)*) => {
                match height {
                    $($h if $h <= M::ROWS => tile::<M, $h, P>(machine, block, bases, outs, panels, out),)*
                    _ => unreachable!("a tile has at most as many rows as the registers hold"),
                }
            };
        }
        of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
        row += height;
        tiles -= 1;
    }
}

/// The rows of P panels of a [`Block`], what their results start from if this is the first block, and the
/// columns that each panel has.
#[derive(Clone, Copy)]
struct Panels<'a, const P: usize> {
    vectors: [&'a [[f32; LANES]]; P],
    init: Option<[[f32; LANES]; P]>,
    lanes: [usize; P],
}

#[inline(always)]
fn tile<M: Machine, const H: usize, const P: usize>(
    machine: M,
    block: Block<'_>,
    bases: &[usize],
    outs: &[usize],
    panels: Panels<'_, P>,
    out: &mut [f32],
) {
    let Panels { mut vectors, init, lanes } = panels;
    let place = |row: usize, panel: usize| outs[row] + block.column + panel * LANES;
    let first = |p: usize, out: &[f32]| -> [M::Vector; H] {
        if let Some(first) = &init {
            return [machine.load(&first[p]); H];
        }
        let mut sums = [machine.zero(); H];
        for i in 0..H {
            sums[i] = load_some(machine, &out[place(i, p)..][..lanes[p]]);
        }
        sums
    };
    let mut sums = [first(0, out); P];
    for (p, sums) in sums.iter_mut().enumerate().skip(1) {
        *sums = first(p, out);
    }
    for segment in block.segments {
        let row: [&[f32]; H] =
            std::array::from_fn(|i| &block.data[bases[i] + segment.offset..][..segment.length]);
        let now: [&[[f32; LANES]]; P] = std::array::from_fn(|p| &vectors[p][..segment.length]);
        for k in 0..segment.length {
            // With few rows the processor would wait for B.
            if H <= PREFETCH_ROWS {
                for later in vectors.iter().filter_map(|vectors| vectors.get(k + PREFETCH_DISTANCE)) {
                    machine.prefetch(later);
                }
            }
            let mut vector = [machine.zero(); P];
            for p in 0..P {
                vector[p] = machine.load(&now[p][k]);
            }
            for i in 0..H {
                for p in 0..P {
                    sums[p][i] = machine.multiply_add(row[i][k], vector[p], sums[p][i]);
                }
            }
        }
        for vectors in &mut vectors {
            *vectors = &vectors[segment.length..];
        }
    }
    for i in 0..H {
        for p in 0..P {
            store_some(machine, sums[p][i], &mut out[place(i, p)..][..lanes[p]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    fn dense(isa: Isa, data: &[f32], count: usize, packed: &[f32], depth: usize, width: usize) -> Vec<f32> {
        let rows = RowTable::dense(count, depth, width);
        let mut out = vec![0.0; count * width];
        let matrix = PackedMatrix { packed, depth, width };
        product(isa, Product { rows: &rows, count, data, matrix, init: Init::Zero }, &mut out);
        out
    }

    #[test]
    fn products_equal_plain_sums() {
        for (count, depth, width) in [(1, 1, 1), (7, 5, 3), (13, 300, 17), (6, 600, 40)] {
            let data = numbers(count * depth, 1);
            let matrix = numbers(depth * width, 2);
            let mut packed = vec![0.0; packed_len(depth, width)];
            pack(&mut packed, depth, width, |k, n| matrix[k * width + n]);
            for isa in [Isa::portable(), Isa::detect()] {
                let out = dense(isa, &data, count, &packed, depth, width);
                for (at, got) in out.iter().enumerate() {
                    let (row, n) = (at / width, at % width);
                    let exact: f64 = (0..depth)
                        .map(|k| f64::from(data[row * depth + k]) * f64::from(matrix[k * width + n]))
                        .sum();
                    assert!((f64::from(*got) - exact).abs() < 1e-4, "{count} {depth} {width}: {got} {exact}");
                }
            }
        }
    }

    #[test]
    fn all_ways_of_packing_agree() {
        let (depth, width) = (37, 21);
        let matrix: Vec<f64> = numbers(depth * width, 3).iter().map(|x| f64::from(*x)).collect();
        let mut packed = [(); 3].map(|()| vec![0.0; packed_len(depth, width)]);
        pack(&mut packed[0], depth, width, |k, n| matrix[k * width + n] as f32);
        for (part, rows) in matrix.chunks(5 * width).enumerate() {
            pack_rows(&mut packed[1], depth, part * 5, width, rows);
        }
        let turned: Vec<f64> = (0..depth * width).map(|at| matrix[at % depth * width + at / depth]).collect();
        pack_columns(&mut packed[2], depth, &turned);
        assert!(packed[0] == packed[1] && packed[0] == packed[2]);
    }

    /// Alone, among other rows, at any place, and beside rows that are not finite.
    #[test]
    fn the_bits_of_a_row_do_not_depend_on_other_rows() {
        let (depth, width, most) = (301, 19, 29);
        let matrix = numbers(depth * width, 4);
        let mut packed = vec![0.0; packed_len(depth, width)];
        pack(&mut packed, depth, width, |k, n| matrix[k * width + n]);
        let row = numbers(depth, 5);
        for isa in [Isa::portable(), Isa::detect()] {
            let alone = dense(isa, &row, 1, &packed, depth, width);
            for count in 1..=most {
                for place in 0..count {
                    let mut data = numbers(count * depth, 6 + count as u64);
                    data.iter_mut().step_by(7).for_each(|x| *x *= f32::NAN);
                    data[place * depth..][..depth].copy_from_slice(&row);
                    let out = dense(isa, &data, count, &packed, depth, width);
                    let same = out[place * width..][..width]
                        .iter()
                        .zip(&alone)
                        .all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "row {place} of {count}");
                }
            }
        }
    }
}
