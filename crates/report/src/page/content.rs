//! The content of a report, section by section.

mod attacker;
mod promise;
mod quality;
mod record;
mod scores;
mod signature;

use sordino_privacy::{Neighbours, Unit};

use super::icons::Icons;
use super::{Block, Section, Text};
use crate::number::{given, of_100, up};
use crate::report::Report;

/// The head of the page.
pub(crate) struct Title {
    pub(crate) title: Text,
    /// What the claim means, in one sentence; `None` if there is no claim.
    pub(crate) meaning: Option<String>,
    /// The same as a picture.
    pub(crate) icons: Option<Icons>,
    /// The claim in one line.
    pub(crate) claim: Text,
    /// Why there is no claim, if there is none.
    pub(crate) void: Option<&'static str>,
}

/// The head of the page.
pub(crate) fn title(report: &Report<'_>) -> Title {
    let run = report.run();
    let title = Text::name(&run.released.model);
    let title = match &run.released.target {
        Some(target) => title.and(" for ").and_name(target),
        None => title,
    };
    let guarantee = &run.guarantee;
    let (epsilon, delta) = (guarantee.epsilon.upper, guarantee.delta.get());
    let claim = if epsilon.is_finite() {
        Text::words("ε ≤ ").and_number(up(epsilon), epsilon)
    } else {
        Text::words("ε is unbounded")
    };
    let claim = claim.and(" at δ = ").and_number(given(delta), delta).and(", for ");
    let claim = unit(claim, &guarantee.unit).and(", under ").and_code(guarantee.neighbours.to_string());
    let void = if guarantee.seeded {
        Some(
            "This was a test run. The noise came from a fixed seed: nothing is promised, whatever the page \
            says below.",
        )
    } else if !guarantee.holds() {
        Some("Nothing is promised: no finite ε bounds what this release says about one unit.")
    } else {
        None
    };
    let meaning = void.is_none().then(|| meaning(report));
    let icons =
        void.is_none().then(|| Icons::new(of_100(report.explanation().right_guesses), report.whose()));
    Title { title, meaning, icons, claim, void }
}

/// The best attacker's success against a coin, with the same number as in the section on the
/// promise.
fn meaning(report: &Report<'_>) -> String {
    let whose = report.whose();
    format!(
        "Whoever sees this model and guesses whether {} {} used is right at most {} times in 100; a coin is \
        right 50 times.",
        whose.data,
        whose.was(),
        of_100(report.explanation().right_guesses)
    )
}

/// All sections, in the order of the page.
pub(crate) fn sections(report: &Report<'_>) -> Vec<Section> {
    vec![
        record::released(report),
        record::source(report),
        promise::guarantee(report),
        promise::weakens(report),
        attacker::attacker(report),
        attacker::profile(report),
        quality::quality(report),
        record::budget(report),
        record::method(report),
        record::recompute(report),
        promise::pitfalls(report),
        signature::signature(report),
        record::machine(),
    ]
}

fn section(id: &'static str, title: &'static str, blocks: Vec<Block>) -> Section {
    Section { id, title, blocks }
}

/// The heading of a table.
fn heads<const N: usize>(heads: [&str; N]) -> Vec<Text> {
    heads.map(Text::words).into()
}

fn paragraph(text: impl Into<Text>) -> Block {
    Block::Paragraph(text.into())
}

/// Adds the unit: whose data moves between neighbours.
fn unit(text: Text, unit: &Unit) -> Text {
    match unit {
        Unit::Record => text.and("one record"),
        Unit::Column(name) => text.and("all records with the same ").and_name(name),
        Unit::Client => text.and("one client, with everything it holds"),
    }
}

fn relation(neighbours: Neighbours) -> Text {
    let meaning = match neighbours {
        Neighbours::AddRemove | Neighbours::AddRemoveOrdered => {
            "one unit more or fewer; how many there are is hidden too"
        }
        Neighbours::ZeroOut | Neighbours::ZeroOutUnordered => {
            "one unit left empty; how many there are is public"
        }
        Neighbours::Replace | Neighbours::ReplaceOrdered => {
            "one unit exchanged for another; how many there are is public"
        }
        Neighbours::MetricBall(_) => "two vectors within the stated distance",
    };
    Text::code(neighbours.to_string()).and(format!(": {meaning}"))
}
