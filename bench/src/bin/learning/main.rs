//! Studies of learners on public data: `cargo xtask experiments
//! adult|mnist-softmax|mnist-cnn|width|coordinate|defaults`.
//!
//! The arguments are the study, the folder of the data sets, and options of the study. Tables go to
//! standard output as Markdown.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a study talks to the person who started it")]

mod adult;
mod census;
mod cnn;
mod coordinate;
mod defaults;
mod images;
mod mnist;
mod networks;
mod optimum;
mod plot;
mod problems;
mod records;
mod study;
mod width;

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["adult", folder] => adult::run(Path::new(folder)),
        ["adult", folder, "--choose"] => adult::choose(Path::new(folder)),
        ["mnist-softmax", folder] => mnist::run(Path::new(folder)),
        ["mnist-softmax", folder, "--choose"] => mnist::choose(Path::new(folder)),
        ["mnist-cnn", folder] => cnn::run(Path::new(folder)),
        ["mnist-cnn", folder, "--choose"] => cnn::choose(Path::new(folder)),
        ["mnist-cnn", folder, "--try", setting @ ..] => cnn::attempt(Path::new(folder), setting),
        ["defaults", folder, tables @ ..] => defaults::run(Path::new(folder), tables),
        ["width", folder] => width::run(Path::new(folder)),
        ["coordinate", folder, "--table"] => coordinate::table(Path::new(folder)),
        ["coordinate", folder, "--beyond", problems @ ..] => coordinate::beyond(Path::new(folder), problems),
        ["coordinate", folder, problems @ ..] => coordinate::run(Path::new(folder), problems),
        _ => Err(
            "expected a study (adult, mnist-softmax, mnist-cnn, width, coordinate, defaults), the folder of \
            the data sets, and --choose, --try, --beyond, --table or names of problems or tables"
                .into(),
        ),
    }
}
