//! The README and the pages of the book that have Rust in them, as documentation: so `cargo test`
//! compiles and runs their examples, and a page cannot show what does not work.
#![forbid(unsafe_code)]

/// Attaches pages to empty modules, whose examples `cargo test` then runs.
macro_rules! pages {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(
            #[doc = include_str!(concat!("../../../", $path))]
            #[cfg(doctest)]
            mod $name {}
        )*
    };
}

pages! {
    readme: "README.md",
    costs_and_noise: "docs/guide/costs-and-noise.md",
    audit: "docs/guide/audit.md",
    doors: "docs/guide/doors.md",
    networks: "docs/guide/networks.md",
    report: "docs/guide/report.md",
    schema: "docs/guide/schema.md",
}
