//! How fast the matrix product is, for reports of what part of it a step reaches.

use std::time::{Duration, Instant};

use super::isa::Isa;
use super::product::{Init, Rows, pack, packed_len, product};

/// Operations a second (a multiplication and an addition are two) of products of matrices of `rows` by `inputs` and `inputs` by `outputs` on
/// one thread: the best of several runs.
pub fn product_speed(rows: usize, inputs: usize, outputs: usize) -> f64 {
    let (table, data) = (Rows::dense(rows, inputs, outputs), vec![0.5; rows * inputs]);
    let mut packed = vec![0.0; packed_len(inputs, outputs)];
    pack(&mut packed, inputs, outputs, |k, n| (k + n) as f32 * 1e-3);
    let mut out = vec![0.0; rows * outputs];
    let operations = 2.0 * (rows * inputs * outputs) as f64;
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let begun = Instant::now();
        product(Isa::detect(), &table, rows, &data, &packed, outputs, Init::Zero, &mut out);
        best = best.min(begun.elapsed());
    }
    operations / best.as_secs_f64().max(1e-9)
}
