//! A filter for each record: who has used up their share takes no further part.
//!
//! # Definition
//! A method makes T releases of `sum over active records i of v_i,t + N(0, (z C)^2 I)`, where v_i,t
//! depends on record i and on earlier releases alone, and has norm at most C. The filter has a
//! limit of K full steps. Record i is active at step t exactly if it was at every step before and
//! ```text
//! |v_i,1|^2 + ... + |v_i,t|^2 <= K C^2                                                             (1)
//! ```
//! # Guarantee
//! However many steps there are, the run costs no more than K releases of noise multiplier z:
//! [`IndividualFilter::event`]. The noise does not change, and neither does the charge; what is
//! gained is steps, as long as most records have small gradients. *Proof.*
//! 1. Let a record be in one data set and absent from (or null in) the other. Given the same
//!    earlier releases h, every *other* record is active in both or in none, with the same v:
//!    whether it is depends on itself and h. So the means of release t differ by `d_t(h)`, the
//!    record's own v_t if it is active, else 0; and `sum over t of |d_t|^2 <= K C^2` for every h,
//!    by (1).
//! 2. Let one more release follow, of `|d|^2 = K C^2 - sum over t of |d_t|^2`. With σ = z C and
//!    μ^2 = K/z^2, the logarithm of the likelihood ratio is `X - μ^2/2` for the data set without
//!    the record, `X = sum over t of <d_t, N_t>/σ`, N_t standard Gaussian and independent of d_t.
//!    By conditioning on one release after the other, from the last,
//!    `E exp(iθX + θ^2/2 sum |d_t|^2/σ^2) = 1`. The second sum is the constant μ^2, so that
//!    `E exp(iθX) = exp(-θ^2 μ^2/2)`: X is N(0, μ^2), although the d_t depend on the releases.
//! 3. That is the likelihood ratio of N(0, 1) and N(μ, 1), and of K full releases. Leaving out the
//!    last release is post-processing.
//!
//! Under `replace` the means differ by `d_t - d'_t`, of two records that both keep (1). By
//! Minkowski's inequality their squares add up to `4 K C^2` at most, which is what K releases cost
//! under `replace`.
//!
//! At order α a step costs record i the Rényi divergence `α |v_i,t|^2/(2 z^2 C^2)`, so that (1) is
//! the filter of Feldman, Zrnic, "Individual privacy accounting via a Rényi filter", 2021, at every
//! order at once. That its cost is that of one Gaussian is by Smith, Thakurta, "Fully adaptive
//! composition for Gaussian differential privacy", 2022, and Koskela, Tobaben, Honkela, "Individual
//! privacy accounting with Gaussian differential privacy", 2022.
//!
//! # Pitfalls
//! - What a record has spent is as private as the record. How many are left, too: no output may
//!   depend on it except through the noisy sums. `Debug` shows nothing;
//!   [`danger::spent_by_each`](crate::danger::spent_by_each) is for the owner of the data.
//! - The filter must be asked before a record is added, and with a bound on the norm of exactly
//!   what is added, rounding included.
//! - Records that matter most leave first, so the last steps see the others. Choose K and T for
//!   that.
//! - It is for sums over all records. Where batches are samples, a record's loss is not its norm.

use std::fmt;

use crate::event::Event;
use crate::params::{Count, NoiseMultiplier, ParamError};

/// Parts of a full step in which spending is counted; always rounded up.
const STEP: u64 = 1 << 32;
/// The largest limit whose parts fit 64 bits with room to spare.
const MOST_STEPS: u64 = 1 << 31;
/// More than what a few roundings of a share and of its square add up to.
const MARGIN: f64 = 1.0 + 1e-11;

/// What each record may still contribute to a run of Gaussian sums.
///
/// ```
/// use sordino_privacy::{Count, Event, IndividualFilter, NoiseMultiplier};
/// // Two full steps for each of three records.
/// let mut filter = IndividualFilter::new(Count::new(2)?, 3)?;
/// let noise = NoiseMultiplier::new(4.0)?;
/// assert_eq!(filter.event(noise), Event::gaussian(noise).repeated(Count::new(2)?));
/// let steps = |filter: &mut IndividualFilter, record, share| {
///     (0..1000).take_while(|_| filter.admits(record, share)).count()
/// };
/// assert_eq!(steps(&mut filter, 0, 1.0), 2); // at the clip norm
/// assert_eq!(steps(&mut filter, 1, 0.1), 199); // a tenth of it: 200, but for the safe side
/// assert_eq!(steps(&mut filter, 2, 0.0), 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct IndividualFilter {
    limit: Count,
    /// What each record may still spend, in parts of a full step.
    left: Vec<u64>,
}

impl IndividualFilter {
    /// A limit of K full steps for each of so many records. Fails for more than 2^31 steps.
    pub fn new(limit: Count, records: usize) -> Result<Self, ParamError> {
        if limit.get() > MOST_STEPS {
            let (name, expected) = ("limit of an individual filter", "at most 2^31 full steps");
            return Err(ParamError { name, expected, got: limit.get() as f64 });
        }
        Ok(Self { limit, left: vec![limit.get() * STEP; records] })
    }

    /// K, the full steps that each record may take part in.
    pub fn limit(&self) -> Count {
        self.limit
    }

    /// What the whole run costs, however long it is: K releases.
    pub fn event(&self, noise: NoiseMultiplier) -> Event {
        Event::gaussian(noise).repeated(self.limit)
    }

    /// Whether a record may contribute a vector of norm at most `share` clip norms to the next sum,
    /// which is then charged to it. A record that is refused once is refused for ever, but for
    /// contributions of 0. A share that is not from 0 to 1 counts as 1: contributions are clipped.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn admits(&mut self, record: usize, share: f64) -> bool {
        let share = if (0.0..1.0).contains(&share) { share } else { 1.0 };
        // Rounded up, so that only a contribution of exactly 0 is free.
        let parts = (share * share * MARGIN * STEP as f64).ceil().min(STEP as f64) as u64;
        let parts = if share > 0.0 { parts.max(1) } else { 0 };
        let left = &mut self.left[record];
        let admitted = parts <= *left;
        *left = if admitted { *left - parts } else { 0 };
        admitted
    }

    /// What each record has spent, in full steps; one that was refused has spent all of it.
    pub(super) fn spent(&self) -> impl Iterator<Item = f64> + '_ {
        self.left.iter().map(|left| self.limit.get() as f64 - *left as f64 / STEP as f64)
    }
}

impl fmt::Debug for IndividualFilter {
    /// Without what records have spent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndividualFilter").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
