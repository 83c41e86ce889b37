//! A block to be printed and signed.

use super::{heads, paragraph, section, unit};
use crate::number::{count, given, up};
use crate::page::{Block, Section, Table, Text};
use crate::report::Report;
use crate::run::{DeclaredColumns, Provenance};

/// The reason why the digest of the data is not printed.
const DIGEST: &str = "not printed: whoever can guess the records could check the guess with it";

pub(super) fn signature(report: &Report<'_>) -> Section {
    let run = report.run();
    let (guarantee, provenance) = (&run.guarantee, run.provenance.as_ref());
    let released = Text::name(&run.released.model);
    let released = match &run.released.target {
        Some(target) => released.and(" for ").and_name(target),
        None => released,
    };
    let mut facts: Vec<(Text, Text)> = vec![("released".into(), released)];
    facts.extend(files(report, provenance));
    let date = provenance.and_then(|provenance| provenance.date.as_ref()).or(run.finished.as_ref());
    facts.extend(date.map(|date| ("date".into(), Text::name(date))));
    facts.push(("data".into(), Text::name(&run.source.data)));
    let digest = match (&run.source.identity, &run.budget) {
        (Some(identity), _) => Text::name(identity),
        (None, Some(budget)) => Text::words("in the ledger ").and_name(&budget.ledger).and("; ").and(DIGEST),
        (None, None) => Text::words("not recorded: no ledger was given; ").and(DIGEST),
    };
    facts.push(("data digest".into(), digest));
    facts.push(("records".into(), records(report)));
    let schema = provenance.and_then(|provenance| provenance.schema_digest.as_ref());
    facts.extend(schema.map(|digest| {
        (
            "schema digest".into(),
            Text::code(digest.clone()).and(" (SHA-256 of what the schema says, not of its file)"),
        )
    }));
    facts.push(("charge".into(), charged(report, provenance)));
    let who = provenance.and_then(|provenance| provenance.who.as_ref());
    facts.extend(who.map(|who| ("asked by".into(), Text::name(who))));
    let (epsilon, delta) = (guarantee.epsilon.upper, guarantee.delta.get());
    let promise = Text::words("ε ≤ ").and_number(up(epsilon), epsilon).and(" at δ = ");
    let promise = unit(promise.and_number(given(delta), delta).and(", for "), &guarantee.unit);
    facts.push(("promised".into(), promise.and(", under ").and_code(guarantee.neighbours.to_string())));
    facts.push(("weaknesses".into(), weaknesses(report)));
    facts.push(("software".into(), Text::words("Sordino ").and_name(&run.sordino)));
    let mut blocks = vec![Block::Facts(facts)];
    let columns = provenance.map(|provenance| provenance.columns.as_slice()).unwrap_or_default();
    if !columns.is_empty() {
        blocks.push(self::columns(columns));
    }
    blocks.push(paragraph("I have read this page, and release what it describes."));
    let digest =
        (run.source.identity.is_none() && run.budget.is_some()).then_some("data digest, from the ledger");
    let blanks = digest.into_iter().chain(["name and position", "place and date", "signature"]);
    blocks.push(Block::Blanks(blanks.collect()));
    section("signature", "For the signature", blocks)
}

/// The charges that paid for it, by their numbers in the ledger's history.
fn charged(report: &Report<'_>, provenance: Option<&Provenance>) -> Text {
    let numbers = provenance.map(|provenance| provenance.charges.as_slice()).unwrap_or_default();
    let mut text = Text::words("number ");
    for (index, number) in numbers.iter().enumerate() {
        text = text.and(if index == 0 { "" } else { ", " }).and_number(count(*number), *number as f64);
    }
    match &report.run().budget {
        Some(budget) if !numbers.is_empty() => {
            text.and(" of ").and_name(&budget.data_set).and(" in ").and_name(&budget.ledger)
        }
        Some(_) => "not stated".into(),
        None if report.run().guarantee.metered => "of a budget that this page was not told".into(),
        None => "none: no budget counts this".into(),
    }
}

/// The digests of the released files, and a reference to the manifest, which covers this page too.
fn files(report: &Report<'_>, provenance: Option<&Provenance>) -> Vec<(Text, Text)> {
    let files = provenance.map(|provenance| provenance.files.as_slice()).unwrap_or_default();
    let mut facts: Vec<(Text, Text)> = Vec::new();
    for file in files {
        let name = Text::words("SHA-256 of ").and_name(&file.name);
        facts.push((name, Text::code(file.sha256.clone())));
    }
    if !files.is_empty() {
        let all = Text::words("that of ")
            .and_code("manifest.json")
            .and(", which lists the digest of every file, this page included, and so cannot be printed here");
        let all = match &report.run().budget {
            Some(budget) => all
                .and("; booked with the charge: ")
                .and_code(format!("sordino ledger history {} --json", budget.ledger)),
            None => all,
        };
        facts.push(("SHA-256 of everything".into(), all));
    }
    facts
}

fn records(report: &Report<'_>) -> Text {
    let rows = report.run().source.rows.map(|rows| rows.get().get());
    rows.map_or("not public".into(), |rows| Text::number(count(rows), rows as f64))
}

/// The codes of the findings; their sentences have a section of their own.
fn weaknesses(report: &Report<'_>) -> Text {
    let findings = report.findings();
    if findings.is_empty() {
        return "none that can be seen from the run".into();
    }
    let mut text = Text::default();
    for (index, finding) in findings.iter().enumerate() {
        text = text.and(if index == 0 { "" } else { ", " }).and_code(finding.code.name());
    }
    text.and(" (see what weakens the claim)")
}

fn columns(columns: &[DeclaredColumns]) -> Block {
    let row = |column: &DeclaredColumns| {
        let name = Text::name(&column.first);
        let name = match &column.last {
            Some(last) => {
                name.and(" to ").and_name(last).and(format!(" ({} columns)", count(column.columns)))
            }
            None => name,
        };
        vec![if column.is_target { name.and(", predicted") } else { name }, Text::name(&column.declared)]
    };
    let rows = columns.iter().map(row).collect();
    let caption = "Columns that were used, as they were declared.".into();
    let table = Block::Table(Table { caption, head: heads(["column", "declared"]), rows });
    if columns.len() <= 40 {
        table
    } else {
        Block::Folded { title: "Columns that were used", blocks: vec![table] }
    }
}
