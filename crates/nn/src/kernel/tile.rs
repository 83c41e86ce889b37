//! The innermost loop of products: a tile of a few rows and sixteen columns, in registers from its first number to its last.
//!
//! ```text
//! sums[i] = ((sums[i] + x_1[i] l_1) + x_2[i] l_2) + ...
//! ```
//! Numbers x and lines l lie in memory in the order in which they are used. Of 12 multiplications a machine with 256-bit registers
//! does two in a cycle, if it gets them: four turns of the loop are written as one, so that what counts turns does not take their place
//! (a core whose other half is busy decodes half as much, and was a tenth slower).

use super::isa::{LANES, Machine};

/// Turns of the loop that are written as one.
const TURNS: usize = 4;

/// Adds `Σ_k x_k l_k^T`, one chain for each number.
#[inline(always)]
pub(crate) fn tile<M: Machine, const H: usize>(
    machine: M,
    factors: &[[f32; H]],
    lines: &[[f32; LANES]],
    mut sums: [M::Line; H],
) -> [M::Line; H] {
    let (factors, last_factors) = factors.as_chunks::<TURNS>();
    let (lines, last_lines) = lines.as_chunks::<TURNS>();
    for (factors, lines) in factors.iter().zip(lines) {
        for turn in 0..TURNS {
            sums = turned(machine, &factors[turn], &lines[turn], sums);
        }
    }
    for (factors, line) in last_factors.iter().zip(last_lines) {
        sums = turned(machine, factors, line, sums);
    }
    sums
}

#[inline(always)]
fn turned<M: Machine, const H: usize>(
    machine: M,
    factors: &[f32; H],
    line: &[f32; LANES],
    mut sums: [M::Line; H],
) -> [M::Line; H] {
    let line = machine.load(line);
    for i in 0..H {
        sums[i] = machine.multiply_add(factors[i], line, sums[i]);
    }
    sums
}

/// Up to sixteen numbers; the others are zero.
#[inline(always)]
pub(crate) fn load_some<M: Machine>(machine: M, from: &[f32]) -> M::Line {
    // A whole line is two instructions; a part of one is a call.
    if let Some(line) = from.first_chunk() {
        return machine.load(line);
    }
    let mut line = [0.0; LANES];
    line[..from.len()].copy_from_slice(from);
    machine.load(&line)
}

/// As many numbers of a line as there is room for, at most sixteen.
#[inline(always)]
pub(crate) fn store_some<M: Machine>(machine: M, line: M::Line, to: &mut [f32]) {
    let line = machine.store(line);
    match to.first_chunk_mut() {
        Some(to) => *to = line,
        None => to.copy_from_slice(&line[..to.len()]),
    }
}
