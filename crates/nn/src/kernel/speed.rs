//! How fast the matrix product is: what the speed of a step is compared with.

use std::time::{Duration, Instant};

use super::isa::Isa;
use super::product::{Init, PackedMatrix, Product, RowTable, pack, packed_len, product};

/// Floating-point operations per second of the product of a `rows` × `inputs` matrix with an `inputs` × `outputs`
/// matrix on one thread, best of fifty runs. A multiplication and an addition count as two.
pub fn product_speed(rows: usize, inputs: usize, outputs: usize) -> f64 {
    let (table, data) = (RowTable::dense(rows, inputs, outputs), vec![0.5; rows * inputs]);
    let mut packed = vec![0.0; packed_len(inputs, outputs)];
    pack(&mut packed, inputs, outputs, |k, n| (k + n) as f32 * 1e-3);
    let mut out = vec![0.0; rows * outputs];
    let operations = 2.0 * (rows * inputs * outputs) as f64;
    let matrix = PackedMatrix { packed: &packed, depth: inputs, width: outputs };
    let factors = Product { rows: &table, count: rows, data: &data, matrix, init: Init::Zero };
    let mut best = Duration::MAX;
    for _ in 0..50 {
        let begun = Instant::now();
        product(Isa::detect(), factors, &mut out);
        best = best.min(begun.elapsed());
    }
    operations / best.as_secs_f64().max(1e-9)
}
