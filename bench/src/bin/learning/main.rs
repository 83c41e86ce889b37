//! Studies of learners on public data: `cargo xtask experiments adult|mnist-softmax|coordinate`.
//!
//! Arguments: the study, and the folder of the data sets. Tables go to standard output as Markdown.
#![expect(clippy::print_stdout, reason = "a study talks to the person who started it")]

mod adult;
mod coordinate;
mod mnist;
mod study;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["adult", folder] => adult::run(Path::new(folder)),
        ["mnist-softmax", folder] => mnist::run(Path::new(folder)),
        ["coordinate", folder] => coordinate::run(Path::new(folder)),
        _ => {
            Err("expected a study (adult, mnist-softmax, coordinate) and the folder of the data sets".into())
        }
    }
}
