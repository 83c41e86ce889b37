//! The memory bandwidth of the machine.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use sordino_bench::emit;

/// Measures how fast all cores together read as many bytes as the table has, which limits any pass
/// over it.
pub(crate) fn bandwidth(n: usize) -> Result<(), Box<dyn Error>> {
    let numbers: Vec<u64> = (0..n as u64 * 101 / 2).collect();
    let threads = std::thread::available_parallelism()?.get();
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for part in numbers.chunks(numbers.len().div_ceil(threads)) {
                scope.spawn(|| black_box(part.iter().fold(0u64, |sum, x| sum ^ x)));
            }
        });
        best = best.min(begun.elapsed().as_secs_f64());
    }
    let rate = size_of_val(numbers.as_slice()) as f64 / best / 1e9;
    emit("reading memory", "GB/s", rate, json!({ "threads": threads }));
    Ok(())
}
