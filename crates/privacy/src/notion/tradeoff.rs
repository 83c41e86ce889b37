//! Trade-off curves: what the best attacker can do.
//!
//! # Definition
//! An attacker who knows everything but whether the output came from P or from Q decides by a test.
//! At type I error t (false alarms) its type II error (misses) is at least `T(P, Q)(t)`; a
//! mechanism is f-DP if `T(P, Q) >= f` for all neighbours (Dong, Roth, Su, *Gaussian Differential
//! Privacy*, 2019).
//! # Guarantee
//! ```text
//! from a profile   f(t) = sup over eps of max(0, 1 - delta(eps) - e^eps t, e^-eps (1 - delta(eps) - t)) (1)
//! from mu-GDP      f(t) = Phi(Phi^-1(1 - t) - mu)                                                        (2)
//! back             delta(eps) = 1 + f*(-e^eps) = sup over t of 1 - f(t) - e^eps t                        (3)
//! ```
//! (1) holds for any set of points at or above the true profile, and a denser set is only tighter;
//! (2) is exact. Neighbours come in both orders, so every curve here is symmetric: `f(f(t)) <= t`
//! where f is positive. All values are rounded down, so that the attacker is never described as
//! weaker than it may be.
//! # Pitfalls
//! The curve is for an attacker who wants to know about *one* unit and knows the rest.

use super::{Approximate, Gdp, ProfilePoint, Pure, profile};
use crate::accounting::{self, AccountError, Accountant};
use crate::claim::Claim;
use crate::numerics::{gaussian_profile, normal, search};
use crate::params::{Delta, Epsilon};

/// A lower bound on an attacker's errors.
///
/// ```
/// use sordino_privacy::{Claim, notion::TradeOff};
/// let claim = Claim::from_json(r#"{"type":"gaussian","noise_multiplier":1.0}"#)?;
/// let curve = TradeOff::of(&claim)?;
/// // At one per cent of false alarms, nobody detects more than 9.2 per cent.
/// assert!((curve.true_positive_rate(0.01) - 0.0924).abs() < 1e-4);
/// assert!((curve.advantage() - 0.3829).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TradeOff(TradeOffShape);

#[derive(Clone, Debug, PartialEq)]
enum TradeOffShape {
    /// Equation (2).
    Gaussian { mu: f64 },
    /// Equation (1) at these (eps, delta).
    Points(Vec<(f64, f64)>),
}

impl TradeOff {
    /// Points of a profile that [`of`](Self::of) asks for.
    pub const POINTS: usize = 128;

    /// The curve of everything that `claim` releases: exact for Gaussians, else from
    /// [`Self::POINTS`] points of its certified profile.
    pub fn of(claim: &Claim) -> Result<Self, AccountError> {
        if let Some(mu) = accounting::gaussian_distance(claim)? {
            return Ok(Self(TradeOffShape::Gaussian { mu }));
        }
        let Some(last) = last_epsilon(claim)? else { return Ok(Self(TradeOffShape::Points(Vec::new()))) };
        let share = |i: usize| last * i as f64 / (Self::POINTS - 1) as f64;
        // Between 0 and a finite number.
        let grid = (0..Self::POINTS).filter_map(|i| Epsilon::new(share(i)).ok());
        Ok(Self::from_profile(&profile(claim, grid)?))
    }

    /// The curve (1) of these points. None at all: no guarantee.
    pub fn from_profile(points: &[ProfilePoint]) -> Self {
        let useful = points.iter().filter(|point| point.delta < 1.0);
        Self(TradeOffShape::Points(useful.map(|point| (point.epsilon.get(), point.delta.max(0.0))).collect()))
    }

    /// The least type II error (misses) at type I error (false alarms) `t`, rounded down. What is
    /// no probability counts as an attacker who never errs.
    pub fn type_two_error(&self, t: f64) -> f64 {
        if !(0.0..1.0).contains(&t) {
            return 0.0;
        }
        match &self.0 {
            TradeOffShape::Gaussian { mu } => gaussian(*mu, t),
            TradeOffShape::Points(points) => points.iter().map(|point| lines(*point, t)).fold(0.0, f64::max),
        }
    }

    /// The most detections at this rate of false alarms, rounded up.
    pub fn true_positive_rate(&self, false_positive_rate: f64) -> f64 {
        1.0 - self.type_two_error(false_positive_rate)
    }

    /// The largest difference of detections and false alarms, rounded up: the total variation
    /// distance. With even odds beforehand, an attacker is right with probability (1 + advantage) /
    /// 2.
    pub fn advantage(&self) -> f64 {
        match &self.0 {
            TradeOffShape::Gaussian { mu } => gaussian_profile::enclosure(0.0, *mu).upper,
            // The curve is symmetric and 1 - t - f(t) concave: the best t is where f(t) = t. For
            // one point that is (1 - delta) / (1 + e^eps); the highest of several curves meets the
            // diagonal last.
            TradeOffShape::Points(points) => points
                .iter()
                .map(|(epsilon, delta)| ((0.5 * epsilon).tanh() * (1.0 - delta) + delta) * super::UP)
                .fold(1.0, f64::min),
        }
    }

    /// Equation (3), rounded up.
    pub fn delta(&self, epsilon: Epsilon) -> f64 {
        match &self.0 {
            TradeOffShape::Gaussian { mu } => gaussian_profile::enclosure(epsilon.get(), *mu).upper,
            TradeOffShape::Points(points) => conjugate(points, epsilon.get()),
        }
    }

    /// `count` points (t, f(t)) for a picture, denser at both ends.
    pub fn curve(&self, count: usize) -> Vec<(f64, f64)> {
        let last = count.saturating_sub(1).max(1) as f64;
        let place = |i: usize| 0.5 - 0.5 * (std::f64::consts::PI * i as f64 / last).cos();
        (0..count).map(|i| (place(i), self.type_two_error(place(i)))).collect()
    }
}

impl From<Approximate> for TradeOff {
    fn from(pair: Approximate) -> Self {
        Self(TradeOffShape::Points(vec![(pair.epsilon().get(), pair.delta().get())]))
    }
}

impl From<Pure> for TradeOff {
    fn from(pure: Pure) -> Self {
        Approximate::from(pure).into()
    }
}

impl From<Gdp> for TradeOff {
    fn from(gdp: Gdp) -> Self {
        Self(TradeOffShape::Gaussian { mu: gdp.mu().get() })
    }
}

/// Where a profile is not worth following any further; none if there is no guarantee.
fn last_epsilon(claim: &Claim) -> Result<Option<f64>, AccountError> {
    for delta in [1e-9, 1e-6, 1e-3, 0.1, 0.5] {
        // All of them are in range.
        let delta = Delta::new(delta).unwrap_or(Delta::ZERO);
        let epsilon = accounting::epsilon(claim, delta, Accountant::Auto)?.bound.upper;
        if epsilon.is_finite() {
            return Ok(Some(epsilon));
        }
    }
    Ok(None)
}

/// Equation (2), rounded down.
fn gaussian(mu: f64, t: f64) -> f64 {
    let z = normal::threshold(t);
    let error = normal::cdf(z - mu);
    if mu == 0.0 { (1.0 - t).min(error) } else { (error * (1.0 - 1e-13)).min(1.0 - t) }
}

/// The larger of the two lines of (1), rounded down.
fn lines((epsilon, delta): (f64, f64), t: f64) -> f64 {
    let kept = 1.0 - delta;
    // e^eps t without overflow; at t = 0 it is 0.
    let steep = kept - (epsilon + t.ln()).exp() * (1.0 + 1e-12);
    let flat = (-epsilon).exp() * (kept - t);
    (steep - 2.0 * f64::EPSILON).max(flat * (1.0 - 1e-12) - 2.0 * f64::EPSILON * (-epsilon).exp())
}

/// The largest `1 - f(t) - e^eps t`: f falls more steeply than `e^eps` before the best t and less
/// after it.
fn conjugate(points: &[(f64, f64)], epsilon: f64) -> f64 {
    let slope = |t: f64| {
        let mut best = (0.0, f64::NEG_INFINITY); // no error at all: the axis
        for &(e, delta) in points {
            let kept = 1.0 - delta;
            for (value, ln_slope) in [(kept - (e + t.ln()).exp(), e), ((-e).exp() * (kept - t), -e)] {
                if value > best.0 {
                    best = (value, ln_slope);
                }
            }
        }
        best.1
    };
    let gain = |t: f64| {
        let value = points.iter().map(|point| lines(*point, t)).fold(0.0, f64::max);
        1.0 - value - (epsilon + t.ln()).exp()
    };
    let (low, high) = search::bisect(0.0, 1.0, |t| slope(t) <= epsilon);
    (gain(0.0).max(gain(low)).max(gain(high)) + 1e-14).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::params::Mu;

    fn claim(json: &str) -> Claim {
        Claim::from_json(json).unwrap()
    }

    fn eps(epsilon: f64) -> Epsilon {
        Epsilon::new(epsilon).unwrap()
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn one_point() {
        let curve = TradeOff::from(Approximate::new(eps(1.0), Delta::new(0.01).unwrap()));
        for t in [0.0, 0.01, 0.1, 0.25, 0.5, 0.9, 0.989, 0.995] {
            let exact = (0.99 - 1f64.exp() * t).max((-1f64).exp() * (0.99 - t)).max(0.0);
            assert!((curve.type_two_error(t) - exact).abs() < 1e-12 && curve.type_two_error(t) <= exact);
        }
        // (e^eps - 1 + 2 delta) / (e^eps + 1)
        close(curve.advantage(), (1f64.exp_m1() + 0.02) / (1f64.exp() + 1.0), 1e-13);
        assert!((curve.delta(eps(1.0)) - 0.01).abs() < 1e-12);
        assert!((curve.delta(eps(0.0)) - curve.advantage()).abs() < 1e-12);
        assert_eq!(curve.true_positive_rate(f64::NAN), 1.0);
        assert_eq!((curve.type_two_error(1.0), curve.type_two_error(-0.1)), (0.0, 0.0));
    }

    /// The dual of the Gaussian profile, sampled densely, is (2), from below.
    #[test]
    fn a_sampled_profile_approaches_the_curve_from_below() {
        for mu in [0.3, 1.0, 2.5] {
            let gdp = Gdp::new(Mu::new(mu).unwrap());
            let exact = TradeOff::from(gdp);
            let points: Vec<ProfilePoint> = (0..400)
                .map(|i| eps(0.03 * f64::from(i)))
                .map(|epsilon| ProfilePoint { epsilon, delta: gdp.delta(epsilon) })
                .collect();
            let sampled = TradeOff::from_profile(&points);
            for t in [1e-6, 1e-3, 0.01, 0.2, 0.5, 0.8, 0.99] {
                let (below, above) = (sampled.type_two_error(t), exact.type_two_error(t));
                assert!(below <= above + 1e-12 && below > above * 0.999 - 1e-9, "{mu} {t}: {below}, {above}");
            }
            for epsilon in [0.0, 0.3, 1.2] {
                assert!((sampled.delta(eps(epsilon)) - gdp.delta(eps(epsilon))).abs() < 1e-12);
            }
            assert!((sampled.advantage() - exact.advantage()).abs() < 1e-12);
        }
    }

    /// A test of a likelihood ratio is what an attacker really does: P[N(mu) > z] at P[N(0) > z] =
    /// t.
    #[test]
    fn the_gaussian_curve_meets_the_best_test() {
        let curve = TradeOff::from(Gdp::new(Mu::new(1.0).unwrap()));
        for z in [-3.0, -1.0, 0.0, 0.5, 2.0, 5.0, 8.0] {
            let (alarms, misses) = (normal::cdf(-z), normal::cdf(z - 1.0));
            let found = curve.type_two_error(alarms);
            assert!(
                found <= misses && found > misses * (1.0 - 1e-9) - 1e-15,
                "{z}: {found} against {misses}"
            );
        }
        close(curve.advantage(), 0.382924922548, 1e-11);
        let nothing = TradeOff::from(Gdp::new(Mu::new(0.0).unwrap()));
        assert!((nothing.type_two_error(0.3) - 0.7).abs() < 1e-12 && nothing.advantage() == 0.0);
    }

    /// Randomized response answers yes with 3/4 or 1/4: its one honest test must not beat the
    /// curve.
    #[test]
    fn randomized_response_has_two_lines() {
        let curve = TradeOff::of(&claim(concat!(
            r#"{"neighbours":"replace","event":{"type":"randomized_response","categories":2,"#,
            r#""truth_probability":0.75}}"#,
        )))
        .unwrap();
        close(curve.type_two_error(0.25), 0.25, 1e-6);
        close(curve.advantage(), 0.5, 1e-6);
        assert!(curve.type_two_error(0.25) <= 0.25);
    }

    #[test]
    fn no_guarantee_is_an_attacker_who_never_errs() {
        let curve = TradeOff::of(&claim(r#"{"type":"non_private"}"#)).unwrap();
        assert_eq!((curve.type_two_error(0.0), curve.advantage(), curve.delta(eps(3.0))), (0.0, 1.0, 1.0));
        let curve = TradeOff::of(&claim(r#"{"type":"composed","events":[]}"#)).unwrap();
        assert!(curve.advantage() < 1e-12 && (curve.type_two_error(0.5) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn pictures_begin_and_end_at_the_corners() {
        let picture = TradeOff::from(Pure::new(eps(1.0))).curve(101);
        assert_eq!(picture.len(), 101);
        assert!((picture[0].1 - 1.0).abs() < 1e-12 && picture[0].0 == 0.0);
        assert_eq!(picture[100], (1.0, 0.0));
        assert!(picture.windows(2).all(|w| w[0].1 >= w[1].1 && w[0].0 < w[1].0));
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(10_000))]

        /// Falling, convex, below the diagonal of blind guessing, and its own inverse or less.
        #[test]
        fn trade_offs_fall_and_are_convex(
            e in 0.0f64..4.0,
            d in 0.0f64..0.5,
            e2 in 0.0f64..4.0,
            d2 in 0.0f64..0.5,
            t in 0.0f64..0.98,
            step in 0.001f64..0.01
        ) {
            let points = [(e, d), (e2, d2)]
                .map(|(epsilon, delta)| ProfilePoint { epsilon: eps(epsilon), delta });
            let f = TradeOff::from_profile(&points);
            let [a, b, c] = [t, t + step, t + 2.0 * step].map(|t| f.type_two_error(t));
            prop_assert!(a >= b && b >= c && a <= 1.0 - t);
            prop_assert!(b <= 0.5 * (a + c) + 1e-12);
            if a > 0.0 {
                prop_assert!(f.type_two_error(a) <= t + 1e-9);
            }
            // (3) undoes (1) up to the convex hull of the points, which never lies above them.
            prop_assert!(f.delta(eps(e)) <= d + 1e-12 && f.delta(eps(e2)) <= d2 + 1e-12);
            prop_assert!(f.delta(eps(0.0)) <= f.advantage() + 1e-12);
        }
    }
}
