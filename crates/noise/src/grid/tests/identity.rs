//! `S + K = R(S g + Z) / g` for the same draws, in rational arithmetic: rounding the noise is
//! rounding the noisy sum.

use dashu::{integer::IBig, rational::RBig};

use super::Inputs;
use crate::grid::{Grid, GridPlan, GridSum, Norm};

/// Round to the nearest multiple of `step`, as a multiple: `R(x) / g`.
fn nearest(value: &RBig, step: &RBig) -> IBig {
    (value / step + RBig::from(1) / RBig::from(2)).floor()
}

/// The step as the real number `C / N`.
fn exact_step(grid: &Grid) -> RBig {
    RBig::try_from(grid.clip_norm()).unwrap() / RBig::from(grid.clip_units())
}

#[test]
fn rounding_the_noise_is_rounding_the_noisy_sum() {
    let mut inputs = Inputs(1);
    for depth in 0..=6u32 {
        for (clip_norm, z) in [(1.0, 1.0), (0.3, 0.7), (12.5, 0.11), (7.0, 0.031)] {
            let plan = GridPlan::new(clip_norm, z, 5, 20).truncation_limit(1e6);
            let grid = plan.at_depth(depth).unwrap();
            let mut sum = GridSum::new(grid);
            for _ in 0..inputs.below(21) {
                sum.add(&std::array::from_fn::<f64, 5, _>(|_| inputs.sign() * inputs.unit() * clip_norm))
                    .unwrap();
            }
            let before = sum.unprotected().to_vec();
            // Continuous noise 2^k X in steps, 2^k g X in data units; X a rational with a
            // denominator of 2^53.
            let draws: Vec<RBig> =
                (0..5).map(|_| RBig::try_from(inputs.sign() * inputs.unit() * 4.0).unwrap()).collect();
            let scale = RBig::from(1u64 << depth);
            let noise: Vec<IBig> = draws.iter().map(|draw| nearest(&(draw * &scale), &RBig::ONE)).collect();
            let released = sum.add_noise(true, |units| {
                units
                    .iter_mut()
                    .zip(&noise)
                    .for_each(|(unit, noise)| *unit = i64::try_from(noise.clone()).unwrap());
            });
            let step = exact_step(&grid);
            for ((unit, before), draw) in released.units().iter().zip(&before).zip(&draws) {
                let noisy = &step * RBig::from(*before) + &scale * &step * draw;
                assert_eq!(IBig::from(*unit), nearest(&noisy, &step));
            }
        }
    }
}

#[test]
fn the_published_step_is_the_exact_one_to_a_rounding() {
    for (clip_norm, z, depth) in [(1.0, 1.1, 21), (0.1, 0.7, 30), (120.0, 10.0, 17), (3e-9, 1.0, 40)] {
        let grid = GridPlan::new(clip_norm, z, 1, 10).norm(Norm::L1).at_depth(depth).unwrap();
        let error = RBig::try_from(grid.step()).unwrap() / exact_step(&grid) - RBig::ONE;
        assert!(error.to_f64().value().abs() <= f64::EPSILON / 2.0);
        let noise = grid.noise_scale() / grid.clip_norm();
        assert!(noise >= z * (1.0 - 1e-15), "noise of {noise} clip norms where {z} is accounted");
        assert!(noise <= z * (1.0 + 2.0 / grid.clip_units() as f64));
    }
}

#[test]
fn floats_come_back_in_one_rounding() {
    let grid = GridPlan::new(0.1, 1.1, 4, 10).at_depth(20).unwrap();
    let noise = [3, -((1 << 20) + 1), 987_654_321, 0];
    let released = GridSum::new(grid).add_noise(true, |units| units.copy_from_slice(&noise));
    let expected: Vec<f64> = noise
        .iter()
        .map(|&n| (RBig::from(n) * RBig::try_from(grid.step()).unwrap()).to_f64().value())
        .collect();
    assert_eq!(released.to_f64(), expected);
}
