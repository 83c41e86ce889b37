//! A report on a run: what its event allows, what weakens its claim, which mistakes it avoided.

use serde::Serialize;
use sordino_privacy::accounting::{self, Accountant};
use sordino_privacy::{Bound, Claim, Delta, Epsilon, Unit};

use crate::explain::{Explanation, Promise, Whose};
use crate::lint::{self, Finding};
use crate::page::{content, html, markdown};
use crate::pitfalls::{self, Avoided};
use crate::run::RunFacts;

/// The powers of ten of δ at which the curve of ε is computed.
const DECADES: std::ops::RangeInclusive<i32> = -12..=-1;

/// A run with everything that follows from it. It is made once, which takes about a second of
/// accounting for sampled events, and can then be written in any form.
///
/// Its JSON has the fields of the run and, beside them, `recomputed`, `explanation`, `profile`,
/// `findings` and `avoided`; a [`RunFacts`] can be read back from it.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    run: &'a RunFacts,
    #[serde(skip)]
    promise: Promise,
    /// ε of the event, computed again; null if no accountant has an answer.
    recomputed: Option<Bound>,
    explanation: Explanation,
    profile: Vec<ProfileEntry>,
    findings: Vec<Finding>,
    avoided: Vec<Avoided>,
}

/// Both ends of ε at one δ.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ProfileEntry {
    pub(crate) delta: f64,
    pub(crate) epsilon: Bound,
}

impl<'a> Report<'a> {
    /// Computes the cost of the run's event again, and everything that follows from the run.
    pub fn of(run: &'a RunFacts) -> Self {
        let guarantee = &run.guarantee;
        let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
        let recomputed = recomputed(run);
        let promise = promise(run, &claim);
        // Only records can be counted: the number of units of a column is unknown and private.
        let rows = run.source.rows.filter(|_| guarantee.unit == Unit::Record);
        let people = rows.map(|rows| rows.get());
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

    /// The run.
    pub fn run(&self) -> &'a RunFacts {
        self.run
    }

    /// Whose data the promise is about.
    pub(crate) fn whose(&self) -> Whose {
        Whose::unit(&self.run.guarantee.unit)
    }

    /// What the promise means for one unit.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// The findings that weaken the claim.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Mistakes of others that this run did not make.
    pub fn avoided(&self) -> &[Avoided] {
        &self.avoided
    }

    /// One HTML file that needs nothing else: no network, no script.
    pub fn html(&self) -> String {
        html::page(&content::title(self), &content::sections(self), self)
    }

    /// A model card in Markdown with the same facts.
    pub fn markdown(&self) -> String {
        markdown::page(&content::title(self), &content::sections(self))
    }

    /// The promise that the explanation is about.
    pub(crate) fn promise(&self) -> &Promise {
        &self.promise
    }

    /// ε of the event by this program's accountant; `None` if it has no answer.
    pub(crate) fn recomputed(&self) -> Option<Bound> {
        self.recomputed
    }

    /// ε at several δ, by increasing δ, where ε is finite.
    pub(crate) fn profile(&self) -> &[ProfileEntry] {
        &self.profile
    }
}

/// ε of the event by this program's accountant, from the event alone.
pub(crate) fn recomputed(run: &RunFacts) -> Option<Bound> {
    let guarantee = &run.guarantee;
    let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
    Some(accounting::epsilon(&claim, guarantee.delta, Accountant::Auto).ok()?.bound)
}

/// The whole curve of the event; if no accountant bounds the event, the pair that the guarantee
/// states.
fn promise(run: &RunFacts, claim: &Claim) -> Promise {
    let guarantee = &run.guarantee;
    Promise::of(claim.clone(), guarantee.delta).unwrap_or_else(|_| {
        match Epsilon::new(guarantee.epsilon.upper) {
            Ok(epsilon) => Promise::pair(epsilon, guarantee.delta, guarantee.neighbours),
            Err(_) => Promise::none(guarantee.delta, guarantee.neighbours),
        }
    })
}

/// ε at δ from 10^-12 to 1/10, and at the run's own.
fn profile(claim: &Claim, own: Delta) -> Vec<ProfileEntry> {
    // Parsed, not multiplied, so that 3e-9 is the nearest double.
    let decades =
        DECADES.flat_map(|power| [1, 3].map(|digit| format!("{digit}e{power}").parse().unwrap_or(0.0)));
    let decades = decades.filter(|delta| (0.0..=0.1).contains(delta));
    let mut deltas: Vec<f64> = decades.chain([own.get()]).filter(|delta| *delta > 0.0).collect();
    deltas.sort_by(f64::total_cmp);
    deltas.dedup();
    let at = |delta: f64| {
        let epsilon = accounting::epsilon(claim, Delta::new(delta).ok()?, Accountant::Auto).ok()?.bound;
        epsilon.upper.is_finite().then_some(ProfileEntry { delta, epsilon })
    };
    deltas.into_iter().filter_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The accountant's own numbers at a few δ.
    #[test]
    fn the_profile_falls_and_passes_through_the_guarantee() {
        let run = sample::logistic();
        let report = Report::of(&run);
        let profile = report.profile();
        let falls = |pair: &[ProfileEntry]| {
            pair[0].delta < pair[1].delta && pair[0].epsilon.upper >= pair[1].epsilon.upper
        };
        assert!(profile.windows(2).all(falls));
        assert!(profile.iter().all(|entry| entry.epsilon.lower <= entry.epsilon.upper));
        let own = profile.iter().find(|entry| entry.delta == run.guarantee.delta.get()).unwrap();
        assert_eq!(Some(own.epsilon), report.recomputed());
        assert_eq!(own.epsilon, run.guarantee.epsilon);
    }

    #[test]
    fn an_unbounded_event_has_no_profile() {
        let run = sample::unbounded();
        assert!(Report::of(&run).profile().is_empty());
    }
}
