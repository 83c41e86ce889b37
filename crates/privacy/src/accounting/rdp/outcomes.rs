//! Mechanisms with finitely many outcomes that matter, before and after Poisson sampling.
//!
//! # Definition
//! An outcome has a probability under the reference Q (nobody's contribution), the log-likelihood
//! ratio `plus` of one contribution to none, and `minus` of the opposite contribution to none.
//! Sampling at rate q turns a ratio y into `g(y) = ln(1 - q + q e^y)`, and the pairs are
//! ```text
//! remove   Q e^g(plus)  against  Q                 loss   g(plus)
//! add      Q            against  Q e^g(plus)       loss  -g(plus)
//! replace  Q e^g(plus)  against  Q e^g(minus)      loss   g(plus) - g(minus)
//! ```
//! Under replace the mirrored outcomes make the two directions equal;
//! otherwise the larger one counts.
//! # Laplace
//! Outside `(0, eps)` the loss is constant, two atoms. Inside, the integrand is convex
//! on a logarithmic scale: it lives at the ends. Panels start there with a width of 4 /
//! order and double, none wider than 1, so that twenty Gauss-Legendre nodes each leave
//! an error below 1e-13 of the whole.
//! # Discrete Laplace
//! Exact sums up to [`BLOCKS`] different losses. Beyond, neighbouring outcomes are gathered
//! in blocks and each block is spread on its two extreme losses, keeping both
//! probabilities. Divergences are convex in the likelihood ratio, so that this errs upward
//! only, by the square of the block's width.

use std::f64::consts::LN_2;

use super::super::closed;
use super::super::step::Sided;
use super::moment::Moment;
use crate::numerics::gauss_legendre;
use crate::numerics::logspace::{ln_add, ln_mixture};

/// Most losses that a discrete Laplace is split into.
pub(super) const BLOCKS: u64 = 1_024;

/// Laplace noise beyond this ratio is treated as any other mechanism with that bound.
pub(super) const LARGEST_LAPLACE: f64 = 500.0;

/// One outcome; see the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub(super) ln_reference: f64,
    pub(super) plus: f64,
    pub(super) minus: f64,
}

/// `D_order` of the sampled pair, the larger direction.
pub(super) fn divergence(outcomes: &[Outcome], rate: f64, sided: Sided, order: f64) -> f64 {
    match sided {
        Sided::One => remove(outcomes, rate, order).max(add(outcomes, rate, order)),
        Sided::Two => replace(outcomes, rate, order),
    }
}

fn remove(outcomes: &[Outcome], rate: f64, order: f64) -> f64 {
    let mut moment = Moment::new(order);
    for outcome in outcomes {
        let loss = ln_mixture(rate, outcome.plus);
        moment.add(outcome.ln_reference + loss, loss);
    }
    moment.divergence()
}

fn add(outcomes: &[Outcome], rate: f64, order: f64) -> f64 {
    let mut moment = Moment::new(order);
    for outcome in outcomes {
        moment.add(outcome.ln_reference, -ln_mixture(rate, outcome.plus));
    }
    moment.divergence()
}

fn replace(outcomes: &[Outcome], rate: f64, order: f64) -> f64 {
    let mut moment = Moment::new(order);
    for outcome in outcomes {
        let here = ln_mixture(rate, outcome.plus);
        moment.add(outcome.ln_reference + here, here - ln_mixture(rate, outcome.minus));
    }
    moment.divergence()
}

/// The worst `epsilon`-DP mechanism: binary randomized response (Kairouz, Oh, Viswanath, *The
/// Composition Theorem for Differential Privacy*, 2015).
pub(super) fn pure(epsilon: f64) -> Vec<Outcome> {
    let ln_norm = ln_add(0.0, epsilon);
    vec![one_sided(-ln_norm, epsilon), one_sided(epsilon - ln_norm, -epsilon)]
}

/// k-ary randomized response; `None` if an answer is impossible or certain.
pub(super) fn randomized_response(categories: u64, truth: f64) -> Option<Vec<Outcome>> {
    if categories <= 1 {
        return Some(Vec::new());
    }
    let lie = (1.0 - truth) / (categories - 1) as f64;
    if truth <= 0.0 || lie <= 0.0 {
        return None;
    }
    let loss = closed::randomized_response_loss(categories, truth);
    let others = lie * (categories - 2) as f64;
    Some(vec![one_sided(lie.ln(), loss), one_sided(truth.ln(), -loss), one_sided(others.ln(), 0.0)])
}

/// The pair of losses `top` and `top - epsilon`, the extreme mechanism of bounded range.
pub(super) fn bounded_range(epsilon: f64, top: f64) -> [Outcome; 2] {
    let width = (-(-epsilon).exp_m1()).ln();
    let high = (-(top - epsilon).exp_m1()).ln() - top - width;
    let low = (-(-top).exp_m1()).ln() - width;
    [one_sided(high, top), one_sided(low, top - epsilon)]
}

pub(super) fn one_sided(ln_reference: f64, plus: f64) -> Outcome {
    Outcome { ln_reference, plus, minus: f64::NAN }
}

/// Laplace noise of scale 1 moved by `epsilon`, with nodes fit for `order`.
pub(super) fn laplace(epsilon: f64, order: f64) -> Vec<Outcome> {
    let tail = Outcome { ln_reference: -epsilon - LN_2, plus: epsilon, minus: -epsilon };
    let mut outcomes = vec![tail, mirrored(tail)];
    for (low, high) in panels(epsilon, order) {
        for (x, weight) in gauss_legendre::nodes(low, high) {
            let inner =
                Outcome { ln_reference: weight.ln() - x - LN_2, plus: 2.0 * x - epsilon, minus: -epsilon };
            outcomes.extend([inner, mirrored(inner)]);
        }
    }
    outcomes
}

/// Discrete Laplace noise of the given scale, moved by `shift`.
pub(super) fn discrete_laplace(scale: f64, shift: u64) -> Vec<Outcome> {
    let epsilon = shift as f64 / scale;
    let ln_norm = (0.5 / scale).tanh().ln(); // ln((1 - r) / (1 + r)) with r = exp(-1 / scale)
    let ln_tail = -(-1.0 / scale).exp().ln_1p() - epsilon; // P[Z >= shift] = r^shift / (1 + r)
    let tail = Outcome { ln_reference: ln_tail, plus: epsilon, minus: -epsilon };
    let centre = Outcome { ln_reference: ln_norm, plus: -epsilon, minus: -epsilon };
    let mut outcomes = vec![tail, mirrored(tail), centre];
    let width = shift.div_ceil(BLOCKS).max(1);
    let mut first = 1;
    while first < shift {
        let last = (first + width - 1).min(shift - 1);
        for inner in block(scale, shift, first, last, ln_norm) {
            outcomes.extend([inner, mirrored(inner)]);
        }
        first = last + 1;
    }
    outcomes
}

/// Outcomes `first..=last`, strictly between 0 and `shift`, as one or two.
fn block(scale: f64, shift: u64, first: u64, last: u64, ln_norm: f64) -> Vec<Outcome> {
    let (epsilon, count) = (shift as f64 / scale, (last - first + 1) as f64);
    let loss = |k: u64| (2.0 * k as f64 - shift as f64) / scale;
    let at = |ln_reference, plus| Outcome { ln_reference, plus, minus: -epsilon };
    let ln_first = ln_norm - first as f64 / scale;
    if first == last {
        return vec![at(ln_first, loss(first))];
    }
    // Geometric series: total under Q, and under the moved distribution,
    // both relative to the first term.
    let series = |rate: f64| (rate * count).exp_m1() / rate.exp_m1();
    let (reference, moved) = (series(-1.0 / scale), series(1.0 / scale));
    // x + y = reference, x + y e^(loss(last) - loss(first)) = moved
    let high = (moved - reference) / (loss(last) - loss(first)).exp_m1();
    let low = (reference - high).max(0.0);
    vec![at(ln_first + low.ln(), loss(first)), at(ln_first + high.ln(), loss(last))]
}

/// The outcome on the other side of 0, where the two contributions change places.
fn mirrored(outcome: Outcome) -> Outcome {
    Outcome { ln_reference: outcome.ln_reference, plus: outcome.minus, minus: outcome.plus }
}

/// Panels on `[0, length]`, narrow at both ends.
fn panels(length: f64, order: f64) -> Vec<(f64, f64)> {
    let half = 0.5 * length;
    let mut cuts = vec![0.0];
    let mut width = (4.0 / order).min(1.0);
    let mut at = width;
    while at < half {
        cuts.push(at);
        at += width;
        width = (2.0 * width).min(1.0);
    }
    cuts.push(half);
    let left = cuts.windows(2).map(|cut| (cut[0], cut[1]));
    left.clone().chain(left.map(|(low, high)| (length - high, length - low))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    fn unsampled(outcomes: &[Outcome], order: f64) -> f64 {
        divergence(outcomes, 1.0, Sided::One, order)
    }

    #[test]
    fn probabilities_add_up_before_and_after_the_move() {
        let lists = [
            pure(0.7),
            randomized_response(7, 0.6).unwrap(),
            bounded_range(1.3, 0.4).to_vec(),
            laplace(2.5, 3.0),
            laplace(0.01, 1e4),
            discrete_laplace(2.0, 1),
            discrete_laplace(0.7, 5),
            discrete_laplace(1_000.0, 100_003),
        ];
        for outcomes in lists {
            let total: f64 = outcomes.iter().map(|o| o.ln_reference.exp()).sum();
            let moved: f64 = outcomes.iter().map(|o| (o.ln_reference + o.plus).exp()).sum();
            assert!((total - 1.0).abs() < 1e-12 && (moved - 1.0).abs() < 1e-12, "{total}, {moved}");
        }
    }

    #[test]
    fn pure_curve() {
        close(unsampled(&pure(1.0), 2.0), 0.7353256640555, 1e-12);
        close(unsampled(&pure(1.0), 8.0), 0.9552483740549, 1e-12);
        close(unsampled(&pure(0.1), 2.0), 0.009958584394956, 1e-12);
    }

    /// D_a / a tends to eps tanh(eps / 2), the zCDP constant of pure privacy, as a falls to 1.
    #[test]
    fn pure_curve_next_to_order_one() {
        for (epsilon, rho) in [(0.1, 0.004995837495788), (1.0, 0.462117157260), (3.0, 2.715444760935)] {
            close(unsampled(&pure(epsilon), 1.0 + 1e-9), rho, 1e-8);
            for order in [1.1, 2.0, 7.0, 100.0] {
                assert!(unsampled(&pure(epsilon), order) / order < rho);
            }
        }
    }

    /// The sum typed from the probabilities: truth p, each lie (1-p)/(k-1).
    #[test]
    fn randomized_response_curve() {
        for (k, p, order) in [(2u64, 0.75f64, 3.0f64), (5, 0.4, 2.5), (10, 0.05, 7.0)] {
            let lie = (1.0 - p) / (k - 1) as f64;
            let sum = p.powf(order) * lie.powf(1.0 - order)
                + lie.powf(order) * p.powf(1.0 - order)
                + (k - 2) as f64 * lie;
            close(unsampled(&randomized_response(k, p).unwrap(), order), sum.ln() / (order - 1.0), 1e-12);
        }
        assert!(randomized_response(3, 1.0).is_none() && randomized_response(3, 0.0).is_none());
        assert_eq!(unsampled(&randomized_response(1, 1.0).unwrap(), 2.0), 0.0);
    }

    /// Sums over the integers, both directions and replacement.
    #[test]
    fn discrete_laplace_from_its_definition() {
        for (scale, shift, rate, order) in [(2.0f64, 3i32, 0.1, 4.5), (0.8, 1, 1.0, 2.0), (5.0, 7, 0.4, 1.3)]
        {
            let r = (-1.0 / scale).exp();
            let pmf = |k: i32| (1.0 - r) / (1.0 + r) * r.powi(k.abs());
            let mixture = |k: i32, moved: i32| (1.0 - rate) * pmf(k) + rate * pmf(k - moved);
            let divergence_of = |p: &dyn Fn(i32) -> f64, q: &dyn Fn(i32) -> f64| {
                (-300..=300).map(|k| (p(k) / q(k)).powf(order) * q(k)).sum::<f64>().ln() / (order - 1.0)
            };
            let remove = divergence_of(&|k| mixture(k, shift), &pmf);
            let add = divergence_of(&pmf, &|k| mixture(k, shift));
            let replace = divergence_of(&|k| mixture(k, shift), &|k| mixture(k, -shift));
            let outcomes = discrete_laplace(scale, shift as u64);
            close(divergence(&outcomes, rate, Sided::One, order), remove.max(add), 1e-11);
            close(divergence(&outcomes, rate, Sided::Two, order), replace, 1e-11);
        }
    }

    #[test]
    fn blocks_err_upward_and_little() {
        let (scale, shift) = (40_000.0, 20_011);
        let exact: f64 = {
            let r = (-1.0f64 / scale).exp();
            let pmf = |k: i64| (1.0 - r) / (1.0 + r) * (-(k.abs() as f64) / scale).exp();
            (1.0 + (-1_600_000..=1_600_000i64)
                .map(|k| pmf(k) * ((pmf(k - shift) / pmf(k)).powi(3) - 1.0))
                .sum::<f64>())
            .ln()
                / 2.0
        };
        let found = unsampled(&discrete_laplace(scale, shift as u64), 3.0);
        assert!(found >= exact * (1.0 - 1e-10) && found <= exact * (1.0 + 1e-5), "{found} against {exact}");
    }

    /// The sampled Laplace by a fine midpoint sum.
    #[test]
    fn sampled_laplace_from_its_definition() {
        for (epsilon, rate, order) in
            [(1.0f64, 0.1, 2.5), (0.2, 0.01, 64.0), (4.0, 0.3, 1.2), (3.0, 0.5, 200.0)]
        {
            let density = |x: f64, at: f64| 0.5 * (-(x - at).abs()).exp();
            let mixture = |x: f64, at: f64| (1.0 - rate) * density(x, 0.0) + rate * density(x, at);
            let divergence_of = |p: &dyn Fn(f64) -> f64, q: &dyn Fn(f64) -> f64| {
                let step = epsilon / 4e5;
                let term = |i: i32| {
                    let x = -epsilon + (f64::from(i) + 0.5) * step;
                    (p(x) / q(x)).powf(order) * q(x) * step
                };
                let middle: f64 = (0..800_000).map(term).sum();
                let tails: f64 = [-epsilon, epsilon].iter().map(|&x| (p(x) / q(x)).powf(order) * q(x)).sum();
                (middle + tails).ln() / (order - 1.0)
            };
            let remove = divergence_of(&|x| mixture(x, epsilon), &|x| density(x, 0.0));
            let add = divergence_of(&|x| density(x, 0.0), &|x| mixture(x, epsilon));
            let replace = divergence_of(&|x| mixture(x, epsilon), &|x| mixture(x, -epsilon));
            close(divergence(&laplace(epsilon, order), rate, Sided::One, order), remove.max(add), 1e-8);
            close(divergence(&laplace(epsilon, order), rate, Sided::Two, order), replace, 1e-8);
        }
    }
}
