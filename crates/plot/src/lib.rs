//! Line plots as SVG text: two axes, a few curves, light and dark.
//!
//! Written by hand because it is little code, needs no fonts, and follows the reader's colours. A
//! [`Plot`] becomes a file of its own ([`Plot::file`]), a part of a page ([`Plot::inline`]) or one
//! panel of several ([`panels`]).
//!
//! ```
//! use sordino_plot::{Axis, Curve, Line, Plot, Shape};
//!
//! let points = vec![(1.0, 0.1), (10.0, 0.01), (100.0, 0.001)];
//! let plot = Plot {
//!     title: "Error by records".into(),
//!     description: "The error falls in proportion to the number of records.".into(),
//!     x: Axis::decades_around("records", points.iter().map(|point| point.0)),
//!     y: Axis::decades_around("error", points.iter().map(|point| point.1)),
//!     shape: Shape::Wide,
//!     curves: vec![Curve { label: "mean of 20 runs".into(), line: Line::Series(0), points }],
//!     notes: Vec::new(),
//! };
//! assert!(plot.file().starts_with("<svg"));
//! ```
#![forbid(unsafe_code)]

mod axis;
mod panels;
mod plot;
mod text;

pub use axis::{Axis, grouped};
pub use panels::panels;
pub use plot::{Curve, Line, Note, Plot, SERIES, Shape};
pub use text::{escaped, visible};
