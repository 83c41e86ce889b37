//! Any text in the place of a network's description.
//!
//! `cargo +nightly fuzz run description seeds/description` in this folder. The test `any_bytes` of
//! the command's crate runs the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/cli/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|text: &str| any::description(text));
