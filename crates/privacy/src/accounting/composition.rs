//! Composition theorems of the textbooks: what one pays who knows of
//! each release only (epsilon, delta).
//!
//! # Guarantee
//! For adaptively composed releases that are `(e_i, d_i)`-DP each:
//! ```text
//! basic      sum e_i                                         at  sum d_i                       (1)
//! advanced   sqrt(2 ln(1/d') S) + sum e_i (e^e_i - 1)        at  sum d_i + d'                  (2)
//! sharper    sqrt(2 ln(1/d') S) + sum e_i tanh(e_i / 2)      at  sum d_i + d'                  (3)
//! ```
//! with `S = sum e_i²`: (2) Dwork, Rothblum, Vadhan, *Boosting and Differential Privacy*, 2010; (3)
//! Kairouz, Oh, Viswanath, *The Composition Theorem for Differential Privacy*, 2015, theorem 3.5,
//! never above (2). The best possible answer of the latter paper is in `optimal`, and is what the
//! privacy-loss distributions of these releases give.
//!
//! # How delta is shared
//! Releases with a pure bound spend none. Those that come with their own delta spend that. What is
//! left goes to the others in equal parts, each being converted to one pair by its own profile; (3)
//! takes half of what is left for d' first, or all of it if nobody else needs any.
//! # Pitfalls
//! - (2) and (3) may exceed (1): the least is returned.
//! - These numbers are for comparison. For DP-SGD they are absurdly large; that is the lesson.

use super::memo::Memo;
use super::rdp::{self, Unsupported};
use super::step::{Sided, Step, Steps};
use super::{closed, shuffled};
use crate::numerics::gaussian_profile;
use crate::numerics::logspace::ln_mixture;

/// Equation (1) at `delta`; +∞ if the releases' own deltas exceed it.
pub(crate) fn basic(steps: &Steps, delta: f64) -> Result<f64, Unsupported> {
    let shares = Shares::new(steps, delta, 0.0);
    let terms = shares.pairs(steps)?;
    Ok(terms.iter().map(|(epsilon, count)| epsilon * count).sum::<f64>() * ROUND_UP)
}

/// The least of (1) and (3) at `delta`.
pub(crate) fn advanced(steps: &Steps, delta: f64) -> Result<f64, Unsupported> {
    let basic = basic(steps, delta)?;
    let shares = Shares::new(steps, delta, 0.5);
    let terms = shares.pairs(steps)?;
    Ok(basic.min(sharper(&terms, shares.slack) * ROUND_UP))
}

/// Equation (2) for `(epsilon, count)` terms; +∞ without slack.
pub(crate) fn original(terms: &[(f64, f64)], slack: f64) -> f64 {
    with_drift(terms, slack, f64::exp_m1)
}

/// Equation (3) for `(epsilon, count)` terms; +∞ without slack.
pub(crate) fn sharper(terms: &[(f64, f64)], slack: f64) -> f64 {
    with_drift(terms, slack, |epsilon| (0.5 * epsilon).tanh())
}

fn with_drift(terms: &[(f64, f64)], slack: f64, drift: fn(f64) -> f64) -> f64 {
    if slack <= 0.0 {
        return f64::INFINITY;
    }
    let squares: f64 = terms.iter().map(|(epsilon, count)| count * epsilon * epsilon).sum();
    let drifts: f64 = terms.iter().map(|(epsilon, count)| count * epsilon * drift(*epsilon)).sum();
    (-2.0 * slack.min(1.0).ln() * squares).sqrt() + drifts
}

/// Sums of many rounded terms are moved up by this.
pub(crate) const ROUND_UP: f64 = 1.0 + 1e-12;

/// What each release may spend of delta.
struct Shares {
    /// Delta less what releases bring themselves; negative if that is too much.
    left: f64,
    each: f64,
    slack: f64,
}

impl Shares {
    /// `kept` is the part of what is left that goes to d'.
    fn new(steps: &Steps, delta: f64, kept: f64) -> Self {
        let own: f64 = steps.0.iter().map(|(step, count)| *count as f64 * own_delta(step)).sum();
        let needy = steps.0.iter().filter(|(step, _)| needs_delta(step));
        let needy: f64 = needy.map(|(_, count)| *count as f64).sum();
        let left = delta - own;
        let slack = if needy > 0.0 { kept * left } else { left };
        Self { left, each: (left - slack) / needy, slack }
    }

    /// `(epsilon, count)` of every release.
    fn pairs(&self, steps: &Steps) -> Result<Vec<(f64, f64)>, Unsupported> {
        let present = steps.0.iter().filter(|(_, count)| *count > 0);
        present.map(|(step, count)| Ok((self.epsilon(step)?, *count as f64))).collect()
    }

    fn epsilon(&self, step: &Step) -> Result<f64, Unsupported> {
        if self.left < 0.0 {
            return Ok(f64::INFINITY);
        }
        if !needs_delta(step)
            && let Some(epsilon) = closed::pure_epsilon(step)
        {
            return Ok(epsilon);
        }
        one_step(step, if own_delta(step) > 0.0 { own_delta(step) } else { self.each })
    }
}

/// Shuffled reports have a pure bound, but one that shuffling does nothing for.
fn needs_delta(step: &Step) -> bool {
    let pure = closed::pure_epsilon(step).is_some() && !matches!(step, Step::Shuffled { .. });
    !pure && own_delta(step) == 0.0
}

/// The delta that a release comes with.
fn own_delta(step: &Step) -> f64 {
    if let Step::Approximate { delta, .. } = step {
        *delta
    } else if let Step::Poisson { rate, sided: Sided::One, base } = step {
        rate * own_delta(base)
    } else if let Step::WithoutReplacement { sample, population, base } = step {
        fraction(*sample, *population) * own_delta(base)
    } else {
        0.0
    }
}

/// Epsilon of one release at `delta`: exact for Gaussian noise, by amplification for
/// its samples (Balle, Barthe, Gaboardi, *Privacy Amplification by Subsampling*, 2018),
/// by Rényi divergences for the rest.
fn one_step(step: &Step, delta: f64) -> Result<f64, Unsupported> {
    if let Step::Gaussian { mu } = step {
        Ok(gaussian_profile::epsilon(delta, *mu).upper)
    } else if let Step::Approximate { epsilon, delta: own } = step
        && *own <= delta
    {
        Ok(*epsilon)
    } else if let Step::Shuffled { reports, epsilon } = step {
        Ok(shuffled::closed_form(*reports, *epsilon, delta))
    } else if let Step::Poisson { rate, sided: Sided::One, base } = step {
        amplified(*rate, base, delta)
    } else if let Step::WithoutReplacement { sample, population, base } = step {
        amplified(fraction(*sample, *population), base, delta)
    } else {
        let one = || rdp::Composition::new(&Steps(vec![(step.clone(), 1)]));
        let curve = CURVES.with(|known| known.get(step, one));
        Ok(curve.as_ref().as_ref().map_err(Clone::clone)?.epsilon(delta).value)
    }
}

thread_local! {
    static CURVES: Memo<Step, Result<rdp::Composition, Unsupported>> = const { Memo::new() };
}

/// `ln(1 + q (e^eps - 1))` with the base's eps at delta / q.
fn amplified(rate: f64, base: &Step, delta: f64) -> Result<f64, Unsupported> {
    if delta >= rate {
        return Ok(0.0); // the record is not even in the sample
    }
    Ok(ln_mixture(rate, one_step(base, delta / rate)?))
}

fn fraction(sample: u64, population: u64) -> f64 {
    (sample as f64 / population as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accounting::reference;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn equal_pure_steps() {
        for (epsilon, count, delta, sum, original, drift, optimal) in [
            (0.1, 100, 1e-5, 10.0, 5.850235092945, 5.298109661767, 4.30679137252),
            (0.01, 1_000, 1e-6, 10.0, 1.762759807111, 1.712257719607, 1.36544670999),
            (1.0, 5, 1e-5, 5.0, 19.321239273742, 13.040415917747, 4.99995210948),
            (0.5, 10, 1e-5, 5.0, 10.830742000426, 8.811728958944, 4.99885412041),
        ] {
            let steps = Steps(vec![(Step::Pure { epsilon }, count)]);
            let k = count as f64;
            close(basic(&steps, delta).unwrap(), sum, 1e-11);
            close(super::original(&[(epsilon, k)], delta), original, 1e-12);
            close(sharper(&[(epsilon, k)], delta), drift, 1e-12);
            close(advanced(&steps, delta).unwrap(), drift.min(sum), 1e-11);
            close(reference::optimal_epsilon(epsilon, 0.0, count, delta), optimal, 1e-11);
        }
    }

    #[test]
    fn own_deltas_are_paid_first() {
        let steps = Steps(vec![(Step::Approximate { epsilon: 0.1, delta: 1e-8 }, 100)]);
        close(basic(&steps, 1e-5).unwrap(), 10.0, 1e-11);
        let left = 1e-5 - 1e-6;
        close(advanced(&steps, 1e-5).unwrap(), sharper(&[(0.1, 100.0)], left), 1e-10);
        assert_eq!(basic(&steps, 1e-7).unwrap(), f64::INFINITY);
        let mut mixed = steps.clone();
        mixed.0.push((Step::Gaussian { mu: 0.1 }, 1));
        assert_eq!(basic(&mixed, 1e-7).unwrap(), f64::INFINITY);
        assert_eq!(advanced(&steps, 1e-7).unwrap(), f64::INFINITY);
    }

    #[test]
    fn gaussians_share_delta_evenly() {
        let steps = Steps(vec![(Step::Gaussian { mu: 0.1 }, 10), (Step::Pure { epsilon: 0.3 }, 1)]);
        let each = gaussian_profile::epsilon(1e-6, 0.1).upper;
        close(basic(&steps, 1e-5).unwrap(), 10.0 * each + 0.3, 1e-11);
        assert!(advanced(&steps, 1e-5).unwrap() <= basic(&steps, 1e-5).unwrap());
    }

    /// Sixty epochs of digits: textbooks say hundreds, the truth is 2.38.
    #[test]
    fn gradient_descent_by_the_textbook() {
        let step = Step::Poisson {
            rate: 256.0 / 60_000.0,
            sided: Sided::One,
            base: Box::new(Step::Gaussian { mu: 1.0 / 1.1 }),
        };
        let steps = Steps(vec![(step, 14_062)]);
        let (basic, advanced) = (basic(&steps, 1e-5).unwrap(), advanced(&steps, 1e-5).unwrap());
        assert!(basic > advanced && advanced > 20.0 && basic.is_finite(), "{basic}, {advanced}");
    }

    #[test]
    fn what_has_no_guarantee_is_infinite() {
        let naked = Steps(vec![(Step::NonPrivate, 1)]);
        assert_eq!(basic(&naked, 1e-5).unwrap(), f64::INFINITY);
        assert_eq!(advanced(&naked, 1e-5).unwrap(), f64::INFINITY);
        assert_eq!(basic(&Steps::default(), 1e-5).unwrap(), 0.0);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(2_000))]

        /// The best possible answer is below every theorem.
        #[test]
        fn optimal_is_least(epsilon in 0.001f64..2.0, count in 1u64..200, ln_delta in -30.0f64..-1.0) {
            let delta = ln_delta.exp();
            let steps = Steps(vec![(Step::Pure { epsilon }, count)]);
            let optimal = reference::optimal_epsilon(epsilon, 0.0, count, delta);
            prop_assert!(optimal <= advanced(&steps, delta).unwrap() * (1.0 + 1e-11));
        }
    }
}
