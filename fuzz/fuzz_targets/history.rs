//! Any lines, chained as a forger would who knows the format.
//!
//! `cargo +nightly fuzz run history` in this folder. The test `any_bytes` of the ledger's crate
//! runs the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/ledger/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|text: &str| any::history(text));
