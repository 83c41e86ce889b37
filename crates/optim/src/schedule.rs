//! Learning-rate schedules, which depend on the number of the step alone.
//!
//! # Definition
//! Of T steps with base rate η, step t = 0, 1, ... has
//!
//! | schedule | rate |
//! |---|---|
//! | `Constant` | η |
//! | `InverseSqrt` | η / sqrt(t + 1) |
//! | `Inverse` | η / (t + 1) |
//! | `Cosine` | η (1 + cos(π t/T))/2 |
//! | `HalvedMidway` | η, and η/2 from step T/2 on |
//!
//! A schedule that used a loss on the data would need another release.

use serde::{Deserialize, Serialize};

/// How the learning rate changes from step to step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// η at every step.
    #[default]
    Constant,
    /// `η / sqrt(t + 1)`, for convex losses with averaging.
    InverseSqrt,
    /// `η / (t + 1)`, for strongly convex losses.
    Inverse,
    /// `η (1 + cos(π t/T))/2`, down to 0 along a cosine.
    Cosine,
    /// η, and η/2 in the second half of the steps.
    HalvedMidway,
}

impl Schedule {
    /// The rate of step `t` of `steps`, divided by the base rate.
    pub fn factor(self, t: u64, steps: u64) -> f64 {
        let number = (t + 1) as f64;
        match self {
            Self::Constant => 1.0,
            Self::InverseSqrt => number.sqrt().recip(),
            Self::Inverse => number.recip(),
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * t as f64 / steps as f64).cos()),
            Self::HalvedMidway if 2 * t < steps => 1.0,
            Self::HalvedMidway => 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_follow_the_table() {
        let factors = |schedule: Schedule| [0, 3, 5].map(|t| schedule.factor(t, 10));
        assert_eq!(factors(Schedule::Constant), [1.0; 3]);
        assert_eq!(factors(Schedule::InverseSqrt), [1.0, 0.5, 1.0 / 6f64.sqrt()]);
        assert_eq!(factors(Schedule::Inverse), [1.0, 0.25, 1.0 / 6.0]);
        assert_eq!(factors(Schedule::HalvedMidway), [1.0, 1.0, 0.5]);
        assert!(
            (Schedule::Cosine.factor(5, 10) - 0.5).abs() < 1e-15 && Schedule::Cosine.factor(10, 10) < 1e-15
        );
    }
}
