//! Weighted sums of `x xᵀ`, over batches of rows.
//!
//! A batch of [`BATCH`] rows is held in the L1 cache, once as it is and once multiplied by the
//! weights. A piece of the result, [`PIECE_ROWS`] by [`PIECE_COLUMNS`] numbers, is then summed over
//! the batch in registers. Only pieces that touch the lower triangle are computed.

/// Rows of a batch.
const BATCH: usize = 32;
/// Rows of a piece of the result.
const PIECE_ROWS: usize = 4;
/// Columns of a piece of the result.
const PIECE_COLUMNS: usize = 8;

/// The lower triangle of `Σ_i c_i x_i x_iᵀ`, for several sets of weights c at once.
pub(crate) struct Gram {
    /// The width of a row, rounded up to whole pieces.
    padded: usize,
    rows: Vec<f64>,
    /// One batch of weights for each sum.
    weights: Vec<[f64; BATCH]>,
    scaled: Vec<f64>,
    filled: usize,
    sums: Vec<Vec<f64>>,
}

impl Gram {
    /// Makes `sums` empty sums for rows of `width` numbers.
    pub(crate) fn new(width: usize, sums: usize) -> Self {
        let padded = width.next_multiple_of(PIECE_COLUMNS);
        Self {
            padded,
            rows: vec![0.0; BATCH * padded],
            weights: vec![[0.0; BATCH]; sums],
            scaled: vec![0.0; BATCH * padded],
            filled: 0,
            sums: vec![vec![0.0; padded * padded]; sums],
        }
    }

    /// Adds a row to all sums. `weights` has its weight in each sum.
    pub(crate) fn add(&mut self, row: &[f32], weights: impl Iterator<Item = f64>) {
        let start = self.filled * self.padded;
        self.rows[start..].iter_mut().zip(row).for_each(|(to, x)| *to = f64::from(*x));
        self.weights.iter_mut().zip(weights).for_each(|(batch, weight)| batch[self.filled] = weight);
        self.filled += 1;
        if self.filled == BATCH {
            self.flush();
        }
    }

    /// The sums, each as a function that returns entry (i, j), j <= i.
    pub(crate) fn into_sums(mut self) -> Vec<impl Fn(usize, usize) -> f64> {
        self.flush();
        let padded = self.padded;
        self.sums.into_iter().map(|sum| move |i: usize, j: usize| sum[i * padded + j]).collect()
    }

    fn flush(&mut self) {
        if self.filled == 0 {
            return;
        }
        let used = self.filled * self.padded;
        for (sum, weights) in self.sums.iter_mut().zip(&self.weights) {
            let rows = self.rows[..used].chunks_exact(self.padded).zip(weights);
            for ((row, weight), scaled) in rows.zip(self.scaled.chunks_exact_mut(self.padded)) {
                scaled.iter_mut().zip(row).for_each(|(scaled, x)| *scaled = weight * x);
            }
            add_products(sum, &self.scaled[..used], &self.rows[..used], self.padded);
        }
        self.filled = 0;
    }
}

for_all_registers! {
    /// `sum += Σ_r a_r b_rᵀ` for rows of `padded` numbers, in the lower triangle.
    fn add_products(sum: &mut [f64], a: &[f64], b: &[f64], padded: usize)
}

mod plain {
    use super::{PIECE_COLUMNS, PIECE_ROWS};

    #[inline(always)]
    pub(super) fn add_products(sum: &mut [f64], a: &[f64], b: &[f64], padded: usize) {
        let (a, _) = a.as_chunks::<PIECE_ROWS>();
        let (b, _) = b.as_chunks::<PIECE_COLUMNS>();
        let (stride_a, stride_b) = (padded / PIECE_ROWS, padded / PIECE_COLUMNS);
        for i in (0..padded).step_by(PIECE_ROWS) {
            for j in (0..i + PIECE_ROWS).step_by(PIECE_COLUMNS) {
                let mut piece = [[0.0; PIECE_COLUMNS]; PIECE_ROWS];
                for (a, b) in a.chunks_exact(stride_a).zip(b.chunks_exact(stride_b)) {
                    let (a, b) = (&a[i / PIECE_ROWS], &b[j / PIECE_COLUMNS]);
                    for h in 0..PIECE_ROWS {
                        for l in 0..PIECE_COLUMNS {
                            piece[h][l] += a[h] * b[l];
                        }
                    }
                }
                for (h, piece) in piece.iter().enumerate() {
                    let start = (i + h) * padded + j;
                    sum[start..start + PIECE_COLUMNS].iter_mut().zip(piece).for_each(|(sum, x)| *sum += x);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers widths around whole pieces and numbers of rows around whole batches.
    #[test]
    fn sums_are_those_of_the_definition() {
        for (width, n) in [(1, 1), (4, 32), (7, 33), (8, 31), (9, 64), (21, 100)] {
            let x = |i: usize, j: usize| ((i * 7 + j * 3) as f32).sin() * 2f32.powi(j as i32 % 5);
            let weight = |i: usize, sum: usize| (i + sum) as f64 * 0.25;
            let mut gram = Gram::new(width, 2);
            for i in 0..n {
                let row: Vec<f32> = (0..width).map(|j| x(i, j)).collect();
                gram.add(&row, [weight(i, 0), weight(i, 5)].into_iter());
            }
            for (entry, sum) in gram.into_sums().iter().zip([0, 5]) {
                for (i, j) in (0..width).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let product = |r: usize| weight(r, sum) * f64::from(x(r, i)) * f64::from(x(r, j));
                    let plain: f64 = (0..n).map(product).sum();
                    assert!((entry(i, j) - plain).abs() <= 1e-9 * (1.0 + plain.abs()), "{width} {n} {i} {j}");
                }
            }
        }
    }
}
