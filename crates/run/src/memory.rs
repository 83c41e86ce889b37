//! Checks before the charge that the data of a run fits in memory. A process that the system kills
//! for lack of memory has spent its charge for nothing.

use std::fs;

use crate::error::RunError;

/// Checks that `needed` bytes are free. Passes where the system does not say.
pub(crate) fn check(needed: u64) -> Result<(), RunError> {
    match free() {
        Some(free) if needed > free => Err(RunError::NoMemory { needed, free }),
        Some(_) | None => Ok(()),
    }
}

/// Bytes that this process can allocate without swapping: what Linux calls available,
/// within the limit of the control group.
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

/// Bytes up to the limit of the control group.
fn control_group() -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    // `memory.max` is the word `max` if there is no limit, and then does not parse.
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let text = "MemTotal:       24589764 kB\nMemFree: 1 kB\nMemAvailable:   23117352 kB\n";
        assert_eq!(available(text), Some(23_117_352 * 1024));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }

    #[test]
    fn more_memory_than_any_machine_has_is_refused() {
        if free().is_some() {
            assert!(matches!(check(u64::MAX), Err(RunError::NoMemory { .. })));
        }
        check(1).unwrap();
    }
}
