//! Privacy-loss distributions: certified two-sided answers for compositions.
//!
//! # Definition
//! For a pair of distributions the privacy loss of an outcome is `L = ln(dP / dQ)`, and
//! ```text
//! delta(epsilon) = E_P[(1 - exp(epsilon - L))+]
//! ```
//! Losses of a composition add up, so its distribution is a convolution; this holds for adaptive
//! sequences whose every step is dominated by its declared pair (Zhu, Dong, Wang, *Optimal
//! Accounting of Differential Privacy via Characteristic Function*, 2022).
//!
//! # How
//! 1. `pair`: each step as two distributions, in each view (remove, add).
//! 2. `sketch`, `plan`: a rough picture gives the tilt, the lattice step and the tails.
//! 3. `panel`, `lattice`: exact masses on the lattice, one object above and one below; `jumps` for
//!    losses so large that one decides alone, `parts` for steps that need two lattices.
//! 4. `tilted`, `compose`: convolution by Fourier transform with counted errors.
//! 5. `profile`: the answer, from the upper and the lower object (`single` for one release).
//!
//! `task` runs these steps, finer and finer, until the two ends meet;
//! `sweep` runs them once for many points.
//!
//! # Guarantee
//! The upper end is never below the truth and the lower never above
//! it, whatever the accuracy of step 2.

#[cfg(test)]
mod box_tests;
mod compose;
mod crowd;
mod jumps;
mod lattice;
mod pair;
mod panel;
mod parts;
mod plan;
mod profile;
mod single;
mod sketch;
mod sweep;
mod task;
#[cfg(test)]
mod tests;
mod tilted;

use pair::{End, View};
pub(crate) use sweep::profile;
use task::Task;

use super::step::{Sided, Step, Steps};
use crate::numerics::squares::SquareSum;

/// What is asked of a composition.
#[derive(Clone, Copy, Debug)]
enum Question {
    /// epsilon, given delta
    Epsilon { delta: f64 },
    /// delta, given epsilon
    Delta { epsilon: f64 },
}

/// A certified interval; the upper end may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
}

/// Certified epsilon at `delta`, or why these steps have no privacy-loss distributions.
pub(crate) fn epsilon(steps: &Steps, delta: f64) -> Result<Interval, String> {
    answer(steps, Question::Epsilon { delta })
}

/// Certified delta at `epsilon`, or why these steps have no privacy-loss distributions.
pub(crate) fn delta(steps: &Steps, epsilon: f64) -> Result<Interval, String> {
    answer(steps, Question::Delta { epsilon })
}

/// A certified lower end of epsilon at `delta`, for members of the classes that the
/// steps name; 0 where none is known.
pub(crate) fn epsilon_at_least(steps: &Steps, delta: f64) -> f64 {
    at_least(steps, Question::Epsilon { delta })
}

/// The same for delta at `epsilon`.
pub(crate) fn delta_at_least(steps: &Steps, epsilon: f64) -> f64 {
    at_least(steps, Question::Delta { epsilon })
}

fn at_least(steps: &Steps, question: Question) -> f64 {
    let steps = &reduced(steps);
    let one = |worst: f64, view: View| match Task::new(steps, view, End::Lower, question) {
        Ok(member) => worst.max(member.refined(worst).lower),
        Err(_) => worst,
    };
    views(steps).into_iter().fold(0.0, one)
}

fn answer(steps: &Steps, question: Question) -> Result<Interval, String> {
    let steps = &reduced(steps);
    if let Question::Epsilon { delta } = question
        && total_variation(steps) <= delta
    {
        return Ok(Interval { lower: 0.0, upper: 0.0 });
    }
    let mut worst = Interval { lower: 0.0, upper: 0.0 };
    for view in views(steps) {
        let upper = Task::new(steps, view, End::Upper, question)?;
        let found = upper.refined(worst.lower);
        // The lower end of an event that names a class of mechanisms belongs to a member of the
        // class; where none is known, nothing is said.
        let lower = match Task::new(steps, view, End::Lower, question) {
            Ok(member) if member.is_about_the_pairs_of(&upper) => found.lower,
            Ok(member) => member.refined(worst.lower).lower,
            Err(_) => 0.0,
        };
        worst.lower = worst.lower.max(lower);
        worst.upper = worst.upper.max(found.upper);
        if worst.upper == f64::INFINITY && worst.lower == 0.0 {
            break; // the other direction cannot help
        }
    }
    Ok(worst)
}

/// All Gaussians in one: `N(0, 1)` against `N(mu, 1)`, `count` times, is the pair of distance
/// `mu sqrt(count)`. Of steps that are not taken nothing is left.
fn reduced(steps: &Steps) -> Steps {
    let mut squares = SquareSum::default();
    let mut others = Vec::new();
    for (step, count) in steps.0.iter().filter(|(_, count)| *count > 0) {
        // Sampling that takes everybody is none.
        let step = if let Step::Poisson { rate: 1.0, base, sided: Sided::One } = step { base } else { step };
        if let Step::Gaussian { mu } = step {
            squares.add(*mu, *count);
        } else {
            others.push((step.clone(), *count));
        }
    }
    // Known to a few units of the last place, which every loss of the pair has room for.
    let mu = squares.root().upper;
    if mu > 0.0 {
        others.push((Step::Gaussian { mu }, 1));
    }
    Steps(others)
}

/// A bound on delta at epsilon = 0 (the total variation distance) that costs nothing. Unless a
/// record is drawn, nothing depends on it; and by Pinsker's inequality delta(0) is at most
/// `sqrt(KL / 2)`, where the divergences of the steps add up and each is at most `ln(1 + chi^2)`:
/// for Gaussians on samples `chi^2 = q^2 (exp(mu^2) - 1)`.
fn total_variation(steps: &Steps) -> f64 {
    let chance = |step: &Step| {
        if let Step::Poisson { rate, .. } = step {
            *rate
        } else if let Step::PoissonGroup { size, rate, .. } = step {
            -(*size as f64 * (-rate).ln_1p()).exp_m1()
        } else {
            1.0
        }
    };
    let divergence = |step: &Step| {
        if let Step::Poisson { rate, sided: Sided::One, base } = step
            && let Step::Gaussian { mu } = **base
        {
            (rate * rate * (mu * mu).exp_m1()).ln_1p()
        } else {
            f64::INFINITY
        }
    };
    let sum = |f: &dyn Fn(&Step) -> f64| steps.0.iter().map(|(step, n)| *n as f64 * f(step)).sum::<f64>();
    sum(&chance).min((0.5 * sum(&divergence)).sqrt()) * (1.0 + 1e-9)
}

/// Both directions where any step is not symmetric.
fn views(steps: &Steps) -> Vec<View> {
    let one_sided = |step: &Step| {
        matches!(step, Step::Poisson { rate, sided: Sided::One, .. } if *rate < 1.0)
            || matches!(step, Step::PoissonGroup { sided: Sided::One, .. } | Step::BallsInBins { .. })
    };
    if steps.0.iter().any(|(step, _)| one_sided(step)) {
        vec![View::Remove, View::Add]
    } else {
        vec![View::Remove]
    }
}
