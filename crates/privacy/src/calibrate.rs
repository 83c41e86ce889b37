//! How much noise is enough? Also: how many steps, which sampling rate, which share for each part?
//!
//! # Guarantee
//! What is returned was itself evaluated, and its certified upper epsilon is at most the target:
//! the answer is on the safe side. It is above 0.999 times the target, unless no value of the
//! parameter costs that much (the least noise that is tried may cost less, and a whole number of
//! steps may have no other within reach).
//! # Pitfalls
//! - The upper end is computed on a lattice and is not monotone to the last digit, so
//!   the search never trusts a slope: it keeps a value that passed and one that failed,
//!   and returns the one that passed.
//! - A number of steps must be fixed before training: continuing until the budget is used up by a
//!   rule that looks at the results is another mechanism.

use crate::accounting::{self, AccountError, Accountant};
use crate::bound::Bound;
use crate::claim::Claim;
use crate::event::Event;
use crate::numerics::gaussian_profile;
use crate::params::{ClipNorm, Count, Delta, Epsilon, NoiseMultiplier, SamplingRate};
use crate::relation::Neighbours;

/// A value that meets its target, and what it really costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibrated<T> {
    /// The value that was looked for.
    pub value: T,
    /// The cost at that value; the upper end is at most the target.
    pub epsilon: Bound,
    /// The accountant that said so.
    pub accountant: &'static str,
    /// Why the interval is wide, where it is.
    pub note: Option<String>,
}

/// Smallest and largest noise multiplier that is tried.
const NOISE: (f64, f64) = (1e-2, 1e9);
/// Smallest sampling rate that is tried.
const LEAST_RATE: f64 = 1e-12;
/// Most steps that are tried.
const MOST_STEPS: f64 = 1e10;
/// A cost is close to its target if at most this part is left over,
/// and this is what the search aims at.
const CLOSE: f64 = 5e-4;
const AIM: f64 = 2e-4;
/// Relative distance of a value that passed from one that failed below which there is nothing left
/// to find: where the cost jumps, or where its computed upper end is not smooth.
const NEAR: f64 = 1e-7;

/// The least noise multiplier with which `steps` Gaussian releases on
/// Poisson samples cost at most `epsilon`.
///
/// ```
/// use sordino_privacy::{Count, Delta, Epsilon, Neighbours, SamplingRate, calibrate};
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// let (rate, steps) = (SamplingRate::new(0.01)?, Count::new(1000)?);
/// let found = calibrate::noise_multiplier(epsilon, delta, Neighbours::AddRemove, rate, steps)?;
/// assert!(found.epsilon.upper <= 1.0 && (found.value.get() - 1.4149).abs() < 2e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn noise_multiplier(
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    sampling_rate: SamplingRate,
    steps: Count,
) -> Result<Calibrated<NoiseMultiplier>, AccountError> {
    let target = Target::new(epsilon, delta)?;
    let one = |noise: f64| {
        let noise = in_range(NoiseMultiplier::new(noise))?;
        target.try_training(noise, neighbours, noise, sampling_rate, steps)
    };
    if let Some(exact) = target.without_sampling(neighbours, sampling_rate, steps) {
        let found = one(exact)?;
        if found.epsilon.upper <= target.epsilon {
            return Ok(found);
        }
    }
    let found = target.search(NOISE, 1.0, Direction::Least, one)?;
    found.ok_or_else(|| target.out_of_reach("even a noise multiplier of 1e9"))
}

/// The least noise multiplier z with which `claim(z)` costs at most `epsilon`: for any computation
/// whose noise is one number, such as training on samples of fixed size.
///
/// ```
/// use sordino_privacy::{Claim, Count, Delta, Epsilon, Event, Neighbours, calibrate};
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// let claim = |noise| Claim::new(Neighbours::Replace, Event::gaussian(noise).repeated(Count::ONE));
/// let found = calibrate::noise_of(epsilon, delta, claim)?;
/// assert!(found.epsilon.upper <= 1.0 && (found.value.get() - 2.0 * 3.7306).abs() < 1e-2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn noise_of(
    epsilon: Epsilon,
    delta: Delta,
    claim: impl Fn(NoiseMultiplier) -> Claim,
) -> Result<Calibrated<NoiseMultiplier>, AccountError> {
    let target = Target::new(epsilon, delta)?;
    let one = |noise: f64| {
        let noise = in_range(NoiseMultiplier::new(noise))?;
        target.try_claim(noise, &claim(noise))
    };
    let found = target.search(NOISE, 1.0, Direction::Least, one)?;
    found.ok_or_else(|| target.out_of_reach("even a noise multiplier of 1e9"))
}

/// The most steps that cost at most `epsilon`.
pub fn steps(
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    noise_multiplier: NoiseMultiplier,
    sampling_rate: SamplingRate,
) -> Result<Calibrated<Count>, AccountError> {
    let target = Target::new(epsilon, delta)?;
    let whole = |steps: f64| {
        let steps = in_range(Count::new(steps.floor() as u64))?;
        target.try_training(steps, neighbours, noise_multiplier, sampling_rate, steps)
    };
    let found = target.search((1.0, MOST_STEPS), 1.0, Direction::MostWhole, whole)?;
    found.ok_or_else(|| target.out_of_reach("even one step"))
}

/// The largest Poisson sampling rate that costs at most `epsilon`.
pub fn sampling_rate(
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    noise_multiplier: NoiseMultiplier,
    steps: Count,
) -> Result<Calibrated<SamplingRate>, AccountError> {
    let target = Target::new(epsilon, delta)?;
    let one = |rate: f64| {
        let rate = in_range(SamplingRate::new(rate))?;
        target.try_training(rate, neighbours, noise_multiplier, rate, steps)
    };
    let found = target.search((LEAST_RATE, 1.0), 1e-3, Direction::Most, one)?;
    found.ok_or_else(|| target.out_of_reach("even a sampling rate of 1e-12"))
}

/// Splits a budget over parts that are each pure-DP, in proportion to `shares`: the largest
/// epsilons whose adaptive composition costs at most (`epsilon`, `delta`). With delta = 0 they add
/// up to epsilon; with delta above 0 and many parts they add up to more.
///
/// ```
/// use sordino_privacy::{Delta, Epsilon, Neighbours, calibrate};
/// let parts = calibrate::split(Epsilon::new(1.0)?, Delta::new(0.0)?, Neighbours::AddRemove, &[1.0, 3.0])?;
/// assert!((parts.value[1].get() - 0.75).abs() < 1e-3 && parts.epsilon.upper <= 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn split(
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    shares: &[f64],
) -> Result<Calibrated<Vec<Epsilon>>, AccountError> {
    let target = Target { epsilon: epsilon.get(), delta };
    let total: f64 = shares.iter().sum();
    if shares.is_empty() || !shares.iter().all(|s| *s > 0.0 && s.is_finite()) || !total.is_finite() {
        return Err(AccountError::meaningless("split", "shares must be finite numbers above 0"));
    }
    let together = |sum: f64| {
        let parts: Vec<Epsilon> =
            shares.iter().map(|s| in_range(Epsilon::new(sum * s / total))).collect::<Result<_, _>>()?;
        let event = Event::composed(parts.iter().map(|epsilon| Event::Pure { epsilon: *epsilon }));
        target.try_claim(parts, &Claim::new(neighbours, event))
    };
    // Parts that add up to a hair less than the whole always fit.
    let sure = target.epsilon * (1.0 - 1e-9);
    let found = target.search((sure, 1e4 * sure), sure, Direction::Most, together)?;
    found.ok_or_else(|| target.out_of_reach("their plain sum"))
}

/// Numbers that the search itself makes are inside every parameter's range.
fn in_range<T>(made: Result<T, crate::params::ParamError>) -> Result<T, AccountError> {
    made.map_err(|error| AccountError::meaningless("calibration", error.to_string()))
}

#[derive(Clone, Copy, Debug)]
struct Target {
    epsilon: f64,
    delta: Delta,
}

/// Which end of the values that pass is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Least,
    Most,
    /// The most, in whole numbers.
    MostWhole,
}

impl Target {
    fn new(epsilon: Epsilon, delta: Delta) -> Result<Self, AccountError> {
        if delta.get() == 0.0 {
            return Err(AccountError::meaningless(
                "gaussian",
                "no Gaussian noise is enough for delta = 0; state a delta above 0, or use Laplace noise",
            ));
        }
        Ok(Self { epsilon: epsilon.get(), delta })
    }

    fn out_of_reach(self, what: &str) -> AccountError {
        AccountError::OutOfReach { what: what.to_owned(), epsilon: self.epsilon, delta: self.delta.get() }
    }

    /// The noise multiplier in closed form, where every record takes part in every step.
    fn without_sampling(self, neighbours: Neighbours, rate: SamplingRate, steps: Count) -> Option<f64> {
        if rate.get() < 1.0 {
            return None;
        }
        let unit = neighbours.clipped_sum(ClipNorm::new(1.0).ok()?).ok()?.get();
        let mu = gaussian_profile::mu(self.epsilon, self.delta.get());
        // A little more than the quotient, for the roundings of the accountant that checks it.
        Some(unit * (steps.get() as f64).sqrt() / mu * (1.0 + 1e-11))
            .filter(|noise| (NOISE.0..NOISE.1).contains(noise))
    }

    fn try_training<T>(
        self,
        value: T,
        neighbours: Neighbours,
        noise: NoiseMultiplier,
        rate: SamplingRate,
        steps: Count,
    ) -> Result<Calibrated<T>, AccountError> {
        let event = Event::gaussian(noise).poisson_sampled(rate).repeated(steps);
        self.try_claim(value, &Claim::new(neighbours, event))
    }

    fn try_claim<T>(self, value: T, claim: &Claim) -> Result<Calibrated<T>, AccountError> {
        let account = accounting::epsilon(claim, self.delta, Accountant::Auto)?;
        Ok(Calibrated { value, epsilon: account.bound, accountant: account.accountant, note: account.note })
    }

    /// The least or greatest value in the range `(low, high)` that passes; `None` if
    /// none does. The search begins at `start` and moves outward, so that no value far
    /// from the answer is ever evaluated.
    fn search<T>(
        self,
        (low, high): (f64, f64),
        start: f64,
        direction: Direction,
        evaluate: impl Fn(f64) -> Result<Calibrated<T>, AccountError>,
    ) -> Result<Option<Calibrated<T>>, AccountError> {
        let mut good: Option<(f64, f64, Calibrated<T>)> = None; // value, excess, what was found
        let mut bad: Option<(f64, f64)> = None;
        let mut next = start;
        let mut last: Option<(f64, f64)> = None;
        for attempt in 0..80 {
            let found = evaluate(next)?;
            let here = (next, self.excess(&found));
            if here.1 <= 0.0 {
                good = Some((here.0, here.1, found));
                if here.1 > -CLOSE {
                    break;
                }
            } else {
                bad = Some(here);
            }
            next = match (&good, bad) {
                (Some((value, excess, _)), Some(bad)) => {
                    let (small, large) = (value.min(bad.0), value.max(bad.0));
                    if large <= small * (1.0 + NEAR)
                        || (direction == Direction::MostWhole && large.floor() <= small.floor() + 1.0)
                    {
                        break;
                    }
                    // Mostly through the last two attempts, now and then through
                    // the two ends or in the middle.
                    match attempt % 4 {
                        3 => (small * large).sqrt(),
                        2 => between((small, large), (*value, *excess), bad),
                        _ => between((small, large), last.unwrap_or(bad), here),
                    }
                }
                // Outward from what passes, or inward from what does not, until both are known.
                (passes, _) => {
                    let up = (direction != Direction::Least) == passes.is_some();
                    let edge = if up { high } else { low };
                    if next == edge {
                        break;
                    }
                    if up { (4.0 * next).min(edge) } else { (0.25 * next).max(edge) }
                }
            };
            last = Some(here);
        }
        Ok(good.map(|g| g.2))
    }

    /// ln(cost / target), at most 0 if it passes.
    fn excess<T>(self, found: &Calibrated<T>) -> f64 {
        if found.epsilon.upper <= self.epsilon {
            (found.epsilon.upper / self.epsilon).ln().min(0.0)
        } else {
            (found.epsilon.upper / self.epsilon).ln().max(f64::MIN_POSITIVE)
        }
    }
}

/// A value strictly between two others: a secant step through two attempts `(value, excess)`, aimed
/// a little to the safe side, or the middle where the secant says nothing.
fn between((small, large): (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let slope = (b.1 - a.1) / (b.0 / a.0).ln();
    let secant = b.0 * ((-AIM - b.1) / slope).exp();
    if secant > small && secant < large { secant } else { (small * large).sqrt() }
}
