//! The native half of the Python package `sordino`. It converts, releases the interpreter's lock
//! around anything long, and holds what has state: budgets and accounts.
//!
//! Everything that makes a release sound lives below, in `sordino-run` and its neighbours. What
//! people import is the pure package beside it, in `python/sordino`.
//!
//! Events, claims and guarantees cross the border as JSON, their stable form, which keeps every bit
//! of a number.

mod accounting;
mod borrowed;
mod errors;
mod learning;
mod model;
mod statements;
mod table;

use pyo3::prelude::*;

/// The native module. Private: import `sordino` instead.
#[pymodule]
mod _sordino {
    #[pymodule_export]
    use crate::accounting::{
        calibrate_noise, calibrate_rate, calibrate_split, calibrate_steps, delta, epsilon, event, noise_of,
    };
    #[pymodule_export]
    use crate::learning::{NativePayer, fit, plan};
    #[pymodule_export]
    use crate::model::FittedModel;
    #[pymodule_export]
    use crate::statements::{explain, statement, statement_words, together};
    #[pymodule_export]
    use crate::table::PyTable;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
