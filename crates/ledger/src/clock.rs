//! When something was written down.
//!
//! A clock may be set back, but the order of entries must not change. An entry has the later of the
//! clock and the time of the entry before it, so times never decrease. They help people; nothing is
//! decided by them.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since the beginning of 1970, universal time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    /// What the clock says; a clock before 1970 says 1970.
    pub(crate) fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// This many milliseconds since the beginning of 1970.
    pub fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the beginning of 1970.
    pub fn millis(self) -> u64 {
        self.0
    }
}

/// As RFC 3339 writes it: `2026-11-15T22:40:00.123Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Days since 1970-01-01 as a date of the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", 2013, `civil_from_days`): years begin in March, so that the leap day is the
/// last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts days the slow way, over four centuries and every leap rule.
    #[test]
    fn dates_agree_with_counting_days() {
        let leap =
            |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let mut days = 0;
        for year in 1970..2410 {
            for month in 1..=12 {
                let length = match month {
                    2 => 28 + u64::from(leap(year)),
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                for day in 1..=length {
                    assert_eq!(civil(days), (year, month, day));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn times_are_written_as_rfc_3339() {
        // `date -u -d 2026-11-15T22:40:01Z +%s` prints 1794782401.
        assert_eq!(Time::from_millis(1_794_782_401_007).to_string(), "2026-11-15T22:40:01.007Z");
        assert_eq!(Time::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
    }
}
