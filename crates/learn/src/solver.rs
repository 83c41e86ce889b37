//! Certified minima, without privacy. Output and objective perturbation start from them, and tests
//! compare with them.
//!
//! # Definition
//! `J(w) = Σ_i l_i(w) + (Λ/2)‖w‖² + <b, w>`, Λ > 0, has one minimum w*, and `‖w - w*‖ <= ‖∇J(w)‖/Λ`
//! for every w.
//!
//! # Guarantee
//! [`Problem::minimise`] returns a point at which the *exact* gradient is at most as long as the
//! tolerance: the computed norm plus a bound on its error (see [`Problem`]) is within it. A point
//! that misses the tolerance is not returned.
//!
//! # Method
//! Newton's method. With many records it starts near the minimum of a sample. Steps are halved
//! until the gradient is shorter than before: near the minimum, rounding hides differences of J
//! long before it hides those of gradients.
//! - Up to 512 parameters, the Hessian of a sample of the records is factored. The factor is kept
//!   and updated from the steps, as long as each step leaves at most a tenth of the gradient. If
//!   samples do not help, the Hessian is that of all records.
//! - Beyond 512 parameters, conjugate gradients find the direction.
//! - If these stall, Nesterov's method for smooth, strongly convex functions continues for as many
//!   steps as its theorem needs,
//! ```text
//! ‖∇J(w_k)‖² <= 18κ²‖∇J(w_0)‖² (1 - 1/sqrt(κ))^(k-1),      κ = L/Λ                             (1)
//! ```
//! (Nesterov, *Introductory Lectures on Convex Optimization*, 2004, Theorem 2.2.3, with
//! `‖w - w*‖² <= (2/Λ)(J(w) - J*)` and `J(w_0) - J* <= ‖∇J(w_0)‖²/(2Λ)`). So every data set gets a
//! certificate, if the tolerance leaves room for the error bound.

mod cholesky;
mod curvature;
mod hessian;
mod problem;
mod start;

pub(crate) use self::cholesky::{Cholesky, slack};
use self::curvature::Curvature;
use self::hessian::Part;
use self::problem::Gradient;
pub(crate) use self::problem::{Problem, error_of_gradients};

/// The most parameters for which a Hessian is factored.
const MAX_FACTORED: usize = 512;
/// The most steps of Newton's method.
const MAX_NEWTON_STEPS: usize = 100;
/// The largest part of the gradient that a step may leave if its factor is used again.
const KEEP_FACTOR: f64 = 0.1;
/// The largest part of the gradient that a step may leave if samples are used again.
const KEEP_SAMPLING: f64 = 0.5;
/// The most times that a step is halved.
const MAX_HALVINGS: i32 = 30;
/// The most products with the Hessian in one run of conjugate gradients.
const MAX_PRODUCTS: usize = 250;

impl Problem<'_> {
    /// A point at which the gradient is certified to be at most `tolerance` long, if one is found.
    pub(crate) fn minimise(&self, tolerance: f64) -> Option<Vec<f64>> {
        let (point, gradient) = self.newton(tolerance);
        if gradient.norm_above <= tolerance {
            return Some(point);
        }
        self.accelerated(point, gradient, tolerance)
    }

    /// Newton's method, until the tolerance is met or no step makes the gradient shorter. Returns
    /// the last point and its gradient.
    pub(crate) fn newton(&self, tolerance: f64) -> (Vec<f64>, Gradient) {
        let mut point = self.start();
        let mut gradient = self.gradient(&point);
        let (mut part, mut curvature) = (Part::Sample, None);
        for _ in 0..MAX_NEWTON_STEPS {
            if gradient.norm_above <= tolerance {
                break;
            }
            let is_fresh = curvature.is_none();
            let direction = self.direction(&mut curvature, part, &point, &gradient.vector);
            let left = match self.line_search(&point, &gradient, &direction) {
                Some((there, shorter)) => {
                    let left = shorter.norm_above / gradient.norm_above;
                    let changed = difference(&shorter.vector, &gradient.vector);
                    curvature.iter_mut().for_each(|known| known.learn(difference(&there, &point), &changed));
                    (point, gradient) = (there, shorter);
                    left
                }
                // There is no better direction from here.
                None if is_fresh && (part == Part::All || curvature.is_none()) => break,
                None => 1.0,
            };
            if is_fresh && left > KEEP_SAMPLING {
                part = Part::All;
            }
            if left > KEEP_FACTOR {
                curvature = None;
            }
        }
        (point, gradient)
    }

    /// An approximation of `-H⁻¹ g`, from the known curvature or else from the Hessian at `point`.
    fn direction(
        &self,
        known: &mut Option<Curvature>,
        part: Part,
        point: &[f64],
        gradient: &[f64],
    ) -> Vec<f64> {
        if gradient.len() > MAX_FACTORED {
            return self.conjugate_gradients(point, gradient.iter().map(|g| -g).collect());
        }
        known.get_or_insert_with(|| Curvature::of(self.hessian(point, part), point.len())).direction(gradient)
    }

    /// Solves `H x = rest` until the residual is a thousandth of `rest`.
    fn conjugate_gradients(&self, point: &[f64], mut rest: Vec<f64>) -> Vec<f64> {
        let mut solution = vec![0.0; rest.len()];
        let mut search = rest.clone();
        let mut square = dot(&rest, &rest);
        let enough = square * 1e-6;
        for _ in 0..MAX_PRODUCTS {
            if square <= enough {
                break;
            }
            let image = self.hessian_times(point, &search);
            let step = square / dot(&search, &image);
            add(&mut solution, step, &search);
            add(&mut rest, -step, &image);
            let before = std::mem::replace(&mut square, dot(&rest, &rest));
            search.iter_mut().zip(&rest).for_each(|(s, r)| *s = r + square / before * *s);
        }
        solution
    }

    /// The first point along `direction`, halving the step each time, where the gradient is
    /// shorter.
    fn line_search(
        &self,
        point: &[f64],
        gradient: &Gradient,
        direction: &[f64],
    ) -> Option<(Vec<f64>, Gradient)> {
        (0..MAX_HALVINGS).map(|halvings| 0.5f64.powi(halvings)).find_map(|step| {
            let mut moved = point.to_vec();
            add(&mut moved, step, direction);
            let there = self.gradient(&moved);
            // Along -H⁻¹g the norm falls at a rate equal to itself. A step must show some of that.
            (there.norm_above <= (1.0 - 1e-3 * step) * gradient.norm_above).then_some((moved, there))
        })
    }

    /// Nesterov's method from `point` on, for as many steps as (1) needs.
    fn accelerated(&self, point: Vec<f64>, gradient: Gradient, tolerance: f64) -> Option<Vec<f64>> {
        let smoothness = self.smoothness();
        let condition = smoothness / self.ridge;
        let momentum = (condition.sqrt() - 1.0) / (condition.sqrt() + 1.0);
        // (1) must reach half of the tolerance. The other half is room for the error bound.
        let excess = 72.0 * (condition * gradient.norm_above / tolerance).powi(2);
        let steps = (condition.sqrt() * excess.ln()).ceil() + 1.0;
        let (mut before, mut ahead, mut gradient) = (point.clone(), point, gradient);
        let mut step = 0.0;
        while step < steps && gradient.norm_above > tolerance {
            let mut next = ahead.clone();
            add(&mut next, -1.0 / smoothness, &gradient.vector);
            ahead =
                next.iter().zip(&before).map(|(next, before)| next + momentum * (next - before)).collect();
            before = next;
            gradient = self.gradient(&ahead);
            step += 1.0;
        }
        (gradient.norm_above <= tolerance).then_some(ahead)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// `sum += factor · vector`.
fn add(sum: &mut [f64], factor: f64, vector: &[f64]) {
    sum.iter_mut().zip(vector).for_each(|(sum, x)| *sum += factor * x);
}

#[cfg(test)]
mod tests {
    use dashu::float::FBig;
    use proptest::prelude::*;
    use sordino_data::{Encoded, ROWS_PER_BLOCK};

    use super::problem::length;
    use super::*;
    use crate::loss::Loss;
    use crate::testing::{classes, numbers};
    use crate::weighting::Weighting;

    type Exact = FBig<dashu::float::round::mode::HalfEven, 2>;

    const LOSSES: [Loss; 5] = [
        Loss::Logistic,
        Loss::SmoothHinge { width: 0.3 },
        Loss::Squared,
        Loss::Huber { width: 0.2 },
        Loss::Softmax { classes: 3 },
    ];

    fn waves(n: usize, width: usize) -> Vec<Vec<f64>> {
        (0..n).map(|i| (0..width).map(|j| ((i * (2 * j + 3) + j) as f64 * 0.7).sin()).collect()).collect()
    }

    fn data(loss: Loss, n: usize, width: usize) -> Encoded {
        let rows = waves(n, width);
        match loss {
            Loss::Squared | Loss::Huber { .. } => {
                numbers(&rows, &rows.iter().map(|x| (0.8 * x[0] - 0.3).clamp(-1.0, 1.0)).collect::<Vec<_>>())
            }
            Loss::Logistic | Loss::SmoothHinge { .. } | Loss::Softmax { .. } => {
                let class = |(i, x): (usize, &Vec<f64>)| (x[0] > 0.2) as usize + (i % 5 == 0) as usize;
                let labels: Vec<usize> = rows.iter().enumerate().map(class).collect();
                let labels: Vec<usize> = labels.iter().map(|k| (*k).min(loss.outputs().max(2) - 1)).collect();
                classes(&rows, &labels, loss.outputs().max(2))
            }
        }
    }

    fn problem(loss: Loss, data: &Encoded, ridge: f64) -> Problem<'_> {
        let dimension = loss.outputs() * data.width();
        let tilt = (0..dimension).map(|j| (j as f64).cos()).collect();
        Problem { loss, data, ridge, tilt, weighting: Weighting::default() }
    }

    /// The gradient of logistic regression to fifty digits.
    fn exact_gradient(problem: &Problem<'_>, w: &[f64]) -> Vec<Exact> {
        let exact = |x: f64| Exact::try_from(x).unwrap().with_precision(170).value();
        let penalty = |j: usize| exact(problem.ridge) * exact(w[j]) + exact(problem.tilt[j]);
        let mut gradient: Vec<Exact> = (0..w.len()).map(penalty).collect();
        for slot in 0..problem.data.slots() {
            let row = problem.data.row(slot).unwrap();
            let score = row.iter().zip(w).fold(exact(0.0), |s, (x, w)| s + exact(f64::from(*x)) * exact(*w));
            let sign = exact(if problem.data.target(slot) > 0.5 { 1.0 } else { -1.0 });
            let weight = exact(problem.weighting.of_class(f64::from(problem.data.target(slot))));
            let slope = -&sign / (exact(1.0) + (sign * score).exp()) * weight;
            for (g, x) in gradient.iter_mut().zip(row) {
                *g += &slope * exact(f64::from(*x));
            }
        }
        gradient
    }

    /// Tests ordinary weights, and huge ones that cancel. With those, scores are wrong by about
    /// 1e-4, and the bound must cover it.
    #[test]
    fn the_gradient_is_within_its_bound_of_the_exact_one() {
        let twice = |mut row: Vec<f64>| {
            row[1] = row[0];
            row
        };
        let rows: Vec<Vec<f64>> = waves(150, 3).into_iter().map(twice).collect();
        let data = classes(&rows, &(0..150).map(|i| i % 2).collect::<Vec<_>>(), 2);
        let plain = problem(Loss::Logistic, &data, 1e-6);
        let weighted =
            || Problem { weighting: Weighting(vec![1.0 / 3.0, 1.0]), ..problem(Loss::Logistic, &data, 1e-6) };
        for (problem, w, least, most) in [
            (&plain, [1.7, -20.3, 0.01, 3.3], 0.0, 1e-9),
            (&plain, [1e12 + 0.3, -1e12, 0.5, 1.0], 1e-7, 1.0),
            (&weighted(), [1.7, -20.3, 0.01, 3.3], 0.0, 1e-9),
            (&weighted(), [1e12 + 0.3, -1e12, 0.5, 1.0], 1e-7, 1.0),
        ] {
            let exact = exact_gradient(problem, &w);
            let computed = problem.gradient(&w);
            let precise = |x: f64| Exact::try_from(x).unwrap().with_precision(170).value();
            let off: Vec<f64> =
                computed.vector.iter().zip(&exact).map(|(c, e)| (precise(*c) - e).to_f64().value()).collect();
            let allowed = computed.norm_above / (1.0 + 1e-6) - length(&computed.vector);
            assert!(length(&off) <= allowed, "{} {allowed}", length(&off));
            assert!(length(&off) > least && allowed < most, "the bound must not be trivial: {allowed}");
        }
    }

    #[test]
    fn minima_are_certified_for_every_loss() {
        for loss in LOSSES {
            let data = data(loss, 300, 4);
            for ridge in [300.0, 1.0, 1e-3] {
                let problem = problem(loss, &data, ridge);
                let point = problem.minimise(1e-6).unwrap();
                assert!(problem.gradient(&point).norm_above <= 1e-6, "{loss:?} {ridge}");
            }
        }
    }

    /// A point is within `‖∇J‖/Λ` of the minimum, so the results of two methods are close.
    #[test]
    fn the_guaranteed_method_and_conjugate_gradients_find_the_same_minimum() {
        for loss in LOSSES {
            let data = data(loss, 200, 3);
            let problem = problem(loss, &data, 2.0);
            let by_factor = problem.minimise(1e-7).unwrap();
            let zero = vec![0.0; by_factor.len()];
            let slow = problem.accelerated(zero.clone(), problem.gradient(&zero), 1e-7).unwrap();
            let apart: Vec<f64> = slow.iter().zip(&by_factor).map(|(a, b)| a - b).collect();
            assert!(length(&apart) <= 2e-7 / 2.0, "{loss:?}: {}", length(&apart));
            let gradient = problem.gradient(&zero).vector;
            let direction = problem.direction(&mut None, Part::All, &zero, &gradient);
            let iterated = problem.conjugate_gradients(&zero, gradient.iter().map(|g| -g).collect());
            let apart: Vec<f64> = iterated.iter().zip(&direction).map(|(a, b)| a - b).collect();
            assert!(length(&apart) < 0.05 * length(&direction), "{loss:?}");
        }
    }

    /// Four blocks, one of which is the sample.
    fn blocks(row: impl Fn(usize, usize) -> f64) -> Encoded {
        let rows: Vec<Vec<f64>> =
            (0..4 * ROWS_PER_BLOCK).map(|i| (0..40).map(|j| row(i, j)).collect()).collect();
        let labels: Vec<usize> = (0..rows.len()).map(|i| usize::from(rows[i][i % 3] > 0.1)).collect();
        classes(&rows, &labels, 2)
    }

    #[test]
    fn a_representative_sample_has_the_same_hessian() {
        let wave = |i: usize, j: usize| ((i % ROWS_PER_BLOCK * (2 * j + 3) + j) as f64 * 0.7).sin();
        let data = blocks(wave);
        let problem = problem(Loss::Logistic, &data, 3.0);
        let w: Vec<f64> = (0..problem.dimension()).map(|j| (j as f64).sin()).collect();
        let (sample, all) = (problem.hessian(&w, Part::Sample), problem.hessian(&w, Part::All));
        assert_ne!(sample, all, "rounding differs");
        assert!(sample.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())));
    }

    /// The sampled block is all zeros, and the minimum is certified all the same.
    #[test]
    fn a_misleading_sample_is_given_up() {
        let data =
            blocks(|i, j| if i < ROWS_PER_BLOCK { 0.0 } else { ((i * (2 * j + 3) + j) as f64 * 0.7).sin() });
        let problem = problem(Loss::Logistic, &data, 1.0);
        let point = problem.minimise(1e-6).unwrap();
        assert!(problem.gradient(&point).norm_above <= 1e-6);
    }

    /// If the sample is like the rest, the start is near the minimum. If not, the minimum is found
    /// all the same.
    #[test]
    fn a_sample_gives_the_starting_point() {
        let wave = |i: usize, j: usize| ((i * (2 * j + 3) + j) as f64 * 0.7).sin();
        for is_representative in [true, false] {
            let has_signal = |i: usize| is_representative || !(i / ROWS_PER_BLOCK).is_multiple_of(4);
            let rows: Vec<Vec<f64>> = (0..33 * ROWS_PER_BLOCK)
                .map(|i| (0..2).map(|j| if has_signal(i) { wave(i, j) } else { 0.0 }).collect())
                .collect();
            let labels: Vec<usize> = rows.iter().map(|row| usize::from(row[0] > 0.1)).collect();
            let data = classes(&rows, &labels, 2);
            let problem = problem(Loss::Logistic, &data, 300.0);
            let norm = |w: &[f64]| length(&problem.gradient(w).vector);
            let is_near = norm(&problem.start()) < 0.05 * norm(&vec![0.0; problem.dimension()]);
            assert_eq!(is_near, is_representative);
            let point = problem.minimise(1e-3).unwrap();
            assert!(problem.gradient(&point).norm_above <= 1e-3);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// Covers kinks, duplicates, separable and degenerate data.
        #[test]
        fn every_data_set_gets_a_certificate(
            cells in prop::collection::vec((prop::array::uniform2(prop_oneof![
                Just(0.0), Just(1.0), Just(-1.0), -1.0..1.0f64, Just(1e-30), Just(f64::INFINITY)
            ]), any::<bool>()), 1..30),
            exponent in -3.0..3.0f64,
        ) {
            let rows: Vec<Vec<f64>> = cells.iter().map(|(row, _)| row.to_vec()).collect();
            let labels: Vec<usize> = cells.iter().map(|(_, label)| usize::from(*label)).collect();
            let targets: Vec<f64> = cells.iter().map(|(row, _)| row[0].clamp(-1.0, 1.0)).collect();
            let (labelled, numbered) = (classes(&rows, &labels, 2), numbers(&rows, &targets));
            let hinge = Loss::SmoothHinge { width: 0.01 };
            for (loss, data) in [
                (Loss::Logistic, &labelled),
                (hinge, &labelled),
                (Loss::Softmax { classes: 2 }, &labelled),
                (Loss::Huber { width: 0.01 }, &numbered),
            ] {
                let found = problem(loss, data, 10f64.powf(exponent)).minimise(1e-6);
                prop_assert!(found.is_some(), "{loss:?}");
            }
        }
    }

    #[test]
    fn a_tolerance_below_the_error_bound_is_not_met() {
        let data = data(Loss::Logistic, 50, 2);
        assert!(problem(Loss::Logistic, &data, 5.0).minimise(1e-14).is_none());
    }
}
