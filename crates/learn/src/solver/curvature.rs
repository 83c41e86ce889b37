//! The known curvature of the objective: the factor of a Hessian, updated from later steps.
//!
//! # Definition
//! B is the Hessian that was factored. After steps `s_1, s_2, ...` that changed the gradient by
//! `y_1, y_2, ...`, the direction for a gradient g is `-A g`, with A the inverse that the updates
//! of Broyden, Fletcher, Goldfarb and Shanno make of B⁻¹:
//! ```text
//! A <- (I - ρ s yᵀ) A (I - ρ y sᵀ) + ρ s sᵀ,     ρ = 1/(sᵀ y)
//! ```
//! by the two loops of Nocedal, *Updating Quasi-Newton Matrices with Limited Storage*, 1980. On a
//! quadratic this removes the errors of B, above all those of sampling, as conjugate gradients do:
//! if the eigenvalues of `B⁻¹H` are within r of 1, a step leaves about r/2 of the gradient instead
//! of r.

use super::cholesky::Cholesky;
use super::{add, dot};

/// A factored Hessian, and the steps since then.
pub(super) struct Curvature {
    /// The factor of B. `None`, where B has no factor, stands for the identity.
    factor: Option<Cholesky>,
    steps: Vec<Step>,
}

struct Step {
    /// s.
    moved: Vec<f64>,
    /// y.
    changed: Vec<f64>,
    /// ρ.
    inverse: f64,
}

impl Curvature {
    /// The curvature from a Hessian, given as its lower triangle by rows.
    pub(super) fn of(hessian: Vec<f64>, dimension: usize) -> Self {
        Self { factor: Cholesky::of(hessian, dimension), steps: Vec::new() }
    }

    /// Updates the curvature by a step and the change of the gradient that it made.
    pub(super) fn learn(&mut self, moved: Vec<f64>, changed: &[f64]) {
        let inverse = dot(&moved, changed).recip();
        // Above 0 for every convex function, up to roundings.
        if inverse > 0.0 && inverse.is_finite() {
            self.steps.push(Step { moved, changed: changed.to_vec(), inverse });
        }
    }

    /// `-A gradient`.
    pub(super) fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut parts = Vec::with_capacity(self.steps.len());
        for step in self.steps.iter().rev() {
            let part = step.inverse * dot(&step.moved, &direction);
            add(&mut direction, -part, &step.changed);
            parts.push(part);
        }
        self.factor.iter().for_each(|factor| factor.solve(&mut direction));
        for (step, part) in self.steps.iter().zip(parts.into_iter().rev()) {
            let back = step.inverse * dot(&step.changed, &direction);
            add(&mut direction, part - back, &step.moved);
        }
        direction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the module's equation for whole matrices.
    #[test]
    fn directions_are_those_of_the_updated_inverse() {
        let hessian = vec![4.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.5, -0.5, 2.0];
        let mut curvature = Curvature::of(hessian.clone(), 3);
        // Columns of the inverse.
        let mut inverse: Vec<Vec<f64>> = (0..3)
            .map(|i| {
                let mut unit = vec![0.0; 3];
                unit[i] = 1.0;
                Cholesky::of(hessian.clone(), 3).unwrap().solve(&mut unit);
                unit
            })
            .collect();
        for (s, y) in [([0.3, -0.1, 0.2], [1.0, 0.1, 0.4]), ([0.0, 0.2, 0.1], [0.1, 0.9, 0.3])] {
            let rho = 1.0 / dot(&s, &y);
            let left = |i: usize, j: usize| f64::from(u8::from(i == j)) - rho * s[i] * y[j];
            let entry = |i: usize, j: usize| {
                let inner = (0..3).flat_map(|a| (0..3).map(move |b| (a, b)));
                inner.map(|(a, b)| left(i, a) * inverse[b][a] * left(j, b)).sum::<f64>() + rho * s[i] * s[j]
            };
            inverse = (0..3).map(|j| (0..3).map(|i| entry(i, j)).collect()).collect();
            curvature.learn(s.to_vec(), &y);
            let gradient = [0.7, -1.3, 0.2];
            let wanted = (0..3).map(|i| -(0..3).map(|j| inverse[j][i] * gradient[j]).sum::<f64>());
            for (got, wanted) in curvature.direction(&gradient).iter().zip(wanted) {
                assert!((got - wanted).abs() < 1e-12, "{got} {wanted}");
            }
        }
        // A step that no convex function allows is ignored.
        let before = curvature.direction(&[1.0, 1.0, 1.0]);
        curvature.learn(vec![1.0, 0.0, 0.0], &[-1.0, 0.0, 0.0]);
        assert_eq!(curvature.direction(&[1.0, 1.0, 1.0]), before);
    }
}
