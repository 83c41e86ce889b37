//! Sums of outer products over rows: gradients of weights.
//!
//! # Definition
//! With `p_r` the numbers of row r in the order of its segments, and `q_r` a contiguous row,
//! ```text
//! out += Σ_r p_r q_r^T
//! ```
//! Rows are summed in runs, each from zero, and the runs are added to `out`. With runs of at most [`RUN`], the
//! longest chain of additions for R rows is `min(R, RUN) + ceil(R/RUN)`, which the allowance for float sums
//! counts. Where chains are not counted, runs of [`FREE_RUN`] access memory less often.

use super::isa::{LANES, Machine, vectorised};
use super::product::{RowTable, Segment};

/// Rows of one chain, where chains are counted.
pub(crate) const RUN: usize = 64;

/// Rows of one chain, where they are not: a materialised gradient is measured as it was rounded.
pub(crate) const FREE_RUN: usize = 256;

/// The second factor: rows of `width` numbers, `step` apart. The array must have [`LANES`] more numbers after the
/// last row.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) start: usize,
    pub(crate) step: usize,
    pub(crate) width: usize,
}

/// What happens to the numbers in `out`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// They are overwritten.
    Set,
    /// The sums are added to them.
    Add,
}

vectorised! {
    /// Writes `Σ_r p_r q_r^T` to `out`, in rows of `columns.width` numbers.
    fn outer(factors: OuterProduct<'_>, write: Write, out: &mut [f32]) = outer_body;
}

/// The factors of a sum of outer products: the first `count` rows of `data` and of `columns`, in runs of at most
/// `run` rows.
#[derive(Clone, Copy)]
pub(crate) struct OuterProduct<'a> {
    pub(crate) rows: &'a RowTable,
    pub(crate) count: usize,
    pub(crate) data: &'a [f32],
    pub(crate) columns: Columns<'a>,
    pub(crate) run: usize,
}

#[inline(always)]
fn outer_body<M: Machine>(machine: M, factors: OuterProduct<'_>, write: Write, out: &mut [f32]) {
    let OuterProduct { rows, count, data, columns, run } = factors;
    if count == 0 && write == Write::Set {
        out.fill(0.0);
    }
    let (mut strip, run) = ([[[0.0; LANES]; FREE_RUN]; STRIP], run.min(FREE_RUN));
    for first in (0..count).step_by(run) {
        let bases = &rows.bases[first..count.min(first + run)];
        let write = if first == 0 { write } else { Write::Add };
        for column in (0..columns.width).step_by(STRIP * LANES) {
            let panels = (columns.width - column).div_ceil(LANES).min(STRIP);
            let from = columns.start + first * columns.step + column;
            pack(&mut strip[..panels], columns, from, bases.len());
            let mut panel = 0;
            while panel < panels {
                let place = Destination { width: columns.width, column: column + panel * LANES, write };
                // Two panels at a time if there are registers for both: each number of a row is read once.
                if let (2, Some(vectors)) = (M::PANELS, strip[panel..panels].first_chunk::<2>()) {
                    all_segments(machine, bases, data, &rows.segments, vectors, place, out);
                    panel += 2;
                } else if let Some(vectors) = strip[panel..].first_chunk::<1>() {
                    all_segments(machine, bases, data, &rows.segments, vectors, place, out);
                    panel += 1;
                }
            }
        }
    }
}

/// Panels of columns that are copied at a time. Rows of columns are often a power of two apart, and then compete
/// for the same few sets of a cache; every tile reads the copy instead.
const STRIP: usize = 2;

/// Copies `count` rows of some panels, from `from` on.
#[inline(always)]
fn pack(strip: &mut [[[f32; LANES]; FREE_RUN]], columns: Columns<'_>, from: usize, count: usize) {
    for row in 0..count {
        for (panel, vectors) in strip.iter_mut().enumerate() {
            let Some(vector) = columns.data[from + row * columns.step + panel * LANES..].first_chunk() else {
                unreachable!("arrays have a vector to spare after their last row");
            };
            vectors[row] = *vector;
        }
    }
}

/// Where sums go: columns from `column` on, in rows of `width`.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    pub(super) width: usize,
    pub(super) column: usize,
    pub(super) write: Write,
}

/// Multiplies all segments with P panels.
#[inline(always)]
fn all_segments<M: Machine, const P: usize>(
    machine: M,
    bases: &[usize],
    data: &[f32],
    segments: &[Segment],
    strip: &[[[f32; LANES]; FREE_RUN]; P],
    place: Destination,
    out: &mut [f32],
) {
    let vectors: [&[[f32; LANES]]; P] = std::array::from_fn(|panel| &strip[panel][..bases.len()]);
    let mut first = 0;
    for segment in segments {
        segment_body(machine, bases, data, *segment, vectors, place, &mut out[first * place.width..]);
        first += segment.length;
    }
}

#[inline(always)]
fn segment_body<M: Machine, const P: usize>(
    machine: M,
    bases: &[usize],
    data: &[f32],
    segment: Segment,
    vectors: [&[[f32; LANES]]; P],
    place: Destination,
    out: &mut [f32],
) {
    let (mut row, mut tiles) = (0, segment.length.div_ceil(M::ROWS));
    while tiles > 0 {
        let height = (segment.length - row).div_ceil(tiles);
        let from = &data[segment.offset + row..];
        let to = &mut out[row * place.width..];
        macro_rules! of_height {
            ($($h:literal)*) => {
                match height {
                    $($h if $h <= M::ROWS => {
                        let tiles = tile::<M, $h, P>(machine, bases, from, vectors);
                        for (panel, sums) in tiles.into_iter().enumerate() {
                            put(machine, sums, Destination { column: place.column + panel * LANES, ..place }, to);
                        }
                    })*
                    _ => unreachable!("a tile has at most as many rows as the registers hold"),
                }
            };
        }
        of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
        row += height;
        tiles -= 1;
    }
}

/// Multiplies H numbers of each row with P panels.
#[inline(always)]
fn tile<M: Machine, const H: usize, const P: usize>(
    machine: M,
    bases: &[usize],
    from: &[f32],
    vectors: [&[[f32; LANES]]; P],
) -> [[M::Vector; H]; P] {
    let mut sums = [[machine.zero(); H]; P];
    let vectors: [&[[f32; LANES]]; P] = std::array::from_fn(|p| &vectors[p][..bases.len()]);
    for (row, base) in bases.iter().enumerate() {
        let Some(x) = from[*base..].first_chunk::<H>() else {
            unreachable!("a row has all numbers of its segments");
        };
        for i in 0..H {
            for p in 0..P {
                sums[p][i] = machine.multiply_add(x[i], machine.load(&vectors[p][row]), sums[p][i]);
            }
        }
    }
    sums
}

#[inline(always)]
pub(super) fn put<M: Machine, const H: usize>(
    machine: M,
    sums: [M::Vector; H],
    place: Destination,
    out: &mut [f32],
) {
    let Destination { width, column, write } = place;
    let lanes = LANES.min(width - column);
    for (i, sum) in sums.iter().enumerate() {
        let to = &mut out[i * width + column..][..lanes];
        match (write, to.first_chunk_mut()) {
            (Write::Set, Some(to)) => *to = machine.store(*sum),
            (Write::Add, Some(to)) => {
                *to = machine.store(machine.multiply_add(1.0, *sum, machine.load(to)));
            }
            (Write::Set, None) => to.copy_from_slice(&machine.store(*sum)[..lanes]),
            (Write::Add, None) => {
                let sum = machine.store(*sum);
                to.iter_mut().zip(&sum).for_each(|(to, sum)| *to += sum);
            }
        }
    }
}

vectorised! {
    /// Writes the sum of the first `count` rows of `columns` to `out`, in the chains of [`outer`].
    fn sum_rows(columns: Columns<'_>, count: usize, run: usize, write: Write, out: &mut [f32]) = sum_rows_body;
}

#[inline(always)]
fn sum_rows_body<M: Machine>(
    machine: M,
    columns: Columns<'_>,
    count: usize,
    run: usize,
    write: Write,
    out: &mut [f32],
) {
    let Columns { data, start, step, width } = columns;
    for first in (0..count).step_by(run) {
        let write = if first == 0 { write } else { Write::Add };
        for column in (0..width).step_by(LANES) {
            let mut sums = machine.zero();
            for row in first..count.min(first + run) {
                let Some(vector) = data[start + row * step + column..].first_chunk() else {
                    unreachable!("arrays have a vector to spare after their last row");
                };
                sums = machine.multiply_add(1.0, machine.load(vector), sums);
            }
            put(machine, [sums], Destination { width, column, write }, out);
        }
    }
    if count == 0 && write == Write::Set {
        out.fill(0.0);
    }
}
