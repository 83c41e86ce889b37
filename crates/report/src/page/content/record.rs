//! What was released, from which data, how, from which budget, and how to check it.

use sordino_privacy::Claim;

use super::{paragraph, relation, section, unit};
use crate::number::{count, down, given, up};
use crate::page::{Bar, Block, Part, Section, Text};
use crate::report::Report;
use crate::run::{BoundsOrigin, BudgetUse, SettingValue, Tuning, WholeBudget};

pub(super) fn released(report: &Report<'_>) -> Section {
    let run = report.run();
    let released = &run.released;
    let mut facts: Vec<(Text, Text)> =
        vec![("model".into(), Text::name(&released.model)), ("task".into(), released.task.name().into())];
    facts.extend(released.target.as_ref().map(|target| ("target".into(), Text::name(target))));
    facts.push(("weights".into(), Text::number(count(released.weights), released.weights as f64)));
    facts.push(("made by".into(), Text::name(&run.method.name)));
    facts.extend(run.finished.as_ref().map(|finished| ("finished".into(), Text::name(finished))));
    let note = "The weights and everything computed from them may be shown to anybody: whatever is done with \
        a release costs no more privacy.";
    section("released", "What was released", vec![Block::Facts(facts), paragraph(note)])
}

pub(super) fn source(report: &Report<'_>) -> Section {
    let (source, guarantee) = (&report.run().source, &report.run().guarantee);
    let mut facts: Vec<(Text, Text)> = vec![("data".into(), Text::name(&source.data))];
    facts.extend(source.identity.as_ref().map(|identity| ("identity".into(), Text::name(identity))));
    let rows = source.rows.map(|rows| rows.get().get());
    let rows = rows.map_or("not public".into(), |rows| Text::number(count(rows), rows as f64));
    facts.push(("records".into(), rows));
    let whole = |number: u64| Text::number(count(number), number as f64);
    facts.extend(source.features.map(|features| ("features".into(), whole(features))));
    facts.push(("unit".into(), unit(Text::default(), &guarantee.unit)));
    facts.extend(source.max_records.map(|most| {
        ("records of a unit".into(), Text::words("at most ").and_number(count(most), most as f64))
    }));
    facts.push(("neighbours".into(), relation(guarantee.neighbours)));
    let bounds = match source.bounds {
        BoundsOrigin::Declared => "declared in a schema",
        BoundsOrigin::Estimated => "estimated privately, paid for by the event",
    };
    facts.push(("bounds and categories".into(), bounds.into()));
    section("source", "From what", vec![Block::Facts(facts)])
}

pub(super) fn budget(report: &Report<'_>) -> Section {
    let run = report.run();
    let blocks = match &run.budget {
        Some(budget) => spent(budget),
        None if run.guarantee.metered => {
            vec![paragraph("A budget was charged; this report was not told which, nor what is left of it.")]
        }
        None => vec![paragraph(
            "No ledger was given: the run was unmetered. Nobody counts what other releases from the same \
            data add to it.",
        )],
    };
    section("budget", "The budget before and after", blocks)
}

fn spent(budget: &BudgetUse) -> Vec<Block> {
    let all = budget.epsilon.get();
    let (before, after, left) = (budget.spent_before.get(), budget.spent_after.get(), budget.left());
    let this = (after - before).max(0.0);
    let share = |epsilon: f64| if all > 0.0 { (epsilon / all).clamp(0.0, 1.0) } else { 1.0 };
    let part = |label: &str, epsilon: f64, shown: String| Part {
        label: Text::words(format!("{label}: ")).and_number(shown, epsilon),
        share: share(epsilon),
    };
    let bar = Bar {
        title: format!(
            "Of {}, {} was spent before and {} is left after the run.",
            match budget.whole {
                Some(_) => format!("a grant of ε = {}", given(all)),
                None => format!("ε = {}", given(all)),
            },
            up(before),
            down(left)
        ),
        parts: vec![
            part("before", before, up(before)),
            part("this run", this, up(this)),
            part("left", left, down(left)),
        ],
    };
    let pair = |text: Text, epsilon: f64, delta: f64| {
        let text = text.and("ε = ").and_number(given(epsilon), epsilon);
        text.and(" at δ = ").and_number(given(delta), delta)
    };
    let WholeBudget { epsilon, delta } = budget.promised();
    let promised = |text: Text| pair(text, epsilon.get(), delta.get());
    let mut facts: Vec<(Text, Text)> = vec![
        ("ledger".into(), Text::name(&budget.ledger)),
        ("data set".into(), Text::name(&budget.data_set)),
        ("budget of the data set".into(), promised(Text::default())),
    ];
    facts.extend(budget.whole.map(|_| ("grant".into(), pair(Text::default(), all, budget.delta.get()))));
    facts.extend([
        ("spent before".into(), Text::number(up(before), before)),
        ("spent after".into(), Text::number(up(after), after)),
        ("left".into(), Text::number(down(left), left)),
    ]);
    let of = if budget.whole.is_some() { "grant" } else { "budget" };
    let note = format!(
        "What is spent and left counts like money: each run takes some, and the whole is the {of}'s ε. It is \
        not the ε of any run, and no promise. To whoever sees all releases the data set's whole budget is \
        promised: "
    );
    let note = promised(Text::words(note)).and(".");
    vec![Block::Bar(bar), Block::Facts(facts), paragraph(note)]
}

pub(super) fn method(report: &Report<'_>) -> Section {
    let run = report.run();
    let mut facts = vec![("method".into(), Text::name(&run.method.name))];
    facts.extend(
        run.method.settings.iter().map(|setting| (Text::code(setting.name.clone()), value(&setting.value))),
    );
    let tuning = match run.tuning {
        Tuning::NotStated => "not stated",
        Tuning::WithoutData => "without looking at the private data",
        Tuning::Booked => "by runs on the private data that were charged",
        Tuning::NotBooked => "by runs on the private data that nobody paid for",
    };
    facts.push(("settings chosen".into(), tuning.into()));
    let mut blocks = vec![Block::Facts(facts)];
    if !run.notes.is_empty() {
        blocks.push(Block::List(run.notes.iter().map(|note| Text::name(note)).collect()));
    }
    if let Some(configuration) = &run.configuration {
        let title = "The effective configuration";
        blocks.push(Block::Folded { title, blocks: vec![Block::Code(configuration.clone())] });
    }
    if let Some(network) = &run.network {
        blocks.push(Block::Folded { title: "The network", blocks: vec![Block::Code(network.clone())] });
    }
    section("method", "How it was made", blocks)
}

fn value(value: &SettingValue) -> Text {
    match value {
        SettingValue::Flag(true) => "yes".into(),
        SettingValue::Flag(false) => "no".into(),
        SettingValue::Whole(whole) => Text::number(count(*whole), *whole as f64),
        SettingValue::Number(number) => Text::number(given(*number), *number),
        SettingValue::Text(text) => Text::name(text),
    }
}

pub(super) fn recompute(report: &Report<'_>) -> Section {
    let guarantee = &report.run().guarantee;
    let claim = Claim::new(guarantee.neighbours, guarantee.event.clone());
    // Cannot fail: a claim always serialises.
    let json = serde_json::to_string_pretty(&claim).unwrap_or_default();
    let delta = given(guarantee.delta.get());
    let answer = match report.recomputed() {
        Some(bound) if bound.upper.is_finite() => {
            Text::words("Accounted once more for this report, it gives ε of at most ")
                .and_number(up(bound.upper), bound.upper)
                .and(", at least ")
                .and_number(down(bound.lower), bound.lower)
                .and(".")
        }
        Some(_) => "Accounted once more for this report, it has no finite ε.".into(),
        None => "No accountant of the program that wrote this report has an answer for it.".into(),
    };
    let blocks = vec![
        paragraph(
            "This is everything that accounting knows about the run. It depends on public numbers only.",
        ),
        Block::Code(json),
        paragraph(Text::words("Save it as ").and_code("event.json").and(", and ask what it costs:")),
        Block::Code(format!("sordino account event.json --delta {delta}")),
        paragraph(answer),
    ];
    section("recompute", "The exact event, and how to recompute it", blocks)
}

pub(super) fn machine() -> Section {
    let words = Text::words("The same facts as JSON are inside the HTML file, in the element ")
        .and_code("script#sordino-run")
        .and(", with all digits. It is what ")
        .and_code("--json")
        .and(" prints.");
    section("machine", "For programs", vec![paragraph(words)])
}
