//! Runs for reports, and a reader of the tables in them.

#[path = "../../examples/sample/mod.rs"]
mod sample;

pub(crate) use sample::logistic;
use sordino_privacy::{Event, NoiseMultiplier, Unit};
use sordino_report::{BudgetUse, PublicData, RunFacts, Setting, SettingValue};

/// The complete run with `name` in place of every text that comes from outside.
pub(crate) fn named(name: &str) -> RunFacts {
    let mut run = logistic();
    let name = || name.to_owned();
    run.released.model = name();
    run.released.target = Some(name());
    run.source.data = name();
    run.source.identity = Some(name());
    run.method.name = name();
    run.method.settings =
        vec![Setting { name: name(), value: SettingValue::Text(name()) }, ("divisor", 7_u64).into()];
    // This event is cheap to account for.
    run.guarantee.event = Event::gaussian(NoiseMultiplier::new(5.0).unwrap());
    run.guarantee.unit = Unit::Column(name());
    run.guarantee.accountant = name();
    let budget = run.budget.unwrap();
    run.budget = Some(BudgetUse { ledger: name(), data_set: name(), ..budget });
    let mut evaluation = run.evaluation.unwrap();
    evaluation.data = PublicData::declared(name(), Some(114));
    evaluation.scores[0].name = name();
    evaluation.curves[0].name = name();
    evaluation.confusion.as_mut().unwrap().classes = vec![name(), name()];
    evaluation.calibration.as_mut().unwrap().of = name();
    evaluation.threshold.as_mut().unwrap().class = name();
    let groups = evaluation.groups.as_mut().unwrap();
    groups.column = name();
    groups.groups.iter_mut().for_each(|group| group.value = name());
    evaluation.remark = Some(name());
    evaluation.curves_of = Some(name());
    run.evaluation = Some(evaluation);
    let provenance = run.provenance.as_mut().unwrap();
    (provenance.date, provenance.who, provenance.schema_digest) = (Some(name()), Some(name()), Some(name()));
    for columns in &mut provenance.columns {
        (columns.first, columns.declared) = (name(), name());
        columns.last = columns.last.as_ref().map(|_| name());
    }
    run.public_assumptions = vec![name()];
    run.finished = Some(name());
    run.configuration = Some(name());
    run.network = Some(name());
    run.notes = vec![name()];
    run.sordino = name();
    run
}

/// Names that have broken pages before.
pub(crate) const HOSTILE: [&str; 9] = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onload=\"alert(1)\" x='",
    "<!-- --> ]]> &lt;b&gt; &amp;",
    "\u{202e}txet desrever\u{202c} שם עמודה اسم",
    "a|b`c``d```e*f*_g_[h](i)\\",
    "line\u{2028}separator\u{2029}and\nnew\r\nlines\0\u{1b}[31m",
    "a_column_name_that_nobody_would_choose_but_somebody_has_and_that_goes_on_and_on_without_a_break",
    "",
];

/// The text between `<script ... id="sordino-run">` and its end.
pub(crate) fn embedded(html: &str) -> &str {
    let (_, rest) = html.split_once("id=\"sordino-run\">").expect("the page has a copy for programs");
    rest.split_once("</script>").expect("the copy ends").0
}

/// Rows of cells.
pub(crate) type Rows = Vec<Vec<String>>;

/// The rows of all tables of an HTML page.
pub(crate) fn html_rows(html: &str) -> Rows {
    let rows = html.split("<tr>").skip(1).map(|rest| rest.split("</tr>").next().unwrap());
    let cells = |row: &str| {
        let cells = row.split("</th>").flat_map(|part| part.split("</td>")).filter(|cell| !cell.is_empty());
        cells.map(|cell| plain(&without_tags(cell))).collect()
    };
    rows.map(cells).collect()
}

/// The rows of all tables of a Markdown page, without the separator lines.
pub(crate) fn markdown_rows(markdown: &str) -> Rows {
    let lines = markdown.lines().filter(|line| line.starts_with("| ") && *line != "| | |");
    let cells = |line: &str| {
        let inner = line.strip_prefix("| ").unwrap().strip_suffix(" |").unwrap();
        inner
            .replace("\\|", "\u{1}")
            .split(" | ")
            .map(|cell| plain(&without_marks(&cell.replace('\u{1}', "\\|"))))
            .collect()
    };
    lines.map(cells).collect()
}

fn without_tags(html: &str) -> String {
    html.split('<')
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once('>').unwrap().1 })
        .collect()
}

fn without_marks(markdown: &str) -> String {
    let mut out = String::new();
    let mut characters = markdown.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.extend(characters.next()),
            '`' => {}
            other => out.push(other),
        }
    }
    out
}

fn plain(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&").replace('\u{a0}', " ").trim().to_owned()
}
