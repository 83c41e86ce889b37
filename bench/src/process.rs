//! The memory and the processor time of this process, where the system reports them.

/// The peak memory of this process: `VmHWM`, which counts all pages in memory, those of mapped
/// files too.
pub fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

/// Makes what this process holds now its peak, and returns it, so that a later [`peak_bytes`] is
/// that of the work in between.
pub fn reset_peak() -> Option<f64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_bytes()
}

/// The processor time of all threads of this process in seconds, to a hundredth. Unlike wall time,
/// it does not count the work of other processes.
pub fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // User and system time are fields 14 and 15, counted after the name in brackets,
    // which may itself contain blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..13)?.iter().map(|ticks| ticks.parse::<f64>().ok().map(|ticks| ticks / 100.0)).sum()
}
