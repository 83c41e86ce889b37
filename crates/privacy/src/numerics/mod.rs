//! Special functions and quadrature with stated accuracy.

pub(crate) mod gauss_legendre;
pub(crate) mod gaussian_profile;
pub(crate) mod logspace;
pub(crate) mod normal;
pub(crate) mod search;
pub(crate) mod squares;

/// Property tests that draw the same cases on every run.
#[cfg(test)]
pub(crate) fn cases(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(20_170_811), ..Config::default() }
}
