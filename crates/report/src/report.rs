//! A run, read: what its event allows, what weakens its claim, which mistakes it did not make.

use serde::Serialize;
use sordino_privacy::accounting::{self, Accountant};
use sordino_privacy::{Bound, Claim, Delta, Epsilon, Unit};

use crate::explain::{Explanation, Promise, Whose};
use crate::lint::{self, Finding};
use crate::page::{content, html, markdown};
use crate::pitfalls::{self, Avoided};
use crate::run::RunFacts;

/// Where the curve of ε begins and ends, as powers of ten of δ.
const DECADES: std::ops::RangeInclusive<i32> = -12..=-1;

/// A run with everything that follows from it. It is made once, which takes a second or so of
/// accounting for sampled events, and written in any form.
///
/// In JSON it is the run itself and, beside its fields, `recomputed`, `explanation`, `profile`,
/// `findings` and `avoided`; a [`RunFacts`] can be read back from it.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    run: &'a RunFacts,
    #[serde(skip)]
    promise: Promise,
    /// ε of the event, accounted once more; null if no accountant has an answer.
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
    /// Accounts for the event of the run once more, and draws the conclusions.
    pub fn of(run: &'a RunFacts) -> Self {
        let guarantee = &run.guarantee;
        let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
        let recomputed = recomputed(run);
        let promise = promise(run, &claim);
        // How many values a column has is not known, and not public.
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

    /// What it is about.
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
        html::page(&content::title(self), &content::sections(self), self)
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

    /// By increasing δ; only where ε is finite.
    pub(crate) fn profile(&self) -> &[ProfileEntry] {
        &self.profile
    }
}

/// ε of the event by today's accountant, from nothing but the event.
pub(crate) fn recomputed(run: &RunFacts) -> Option<Bound> {
    let guarantee = &run.guarantee;
    let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
    Some(accounting::epsilon(&claim, guarantee.delta, Accountant::Auto).ok()?.bound)
}

/// The whole curve of the event; of an event that nobody can account
/// for, what the guarantee states.
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
    // Read rather than multiplied, so that 3e-9 is 3e-9.
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

    /// The accountant's own words, at a few δ.
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
