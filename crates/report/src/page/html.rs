//! A page in HTML: one file, readable without a script, a network or a mouse.

use std::fmt::Write;

use super::content::Title;
use super::icons::Icons;
use super::{Bar, Block, Figure, Inline, Section, Table, Text};
use crate::escape::{html as escaped, script};
use crate::report::Report;
use sordino_plot::{Curve, Line};

const STYLE: &str = include_str!("html/style.css");

/// Nothing may be fetched and nothing may run, whatever the names contain; only our own style
/// applies.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) fn page(title: &Title, sections: &[Section], report: &Report<'_>) -> String {
    // Writing to a string cannot fail, here and below.
    let mut out = String::new();
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}: what was released</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n",
        plain(&title.title)
    );
    header(title, sections, &mut out);
    out.push_str("<main>\n");
    for section in sections {
        let _ = writeln!(out, "<section id=\"{0}\" aria-labelledby=\"{0}-heading\">", section.id);
        let _ = writeln!(out, "<h2 id=\"{}-heading\">{}</h2>", section.id, escaped(section.title));
        blocks(&section.blocks, &mut out);
        out.push_str("</section>\n");
    }
    out.push_str("</main>\n");
    let _ = writeln!(out, "<footer><p>Written by Sordino {}.</p></footer>", escaped(&report.run().sordino));
    // Cannot fail: a report has only numbers, strings, lists and maps with string keys.
    let json = serde_json::to_string(report).unwrap_or_default();
    let _ = writeln!(out, "<script type=\"application/json\" id=\"sordino-run\">{}</script>", script(&json));
    out.push_str("</body>\n</html>\n");
    out
}

fn header(title: &Title, sections: &[Section], out: &mut String) {
    let _ = writeln!(out, "<header>\n<p class=\"eyebrow\">What was released, and what it promises</p>");
    let _ = writeln!(out, "<h1>{}</h1>", text(&title.title));
    if let Some(meaning) = &title.meaning {
        let _ = writeln!(out, "<p class=\"meaning\">{}</p>", unbroken(meaning));
    }
    if let Some(icons) = &title.icons {
        self::icons(icons, out);
    }
    let _ = writeln!(out, "<p class=\"claim\">{}</p>", text(&title.claim));
    if let Some(void) = title.void {
        let _ = writeln!(out, "<p class=\"void\" role=\"note\">{}</p>", escaped(void));
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>\n");
    for section in sections {
        let _ = writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escaped(section.title));
    }
    out.push_str("</ul></nav>\n</header>\n");
}

fn blocks(blocks: &[Block], out: &mut String) {
    for block in blocks {
        self::block(block, out);
    }
}

fn block(block: &Block, out: &mut String) {
    match block {
        Block::Paragraph(words) => {
            let _ = writeln!(out, "<p>{}</p>", text(words));
        }
        Block::List(items) => {
            out.push_str("<ul>\n");
            for item in items {
                let _ = writeln!(out, "<li>{}</li>", text(item));
            }
            out.push_str("</ul>\n");
        }
        Block::Facts(facts) => {
            out.push_str("<table class=\"facts\"><tbody>\n");
            for (name, value) in facts {
                let _ =
                    writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", text(name), text(value));
            }
            out.push_str("</tbody></table>\n");
        }
        Block::Table(table) => rows(table, out),
        Block::Figure(figure) => plot(figure, out),
        Block::Bar(bar) => self::bar(bar, out),
        Block::Code(code) => {
            let _ = writeln!(out, "<pre><code>{}</code></pre>", lines(code));
        }
        Block::Blanks(names) => {
            out.push_str("<table class=\"facts blanks\"><tbody>\n");
            for name in names {
                let _ = writeln!(out, "<tr><th scope=\"row\">{}</th><td></td></tr>", escaped(name));
            }
            out.push_str("</tbody></table>\n");
        }
        Block::Folded { title, blocks } => {
            let _ = writeln!(out, "<details><summary>{}</summary>", escaped(title));
            self::blocks(blocks, out);
            out.push_str("</details>\n");
        }
    }
}

fn rows(table: &Table, out: &mut String) {
    let _ = write!(out, "<table class=\"rows\">\n<caption>{}</caption>\n<thead><tr>", text(&table.caption));
    for head in &table.head {
        let _ = write!(out, "<th scope=\"col\">{}</th>", self::text(head));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let cell = text(cell);
            let _ = match column {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td>{cell}</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
}

fn plot(figure: &Figure, out: &mut String) {
    let plot = &figure.plot;
    let _ = write!(out, "<figure id=\"{}\">\n{}<figcaption>\n", escaped(&figure.id), plot.inline(&figure.id));
    let _ = writeln!(out, "<p>{}</p>", unbroken(&plot.description));
    // A single curve needs no legend: its axis names it.
    if plot.curves.len() > 1 {
        out.push_str("<ul class=\"legend\">\n");
        plot.curves.iter().for_each(|curve| entry(curve, out));
        out.push_str("</ul>\n");
    }
    out.push_str("</figcaption>\n</figure>\n");
}

fn entry(curve: &Curve, out: &mut String) {
    let class = curve.line.class();
    let sign = match curve.line {
        Line::Mark => format!("<circle class=\"{class}\" cx=\"16\" cy=\"6\" r=\"4\"/>"),
        Line::Main | Line::Second | Line::Reference | Line::Series(_) => {
            format!("<path class=\"line {class}\" d=\"M0 6H32\"/>")
        }
    };
    let _ = writeln!(
        out,
        "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\">{sign}</svg><span>{}</span></li>",
        unbroken(&curve.label)
    );
}

fn icons(icons: &Icons, out: &mut String) {
    out.push_str("<figure id=\"icons\" class=\"icons\">\n");
    for (number, array) in icons.arrays().iter().enumerate() {
        let id = format!("icons-{}", number + 1);
        let _ = writeln!(
            out,
            "<div>\n{}<p><strong>{}</strong>: {}</p>\n</div>",
            array.svg(&id),
            unbroken(&array.name),
            unbroken(&array.words)
        );
    }
    let _ = writeln!(out, "<figcaption>{}</figcaption>\n</figure>", unbroken(&icons.caption()));
}

fn bar(bar: &Bar, out: &mut String) {
    let _ = write!(
        out,
        "<figure id=\"bar-budget\">\n<svg class=\"bar\" role=\"img\" aria-labelledby=\"bar-budget-title\">\
         <title id=\"bar-budget-title\">{}</title>",
        escaped(&bar.title)
    );
    let mut from = 0.0;
    for (index, part) in bar.parts.iter().enumerate() {
        let width = part.share.min(1.0 - from).max(0.0);
        let _ = write!(
            out,
            "<rect class=\"part-{}\" x=\"{:.3}%\" width=\"{:.3}%\" height=\"100%\"/>",
            index + 1,
            100.0 * from,
            100.0 * width
        );
        from += width;
    }
    out.push_str("</svg>\n<figcaption><ul class=\"legend\">\n");
    for (index, part) in bar.parts.iter().enumerate() {
        let _ = writeln!(
            out,
            "<li><svg viewBox=\"0 0 32 12\" aria-hidden=\"true\"><rect class=\"swatch part-{}\" x=\"10\" \
            y=\"1\" width=\"12\" height=\"10\"/></svg><span>{}</span></li>",
            index + 1,
            text(&part.label)
        );
    }
    out.push_str("</ul></figcaption>\n</figure>\n");
}

/// The text with tags: names are isolated from the sentence around them, and numbers carry all
/// their digits.
fn text(text: &Text) -> String {
    text.0.iter().map(inline).collect()
}

fn inline(part: &Inline) -> String {
    match part {
        Inline::Words(words) => unbroken(words),
        Inline::Name(name) => format!("<bdi>{}</bdi>", escaped(name)),
        // The name of a setting may be broken after an underscore.
        Inline::Code(code) => format!("<code>{}</code>", escaped(code).replace('_', "_<wbr>")),
        Inline::Strong(words) => format!("<strong>{}</strong>", escaped(words)),
        Inline::Number { shown, exact } if exact.is_finite() => {
            format!("<data value=\"{exact:?}\">{}</data>", unbroken(shown))
        }
        Inline::Number { shown, .. } => escaped(shown),
    }
}

/// The words, with no line break between a number and what belongs to it.
fn unbroken(words: &str) -> String {
    escaped(words)
        .replace(" %", "\u{a0}%")
        .replace(" = ", "\u{a0}=\u{a0}")
        .replace(" of 100", "\u{a0}of\u{a0}100")
}

/// The text without tags, for the title of the window.
fn plain(text: &Text) -> String {
    let words = text.0.iter().map(|part| match part {
        Inline::Words(words)
        | Inline::Strong(words)
        | Inline::Name(words)
        | Inline::Code(words)
        | Inline::Number { shown: words, .. } => escaped(words),
    });
    words.collect()
}

/// Code with its line ends; all other invisible characters are spelled out.
fn lines(code: &str) -> String {
    code.lines().map(escaped).collect::<Vec<_>>().join("\n")
}
