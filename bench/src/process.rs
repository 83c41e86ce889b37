//! What this process took, where the system tells.

/// The most memory that this process ever held: `VmHWM` counts all pages in
/// memory, those of mapped files too.
pub fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

/// Seconds of processor time that all threads of this process used, in hundredths: what work costs,
/// also on a machine that is not alone.
pub fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // User and system time are fields 14 and 15, counted after the name in brackets,
    // which may itself contain blanks.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..13)?.iter().map(|ticks| ticks.parse::<f64>().ok().map(|ticks| ticks / 100.0)).sum()
}
