//! The innermost loop of products: a tile of a few rows and sixteen columns, which stays in registers.
//!
//! ```text
//! sums[i] = ((sums[i] + x_1[i] v_1) + x_2[i] v_2) + ...
//! ```
//! Factors x and vectors v are in memory in the order of their use. The loop is unrolled four times: its counter
//! would take decoding slots from multiplications. (A core that shares its decoder was a tenth slower.)

use super::isa::{LANES, Machine};

/// Turns of the loop that are unrolled.
const UNROLLED: usize = 4;

/// Adds `Σ_k x_k v_k^T`, one chain for each number.
#[inline(always)]
pub(crate) fn tile<M: Machine, const H: usize>(
    machine: M,
    factors: &[[f32; H]],
    vectors: &[[f32; LANES]],
    mut sums: [M::Vector; H],
) -> [M::Vector; H] {
    let (factors, last_factors) = factors.as_chunks::<UNROLLED>();
    let (vectors, last_vectors) = vectors.as_chunks::<UNROLLED>();
    for (factors, vectors) in factors.iter().zip(vectors) {
        for turn in 0..UNROLLED {
            sums = add_scaled(machine, &factors[turn], &vectors[turn], sums);
        }
    }
    for (factors, vector) in last_factors.iter().zip(last_vectors) {
        sums = add_scaled(machine, factors, vector, sums);
    }
    sums
}

#[inline(always)]
fn add_scaled<M: Machine, const H: usize>(
    machine: M,
    factors: &[f32; H],
    vector: &[f32; LANES],
    mut sums: [M::Vector; H],
) -> [M::Vector; H] {
    let vector = machine.load(vector);
    for i in 0..H {
        sums[i] = machine.multiply_add(factors[i], vector, sums[i]);
    }
    sums
}

/// Loads up to sixteen numbers; the other lanes are zero.
#[inline(always)]
pub(crate) fn load_some<M: Machine>(machine: M, from: &[f32]) -> M::Vector {
    // A whole vector is two instructions; a part of one is a call.
    if let Some(vector) = from.first_chunk() {
        return machine.load(vector);
    }
    let mut vector = [0.0; LANES];
    vector[..from.len()].copy_from_slice(from);
    machine.load(&vector)
}

/// Stores as many numbers of a vector as `to` takes, at most sixteen.
#[inline(always)]
pub(crate) fn store_some<M: Machine>(machine: M, vector: M::Vector, to: &mut [f32]) {
    let vector = machine.store(vector);
    match to.first_chunk_mut() {
        Some(to) => *to = vector,
        None => to.copy_from_slice(&vector[..to.len()]),
    }
}
