//! The privacy cost of noise in the objective.
//!
//! # Setting
//! w minimises `Σ_i l_i(w) + (Λ/2)‖w‖² + <b, w>`, exactly, for continuous b. For each data set w
//! and b determine each other, so the density of w is that of `b(w) = -∇(Σ l_i + (Λ/2)‖w‖²)`
//! times the determinant of the Hessian (the map is Lipschitz and strongly monotone, which is
//! enough where second derivatives jump).
//!
//! # Determinants
//! A record's Hessian M is positive semidefinite, and those of all other records together with the
//! penalty are at least Λ. So the determinants of neighbours have a ratio of at most
//! `det(I + M/Λ)`, whether a record is absent or replaced. One score: M has rank one and norm at
//! most β. K scores of softmax: rank K - 1 and trace at most `(1 - 1/K) X²`, and by concavity equal
//! eigenvalues are worst:
//! ```text
//! c = ln(1 + β/Λ),      c = (K - 1) ln(1 + X²/(KΛ))                                            (1)
//! ```
//! # Noise
//! At one w the b of neighbours are at most G apart, or 2G if a record is replaced.
//!
//! *Spherical*, of density `~ exp(-‖b‖/s)`: the densities have a ratio of at most `exp(G/s)`, or
//! `exp(2G/s)`. This holds for every loss.
//!
//! *Gaussian*, one score only. An absent record moves b along its *fixed* row x, by
//! `|φ'| ‖x‖ <= G`, so the loss is at most `c + a²/2 + a|Z|`, a = G/σ, Z standard normal; with
//! max(Z, 0) for |Z| where φ' has one sign. For `ε - c >= a²/2` this gives
//! ```text
//! δ = 2 H(ε - c),      δ = H(ε - c) for one sign                                               (2)
//! ```
//! H the Gaussian mechanism's δ at sensitivity a (Redberg, Koskela, Wang, *Improving the Privacy
//! and Practicality of Objective Perturbation for Differentially Private Linear Learners*, 2023,
//! for two signs). A replaced record moves b within the plane of both rows, by at most 2G: the loss
//! is at most `c + m²/2 + m R`, m = 2G/σ, R Rayleigh, and with ε' = ε - c >= m²/2
//! ```text
//! δ = sqrt(2π) m e^ε' Φ(-t),   t = ε'/m + m/2                                                  (3)
//! ```
//! *Gaussian*, K scores of softmax. A record's gradient is `x gᵀ`, where g depends on w and so on
//! b, but its entries add up to zero: it lies in the K - 1 dimensions `x ⊗ 1^⊥`, which are fixed by
//! the row. So b moves by at most G within a fixed subspace of k = K - 1 dimensions (by at most 2G
//! within 2(K - 1) dimensions if a record is replaced). The inner product of this move and b is at
//! most the length of the move times R, the length of b's projection on that subspace. The loss is
//! at most `c + m²/2 + m R`, R of the law χ with k degrees of freedom, and with ε' = ε - c >= m²/2,
//! t = (ε' - m²/2)/m, integration by parts gives
//! ```text
//! δ = E (1 - e^(ε' - m²/2 - m R))+ = ∫_t^∞ m e^(ε' - m²/2 - m r) P[R > r] dr                   (4)
//! ```
//! (2) for two signs is the case k = 1, and (3) the case k = 2. For an odd k the next even one is
//! used: its R is stochastically larger, and its tail is a finite sum,
//! `P[R > r] = e^(-r²/2) Σ_{j<k/2} (r²/2)^j/j!`. The integral is replaced by an upper sum.

use sordino_privacy::{
    Contribution, Count, Delta, Epsilon, Neighbours, NoiseMultiplier, SamplingRate, calibrate,
};

use crate::error::LearnError;
use crate::loss::Loss;

/// A factor that covers the roundings of a formula.
const ROUNDING_MARGIN: f64 = 1.0 + 1e-12;

/// Cells of the upper sum of (4).
const CELLS: u32 = 4000;
/// How far the upper sum of (4) extends beyond the bulk of R. The tail of R there is below e^-70.
const TAIL_REACH: f64 = 12.0;
/// The least δ for softmax: below it, tails underflow.
const MIN_DELTA: f64 = 1e-290;

/// c of (1).
pub(super) fn determinant(loss: Loss, row_norm: f64, ridge: f64) -> f64 {
    let (largest, times) = eigenvalues(loss, row_norm);
    times * (largest / ridge).ln_1p() * ROUNDING_MARGIN
}

/// The least Λ for which (1) is at most c.
pub(super) fn least_ridge(loss: Loss, row_norm: f64, c: f64) -> f64 {
    let (largest, times) = eigenvalues(loss, row_norm);
    largest / (c / times).exp_m1() * (1.0 + 1e-9)
}

/// The worst eigenvalues of a record's Hessian: their size and their number.
fn eigenvalues(loss: Loss, row_norm: f64) -> (f64, f64) {
    match loss {
        Loss::Softmax { classes } => (row_norm * row_norm / classes as f64, classes as f64 - 1.0),
        Loss::Logistic | Loss::SmoothHinge { .. } | Loss::Squared | Loss::Huber { .. } => {
            (loss.smoothness(row_norm), 1.0)
        }
    }
}

/// The least σ/G for which the noise alone costs (ε, δ), by (2), (3) or (4).
pub(super) fn gaussian(
    loss: Loss,
    neighbours: Neighbours,
    epsilon: f64,
    delta: f64,
) -> Result<NoiseMultiplier, LearnError> {
    if let Loss::Softmax { classes } = loss {
        return of_softmax(classes, neighbours, epsilon, delta);
    }
    // Both formulas need `a²/2 <= ε`, or `m²/2 <= ε`.
    let condition = |norms: f64| norms / (2.0 * epsilon).sqrt() * (1.0 + 1e-9);
    let least = match neighbours.contribution() {
        Some(Contribution::Absent) => {
            let sides = if has_one_sign(loss) { 1.0 } else { 2.0 };
            let (all, once) = (SamplingRate::new(1.0)?, Count::ONE);
            let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta / sides)?);
            let found = calibrate::noise_multiplier(epsilon, delta, Neighbours::ZeroOut, all, once)?;
            found.value.get().max(condition(1.0))
        }
        // `check_public_size` refuses relations without contributions.
        Some(Contribution::Changed) | None => {
            (2.0 / largest_shift(epsilon, delta, plane_delta)).max(condition(2.0))
        }
    };
    Ok(NoiseMultiplier::new(least * ROUNDING_MARGIN)?)
}

/// Whether a record's label determines the sign of its derivative.
fn has_one_sign(loss: Loss) -> bool {
    match loss {
        Loss::Logistic | Loss::SmoothHinge { .. } => true,
        Loss::Squared | Loss::Huber { .. } | Loss::Softmax { .. } => false,
    }
}

/// The least σ/G of softmax, by (4).
fn of_softmax(
    classes: usize,
    neighbours: Neighbours,
    epsilon: f64,
    delta: f64,
) -> Result<NoiseMultiplier, LearnError> {
    let rows = match neighbours.contribution() {
        Some(Contribution::Absent) => 1,
        // `check_public_size` refuses relations without contributions.
        Some(Contribution::Changed) | None => 2,
    };
    if !(epsilon > 0.0 && delta > MIN_DELTA) {
        let expected = "large enough for Gaussian noise: ε above 0 and δ above 1e-290 for each record";
        return Err(LearnError::Parameter { name: "privacy budget", expected, got: epsilon.min(delta) });
    }
    let pairs = (rows * (classes - 1)).div_ceil(2);
    let shift = largest_shift(epsilon, delta, |epsilon, m| subspace_delta(epsilon, m, pairs));
    Ok(NoiseMultiplier::new(rows as f64 / shift * (1.0 + 1e-9))?)
}

/// The largest m with `m²/2 <= ε` and `delta_of(ε, m) <= δ`.
fn largest_shift(epsilon: f64, delta: f64, delta_of: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, (2.0 * epsilon).sqrt() * (1.0 - 1e-9));
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if delta_of(epsilon, middle) * (1.0 + 1e-9) <= delta { low = middle } else { high = middle }
    }
    low
}

/// An upper bound on (4) for 2 `pairs` degrees of freedom: an upper sum up to [`TAIL_REACH`], plus
/// the tail probability beyond.
fn subspace_delta(epsilon: f64, m: f64, pairs: usize) -> f64 {
    let weight = |r: f64| (epsilon - 0.5 * m * m - m * r).min(0.0).exp();
    let start = (epsilon / m - 0.5 * m).max(0.0);
    let end = start.max((2.0 * pairs as f64).sqrt()) + TAIL_REACH;
    let step = (end - start) / CELLS as f64;
    let cell = |i: u32| {
        let r = start + f64::from(i) * step;
        // How much the weight falls within the cell, without the difference of two numbers that are
        // almost equal.
        chi_tail(r, pairs) * weight(r) * -(-m * step).exp_m1()
    };
    (0..CELLS).map(cell).sum::<f64>() * (1.0 + 1e-9) + chi_tail(end, pairs)
}

/// An upper bound on `P[R > r]` for R of the law χ with 2 `pairs` degrees of freedom: the finite
/// sum, or Chernoff's bound where its terms underflow.
fn chi_tail(r: f64, pairs: usize) -> f64 {
    let (x, half) = (0.5 * r * r, pairs as f64);
    if x > 600.0 {
        let log = if x > half { half - x + half * (x / half).ln() } else { 0.0 };
        return log.exp() * (1.0 + 1e-9);
    }
    let (mut term, mut sum) = ((-x).exp(), 0.0);
    for j in 0..pairs {
        sum += term;
        term *= x / (j + 1) as f64;
    }
    (sum * (1.0 + 1e-9)).min(1.0)
}

/// An upper bound on (3): `Φ(-t) < φ(t) 4/(3t + sqrt(t² + 8))` for t > 0 (Sampford, *Some
/// Inequalities on Mill's Ratio*, 1953), and `ε' - t²/2 = -(ε'/m - m/2)²/2`.
fn plane_delta(epsilon: f64, m: f64) -> f64 {
    let (t, s) = (epsilon / m + 0.5 * m, epsilon / m - 0.5 * m);
    m * (-0.5 * s * s).exp() * 4.0 / (3.0 * t + (t * t + 8.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGISTIC: Loss = Loss::Logistic;

    /// Records as pairs of a number and its class.
    type Records = [(f64, f64)];

    /// `E (1 - e^(ε - U))+` for a loss U(r) and a density of r >= 0, by Simpson's rule. (2) and (3)
    /// are closed forms of it.
    fn delta_of(epsilon: f64, loss: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> f64 {
        let (steps, end) = (200_000, 40.0);
        let value = |r: f64| (1.0 - (epsilon - loss(r)).exp()).max(0.0) * density(r);
        let sum: f64 = (0..=steps)
            .map(|i| {
                let weight = if i == 0 || i == steps {
                    1.0
                } else if i % 2 == 1 {
                    4.0
                } else {
                    2.0
                };
                weight * value(end * f64::from(i) / f64::from(steps))
            })
            .sum();
        sum * end / f64::from(steps) / 3.0
    }

    fn half_normal(r: f64) -> f64 {
        (2.0 / std::f64::consts::PI).sqrt() * (-0.5 * r * r).exp()
    }

    #[test]
    fn noise_meets_its_delta_and_is_not_wasteful() {
        for (epsilon, delta) in [(0.5, 1e-5), (0.1, 1e-6), (3.0, 1e-3)] {
            let a = 1.0
                / gaussian(Loss::Huber { width: 1.0 }, Neighbours::ZeroOut, epsilon, delta).unwrap().get();
            let got = delta_of(epsilon, |r| a * a / 2.0 + a * r, half_normal);
            assert!(got <= delta * 1.0001 && got > 0.97 * delta, "{epsilon} {delta}: {got}");
            let a = 1.0 / gaussian(LOGISTIC, Neighbours::ZeroOut, epsilon, delta).unwrap().get();
            let got = delta_of(epsilon, |r| a * a / 2.0 + a * r, |r| 0.5 * half_normal(r));
            assert!(got <= delta * 1.0001 && got > 0.97 * delta, "one sign {epsilon} {delta}: {got}");
            let m = 2.0 / gaussian(LOGISTIC, Neighbours::Replace, epsilon, delta).unwrap().get();
            let got = delta_of(epsilon, |r| m * m / 2.0 + m * r, |r| r * (-0.5 * r * r).exp());
            assert!(got <= delta * 1.0001 && got > 0.95 * delta, "plane {epsilon} {delta}: {got}");
        }
    }

    /// (4) for two degrees of freedom is (3), and it meets δ for more.
    #[test]
    fn noise_of_several_scores_meets_its_delta() {
        for (epsilon, delta) in [(0.5, 1e-5), (1.0, 1e-6), (3.0, 1e-3), (20.0, 1e-6)] {
            for (classes, neighbours, dimensions) in
                [(3, Neighbours::ZeroOut, 2), (5, Neighbours::ZeroOut, 4), (3, Neighbours::Replace, 4)]
            {
                let norms = if neighbours == Neighbours::Replace { 2.0 } else { 1.0 };
                let loss = Loss::Softmax { classes };
                let m = norms / gaussian(loss, neighbours, epsilon, delta).unwrap().get();
                // Densities r e^(-r²/2) and r³ e^(-r²/2)/2.
                let density = |r: f64| {
                    if dimensions == 2 {
                        r * (-0.5 * r * r).exp()
                    } else {
                        0.5 * r.powi(3) * (-0.5 * r * r).exp()
                    }
                };
                let got = delta_of(epsilon, |r| m * m / 2.0 + m * r, density);
                let is_free = m * m / 2.0 < 0.999 * epsilon;
                assert!(
                    got <= delta && (got > 0.9 * delta || !is_free),
                    "{epsilon} {delta} {classes}: {got}"
                );
            }
            let plane = largest_shift(epsilon, delta, plane_delta);
            let two = largest_shift(epsilon, delta, |epsilon, m| subspace_delta(epsilon, m, 1));
            assert!((plane / two - 1.0).abs() < 0.02, "{plane} {two}");
        }
        // More dimensions need more noise, and an odd number as much as the next even one.
        let noise =
            |classes| gaussian(Loss::Softmax { classes }, Neighbours::ZeroOut, 1.0, 1e-6).unwrap().get();
        assert!(noise(3) < noise(4) && noise(4) == noise(5) && noise(5) < noise(10));
        assert!(noise(3) > gaussian(LOGISTIC, Neighbours::ZeroOut, 1.0, 1e-6).unwrap().get());
    }

    /// Chernoff's bound, which takes over from the finite sum, is never below it.
    #[test]
    fn tails_of_chi_are_never_too_small() {
        for pairs in [1, 5, 500] {
            let mut before = 1.0;
            // Up to x = 600, where Chernoff's bound takes over.
            for i in 0..346 {
                let tail = chi_tail(f64::from(i) * 0.1, pairs);
                assert!((0.0..=1.0).contains(&tail) && tail <= before * (1.0 + 1e-6), "{pairs} {i}");
                before = tail;
            }
        }
        // χ² with 10 degrees of freedom: P[χ² > 18.307] = 0.05.
        assert!((chi_tail(18.307f64.sqrt(), 5) - 0.05).abs() < 1e-5);
        // At x = 600 the sum is below Chernoff's bound.
        let r = 1200f64.sqrt();
        assert!(chi_tail(r * (1.0 - 1e-12), 500) <= chi_tail(r * (1.0 + 1e-12), 500));
    }

    /// The exact density of three scores for rows of one number. Neighbours agree along (1, 1, 1),
    /// so two dimensions remain.
    #[test]
    fn exact_densities_of_three_scores_are_within_the_theorem() {
        let (loss, ridge, epsilon, delta) = (Loss::Softmax { classes: 3 }, 0.8, 0.7, 1e-2);
        let basis = [[0.5f64.sqrt(), -(0.5f64.sqrt()), 0.0], [1.0, 1.0, -2.0].map(|x: f64| x / 6f64.sqrt())];
        // The density of (u, v), coordinates of w in the basis: that of b times the determinant.
        let density = |records: &Records, sigma: f64, u: f64, v: f64| {
            let w: [f64; 3] = std::array::from_fn(|k| u * basis[0][k] + v * basis[1][k]);
            let (mut slope, mut bend) = ([ridge * u, ridge * v], [[ridge, 0.0], [0.0, ridge]]);
            for &(x, y) in records {
                let mut scores = w.map(|w| w * x);
                let mut second = [0.0; 9];
                loss.bend(&scores, y, &mut second);
                loss.differentiate(&mut scores, y);
                for i in 0..2 {
                    slope[i] += x * (0..3).map(|k| basis[i][k] * scores[k]).sum::<f64>();
                    for j in 0..2 {
                        let of = |k: usize, l: usize| basis[i][k] * second[3 * k + l] * basis[j][l];
                        bend[i][j] += x * x * (0..9).map(|kl| of(kl / 3, kl % 3)).sum::<f64>();
                    }
                }
            }
            let square = (slope[0] * slope[0] + slope[1] * slope[1]) / (sigma * sigma);
            let normal = (-0.5 * square).exp() / (2.0 * std::f64::consts::PI * sigma * sigma);
            normal * (bend[0][0] * bend[1][1] - bend[0][1] * bend[1][0])
        };
        let divergence = |one: &Records, two: &Records, sigma: f64| {
            let (cells, reach) = (400, 40.0);
            let (step, total) =
                (2.0 * reach / f64::from(cells), (epsilon + determinant(loss, 1.0, ridge)).exp());
            let at = |i: i32| -reach + (f64::from(i) + 0.5) * step;
            let excess = |i: i32| {
                let (u, v) = (at(i / cells), at(i % cells));
                (density(one, sigma, u, v) - total * density(two, sigma, u, v)).max(0.0)
            };
            (0..cells * cells).map(excess).sum::<f64>() * step * step
        };
        let pairs: [(&Records, &Records, Neighbours); 3] = [
            (&[(1.0, 1.0), (0.4, 0.0)], &[(0.4, 0.0)], Neighbours::ZeroOut),
            (&[(1.0, 2.0)], &[], Neighbours::ZeroOut),
            (&[(1.0, 1.0), (0.4, 0.0)], &[(1.0, 0.0), (0.4, 0.0)], Neighbours::Replace),
        ];
        let mut largest = 0f64;
        for (one, two, neighbours) in pairs {
            let length = 2f64.sqrt();
            let sigma = length * gaussian(loss, neighbours, epsilon, delta).unwrap().get();
            for (one, two) in [(one, two), (two, one)] {
                let got = divergence(one, two, sigma);
                assert!(got <= delta, "{neighbours:?}: {got}");
                largest = largest.max(divergence(one, two, sigma / 4.0));
            }
        }
        assert!(largest > delta, "a quarter of the noise is too little: {largest}");
    }

    /// Tail bounds (ε = t a + a²/2 with probability 1 - δ) are valid too, and need more noise. The
    /// figures are for β = 1/4 and half of ε for the determinant.
    #[test]
    fn noise_is_below_that_of_tail_bounds() {
        let two_signs = Loss::Huber { width: 1.0 };
        for (epsilon, delta, ridge, two, one, plane) in [
            (1.0, 1e-5, 0.385373520634, 8.946127041478, 8.645449375210, 19.400286174312),
            (0.5, 1e-6, 0.880202916047, 19.668240679593, 19.118308997777, 42.241561098122),
        ] {
            assert!((least_ridge(LOGISTIC, 1.0, epsilon / 2.0) / ridge - 1.0).abs() < 1e-8);
            assert!((determinant(LOGISTIC, 1.0, ridge) - epsilon / 2.0).abs() < 1e-9);
            let noise = |loss, neighbours| gaussian(loss, neighbours, epsilon / 2.0, delta).unwrap().get();
            for (got, tail) in [
                (noise(two_signs, Neighbours::ZeroOut), two),
                (noise(LOGISTIC, Neighbours::ZeroOut), one),
                (noise(LOGISTIC, Neighbours::Replace), plane),
            ] {
                assert!(got < tail && got > 0.7 * tail, "{got} {tail}");
            }
        }
    }

    /// Searches a grid of probabilities for a worse ratio of determinants than (1). Some case
    /// attains (1).
    #[test]
    fn no_softmax_hessian_has_a_larger_determinant() {
        let loss = Loss::Softmax { classes: 3 };
        let ridge = 0.1;
        let ratio = |p: [f64; 3]| {
            // det(I + (diag(p) - p pᵀ)/Λ), 3 by 3, for a row of norm 1.
            let m =
                |i: usize, j: usize| f64::from(u8::from(i == j)) * (1.0 + p[i] / ridge) - p[i] * p[j] / ridge;
            m(0, 0) * (m(1, 1) * m(2, 2) - m(1, 2) * m(2, 1))
                - m(0, 1) * (m(1, 0) * m(2, 2) - m(1, 2) * m(2, 0))
                + m(0, 2) * (m(1, 0) * m(2, 1) - m(1, 1) * m(2, 0))
        };
        let bound = determinant(loss, 1.0, ridge).exp();
        let mut worst = 0f64;
        for i in 1..60 {
            for j in 1..60 - i {
                let (p, q) = (f64::from(i) / 60.0, f64::from(j) / 60.0);
                worst = worst.max(ratio([p, q, 1.0 - p - q]));
            }
        }
        assert!(worst <= bound * (1.0 + 1e-9) && worst > 0.999 * bound, "{worst} {bound}");
        let c = 0.3;
        assert!((determinant(loss, 2.0, least_ridge(loss, 2.0, c)) - c).abs() < 1e-8);
    }

    /// Compares the hockey-stick divergence of neighbours, both ways, from the exact density of w
    /// in one dimension, with the theorem's ε and δ.
    #[test]
    fn exact_densities_in_one_dimension_are_within_the_theorem() {
        let hinge = Loss::SmoothHinge { width: 0.2 };
        let ridge = 0.8;
        let density = |loss: Loss, records: &Records, log_noise: &dyn Fn(f64) -> f64, w: f64| {
            let (mut slope, mut bend) = (ridge * w, ridge);
            for &(x, y) in records {
                let mut score = [x * w];
                let mut second = [0.0];
                loss.bend(&score, y, &mut second);
                loss.differentiate(&mut score, y);
                slope += score[0] * x;
                bend += second[0] * x * x;
            }
            log_noise(-slope).exp() * bend
        };
        let divergence =
            |loss: Loss, one: &Records, two: &Records, log_noise: &dyn Fn(f64) -> f64, epsilon: f64| {
                let (steps, reach) = (60_000, 60.0);
                let at = |i: i32| reach * (2.0 * f64::from(i) / f64::from(steps) - 1.0);
                let excess = |w: f64| {
                    (density(loss, one, log_noise, w) - epsilon.exp() * density(loss, two, log_noise, w))
                        .max(0.0)
                };
                (0..steps).map(|i| excess(at(i))).sum::<f64>() * 2.0 * reach / f64::from(steps)
            };
        let pairs: [(&Records, &Records); 4] = [
            (&[(1.0, 1.0), (0.4, 0.0)], &[(0.4, 0.0)]),
            (&[(1.0, 1.0)], &[]),
            (&[(-1.0, 0.0), (0.7, 1.0)], &[(0.7, 1.0)]),
            (&[(1.0, 1.0), (0.4, 0.0)], &[(1.0, 0.0), (0.4, 0.0)]),
        ];
        let mut largest = 0f64;
        for loss in [LOGISTIC, hinge] {
            for (index, (one, two)) in pairs.iter().enumerate() {
                let neighbours = if index == 3 { Neighbours::Replace } else { Neighbours::ZeroOut };
                let norms = if index == 3 { 2.0 } else { 1.0 };
                let c = determinant(loss, 1.0, ridge);
                let (epsilon, delta) = (0.7, 1e-2);
                let sigma = gaussian(loss, neighbours, epsilon, delta).unwrap().get();
                let normal =
                    |b: f64| -0.5 * (b / sigma).powi(2) - (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
                let scale = norms / epsilon;
                let laplace = |b: f64| -b.abs() / scale - (2.0 * scale).ln();
                for (one, two) in [(one, two), (two, one)] {
                    let total = epsilon + c;
                    let got = divergence(loss, one, two, &normal, total);
                    assert!(got <= delta, "{loss:?} {index}: {got}");
                    let pure = divergence(loss, one, two, &laplace, total);
                    assert!(pure < 1e-6, "{loss:?} {index}: {pure}");
                    // Half of the noise breaks the bound for some pair.
                    let half = |b: f64| -b.abs() / (scale / 2.0) - scale.ln();
                    largest = largest.max(divergence(loss, one, two, &half, total));
                }
            }
        }
        assert!(largest > 1e-3, "{largest}");
    }
}
