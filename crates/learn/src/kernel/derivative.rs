//! Derivatives of losses by the scores, for a tile of records.
//!
//! # Definition
//! The derivative is that of [`Loss::differentiate`], record by record, but with [`exp`] of this
//! crate: for the logistic and the softmax loss it is off by at most a few times 2^-50. `scores`
//! has one array for each output, with one number for each record of the tile.
//!
//! # Row independence
//! A lane is computed from its own numbers by the same operations, whatever the other lanes hold.

use super::TILE;
use super::exp::exp;
use crate::loss::{Loss, sign};

for_all_registers! {
    /// Overwrites the scores of each record with the derivative of its loss by them.
    fn differentiate(loss: Loss, scores: &mut [[f64; TILE]], targets: [f64; TILE])
}

mod plain {
    use super::*;

    #[inline(always)]
    pub(super) fn differentiate(loss: Loss, scores: &mut [[f64; TILE]], targets: [f64; TILE]) {
        match loss {
            Loss::Logistic => {
                // Not `for_each`, whose closure would be compiled for narrow registers.
                for scores in scores {
                    logistic(scores, targets);
                }
            }
            Loss::Softmax { .. } => softmax(scores, targets),
            Loss::SmoothHinge { .. } | Loss::Squared | Loss::Huber { .. } => {
                for (score, target) in scores.iter_mut().flatten().zip(targets) {
                    loss.differentiate(std::slice::from_mut(score), target);
                }
            }
        }
    }

    /// `-y/(1 + e^(y s))`, from `e = e^-|s|`, which cannot overflow.
    #[inline(always)]
    fn logistic(scores: &mut [f64; TILE], targets: [f64; TILE]) {
        let mut e = *scores;
        for e in &mut e {
            *e = -e.abs();
        }
        exp(&mut e);
        for lane in 0..TILE {
            let y = sign(targets[lane]);
            let part = if y * scores[lane] <= 0.0 { 1.0 } else { e[lane] };
            scores[lane] = -y * (part / (1.0 + e[lane]));
        }
    }

    /// The probability of each class, minus 1 for the record's own class.
    #[inline(always)]
    fn softmax(scores: &mut [[f64; TILE]], targets: [f64; TILE]) {
        let mut largest = [f64::NEG_INFINITY; TILE];
        for scores in scores.iter() {
            for lane in 0..TILE {
                largest[lane] = largest[lane].max(scores[lane]);
            }
        }
        let mut sums = [0.0; TILE];
        for scores in scores.iter_mut() {
            for lane in 0..TILE {
                scores[lane] -= largest[lane];
            }
            exp(scores);
            for lane in 0..TILE {
                sums[lane] += scores[lane];
            }
        }
        for scores in scores.iter_mut() {
            for lane in 0..TILE {
                scores[lane] /= sums[lane];
            }
        }
        for (lane, target) in targets.iter().enumerate() {
            scores[*target as usize][lane] -= 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOSSES: [Loss; 5] = [
        Loss::Logistic,
        Loss::SmoothHinge { width: 0.3 },
        Loss::Squared,
        Loss::Huber { width: 0.7 },
        Loss::Softmax { classes: 3 },
    ];

    fn score() -> impl Strategy<Value = f64> {
        prop_oneof![
            -30.0..30.0f64,
            -1e-3..1e-3f64,
            -1e3..1e3f64,
            Just(0.0),
            Just(-0.0),
            Just(1e300),
            Just(-1e300)
        ]
    }

    fn bits(tile: &[[f64; TILE]]) -> Vec<u64> {
        tile.iter().flatten().map(|x| x.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Compares with the readable version, record by record, and checks that a lane does not
        /// depend on the others.
        #[test]
        fn derivatives_are_those_of_the_loss(
            scores in prop::array::uniform3(prop::array::uniform8(score())),
            classes in prop::array::uniform8(0..2u8),
        ) {
            let targets = classes.map(f64::from);
            for loss in LOSSES {
                let k = loss.outputs();
                let mut tile = scores[..k].to_vec();
                differentiate(loss, &mut tile, targets);
                let mut narrow = scores[..k].to_vec();
                plain::differentiate(loss, &mut narrow, targets);
                prop_assert_eq!(bits(&tile), bits(&narrow), "the bits depend on the width of registers");
                for lane in 0..TILE {
                    let mut plainly: Vec<f64> = scores[..k].iter().map(|scores| scores[lane]).collect();
                    loss.differentiate(&mut plainly, targets[lane]);
                    let mut alone = vec![[0.0; TILE]; k];
                    for (alone, scores) in alone.iter_mut().zip(&scores) {
                        alone[7 - lane] = scores[lane];
                    }
                    let mut others = [1.0; TILE];
                    others[7 - lane] = targets[lane];
                    differentiate(loss, &mut alone, others);
                    for ((got, plainly), alone) in tile.iter().zip(plainly).zip(&alone) {
                        let off = (got[lane] - plainly).abs();
                        prop_assert!(off <= 2f64.powi(-48) || got[lane] == plainly, "{loss:?} {off:e}");
                        prop_assert_eq!(got[lane].to_bits(), alone[7 - lane].to_bits());
                    }
                }
            }
        }
    }

    /// The Lipschitz bound of the loss holds for the computed derivative. NaN stays NaN, and an
    /// infinite score gives the limit.
    #[test]
    fn extreme_scores_keep_the_bound_of_the_loss() {
        let scores = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 800.0, -800.0, 1e-320, 36.0, -36.0];
        for target in [0.0, 1.0] {
            let mut tile = [scores];
            differentiate(Loss::Logistic, &mut tile, [target; TILE]);
            assert!(tile[0][0].is_nan() && tile[0][1..].iter().all(|d| d.abs() <= 1.0), "{tile:?}");
            assert_eq!(tile[0][1].abs() > 0.5, target == 0.0);
            assert_eq!(tile[0][2].abs() > 0.5, target == 1.0);
        }
    }
}
