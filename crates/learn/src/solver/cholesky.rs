//! Symmetric positive definite systems.
//!
//! # Guarantee
//! Where [`Cholesky::of`] succeeds on a symmetric matrix M, `L Lᵀ = M + E` with
//! `‖E‖ <= γ_(d+1) tr(L Lᵀ)`, and so M has no eigenvalue below `-γ_(d+1) tr(M)/(1 - γ_(d+1))`;
//! where it fails, M has one below `γ_(d+1) tr(M)/(1 - γ_(d+1))` (Higham, *Accuracy and Stability
//! of Numerical Algorithms*, 2002, Theorems 10.3 and 10.7). [`slack`] is at least twice that
//! number.

/// L with `L Lᵀ = M`, by rows.
pub(crate) struct Cholesky {
    dimension: usize,
    factor: Vec<f64>,
}

impl Cholesky {
    /// Factors the square matrix whose lower triangle is in `matrix`, by rows. `None` if a pivot is
    /// not above 0.
    pub(crate) fn of(mut matrix: Vec<f64>, dimension: usize) -> Option<Self> {
        for i in 0..dimension {
            let (above, here) = matrix.split_at_mut(i * dimension);
            for j in 0..i {
                let row = &above[j * dimension..];
                here[j] = (here[j] - product(&here[..j], row)) / row[j];
            }
            let pivot = here[i] - product(&here[..i], &here[..i]);
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            here[i] = pivot.sqrt();
        }
        Some(Self { dimension, factor: matrix })
    }

    /// Overwrites `vector` with `M⁻¹ vector`.
    pub(crate) fn solve(&self, vector: &mut [f64]) {
        let d = self.dimension;
        for i in 0..d {
            let row = &self.factor[i * d..];
            vector[i] = (vector[i] - product(&vector[..i], row)) / row[i];
        }
        for i in (0..d).rev() {
            let sum: f64 = (i + 1..d).map(|k| self.factor[k * d + i] * vector[k]).sum();
            vector[i] = (vector[i] - sum) / self.factor[i * d + i];
        }
    }
}

/// How far the least eigenvalue of a matrix of this trace must be from 0 for the success of its
/// factorisation to tell the eigenvalue's sign.
pub(crate) fn slack(dimension: usize, trace: f64) -> f64 {
    // 2 γ_(d+1)/(1 - γ_(d+1)) < 3 (d + 1) u as long as (d + 1) u < 1/10.
    3.0 * (dimension as f64 + 1.0) * (f64::EPSILON / 2.0) * trace
}

/// The dot product, over the length of the shorter vector.
fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solution_satisfies_the_system() {
        let d = 7;
        let entry = |i: usize, j: usize| 1.0 / (i + j + 1) as f64 + if i == j { 0.5 } else { 0.0 };
        let matrix: Vec<f64> = (0..d * d).map(|k| entry(k / d, k % d)).collect();
        let wanted: Vec<f64> = (0..d).map(|j| j as f64 - 2.5).collect();
        let mut vector: Vec<f64> = (0..d).map(|i| (0..d).map(|j| entry(i, j) * wanted[j]).sum()).collect();
        Cholesky::of(matrix, d).unwrap().solve(&mut vector);
        assert!(vector.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{vector:?}");
    }

    /// (1, a; a, 1) has the least eigenvalue 1 - a.
    #[test]
    fn success_tells_the_sign_of_the_least_eigenvalue() {
        let succeeds = |a: f64| Cholesky::of(vec![1.0, 0.0, a, 1.0], 2).is_some();
        assert!(succeeds(1.0 - 1e-14) && !succeeds(1.0 + 1e-14));
        assert!(slack(2, 2.0) < 1e-14, "the slack must be no larger than that");
        assert!(!succeeds(f64::NAN));
    }
}
