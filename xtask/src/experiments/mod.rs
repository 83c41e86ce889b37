//! `cargo xtask experiments [NAME] [OPTION...]`: small studies whose tables the book shows. Each is
//! one file here and one line in [`ALL`].

mod accounting;
mod audit;
mod composition;
mod learning;

use crate::failure::Failure;

/// An experiment: its name, what it shows, and the function that runs it with its options.
type Experiment = (&'static str, &'static str, fn(&[&str]) -> Result<(), Failure>);

const ALL: &[Experiment] = &[
    (
        "composition",
        "ε against the number of steps, by every accountant (docs/theory/composition.md)",
        composition::run,
    ),
    (
        "accounting",
        "all accountants against each other over 10^4 random nested events (docs/theory/accounting.md)",
        accounting::run,
    ),
    ("audit", "the audits of the test suite with 10^6 outputs each (docs/guide/audit.md)", audit::suite),
    (
        "sniper",
        "DP-Sniper's table of lower bounds beside ours (docs/guide/audit.md); [--samples N] [--seed N] \
        [ROW...]",
        audit::sniper,
    ),
    (
        "adult",
        "accuracy of private logistic regression on Adult (docs/studies/accuracy.md); [--choose]",
        learning::adult,
    ),
    (
        "mnist-softmax",
        "accuracy of a private softmax on MNIST's pixels (docs/studies/accuracy.md); [--choose]",
        learning::mnist_softmax,
    ),
    (
        "mnist-cnn",
        "accuracy of a private convolutional network on MNIST (docs/studies/accuracy.md); [--choose] [--try \
        SETTING...]",
        learning::mnist_cnn,
    ),
    ("width", "accuracy against the number of weights at one ε (docs/studies/width.md)", learning::width),
    (
        "coordinate",
        "coordinate descent against gradient descent at equal ε (docs/studies/coordinate.md); [--table] \
        [--beyond] [PROBLEM...]",
        learning::coordinate,
    ),
    (
        "defaults",
        "the default of a linear model against every method (docs/studies/defaults.md); [TABLE...]",
        learning::defaults,
    ),
];

/// Lists the experiments.
pub(crate) fn list() {
    for (name, about, _) in ALL {
        println!("  {name:<14} {about}");
    }
}

/// Runs the experiment named, with its options.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let Some((name, options)) = words.split_first() else { return Ok(()) };
    let known = || ALL.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let found = ALL.iter().find(|(known, ..)| known == name);
    let (.., run) =
        found.ok_or_else(|| Failure::usage(format!("no experiment `{name}`; there are: {}", known())))?;
    run(options)
}

/// Checks that there are no options.
fn no_options(options: &[&str]) -> Result<(), Failure> {
    match options {
        [] => Ok(()),
        [first, ..] => Err(Failure::usage(format!("this experiment has no options, got `{first}`"))),
    }
}
