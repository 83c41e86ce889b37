//! Composition theorems for lists of (ε, δ), by name.
//!
//! # Guarantee
//! For releases that are `(e_i, d_i)`-DP each, whose parameters were fixed beforehand but whose
//! inputs may depend on earlier results:
//! ```text
//! basic      sum e_i                                         at  sum d_i                       (1)
//! original   sqrt(2 ln(1/d') S) + sum e_i (e^e_i - 1)        at  sum d_i + d'                  (2)
//! advanced   sqrt(2 ln(1/d') S) + sum e_i tanh(e_i / 2)      at  sum d_i + d'                  (3)
//! optimal    for k equal releases, the least that is true                                      (4)
//! ```
//! with `S = sum e_i²`: (2) Dwork, Rothblum, Vadhan 2010; (3), (4) Kairouz, Oh, Viswanath 2015.
//! # Pitfalls
//! (2) and (3) may exceed (1): the smaller is returned. For lists of other events, and for unequal
//! pairs, accounting by privacy-loss distributions is tighter than all of these.

use super::Approximate;
use crate::accounting::composition::{ROUND_UP, original, sharper};
use crate::accounting::optimal;
use crate::params::{Count, Delta, Epsilon, ParamError};

/// Equation (1). Fails where δ reaches 1.
pub fn basic(releases: &[Approximate]) -> Result<Approximate, ParamError> {
    let epsilon: f64 = releases.iter().map(|release| release.epsilon().get()).sum();
    let delta: f64 = releases.iter().map(|release| release.delta().get()).sum();
    let up = |sum: f64| if releases.len() > 1 { sum * ROUND_UP } else { sum };
    Ok(Approximate::new(Epsilon::new(up(epsilon))?, Delta::new(up(delta))?))
}

/// Equation (3) with d' = `slack`, or (1) if its ε is smaller.
///
/// ```
/// use sordino_privacy::{Delta, Epsilon, notion::{self, Approximate}};
/// let one = Approximate::new(Epsilon::new(0.1)?, Delta::new(0.0)?);
/// let hundred = notion::advanced(&[one; 100], Delta::new(1e-5)?)?;
/// assert!((hundred.epsilon().get() - 5.298109661767).abs() < 1e-10);
/// # Ok::<(), sordino_privacy::ParamError>(())
/// ```
pub fn advanced(releases: &[Approximate], slack: Delta) -> Result<Approximate, ParamError> {
    at_most_basic(releases, slack, sharper)
}

/// Equation (2) with d' = `slack`, or (1) if its ε is smaller: what older texts print.
pub fn advanced_original(releases: &[Approximate], slack: Delta) -> Result<Approximate, ParamError> {
    at_most_basic(releases, slack, original)
}

/// Equation (4): δ at ε of `count` equal releases, rounded up.
pub fn optimal_delta(release: Approximate, count: Count, epsilon: Epsilon) -> f64 {
    let (e, d) = (release.epsilon().get(), release.delta().get());
    optimal::optimal_delta(e, d, count.get(), epsilon.get())
}

/// Equation (4): the least ε at δ of `count` equal releases, rounded up; ∞ if their own δ exceed
/// it.
pub fn optimal_epsilon(release: Approximate, count: Count, delta: Delta) -> f64 {
    let (e, d) = (release.epsilon().get(), release.delta().get());
    optimal::optimal_epsilon(e, d, count.get(), delta.get())
}

fn at_most_basic(
    releases: &[Approximate],
    slack: Delta,
    rule: fn(&[(f64, f64)], f64) -> f64,
) -> Result<Approximate, ParamError> {
    let plain = basic(releases)?;
    let terms: Vec<(f64, f64)> = releases.iter().map(|release| (release.epsilon().get(), 1.0)).collect();
    let epsilon = rule(&terms, slack.get()) * ROUND_UP;
    if epsilon >= plain.epsilon().get() {
        return Ok(plain);
    }
    let delta = Delta::new((plain.delta().get() + slack.get()) * ROUND_UP)?;
    Ok(Approximate::new(Epsilon::new(epsilon)?, delta))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(epsilon: f64, delta: f64) -> Approximate {
        Approximate::new(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn theorems_give_their_published_numbers() {
        for (epsilon, count, slack, sum, first, drift, best) in [
            (0.1, 100usize, 1e-5, 10.0, 5.850235092945, 5.298109661767, 4.30679137252),
            (0.01, 1_000, 1e-6, 10.0, 1.762759807111, 1.712257719607, 1.36544670999),
            (1.0, 5, 1e-5, 5.0, 19.321239273742, 13.040415917747, 4.99995210948),
            (0.5, 10, 1e-5, 5.0, 10.830742000426, 8.811728958944, 4.99885412041),
        ] {
            let list = vec![pair(epsilon, 0.0); count];
            let slack = Delta::new(slack).unwrap();
            close(basic(&list).unwrap().epsilon().get(), sum, 1e-11);
            close(advanced_original(&list, slack).unwrap().epsilon().get(), f64::min(first, sum), 1e-11);
            close(advanced(&list, slack).unwrap().epsilon().get(), f64::min(drift, sum), 1e-11);
            let count = Count::new(count as u64).unwrap();
            close(optimal_epsilon(list[0], count, slack), best, 1e-10);
        }
    }

    #[test]
    fn deltas_are_added_and_the_slack_only_where_it_is_used() {
        let list = vec![pair(0.1, 1e-8); 100];
        let slack = Delta::new(1e-5).unwrap();
        close(advanced(&list, slack).unwrap().delta().get(), 1.1e-5, 1e-11);
        let few = vec![pair(1.0, 1e-8); 5];
        close(advanced(&few, slack).unwrap().delta().get(), 5e-8, 1e-11);
        assert!(basic(&[pair(0.1, 0.6), pair(0.1, 0.6)]).is_err());
        let found = optimal_delta(pair(0.5, 1e-6), Count::new(10).unwrap(), Epsilon::new(2.0).unwrap());
        close(found, 0.145474991738, 1e-10);
    }
}
