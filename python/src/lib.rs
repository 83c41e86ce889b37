//! The native half of the Python package `sordino`. It converts, releases the interpreter's lock
//! around anything long, and holds what has state: budgets and accounts.
//!
//! Everything that makes a release sound lives below, in `sordino-run` and its neighbours. What
//! people import is the pure package beside it, in `python/sordino`.
//!
//! Events, claims and guarantees cross the border as JSON, their stable form, which keeps every bit
//! of a number.

mod accounting;
mod audit;
mod borrowed;
mod budget;
mod errors;
mod learning;
mod ledger;
mod mechanisms;
mod model;
mod schema;
mod statements;
mod statistics;
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
    use crate::audit::{audit_counts, audit_mechanism, audit_one_run};
    #[pymodule_export]
    use crate::budget::NativePayer;
    #[pymodule_export]
    use crate::learning::{fit, plan};
    #[pymodule_export]
    use crate::ledger::{
        ledger_create, ledger_create_budget, ledger_export, ledger_grant, ledger_link_values, ledger_verify,
    };
    #[pymodule_export]
    use crate::mechanisms::{
        Released, above_threshold, choose, counts, discrete_gaussian, discrete_laplace, noisy_sum,
        randomized_response, top_k,
    };
    #[pymodule_export]
    use crate::model::FittedModel;
    #[pymodule_export]
    use crate::schema::{schema, schema_facts, schema_template};
    #[pymodule_export]
    use crate::statements::{explain, statement, statement_words, together};
    #[pymodule_export]
    use crate::statistics::statistic;
    #[pymodule_export]
    use crate::table::PyTable;

    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
