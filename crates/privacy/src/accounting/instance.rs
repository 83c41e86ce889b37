//! Mechanisms that an event allows, and what they cost at least: pairs for certified lower ends.
//!
//! # Definition
//! Each function gives outcomes `(ln Q, loss)` of a mechanism after a post-processing, so that the
//! true pair dominates. P is rounded down and Q up, outcome by outcome, which lowers every
//! hockey-stick divergence, composed ones included; so does an outcome that is left out.
//!
//! - *Shuffled reports:* every report is made a coin that shows 1 with probability p or 1 - p, as a
//!   threshold does; all others have the answer 0, and the number of ones is seen.
//! - *Balls in bins:* nobody else contributes; the largest of the B batches' sums is seen. Its
//!   distribution function is `Phi(x)^(B-1) Phi(x - mu)` with the unit and `Phi(x)^B` without
//!   (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang, *How Private are DP-SGD
//!   Implementations?*, 2024).
//! - *Poisson selection:* every run is a coin that shows "good" with probability p or 1 - p; seen
//!   are nothing, good or bad, with probabilities `e^-m`, `1 - e^(-m p)`, `e^(-m p) - e^-m`.

use super::closed;
use super::step::{Step, Steps};
use crate::event::Trials;
use crate::numerics::logspace::ln_binomial;
use crate::numerics::normal::cdf;

/// Outcomes `(ln Q, loss)` in rising order of the loss.
pub(crate) type Outcomes = Vec<(f64, f64)>;

/// Relative room for rounding in masses.
const ROOM: f64 = 1e-12;

/// Surveys of more people are not written out.
const MOST_REPORTS: u64 = 10_000_000;

/// Outcomes of a survey or of the largest sum, about.
const MOST_OUTCOMES: f64 = 2_000.0;

/// A survey among so many people with an eps0-DP randomized response.
pub(crate) fn survey(reports: u64, epsilon: f64) -> Option<Outcomes> {
    if reports > MOST_REPORTS {
        return None;
    }
    let others = (reports - 1) as f64;
    let (truth, lie) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
    let chance =
        |x: f64| if (0.0..=others).contains(&x) { ln_binomial(x, others, lie, truth).exp() } else { 0.0 };
    let far = 40.0 * (others * lie * truth).sqrt() + 40.0;
    let first = (others * lie - far).floor().max(0.0);
    let last = (others * lie + far).ceil().min(others + 1.0);
    let merged = ((last - first) / MOST_OUTCOMES).ceil().max(1.0);
    let mut masses = Vec::new();
    let (mut x, mut before) = (first, chance(first - 1.0));
    while x <= last {
        let (mut p, mut q) = (0.0, 0.0);
        let end = (x + merged).min(last + 1.0);
        while x < end {
            let here = chance(x);
            p += truth * before + lie * here;
            q += lie * before + truth * here;
            before = here;
            x += 1.0;
        }
        masses.push((p * (1.0 - ROOM), q * (1.0 + ROOM)));
    }
    Some(outcomes(masses))
}

/// One epoch of balls in bins, removing (P has the unit) or adding.
pub(crate) fn largest_sum(bins: u64, mu: f64, remove: bool) -> Outcomes {
    let b = bins as f64;
    // ln of the two distribution functions.
    let ln_below = |x: f64| {
        let one = (-cdf(-x)).ln_1p();
        let with = (-cdf(mu - x)).ln_1p();
        ((b - 1.0) * one + with, b * one)
    };
    // From where next to nothing lies below to where next to nothing lies above.
    let lowest = quantile(|x| ln_below(x).1, 1e-14f64.ln());
    let highest = mu.max(0.0) + 9.0 + (2.0 * b.ln()).sqrt();
    let cells = 600;
    let place = |i: i32| lowest + (highest - lowest) * f64::from(i) / f64::from(cells);
    // Differences of what is below, or of what is above, whichever is smaller.
    let between = |low: f64, high: f64| {
        if high < 0.5f64.ln() {
            (high.exp() - low.exp(), high.exp())
        } else {
            (low.exp_m1().abs() - high.exp_m1().abs(), low.exp_m1().abs())
        }
    };
    let mut masses = Vec::new();
    let mut low = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for i in 0..=cells + 1 {
        let high = if i <= cells { ln_below(place(i)) } else { (0.0, 0.0) };
        let ((p, p_size), (q, q_size)) = (between(low.0, high.0), between(low.1, high.1));
        // The exponents have been multiplied by B.
        let error = |size: f64| size * 16.0 * f64::EPSILON * (1.0 + high.1.abs().min(40.0));
        let (first, second) = if remove { ((p, p_size), (q, q_size)) } else { ((q, q_size), (p, p_size)) };
        masses
            .push((first.0 - error(first.1) - ROOM * first.0, second.0 + error(second.1) + ROOM * second.0));
        low = high;
    }
    outcomes(masses)
}

/// The best of Poisson many coins.
pub(crate) fn best_of_poisson(trials: Trials, run: &Steps) -> Option<Outcomes> {
    let (Trials::Poisson { mean }, Some(good)) = (trials, coin(run)) else { return None };
    let m = mean.get();
    // Bad is rarer where good is likelier: it tells most if P has the worse coin.
    let law = |good: f64| {
        let none = (-m).exp();
        let bad = none * (m * (1.0 - good)).exp_m1();
        [none, -(-m * good).exp_m1(), bad]
    };
    let room = ROOM * (1.0 + m);
    let (p, q) = (law(1.0 - good), law(good));
    (room < 0.5).then(|| outcomes(p.into_iter().zip(q).map(|(p, q)| (p * (1.0 - room), q * (1.0 + room)))))
}

/// The probability of "good" under one neighbour, and of "bad" under the other, for the best coin
/// that one part of the run can be made into.
pub(crate) fn coin(run: &Steps) -> Option<f64> {
    let response = |epsilon: f64| 1.0 / (1.0 + (-epsilon).exp());
    let one = |step: &Step| match step {
        Step::Gaussian { mu } => Some(cdf(0.5 * mu)),
        Step::Zcdp { rho } => Some(cdf((0.5 * rho).sqrt())),
        Step::Laplace { epsilon } => Some(1.0 - 0.5 * (-0.5 * epsilon).exp()),
        Step::Pure { epsilon } | Step::Approximate { epsilon, .. } => Some(response(*epsilon)),
        Step::BoundedRange { epsilon } => Some(response(0.5 * epsilon)),
        // Answers that are neither version's become a fair coin.
        Step::RandomizedResponse { categories, truth } => {
            let lie = (1.0 - truth) / (*categories - 1) as f64;
            Some(truth + 0.5 * lie * (*categories - 2) as f64)
        }
        Step::DiscreteGaussian { .. }
        | Step::DiscreteLaplace { .. }
        | Step::Renyi { .. }
        | Step::Poisson { .. }
        | Step::WithoutReplacement { .. }
        | Step::PoissonGroup { .. }
        | Step::BallsInBins { .. }
        | Step::WithReplacement { .. }
        | Step::Shuffled { .. }
        | Step::Group { .. }
        | Step::Selected { .. }
        | Step::NonPrivate => None,
    };
    let together = closed::gaussian_distance(run).map(|mu| cdf(0.5 * mu.lower));
    run.0.iter().filter_map(|(step, _)| one(step)).chain(together).reduce(f64::max)
}

/// Pairs of masses as outcomes; those without a P are left out.
fn outcomes(masses: impl IntoIterator<Item = (f64, f64)>) -> Outcomes {
    let present = masses.into_iter().filter(|(p, q)| *p > 0.0 && *q > 0.0);
    let mut outcomes: Outcomes = present.map(|(p, q)| (q.ln(), (p / q).ln())).collect();
    outcomes.sort_by(|a, b| a.1.total_cmp(&b.1));
    outcomes
}

/// Where a rising function reaches a value, about.
fn quantile(rising: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rising(middle) < value { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::MeanTrials;

    fn delta(outcomes: &Outcomes, epsilon: f64) -> f64 {
        let gain = |(ln_q, loss): &(f64, f64)| (ln_q + loss).exp() * -(epsilon - loss).min(0.0).exp_m1();
        outcomes.iter().map(gain).sum()
    }

    fn poisson(mean: f64) -> Trials {
        Trials::Poisson { mean: MeanTrials::new(mean).unwrap() }
    }

    /// `delta >= P[max > C] - e^eps Q[max > C]` at the best C of a fine scan; with two bins also by
    /// integration over the largest.
    #[test]
    fn the_largest_sum() {
        for (bins, mu) in [(2u64, 1.0), (100, 1.25), (1000, 2.0), (10_000, 0.5)] {
            let b = bins as i32;
            for epsilon in [0.0f64, 0.3, 1.0, 3.0] {
                let at = |c: f64| {
                    let (p, q) = (cdf(c).powi(b - 1) * cdf(c - mu), cdf(c).powi(b));
                    ((1.0 - p) - epsilon.exp() * (1.0 - q), (q - epsilon.exp() * p))
                };
                let scan = (0..4000).map(|i| at(-4.0 + 0.004 * f64::from(i)));
                let best = scan.fold((0.0f64, 0.0f64), |b, x| (b.0.max(x.0), b.1.max(x.1)));
                for (remove, best) in [(true, best.0), (false, best.1)] {
                    let found = delta(&largest_sum(bins, mu, remove), epsilon);
                    assert!(
                        found <= best * (1.0 + 1e-5) + 1e-12 && found >= 0.995 * best - 1e-9,
                        "{bins} {mu} {epsilon} {remove}: {found} against {best}"
                    );
                }
            }
        }
    }

    /// Term by term, for few and for many people.
    #[test]
    fn a_survey() {
        for (reports, epsilon) in [(1u64, 1.0f64), (2, 0.5), (30, 2.0), (5_000, 1.0)] {
            let (truth, lie) = (1.0 / (1.0 + (-epsilon).exp()), 1.0 / (1.0 + epsilon.exp()));
            let others = (reports - 1) as f64;
            let rest = |x: f64| {
                if (0.0..=others).contains(&x) { ln_binomial(x, others, lie, truth).exp() } else { 0.0 }
            };
            let law = |x: f64, one: f64| one * rest(x - 1.0) + (1.0 - one) * rest(x);
            let found = survey(reports, epsilon).unwrap();
            for e in [0.0f64, 0.02, 0.1, 0.4, 0.9] {
                let gain = |x: f64| (law(x, truth) - e.exp() * law(x, lie)).max(0.0);
                let exact: f64 = (0..=reports).map(|x| gain(x as f64)).sum();
                let found = delta(&found, e);
                assert!(
                    found <= exact && found >= exact * (1.0 - 1e-3) - 1e-11,
                    "{reports} {epsilon} at {e}: {found} against {exact}"
                );
            }
        }
        assert_eq!(survey(MOST_REPORTS + 1, 1.0), None);
    }

    /// Ten runs of eps = 0.3: 0.0097 at 0.3, by the sum over the number of runs.
    #[test]
    fn the_best_of_poisson_many() {
        for (mean, epsilon) in [(10.0f64, 0.3f64), (0.5, 1.0), (3.0, 2.0)] {
            let run = Steps(vec![(Step::Pure { epsilon }, 1)]);
            let found = best_of_poisson(poisson(mean), &run).unwrap();
            let good = 1.0 / (1.0 + (-epsilon).exp());
            let law = |good: f64| {
                let (mut chance, mut law) = ((-mean).exp(), [(-mean).exp(), 0.0, 0.0]);
                for k in 1..200 {
                    chance *= mean / f64::from(k);
                    law[1] += chance * (1.0 - (1.0 - good).powi(k));
                    law[2] += chance * (1.0 - good).powi(k);
                }
                law
            };
            let (p, q) = (law(1.0 - good), law(good));
            for e in [0.0f64, 0.1, 0.3, 0.8] {
                let exact: f64 = p.iter().zip(q).map(|(p, q)| (p - e.exp() * q).max(0.0)).sum();
                let found = delta(&found, e);
                assert!(
                    found <= exact * (1.0 + 1e-12) && found >= exact * (1.0 - 1e-9) - 1e-11,
                    "{found} {exact}"
                );
            }
        }
        let gaussian = Steps(vec![(Step::Gaussian { mu: 1.0 }, 4)]);
        assert!((coin(&gaussian).unwrap() - cdf(1.0)).abs() < 1e-14);
        let response = Steps(vec![(Step::RandomizedResponse { categories: 4, truth: 0.4 }, 1)]);
        assert!((coin(&response).unwrap() - 0.6).abs() < 1e-14);
        assert_eq!(coin(&Steps(vec![(Step::NonPrivate, 1)])), None);
    }
}
