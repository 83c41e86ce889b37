//! Sorted rows on a public grid: their median, and how far it moves near by.
//!
//! # Definition
//! n rows x_1 <= ... <= x_n on the integers 0..=G, of which at most k become others; n is public.
//! With m = ceil(n/2), x_i = 0 for i < 1 and x_i = G for i > n, the median is x_m, and the largest
//! local sensitivity of any table that differs in at most k rows is
//! ```text
//! A_k = max over t = 0, ..., k + 1 of x_(m+t) - x_(m+t-k-1)                                          (1)
//! ```
//! (Nissim, Raskhodnikova, Smith, "Smooth sensitivity and sampling in private data analysis", 2007,
//! Section 3.1). For neighbours x, x' it follows that `A_k(x) <= A_(k+1)(x')`; a test tries all
//! small tables.

/// Sorted places on a grid of G cells.
pub(super) struct Ordered {
    places: Vec<u64>,
    cells: u64,
}

impl Ordered {
    pub(super) fn new(mut places: Vec<u64>, cells: u64) -> Self {
        places.sort_unstable();
        Self { places, cells }
    }

    /// x_m; 0 if there are no rows.
    pub(super) fn median(&self) -> u64 {
        self.at(self.middle())
    }

    /// A_k of (1).
    pub(super) fn sensitivity(&self, distance: u64) -> u64 {
        // Once every row may change, both ends of the grid are within reach.
        if distance >= self.places.len() as u64 {
            return self.cells;
        }
        let (m, width) = (self.middle(), distance as i64 + 1);
        (0..=width).map(|t| self.at(m + t) - self.at(m + t - width)).max().unwrap_or(0)
    }

    /// The least k with A_k above `bound`, or `most` if that is less.
    pub(super) fn distance_to(&self, bound: u64, most: u64) -> u64 {
        // A_k grows with k.
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sensitivity(middle) > bound { high = middle } else { low = middle + 1 }
        }
        low
    }

    fn middle(&self) -> i64 {
        (self.places.len() as i64 + 1) / 2
    }

    /// x_i, counted from 1.
    fn at(&self, i: i64) -> u64 {
        if i < 1 { 0 } else { self.places.get(i as usize - 1).copied().unwrap_or(self.cells) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// All sorted tables of n rows on 0..=cells.
    pub(in super::super) fn tables(n: usize, cells: u64) -> Vec<Vec<u64>> {
        (0..n).fold(vec![vec![]], |heads: Vec<Vec<u64>>, _| {
            let longer = |head: &Vec<u64>| {
                let least = head.last().copied().unwrap_or(0);
                (least..=cells).map(|x| [head.as_slice(), &[x]].concat()).collect::<Vec<_>>()
            };
            heads.iter().flat_map(longer).collect()
        })
    }

    /// All tables in which one row became another.
    pub(in super::super) fn neighbours(table: &[u64], cells: u64) -> Vec<Vec<u64>> {
        let replaced = |i: usize, x: u64| {
            let mut other = table.to_vec();
            other[i] = x;
            other.sort_unstable();
            other
        };
        (0..table.len()).flat_map(|i| (0..=cells).map(move |x| (i, x))).map(|(i, x)| replaced(i, x)).collect()
    }

    #[test]
    fn formula_one_is_the_largest_local_sensitivity_near_by() {
        for (n, cells) in [(1, 4), (2, 4), (3, 4), (4, 3)] {
            for table in tables(n, cells) {
                let mut near = vec![table.clone()];
                for k in 0..=n.min(3) as u64 {
                    let local = |table: &Vec<u64>| {
                        let median = Ordered::new(table.clone(), cells).median();
                        let moved = |other: Vec<u64>| Ordered::new(other, cells).median().abs_diff(median);
                        neighbours(table, cells).into_iter().map(moved).max().unwrap()
                    };
                    let truth = near.iter().map(local).max().unwrap();
                    assert_eq!(Ordered::new(table.clone(), cells).sensitivity(k), truth, "{table:?} at {k}");
                    near = near.iter().flat_map(|table| neighbours(table, cells)).collect();
                    near.sort();
                    near.dedup();
                }
            }
        }
    }

    #[test]
    fn distances_move_by_at_most_one() {
        for table in tables(5, 4) {
            for bound in 0..4 {
                let distance = |table: &[u64]| Ordered::new(table.to_vec(), 4).distance_to(bound, 10);
                let here = distance(&table);
                assert!(here == 10 || Ordered::new(table.clone(), 4).sensitivity(here) > bound);
                assert!(here == 0 || Ordered::new(table.clone(), 4).sensitivity(here - 1) <= bound);
                for other in neighbours(&table, 4) {
                    assert!(here.abs_diff(distance(&other)) <= 1, "{table:?} and {other:?}");
                }
            }
        }
    }
}
