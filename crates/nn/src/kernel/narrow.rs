//! Dense layers of few outputs and many inputs, whose rows are read wherever they are.
//!
//! # Definition
//! With x_r the r-th of some rows of K numbers, W a matrix of N rows (N below [`LANES`]), and q_r a run of N numbers,
//! ```text
//! out[r] = bias + W x_r              narrow_product
//! out   += Σ_r q_r x_r^T             narrow_outer
//! ```
//! Lanes of registers are K: with so few outputs most of them would be idle on the other way.
//!
//! # Order
//! A number of a product is sixteen chains, one for each remainder of k, which are added pairwise: the bits of a row depend on that row and W
//! alone. Outer products are summed as in [`outer`](super::outer), with the same bits.

use super::isa::{LANES, Machine, vectorised};
use super::outer::{Place, RUN, Write, put};
use super::pointwise::sum_of_squares_body;
use super::tile::{load_some, tile};

/// Numbers of W that are used at a time: they stay in a first-level cache.
const NEAR: usize = 5 << 10;

/// Numbers of a row that are used at a time.
fn deep(outputs: usize) -> usize {
    (NEAR / outputs).next_multiple_of(LANES)
}

/// Numbers that a packed W takes, with some to spare before it.
pub(crate) fn narrow_len(inputs: usize, outputs: usize) -> usize {
    inputs * outputs + LANES
}

/// Packs W, which is stored by rows, part by part: its rows are often a power of two apart, and then all in the same few sets of a cache.
/// Says where in `packed` it begins: at a line of the cache, for a load that goes across two takes twice as long.
pub(crate) fn pack_narrow(packed: &mut [f32], outputs: usize, weights: &[f64]) -> usize {
    let inputs = weights.len() / outputs;
    let start = packed.as_ptr().align_offset(LANES * size_of::<f32>()).min(packed.len() - weights.len());
    let mut rest = &mut packed[start..];
    for from in (0..inputs).step_by(deep(outputs)) {
        let part = from..inputs.min(from + deep(outputs));
        for row in weights.chunks_exact(inputs) {
            let (to, later) = rest.split_at_mut(part.len());
            to.iter_mut().zip(&row[part.clone()]).for_each(|(to, weight)| *to = *weight as f32);
            rest = later;
        }
    }
    start
}

/// Whether a layer is worth it.
pub(crate) fn is_narrow(inputs: usize, outputs: usize) -> bool {
    outputs < LANES && inputs >= 4 * LANES
}

vectorised! {
    /// `out[r] = bias + W x_r`, with W from [`pack_narrow`], and `squares[r] = ‖x_r‖²` where they are wanted, in double precision, while numbers are
    /// near. `room` is a place to work in, which grows as it needs to.
    fn narrow_product(
        rows: &[&[f32]],
        weights: &[f32],
        bias: &[f32],
        room: &mut Vec<f32>,
        squares: Option<&mut [f64]>,
        out: &mut [f32],
    ) = product_body;
}

#[inline(always)]
fn product_body<M: Machine>(
    machine: M,
    rows: &[&[f32]],
    weights: &[f32],
    bias: &[f32],
    room: &mut Vec<f32>,
    mut squares: Option<&mut [f64]>,
    out: &mut [f32],
) {
    squares.iter_mut().for_each(|squares| squares.fill(0.0));
    let outputs = bias.len();
    let depth = weights.len() / outputs;
    room.clear();
    room.resize(rows.len() * outputs * LANES, 0.0);
    let sums = room.as_chunks_mut::<LANES>().0;
    for from in (0..depth).step_by(deep(outputs)) {
        let part = from..depth.min(from + deep(outputs));
        let weights = &weights[from * outputs..part.end * outputs];
        for (number, sums) in sums.chunks_exact_mut(outputs).enumerate() {
            let next = rows.get(number + AHEAD).map(|row| &row[part.clone()]).unwrap_or_default();
            let row = &rows[number][part.clone()];
            all_outputs(machine, row, next, weights, sums);
            if let Some(squares) = &mut squares {
                squares[number] += sum_of_squares_body(machine, row);
            }
        }
    }
    for ((out, sums), bias) in out.iter_mut().zip(sums).zip(bias.iter().cycle()) {
        *out = bias + added(*sums);
    }
}

/// How many rows before its turn a row is asked for.
const AHEAD: usize = 4;

/// A part of a row against all outputs, as many at a time as registers have room for, while that of a later row comes nearer.
#[inline(always)]
fn all_outputs<M: Machine>(
    machine: M,
    row: &[f32],
    next: &[f32],
    weights: &[f32],
    sums: &mut [[f32; LANES]],
) {
    let lines = next.len().div_ceil(LANES * sums.len().div_ceil(M::ROWS)).max(1);
    let mut next = next.as_chunks().0.chunks(lines);
    for (first, count) in tiles(sums.len(), M::ROWS) {
        let (weights, sums) = (&weights[first * row.len()..], &mut sums[first..first + count]);
        next.next().unwrap_or_default().iter().for_each(|line| machine.prefetch(line));
        macro_rules! of_count {
            ($($n:literal)*) => {
                match count {
                    $($n if $n <= M::ROWS => tile_of_row::<M, $n>(machine, row, weights, sums),)*
                    _ => unreachable!("a tile has at most as many outputs as the registers hold"),
                }
            };
        }
        of_count!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

/// A part of a row against N outputs. Weights are used once, so that a multiplication takes them from memory: one instruction each.
#[inline(always)]
fn tile_of_row<M: Machine, const N: usize>(
    machine: M,
    row: &[f32],
    weights: &[f32],
    sums: &mut [[f32; LANES]],
) {
    let of: [&[f32]; N] = std::array::from_fn(|n| &weights[n * row.len()..][..row.len()]);
    let mut lines: [M::Line; N] = std::array::from_fn(|n| machine.load(&sums[n]));
    let x = row.as_chunks::<LANES>().0;
    let w = of.map(|weights| &weights.as_chunks::<LANES>().0[..x.len()]);
    for k in 0..x.len() {
        let x = machine.load(&x[k]);
        for n in 0..N {
            lines[n] = machine.multiply_lines(x, machine.load(&w[n][k]), lines[n]);
        }
    }
    let x = rest(row);
    if !x.is_empty() {
        for n in 0..N {
            let (x, w) = (load_some(machine, x), load_some(machine, rest(of[n])));
            lines[n] = machine.multiply_lines(x, w, lines[n]);
        }
    }
    for n in 0..N {
        sums[n] = machine.store(lines[n]);
    }
}

/// Where tiles of at most so many outputs begin, and how many outputs each has: as few tiles as can be, of nearly the same height.
#[inline(always)]
fn tiles(outputs: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = outputs.div_ceil(most);
    (0..count)
        .map(move |tile| (tile * outputs / count, (tile + 1) * outputs / count - tile * outputs / count))
}

/// What is left after whole lines.
fn rest(row: &[f32]) -> &[f32] {
    row.as_chunks::<LANES>().1
}

/// Pairwise.
fn added(line: [f32; LANES]) -> f32 {
    let eight: [f32; 8] = std::array::from_fn(|i| line[i] + line[i + 8]);
    let four: [f32; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

vectorised! {
    /// Writes `Σ_r q_r x_r^T`, by rows of K numbers, to `out`; `factors` has N numbers for each row.
    fn narrow_outer(outputs: usize, factors: &[f32], rows: &[&[f32]], write: Write, out: &mut [f32]) = outer_body;
}

#[inline(always)]
fn outer_body<M: Machine>(
    machine: M,
    outputs: usize,
    factors: &[f32],
    rows: &[&[f32]],
    write: Write,
    out: &mut [f32],
) {
    let Some(width) = rows.first().map(|row| row.len()) else {
        if write == Write::Set {
            out.fill(0.0);
        }
        return;
    };
    let (mut strip, mut packed) = (Strip([[[0.0; LANES]; RUN]; STRIP]), [0.0; RUN * LANES]);
    for (run, (factors, rows)) in factors.chunks(RUN * outputs).zip(rows.chunks(RUN)).enumerate() {
        let write = if run == 0 { write } else { Write::Add };
        for (first, height) in tiles(outputs, M::ROWS) {
            let to = packed[first * rows.len()..].chunks_exact_mut(height);
            to.zip(factors.chunks_exact(outputs)).take(rows.len()).for_each(|(to, factors)| {
                to.copy_from_slice(&factors[first..first + height]);
            });
        }
        // From the end: what the product read last is still near.
        for column in (0..width).step_by(STRIP * LANES).rev() {
            let panels = (width - column).div_ceil(LANES).min(STRIP);
            pack(machine, &mut strip.0[..panels], rows, column);
            for (panel, lines) in strip.0[..panels].iter().enumerate() {
                let place = Place { width, column: column + panel * LANES, write };
                add_panel(machine, outputs, &packed, &lines[..rows.len()], place, out);
            }
        }
    }
}

/// All outputs against sixteen columns of some rows.
#[inline(always)]
fn add_panel<M: Machine>(
    machine: M,
    outputs: usize,
    packed: &[f32],
    lines: &[[f32; LANES]],
    place: Place,
    out: &mut [f32],
) {
    for (first, height) in tiles(outputs, M::ROWS) {
        let (packed, out) = (&packed[first * lines.len()..], &mut out[first * place.width..]);
        macro_rules! of_height {
            ($($h:literal)*) => {
                match height {
                    $($h if $h <= M::ROWS => {
                        let factors = &packed.as_chunks::<$h>().0[..lines.len()];
                        put(machine, tile(machine, factors, lines, [machine.zero(); $h]), place, out);
                    })*
                    _ => unreachable!("a tile has at most as many rows as the registers hold"),
                }
            };
        }
        of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

/// Panels of columns that are copied out at a time: with what they are copied from they fit in a first-level cache.
const STRIP: usize = 2;

/// At lines of the cache, as W is.
#[repr(align(64))]
struct Strip([[[f32; LANES]; RUN]; STRIP]);

/// Copies some panels of all rows, from a column on, and asks for the next: rows are far apart, and nobody guesses that they follow.
#[inline(always)]
fn pack<M: Machine>(machine: M, strip: &mut [[[f32; LANES]; RUN]], rows: &[&[f32]], column: usize) {
    for (number, row) in rows.iter().enumerate() {
        let next = column.checked_sub(STRIP * LANES).map(|column| &row[column..]).unwrap_or_default();
        next.as_chunks().0.iter().take(STRIP).for_each(|line| machine.prefetch(line));
        for (panel, lines) in strip.iter_mut().enumerate() {
            let from = &row[column + panel * LANES..];
            match from.first_chunk() {
                Some(line) => lines[number] = *line,
                None => {
                    lines[number] = [0.0; LANES];
                    lines[number][..from.len()].copy_from_slice(from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::super::outer::{Columns, outer};
    use super::super::product::{Rows, Segment};
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    fn product(isa: Isa, rows: &[&[f32]], weights: &[f32], bias: &[f32]) -> Vec<f32> {
        let (mut room, mut out) = (vec![f32::NAN; 7], vec![f32::NAN; rows.len() * bias.len()]);
        let weights: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
        let mut packed = vec![0.0; narrow_len(weights.len() / bias.len(), bias.len())];
        let start = pack_narrow(&mut packed, bias.len(), &weights);
        let mut squares = vec![f64::NAN; rows.len()];
        let packed = &packed[start..][..weights.len()];
        narrow_product(isa, rows, packed, bias, &mut room, Some(&mut squares), &mut out);
        for (row, square) in rows.iter().zip(squares) {
            let exact: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
            assert!((square / exact - 1.0).abs() < 1e-13 || exact.is_nan() && square.is_nan());
        }
        out
    }

    #[test]
    fn products_are_the_plain_ones() {
        for (count, depth, outputs) in [(1, 1, 1), (2, 16, 3), (7, 70, 10), (5, 1100, 15), (3, 5200, 2)] {
            let (data, weights, bias) =
                (numbers(count * depth, 1), numbers(depth * outputs, 2), numbers(outputs, 3));
            let rows: Vec<&[f32]> = data.chunks(depth).collect();
            for isa in [Isa::portable(), Isa::detect()] {
                for (at, got) in product(isa, &rows, &weights, &bias).iter().enumerate() {
                    let (row, n) = (rows[at / outputs], at % outputs);
                    let terms = row.iter().zip(&weights[n * depth..]);
                    let exact: f64 = terms.map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    let exact = exact + f64::from(bias[n]);
                    assert!(
                        (f64::from(*got) - exact).abs() < 1e-4,
                        "{count} {depth} {outputs}: {got} {exact}"
                    );
                }
            }
        }
    }

    /// A row's result has the same bits alone, among others, in any place, and beside rows that are not finite.
    #[test]
    fn a_row_does_not_feel_its_neighbours() {
        let (depth, outputs) = (1041, 10);
        let (weights, bias, row) = (numbers(depth * outputs, 4), numbers(outputs, 5), numbers(depth, 6));
        let other = vec![f32::NAN; depth];
        for isa in [Isa::portable(), Isa::detect()] {
            let alone = product(isa, &[&row], &weights, &bias);
            for count in 1..6 {
                for place in 0..count {
                    let rows: Vec<&[f32]> =
                        (0..count).map(|i| &(if i == place { &row } else { &other })[..]).collect();
                    let out = product(isa, &rows, &weights, &bias);
                    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
                    assert!(
                        out[place * outputs..][..outputs].iter().zip(&alone).all(same),
                        "{place} of {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn outer_products_have_the_bits_of_the_others() {
        for (count, width, outputs) in [(1, 1, 1), (3, 70, 10), (64, 64, 3), (130, 100, 15), (65, 257, 7)] {
            let (mut data, factors) = (numbers(count * width, 7), numbers(count * outputs, 8));
            let rows: Vec<Vec<f32>> = data.chunks(width).map(<[f32]>::to_vec).collect();
            let rows: Vec<&[f32]> = rows.iter().map(|row| &row[..]).collect();
            data.extend([0.0; LANES]);
            let segments = vec![Segment { offset: 0, length: outputs }];
            let table = Rows { segments, ..Rows::dense(count, outputs, outputs) };
            let columns = Columns { data: &data, start: 0, step: width, width };
            for isa in [Isa::portable(), Isa::detect()] {
                let [mut narrow, mut plain] = [(); 2].map(|()| numbers(outputs * width, 9));
                for write in [Write::Add, Write::Set] {
                    narrow_outer(isa, outputs, &factors, &rows, write, &mut narrow);
                    outer(isa, &table, count, &factors, columns, write, &mut plain);
                    assert_eq!(narrow, plain, "{count} {width} {outputs}");
                }
            }
        }
        let mut sum = [1.0, 2.0];
        narrow_outer(Isa::detect(), 1, &[], &[], Write::Add, &mut sum);
        assert_eq!(sum, [1.0, 2.0]);
        narrow_outer(Isa::detect(), 1, &[], &[], Write::Set, &mut sum);
        assert_eq!(sum, [0.0, 0.0]);
    }
}
