//! Statistics of a table with declared bounds: count, sum, mean, variance, quantile, histogram,
//! mode.
//!
//! Each statistic is a plan made from public parameters alone. It is a
//! [`Mechanism`](crate::Mechanism): `claim()` says what one release costs, `release(rows, permit)`
//! gives the answer with its accuracy at 95 % confidence ([`CONFIDENCE`]).
//!
//! | statistic | rows | what it releases | noise |
//! |---|---|---|---|
//! | [`RowCount`] | booleans | how many are true | discrete Laplace |
//! | [`Sum`] | numbers | sum of clamped numbers | discrete Laplace on a grid |
//! | [`Mean`] | numbers | mean of clamped numbers | noisy sum over noisy or public count |
//! | [`Variance`] | numbers | variance of clamped numbers | two noisy sums over noisy or public count |
//! | [`Quantile`] | numbers | a value of about this rank | exponential mechanism on a public grid |
//! | [`SmoothMedian`] | numbers | the median, where n is public | fit to the data near by |
//! | [`StableMedian`] | numbers | the median if stable, or nothing; δ > 0 | discrete Laplace after a test |
//! | [`Histogram`] | keys | counts of declared keys, zeros included | discrete Laplace |
//! | [`OpenHistogram`] | keys | counts of frequent keys; δ > 0 | discrete Laplace and a threshold |
//! | [`GaussianHistogram`] | keys | counts of declared keys, zeros included | discrete Gaussian |
//! | [`OpenGaussianHistogram`] | keys | counts of frequent keys; δ > 0 | discrete Gaussian and a threshold |
//! | [`Mode`] | keys | the most frequent of declared keys | report noisy max |
//!
//! # Who is protected
//! [`Contributor`] says what one neighbour changes: one row, or all rows of one owner. At most a
//! public number of an owner's rows count (drawn at random from the owner's own rows, before
//! anything is added up). See there for the sensitivities. A permit whose unit is not the
//! contributor is refused.
//!
//! # From data to integers
//! Every row becomes a few integers by a rule that looks at that row and at public parameters only:
//! clamped to [`Bounds`], NaN replaced by a public constant, put on a public grid. Sums of integers
//! are exact and know no order. No row and no table is refused for what it contains, and an empty
//! table is a table.
//!
//! # Pitfalls
//! - Bounds, keys and limits read off the data are releases that nobody paid for.
//! - Filter and join first, then limit what an owner contributes: a join after the limit multiplies
//!   rows again.
//!
//! Sources: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson, "Differentially private SQL
//! with bounded user contribution", 2020. Casacuberta, Shoemate, Vadhan, Wagaman, "Widespread
//! underestimation of sensitivity in differentially private libraries", 2022.
//!
//! ```
//! use sordino_mechanisms::Mechanism;
//! use sordino_mechanisms::statistics::{Bounds, Contributor, Mean, Rows};
//! use sordino_privacy::{Budget, Charge, Epsilon, Neighbours, Terms};
//!
//! let one_row = Contributor::record(Neighbours::AddRemove);
//! let mean = Mean::new(Epsilon::new(0.5)?, Bounds::new(0.0, 120.0)?, one_row)?;
//! let ages: Vec<f64> = (0..1000).map(|i| f64::from(20 + i % 50)).collect();
//! let mut budget = Budget::new(Terms::new(Epsilon::new(1.0)?, Neighbours::AddRemove));
//! let release = mean.release(Rows::new(&ages), budget.charge_claim(mean.claim())?)?;
//! println!("{} ± {}", release.value().value, release.value().error);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
mod contributor;
mod count;
mod estimate;
mod gaussian_cells;
mod gaussian_histogram;
mod histogram;
mod keys;
mod lattice;
mod mean;
mod mode;
mod moments;
mod open_gaussian_histogram;
mod open_histogram;
mod ordered;
mod quantile;
mod rows;
mod smooth_median;
mod stable_median;
mod sum;
mod variance;

pub use bounds::Bounds;
pub use contributor::Contributor;
pub use count::RowCount;
pub use estimate::{Cells, Estimate, Ranked, Winner};
pub use gaussian_histogram::GaussianHistogram;
pub use histogram::Histogram;
pub use mean::Mean;
pub use mode::Mode;
pub use open_gaussian_histogram::OpenGaussianHistogram;
pub use open_histogram::OpenHistogram;
pub use quantile::Quantile;
pub use rows::Rows;
pub use smooth_median::SmoothMedian;
pub use stable_median::StableMedian;
pub use sum::Sum;
pub use variance::Variance;

/// The confidence at which releases state their accuracy.
pub const CONFIDENCE: f64 = 0.95;
