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
use super::outer::{Place, RUN, Write, segment_body};
use super::product::Segment;
use super::tile::load_some;

/// Numbers of W that are used at a time: they stay in a first-level cache.
const NEAR: usize = 5 << 10;

/// Numbers of a row that are used at a time.
fn deep(outputs: usize) -> usize {
    (NEAR / outputs).next_multiple_of(LANES)
}

/// Packs W, which is stored by rows, part by part: its rows are often a power of two apart, and then all in the same few sets of a cache.
pub(crate) fn pack_narrow(packed: &mut [f32], outputs: usize, weights: &[f64]) {
    let (inputs, mut rest) = (weights.len() / outputs, packed);
    for from in (0..inputs).step_by(deep(outputs)) {
        let part = from..inputs.min(from + deep(outputs));
        for row in weights.chunks_exact(inputs) {
            let (to, later) = rest.split_at_mut(part.len());
            to.iter_mut().zip(&row[part.clone()]).for_each(|(to, weight)| *to = *weight as f32);
            rest = later;
        }
    }
}

/// Whether a layer is worth it.
pub(crate) fn is_narrow(inputs: usize, outputs: usize) -> bool {
    outputs < LANES && inputs >= 4 * LANES
}

vectorised! {
    /// `out[r] = bias + W x_r`, with W from [`pack_narrow`]. `room` is a place to work in, which grows as it needs to.
    fn narrow_product(
        rows: &[&[f32]],
        weights: &[f32],
        bias: &[f32],
        room: &mut Vec<f32>,
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
    out: &mut [f32],
) {
    let outputs = bias.len();
    let depth = weights.len() / outputs;
    room.clear();
    room.resize(rows.len() * outputs * LANES, 0.0);
    let sums = room.as_chunks_mut::<LANES>().0;
    for from in (0..depth).step_by(deep(outputs)) {
        let part = from..depth.min(from + deep(outputs));
        let weights = &weights[from * outputs..part.end * outputs];
        for (number, sums) in sums.chunks_mut(2 * outputs).enumerate() {
            let of =
                |row: usize| rows.get(2 * number + row).map(|row| &row[part.clone()]).unwrap_or_default();
            if sums.len() == 2 * outputs {
                all_outputs(machine, [of(0), of(1)], [of(4), of(5)], weights, sums);
            } else {
                all_outputs(machine, [of(0)], [&[]], weights, sums);
            }
        }
    }
    for ((out, sums), bias) in out.iter_mut().zip(sums).zip(bias.iter().cycle()) {
        *out = bias + added(*sums);
    }
}

/// R rows against all outputs, as many at a time as registers have room for, while the next rows come nearer.
#[inline(always)]
fn all_outputs<M: Machine, const R: usize>(
    machine: M,
    rows: [&[f32]; R],
    next: [&[f32]; R],
    weights: &[f32],
    sums: &mut [[f32; LANES]],
) {
    const MOST: usize = 3;
    let outputs = sums.len() / R;
    let (mut first, mut tiles) = (0, outputs.div_ceil(MOST));
    while tiles > 0 {
        let count = (outputs - first).div_ceil(tiles);
        let next = if first == 0 { next } else { [&[][..]; R] };
        let of = |output: usize| &weights[(first + output) * rows[0].len()..][..rows[0].len()];
        match count {
            1 => tile(machine, rows, next, [of(0)], first, sums),
            2 => tile(machine, rows, next, [of(0), of(1)], first, sums),
            _ => tile(machine, rows, next, [of(0), of(1), of(2)], first, sums),
        }
        (first, tiles) = (first + count, tiles - 1);
    }
}

/// R rows against N outputs from `first` on.
#[inline(always)]
fn tile<M: Machine, const R: usize, const N: usize>(
    machine: M,
    rows: [&[f32]; R],
    next: [&[f32]; R],
    weights: [&[f32]; N],
    first: usize,
    sums: &mut [[f32; LANES]],
) {
    let outputs = sums.len() / R;
    let mut lines = [[machine.zero(); N]; R];
    for r in 0..R {
        lines[r] = std::array::from_fn(|n| machine.load(&sums[r * outputs + first + n]));
    }
    let (row_lines, row_rests) = (rows.map(|row| row.as_chunks::<LANES>().0), rows.map(rest));
    let (lines_of, rests_of) = (weights.map(|row| row.as_chunks::<LANES>().0), weights.map(rest));
    let count = row_lines[0].len();
    let (row_lines, lines_of) =
        (row_lines.map(|lines| &lines[..count]), lines_of.map(|lines| &lines[..count]));
    let next = next.map(|row| row.as_chunks::<LANES>().0);
    for k in 0..count {
        next.iter().filter_map(|lines| lines.get(k)).for_each(|line| machine.prefetch(line));
        let x: [M::Line; R] = std::array::from_fn(|r| machine.load(&row_lines[r][k]));
        for n in 0..N {
            let w = machine.load(&lines_of[n][k]);
            for r in 0..R {
                lines[r][n] = machine.multiply_lines(x[r], w, lines[r][n]);
            }
        }
    }
    if !row_rests[0].is_empty() {
        for r in 0..R {
            for n in 0..N {
                let (x, w) = (load_some(machine, row_rests[r]), load_some(machine, rests_of[n]));
                lines[r][n] = machine.multiply_lines(x, w, lines[r][n]);
            }
        }
    }
    for r in 0..R {
        for n in 0..N {
            sums[r * outputs + first + n] = machine.store(lines[r][n]);
        }
    }
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
    let segment = Segment { offset: 0, length: outputs };
    let mut strip = [[[0.0; LANES]; RUN]; STRIP];
    for (run, rows) in rows.chunks(RUN).enumerate() {
        let bases: [usize; RUN] = std::array::from_fn(|row| (run * RUN + row) * outputs);
        let write = if run == 0 { write } else { Write::Add };
        for column in (0..width).step_by(STRIP * LANES) {
            let panels = (width - column).div_ceil(LANES).min(STRIP);
            pack(machine, &mut strip[..panels], rows, column);
            for (panel, lines) in strip[..panels].iter().enumerate() {
                let place = Place { width, column: column + panel * LANES, write };
                segment_body(
                    machine,
                    &bases[..rows.len()],
                    factors,
                    segment,
                    &lines[..rows.len()],
                    place,
                    out,
                );
            }
        }
    }
}

/// Panels of columns that are copied out at a time: with what they are copied from they fit in a first-level cache.
const STRIP: usize = 2;

/// Copies some panels of all rows, from a column on, and asks for the next: rows are far apart, and nobody guesses that they follow.
#[inline(always)]
fn pack<M: Machine>(machine: M, strip: &mut [[[f32; LANES]; RUN]], rows: &[&[f32]], column: usize) {
    for (number, row) in rows.iter().enumerate() {
        let next = row.get(column + STRIP * LANES..).unwrap_or_default();
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
    use super::super::product::Rows;
    use super::*;

    fn numbers(count: usize, seed: u64) -> Vec<f32> {
        let mut stream = crate::network::Stream(seed);
        (0..count).map(|_| stream.uniform() as f32).collect()
    }

    fn product(isa: Isa, rows: &[&[f32]], weights: &[f32], bias: &[f32]) -> Vec<f32> {
        let (mut room, mut out) = (vec![f32::NAN; 7], vec![f32::NAN; rows.len() * bias.len()]);
        let weights: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
        let mut packed = vec![0.0; weights.len()];
        pack_narrow(&mut packed, bias.len(), &weights);
        narrow_product(isa, rows, &packed, bias, &mut room, &mut out);
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
