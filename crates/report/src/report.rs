//! A run, read: what its event allows, what weakens its claim, which mistakes it did not make.

use sordino_privacy::accounting::{self, Accountant};
use sordino_privacy::{Bound, Claim, Delta, Epsilon};

use crate::explain::{Explanation, Promise};
use crate::lint::{self, Finding};
use crate::page::{content, html, markdown};
use crate::pitfalls::{self, Avoided};
use crate::run::Run;

/// Where the curve of ε begins and ends, as powers of ten of δ.
const DECADES: std::ops::RangeInclusive<i32> = -12..=-1;

/// A run with everything that follows from it. It is made once, which takes a second or so of accounting for sampled
/// events, and written in any form.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    run: &'a Run,
    promise: Promise,
    explanation: Explanation,
    recomputed: Option<Bound>,
    profile: Vec<(f64, Bound)>,
    findings: Vec<Finding>,
    avoided: Vec<Avoided>,
}

impl<'a> Report<'a> {
    /// Accounts for the event of the run once more, and draws the conclusions.
    pub fn of(run: &'a Run) -> Self {
        let guarantee = &run.guarantee;
        let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
        let recomputed = recomputed(run);
        let promise = promise(run, &claim);
        let people = run.source.rows.map(|rows| rows.get());
        let explanation = Explanation::of(&promise, people, None);
        Self {
            run,
            promise,
            explanation,
            recomputed,
            profile: profile(&claim, guarantee.delta),
            findings: lint::findings(run, recomputed),
            avoided: pitfalls::avoided(run, recomputed),
        }
    }

    /// What it is about.
    pub fn run(&self) -> &'a Run {
        self.run
    }

    /// What the promise means for one person.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// What weakens the claim.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Mistakes of others that this run did not make.
    pub fn avoided(&self) -> &[Avoided] {
        &self.avoided
    }

    /// One HTML file that needs nothing else: no network, no script.
    pub fn html(&self) -> String {
        html::page(&content::title(self), &content::sections(self), self.run)
    }

    /// A model card in Markdown with the same facts.
    pub fn markdown(&self) -> String {
        markdown::page(&content::title(self), &content::sections(self))
    }

    /// The best attacker, on which the explanation rests.
    pub(crate) fn promise(&self) -> &Promise {
        &self.promise
    }

    /// ε of the event by today's accountant; none if it has no answer.
    pub(crate) fn recomputed(&self) -> Option<Bound> {
        self.recomputed
    }

    /// (δ, ε), by increasing δ; only where ε is finite.
    pub(crate) fn profile(&self) -> &[(f64, Bound)] {
        &self.profile
    }
}

/// ε of the event by today's accountant, from nothing but the event.
pub(crate) fn recomputed(run: &Run) -> Option<Bound> {
    let guarantee = &run.guarantee;
    let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
    Some(accounting::epsilon(&claim, guarantee.delta, Accountant::Auto).ok()?.bound)
}

/// The whole curve of the event; of an event that nobody can account for, what the guarantee states.
fn promise(run: &Run, claim: &Claim) -> Promise {
    let guarantee = &run.guarantee;
    Promise::of(claim.clone(), guarantee.delta).unwrap_or_else(|_| {
        match Epsilon::new(guarantee.epsilon.upper) {
            Ok(epsilon) => Promise::pair(epsilon, guarantee.delta, guarantee.neighbours),
            Err(_) => Promise::none(guarantee.delta, guarantee.neighbours),
        }
    })
}

/// ε at δ from 10^-12 to 1/10, and at the run's own.
fn profile(claim: &Claim, own: Delta) -> Vec<(f64, Bound)> {
    let decades = DECADES.flat_map(|power| [1.0, 3.0].map(|digit| digit * 10f64.powi(power)));
    let mut deltas: Vec<f64> =
        decades.filter(|delta| *delta <= 0.1).chain([own.get()]).filter(|d| *d > 0.0).collect();
    deltas.sort_by(f64::total_cmp);
    deltas.dedup();
    let at = |delta: f64| {
        let bound = accounting::epsilon(claim, Delta::new(delta).ok()?, Accountant::Auto).ok()?.bound;
        bound.upper.is_finite().then_some((delta, bound))
    };
    deltas.into_iter().filter_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The accountant's own words, at a few δ.
    #[test]
    fn the_profile_falls_and_passes_through_the_guarantee() {
        let run = sample::logistic();
        let report = Report::of(&run);
        let profile = report.profile();
        assert!(profile.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1.upper >= pair[1].1.upper));
        assert!(profile.iter().all(|(_, bound)| bound.lower <= bound.upper));
        let own = profile.iter().find(|(delta, _)| *delta == run.guarantee.delta.get()).unwrap();
        assert_eq!(Some(own.1), report.recomputed());
        assert!((own.1.upper - run.guarantee.epsilon.upper).abs() < 1e-3);
    }

    #[test]
    fn an_unbounded_event_has_no_profile() {
        let run = sample::unbounded();
        assert!(Report::of(&run).profile().is_empty());
    }
}
