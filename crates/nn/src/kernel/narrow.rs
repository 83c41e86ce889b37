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
//! The product takes [`DEEP`] columns at a time, for all rows: of W it has then as much at hand as a first-level cache holds, and of
//! each row it reads a stretch. Rows come in pairs, so that what is read of W serves two. The outer product takes as many columns as have their sums in registers.
//!
//! # Order
//! A number of a product is as many chains as a register has lanes, which are added: the bits of a row depend on that row and W alone. A number of an
//! outer product is one chain over all rows, whatever calls they come in.

use super::isa::{LANES, Machine, vectorised};
use super::outer::Write;

/// Columns of a part.
const DEEP: usize = 256;

/// A part of a row, in lines.
type Part = [[f32; LANES]; LINES];
const LINES: usize = DEEP / LANES;

/// Numbers that a packed W takes, with some to spare before it.
pub(crate) fn narrow_len(inputs: usize, outputs: usize) -> usize {
    inputs.next_multiple_of(DEEP) * outputs + LANES
}

/// Packs W, which is stored by rows, part by part: its rows are often a power of two apart, and then all in the same few sets of a cache.
/// Says where in `packed` it begins: at a line of the cache, for a load that goes across two takes twice as long.
pub(crate) fn pack_narrow(packed: &mut [f32], outputs: usize, weights: &[f64]) -> usize {
    let inputs = weights.len() / outputs;
    let start = packed.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
    let mut parts = packed[start..].chunks_exact_mut(DEEP);
    for from in (0..inputs).step_by(DEEP) {
        for (row, to) in weights.chunks_exact(inputs).zip(&mut parts) {
            let row = &row[from..inputs.min(from + DEEP)];
            let (to, padding) = to.split_at_mut(row.len());
            to.iter_mut().zip(row).for_each(|(to, weight)| *to = *weight as f32);
            padding.fill(0.0);
        }
    }
    start
}

/// Whether a layer is worth it.
pub(crate) fn is_narrow(inputs: usize, outputs: usize) -> bool {
    outputs < LANES && inputs >= 4 * LANES
}

vectorised! {
    /// `out[r] = bias + W x_r`, with W from [`pack_narrow`], and where they are wanted `squares[r]`, at least ‖x_r‖² and hardly more
    /// (see [`INEXACT`]). `room` is a place to work in, which grows as it needs to.
    fn narrow_product(
        rows: &[&[f32]],
        weights: &[f32],
        bias: &[f32],
        room: &mut Vec<f32>,
        squares: Option<&mut [f64]>,
        out: &mut [f32],
    ) = product_body;
}

/// What part of a sum of squares may be missing: in a part of a row each lane of eight or more is a chain of at most `DEEP/8` additions of numbers that
/// are not negative, each with a relative error of at most 2^-24. Four times that, for whatever double precision does to it.
const INEXACT: f64 = 4.0 * (DEEP / 8) as f64 / (1 << 24) as f64;

/// What may be missing of a square that is no normal number, even where a library has told the processor to take such numbers for 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// How many rows before its turn a row is asked for.
const AHEAD: usize = 4;

/// Sums of a pair of rows for one output, in the lanes of a register each; where two registers are a line, both are in the first.
type Pair = [[f32; LANES]; 2];

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
    let (outputs, depth) = (bias.len(), rows.first().map_or(0, |row| row.len()));
    squares.iter_mut().for_each(|squares| squares.fill(TINY * depth as f64));
    room.clear();
    room.resize(rows.len().div_ceil(2) * outputs * 2 * LANES, 0.0);
    let sums: &mut [Pair] = room.as_chunks_mut().0.as_chunks_mut().0;
    let (mut spare, parts) = (Spare::default(), weights.as_chunks().0.as_chunks().0.chunks_exact(outputs));
    for (from, weights) in (0..depth).step_by(DEEP).zip(parts) {
        let lines = (depth - from).div_ceil(LANES).min(LINES);
        for ((pair, sums), first) in rows.chunks(2).zip(sums.chunks_exact_mut(outputs)).zip((0..).step_by(2))
        {
            let next = rows[first..].get(AHEAD..).unwrap_or_default();
            let x = spare.parts(pair, from);
            let found = all_outputs(machine, x, next, from, weights, lines, sums, squares.is_some());
            if let Some(squares) = &mut squares {
                squares[first..].iter_mut().zip(found).for_each(|(square, found)| *square += found);
            }
        }
    }
    squares.into_iter().flatten().for_each(|square| *square *= 1.0 + INEXACT);
    let out = &mut out[..rows.len() * outputs];
    for (out, sums) in out.chunks_mut(2 * outputs).zip(sums.chunks_exact(outputs)) {
        for (row, out) in out.chunks_exact_mut(outputs).enumerate() {
            for ((out, sums), bias) in out.iter_mut().zip(sums).zip(bias) {
                let lanes = &sums.as_flattened()[row * M::WIDTH..][..M::WIDTH];
                *out = bias + lanes.iter().sum::<f32>();
            }
        }
    }
}

/// A place for parts that are not whole: the others are read where they are.
#[derive(Default)]
struct Spare([Part; 2]);

impl Spare {
    /// A part of two rows, or of one twice. Ends are padded with zeros; all calls for one column have as many numbers.
    #[inline(always)]
    fn parts<'a>(&'a mut self, pair: &[&'a [f32]], from: usize) -> [&'a Part; 2] {
        let (first, last) = (pair[0], pair[pair.len() - 1]);
        if let (Some(first), Some(last)) = (whole(first, from), whole(last, from)) {
            return [first, last];
        }
        for (spare, row) in self.0.iter_mut().zip([first, last]) {
            spare.as_flattened_mut()[..row.len() - from].copy_from_slice(&row[from..]);
        }
        self.0.each_ref()
    }
}

#[inline(always)]
fn whole(row: &[f32], from: usize) -> Option<&Part> {
    row[from..].as_chunks().0.first_chunk()
}

/// A part of a pair of rows against all outputs, as many at a time as registers have room for, while that of later rows comes nearer.
/// The squares of both, if they are wanted.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "all that a product is made of")]
fn all_outputs<M: Machine>(
    machine: M,
    x: [&Part; 2],
    next: &[&[f32]],
    from: usize,
    weights: &[Part],
    lines: usize,
    sums: &mut [Pair],
    has_squares: bool,
) -> [f64; 2] {
    // With the first two tiles one each; a single tile has both. The last pairs, and ends of rows, are near already, or soon.
    let mut ahead = next.iter().take(2).map(|row| whole(row, from));
    let mut next = [ahead.next().flatten(), ahead.next().flatten()];
    let (outputs, mut squares) = (weights.len(), [0.0; 2]);
    for (first, count) in tiles(outputs, M::ROWS) {
        let (weights, sums) = (&weights[first..], &mut sums[first..]);
        let [now, later] = next;
        let asked = if outputs <= M::ROWS { next } else { [now, None] };
        next = [later, None];
        // The last tile has them.
        let has_squares = has_squares && first + count == outputs;
        macro_rules! of_count {
            ($($n:literal)*) => {
                match (count, has_squares) {
                    $(($n, false) if $n <= M::ROWS => {
                        product_tile::<M, $n, false>(machine, x, asked, weights, lines, sums);
                    })*
                    $(($n, true) if $n <= M::ROWS => {
                        squares = product_tile::<M, $n, true>(machine, x, asked, weights, lines, sums);
                    })*
                    _ => unreachable!("a tile has at most as many outputs as the registers hold"),
                }
            };
        }
        of_count!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
    squares
}

/// A part of a pair of rows against N outputs; the squares of both if S.
#[inline(always)]
fn product_tile<M: Machine, const N: usize, const S: bool>(
    machine: M,
    x: [&Part; 2],
    next: [Option<&Part>; 2],
    weights: &[Part],
    lines: usize,
    sums: &mut [Pair],
) -> [f64; 2] {
    let (Some(weights), Some(sums)) = (weights.first_chunk::<N>(), sums.first_chunk_mut::<N>()) else {
        unreachable!("a tile has its weights and sums");
    };
    let parts = LANES / M::WIDTH;
    let (mut totals, mut squares) = ([[machine.everywhere(0.0); 2]; N], [machine.everywhere(0.0); 2]);
    for n in 0..N {
        for r in 0..2 {
            totals[n][r] = machine.register(&sums[n][r / parts], r % parts);
        }
    }
    for k in 0..lines.min(LINES) {
        // A line at a time: many at once would wait for each other, and everything for them.
        for next in next.iter().flatten() {
            machine.prefetch(&next[k]);
        }
        for part in 0..parts {
            let (a, b) = (machine.register(&x[0][k], part), machine.register(&x[1][k], part));
            for n in 0..N {
                let w = machine.register(&weights[n][k], part);
                totals[n][0] = machine.multiply_registers(a, w, totals[n][0]);
                totals[n][1] = machine.multiply_registers(b, w, totals[n][1]);
            }
            if S {
                squares[0] = machine.multiply_registers(a, a, squares[0]);
                squares[1] = machine.multiply_registers(b, b, squares[1]);
            }
        }
    }
    for n in 0..N {
        for r in 0..2 {
            machine.put(totals[n][r], &mut sums[n][r / parts], r % parts);
        }
    }
    let mut found = [0.0; 2];
    for r in 0..if S { 2 } else { 0 } {
        let mut line = [0.0; LANES];
        machine.put(squares[r], &mut line, 0);
        found[r] = line[..M::WIDTH].iter().map(|x| f64::from(*x)).sum();
    }
    found
}

/// Where tiles of at most so many outputs begin, and how many outputs each has: as few tiles as can be, of nearly the same height.
#[inline(always)]
fn tiles(outputs: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = outputs.div_ceil(most);
    (0..count)
        .map(move |tile| (tile * outputs / count, (tile + 1) * outputs / count - tile * outputs / count))
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
    // Two registers of columns at a time.
    match M::WIDTH {
        16 => all_stretches::<M, 2>(machine, outputs, factors, rows, write, out),
        8 => all_stretches::<M, 1>(machine, outputs, factors, rows, write, out),
        _ => unreachable!("no machine has other registers"),
    }
}

/// L lines of columns at a time, for all rows: their sums stay in registers.
#[inline(always)]
fn all_stretches<M: Machine, const L: usize>(
    machine: M,
    outputs: usize,
    factors: &[f32],
    rows: &[&[f32]],
    write: Write,
    out: &mut [f32],
) {
    let width = out.len() / outputs;
    // From the end: what the product read last is still at hand.
    for from in (0..width).step_by(L * LANES).rev() {
        for (first, count) in tiles(outputs, M::ROWS) {
            let place = Stretch { outputs, first, from, width };
            macro_rules! of_count {
                ($($n:literal)*) => {
                    match count {
                        $($n if $n <= M::ROWS => outer_tile::<M, $n, L>(machine, place, factors, rows, write, out),)*
                        _ => unreachable!("a tile has at most as many outputs as the registers hold"),
                    }
                };
            }
            of_count!(1 2 3 4 5 6 7 8 9 10 11 12);
        }
    }
}

/// Which outputs, of how many, and which columns.
#[derive(Clone, Copy)]
struct Stretch {
    outputs: usize,
    first: usize,
    from: usize,
    width: usize,
}

/// N outputs from one on, and some columns.
#[inline(always)]
fn outer_tile<M: Machine, const N: usize, const L: usize>(
    machine: M,
    place: Stretch,
    factors: &[f32],
    rows: &[&[f32]],
    write: Write,
    out: &mut [f32],
) {
    let Stretch { outputs, first, from, width } = place;
    let (parts, count) = (LANES / M::WIDTH, (L * LANES).min(width - from));
    let (mut sums, mut spare) = ([[machine.everywhere(0.0); 2]; N], [[0.0; LANES]; L]);
    if write == Write::Add {
        for n in 0..N {
            let lines = lines_at(&out[(first + n) * width..][..width], from, &mut spare);
            for r in 0..2 {
                sums[n][r] = machine.register(&lines[r / parts], r % parts);
            }
        }
    }
    // Arrays of factors go on; what is beyond these rows is of others.
    for (row, factors) in rows.iter().zip(factors.chunks_exact(outputs)) {
        let (x, Some(q)) = (lines_at(row, from, &mut spare), factors[first..].first_chunk::<N>()) else {
            unreachable!("a row has a factor for every output");
        };
        let (a, b) = (machine.register(&x[0], 0), machine.register(&x[1 / parts], 1 % parts));
        for n in 0..N {
            let q = machine.everywhere(q[n]);
            sums[n][0] = machine.multiply_registers(a, q, sums[n][0]);
            sums[n][1] = machine.multiply_registers(b, q, sums[n][1]);
        }
    }
    for n in 0..N {
        for r in 0..2 {
            machine.put(sums[n][r], &mut spare[r / parts], r % parts);
        }
        let to = &mut out[(first + n) * width + from..][..count];
        match to.as_chunks_mut().0.first_chunk_mut() {
            Some(to) => *to = spare,
            None => to.copy_from_slice(&spare.as_flattened()[..count]),
        }
    }
}

/// L lines of a row, where they are or, at its end, in a place of their own, with whatever was there behind them.
#[inline(always)]
fn lines_at<'a, const L: usize>(
    row: &'a [f32],
    from: usize,
    spare: &'a mut [[f32; LANES]; L],
) -> &'a [[f32; LANES]; L] {
    let rest = &row[from..];
    if let Some(lines) = rest.as_chunks().0.first_chunk() {
        return lines;
    }
    spare.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
    spare
}

#[cfg(test)]
mod tests {
    use super::super::isa::Isa;
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    fn product(isa: Isa, rows: &[&[f32]], weights: &[f32], bias: &[f32]) -> Vec<f32> {
        let (mut room, mut out) = (vec![f32::NAN; 7], vec![9.0; (rows.len() + 1) * bias.len()]);
        let weights: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
        let mut packed = vec![0.0; narrow_len(weights.len() / bias.len(), bias.len())];
        let start = pack_narrow(&mut packed, bias.len(), &weights);
        let mut squares = vec![f64::NAN; rows.len()];
        let packed = &packed[start..];
        narrow_product(isa, rows, packed, bias, &mut room, Some(&mut squares), &mut out);
        for (row, square) in rows.iter().zip(squares) {
            let exact: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
            let is_near = square >= exact && square <= exact * 1.00001 + 1e-30;
            assert!(is_near || exact.is_nan() && square.is_nan(), "{square} {exact}");
        }
        let others = out.split_off(rows.len() * bias.len());
        assert!(others.iter().all(|other| *other == 9.0));
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
    fn outer_products_are_the_plain_ones() {
        for (count, width, outputs) in [(1, 1, 1), (3, 70, 10), (64, 64, 3), (130, 300, 15), (65, 513, 7)] {
            // Factors of other rows follow.
            let (data, factors) = (numbers(count * width, 7), numbers((count + 1) * outputs, 8));
            let rows: Vec<&[f32]> = data.chunks(width).collect();
            let before = numbers(outputs * width, 9);
            for isa in [Isa::portable(), Isa::detect()] {
                let [mut sum, mut anew] = [(); 2].map(|()| before.clone());
                narrow_outer(isa, outputs, &factors, &rows, Write::Add, &mut sum);
                narrow_outer(isa, outputs, &factors, &rows, Write::Set, &mut anew);
                for (at, (got, anew)) in sum.iter().zip(anew).enumerate() {
                    let (n, k) = (at / width, at % width);
                    let terms = rows.iter().zip(factors.chunks(outputs));
                    let exact: f64 = terms.map(|(x, q)| f64::from(x[k]) * f64::from(q[n])).sum();
                    assert!(
                        (f64::from(anew) - exact).abs() < 1e-5,
                        "{count} {width} {outputs}: {anew} {exact}"
                    );
                    let exact = exact + f64::from(before[at]);
                    assert!(
                        (f64::from(*got) - exact).abs() < 1e-5,
                        "{count} {width} {outputs}: {got} {exact}"
                    );
                }
            }
        }
        let mut sum = [1.0, 2.0];
        narrow_outer(Isa::detect(), 1, &[], &[], Write::Add, &mut sum);
        assert_eq!(sum, [1.0, 2.0]);
        narrow_outer(Isa::detect(), 1, &[], &[], Write::Set, &mut sum);
        assert_eq!(sum, [0.0, 0.0]);
    }

    /// Micro-batches of other sizes make the same sums.
    #[test]
    fn outer_products_have_the_same_bits_in_any_parts() {
        let (count, width, outputs) = (23, 300, 10);
        let (data, factors) = (numbers(count * width, 10), numbers(count * outputs, 11));
        let rows: Vec<&[f32]> = data.chunks(width).collect();
        for isa in [Isa::portable(), Isa::detect()] {
            let sums = [23, 1, 2, 7].map(|part| {
                let mut sum = vec![0.0; outputs * width];
                let parts = rows.chunks(part).zip(factors.chunks(part * outputs));
                parts.for_each(|(rows, factors)| {
                    narrow_outer(isa, outputs, factors, rows, Write::Add, &mut sum)
                });
                sum
            });
            assert!(sums.iter().all(|sum| *sum == sums[0]));
        }
    }
}
