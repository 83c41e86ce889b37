//! Sums of `x xᵀ` and `x y` over records.
//!
//! # Coordinates
//! With row norm X and largest target Y, a record's vector has the lower triangle of
//! `x xᵀ/X²` by rows, off-diagonal entries times sqrt(2), then `x y/(XY)`. The first part
//! is as long as `‖x‖²/X²` (the Frobenius norm), the second as `‖x‖|y|/(XY)`: at most 1
//! each, and at most sqrt(2) together.
//!
//! # Arithmetic
//! Blocks of 4096 slots are summed in `f64`, in which products of `f32` are exact, then scaled and
//! rounded to the grid once. Under relations that let records change places, each record is rounded
//! to the grid by itself. A row that is longer than declared contributes nothing; no encoding makes
//! one.

use sordino_data::{BlockView, Encoded, ROWS_PER_BLOCK};
use sordino_noise::grid::{Allowance, Grid, GridSum, SumError};
use sordino_privacy::Neighbours;
use sordino_threads::{available, gather};

use crate::block_sums;
use crate::solver::{Cholesky, slack};

/// The largest norm of a record's vector, with a margin.
pub(super) const MAX_RECORD_NORM: f64 = std::f64::consts::SQRT_2 * (1.0 + NORM_MARGIN);
/// The margin in sensitivities. It covers rows that are a part in 10^8 longer than declared, whose
/// products are twice that longer, and the roundings of factors.
const NORM_MARGIN: f64 = 3e-8;
/// How often the interval that contains the least eigenvalue is halved.
const HALVINGS: i32 = 60;

/// The declared bounds of a record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) width: usize,
    /// X, the largest norm of a row.
    pub(super) row_norm: f64,
    /// Y, the largest absolute target.
    pub(super) target: f64,
}

/// The sums of `x xᵀ` and `x y`.
#[derive(Debug)]
pub(super) struct Moments {
    /// Both sums, on the grid.
    pub(super) sum: GridSum,
    /// `XᵀX/X²` in floats, lower triangle by rows; for its least eigenvalue.
    gram: Vec<f64>,
}

impl Bounds {
    /// The number of entries of the triangle.
    fn triangle(self) -> usize {
        self.width * (self.width + 1) / 2
    }

    /// The number of coordinates of a record's vector.
    pub(super) fn dimension(self) -> usize {
        self.triangle() + self.width
    }

    /// The allowance for float arithmetic under a relation.
    pub(super) fn allowance(self, neighbours: Neighbours) -> Allowance {
        // Beside the additions: one product, one scaling, and three roundings in its factor.
        block_sums::allowance(neighbours, 5)
    }

    /// The sums over all records, on several threads. The integers do not depend on their number.
    pub(super) fn sum(self, data: &Encoded, grid: Grid) -> Result<Moments, SumError> {
        let blocks: Vec<BlockView<'_>> = data.blocks().collect();
        let share = |blocks: &[BlockView<'_>]| {
            let mut moments = Moments { sum: GridSum::new(grid), gram: vec![0.0; self.triangle()] };
            blocks.iter().try_for_each(|block| self.add_block(block, &mut moments))?;
            Ok::<_, SumError>(moments)
        };
        if blocks.len() <= 1 {
            return share(&blocks);
        }
        let threads = available();
        let runs = blocks.chunks(blocks.len().div_ceil(threads.get())).collect();
        let mut total = share(&[])?;
        for part in gather(threads, runs, share) {
            let part = part?;
            total.sum.merge(part.sum)?;
            total.gram.iter_mut().zip(part.gram).for_each(|(total, part)| *total += part);
        }
        Ok(total)
    }

    fn add_block(self, block: &BlockView<'_>, moments: &mut Moments) -> Result<(), SumError> {
        let is_exact = moments.sum.grid().allowance() == Allowance::Exact;
        let mut plain = vec![0.0; self.dimension()];
        let mut record = vec![0.0; if is_exact { self.dimension() } else { 0 }];
        for ((row, target), present) in
            block.rows.chunks_exact(self.width).zip(block.targets).zip(block.present)
        {
            if !present || !self.is_within(row) {
                continue;
            }
            let target = f64::from(*target).clamp(-self.target, self.target);
            self.add_products(row, target, &mut plain);
            if is_exact {
                record.fill(0.0);
                self.add_products(row, target, &mut record);
                self.scale(&mut record, 1.0);
                moments.sum.add(&record)?;
            }
        }
        let squares = self.row_norm * self.row_norm;
        moments.gram.iter_mut().zip(&plain).for_each(|(total, part)| *total += part / squares);
        if !is_exact {
            // The clip norm in steps of the grid, less a little for the roundings of the factor.
            let units = moments.sum.grid().clip_units() as f64 / MAX_RECORD_NORM * (1.0 - 8.0 * f64::EPSILON);
            self.scale(&mut plain, units);
            moments.sum.add_group(&plain, block.present.len() as u32)?;
        }
        Ok(())
    }

    /// Whether the squared norm of a row is at most a part in 10^8 above its bound. Its computed
    /// value is off by less than that for up to 2^24 coordinates.
    fn is_within(self, row: &[f32]) -> bool {
        let square: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        square <= self.row_norm * self.row_norm * (1.0 + 1e-8)
    }

    /// Adds the lower triangle of `x xᵀ` and `x y` to `out`.
    fn add_products(self, row: &[f32], target: f64, out: &mut [f64]) {
        let (mut triangle, products) = out.split_at_mut(self.triangle());
        for (i, x) in row.iter().enumerate() {
            let (entries, rest) = triangle.split_at_mut(i + 1);
            let x = f64::from(*x);
            entries.iter_mut().zip(row).for_each(|(entry, other)| *entry += x * f64::from(*other));
            triangle = rest;
        }
        products.iter_mut().zip(row).for_each(|(product, x)| *product += target * f64::from(*x));
    }

    /// Converts plain sums to the coordinates of the module, times `units`.
    fn scale(self, plain: &mut [f64], units: f64) {
        let (triangle, products) = plain.split_at_mut(self.triangle());
        let diagonal = units / (self.row_norm * self.row_norm);
        let off_diagonal = diagonal * std::f64::consts::SQRT_2;
        for (i, j, entry) in entries(triangle) {
            *entry *= if i == j { diagonal } else { off_diagonal };
        }
        let factor = units / (self.row_norm * self.target);
        products.iter_mut().for_each(|product| *product *= factor);
    }

    /// Converts noisy coordinates back to `XᵀX` (the lower triangle of a square, by rows) and
    /// `Xᵀy`.
    pub(super) fn unscale(self, noisy: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (triangle, products) = noisy.split_at(self.triangle());
        let squares = self.row_norm * self.row_norm;
        let mut square = vec![0.0; self.width * self.width];
        for (i, j, entry) in entries(&mut triangle.to_vec()) {
            let factor = if i == j { squares } else { squares / std::f64::consts::SQRT_2 };
            square[i * self.width + j] = *entry * factor;
        }
        (square, products.iter().map(|product| product * self.row_norm * self.target).collect())
    }

    /// How far [`Moments::least_eigenvalue`] can be from the exact one, in units of X², for n
    /// records. The error has five parts: the sums (n products of norm at most 1), the slack of the
    /// factorisation, the width of the last interval, the rounding of the subtraction, and rows a
    /// little too long.
    pub(super) fn eigenvalue_error(self, n: u64) -> f64 {
        let (n, blocks) = (n as f64, n as f64 / ROWS_PER_BLOCK as f64);
        let chain = ROWS_PER_BLOCK as f64 + blocks + 16.0;
        let of_sums = chain * f64::EPSILON * n;
        let of_subtraction = f64::EPSILON * n;
        let of_factors = slack(self.width, n * (1.0 + 1e-6));
        of_sums + of_subtraction + of_factors + n * 0.5f64.powi(HALVINGS - 1) + NORM_MARGIN
    }
}

impl Moments {
    /// The least eigenvalue of `XᵀX/X²`, by bisection: a matrix has a Cholesky factor if it is
    /// positive.
    pub(super) fn least_eigenvalue(&self, width: usize, n: u64) -> f64 {
        let is_above = |shift: f64| {
            let mut square = vec![0.0; width * width];
            for (i, j, entry) in entries(&mut self.gram.clone()) {
                square[i * width + j] = *entry - if i == j { shift } else { 0.0 };
            }
            Cholesky::of(square, width).is_some()
        };
        let (mut low, mut high) = (0.0, n as f64);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if is_above(middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// The row, column and value of each entry of a lower triangle that is stored by rows.
fn entries(triangle: &mut [f64]) -> impl Iterator<Item = (usize, usize, &mut f64)> {
    let mut place = (0, 0);
    triangle.iter_mut().map(move |entry| {
        let (i, j) = place;
        place = if i == j { (i + 1, 0) } else { (i, j + 1) };
        (i, j, entry)
    })
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::unprotected;
    use sordino_noise::grid::GridPlan;

    use super::*;
    use crate::testing::numbers;

    fn bounds(width: usize) -> Bounds {
        Bounds { width, row_norm: 1.0, target: 1.0 }
    }

    fn grid(bounds: Bounds, neighbours: Neighbours, n: u64) -> Grid {
        let plan = GridPlan::new(MAX_RECORD_NORM, 2.0, bounds.dimension(), n)
            .allowance(bounds.allowance(neighbours));
        plan.at_depth(30).unwrap()
    }

    /// If a record appears, disappears or is replaced, the integers move by at most the clip norm
    /// and its inflation (twice that if replaced), and by nearly as much in some case.
    #[test]
    fn no_record_moves_the_sums_by_more_than_the_sensitivity() {
        let base = |i: usize| vec![(i as f64).sin(), (i as f64 * 2.1).cos(), 0.1];
        let extreme = [
            (vec![1.0, 1.0, 1.0], 1.0),
            (vec![1e300, f64::INFINITY, -1.0], -1.0),
            (vec![-1.0, 0.0, 0.0], f64::INFINITY),
            (vec![f64::NAN; 3], 0.0),
            (vec![0.0; 3], -1.0),
        ];
        let mut closest = 0f64;
        for neighbours in [Neighbours::ZeroOut, Neighbours::ZeroOutUnordered, Neighbours::Replace] {
            let sums: Vec<(bool, Vec<i64>, Grid)> = extreme
                .iter()
                .map(|(row, target)| {
                    let mut rows: Vec<Vec<f64>> = (0..30).map(base).collect();
                    let mut targets = vec![0.3; 30];
                    (rows[7], targets[7]) = (row.clone(), *target);
                    let data = numbers(&rows, &targets);
                    let bounds = Bounds { row_norm: data.encoding().row_norm(), ..bounds(4) };
                    let grid = grid(bounds, neighbours, 30);
                    let sum = bounds.sum(&data, grid).unwrap().sum;
                    (data.row(7).is_none(), unprotected(&sum).to_vec(), grid)
                })
                .collect();
            for (absent, one, grid) in &sums {
                let bound = grid.clip_units() as f64 * (1.0 + grid.inflation());
                for (other_absent, other, _) in &sums {
                    let squares = one.iter().zip(other).map(|(a, b)| ((a - b) as f64).powi(2));
                    let moved = squares.sum::<f64>().sqrt();
                    let norms = if *absent || *other_absent { 1.0 } else { 2.0 };
                    assert!(moved <= norms * bound, "{neighbours}: {moved} of {bound}");
                    closest = closest.max(moved / (norms * bound));
                }
            }
        }
        assert!(closest > 0.99, "some record must nearly attain the bound: {closest}");
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![0.05 * f64::from(i) - 0.4, 0.3]).collect();
        let targets: Vec<f64> = (0..20).map(|i| 0.1 * f64::from(i) - 0.9).collect();
        let data = numbers(&rows, &targets);
        let bounds = Bounds { row_norm: data.encoding().row_norm(), ..bounds(3) };
        for neighbours in [Neighbours::ZeroOut, Neighbours::Replace] {
            let grid = grid(bounds, neighbours, 20);
            let moments = bounds.sum(&data, grid).unwrap();
            let steps: Vec<f64> = unprotected(&moments.sum).iter().map(|n| *n as f64 * grid.step()).collect();
            let (square, products) = bounds.unscale(&steps);
            for i in 0..3 {
                let exact = |f: &dyn Fn(usize) -> f64| -> f64 {
                    (0..20).map(|slot| f64::from(data.row(slot).unwrap()[i]) * f(slot)).sum()
                };
                assert!((products[i] - exact(&|slot| f64::from(data.target(slot)))).abs() < 1e-5);
                for j in 0..=i {
                    let entry = exact(&|slot| f64::from(data.row(slot).unwrap()[j]));
                    assert!((square[i * 3 + j] - entry).abs() < 1e-5, "{i} {j}");
                }
            }
        }
    }

    /// Matrices with a known least eigenvalue, one of them singular.
    #[test]
    fn least_eigenvalues_are_found_to_their_stated_error() {
        for (triangle, least) in
            [(vec![2.0, 1.0, 2.0], 1.0), (vec![5.0, 0.0, 0.25], 0.25), (vec![1.0, 1.0, 1.0], 0.0)]
        {
            let bounds = bounds(2);
            let sum = GridSum::new(grid(bounds, Neighbours::ZeroOut, 10));
            let found = Moments { sum, gram: triangle }.least_eigenvalue(2, 10);
            assert!((found - least).abs() <= bounds.eigenvalue_error(10), "{found} {least}");
        }
        assert!(bounds(100).eigenvalue_error(1_000_000) < 1e-4);
    }
}
