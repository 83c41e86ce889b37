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
    for first in (0..count).step_by(RUN) {
        let bases = &rows.bases[first..count.min(first + RUN)];
        let columns = Columns { start: columns.start + first * columns.step, ..columns };
        let write = if first == 0 { write } else { Write::Add };
        for column in (0..columns.width).step_by(LANES) {
            let mut line = 0;
            for segment in &rows.segments {
                let to = &mut out[line * columns.width..];
                segment_body(machine, bases, data, *segment, columns, column, write, to);
                line += segment.length;
            }
        }
    }
}

/// All of a segment against sixteen columns.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "one level of a nest of loops")]
fn segment_body<M: Machine>(
    machine: M,
    bases: &[usize],
    data: &[f32],
    segment: Segment,
    columns: Columns<'_>,
    column: usize,
    write: Write,
    out: &mut [f32],
) {
    let (mut line, mut tiles) = (0, segment.length.div_ceil(M::ROWS));
    while tiles > 0 {
        let height = (segment.length - line).div_ceil(tiles);
        let offset = segment.offset + line;
        let to = &mut out[line * columns.width..];
        macro_rules! of_height {
            ($($h:literal)*) => {
                match height {
                    $($h if $h <= M::ROWS => tile::<M, $h>(machine, bases, data, offset, columns, column, write, to),)*
                    _ => unreachable!("a tile has at most as many rows as the registers hold"),
                }
            };
        }
        of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
        line += height;
        tiles -= 1;
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the innermost level of a nest of loops")]
fn tile<M: Machine, const H: usize>(
    machine: M,
    bases: &[usize],
    data: &[f32],
    offset: usize,
    columns: Columns<'_>,
    column: usize,
    write: Write,
    out: &mut [f32],
) {
    let mut sums = [machine.zero(); H];
    let mut at = columns.start + column;
    for base in bases {
        let (Some(x), Some(line)) =
            (data[base + offset..].first_chunk::<H>(), columns.data[at..].first_chunk())
        else {
            unreachable!("arrays go on for a line after their last row");
        };
        let line = machine.load(line);
        for i in 0..H {
            sums[i] = machine.multiply_add(x[i], line, sums[i]);
        }
        at += columns.step;
    }
    let lanes = LANES.min(columns.width - column);
    for (i, sum) in sums.iter().enumerate() {
        let sum = machine.store(*sum);
        let to = &mut out[i * columns.width + column..][..lanes];
        match (write, to.first_chunk_mut()) {
            (Write::Set, Some(to)) => *to = sum,
            (Write::Add, Some(to)) => *to = std::array::from_fn::<f32, LANES, _>(|lane| to[lane] + sum[lane]),
            (Write::Set, None) => to.copy_from_slice(&sum[..lanes]),
            (Write::Add, None) => to.iter_mut().zip(&sum).for_each(|(to, sum)| *to += sum),
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
