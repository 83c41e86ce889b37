//! `cargo xtask experiments [NAME]`: small studies whose tables the book shows. Each is one file here and one line
//! in [`ALL`].

mod composition;
mod learning;

use crate::failure::Failure;

/// Name, what it shows, how it is run.
type Experiment = (&'static str, &'static str, fn() -> Result<(), Failure>);

const ALL: &[Experiment] = &[
    (
        "composition",
        "ε against the number of steps, by every accountant (docs/theory/composition.md)",
        composition::run,
    ),
    ("adult", "accuracy of private logistic regression on Adult (docs/theory/learning.md)", learning::adult),
    (
        "mnist-softmax",
        "accuracy of a private softmax on MNIST's pixels (docs/theory/learning.md)",
        learning::mnist_softmax,
    ),
    (
        "coordinate",
        "coordinate descent against gradient descent at equal ε (docs/theory/learning.md)",
        learning::coordinate,
    ),
];

/// Lists the experiments.
pub(crate) fn list() {
    for (name, about, _) in ALL {
        println!("  {name:<14} {about}");
    }
}

/// Runs the experiments named.
pub(crate) fn run(names: &[&str]) -> Result<(), Failure> {
    for name in names {
        let known = || ALL.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
        let found = ALL.iter().find(|(known, ..)| known == name);
        let (.., run) =
            found.ok_or_else(|| Failure::usage(format!("no experiment `{name}`; there are: {}", known())))?;
        run()?;
    }
    Ok(())
}
