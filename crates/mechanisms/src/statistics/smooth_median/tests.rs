//! Every step of the proof by itself, and the constants of the literature.

use std::f64::consts::PI;

use super::super::ordered::tests::{neighbours, tables};
use super::*;
use crate::testing::{DrawFreely, epsilon, misses_at_most};

fn plan(e: f64, floor: f64) -> SmoothMedian {
    let row = Contributor::record(Neighbours::Replace);
    SmoothMedian::new(epsilon(e), Bounds::new(0.0, 1.0).unwrap(), floor, row).unwrap()
}

/// Steps (i) and (ii) of the proof on all tables of up to five rows on five values spread over the
/// grid.
#[test]
fn levels_move_by_one_and_cover_the_median() {
    let spread = |table: &[u64]| Ordered::new(table.iter().map(|x| x * (CELLS / 4)).collect(), CELLS);
    for e in [0.5, 2.0] {
        let plan = plan(e, 1e-3);
        let half = e / 2.0;
        for n in 1..=5 {
            for table in tables(n, 4) {
                let here = spread(&table);
                let level = plan.level(&here);
                for other in neighbours(&table, 4) {
                    let there = spread(&other);
                    assert!(level.abs_diff(plan.level(&there)) <= 1, "{table:?} and {other:?}");
                    let moved = here.median().abs_diff(there.median()) as f64;
                    assert!(moved <= half * plan.ladder[level].scale as f64, "{table:?} and {other:?}");
                }
            }
        }
    }
}

/// A twin that looks at the table itself only, without its surroundings: levels jump, which is what
/// smoothness is against.
#[test]
fn a_twin_with_local_sensitivity_is_caught() {
    let plan = plan(1.0, 1e-6);
    let local = |ordered: &Ordered| plan.level_of(ordered.sensitivity(0));
    // Five equal rows; two of them elsewhere; and a third one.
    let near = Ordered::new(vec![0, 0, 0, CELLS, CELLS], CELLS);
    let far = Ordered::new(vec![0, 0, CELLS, CELLS, CELLS], CELLS);
    let same = Ordered::new(vec![0, 0, 0, 0, CELLS], CELLS);
    assert!(local(&near).abs_diff(local(&same)) > 1);
    assert!(plan.level(&near).abs_diff(plan.level(&same)) <= 1);
    assert!(plan.level(&near).abs_diff(plan.level(&far)) <= 1);
}

#[test]
fn the_ladder_keeps_its_steps_and_reaches() {
    for e in [0.01, 0.1, 1.0, 8.0, 100.0] {
        for floor in [1e-9, 1e-3, 1.0] {
            let plan = plan(e, floor);
            let half = e / 2.0;
            for pair in plan.ladder.windows(2) {
                assert!(pair[0].scale < pair[1].scale);
                assert!((pair[1].scale as f64 / pair[0].scale as f64).ln() <= half);
            }
            assert!(plan.ladder.iter().all(|rung| rung.reach as f64 <= half * rung.scale as f64));
            assert!(plan.ladder[plan.ladder.len() - 1].reach >= CELLS);
            assert!(plan.ladder[0].reach as f64 >= floor * CELLS as f64);
        }
    }
}

/// Step (iii), with the law of the rounded noise itself: for all shifts and both ways of one step
/// on a ladder, no integer is more than e^ε times likelier. Half of the noise is caught.
#[test]
fn no_output_reveals_more_than_epsilon() {
    let mass = |scale: f64, z: f64| (((z + 0.5) / scale).atan() - ((z - 0.5) / scale).atan()) / PI;
    let worst = |e: f64, noise: f64| {
        let (half, scale) = (e / 2.0, 200.0 * noise);
        let shift = (half * 200.0).floor();
        let mut worst: f64 = 0.0;
        for next in [scale * half.exp(), scale / half.exp(), scale] {
            for moved in [0.0, 0.5 * shift, shift] {
                for z in (-3000..=3000).step_by(7).map(f64::from) {
                    worst = worst.max((mass(scale, z) / mass(next, z - moved.floor())).ln().abs());
                }
            }
        }
        worst
    };
    for e in [0.5, 1.0, 3.0] {
        assert!(worst(e, 1.0) <= e, "{} at {e}", worst(e, 1.0));
    }
    assert!(worst(3.0, 0.4) > 3.0, "{}", worst(3.0, 0.4));
}

/// Worst loss of Student's t of d degrees over shifts up to s and dilations up to e^β, by a mesh.
fn student_loss(d: f64, s: f64, beta: f64) -> f64 {
    let ln = |z: f64| -(d + 1.0) / 2.0 * (1.0 + z * z / d).ln();
    let mut worst: f64 = 0.0;
    for i in -400..=400 {
        let y = f64::from(i).powi(3) / 40_000.0;
        for shift in [0.0, 0.25 * s, 0.5 * s, 0.75 * s, s] {
            for dilation in [-beta, -0.5 * beta, 0.0, 0.5 * beta, beta] {
                let other = ln((y - shift) * dilation.exp()) + dilation;
                worst = worst.max((ln(y) - other).abs());
            }
        }
    }
    worst
}

/// For Student's t of d degrees the loss is at most `s (d + 1)/(2 sqrt d) + β max(1, d)`; Cauchy is
/// d = 1, with s + β.
#[test]
fn the_constants_of_students_t_hold() {
    for d in [1.0f64, 2.0, 3.0] {
        for (s, beta) in [(0.5, 0.5), (0.1, 0.4), (0.05, 0.05), (1.0, 0.2)] {
            let bound = s * (d + 1.0) / (2.0 * d.sqrt()) + beta * f64::max(1.0, d);
            let worst = student_loss(d, s, beta);
            assert!(worst <= bound, "d {d}, s {s}, β {beta}: {worst} above {bound}");
            assert!(worst > 0.5 * bound, "and the bound is not idle: {worst} of {bound}");
        }
    }
    assert!((student_loss(1.0, 0.5, 0.5) - 0.7958).abs() < 1e-3);
}

/// Laplace noise (2S/ε) Lap(1) with β = ε/(2 ln(2/δ)) is (ε, δ)-private; its true δ is far smaller.
#[test]
fn the_constants_of_laplace_noise_hold() {
    for (e, d, truth) in [(1.0f64, 1e-3f64, 1.277e-5), (1.0, 1e-6, 6.70e-9)] {
        let beta = e / (2.0 * (2.0 / d).ln());
        let mut worst: f64 = 0.0;
        for dilation in [-beta, beta] {
            for shift in [0.0, 0.25 * e, 0.5 * e] {
                // Integral of (p - e^ε q)+ with p = Lap(1) and q shifted and dilated, midpoint
                // rule.
                let p = |y: f64| 0.5 * (-y.abs()).exp();
                let q = |y: f64| dilation.exp() * p((y - shift) * dilation.exp());
                let h = 1e-3;
                let sum: f64 = (-60_000..60_000)
                    .map(|i| (f64::from(i) + 0.5) * h)
                    .map(|y| (p(y) - e.exp() * q(y)).max(0.0) * h)
                    .sum();
                worst = worst.max(sum);
            }
        }
        assert!(worst <= d);
        assert!((worst / truth - 1.0).abs() < 0.02, "{worst} against {truth}");
    }
}

#[test]
fn the_stated_error_is_met() {
    // A million equal gaps of one thousandth: smooth sensitivity max over k of (k + 1) gap e^(-βk).
    let plan = plan(1.0, 1e-4);
    let rows: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
    let smooth = (0..100).map(|k| f64::from(k + 1) * 1e-3 * (-0.5 * f64::from(k)).exp()).fold(0.0, f64::max);
    // One step up the ladder, for it is rounded up.
    let (error, mut within) = (plan.error_at(0.9, smooth * 0.5f64.exp()), 0);
    misses_at_most(0.1, 4000, 91, |bits| {
        let value = plan.draw_freely(Rows::new(&rows), bits).unwrap();
        within += u32::from((value - 0.499).abs() <= 0.2 * error);
        (value - 0.499).abs() > error
    });
    assert!(within > 1000, "the error is not far too large");
    assert_eq!(plan.error_at(1.0, 0.1), f64::INFINITY);
}

#[test]
fn edges() {
    let bounds = Bounds::new(0.0, 1.0).unwrap();
    let make = |e: f64, floor: f64, who| SmoothMedian::new(epsilon(e), bounds, floor, who).map(|_| ());
    let row = Contributor::record(Neighbours::Replace);
    for floor in [0.0, -1.0, 2.0, f64::NAN] {
        assert!(
            make(1.0, floor, row.clone())
                .unwrap_err()
                .to_string()
                .starts_with("floor must be a number above 0")
        );
    }
    assert!(matches!(make(0.0, 0.1, row.clone()), Err(MechanismError::NoBudget)));
    assert!(matches!(make(1e-3, 1e-6, row.clone()), Err(MechanismError::TooManyLevels { .. })));
    // Rungs from 2^52 to beyond 2^53, where Cauchy noise cannot be drawn: refused now, not by those
    // tables that need the last ones.
    assert!(matches!(make(2.3e-4, 0.5, row), Err(MechanismError::Noise(_))));
    for who in [
        Contributor::record(Neighbours::AddRemove),
        Contributor::owner(Neighbours::Replace, "user_id", sordino_privacy::Count::ONE),
    ] {
        assert!(matches!(make(1.0, 0.1, who), Err(MechanismError::Relation { .. })));
    }
    let mut bits = sordino_noise::danger::seeded(92);
    for rows in [&[][..], &[f64::NAN], &[f64::INFINITY, -3.0]] {
        assert!((0.0..=1.0).contains(&plan(1.0, 0.1).draw_freely(Rows::new(rows), &mut bits).unwrap()));
    }
}
