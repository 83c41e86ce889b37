//! Losses so large that one of them decides the composition alone.
//!
//! # Definition
//! A step's outcomes are split at a loss `c`: those below are put on the lattice, those above are
//! *jumps*, of which only the two masses `p = P[L > c]` and `q = Q[L > c]` are kept.
//!
//! # Guarantee
//! For every `c`, whatever it is:
//! - *Above.* The jumps are spread to the two ends of `[c, ∞)`, keeping `p` and `q`: mass `e^c q`
//!   goes to the loss `c` and the rest to infinity. That is the last cell of connect-the-dots, and
//!   dominates.
//! - *Below.* With `E` the event that some release jumps, and `s` what is left of a step on the
//!   lattice,
//!   ```text
//!   delta(e) = E_P[(1 - exp(e - L))+; not E] + E_P[(1 - exp(e - L))+; E]
//!           >= delta of s composed (e)       + P[E] - e^e Q[E]                                 (1)
//!   ```
//!   since `E_P[exp(-L); E] = Q[E]`, and `P[E] = 1 - prod (1 - p)^count`, likewise for `Q`. The
//!   second term may be replaced by that of any smaller event: that some release is one that `Q`
//!   cannot produce, for which `Q[E] = 0`.
//!
//! Both are equalities if no other losses can bring the sum from `c` down to `e`: then nothing is
//! lost by not looking at jumps more closely, however many decades they span. So `c` is chosen a
//! little above `e`.

use super::panel::{Ends, Panel};
use crate::numerics::logspace::LogSum;

/// What is known of one step's jumps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jumps {
    /// Upper object: mass at the largest loss of the lattice, and at infinity.
    pub(super) at_top: f64,
    pub(super) infinite: f64,
    /// Lower object: at most `P` of a jump.
    pub(super) p: f64,
    /// At least `ln Q` of a jump: `Q` itself underflows for losses above 745.
    pub(super) ln_q: LogSum,
}

impl Jumps {
    /// Of the panels above `top`. `shift` is how far their losses may be off.
    pub(super) fn new(panels: &[Panel], top: f64, shift: f64, ends: Ends) -> Self {
        let mut jumps = Self { at_top: 0.0, infinite: ends.right, p: 0.0, ln_q: LogSum::new() };
        for panel in panels {
            let (mass, share) = (panel.mass * (1.0 + panel.error), panel.excess / panel.mass);
            let down = (top - shift - panel.low).min(0.0).exp();
            let at_top = mass * down * (1.0 - share * (1.0 + 2.0 * panel.error)).max(0.0) * (1.0 - ROUNDING);
            jumps.at_top += at_top;
            jumps.infinite += mass - at_top;
            jumps.p += panel.mass * (1.0 - panel.error);
            let kept = (1.0 - share * (1.0 - 2.0 * panel.error)).max(0.0) + ROUNDING;
            jumps.ln_q.add((mass * kept).ln() + shift - panel.low);
        }
        let rounding = ROUNDING * panels.len() as f64;
        jumps.infinite *= 1.0 + rounding;
        jumps.at_top *= 1.0 + rounding;
        jumps.p *= 1.0 - rounding;
        jumps.ln_q.add(jumps.ln_q.ln() + rounding.ln());
        jumps
    }
}

/// A few roundings.
const ROUNDING: f64 = 1e-15;

/// `P` and `Q` of the event that some release jumps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jumped {
    ln_no_p: f64,
    ln_no_q: f64,
    /// ln of the sum of all `Q`, which is at least `Q` of the event.
    ln_sum_q: LogSum,
}

impl Jumped {
    /// No releases yet.
    pub(super) fn none() -> Self {
        Self { ln_no_p: 0.0, ln_no_q: 0.0, ln_sum_q: LogSum::new() }
    }

    /// With `count` more releases.
    pub(super) fn and(mut self, jumps: Jumps, singular: f64, count: u64) -> Self {
        let (n, ln_q) = (count as f64, jumps.ln_q.ln());
        self.ln_no_p += n * (-(jumps.p + singular).min(1.0)).ln_1p();
        self.ln_no_q += n * (-ln_q.min(0.0).exp()).ln_1p();
        self.ln_sum_q.add(n.ln() + ln_q);
        self
    }

    /// What jumps add to delta at `epsilon`, at least (may be negative).
    pub(super) fn delta(self, epsilon: f64) -> f64 {
        let (p, sum) = (-self.ln_no_p.exp_m1(), self.ln_sum_q.ln());
        // 1 - (1 - q)^n is better than n q where they differ by more than rounding.
        let ln_q = if sum > -30.0 { sum.min((-self.ln_no_q.exp_m1()).ln()) } else { sum };
        let error = 1e-14 + 1e-15 * (epsilon.abs() + ln_q.abs());
        let from_q = (epsilon + ln_q).exp() * (1.0 + error);
        p * (1.0 - 1e-14) - if ln_q == f64::NEG_INFINITY { 0.0 } else { from_q }
    }
}
