//! Samples drawn with replacement, under replacement of one record.
//!
//! # Definition
//! The base release sees m independent draws from n records, so that one record may be in the
//! sample several times.
//! # Guarantee
//! With `g = 1 - (1 - 1/n)^m` and `delta_k` the profile of the base at distance k (Balle, Barthe,
//! Gaboardi, *Privacy Amplification by Subsampling*, 2018, theorem 10),
//! ```text
//! eps'   = ln(1 + g (e^eps - 1))
//! delta' = sum_(k=1)^m C(m,k) (1/n)^k (1 - 1/n)^(m-k) delta_k(eps)                             (1)
//! ```
//! for every eps: a profile, which makes a pair (module `table`). Without replacement `g = m/n` and
//! K is at most 1 (theorem 9). For Gaussian noise module `drawn` has a smaller profile.
//! # Pitfalls
//! `delta' = g delta(eps)`, right without replacement, is too small here: a record that is drawn
//! twice counts twice.

use super::closed;
use super::drawn::Law;
use super::memo::Memo;
use super::step::Step;
use super::table::Table;
use crate::numerics::gaussian_profile;
use crate::numerics::logspace::{ln_binomial, ln_mixture};
use crate::params::{Count, Delta, Epsilon};
use crate::relation::group_guarantee;

/// A pair above the release on draws with replacement.
pub(crate) fn table(sample: u64, population: u64, base: &Step) -> Table {
    let key = (sample, population, base.clone());
    TABLES.with(|known| known.get(&key, || computed(sample, population, base)).as_ref().clone())
}

thread_local! {
    static TABLES: Memo<(u64, u64, Step), Table> = const { Memo::new() };
}

fn computed(sample: u64, population: u64, base: &Step) -> Table {
    let law = law(sample, population);
    if let Step::Gaussian { mu } = base {
        return law.table(|epsilon| law.gaussian_delta(*mu, epsilon));
    }
    law.table(|epsilon| delta(&law, base, before(law.rate, epsilon)))
}

/// A pair above the release on a sample of distinct records: (1) with K at most 1.
pub(crate) fn table_without(sample: u64, population: u64, base: &Step) -> Table {
    let law = Law::without_replacement(sample, population);
    law.table(|epsilon| delta(&law, base, before(law.rate, epsilon)))
}

/// The epsilon that sampling turns into this one, rounded down.
fn before(rate: f64, epsilon: f64) -> f64 {
    (epsilon.exp_m1() / rate).ln_1p() * (1.0 - 1e-15)
}

/// The pure bound, if every draw may be the one record: `ln(1 + g (e^(m eps) - 1))`.
pub(crate) fn pure(sample: u64, population: u64, epsilon: f64) -> f64 {
    ln_mixture(rate(sample, population), sample as f64 * epsilon)
}

/// g: the chance to be drawn at least once.
pub(crate) fn rate(sample: u64, population: u64) -> f64 {
    if population == 1 {
        return 1.0;
    }
    (-(sample as f64 * (-1.0 / population as f64).ln_1p()).exp_m1()).min(1.0)
}

/// How often one record is drawn.
fn law(sample: u64, population: u64) -> Law {
    let (m, n) = (sample as f64, population as f64);
    let rate = rate(sample, population);
    let chance = |k: f64| ln_binomial(k, m, 1.0 / n, 1.0 - 1.0 / n).exp();
    let mut chances = Vec::new();
    let mut k = 1.0;
    while k <= m && k <= MOST_DRAWS {
        chances.push(chance(k));
        // Past twice the mean each chance is less than half of the one before.
        if k > 2.0 * (m / n + 1.0) && chances[chances.len() - 1] < 1e-40 {
            break;
        }
        k += 1.0;
    }
    let known: f64 = chances.iter().sum();
    let rest = if k > MOST_DRAWS { (rate - known).max(0.0) + 1e-12 } else { 2e-40 };
    let never = if population == 1 { 0.0 } else { (m * (-1.0 / n).ln_1p()).exp() };
    Law { never, rate, chances, rest: if k > m { 0.0 } else { rest } }
}

/// delta' of (1), rounded up.
fn delta(law: &Law, base: &Step, epsilon: f64) -> f64 {
    let term = |(i, chance): (usize, &f64)| chance * group_delta(base, i as u64 + 1, epsilon);
    let sum: f64 = law.chances.iter().enumerate().map(term).sum();
    (sum * (1.0 + 1e-12) + law.rest).min(law.rate)
}

/// More draws of one record than this are taken as disclosure.
const MOST_DRAWS: f64 = 1_000.0;

/// Is there a profile at every distance?
pub(crate) fn is_known(base: &Step) -> bool {
    matches!(
        base,
        Step::Gaussian { .. } | Step::Laplace { .. } | Step::Pure { .. } | Step::Approximate { .. }
    )
}

/// Is there a profile at distance 1?
pub(crate) fn is_known_once(base: &Step) -> bool {
    is_known(base) || closed::pure_epsilon(base).is_some()
}

/// The profile of `base` at distance `k`, rounded up; 1 for releases of which it is not known.
fn group_delta(base: &Step, k: u64, epsilon: f64) -> f64 {
    let times = k as f64;
    if let Step::Gaussian { mu } = base {
        gaussian_profile::enclosure(epsilon, times * mu * (1.0 + 1e-15)).upper
    } else if let Step::Laplace { epsilon: bound } = base {
        (-(0.5 * (epsilon - times * bound)).min(0.0).exp_m1()).max(0.0)
    } else if let Step::Pure { epsilon: bound } = base {
        two_points(times * bound, 0.0, epsilon)
    } else if let Step::Approximate { epsilon: bound, delta } = base {
        let grown = (|| {
            group_guarantee(Epsilon::new(*bound).ok()?, Delta::new(*delta).ok()?, Count::new(k).ok()?).ok()
        })();
        grown.map_or(1.0, |(bound, delta)| two_points(bound.get(), delta.get(), epsilon))
    } else if let Some(bound) = closed::pure_epsilon(base) {
        two_points(times * bound * (1.0 + 1e-15), 0.0, epsilon)
    } else {
        1.0
    }
}

/// The profile of the worst (bound, delta)-DP mechanism.
fn two_points(bound: f64, delta: f64, epsilon: f64) -> f64 {
    let pure = -(epsilon - bound).min(0.0).exp_m1() / (1.0 + (-bound).exp());
    delta + (1.0 - delta) * pure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::pld;
    use crate::accounting::step::Steps;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn a_published_point() {
        let law = law(100, 1000);
        close(law.rate, 0.09520785288629, 1e-12);
        close(law.never + law.rate, 1.0, 1e-14);
        let base = Step::Gaussian { mu: 0.5 };
        let (epsilon, delta) = (ln_mixture(law.rate, 1.0), delta(&law, &base, 1.0));
        close(epsilon, 0.15151342550523, 1e-12);
        close(delta, 0.00123708651933, 1e-10);
        // A fixed sample of distinct records would have less.
        assert!(delta > 0.1 * gaussian_profile::delta(1.0, 0.5));
        let general = law.table(|epsilon| super::delta(&law, &base, before(law.rate, epsilon)));
        assert!(general.delta(epsilon) >= delta * (1.0 - 1e-12));
        close(general.delta(epsilon), delta, 2e-3);
        // What is known of Gaussian noise is never more.
        let table = table(100, 1000, &base);
        for epsilon in [0.0, 0.05, 0.2, 0.5, 1.0] {
            assert!(table.delta(epsilon) <= general.delta(epsilon) * (1.0 + 1e-4), "{epsilon}");
        }
    }

    /// One record in the sample k times, all others with the neighbour's value: the sum shows how
    /// often it was drawn. That mixture of Gaussians against one must not exceed the bound.
    #[test]
    fn never_below_a_mechanism() {
        let (m, n, mu) = (20u64, 50u64, 0.4);
        let table = table(m, n, &Step::Gaussian { mu });
        let weight = |k: u64| ln_binomial(k as f64, m as f64, 0.02, 0.98).exp();
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        for e in [0.0f64, 0.05, 0.2, 0.5, 1.0] {
            let step = 1e-3;
            let exact: f64 = (-8_000..16_000)
                .map(|i| f64::from(i) * step)
                .map(|x| {
                    let mixture: f64 = (0..=m).map(|k| weight(k) * density(x - k as f64 * mu)).sum();
                    (mixture - e.exp() * density(x)).max(0.0) * step
                })
                .sum();
            assert!(table.delta(e) >= exact * (1.0 - 1e-6), "{e}: {} below {exact}", table.delta(e));
        }
    }

    /// The grid follows the scale of the base: a thousandth of the distance costs a thousandth.
    #[test]
    fn small_distances() {
        let at = |mu: f64| {
            let base = Box::new(Step::Gaussian { mu });
            let steps = Steps(vec![(Step::WithReplacement { sample: 50, population: 100, base }, 1)]);
            pld::epsilon(&steps, 1e-3 * mu).unwrap().upper / mu
        };
        close(at(1e-6), at(1e-3), 0.02);
    }

    /// One draw from one record is no sample; steps compose.
    #[test]
    fn edges() {
        let all = table(1, 1, &Step::Gaussian { mu: 1.0 });
        close(all.delta(1.0), 0.126936737507, 1e-3);
        let steps = |count| {
            Steps(vec![(
                Step::WithReplacement {
                    sample: 10,
                    population: 1000,
                    base: Box::new(Step::Laplace { epsilon: 0.5 }),
                },
                count,
            )])
        };
        let (one, many) =
            (pld::epsilon(&steps(1), 1e-6).unwrap().upper, pld::epsilon(&steps(100), 1e-6).unwrap().upper);
        assert!(one > 0.0 && many > one && many < 100.0 * one, "{one} {many}");
        // All ten draws are the record: ten times the bound, then sampled.
        let (g, top) = (1.0 - 0.999f64.powi(10), 5f64.exp_m1());
        close(pure(10, 1000, 0.5), (g * top).ln_1p(), 1e-12);
    }
}
