//! Any text in the place of an entry, an event, a claim, a head.
//!
//! `cargo +nightly fuzz run entry` in this folder. The test `any_bytes` of the ledger's crate runs
//! the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/ledger/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|text: &str| any::text(text));
