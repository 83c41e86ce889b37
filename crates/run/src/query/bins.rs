//! Cells of a histogram of numbers, by declared edges.
//!
//! # Definition
//! Edges e₀ < … < eₖ lie within the bounds [l, u] of the column; l and u are added if they are not
//! edges. They define the cells [e₀, e₁), [e₁, e₂), …, and the last cell includes its upper end. A
//! number is clamped to the bounds first, so it lies in exactly one cell.
//!
//! # Guarantee
//! The cell of a record is a function of that record and of public numbers. So a histogram of cells
//! costs as much as one of declared values: adding a record moves one count by 1, and replacing it
//! moves two.

use sordino_mechanisms::statistics::Bounds;

use crate::error::RunError;

/// The most edges: more than anybody reads.
const MAX_EDGES: usize = 10_000;

/// Cells between edges.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bins {
    /// The edges in ascending order; the first and the last are the bounds.
    edges: Vec<f64>,
}

impl Bins {
    /// Refuses edges that are not ascending.
    pub(super) fn check(edges: &[f64]) -> Result<(), RunError> {
        let is_sound =
            edges.iter().all(|edge| edge.is_finite()) && edges.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_sound || !(2..=MAX_EDGES).contains(&edges.len()) {
            let got = match edges.len() {
                0..=8 => edges.iter().map(f64::to_string).collect::<Vec<_>>().join(","),
                many => format!("{many} numbers"),
            };
            return Err(RunError::Edges { got, most: MAX_EDGES });
        }
        Ok(())
    }

    /// Refuses edges that are not ascending or lie outside of the bounds.
    pub(super) fn new(edges: &[f64], bounds: Bounds) -> Result<Self, RunError> {
        Self::check(edges)?;
        let (lower, upper) = (bounds.lower(), bounds.upper());
        if let Some(&edge) = edges.iter().find(|edge| **edge < lower || **edge > upper) {
            return Err(RunError::EdgeOutside { edge, lower, upper });
        }
        let mut all: Vec<f64> = [lower].iter().chain(edges).chain([&upper]).copied().collect();
        all.dedup();
        Ok(Self { edges: all })
    }

    /// The names of the cells, such as `[0, 10)` and `[10, 20]`.
    pub(super) fn names(&self) -> Vec<String> {
        let last = self.edges.len().saturating_sub(2);
        let name = |(index, pair): (usize, &[f64])| {
            format!("[{}, {}{}", pair[0], pair[1], if index == last { ']' } else { ')' })
        };
        self.edges.windows(2).enumerate().map(name).collect()
    }

    /// The index of the cell of this number, after clamping.
    pub(super) fn cell(&self, value: f64) -> usize {
        let inner = &self.edges[1..self.edges.len() - 1];
        inner.partition_point(|edge| *edge <= value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(edges: &[f64], lower: f64, upper: f64) -> Bins {
        Bins::new(edges, Bounds::new(lower, upper).unwrap()).unwrap()
    }

    #[test]
    fn every_number_lies_in_one_cell() {
        let bins = bins(&[0.0, 10.0, 20.0], 0.0, 20.0);
        assert_eq!(bins.names(), ["[0, 10)", "[10, 20]"]);
        let cells = [(-5.0, 0), (0.0, 0), (9.99, 0), (10.0, 1), (20.0, 1), (99.0, 1)];
        cells.iter().for_each(|(value, cell)| assert_eq!(bins.cell(*value), *cell, "{value}"));
    }

    #[test]
    fn the_bounds_are_edges() {
        let bins = bins(&[18.0, 65.0], 0.0, 120.0);
        assert_eq!(bins.names(), ["[0, 18)", "[18, 65)", "[65, 120]"]);
        assert_eq!([0.0, 18.0, 65.0, 120.0].map(|value| bins.cell(value)), [0, 1, 2, 2]);
    }

    #[test]
    fn edges_that_make_no_cells_are_refused() {
        let refused =
            |edges: &[f64]| Bins::new(edges, Bounds::new(0.0, 9.0).unwrap()).unwrap_err().to_string();
        for edges in [&[][..], &[1.0], &[2.0, 1.0], &[1.0, 1.0], &[0.0, f64::NAN], &[0.0, f64::INFINITY]] {
            assert!(refused(edges).contains("each above the one before"), "{edges:?}");
        }
        assert!(refused(&[0.0, 10.0]).contains("10 lies outside"));
        assert!(refused(&vec![0.0; 99_999]).contains("99999 numbers"));
    }
}
