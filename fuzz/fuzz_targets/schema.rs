//! Any text in the place of a schema.
//!
//! `cargo +nightly fuzz run schema seeds/schema` in this folder. The test `any_bytes` of the
//! command's crate runs the same function on seeded mutations, with a stable compiler.
#![no_main]

#[path = "../../crates/cli/tests/common/any.rs"]
#[allow(dead_code)]
mod any;

libfuzzer_sys::fuzz_target!(|text: &str| any::schema(text));
