//! The promise in numbers and words, the findings that weaken it, and the mistakes that were
//! avoided.

use super::{paragraph, section};
use crate::explain::words;
use crate::number::{down, given, of_100, percent_up, up};
use crate::page::{Block, Section, Text};
use crate::pitfalls::Avoided;
use crate::report::Report;

pub(super) fn guarantee(report: &Report<'_>) -> Section {
    let guarantee = &report.run().guarantee;
    let bound = guarantee.epsilon;
    let delta = guarantee.delta.get();
    let mut facts: Vec<(Text, Text)> = Vec::new();
    let epsilon = if bound.upper.is_finite() {
        Text::words("at most ")
            .and_number(up(bound.upper), bound.upper)
            .and(", at least ")
            .and_number(down(bound.lower), bound.lower)
    } else {
        Text::words("unbounded")
    };
    facts.push(("ε (epsilon)".into(), epsilon));
    facts.push(("δ (delta)".into(), Text::number(given(delta), delta)));
    if let Some(asked) = report.run().requested {
        let (epsilon, delta) = (asked.epsilon.get(), asked.delta.get());
        let text = Text::words("ε = ").and_number(given(epsilon), epsilon).and(" at δ = ");
        facts.push(("asked for".into(), text.and_number(given(delta), delta)));
    }
    facts.push(("accountant".into(), Text::code(guarantee.accountant.clone())));
    let arithmetic = guarantee.arithmetic.get();
    let paid = if arithmetic == 0.0 {
        Text::words("none needed: sums are exact")
    } else {
        Text::number(percent_up(arithmetic), arithmetic).and(" of sensitivity, within the ε above")
    };
    facts.push(("paid for rounding".into(), paid));
    let randomness =
        if guarantee.seeded { "from a fixed seed: a test" } else { "secret, from the operating system" };
    facts.push(("randomness".into(), randomness.into()));
    let charged =
        if guarantee.metered { "charged before data were read" } else { "none was charged: unmetered" };
    facts.push(("budget".into(), charged.into()));
    let mut blocks = vec![Block::Facts(facts)];
    if bound.upper.is_finite() {
        blocks.extend(words(report.explanation(), &report.whose()).into_iter().map(paragraph));
        blocks.extend(reconciled(report).map(paragraph));
    } else {
        blocks.push(paragraph(
            "Nothing is promised. Whoever sees the release may learn who took part, and what they said.",
        ));
    }
    section("guarantee", "What is promised", blocks)
}

/// Why `sordino explain` has a larger number for the same ε.
fn reconciled(report: &Report<'_>) -> Option<Text> {
    let pair = report.promise().pair_curve()?;
    let (of_pair, own) = (0.5 * (1.0 + pair.advantage()), report.explanation().right_guesses);
    if of_100(of_pair) <= of_100(own) {
        return None;
    }
    let (epsilon, delta) = (report.promise().epsilon(), report.promise().delta().get());
    let command = format!("sordino explain --epsilon {} --delta {}", up(epsilon), given(delta));
    let (of_pair, own) = (of_100(of_pair), of_100(own));
    let allowed = format!(
        " says {of_pair} of 100, because it knows only ε and δ and must assume the worst program that keeps \
        them. The noise of this release is known, so the number is {own} of 100. Both are true; {own} is the \
        one for this model."
    );
    Some(Text::code(command).and(allowed))
}

pub(super) fn weakens(report: &Report<'_>) -> Section {
    let findings = report.findings();
    let block = if findings.is_empty() {
        paragraph("Nothing that can be seen from the run.")
    } else {
        Block::List(
            findings
                .iter()
                .map(|finding| Text::words(&finding.text).and(" ").and_code(finding.code.name()))
                .collect(),
        )
    };
    section("weakens", "What weakens the claim", vec![block])
}

pub(super) fn pitfalls(report: &Report<'_>) -> Section {
    let intro = "Each of these mistakes was made in software that people trusted. The run could have made \
        them; what it says about itself rules them out. The numbers are those of the book's chapter on \
        pitfalls.";
    let item = |avoided: &Avoided| {
        Text::strong(format!("{}.", avoided.pitfall)).and(format!(" {} ({})", avoided.why, avoided.number))
    };
    let items = report.avoided().iter().map(item);
    section("pitfalls", "Mistakes that were not made", vec![paragraph(intro), Block::List(items.collect())])
}
