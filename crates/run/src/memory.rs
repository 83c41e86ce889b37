//! Whether a run fits in memory, asked before anything is charged: a process that is killed for want of memory has paid
//! for nothing.

use std::fs;

use crate::error::RunError;

/// Checks that so many bytes are free. Where the system does not say, they are taken to be.
pub(crate) fn check(needed: u64) -> Result<(), RunError> {
    match free() {
        Some(free) if needed > free => Err(RunError::NoMemory { needed, free }),
        Some(_) | None => Ok(()),
    }
}

/// Bytes that this process can still take without others being pushed out: what Linux says is available, within the limit
/// of the process's control group.
fn free() -> Option<u64> {
    let available = available(&fs::read_to_string("/proc/meminfo").ok()?)?;
    Some(control_group().map_or(available, |left| left.min(available)))
}

/// From the text of `/proc/meminfo`.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// What the limit of the control group leaves.
fn control_group() -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    // `max` is no number: there is no limit.
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_in_bytes() {
        let text = "MemTotal:       24589764 kB\nMemFree: 1 kB\nMemAvailable:   23117352 kB\n";
        assert_eq!(available(text), Some(23_117_352 * 1024));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        if free().is_some() {
            assert!(matches!(check(u64::MAX), Err(RunError::NoMemory { .. })));
        }
        check(1).unwrap();
    }
}
