//! A page with a Rust example that nobody compiles is a promise that nobody keeps.

use std::path::{Path, PathBuf};

#[test]
fn every_page_with_rust_is_run() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let listed = std::fs::read_to_string(root.join("crates/book/src/lib.rs")).unwrap();
    let mut pages = vec![root.join("README.md")];
    markdown_below(&root.join("docs"), &mut pages);
    assert!(pages.len() > 10, "the book was not found");
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let name = page.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        if text.lines().any(|line| line.starts_with("```rust")) {
            assert!(
                listed.contains(&format!("\"{name}\"")),
                "{name} has Rust and is not in crates/book/src/lib.rs"
            );
        }
        let bare = text.lines().filter(|line| line.starts_with("```")).step_by(2).any(|line| line == "```");
        assert!(!bare, "{name}: a code block without a language would be taken for Rust");
    }
}

fn markdown_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            markdown_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}
