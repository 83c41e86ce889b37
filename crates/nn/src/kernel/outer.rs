//! Sums of outer products over rows: gradients of weights.
//!
//! # Definition
//! With p_r the numbers of row r in the order of its segments, and q_r a run of numbers,
//! ```text
//! out += Σ_r p_r q_r^T
//! ```
//! Rows are summed in runs of at most [`RUN`], each from zero, and the runs are added to `out`: the longest chain of additions
//! that leads to a number is `min(R, RUN) + ceil(R/RUN)` for R rows, which is what the allowance for float sums counts.

use super::isa::{LANES, Machine, vectorised};
use super::product::{Rows, Segment};

/// Rows of one chain.
pub(crate) const RUN: usize = 64;

/// The second factor: rows of `width` numbers, `step` apart. The array must go on for [`LANES`] numbers after the last row.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) start: usize,
    pub(crate) step: usize,
    pub(crate) width: usize,
}

/// What becomes of the numbers that `out` has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// They are overwritten.
    Set,
    /// The sums are added to them.
    Add,
}

vectorised! {
    /// Writes `Σ_r p_r q_r^T` over the first `count` rows, by rows of `columns.width` numbers, to `out`.
    fn outer(
        rows: &Rows,
        count: usize,
        data: &[f32],
        columns: Columns<'_>,
        write: Write,
        out: &mut [f32],
    ) = outer_body;
}

#[inline(always)]
fn outer_body<M: Machine>(
    machine: M,
    rows: &Rows,
    count: usize,
    data: &[f32],
    columns: Columns<'_>,
    write: Write,
    out: &mut [f32],
) {
    if count == 0 && write == Write::Set {
        out.fill(0.0);
    }
    let mut strip = [[[0.0; LANES]; RUN]; STRIP];
    for first in (0..count).step_by(RUN) {
        let bases = &rows.bases[first..count.min(first + RUN)];
        let write = if first == 0 { write } else { Write::Add };
        for column in (0..columns.width).step_by(STRIP * LANES) {
            let panels = (columns.width - column).div_ceil(LANES).min(STRIP);
            let from = columns.start + first * columns.step + column;
            pack(&mut strip[..panels], columns, from, bases.len());
            for (panel, lines) in strip[..panels].iter().enumerate() {
                let place = Place { width: columns.width, column: column + panel * LANES, write };
                let mut line = 0;
                for segment in &rows.segments {
                    let to = &mut out[line * columns.width..];
                    segment_body(machine, bases, data, *segment, &lines[..bases.len()], place, to);
                    line += segment.length;
                }
            }
        }
    }
}

/// Panels of columns that are copied out at a time. Rows of columns are often a power of two apart, and then all in the same few
/// sets of a cache: what every tile reads again must not be there.
const STRIP: usize = 4;

/// Copies `count` rows of some panels, from `from` on.
#[inline(always)]
fn pack(strip: &mut [[[f32; LANES]; RUN]], columns: Columns<'_>, from: usize, count: usize) {
    for row in 0..count {
        for (panel, lines) in strip.iter_mut().enumerate() {
            let Some(line) = columns.data[from + row * columns.step + panel * LANES..].first_chunk() else {
                unreachable!("arrays go on for a line after their last row");
            };
            lines[row] = *line;
        }
    }
}

/// Where sums go: columns from one on, in rows of so many.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) width: usize,
    pub(super) column: usize,
    pub(super) write: Write,
}

/// All of a segment against sixteen columns.
#[inline(always)]
fn segment_body<M: Machine>(
    machine: M,
    bases: &[usize],
    data: &[f32],
    segment: Segment,
    lines: &[[f32; LANES]],
    place: Place,
    out: &mut [f32],
) {
    let (mut line, mut tiles) = (0, segment.length.div_ceil(M::ROWS));
    while tiles > 0 {
        let height = (segment.length - line).div_ceil(tiles);
        let from = &data[segment.offset + line..];
        let to = &mut out[line * place.width..];
        macro_rules! of_height {
            ($($h:literal)*) => {
                match height {
                    $($h if $h <= M::ROWS => put(machine, tile::<M, $h>(machine, bases, from, lines), place, to),)*
                    _ => unreachable!("a tile has at most as many rows as the registers hold"),
                }
            };
        }
        of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
        line += height;
        tiles -= 1;
    }
}

/// H numbers of each row against sixteen columns.
#[inline(always)]
fn tile<M: Machine, const H: usize>(
    machine: M,
    bases: &[usize],
    from: &[f32],
    lines: &[[f32; LANES]],
) -> [M::Line; H] {
    let mut sums = [machine.zero(); H];
    for (base, line) in bases.iter().zip(lines) {
        let Some(x) = from[*base..].first_chunk::<H>() else {
            unreachable!("a row has all numbers of its segments");
        };
        let line = machine.load(line);
        for i in 0..H {
            sums[i] = machine.multiply_add(x[i], line, sums[i]);
        }
    }
    sums
}

#[inline(always)]
pub(super) fn put<M: Machine, const H: usize>(machine: M, sums: [M::Line; H], place: Place, out: &mut [f32]) {
    let Place { width, column, write } = place;
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
    fn sum_rows(columns: Columns<'_>, count: usize, write: Write, out: &mut [f32]) = sum_rows_body;
}

#[inline(always)]
fn sum_rows_body<M: Machine>(_: M, columns: Columns<'_>, count: usize, write: Write, out: &mut [f32]) {
    let Columns { data, start, step, width } = columns;
    if write == Write::Set {
        out.fill(0.0);
    }
    for first in (0..count).step_by(RUN) {
        for column in (0..width).step_by(LANES) {
            let lanes = LANES.min(width - column);
            let mut sums = [0.0; LANES];
            for row in first..count.min(first + RUN) {
                let line = &data[start + row * step + column..][..lanes];
                sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += x);
            }
            out[column..column + lanes].iter_mut().zip(&sums).for_each(|(out, sum)| *out += sum);
        }
    }
}
