//! What the machine can do, and what this process took.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use sordino_bench::emit;

/// The most memory that this process ever held, where the system tells: `VmHWM` counts all pages in memory, those of mapped
/// files too.
pub(crate) fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

/// Seconds of processor time that all threads of this process used, where the system tells, in hundredths: what a fit
/// costs, also on a machine that is not alone.
pub(crate) fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // User and system time are fields 14 and 15, counted after the name in brackets, which may itself contain blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..13)?.iter().map(|ticks| ticks.parse::<f64>().ok().map(|ticks| ticks / 100.0)).sum()
}

/// How fast all cores together read as many bytes as the table has: the limit of any pass over it.
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
