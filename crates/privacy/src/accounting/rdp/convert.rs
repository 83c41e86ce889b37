//! From one Rényi divergence to (epsilon, delta).
//!
//! # Guarantee
//! Let `D_a(P || Q) <= r`, `a = 1 + b`. Then P and Q are (eps, delta)-close with
//! ```text
//! basic     eps = r + ln(1/delta) / b                                                      (1)
//! improved  eps = r + ln(1 - 1/a) - (ln delta + ln a) / b                                  (2)
//! optimal   eps = max ln((p - delta) / q)  over p^a q^-b + (1-p)^a (1-q)^-b <= e^(b r)     (3)
//! total     delta <= sqrt(1 - e^-r) already at eps = 0                                     (4)
//! ```
//! (1) Mironov, *Rényi Differential Privacy*, 2017, proposition 3. (2) Canonne, Kamath, Steinke,
//! *The Discrete Gaussian for Differential Privacy*, 2020, arXiv:2004.00010v4, proposition 12. (3)
//! Asoodeh, Liao, Calmon, Kosut, Sankar, *Three Variants of Differential Privacy*, 2021: an event
//! splits the outcomes in two, and data processing leaves `D_a` of the two-point laws (p, 1-p), (q,
//! 1-q) at most r; nothing more can be said from r alone. (4) Bretagnolle and Huber 1979. Exact <=
//! (3) <= (2) <= (1).
//! # How it is computed
//! The set in (3) is convex and the objective quasi-concave, so that a search over ln p meets one
//! hill; its top lies above p = a delta, where (2) has it, and may lie next to p = 1. For each p
//! the largest loss `w = ln(p/q)` on the boundary solves
//! ```text
//! p psi_b(w) + (1-p) psi_b(v) = e^(br) - 1,   v = ln((1-p) / (1-q))                        (5)
//! ```
//! with psi of module `moment`: no cancellation even where p and q agree to ten digits. The left
//! side is convex and rising in w. Newton's method runs on a doubly logarithmic scale, and the root
//! is moved to the right by its error, which can only raise eps and delta.
//!
//! *The top is proved.* For fixed eps, `F(p) = p - e^eps q(p)` is concave, q(p) being the least q
//! of a convex set. If `F(p1) <= F(p2) >= F(p3)` for `p1 < p2 < p3`, or p3 is 1, no point outside
//! is higher than those inside, and chords prolonged from outside lie above them:
//! ```text
//! F <= F(p2) + (F(p2) - F(p1)) (p3 - p2) / (p2 - p1)   right of p2, and the same on its left     (6)
//! ```
//! taken with the larger or smaller end of each computed F. What is returned has passed this; the
//! search itself only guesses.
//! # Pitfalls
//! (2) may be negative at a badly chosen order: results are clamped at 0.

use super::moment::ln_psi;
use crate::numerics::logspace::{ln_add, ln_exp_m1};
use crate::numerics::search;

/// Relative error of the formulas below, with room to spare.
const SLACK: f64 = 1e-13;

/// The least eps known from (2) and (3), rounded up.
pub(crate) fn epsilon(order: f64, divergence: f64, delta: f64) -> f64 {
    let guess = guessed_epsilon(order, divergence, delta);
    if !guess.is_finite() || delta >= 1.0 {
        return guess;
    }
    let improved = epsilon_improved(order, divergence, delta).max(0.0);
    let (mut proved, mut more) = (guess, SLACK * (1.0 + guess));
    while proved < improved {
        if self::delta(order, divergence, proved) <= delta {
            return proved;
        }
        proved += more;
        more *= 4.0;
    }
    improved
}

/// [`epsilon`] before it is proved: for a search over orders.
pub(crate) fn guessed_epsilon(order: f64, divergence: f64, delta: f64) -> f64 {
    if delta >= 1.0 {
        return 0.0;
    }
    if divergence == f64::INFINITY || delta <= 0.0 {
        return f64::INFINITY;
    }
    epsilon_improved(order, divergence, delta).min(epsilon_optimal(order, divergence, delta)).max(0.0)
}

/// The least delta known from (2), (3) and (4), rounded up; at most 1.
pub(crate) fn delta(order: f64, divergence: f64, epsilon: f64) -> f64 {
    delta_by(order, divergence, epsilon, ln_delta_proved)
}

/// [`delta`] before it is proved: for a search over orders.
pub(crate) fn guessed_delta(order: f64, divergence: f64, epsilon: f64) -> f64 {
    delta_by(order, divergence, epsilon, |order, divergence, epsilon| {
        ln_delta_optimal(order, divergence, epsilon).1
    })
}

fn delta_by(
    order: f64,
    divergence: f64,
    epsilon: f64,
    ln_delta_optimal: impl Fn(f64, f64, f64) -> f64,
) -> f64 {
    if divergence == f64::INFINITY {
        return 1.0;
    }
    if divergence == 0.0 {
        return UNDERFLOW;
    }
    let total = 0.5 * (-(-divergence).exp_m1()).ln();
    let improved = ln_delta_improved(order, divergence, epsilon);
    let least = improved.min(ln_delta_optimal(order, divergence, epsilon)).min(total).min(0.0);
    ((least + SLACK * (10.0 - least)).exp() + UNDERFLOW).min(1.0)
}

/// Stands in for what is too small for a double.
const UNDERFLOW: f64 = 1e-300;

/// Equation (2), not clamped.
pub(crate) fn epsilon_improved(order: f64, divergence: f64, delta: f64) -> f64 {
    let tail = (delta.ln() + order.ln()) / (order - 1.0);
    let drop = (-1.0 / order).ln_1p();
    divergence + drop - tail + SLACK * (divergence - drop + tail.abs())
}

/// Equation (1), rounded up.
pub(crate) fn epsilon_basic(order: f64, divergence: f64, delta: f64) -> f64 {
    (divergence - delta.ln() / (order - 1.0)) * (1.0 + SLACK)
}

/// Equation (2), solved for ln delta.
fn ln_delta_improved(order: f64, divergence: f64, epsilon: f64) -> f64 {
    let excess = order - 1.0;
    let exact = excess * (divergence - epsilon + (-1.0 / order).ln_1p()) - order.ln();
    exact + SLACK * excess * (divergence + epsilon)
}

/// Equation (3).
fn epsilon_optimal(order: f64, divergence: f64, delta: f64) -> f64 {
    let ball = Ball::new(order, divergence);
    let objective = |ln_p: f64| -(ball.largest_loss(ln_p) + (-delta * (-ln_p).exp()).ln_1p());
    let lowest = (order * delta).ln();
    let certain = -objective(0.0);
    if lowest >= 0.0 {
        certain
    } else {
        let top = certain.max(-least_over_p(lowest, order, objective).1);
        top + SLACK * (1.0 + top.abs())
    }
}

/// Equation (3) for delta: the largest `p - e^eps q` that the search finds, as a logarithm, and its
/// `ln p`.
fn ln_delta_optimal(order: f64, divergence: f64, epsilon: f64) -> (f64, f64) {
    let ball = Ball::new(order, divergence);
    let objective = |ln_p: f64| {
        let below = epsilon - ball.largest_loss(ln_p);
        if below >= 0.0 { f64::INFINITY } else { -(ln_p + (-below.exp_m1()).ln()) }
    };
    // With (1-p)^a (1-q)^-b in (3) replaced by 1, its largest value, the best p is this one. A
    // smaller value moves it up.
    let lowest = (ball.ln_excess + (order - 1.0) * ((-1.0 / order).ln_1p() - epsilon)).min(0.0);
    let inside = if lowest < 0.0 { least_over_p(lowest, order, objective) } else { (0.0, f64::INFINITY) };
    let ends = [0.0, lowest].map(|ln_p| (ln_p, objective(ln_p)));
    let (place, least) = ends.into_iter().fold(inside, |best, end| if end.1 < best.1 { end } else { best });
    (place, -least)
}

/// The same, proved by (6); +∞ if no three points do.
fn ln_delta_proved(order: f64, divergence: f64, epsilon: f64) -> f64 {
    let ball = Ball::new(order, divergence);
    let (place, guess) = ln_delta_optimal(order, divergence, epsilon);
    if place == f64::NEG_INFINITY || guess.is_nan() {
        return f64::INFINITY;
    }
    let hill = (order - 1.0).min(1.0) / (1.0 + 1e-5 * order);
    let mut reach = 1e-6 * hill.min(if place < 0.0 { -1e3 * place } else { 1.0 });
    for _ in 0..40 {
        let middle = place.min(-reach);
        let (left, right) = (middle - reach, (middle + reach).min(0.0));
        // F / p2 at each point, with both ends.
        let at = |ln_p: f64| {
            let (low, high) = ball.loss(ln_p);
            let height = |loss: f64| -(ln_p - middle).exp() * (epsilon - loss).exp_m1();
            (height(low), height(high))
        };
        let (one, two, three) = (at(left), at(middle), at(right));
        if two.0 >= one.1 && (two.0 >= three.1 || right == 0.0) {
            let (before, after) = (-(left - middle).exp_m1(), (right - middle).exp_m1());
            let rising = two.1 + (two.1 - one.0) * after / before;
            let falling = two.1 + (two.1 - three.0) * before / after;
            let top = rising.max(falling).max(two.1).max(three.1);
            return if top > 0.0 { middle + top.ln() + SLACK * (10.0 - middle) } else { f64::NEG_INFINITY };
        }
        reach *= 4.0;
    }
    f64::INFINITY
}

/// Where `objective(ln p)` is least from `lowest` to p = 1, and how much that is. A hill is as wide
/// as b or, for large orders, as 1 / a. Next to p = 1 it is as narrow as 1 - p is: there the search
/// goes on over ln(p / (1 - p)), from the best of a scan.
fn least_over_p(lowest: f64, order: f64, objective: impl Fn(f64) -> f64) -> (f64, f64) {
    let tolerance = 3e-8 * (order - 1.0).min(1.0) / (1.0 + 1e-5 * order);
    let found = search::least(lowest, 0.0, tolerance, &objective);
    if found.0 < -0.5 {
        return found;
    }
    let ln_p = |x: f64| -(-x).exp().ln_1p();
    let by_odds = |x: f64| objective(ln_p(x));
    let scan = (0..=30).map(|i| 1.5 * f64::from(i)).map(|x| (x, by_odds(x)));
    let (x, top) = scan.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, found.1));
    let near = search::least(x - 1.5, x + 1.5, tolerance, by_odds);
    [(ln_p(x), top), (ln_p(near.0), near.1)]
        .into_iter()
        .fold(found, |best, other| if other.1 < best.1 { other } else { best })
}

/// The two-point pairs with `D_order <= divergence`.
struct Ball {
    excess_order: f64,
    divergence: f64,
    /// `ln(e^(br) - 1)`.
    ln_excess: f64,
}

impl Ball {
    fn new(order: f64, divergence: f64) -> Self {
        let excess_order = order - 1.0;
        Self { excess_order, divergence, ln_excess: ln_exp_m1(excess_order * divergence) }
    }

    /// The root w of (5), or a little more.
    fn largest_loss(&self, ln_p: f64) -> f64 {
        self.loss(ln_p).1
    }

    /// Both ends of the root. It is off by the error of `ln_value` over its slope, and by what is
    /// left of the last step.
    fn loss(&self, ln_p: f64) -> (f64, f64) {
        if ln_p >= 0.0 || self.divergence == 0.0 {
            // p = 1, where q = e^-r
            return (self.divergence * (1.0 - SLACK), self.divergence * (1.0 + SLACK));
        }
        let b = self.excess_order;
        let (p, miss) = (ln_p.exp(), -ln_p.exp_m1());
        // p^a q^-b alone is at most e^(br). For small r the ball is an ellipse, (p-q)² <= 2 r p
        // (1-p) / a.
        let most = self.divergence - ln_p / b;
        let mut w = most.min((2.0 * self.divergence * miss / (p * (b + 1.0))).sqrt());
        for _ in 0..MAX_STEPS {
            let moved = -(-w).exp_m1(); // (p - q) / p
            let v = -(p * moved / miss).ln_1p();
            let ln_value = ln_add(ln_p + ln_psi(b, w), miss.ln() + ln_psi(b, v));
            let gap = ln_value - self.ln_excess;
            let q = p * (1.0 - moved);
            let rise = (ln_p + b * w - ln_value).exp()
                - (b * v + miss.ln() - ln_value).exp() * q / (miss + p * moved);
            // The left side of (5) is convex and 0 at 0, so that its logarithmic slope is at least
            // 1.
            let slope = (b * w * rise).max(1.0);
            let next = (w * (-gap / slope).exp()).min(most);
            let change = (next - w).abs();
            w = next;
            // Convergence is quadratic only where the change is small against 1 / b, which may be
            // far below w.
            if change <= 1e-14 * w {
                let size = 1.0 + b * w - ln_p + self.ln_excess.abs();
                let room = SLACK + 8.0 * f64::EPSILON * size / slope;
                return (w * (1.0 - room), (w * (1.0 + room)).min(most * (1.0 + SLACK)));
            }
        }
        (0.0, most * (1.0 + SLACK)) // not converged: the bound without the second term
    }
}

/// Newton's method needs about six.
const MAX_STEPS: usize = 60;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::numerics::gaussian_profile;

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn three_conversions() {
        for (order, r, delta, basic, improved, optimal) in [
            (8.0, 1.0, 1e-6, 2.973644365423, 2.543049895416, 2.5429195750),
            (2.0, 0.5, 1e-3, 7.407755278982, 6.021460917862, 5.0948497046),
            (32.0, 0.5, 1e-5, 0.871384692418, 0.727838061755, 0.7278380558),
            (1.5, 0.2, 1e-2, 9.410340371976, 7.500797867092, 3.1930286021),
        ] {
            close(epsilon_basic(order, r, delta), basic, 1e-12);
            close(epsilon_improved(order, r, delta), improved, 1e-12);
            close(epsilon_optimal(order, r, delta), optimal, 1e-10);
            close(epsilon(order, r, delta), optimal, 1e-10);
            close(ln_delta_improved(order, r, improved).exp(), delta, 1e-9);
            close(super::delta(order, r, optimal), delta, 1e-8);
        }
    }

    /// Order 2 has a closed form while its p stays below 1 (r < ln 2 is enough):
    /// delta = (sqrt((e^eps - 1)² + e^r - 1) - (e^eps - 1)) / 2.
    #[test]
    fn order_two() {
        for r in [1e-20f64, 1e-9, 1e-3, 0.5] {
            for epsilon in [1e-6f64, 0.01, 0.5, 2.0] {
                let (gap, power) = (epsilon.exp_m1(), r.exp_m1());
                // The same, without cancellation.
                let exact = power / (2.0 * ((gap * gap + power).sqrt() + gap));
                let found = super::delta(2.0, r, epsilon);
                assert!(found >= exact, "r {r}, epsilon {epsilon}: {found} below {exact}");
                close(found, exact, 1e-8);
                let back = super::epsilon(2.0, r, exact);
                assert!(back >= epsilon * (1.0 - 1e-11) - 1e-15, "r {r}: {back} below {epsilon}");
                assert!(back <= epsilon * (1.0 + 1e-8) + 1e-9, "r {r}: {back} above {epsilon}");
            }
        }
    }

    /// What is proved lies above every pair that a dense scan finds, and next to what was guessed.
    #[test]
    fn the_top_is_proved() {
        for (order, r) in
            [(1.01f64, 0.3f64), (1.5, 0.01), (2.0, 3.0), (8.0, 1.0), (8.0, 1e-9), (300.0, 0.1), (1e5, 2.0)]
        {
            for epsilon in [0.0, 1e-6, 0.1, 0.5, 2.0, 6.0] {
                let proved = super::delta(order, r, epsilon);
                let ball = Ball::new(order, r);
                let scan = (0..2000).map(|i| -60.0 * (f64::from(i) / 2000.0).powi(3));
                let height = |ln_p: f64| -ln_p.exp() * (epsilon - ball.loss(ln_p).0).exp_m1();
                let highest = scan.map(height).fold(0.0, f64::max);
                assert!(proved >= highest, "{order} {r} {epsilon}: {proved} below {highest}");
                let guess = guessed_delta(order, r, epsilon);
                assert!(
                    proved <= guess * (1.0 + 1e-6) + 1e-290,
                    "{order} {r} {epsilon}: {proved} far above {guess}"
                );
                if proved > 1e-12 && proved < 1.0 {
                    let back = super::epsilon(order, r, proved);
                    assert!(back <= epsilon * (1.0 + 1e-9) + 1e-9, "{order} {r}: {back} above {epsilon}");
                }
            }
        }
    }

    #[test]
    fn total_variation_bounds_delta_at_zero() {
        for r in [1e-12, 1e-3, 0.1, 2.0] {
            let bretagnolle_huber = (-f64::exp_m1(-r)).sqrt();
            assert!(super::delta(1.01, r, 0.0) <= bretagnolle_huber * (1.0 + 1e-11));
            assert_eq!(super::epsilon(1.01, r, bretagnolle_huber * (1.0 + 1e-9)), 0.0);
        }
    }

    #[test]
    fn edges() {
        assert_eq!(epsilon(2.0, f64::INFINITY, 0.1), f64::INFINITY);
        assert_eq!(epsilon(2.0, 1.0, 0.0), f64::INFINITY);
        assert_eq!(epsilon(2.0, 1.0, 1.0), 0.0);
        assert_eq!(delta(2.0, f64::INFINITY, 1.0), 1.0);
        assert_eq!(epsilon(1e6, 0.0, 0.1), 0.0);
        assert!(delta(3.0, 0.0, 0.5) <= 1e-299);
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        /// exact <= optimal <= improved <= basic, for the Gaussian whose divergence is `r` at
        /// `order`.
        #[test]
        fn ordering(ln_excess in -4.0f64..7.0, ln_r in -20.0f64..4.0, ln_delta in -41.0f64..-1.0) {
            let (order, r, delta) = (1.0 + ln_excess.exp(), ln_r.exp(), ln_delta.exp());
            let exact = gaussian_profile::epsilon(delta, (2.0 * r / order).sqrt()).lower;
            let optimal = epsilon_optimal(order, r, delta).max(0.0);
            let improved = epsilon_improved(order, r, delta).max(0.0);
            let basic = epsilon_basic(order, r, delta);
            let close = 1.0 + 1e-10;
            prop_assert!(exact <= optimal * close + 1e-14, "{} above {}", exact, optimal);
            prop_assert!(optimal <= improved * close + 1e-12, "{} above {}", optimal, improved);
            prop_assert!(improved <= basic * close, "{} above {}", improved, basic);
        }

        /// The search finds the top: no pair of the ball is above it.
        #[test]
        fn no_pair_is_worse(
            ln_excess in -8.0f64..13.0, ln_r in -40.0f64..6.0, ln_delta in -41.0f64..-1.0, at in 0.0f64..1.0
        ) {
            let (order, r, delta) = (1.0 + ln_excess.exp(), ln_r.exp(), ln_delta.exp());
            let ln_p = at * ln_delta;
            let loss = Ball::new(order, r).largest_loss(ln_p);
            let top = epsilon_optimal(order, r, delta);
            let here = loss + (-delta * (-ln_p).exp()).ln_1p();
            prop_assert!(here <= top + 1e-12 * loss, "{} above {}", here, top);
            // And the pair is in the ball, up to the outward rounding of q.
            let (p, ln_q) = (ln_p.exp(), ln_p - loss);
            let ln_rest = order * (-p).ln_1p() - (order - 1.0) * (-ln_q.exp()).ln_1p();
            let inside = crate::numerics::logspace::ln_add(order * ln_p - (order - 1.0) * ln_q, ln_rest);
            let limit = (order - 1.0) * r;
            prop_assert!(inside >= limit * (1.0 - 1e-9) - 1e-11 * order, "{} below {}", inside, limit);
        }

        #[test]
        fn rises_with_divergence_and_falls_with_delta(
            ln_excess in -8.0f64..13.0,
            ln_r in -60.0f64..8.0,
            ln_delta in -41.0f64..-1.0,
            more in 1.001f64..3.0
        ) {
            let (order, r, delta) = (1.0 + ln_excess.exp(), ln_r.exp(), ln_delta.exp());
            let here = epsilon(order, r, delta);
            let slack = 1e-9 * here + 1e-11;
            prop_assert!(here.is_finite());
            prop_assert!(epsilon(order, r * more, delta) >= here - slack);
            prop_assert!(epsilon(order, r, delta * more) <= here + slack);
            let back = super::delta(order, r, here);
            let room = 1e-6 + 1e-12 * order * r;
            prop_assert!(back <= delta * (1.0 + room), "{} above {}", back, delta);
        }
    }
}
