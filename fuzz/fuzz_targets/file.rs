//! Any bytes in the place of a ledger.
//!
//! `cargo +nightly fuzz run file` in this folder. The test `any_bytes` of the ledger's crate runs
//! the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/ledger/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::file(bytes));
