//! Dense layers with few outputs and many inputs, whose rows are read wherever they are.
//!
//! # Definition
//! With `x_r` row r of K numbers, W a matrix of N rows (N below [`LANES`]), and `q_r` a row of N numbers,
//! ```text
//! out[r] = bias + W x_r              narrow_product
//! out   += Σ_r q_r x_r^T             narrow_outer
//! ```
//! Lanes run along K: along so few outputs, most of them would be idle.
//!
//! The product takes [`DEEP`] columns at a time, for all rows, so that their part of W stays in a first-level
//! cache. Rows are read in pairs, so that each number of W is read once for both. The outer product takes as many columns as
//! have room for their sums in registers.
//!
//! # Order
//! A number of a product is a sum of as many chains as a register has lanes: the bits of a row depend on that
//! row and W alone. A number of an outer product is one chain over all rows, however calls divide them.

use super::isa::{LANES, Machine, vectorised};
use super::outer::Write;

/// Columns that are used at a time.
const DEEP: usize = 256;

/// [`DEEP`] columns of a row, as vectors.
type RowPart = [[f32; LANES]; VECTORS];
const VECTORS: usize = DEEP / LANES;

/// Numbers that a packed W takes, with some before it for alignment.
pub(crate) fn narrow_len(inputs: usize, outputs: usize) -> usize {
    inputs.next_multiple_of(DEEP) * outputs + LANES
}

/// Packs W, which is stored by rows, part by part: rows are often a power of two apart, and then compete for the
/// same few sets of a cache. Returns where in `packed` it begins: at a cache line, because a load across two of
/// them takes twice as long.
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

/// Whether these kernels are faster for a layer.
pub(crate) fn is_narrow(inputs: usize, outputs: usize) -> bool {
    outputs < LANES && inputs >= 4 * LANES
}

vectorised! {
    /// `out[r] = bias + W x_r`, with W from [`pack_narrow`]. If `squares` are wanted, `squares[r]` is at least
    /// ‖x_r‖² and hardly more (see [`INEXACT`]). `scratch` grows as needed.
    fn narrow_product(
        rows: &[&[f32]],
        weights: &[f32],
        bias: &[f32],
        scratch: &mut Vec<f32>,
        squares: Option<&mut [f64]>,
        out: &mut [f32],
    ) = product_body;
}

/// The largest relative error of a sum of squares. In each part of a row a lane is a chain of at most `DEEP/8`
/// additions of numbers that are not negative, each with a relative error of at most 2^-24. Four times that
/// also covers the additions in double precision.
const INEXACT: f64 = 4.0 * (DEEP / 8) as f64 / (1 << 24) as f64;

/// The largest error of a subnormal square, even if a library has told the processor to flush them to 0.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// How many rows ahead rows are prefetched.
const PREFETCH_DISTANCE: usize = 4;

/// Partial sums of a pair of rows for one output, a register each. If two registers make a vector, both are in
/// the first vector.
type PairSums = [[f32; LANES]; 2];

#[inline(always)]
fn product_body<M: Machine>(
    machine: M,
    rows: &[&[f32]],
    weights: &[f32],
    bias: &[f32],
    scratch: &mut Vec<f32>,
    mut squares: Option<&mut [f64]>,
    out: &mut [f32],
) {
    let (outputs, depth) = (bias.len(), rows.first().map_or(0, |row| row.len()));
    squares.iter_mut().for_each(|squares| squares.fill(TINY * depth as f64));
    scratch.clear();
    scratch.resize(rows.len().div_ceil(2) * outputs * 2 * LANES, 0.0);
    let sums: &mut [PairSums] = scratch.as_chunks_mut().0.as_chunks_mut().0;
    let (mut spare, parts) = (Spare::default(), weights.as_chunks().0.as_chunks().0.chunks_exact(outputs));
    for (from, weights) in (0..depth).step_by(DEEP).zip(parts) {
        let vectors = (depth - from).div_ceil(LANES).min(VECTORS);
        for ((pair, sums), first) in rows.chunks(2).zip(sums.chunks_exact_mut(outputs)).zip((0..).step_by(2))
        {
            // Ends of rows, and rows beyond the last, need no prefetch.
            let ahead = rows[first..].get(PREFETCH_DISTANCE..).unwrap_or_default();
            let mut ahead = ahead.iter().take(2).map(|row| whole(row, from));
            let next = [ahead.next().flatten(), ahead.next().flatten()];
            let x = spare.parts(pair, from);
            let found = all_outputs(machine, x, next, weights, vectors, sums, squares.is_some());
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

/// Room for parts at the ends of rows; whole parts are read in place.
#[derive(Default)]
struct Spare([RowPart; 2]);

impl Spare {
    /// A part of two rows, or of one row twice. Ends are padded with zeros, which stay: all calls with one `from`
    /// have the same length.
    #[inline(always)]
    fn parts<'a>(&'a mut self, pair: &[&'a [f32]], from: usize) -> [&'a RowPart; 2] {
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
fn whole(row: &[f32], from: usize) -> Option<&RowPart> {
    row[from..].as_chunks().0.first_chunk()
}

/// Multiplies a part of a pair of rows with all outputs, as many at a time as registers have room for, and
/// prefetches `next`. Returns the squares of both rows, if they are wanted.
#[inline(always)]
fn all_outputs<M: Machine>(
    machine: M,
    x: [&RowPart; 2],
    mut next: [Option<&RowPart>; 2],
    weights: &[RowPart],
    vectors: usize,
    sums: &mut [PairSums],
    has_squares: bool,
) -> [f64; 2] {
    let (outputs, mut squares) = (weights.len(), [0.0; 2]);
    for (first, count) in tiles(outputs, M::ROWS) {
        let (weights, sums) = (&weights[first..], &mut sums[first..]);
        // The first two tiles prefetch one row each; a single tile prefetches both.
        let [now, later] = next;
        let prefetched = if outputs <= M::ROWS { next } else { [now, None] };
        next = [later, None];
        // The last tile computes them.
        let has_squares = has_squares && first + count == outputs;
        macro_rules! of_count {
            ($($n:literal)*) => {
                match (count, has_squares) {
                    $(($n, false) if $n <= M::ROWS => {
                        product_tile::<M, $n, false>(machine, x, prefetched, weights, vectors, sums);
                    })*
                    $(($n, true) if $n <= M::ROWS => {
                        squares = product_tile::<M, $n, true>(machine, x, prefetched, weights, vectors, sums);
                    })*
                    _ => unreachable!("a tile has at most as many outputs as the registers hold"),
                }
            };
        }
        of_count!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
    squares
}

/// Multiplies a part of a pair of rows with N outputs. Returns the squares of both if S.
#[inline(always)]
fn product_tile<M: Machine, const N: usize, const S: bool>(
    machine: M,
    x: [&RowPart; 2],
    next: [Option<&RowPart>; 2],
    weights: &[RowPart],
    vectors: usize,
    sums: &mut [PairSums],
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
    for k in 0..vectors.min(VECTORS) {
        // One cache line at a time: many at once would wait for each other.
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
        let mut vector = [0.0; LANES];
        machine.put(squares[r], &mut vector, 0);
        found[r] = vector[..M::WIDTH].iter().map(|x| f64::from(*x)).sum();
    }
    found
}

/// The first output and the number of outputs of each tile: as few tiles as possible, of nearly the same height.
#[inline(always)]
fn tiles(outputs: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = outputs.div_ceil(most);
    (0..count)
        .map(move |tile| (tile * outputs / count, (tile + 1) * outputs / count - tile * outputs / count))
}

vectorised! {
    /// Writes `Σ_r q_r x_r^T` to `out`, in rows of K numbers; `factors` has N numbers for each row.
    fn narrow_outer(
        outputs: usize,
        factors: &[f32],
        rows: &[&[f32]],
        write: Write,
        out: &mut [f32],
    ) = outer_body;
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
        16 => all_columns::<M, 2>(machine, outputs, factors, rows, write, out),
        8 => all_columns::<M, 1>(machine, outputs, factors, rows, write, out),
        _ => unreachable!("no machine has other registers"),
    }
}

/// Takes L vectors of columns at a time, for all rows: their sums stay in registers.
#[inline(always)]
fn all_columns<M: Machine, const L: usize>(
    machine: M,
    outputs: usize,
    factors: &[f32],
    rows: &[&[f32]],
    write: Write,
    out: &mut [f32],
) {
    let width = out.len() / outputs;
    // From the end: what the product read last is still in a cache.
    for from in (0..width).step_by(L * LANES).rev() {
        for (first, count) in tiles(outputs, M::ROWS) {
            let place = OuterTile { outputs, first, from, width };
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

/// Which outputs of how many, and which columns of how many.
#[derive(Clone, Copy)]
struct OuterTile {
    outputs: usize,
    first: usize,
    from: usize,
    width: usize,
}

/// Sums N outputs in L vectors of columns.
#[inline(always)]
fn outer_tile<M: Machine, const N: usize, const L: usize>(
    machine: M,
    place: OuterTile,
    factors: &[f32],
    rows: &[&[f32]],
    write: Write,
    out: &mut [f32],
) {
    let OuterTile { outputs, first, from, width } = place;
    let (parts, count) = (LANES / M::WIDTH, (L * LANES).min(width - from));
    let (mut sums, mut spare) = ([[machine.everywhere(0.0); 2]; N], [[0.0; LANES]; L]);
    if write == Write::Add {
        for n in 0..N {
            let vectors = vectors_at(&out[(first + n) * width..][..width], from, &mut spare);
            for r in 0..2 {
                sums[n][r] = machine.register(&vectors[r / parts], r % parts);
            }
        }
    }
    // Arrays of factors may be longer than these rows.
    for (row, factors) in rows.iter().zip(factors.chunks_exact(outputs)) {
        let (x, Some(q)) = (vectors_at(row, from, &mut spare), factors[first..].first_chunk::<N>()) else {
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

/// L vectors of a row: in place, or at the end of a row in `spare`, where arbitrary numbers follow.
#[inline(always)]
fn vectors_at<'a, const L: usize>(
    row: &'a [f32],
    from: usize,
    spare: &'a mut [[f32; LANES]; L],
) -> &'a [[f32; LANES]; L] {
    let rest = &row[from..];
    if let Some(vectors) = rest.as_chunks().0.first_chunk() {
        return vectors;
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
        let (mut scratch, mut out) = (vec![f32::NAN; 7], vec![9.0; (rows.len() + 1) * bias.len()]);
        let weights: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
        let mut packed = vec![0.0; narrow_len(weights.len() / bias.len(), bias.len())];
        let start = pack_narrow(&mut packed, bias.len(), &weights);
        let mut squares = vec![f64::NAN; rows.len()];
        let packed = &packed[start..];
        narrow_product(isa, rows, packed, bias, &mut scratch, Some(&mut squares), &mut out);
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
    fn products_equal_plain_sums() {
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

    /// Alone, among other rows, at any place, and beside rows that are not finite.
    #[test]
    fn the_bits_of_a_row_do_not_depend_on_other_rows() {
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
    fn outer_products_equal_plain_sums() {
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

    /// So micro-batches of any size give the same sums.
    #[test]
    fn the_bits_of_outer_products_do_not_depend_on_how_calls_divide_the_rows() {
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
