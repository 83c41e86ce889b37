//! The exact distribution of what the code does: every slot is visited, and for each place the
//! number of 64-bit heights that are accepted is found by bisection *through the drawing code
//! itself*. Nothing is sampled.
#![allow(clippy::excessive_precision, reason = "references are written with the digits that are known")]

use std::collections::BTreeMap;

use super::*;
use crate::curve::POSITION_BITS;
use crate::stack::draw::Slot;
use crate::stack::{ABOVE_ALL, Rounding, SLOTS};
use crate::testing::Replay;

/// Five-point Gauss-Legendre nodes and weights on [0, 1]: the curves are so smooth within a block
/// that the rule leaves less than 1e-16.
const NODES: [(f64, f64); 5] = [
    (0.046910077030668, 0.118463442528095),
    (0.230765344947158, 0.239314335249683),
    (0.5, 0.284444444444444),
    (0.769234655052842, 0.239314335249683),
    (0.953089922969332, 0.118463442528095),
];

/// Unnormalised weights of the integers that `rounding` makes of the accepted places.
fn weights(stack: &Stack, rounding: Rounding) -> BTreeMap<i64, f64> {
    let mut weights = BTreeMap::new();
    for slot in 0..1u64 << 14 {
        let share_of_slot = multiplicity(stack, slot as usize);
        for (within, share) in places(stack.support).into_iter().filter(|_| share_of_slot > 0.0) {
            let word = (slot << POSITION_BITS) | within;
            visit(stack, word, |place, weight| {
                *weights.entry(rounding.apply(place)).or_insert(0.0) += share_of_slot * share * weight;
            });
        }
    }
    weights
}

/// All slots of a tail do the same: the first stands for all of them.
fn multiplicity(stack: &Stack, slot: usize) -> f64 {
    let left = SLOTS - stack.left.slots as usize;
    let right = left - stack.right.slots as usize;
    match slot {
        _ if slot < right => 1.0,
        _ if slot == right => f64::from(stack.right.slots),
        _ if slot == left => f64::from(stack.left.slots),
        _ => 0.0,
    }
}

/// The places within a block and their shares: every integer, or the nodes of the quadrature.
fn places(support: Support) -> Vec<(u64, f64)> {
    match support {
        Support::Integers { bits } => {
            (0..1u64 << bits).map(|i| (i << (POSITION_BITS - bits), 1.0 / (1u64 << bits) as f64)).collect()
        }
        Support::Reals => NODES
            .iter()
            .map(|&(node, weight)| ((node * (1u64 << POSITION_BITS) as f64) as u64, weight))
            .collect(),
    }
}

/// Calls `found` with each place that a word can lead to before a rejection, and its probability.
fn visit(stack: &Stack, word: u64, mut found: impl FnMut(i64, f64)) {
    if let Some(place) = stack.sure_place(word) {
        return found(place, 1.0);
    }
    let tail = match stack.unsure_slot((word >> POSITION_BITS) as usize) {
        Slot::Test(test) if test.height == ABOVE_ALL => return,
        Slot::Test(_) => {
            if let Some((place, weight)) = acceptance(stack, word, None) {
                found(place, weight);
            }
            return;
        }
        Slot::RightTail => stack.right,
        Slot::LeftTail => stack.left,
    };
    let width = 1u64 << tail.width_bits;
    // 2^-40 of the envelope lies beyond 40 heads, and far less of the tail itself.
    for heads in 0..40 {
        for block in 0..width {
            let coins = (((1u64 << heads) - 1) << tail.width_bits) | block;
            if let Some((place, weight)) = acceptance(stack, word, Some(coins)) {
                found(place, weight / (width << (heads + 1)) as f64);
            }
        }
    }
}

/// The place that a word proposes, and the share of heights that accept it. Heights are accepted up
/// to some point: find it by bisection over the first 64 bits.
fn acceptance(stack: &Stack, word: u64, coins: Option<u64>) -> Option<(i64, f64)> {
    let accepted = |leading| stack.unsure_place(word, leading, &mut Replay::then_zeros(coins));
    // Less than 2^-64 is not counted (and a height of 0.000... would be compared with it for
    // thousands of digits).
    let place = accepted(1)?;
    let (mut low, mut high) = (1u128, 1u128 << 64); // accepted, rejected (2^64 stands for "none is rejected")
    while high - low > 1 {
        let middle = (low + high) / 2;
        if accepted(middle as u64).is_some() { low = middle } else { high = middle }
    }
    // Coins are few here: the place is near.
    Some((place.try_into().unwrap(), high as f64 / (1u128 << 64) as f64))
}

/// Compares normalised weights with probabilities to 12 digits.
fn assert_probabilities(weights: &BTreeMap<i64, f64>, expected: &[(i64, f64)]) {
    let total: f64 = weights.values().sum();
    for &(k, probability) in expected {
        let found = weights.get(&k).copied().unwrap_or(0.0) / total;
        assert!(
            (found / probability - 1.0).abs() < 1e-12,
            "P[{k}] = {found:.17}, expected {probability:.17}"
        );
    }
}

/// References: `2 Phi(1/2) - 1` and so on to 18 digits, formed from erf of small arguments.
#[test]
fn pitfall_12_the_rounded_gaussian_has_exactly_the_probabilities_of_the_normal_distribution() {
    let stack = rounded_gaussian();
    let coarse = weights(&stack, Rounding::nearest(-5));
    assert_probabilities(
        &coarse,
        &[(0, 0.382924922548026207), (1, 0.241730337457128830), (-1, 0.241730337457128830)],
    );
    // Deep into the tail: Phi(-3.5) - Phi(-4.5), Phi(-5.5) - Phi(-6.5), from erfc.
    let upper = |x: f64| 0.5 * libm::erfc(x / std::f64::consts::SQRT_2);
    assert_probabilities(&coarse, &[(4, upper(3.5) - upper(4.5)), (-6, upper(5.5) - upper(6.5))]);
    let fine = weights(&stack, Rounding::nearest(-1));
    assert_probabilities(&fine, &[(0, 0.0249298348687542546)]);
}

/// P[0] = 1 - exp(-1/2), P[k] = sinh(1/2) exp(-k): equation (2) of the rounded samplers at depth 0.
#[test]
fn pitfall_12_the_rounded_laplace_has_exactly_the_probabilities_of_the_laplace_distribution() {
    let coarse = weights(&rounded_laplace(), Rounding::nearest(-4));
    let mass = |k: i64| 0.5f64.sinh() * (-(k.abs() as f64)).exp();
    let expected: Vec<(i64, f64)> = (1..20).flat_map(|k| [(k, mass(k)), (-k, mass(-k))]).collect();
    assert_probabilities(&coarse, &[(0, -(-0.5f64).exp_m1())]);
    assert_probabilities(&coarse, &expected);
}

/// References: sums of exp(-k^2 / (2 sigma^2)) over all integers, in high precision.
#[test]
fn pitfall_12_the_discrete_gaussian_has_exactly_its_probabilities() {
    let cases = [
        (ratio(1, 4), 0.786570707041948, 0.106450769423145),
        (ratio(1, 1), 0.398942278266862, 0.241970723224461),
        (ratio(4, 1), 0.199471140200716, 0.176032663382150),
        (ratio(100, 1), 0.0398942280401433, 0.0396952547477012),
    ];
    for (sigma_squared, p0, p1) in cases {
        // Whatever the size of a block, the distribution is the same.
        for bits in [0, 1, 3] {
            let weights = weights(&discrete_gaussian(sigma_squared.clone(), bits), Rounding::down(bits));
            let total: f64 = weights.values().sum();
            for (k, p) in [(0, p0), (1, p1), (-1, p1)] {
                let error = weights[&k] / total / p - 1.0;
                assert!(error.abs() < 1e-12, "sigma^2 {sigma_squared}, {bits} bits, P[{k}]: {error:e}");
            }
        }
    }
}

/// Variances by enumeration: 0.215012675088138 and 0.999999788767728, not sigma^2.
#[test]
fn the_variance_of_the_discrete_gaussian_is_below_its_parameter() {
    for (sigma_squared, variance) in [(ratio(1, 4), 0.215012675088138), (ratio(1, 1), 0.999999788767728)] {
        let weights = weights(&discrete_gaussian(sigma_squared, 0), Rounding::down(0));
        let total: f64 = weights.values().sum();
        let found = weights.iter().map(|(&k, weight)| (k * k) as f64 * weight).sum::<f64>() / total;
        assert!((found / variance - 1.0).abs() < 1e-12, "{found}");
    }
}

#[test]
fn pitfall_12_the_discrete_laplace_has_exactly_its_probabilities() {
    let cases =
        [(ratio(1, 1), 0.4621171572600, 1.841347188416), (ratio(10, 1), 0.04995837495788, 199.8334166336)];
    for (scale, p0, variance) in cases {
        for bits in [0, 2] {
            let weights = weights(&discrete_laplace(scale.clone(), bits), Rounding::down(bits));
            let total: f64 = weights.values().sum();
            let found = weights.iter().map(|(&k, weight)| (k * k) as f64 * weight).sum::<f64>() / total;
            // The references have 13 digits.
            assert!((weights[&0] / total / p0 - 1.0).abs() < 1e-12, "P[0] of scale {scale}");
            assert!((found / variance - 1.0).abs() < 2e-10, "variance {found} of scale {scale}");
            let r = 1.0 / scale.to_f64().value();
            for k in 1..30 {
                let step = (weights[&k] / weights[&(k - 1)]).ln() + r;
                let mirror = (weights[&-k] / weights[&(1 - k)]).ln() + r;
                assert!(step.abs() < 1e-12 && mirror.abs() < 1e-12, "P[{k}] / P[{}]", k - 1);
            }
        }
    }
}

/// Almost everything is 0, yet 1 has the probability exp(-20) of (1), and -1 too.
#[test]
fn a_tiny_scale_still_has_its_tail() {
    let weights = weights(&discrete_laplace(ratio(1, 20), 0), Rounding::down(0));
    let total: f64 = weights.values().sum();
    let r = (-20.0f64).exp();
    for k in [1, -1] {
        assert!((weights[&k] / total / ((1.0 - r) / (1.0 + r) * r) - 1.0).abs() < 1e-12);
    }
}
