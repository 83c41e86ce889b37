//! The exact laws of outputs, typed again from the definitions and not from the code: what
//! [`power`](super::power) expects of an audit. A law is a list of probabilities; two laws that are
//! compared have the same cells.

use std::f64::consts::{PI, SQRT_2};

/// Integers that discrete laws are given on.
const REACH: i64 = 120;

/// The probabilities between edges that are 1/16 apart, from -40 to 40, and beyond.
fn cells(distribution: impl Fn(f64) -> f64) -> Vec<f64> {
    let edges = (-640..=640).map(|i| distribution(f64::from(i) / 16.0));
    let mut last = 0.0;
    let mut cells: Vec<f64> = edges.map(|edge| edge - std::mem::replace(&mut last, edge)).collect();
    cells.push(1.0 - last);
    cells
}

pub(crate) fn laplace(middle: f64, scale: f64) -> Vec<f64> {
    cells(|x| {
        let z = (x - middle) / scale;
        if z < 0.0 { 0.5 * z.exp() } else { 1.0 - 0.5 * (-z).exp() }
    })
}

/// The sum of two independent Laplace numbers of one scale.
pub(crate) fn two_laplaces(middle: f64, scale: f64) -> Vec<f64> {
    cells(|x| {
        let z = (x - middle).abs() / scale;
        let tail = 0.25 * (2.0 + z) * (-z).exp();
        if x < middle { tail } else { 1.0 - tail }
    })
}

pub(crate) fn gaussian(middle: f64, sigma: f64) -> Vec<f64> {
    cells(|x| normal((x - middle) / sigma))
}

pub(crate) fn cauchy(middle: f64, scale: f64) -> Vec<f64> {
    cells(|x| ((x - middle) / scale).atan() / PI + 0.5)
}

/// Student's t with three degrees of freedom.
pub(crate) fn student(middle: f64, scale: f64) -> Vec<f64> {
    cells(|x| {
        let u = (x - middle) / scale / 3.0_f64.sqrt();
        0.5 + (u.atan() + u / (1.0 + u * u)) / PI
    })
}

fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

pub(crate) fn discrete_laplace(middle: i64, scale: f64) -> Vec<f64> {
    (-REACH..=REACH).map(|k| discrete_laplace_at(k - middle, scale)).collect()
}

fn discrete_laplace_at(k: i64, scale: f64) -> f64 {
    let r = (-1.0 / scale).exp();
    (1.0 - r) / (1.0 + r) * r.powf(k.abs() as f64)
}

/// P\[Z >= k\].
pub(crate) fn discrete_laplace_tail(k: i64, scale: f64) -> f64 {
    let r = (-1.0 / scale).exp();
    if k > 0 { r.powf(k as f64) / (1.0 + r) } else { 1.0 - r.powf((1 - k) as f64) / (1.0 + r) }
}

pub(crate) fn discrete_gaussian(middle: i64, sigma: f64) -> Vec<f64> {
    let weight = |k: i64| (-0.5 * (k as f64 / sigma).powi(2)).exp();
    let total: f64 = (-REACH..=REACH).map(weight).sum();
    (-REACH..=REACH).map(|k| weight(k - middle) / total).collect()
}

/// Both of two independent outputs.
pub(crate) fn both(one: &[f64], two: &[f64]) -> Vec<f64> {
    one.iter().flat_map(|p| two.iter().map(move |q| p * q)).collect()
}

/// Exponential mechanism: P\[i\] ~ exp(rate u_i).
pub(crate) fn exponential(rate: f64, scores: &[i64]) -> Vec<f64> {
    let weights: Vec<f64> = scores.iter().map(|u| (rate * *u as f64).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// The list of the first two of four choices by the exponential mechanism, without those made.
pub(crate) fn first_two(rate: f64, scores: &[i64]) -> Vec<f64> {
    let first = exponential(rate, scores);
    let second = |i: usize, j: usize| if i == j { 0.0 } else { first[i] * first[j] / (1.0 - first[i]) };
    (0..scores.len())
        .flat_map(|i| (0..scores.len()).map(move |j| (i, j)))
        .map(|(i, j)| second(i, j))
        .collect()
}

/// Permute and flip, order by order.
pub(crate) fn permute_and_flip(rate: f64, scores: &[i64]) -> Vec<f64> {
    fn visit(accepted: &[f64], left: &[usize], reached: f64, law: &mut [f64]) {
        for next in left {
            let here = reached / left.len() as f64;
            law[*next] += here * accepted[*next];
            let others: Vec<usize> = left.iter().copied().filter(|i| i != next).collect();
            visit(accepted, &others, here * (1.0 - accepted[*next]), law);
        }
    }
    let best = scores.iter().max().unwrap();
    let accepted: Vec<f64> = scores.iter().map(|u| (rate * (u - best) as f64).exp()).collect();
    let mut law = vec![0.0; scores.len()];
    visit(&accepted, &(0..scores.len()).collect::<Vec<_>>(), 1.0, &mut law);
    law
}

/// Report noisy max with discrete noise of this law, by enumeration of the winner's noise; ties to
/// one of the largest.
pub(crate) fn noisy_max(noise: impl Fn(i64) -> f64, scores: &[i64]) -> Vec<f64> {
    let below = |k: i64| (-REACH..k).map(&noise).sum::<f64>();
    let wins = |i: usize| -> f64 {
        let with = |z: i64| {
            // The share of t ties is the integral of the product of "below or tied with chance t".
            let all = |t: f64| -> f64 {
                let others = (0..scores.len()).filter(|j| *j != i);
                others.map(|j| scores[i] + z - scores[j]).map(|k| below(k) + t * noise(k)).product()
            };
            noise(z) * (all(0.0) + 4.0 * all(0.5) + all(1.0)) / 6.0
        };
        (-REACH..=REACH).map(with).sum()
    };
    (0..scores.len()).map(wins).collect()
}

pub(crate) fn two_sided(scale: f64) -> impl Fn(i64) -> f64 {
    move |k| discrete_laplace_at(k, scale)
}

pub(crate) fn one_sided(scale: f64) -> impl Fn(i64) -> f64 {
    let r = (-1.0 / scale).exp();
    move |k| if k < 0 { 0.0 } else { (1.0 - r) * r.powf(k as f64) }
}

/// Where a stream of answers ends: at the first that is above, or not at all.
pub(crate) fn above_threshold(scales: (f64, f64), threshold: i64, answers: &[i64]) -> Vec<f64> {
    let mut law = vec![0.0; answers.len() + 1];
    for rho in -REACH..=REACH {
        let mut reached = discrete_laplace_at(rho, scales.0);
        for (place, answer) in law.iter_mut().zip(answers) {
            let above = discrete_laplace_tail(threshold + rho - answer, scales.1);
            *place += reached * above;
            reached *= 1.0 - above;
        }
        law[answers.len()] += reached;
    }
    law
}

/// Nothing, or an integer: test at a distance from its threshold, and the answer, each with
/// discrete Laplace noise.
pub(crate) fn tested(scales: (f64, f64), missing: i64, answer: i64) -> Vec<f64> {
    let passes = discrete_laplace_tail(missing, scales.0);
    let answers = discrete_laplace(answer, scales.1);
    std::iter::once(1.0 - passes).chain(answers.into_iter().map(|p| passes * p)).collect()
}

/// Noise in the plane with density ~ exp(-rate |v|) around a point of the first axis, on cells of
/// 1/4.
pub(crate) fn plane(middle: f64, rate: f64) -> Vec<f64> {
    let at = |i: i32| (f64::from(i) + 0.5) / 4.0;
    let density = |x: f64, y: f64| (-rate * (x - middle).hypot(y)).exp() * rate * rate / (32.0 * PI);
    (-60..60).flat_map(|i| (-60..60).map(move |j| (at(i), at(j)))).map(|(x, y)| density(x, y)).collect()
}

/// The first of two scores wins, both with Gaussian noise.
pub(crate) fn duel(gap: f64, sigma: f64) -> Vec<f64> {
    let wins = normal(gap / (SQRT_2 * sigma));
    vec![wins, 1.0 - wins]
}
