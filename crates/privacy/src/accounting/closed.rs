//! Answers in closed form: lists of Gaussians, and pure bounds.
//!
//! # Guarantee
//! - Gaussian releases of distances `mu_i` compose to one of distance `sqrt(sum mu_i²)` (Dong,
//!   Roth, Su, *Gaussian Differential Privacy*, 2019, corollary 2), whose profile is exact.
//! - Pure bounds add up, and for one mechanism of each kind run on fixed inputs the sum is
//!   attained: at delta = 0 it is the exact answer, and without a pure bound the answer is ∞.
//!
//! Poisson sampling of an eps-DP mechanism is `ln(1 + q (e^eps - 1))`-DP, as is sampling without
//! replacement (Balle, Barthe, Gaboardi, *Privacy Amplification by Subsampling*, 2018, theorems 8
//! and 9). The record is seen best when it is there, so that removal is the worse direction; under
//! replacement both inputs differ from the absent record and the bound is
//! `ln((1-q+q e^eps) / (1-q+q e^-eps))`.

use super::step::{Sided, Step, Steps};
use super::{selected, with_replacement};
use crate::bound::Bound;
use crate::numerics::gaussian_profile;
use crate::numerics::logspace::ln_mixture;
use crate::numerics::squares::SquareSum;

/// Certified ends of epsilon at `delta`, if `steps` is a list of Gaussians or `delta` is 0.
pub(crate) fn epsilon(steps: &Steps, delta: f64) -> Option<Bound> {
    if delta <= 0.0 {
        return Some(at_delta_zero(steps));
    }
    if let [(Step::BoundedRange { epsilon }, 1)] = steps.0[..] {
        return Some(bounded_range_epsilon(epsilon, delta));
    }
    let mu = gaussian_distance(steps)?;
    let lower = gaussian_profile::epsilon(delta, mu.lower).lower;
    Some(Bound::enclosing(lower, gaussian_profile::epsilon(delta, mu.upper).upper))
}

/// Certified ends of delta at `epsilon >= 0`, if `steps` is a list of Gaussians or
/// has a pure bound within `epsilon`.
pub(crate) fn delta(steps: &Steps, epsilon: f64) -> Option<Bound> {
    if at_delta_zero(steps).upper <= epsilon {
        return Some(Bound::exactly(0.0));
    }
    if let [(Step::BoundedRange { epsilon: range }, 1)] = steps.0[..] {
        return Some(bounded_range_delta(range, epsilon));
    }
    let mu = gaussian_distance(steps)?;
    let lower = gaussian_profile::enclosure(epsilon, mu.lower).lower;
    Some(Bound::enclosing(lower, gaussian_profile::enclosure(epsilon, mu.upper).upper))
}

/// Epsilon at delta = 0: the sum of pure bounds, or ∞.
pub(crate) fn at_delta_zero(steps: &Steps) -> Bound {
    let terms = steps.0.iter().filter(|(_, count)| *count > 0);
    let total: Option<f64> = terms.map(|(step, count)| Some(*count as f64 * pure_epsilon(step)?)).sum();
    // One release that states its epsilon has nothing to round, and a
    // quotient has its two neighbours.
    match &steps.0[..] {
        [(Step::Pure { epsilon } | Step::BoundedRange { epsilon } | Step::Laplace { epsilon }, 1)] => {
            return Bound::exactly(*epsilon);
        }
        [(Step::DiscreteLaplace { scale, shift }, 1)] => return quotient(*shift, *scale),
        _ => {}
    }
    let bound = total.map_or(Bound::UNBOUNDED, |total| rounded(total, steps.0.len()));
    if steps.0.iter().all(|(step, _)| is_attained(step)) { bound } else { Bound { lower: 0.0, ..bound } }
}

/// Some mechanism that the event allows has exactly this pure bound,
/// or none at all where there is none.
fn is_attained(step: &Step) -> bool {
    if let Step::Poisson { base, .. } | Step::WithoutReplacement { base, .. } = step {
        return is_attained(base);
    }
    step.is_elementary() || matches!(step, Step::PoissonGroup { .. } | Step::Shuffled { .. })
}

/// Certified ends of `sqrt(sum count mu²)`, if every step is Gaussian.
pub(crate) fn gaussian_distance(steps: &Steps) -> Option<Bound> {
    let mut squares = SquareSum::default();
    for (step, count) in &steps.0 {
        let Step::Gaussian { mu } = step else { return None };
        squares.add(*mu, *count);
    }
    Some(squares.root())
}

/// One choice whose loss has range r: the worst pair for eps has the
/// losses (r + eps)/2 and (eps - r)/2, and
/// ```text
/// delta(eps) = (e^(r/2) - e^(eps/2))² / (e^r - 1) = (1 - e^((eps - r)/2))² / (1 - e^-r),   0 <= eps <= r
/// ```
fn bounded_range_delta(range: f64, epsilon: f64) -> Bound {
    let part = -(0.5 * (epsilon - range).min(0.0)).exp_m1();
    let delta = part * part / -(-range).exp_m1();
    let slack = 16.0 * f64::EPSILON;
    Bound::enclosing(delta * (1.0 - slack), (delta * (1.0 + slack) + f64::MIN_POSITIVE).min(1.0))
}

/// The same, solved for eps: `r + 2 ln(1 - sqrt(delta (1 - e^-r)))`.
fn bounded_range_epsilon(range: f64, delta: f64) -> Bound {
    let root = (delta * -(-range).exp_m1()).sqrt();
    let drop = if root < 1.0 { -2.0 * (-root).ln_1p() } else { f64::INFINITY };
    let room = 8.0 * f64::EPSILON * (1.0 + root / (1.0 - root).max(f64::MIN_POSITIVE));
    let end = |sign: f64| {
        let epsilon = range - drop * (1.0 - sign * room);
        if epsilon > 0.0 { epsilon + sign * f64::EPSILON * range } else { 0.0 }
    };
    // Next to 0 the lower end may fall below it.
    Bound::enclosing(end(-1.0), end(1.0).min(range))
}

/// The least eps for which `step` is eps-DP; `None` if there is none.
pub(crate) fn pure_epsilon(step: &Step) -> Option<f64> {
    let epsilon = match step {
        Step::Laplace { epsilon } | Step::BoundedRange { epsilon } | Step::Pure { epsilon } => *epsilon,
        Step::DiscreteLaplace { scale, shift } => *shift as f64 / scale,
        Step::RandomizedResponse { categories, truth } => randomized_response(*categories, *truth),
        Step::Approximate { epsilon, delta } if *delta == 0.0 => *epsilon,
        Step::Gaussian { mu } if *mu == 0.0 => 0.0,
        Step::DiscreteGaussian { shift: 0, .. } => 0.0,
        Step::Zcdp { rho } if *rho == 0.0 => 0.0,
        Step::Poisson { rate, sided, base } => sampled(*rate, *sided, base)?,
        Step::WithoutReplacement { sample, population, base } => {
            ln_mixture((*sample as f64 / *population as f64).min(1.0), pure_epsilon(base)?)
        }
        // (1 - q + q e^eps)^k: every unit of the group was drawn.
        Step::PoissonGroup { size, rate, sided, base } => {
            let epsilon = pure_epsilon(base)?;
            let one = match sided {
                Sided::One => ln_mixture(*rate, epsilon),
                Sided::Two => ln_mixture(*rate, epsilon) - ln_mixture(*rate, -epsilon),
            };
            *size as f64 * one
        }
        Step::Shuffled { epsilon, .. } => *epsilon,
        Step::Group { size, base } => *size as f64 * pure_epsilon(base)?,
        Step::Selected { trials, run } => selected::pure(*trials, at_delta_zero(run).upper),
        Step::WithReplacement { sample, population, base } => {
            with_replacement::pure(*sample, *population, pure_epsilon(base)?)
        }
        Step::BallsInBins { .. }
        | Step::Gaussian { .. }
        | Step::DiscreteGaussian { .. }
        | Step::Approximate { .. }
        | Step::Zcdp { .. }
        | Step::Renyi { .. }
        | Step::NonPrivate => return None,
    };
    epsilon.is_finite().then_some(epsilon)
}

fn randomized_response(categories: u64, truth: f64) -> f64 {
    randomized_response_loss(categories, truth).abs()
}

/// The loss of one's own answer: `ln(truth (k - 1) / (1 - truth))`,
/// negative where truth is below 1/k.
pub(crate) fn randomized_response_loss(categories: u64, truth: f64) -> f64 {
    if categories <= 1 {
        return 0.0;
    }
    // The quotient less 1, so that nothing cancels where truth is next to 1/k.
    (truth.mul_add(categories as f64, -1.0) / (1.0 - truth)).ln_1p()
}

fn sampled(rate: f64, sided: Sided, base: &Step) -> Option<f64> {
    let epsilon = pure_epsilon(base)?;
    Some(match sided {
        Sided::One => ln_mixture(rate, epsilon),
        Sided::Two => ln_mixture(rate, epsilon) - ln_mixture(rate, -epsilon),
    })
}

/// The doubles next to `shift / scale`, or the one that it is: whoever took the least scale with
/// `shift / scale <= epsilon` is certified `epsilon` and not a unit of its last place more.
fn quotient(shift: u64, scale: f64) -> Bound {
    let (whole, nearest) = (shift as f64, shift as f64 / scale);
    // Beyond 2^53 the shift itself is rounded. An infinite quotient has no bound.
    if shift > 1 << 53 || !nearest.is_finite() {
        return if nearest.is_finite() { rounded(nearest, 1) } else { Bound::UNBOUNDED };
    }
    // The fused product has the sign of the exact remainder: that is 0, or at least
    // 2^-105 of a shift, which is 1 or more.
    let remainder = nearest.mul_add(-scale, whole);
    if remainder == 0.0 {
        Bound::exactly(nearest)
    } else if remainder > 0.0 {
        Bound { lower: nearest, upper: nearest.next_up() }
    } else {
        Bound { lower: nearest.next_down(), upper: nearest }
    }
}

/// A sum of `terms` positive numbers, or its root, with room for the rounding of each operation.
fn rounded(value: f64, terms: usize) -> Bound {
    if value == 0.0 {
        return Bound::exactly(0.0);
    }
    let slack = f64::EPSILON * (terms + 16) as f64;
    Bound::enclosing(value * (1.0 - slack), value * (1.0 + slack))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(list: &[(Step, u64)]) -> Steps {
        Steps(list.to_vec())
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn gaussians_add_in_squares() {
        let list = steps(&[(Step::Gaussian { mu: 0.06 }, 100), (Step::Gaussian { mu: 0.4 }, 4)]);
        let found = epsilon(&list, 1e-5).unwrap(); // 0.36 + 0.64 = 1
        assert!(found.contains(4.377178095681225) && found.relative_gap() < 1e-11, "{found:?}");
        assert!(delta(&list, 1.0).unwrap().contains(0.126936737506644));
        for count in [1u64, 10, 10_000, 1_000_000_000] {
            let many = steps(&[(Step::Gaussian { mu: 1.0 / (count as f64).sqrt() }, count)]);
            close(epsilon(&many, 1e-5).unwrap().upper, 4.377178095681225, 1e-12);
        }
    }

    /// Ten categories, truth 1.7e-13 above a tenth: the exact ε of the
    /// double, with fifty digits, times 10^12.
    #[test]
    fn a_response_next_to_chance_is_not_understated() {
        let epsilon = randomized_response(10, 0.100_000_000_000_17);
        close(epsilon * 1e12, 1.888_828_599_7, 1e-9);
        close(randomized_response(2, 0.75), 3f64.ln(), 1e-15);
        // Below chance: 0.1 against 0.3 for each other category.
        close(randomized_response(4, 0.1), 3f64.ln(), 1e-15);
        assert_eq!(randomized_response(5, 1.0), f64::INFINITY);
    }

    #[test]
    fn other_lists_have_no_closed_form() {
        let list = steps(&[(Step::Gaussian { mu: 1.0 }, 1), (Step::Laplace { epsilon: 1.0 }, 1)]);
        assert_eq!(epsilon(&list, 1e-5), None);
        assert_eq!(delta(&list, 1.0), None);
        assert_eq!(epsilon(&list, 0.0), Some(Bound::UNBOUNDED));
    }

    #[test]
    fn pure_bounds_add_up() {
        let list = steps(&[
            (Step::Laplace { epsilon: 0.5 }, 2),
            (Step::DiscreteLaplace { scale: 4.0, shift: 2 }, 4),
            (Step::RandomizedResponse { categories: 2, truth: 0.75 }, 1),
            (Step::BoundedRange { epsilon: 0.25 }, 4),
            (Step::Pure { epsilon: 1.0 }, 3),
            (Step::Approximate { epsilon: 1.0, delta: 0.0 }, 1),
            (Step::NonPrivate, 0),
        ]);
        let found = epsilon(&list, 0.0).unwrap();
        assert!(found.contains(8.0 + 3f64.ln()) && found.relative_gap() < 1e-13, "{found:?}");
        assert_eq!(delta(&list, 9.2), Some(Bound::exactly(0.0)));
        assert_eq!(delta(&list, 9.0), None);
        assert_eq!(epsilon(&Steps::default(), 0.0), Some(Bound::exactly(0.0)));
    }

    /// The scale of a mechanism is the least double t with `shift <= epsilon t`: its certified cost
    /// is then at most epsilon, and where the quotient is a double, exactly that.
    /// `shift <= upper t` and `lower t <= shift` are checked by fused products.
    #[test]
    fn one_integer_costs_no_more_than_was_asked_for() {
        let one = |scale, shift| at_delta_zero(&steps(&[(Step::DiscreteLaplace { scale, shift }, 1)]));
        assert_eq!(one(2.0, 1), Bound::exactly(0.5));
        assert_eq!(one(24.0, 3), Bound::exactly(0.125));
        assert_eq!(one(7.0, 0), Bound::exactly(0.0));
        for shift in [1_u64, 3, 7, 1 << 30, (1 << 53) - 1] {
            for tenths in 1..200 {
                let epsilon = f64::from(tenths) / 10.0;
                let quotient = shift as f64 / epsilon;
                let too_low = quotient.mul_add(epsilon, -(shift as f64)) < 0.0;
                let scale = if too_low { quotient.next_up() } else { quotient };
                let bound = one(scale, shift);
                assert!(bound.upper <= epsilon, "{shift} over {scale}: {bound:?}");
                assert!(
                    bound.upper.mul_add(scale, -(shift as f64)) >= 0.0,
                    "{shift} over {scale}: {bound:?}"
                );
                assert!(
                    bound.lower.mul_add(scale, -(shift as f64)) <= 0.0,
                    "{shift} over {scale}: {bound:?}"
                );
                assert!(bound.upper <= bound.lower.next_up());
            }
        }
        assert_eq!(one(f64::MIN_POSITIVE / 8.0, 1 << 40), Bound::UNBOUNDED);
        assert!(one(3.0, (1 << 60) + 1).relative_gap() > 0.0);
    }

    /// (2, 1): 0.731 truth; (10, 3): 0.6906 truth: both have the eps they were made for.
    #[test]
    fn randomized_response_epsilon() {
        for (categories, epsilon, truth) in
            [(2, 1.0, 0.7310585786300), (10, 1.0, 0.2319693166841), (10, 3.0, 0.6905678577030)]
        {
            close(pure_epsilon(&Step::RandomizedResponse { categories, truth }).unwrap(), epsilon, 1e-12);
        }
        assert_eq!(pure_epsilon(&Step::RandomizedResponse { categories: 2, truth: 1.0 }), None);
        assert_eq!(pure_epsilon(&Step::RandomizedResponse { categories: 1, truth: 1.0 }), Some(0.0));
    }

    #[test]
    fn amplification() {
        let poisson = |rate, sided, epsilon| {
            pure_epsilon(&Step::Poisson { rate, sided, base: Box::new(Step::Pure { epsilon }) }).unwrap()
        };
        for (epsilon, rate, exact) in
            [(1.0, 0.01, 0.01703686323618), (4.0, 0.1, 1.8499992893998), (0.1, 0.5, 0.05124947951363)]
        {
            close(poisson(rate, Sided::One, epsilon), exact, 1e-12);
            let two: f64 =
                ((1.0 - rate + rate * f64::exp(epsilon)) / (1.0 - rate + rate * f64::exp(-epsilon))).ln();
            close(poisson(rate, Sided::Two, epsilon), two, 1e-12);
        }
        close(poisson(1.0, Sided::Two, 0.5), 1.0, 1e-14);
        close(poisson(0.01, Sided::One, 2_000.0), 2_000.0 + 0.01f64.ln(), 1e-14);
        let drawn = Step::WithoutReplacement {
            sample: 1,
            population: 100,
            base: Box::new(Step::Pure { epsilon: 1.0 }),
        };
        close(pure_epsilon(&drawn).unwrap(), 0.01703686323618, 1e-12);
    }
}
