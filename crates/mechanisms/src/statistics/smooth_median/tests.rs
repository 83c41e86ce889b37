//! What the theorem needs of the median, on all small tables; the theorem has its tests beside the
//! mechanism.

use super::super::ordered::tests::{neighbours, tables};
use super::*;
use crate::testing::{DrawFreely, epsilon, misses_at_most};

fn plan(e: f64, floor: f64) -> SmoothMedian {
    let row = Contributor::record(Neighbours::Replace);
    SmoothMedian::new(epsilon(e), Bounds::new(0.0, 1.0).unwrap(), floor, row).unwrap()
}

fn level_at(plan: &SmoothMedian, ordered: &Ordered) -> usize {
    plan.ladder.level(|k| ordered.sensitivity(k))
}

/// Step 1 of the proof on all tables of up to five rows on five values spread over the
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
                let level = level_at(&plan, &here);
                for other in neighbours(&table, 4) {
                    let there = spread(&other);
                    assert!(level.abs_diff(level_at(&plan, &there)) <= 1, "{table:?} and {other:?}");
                    let moved = here.median().abs_diff(there.median()) as f64;
                    assert!(
                        moved <= half * plan.ladder.rungs()[level].scale as f64,
                        "{table:?} and {other:?}"
                    );
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
    let local = |ordered: &Ordered| plan.ladder.level_of(ordered.sensitivity(0));
    // Five equal rows; two of them elsewhere; and a third one.
    let near = Ordered::new(vec![0, 0, 0, CELLS, CELLS], CELLS);
    let far = Ordered::new(vec![0, 0, CELLS, CELLS, CELLS], CELLS);
    let same = Ordered::new(vec![0, 0, 0, 0, CELLS], CELLS);
    assert!(local(&near).abs_diff(local(&same)) > 1);
    assert!(level_at(&plan, &near).abs_diff(level_at(&plan, &same)) <= 1);
    assert!(level_at(&plan, &near).abs_diff(level_at(&plan, &far)) <= 1);
}

#[test]
fn the_ladder_keeps_its_steps_and_reaches() {
    for e in [0.01, 0.1, 1.0, 8.0, 100.0] {
        for floor in [1e-9, 1e-3, 1.0] {
            let plan = plan(e, floor);
            let half = e / 2.0;
            for pair in plan.ladder.rungs().windows(2) {
                assert!(pair[0].scale < pair[1].scale);
                assert!((pair[1].scale as f64 / pair[0].scale as f64).ln() <= half);
            }
            assert!(plan.ladder.rungs().iter().all(|rung| rung.reach as f64 <= half * rung.scale as f64));
            assert!(plan.ladder.rungs().last().unwrap().reach >= CELLS);
            assert!(plan.ladder.rungs()[0].reach as f64 >= floor * CELLS as f64);
        }
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
