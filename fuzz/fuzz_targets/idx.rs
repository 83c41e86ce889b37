//! Any bytes in the place of IDX.
//!
//! `cargo +nightly fuzz run idx seeds/idx` in this folder. The test `any_bytes` of the command's
//! crate runs the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/cli/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any::data("any-idx3-ubyte", bytes));
