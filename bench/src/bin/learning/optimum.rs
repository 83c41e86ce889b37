//! The minimiser without privacy, by Newton's method, as a baseline.
//!
//! Columns may differ in scale by many orders of magnitude, so equations are solved for `D w` with
//! D² the diagonal of the Hessian. The step is halved until the loss falls, and the method ends
//! where the gradient is below the precision of a double.

use std::error::Error;

use sordino_data::Encoded;
use sordino_learn::Loss;

/// `argmin (1/n) Σ l(w; d_i) + (λ/2)‖w‖²`.
pub(crate) fn minimiser(loss: Loss, data: &Encoded, l2: f64) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut weights = vec![0.0; data.width()];
    let mut value = objective(loss, data, &weights, l2);
    if loss != Loss::Squared && loss != Loss::Logistic {
        return Err("minima are computed for the squared and the logistic loss".into());
    }
    for _ in 0..100 {
        let (gradient, hessian) = derivatives(loss, data, &weights, l2);
        let step = solved(hessian, &gradient)?;
        // Twice the decrease that a full step predicts.
        let predicted: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
        if predicted <= 1e-15 * value.abs().max(1e-300) {
            return Ok(weights);
        }
        let mut length = 1.0;
        loop {
            let next: Vec<f64> = weights.iter().zip(&step).map(|(w, s)| w - length * s).collect();
            let lower = objective(loss, data, &next, l2);
            if lower < value {
                (weights, value) = (next, lower);
                break;
            }
            length *= 0.5;
            if length < 1e-6 {
                // No step lowers the loss within the precision of a double.
                return Ok(weights);
            }
        }
    }
    Err("Newton's method found no minimum in 100 steps".into())
}

/// The mean loss plus the penalty.
pub(crate) fn objective(loss: Loss, data: &Encoded, weights: &[f64], l2: f64) -> f64 {
    let rows = (0..data.slots()).filter_map(|slot| Some((data.row(slot)?, data.target(slot))));
    let sum: f64 = rows.map(|(row, y)| loss.value(&[score(row, weights)], f64::from(y))).sum();
    sum / data.slots() as f64 + 0.5 * l2 * weights.iter().map(|w| w * w).sum::<f64>()
}

/// `(1/n) Σ x_i x_iᵀ`, the Hessian of the squared loss.
pub(crate) fn second_moments(data: &Encoded) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; data.width()]; data.width()];
    let weight = 1.0 / data.slots() as f64;
    (0..data.slots()).filter_map(|slot| data.row(slot)).for_each(|row| add(&mut sums, row, weight));
    mirrored(sums)
}

/// Solves `H s = g` by a Cholesky decomposition.
fn solved(hessian: Vec<Vec<f64>>, gradient: &[f64]) -> Result<Vec<f64>, Box<dyn Error>> {
    let p = gradient.len();
    let scale: Vec<f64> = (0..p).map(|j| hessian[j][j].sqrt().recip()).collect();
    let mut root = vec![vec![0.0; p]; p];
    for j in 0..p {
        for k in 0..=j {
            let sum: f64 = (0..k).map(|m| root[j][m] * root[k][m]).sum();
            let rest = hessian[j][k] * scale[j] * scale[k] - sum;
            root[j][k] = match j == k {
                true if rest > 0.0 => rest.sqrt(),
                true => return Err("columns depend on each other: a penalty above 0 is needed".into()),
                false => rest / root[k][k],
            };
        }
    }
    let mut s: Vec<f64> = gradient.iter().zip(&scale).map(|(g, scale)| g * scale).collect();
    for j in 0..p {
        let sum: f64 = (0..j).map(|k| root[j][k] * s[k]).sum();
        s[j] = (s[j] - sum) / root[j][j];
    }
    for j in (0..p).rev() {
        let sum: f64 = (j + 1..p).map(|k| root[k][j] * s[k]).sum();
        s[j] = (s[j] - sum) / root[j][j];
    }
    Ok(s.iter().zip(&scale).map(|(s, scale)| s * scale).collect())
}

type Derivatives = (Vec<f64>, Vec<Vec<f64>>);

fn derivatives(loss: Loss, data: &Encoded, weights: &[f64], l2: f64) -> Derivatives {
    let n = data.slots() as f64;
    let mut gradient: Vec<f64> = weights.iter().map(|w| l2 * w).collect();
    let mut hessian = vec![vec![0.0; weights.len()]; weights.len()];
    for slot in 0..data.slots() {
        let Some(row) = data.row(slot) else { continue };
        let mut slope = [score(row, weights)];
        loss.differentiate(&mut slope, f64::from(data.target(slot)));
        let curvature = if loss == Loss::Squared {
            1.0
        } else {
            // For the logistic loss the slope is ±σ(-m) and the curvature σ(-m) σ(m).
            slope[0].abs() * (1.0 - slope[0].abs())
        };
        gradient.iter_mut().zip(row).for_each(|(g, x)| *g += slope[0] * f64::from(*x) / n);
        add(&mut hessian, row, curvature / n);
    }
    let mut hessian = mirrored(hessian);
    (0..weights.len()).for_each(|j| hessian[j][j] += l2);
    (gradient, hessian)
}

/// `sums += weight x xᵀ`, on and below the diagonal.
fn add(sums: &mut [Vec<f64>], row: &[f32], weight: f64) {
    for (j, x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        let factor = weight * f64::from(*x);
        sums[j].iter_mut().zip(&row[..=j]).for_each(|(sum, other)| *sum += factor * f64::from(*other));
    }
}

/// The symmetric matrix with this lower triangle.
fn mirrored(below: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let p = below.len();
    (0..p).map(|j| (0..p).map(|k| below[j.max(k)][j.min(k)]).collect()).collect()
}

fn score(row: &[f32], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(x, w)| f64::from(*x) * w).sum()
}
