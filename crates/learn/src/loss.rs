//! Losses of linear models, each with its constants.
//!
//! # Definition
//! For scores `s = W x` and margin `m = y s` (y = -1 for the first class, +1 for
//! the second) or residual `r = s - y`:
//!
//! | loss | value | slope at most | curvature at most |
//! |---|---|---|---|
//! | `Logistic` | ln(1 + e^-m) | 1 | 1/4 |
//! | `SmoothHinge` of width h | 0 / (1 + h - m)²/(4h) / 1 - m | 1 | 1/(2h) |
//! | `Squared` | r²/2 | unbounded | 1 |
//! | `Huber` of width c | r²/2 / c(abs(r) - c/2) | c | 1 |
//! | `Softmax` of K classes | ln Σ e^{s_k} - s_y | sqrt(2) | 1/2 |
//!
//! # Constants
//! Rows have `‖x‖ <= X` and `|x_j| <= X_j`. Gradients scale with X and curvature with X²:
//! `G = slope X`, `L_j = slope X_j`, `β = curvature X²`, `M_j = curvature (1/n) Σ x_ij²`. A penalty
//! `(λ/2)‖w‖²` adds λ to β and to every M_j and nothing to G, because the penalty is not part of a
//! record's gradient.
//!
//! # Pitfalls
//! Take constants from the loss, never by hand: one that is too small voids every proof that uses
//! it. The squared loss has no Lipschitz constant without a bound on the parameters: clip, or use
//! `Huber`.

use serde::{Deserialize, Serialize};
use sordino_data::Encoding;

use crate::error::LearnError;

/// What is minimised for one record.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Loss {
    /// For two classes.
    Logistic,
    /// For two classes, with a margin: the hinge with its kink smoothed (Chaudhuri, Monteleoni,
    /// Sarwate, 2011).
    SmoothHinge {
        /// h, half the width of the smoothed part.
        width: f64,
    },
    /// For a number.
    Squared,
    /// For a number: squared for small residuals, linear for large ones.
    Huber {
        /// c, the residual at which the loss becomes linear.
        width: f64,
    },
    /// For several classes.
    Softmax {
        /// K, the number of classes.
        classes: usize,
    },
}

impl Loss {
    /// The name of the loss in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::SmoothHinge { .. } => "smooth hinge",
            Self::Squared => "squared",
            Self::Huber { .. } => "Huber",
            Self::Softmax { .. } => "softmax",
        }
    }

    /// The number of scores that a model gives a row.
    pub fn outputs(self) -> usize {
        match self {
            Self::Softmax { classes } => classes,
            Self::Logistic | Self::SmoothHinge { .. } | Self::Squared | Self::Huber { .. } => 1,
        }
    }

    /// Whether the target is a class.
    pub fn is_classification(self) -> bool {
        match self {
            Self::Logistic | Self::SmoothHinge { .. } | Self::Softmax { .. } => true,
            Self::Squared | Self::Huber { .. } => false,
        }
    }

    /// The loss of `scores` for an encoded target (a class by its number, or a number).
    pub fn value(self, scores: &[f64], target: f64) -> f64 {
        match self {
            Self::Logistic => {
                let m = sign(target) * scores[0];
                (-m).max(0.0) + (-m.abs()).exp().ln_1p()
            }
            Self::SmoothHinge { width: h } => match sign(target) * scores[0] {
                m if m > 1.0 + h => 0.0,
                m if m < 1.0 - h => 1.0 - m,
                m => (1.0 + h - m).powi(2) / (4.0 * h),
            },
            Self::Squared => 0.5 * (scores[0] - target).powi(2),
            Self::Huber { width: c } => match (scores[0] - target).abs() {
                r if r <= c => 0.5 * r * r,
                r => c * (r - 0.5 * c),
            },
            Self::Softmax { .. } => {
                let largest = scores.iter().fold(f64::NEG_INFINITY, |most, s| most.max(*s));
                let sum: f64 = scores.iter().map(|s| (s - largest).exp()).sum();
                largest + sum.ln() - scores[target as usize]
            }
        }
    }

    /// Overwrites `scores` with the derivative of the loss by them.
    pub fn differentiate(self, scores: &mut [f64], target: f64) {
        match self {
            Self::Logistic => {
                let y = sign(target);
                scores[0] = -y * expit(-y * scores[0]);
            }
            Self::SmoothHinge { width: h } => {
                let y = sign(target);
                scores[0] = -y * ((1.0 + h - y * scores[0]) / (2.0 * h)).clamp(0.0, 1.0);
            }
            Self::Squared => scores[0] -= target,
            Self::Huber { width: c } => scores[0] = (scores[0] - target).clamp(-c, c),
            Self::Softmax { .. } => {
                softmax(scores);
                scores[target as usize] -= 1.0;
            }
        }
    }

    /// Overwrites `out`, K by K, with the second derivative by the scores. At a kink of the first
    /// derivative it is that of one side.
    pub fn bend(self, scores: &[f64], target: f64, out: &mut [f64]) {
        match self {
            Self::Logistic => {
                let p = expit(scores[0]);
                out[0] = p * (1.0 - p);
            }
            Self::SmoothHinge { width: h } => {
                let is_bent = (1.0 - sign(target) * scores[0]).abs() < h;
                out[0] = if is_bent { 0.5 / h } else { 0.0 };
            }
            Self::Squared => out[0] = 1.0,
            Self::Huber { width: c } => out[0] = if (scores[0] - target).abs() <= c { 1.0 } else { 0.0 },
            Self::Softmax { classes } => {
                let mut p = scores.to_vec();
                softmax(&mut p);
                for (k, row) in out.chunks_exact_mut(classes).enumerate() {
                    row.iter_mut().zip(&p).for_each(|(out, q)| *out = -p[k] * q);
                    row[k] += p[k];
                }
            }
        }
    }

    /// The largest norm of the derivative by the scores, if it is bounded.
    pub fn slope(self) -> Option<f64> {
        match self {
            Self::Logistic | Self::SmoothHinge { .. } => Some(1.0),
            Self::Squared => None,
            Self::Huber { width } => Some(width),
            Self::Softmax { .. } => Some(std::f64::consts::SQRT_2),
        }
    }

    /// The largest second derivative by the scores, in any direction.
    pub fn curvature(self) -> f64 {
        match self {
            Self::Logistic => 0.25,
            Self::SmoothHinge { width } => 0.5 / width,
            Self::Squared | Self::Huber { .. } => 1.0,
            Self::Softmax { .. } => 0.5,
        }
    }

    /// G, the largest norm of a record's gradient for rows of norm at most `row_norm`, if it is
    /// bounded.
    pub fn lipschitz(self, row_norm: f64) -> Option<f64> {
        Some(self.slope()? * row_norm)
    }

    /// L_j, the largest derivative by the weights of a coordinate whose absolute value is at most
    /// `bound`, if it is bounded.
    pub fn coordinate_lipschitz(self, bound: f64) -> Option<f64> {
        Some(self.slope()? * bound)
    }

    /// β, the Lipschitz constant of a record's gradient.
    pub fn smoothness(self, row_norm: f64) -> f64 {
        self.curvature() * row_norm * row_norm
    }

    /// M_j of the mean loss, from the mean of the squares of coordinate j (or a bound on it).
    pub fn coordinate_smoothness(self, mean_square: f64) -> f64 {
        self.curvature() * mean_square
    }

    /// Checks the width of the loss, and that the encoding's target suits it. Looks at the schema
    /// alone.
    pub fn check(self, encoding: &Encoding) -> Result<(), LearnError> {
        if let Self::SmoothHinge { width } | Self::Huber { width } = self
            && !(width > 0.0 && width.is_finite())
        {
            let expected = "a finite number above 0";
            return Err(LearnError::Parameter { name: "width of the loss", expected, got: width });
        }
        let classes = encoding.classes().map(<[String]>::len);
        let fits = match self {
            Self::Logistic | Self::SmoothHinge { .. } => classes == Some(2),
            Self::Softmax { classes: wanted } => classes == Some(wanted) && wanted >= 2,
            Self::Squared | Self::Huber { .. } => encoding.target_bounds().is_some(),
        };
        if fits {
            return Ok(());
        }
        let expected = match self {
            Self::Logistic | Self::SmoothHinge { .. } => "a category of two values".to_owned(),
            Self::Softmax { classes } => format!("a category of {classes} values"),
            Self::Squared | Self::Huber { .. } => "a number with bounds".to_owned(),
        };
        let got = match (classes, encoding.target()) {
            (Some(classes), _) => format!("a category of {classes} values"),
            (None, Some(_)) => "a number".to_owned(),
            (None, None) => "no target".to_owned(),
        };
        Err(LearnError::Target { loss: self.name(), expected, got })
    }
}

/// -1 for the first class, +1 for the second.
pub(crate) fn sign(target: f64) -> f64 {
    if target > 0.5 { 1.0 } else { -1.0 }
}

/// Overwrites scores with the probabilities of classes.
fn softmax(scores: &mut [f64]) {
    let largest = scores.iter().fold(f64::NEG_INFINITY, |most, s| most.max(*s));
    scores.iter_mut().for_each(|s| *s = (*s - largest).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= sum);
}

/// 1/(1 + e^-x), without overflow.
fn expit(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOSSES: [Loss; 6] = [
        Loss::Logistic,
        Loss::SmoothHinge { width: 0.1 },
        Loss::SmoothHinge { width: 0.5 },
        Loss::Squared,
        Loss::Huber { width: 0.7 },
        Loss::Softmax { classes: 3 },
    ];

    fn targets(loss: Loss) -> Vec<f64> {
        if loss.is_classification() { vec![0.0, 1.0] } else { vec![-0.4, 0.3] }
    }

    fn gradient(loss: Loss, scores: &[f64], target: f64) -> Vec<f64> {
        let mut gradient = scores.to_vec();
        loss.differentiate(&mut gradient, target);
        gradient
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        /// Finite differences of the value agree with the derivative, and exceed neither slope nor
        /// curvature.
        #[test]
        fn slope_and_curvature_bound_every_loss(
            all in prop::array::uniform3(-6.0..6.0f64),
            toward in prop::array::uniform3(-1.0..1.0f64),
        ) {
            for loss in LOSSES {
                let k = loss.outputs();
                let (scores, toward) = (&all[..k], &toward[..k]);
                let length = toward.iter().map(|x| x * x).sum::<f64>().sqrt();
                if length < 1e-3 { continue; }
                let moved = |h: f64| -> Vec<f64> {
                    scores.iter().zip(toward).map(|(s, w)| s + h * w / length).collect()
                };
                let dot = |g: &[f64]| g.iter().zip(toward).map(|(g, w)| g * w / length).sum::<f64>();
                for target in targets(loss) {
                    let h = 1e-5;
                    let slope = (loss.value(&moved(h), target) - loss.value(&moved(-h), target)) / (2.0 * h);
                    let here = gradient(loss, scores, target);
                    prop_assert!((slope - dot(&here)).abs() < 1e-4, "{loss:?} {slope} {}", dot(&here));
                    let norm = here.iter().map(|g| g * g).sum::<f64>().sqrt();
                    prop_assert!(loss.slope().is_none_or(|most| norm <= most * (1.0 + 1e-12)), "{loss:?}");
                    let slope_at = |h: f64| dot(&gradient(loss, &moved(h), target));
                    let bend = slope_at(h) - slope_at(-h);
                    prop_assert!(bend / (2.0 * h) <= loss.curvature() * (1.0 + 1e-6), "{loss:?} {bend}");
                    prop_assert!(bend >= -1e-9, "{loss:?} is convex");
                }
            }
        }
    }

    /// Compares with differences of the derivative, at scores away from every kink.
    #[test]
    fn second_derivatives_are_those_of_the_first() {
        for loss in LOSSES {
            let k = loss.outputs();
            for (scores, target) in
                [([0.2, -0.5, 1.1], 1.0), ([-1.03, 0.9, 0.4], 0.0), ([0.97, 3.0, -2.0], 1.0)]
            {
                let mut second = vec![0.0; k * k];
                loss.bend(&scores[..k], target, &mut second);
                for i in 0..k {
                    let moved = |h: f64| {
                        let mut moved = scores[..k].to_vec();
                        moved[i] += h;
                        gradient(loss, &moved, target)
                    };
                    for (l, (up, down)) in moved(1e-5).iter().zip(moved(-1e-5)).enumerate() {
                        let difference = (up - down) / 2e-5;
                        assert!((difference - second[l * k + i]).abs() < 1e-6, "{loss:?} {scores:?}");
                    }
                }
            }
        }
    }

    /// Some scores attain each constant, so a smaller one would be wrong.
    #[test]
    fn slope_and_curvature_are_attained() {
        let bend = |loss: Loss, s: f64| {
            (gradient(loss, &[s + 1e-4], 1.0)[0] - gradient(loss, &[s - 1e-4], 1.0)[0]) / 2e-4
        };
        assert!((bend(Loss::Logistic, 0.0) - 0.25).abs() < 1e-6);
        assert!((bend(Loss::SmoothHinge { width: 0.1 }, 1.0) - 5.0).abs() < 1e-6);
        let far = gradient(Loss::Softmax { classes: 3 }, &[50.0, 0.0, 0.0], 1.0);
        assert!((far.iter().map(|g| g * g).sum::<f64>() - 2.0).abs() < 1e-9);
        // Softmax bends most between two classes of equal probability.
        let mut second = [0.0; 9];
        Loss::Softmax { classes: 3 }.bend(&[0.0, 0.0, -50.0], 0.0, &mut second);
        assert!((0.5 * (second[0] - second[1] - second[3] + second[4]) - 0.5).abs() < 1e-9);
        assert!((bend(Loss::Huber { width: 0.7 }, 0.9) - 1.0).abs() < 1e-6);
        assert_eq!(gradient(Loss::Huber { width: 0.7 }, &[9.0], 1.0), [0.7]);
        assert_eq!(gradient(Loss::SmoothHinge { width: 0.1 }, &[-9.0], 1.0), [-1.0]);
        assert!((gradient(Loss::Logistic, &[-50.0], 1.0)[0] + 1.0).abs() < 1e-9);
        // Gradients scale with X, curvature with X².
        assert_eq!(Loss::Logistic.lipschitz(3.0), Some(3.0));
        assert_eq!(Loss::Logistic.smoothness(2.0), 1.0);
        assert_eq!(Loss::Squared.lipschitz(1.0), None);
    }

    #[test]
    fn extreme_scores_stay_finite() {
        for loss in LOSSES {
            for s in [-1e300, -800.0, 800.0, 1e300] {
                let mut scores = vec![0.0; loss.outputs()];
                scores[0] = s;
                for target in targets(loss) {
                    assert!(gradient(loss, &scores, target).iter().all(|g| g.is_finite()), "{loss:?} {s}");
                }
            }
        }
    }
}
