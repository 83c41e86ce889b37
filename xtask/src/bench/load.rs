//! How busy other processes kept the machine, from Linux's `/proc`; unknown on other systems.

use std::fs::read_to_string;
use std::time::Instant;

/// The kernel reports processor time to programs in hundredths of a second, whatever its own clock.
const TICKS_PER_SECOND: f64 = 100.0;

/// The processor time so far, of all processes, and of this one with its finished children.
pub(crate) struct Load {
    at: Instant,
    /// Seconds of all processes, and of this one.
    spent: Option<(f64, f64)>,
}

impl Load {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), spent: all_seconds().zip(own_seconds()) }
    }

    /// How many processors other processes kept busy since then, on average.
    pub(crate) fn others_since(&self) -> Option<f64> {
        let (all_before, own_before) = self.spent?;
        let (all, own_seconds) = all_seconds().zip(own_seconds())?;
        let others = (all - all_before) - (own_seconds - own_before);
        Some((others / self.at.elapsed().as_secs_f64().max(1e-9)).max(0.0))
    }
}

/// The processor's name, to be saved with the results.
pub(crate) fn processor() -> Option<String> {
    let text = read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn all_seconds() -> Option<f64> {
    busy_ticks(&read_to_string("/proc/stat").ok()?).map(|ticks| ticks / TICKS_PER_SECOND)
}

fn own_seconds() -> Option<f64> {
    own_ticks(&read_to_string("/proc/self/stat").ok()?).map(|ticks| ticks / TICKS_PER_SECOND)
}

/// The sum of `cpu user nice system idle iowait irq softirq steal ...` without idle and iowait.
fn busy_ticks(stat: &str) -> Option<f64> {
    let numbers: Vec<f64> =
        stat.lines().next()?.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    let idle = numbers.get(3)? + numbers.get(4)?;
    Some(numbers.iter().take(8).sum::<f64>() - idle)
}

/// The sum of fields 14 to 17, counted after the name in brackets, which may itself contain blanks.
fn own_ticks(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|field| field.parse::<f64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_does_not_count() {
        assert_eq!(busy_ticks("cpu  10 1 5 1000 50 2 3 4 7 0\ncpu0 1 1"), Some(25.0));
    }

    #[test]
    fn a_name_with_blanks_does_not_shift_the_fields() {
        let stat = "42 (a (b) c) R 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 1";
        assert_eq!(own_ticks(stat), Some(127.0));
    }
}
