//! Findings that weaken a claim, in plain words.
//!
//! Each [`Finding`] follows from the facts of the run and from computing the cost of its event
//! again. Findings are not grades: some say that nothing is promised, some only what the promise
//! rests on. Codes are stable, so programs can look for one; sentences may change.

mod code;

use serde::Serialize;
use sordino_privacy::notion::Approximate;
use sordino_privacy::{Bound, Count, Epsilon, Event, Neighbours, Unit};

pub use self::code::Code;
use crate::escape::visible;
use crate::explain::Whose;
use crate::number::{count, given, up};
use crate::run::{RunFacts, Tuning, WholeBudget, hides_size};

/// The ε above which a finding is made: e^8 is 2980, so a conclusion may become three thousand
/// times as likely.
const LARGE_EPSILON: f64 = 8.0;

/// The largest relative difference between two accounts of one event that rounding explains.
const ROUNDING: f64 = 1e-9;

/// One thing that weakens a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Its code, for programs.
    pub code: Code,
    /// The reason, for people.
    pub text: String,
}

/// All findings, the gravest first. `recomputed` is ε of the event by this program's accountant.
pub(crate) fn findings(run: &RunFacts, recomputed: Option<Bound>) -> Vec<Finding> {
    let mut found = Vec::new();
    promise(run, recomputed, &mut found);
    budget(run, &mut found);
    delta(run, &mut found);
    choices(run, &mut found);
    public_data(run, &mut found);
    relation(run, &mut found);
    // Stable: findings of one kind keep their order.
    found.sort_by_key(|finding| finding.code);
    found
}

fn promise(run: &RunFacts, recomputed: Option<Bound>, found: &mut Vec<Finding>) {
    let guarantee = &run.guarantee;
    let upper = guarantee.epsilon.upper;
    if guarantee.seeded {
        add(
            found,
            Code::Seeded,
            "The noise came from a fixed seed, so whoever knows the seed can take it off again. The run was \
            a test, and nothing is promised.",
        );
    }
    if upper == f64::INFINITY {
        add(
            found,
            Code::Unbounded,
            "No finite epsilon bounds what the release says about one unit: nothing is promised.",
        );
    } else if upper > LARGE_EPSILON {
        add(
            found,
            Code::LargeEpsilon,
            format!(
                "Epsilon is {}, which is above 8. So large a number promises little by itself: look at the \
                attacker's table.",
                up(upper)
            ),
        );
    }
    if let Some(asked) = run.requested.filter(|asked| upper > asked.epsilon.get() * (1.0 + ROUNDING)) {
        let asked = given(asked.epsilon.get());
        add(
            found,
            Code::AboveRequest,
            format!("Epsilon {asked} was asked for, and {} is what was spent.", up(upper)),
        );
    }
    confirmed(upper, recomputed, found);
}

fn confirmed(stated: f64, recomputed: Option<Bound>, found: &mut Vec<Finding>) {
    let stated_up = up(stated);
    match recomputed {
        None => add(
            found,
            Code::NotConfirmed,
            "No accountant of this program has an answer for the event, so the stated epsilon was taken on \
            trust.",
        ),
        Some(bound) if bound.lower > stated * (1.0 + ROUNDING) => add(
            found,
            Code::CostsMore,
            format!(
                "The event costs at least {}, and the guarantee states {stated_up}: the two do not belong \
                together.",
                up(bound.lower)
            ),
        ),
        Some(bound) if bound.upper > stated * (1.0 + ROUNDING) => add(
            found,
            Code::NotConfirmed,
            format!("The guarantee states {stated_up}; this program can only confirm {}.", up(bound.upper)),
        ),
        Some(_) => {}
    }
}

fn budget(run: &RunFacts, found: &mut Vec<Finding>) {
    if !run.guarantee.metered {
        add(
            found,
            Code::Unmetered,
            "No budget was charged. Nobody counts what other releases from the same data add to this one; \
            together they promise less than each.",
        );
    }
    match &run.budget {
        None if run.guarantee.metered => add(
            found,
            Code::BudgetNotShown,
            "A budget was charged, but the report was not told which, nor what is left of it.",
        ),
        None => {}
        Some(budget) => {
            if budget.spent_after.get() > budget.epsilon.get() * (1.0 + ROUNDING) {
                add(found, Code::OverBudget, "More was spent than the budget allows.");
            }
            let others = match budget.whole {
                // An analyst is not told what others have spent.
                Some(_) => Some("Others may release from the same data, each from a grant of their own."),
                None => (budget.spent_before.get() > 0.0)
                    .then_some("Others have learned from the same data before."),
            };
            if let Some(others) = others {
                let WholeBudget { epsilon, delta } = budget.promised();
                let (all, delta) = (given(epsilon.get()), given(delta.get()));
                add(
                    found,
                    Code::EarlierReleases,
                    format!(
                        "{others} To whoever sees all releases the data set's whole budget is promised, \
                         epsilon = {all} at delta = {delta}, and not this run's share."
                    ),
                );
            }
        }
    }
}

fn delta(run: &RunFacts, found: &mut Vec<Finding>) {
    let delta = run.guarantee.delta.get();
    if let Some(rows) = run.source.rows.filter(|_| hides_size(run.guarantee.neighbours)) {
        add(
            found,
            Code::SizeStated,
            format!(
                "The relation hides how many records there are, and the run states {}: that number was not \
                paid for.",
                count(rows.get().get())
            ),
        );
    }
    match run.source.rows {
        _ if delta == 0.0 => {}
        None => add(
            found,
            Code::DeltaNotCompared,
            "How many records there are is not public, so delta was not compared with it. It should be far \
            below one over their number.",
        ),
        Some(rows) if delta * rows.get().get() as f64 > 1.0 => add(
            found,
            Code::LargeDelta,
            format!(
                "Delta = {} is above one over the {} records. A program that publishes one whole record at \
                random would keep such a promise.",
                given(delta),
                count(rows.get().get())
            ),
        ),
        Some(_) => {}
    }
}

fn choices(run: &RunFacts, found: &mut Vec<Finding>) {
    match run.tuning {
        Tuning::NotBooked => add(
            found,
            Code::TuningNotBooked,
            "Settings were tuned by runs on the private data that nobody paid for. Each of those runs was a \
            release, and the choice between them is one too.",
        ),
        Tuning::NotStated => add(
            found,
            Code::TuningNotStated,
            "Nobody stated how the settings were chosen. If they were tuned on the private data, that has a \
            cost which is not counted here.",
        ),
        Tuning::WithoutData | Tuning::Booked => {}
    }
    if kinds(&run.guarantee.event).iter().any(|kind| kind == "last_iterate" || kind == "one_pass") {
        add(
            found,
            Code::HiddenSteps,
            "The cost is that of the last step alone. It holds for convex losses with the stated constants, \
            and only if no step in between was shown to anybody.",
        );
    }
}

fn public_data(run: &RunFacts, found: &mut Vec<Finding>) {
    if let Some(evaluation) = &run.evaluation {
        add(
            found,
            Code::PublicScores,
            format!(
                "Scores were measured on “{}”, which was declared public. If its records are private after \
                all, each score is a release that nobody counted.",
                visible(evaluation.data.name())
            ),
        );
    }
    for assumption in &run.public_assumptions {
        add(
            found,
            Code::PublicAssumption,
            format!("Assumed to be public, and not counted: {}", visible(assumption)),
        );
    }
}

fn relation(run: &RunFacts, found: &mut Vec<Finding>) {
    match run.guarantee.neighbours {
        Neighbours::ZeroOut | Neighbours::ZeroOutUnordered => add(found, Code::ZeroOut, zero_out(run)),
        Neighbours::AddRemove
        | Neighbours::AddRemoveOrdered
        | Neighbours::Replace
        | Neighbours::ReplaceOrdered
        | Neighbours::MetricBall(_) => {}
    }
    match &run.guarantee.unit {
        Unit::Record => add(
            found,
            Code::RecordUnit,
            "The promise is for one record. A person with several records is promised what a group of as \
            many is promised.",
        ),
        Unit::Column(_) | Unit::Client => {}
    }
}

/// Two contents of a record are two steps apart, through the empty one, so the rule for groups of 2
/// applies.
fn zero_out(run: &RunFacts) -> String {
    let guarantee = &run.guarantee;
    let pair =
        Epsilon::new(guarantee.epsilon.upper).ok().map(|epsilon| Approximate::new(epsilon, guarantee.delta));
    let twice = pair.zip(Count::new(2).ok()).and_then(|(pair, two)| pair.group(two).ok());
    let promised = match twice {
        Some(pair) => format!("epsilon = {} at delta = {}", up(pair.epsilon().get()), up(pair.delta().get())),
        None => "nothing".to_owned(),
    };
    let whose = Whose::unit(&guarantee.unit);
    format!(
        "The relation is zero_out: {} {} compared with an empty place. Two different contents are two steps \
         apart: between them {promised} is promised. How many {} there are is not hidden.",
        whose.data,
        whose.is(),
        whose.counted
    )
}

fn add(found: &mut Vec<Finding>, code: Code, text: impl Into<String>) {
    found.push(Finding { code, text: text.into() });
}

/// The JSON types of an event and of all its parts.
pub(crate) fn kinds(event: &Event) -> Vec<String> {
    fn collect(value: &serde_json::Value, kinds: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                kinds.extend(fields.get("type").and_then(|kind| Some(kind.as_str()?.to_owned())));
                fields.values().for_each(|value| collect(value, kinds));
            }
            serde_json::Value::Array(parts) => parts.iter().for_each(|value| collect(value, kinds)),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    collect(&serde_json::to_value(event).unwrap_or_default(), &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::recomputed;
    use crate::sample;
    use sordino_privacy::Delta;

    fn codes(run: &RunFacts) -> Vec<&'static str> {
        findings(run, recomputed(run)).iter().map(|finding| finding.code.name()).collect()
    }

    /// Each change to a good run adds its own finding, and no other.
    #[test]
    fn every_weakness_is_found_by_itself() {
        let good = sample::logistic();
        let usual = codes(&good);
        assert_eq!(usual, ["public_scores", "zero_out", "record_unit", "earlier_releases"]);
        type Change = fn(&mut RunFacts);
        let changes: [(&str, Change); 10] = [
            ("seeded", |run| run.guarantee.seeded = true),
            ("costs_more", |run| run.guarantee.epsilon = Bound::exactly(0.5 * run.guarantee.epsilon.upper)),
            ("above_request", |run| {
                run.requested.as_mut().unwrap().epsilon = Epsilon::new(0.5).unwrap();
            }),
            ("over_budget", |run| run.budget.as_mut().unwrap().spent_after = Epsilon::new(99.0).unwrap()),
            ("budget_not_shown", |run| run.budget = None),
            ("large_delta", |run| {
                run.guarantee.delta = Delta::new(0.01).unwrap();
                run.guarantee.epsilon = Bound::exactly(1.0);
            }),
            ("delta_not_compared", |run| run.source.rows = None),
            ("tuning_not_booked", |run| run.tuning = Tuning::NotBooked),
            ("tuning_not_stated", |run| run.tuning = Tuning::NotStated),
            ("public_assumption", |run| run.public_assumptions.push("the vocabulary".into())),
        ];
        for (code, change) in changes {
            let mut run = good.clone();
            change(&mut run);
            let found = codes(&run);
            assert!(found.contains(&code), "{code} is not among {found:?}");
            let others = found.iter().filter(|found| **found != code).all(|found| usual.contains(found));
            assert!(others, "{code}: {found:?}");
        }
    }

    /// A grant limits one analyst, and promises nothing about the releases of others.
    #[test]
    fn a_grant_is_not_the_promise() {
        let mut run = sample::logistic();
        let budget = run.budget.as_mut().unwrap();
        budget.spent_before = Epsilon::new(0.0).unwrap();
        let (epsilon, delta) = (Epsilon::new(7.0).unwrap(), Delta::new(2e-6).unwrap());
        budget.whole = Some(WholeBudget { epsilon, delta });
        let found = findings(&run, recomputed(&run));
        let found = found.iter().find(|finding| finding.code == Code::EarlierReleases).unwrap();
        assert!(found.text.contains("epsilon = 7 at delta = 2e-6"), "{}", found.text);
        assert!(!found.text.contains("have learned"), "{}", found.text);
    }

    #[test]
    fn an_unbounded_run_promises_nothing() {
        assert_eq!(codes(&sample::unbounded())[..2], ["unbounded", "unmetered"]);
    }

    /// (2 ε, δ (1 + e^ε)), typed again.
    #[test]
    fn zero_out_says_what_a_changed_record_is_promised() {
        let mut run = sample::logistic();
        run.guarantee.epsilon = Bound::exactly(1.0);
        let text = zero_out(&run);
        assert!(text.contains("epsilon = 2 at delta = 3.719e-5 is promised"), "{text}");
        assert!(text.contains("one record is compared with an empty place"), "{text}");
        run.guarantee.unit = Unit::Column("patient_id".into());
        let text = zero_out(&run);
        assert!(text.contains("the records of one patient_id are compared with an empty place"), "{text}");
    }

    #[test]
    fn a_large_epsilon_is_named() {
        let mut run = sample::bare();
        run.guarantee.epsilon = Bound::exactly(8.5);
        run.guarantee.event = Event::Pure { epsilon: Epsilon::new(8.5).unwrap() };
        assert!(codes(&run).contains(&"large_epsilon"));
        run.guarantee.event = Event::Pure { epsilon: Epsilon::new(8.0).unwrap() };
        run.guarantee.epsilon = Bound::exactly(8.0);
        assert!(!codes(&run).contains(&"large_epsilon"));
    }

    /// δ = 1/n is the limit: it allows publishing one whole record.
    #[test]
    fn delta_is_compared_with_one_over_n() {
        let mut run = sample::logistic();
        let rows = run.source.rows.unwrap().get().get() as f64;
        run.guarantee.epsilon = Bound::exactly(1.0);
        for (delta, large) in [(0.99 / rows, false), (1.01 / rows, true)] {
            run.guarantee.delta = Delta::new(delta).unwrap();
            assert_eq!(codes(&run).contains(&"large_delta"), large, "{delta}");
        }
    }

    /// A number of records that is public under one relation is stated under another.
    #[test]
    fn a_size_that_the_relation_hides_is_named() {
        let mut run = sample::logistic();
        run.guarantee.neighbours = Neighbours::AddRemove;
        let found = codes(&run);
        assert!(found.contains(&"size_stated") && !found.contains(&"zero_out"), "{found:?}");
    }

    #[test]
    fn kinds_of_an_event_are_those_of_its_parts() {
        let step = Event::non_private().repeated(Count::ONE);
        assert_eq!(kinds(&Event::composed([step.clone(), step])), ["composed", "non_private", "repeated"]);
    }
}
