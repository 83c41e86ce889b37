//! A page in Markdown: a model card, to keep beside the model or in a repository.

use std::fmt::Write;

use super::content::Title;
use super::{Block, Inline, Section, Table, Text};
use crate::escape::{markdown as escaped, visible};

pub(crate) fn page(title: &Title, sections: &[Section]) -> String {
    // Writing to a string cannot fail, here and below.
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", text(&title.title));
    if let Some(meaning) = &title.meaning {
        let _ = writeln!(out, "{}\n", escaped(meaning));
    }
    if let Some(icons) = &title.icons {
        let _ = writeln!(out, "{}\n", escaped(&icons.words()));
    }
    let _ = writeln!(out, "{}\n", text(&title.claim));
    if let Some(void) = title.void {
        let _ = writeln!(out, "**{}**\n", escaped(void));
    }
    for section in sections {
        let _ = writeln!(out, "## {}\n", escaped(section.title));
        blocks(&section.blocks, &mut out);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn blocks(blocks: &[Block], out: &mut String) {
    for block in blocks {
        self::block(block, out);
    }
}

fn block(block: &Block, out: &mut String) {
    match block {
        Block::Paragraph(words) => {
            let _ = writeln!(out, "{}\n", text(words));
        }
        Block::List(items) => {
            for item in items {
                let _ = writeln!(out, "- {}", text(item));
            }
            out.push('\n');
        }
        Block::Facts(facts) => {
            out.push_str("| | |\n|---|---|\n");
            for (name, value) in facts {
                let _ = writeln!(out, "| {} | {} |", text(name), text(value));
            }
            out.push('\n');
        }
        Block::Table(table) => rows(table, out),
        // The picture itself is in the HTML file; its numbers are in a table too.
        Block::Figure(figure) => {
            let _ =
                writeln!(out, "*{}.* {}\n", escaped(&figure.plot.title), escaped(&figure.plot.description));
        }
        Block::Bar(bar) => {
            let _ = writeln!(out, "{}\n", escaped(&bar.title));
        }
        Block::Code(code) => fenced(code, out),
        Block::Blanks(names) => {
            out.push_str("| | |\n|---|---|\n");
            for name in names {
                let _ = writeln!(out, "| {} |  |", escaped(name));
            }
            out.push('\n');
        }
        Block::Folded { title, blocks } => {
            let _ = writeln!(out, "### {}\n", escaped(title));
            self::blocks(blocks, out);
        }
    }
}

fn rows(table: &Table, out: &mut String) {
    let _ = writeln!(out, "{}\n", text(&table.caption));
    let head: Vec<String> = table.head.iter().map(text).collect();
    let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), "---:|".repeat(head.len()));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(text).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    out.push('\n');
}

/// Writes code between fences that are longer than any in the code.
fn fenced(code: &str, out: &mut String) {
    let longest = code.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(out, "{fence}");
    for line in code.lines() {
        let _ = writeln!(out, "{}", visible(line));
    }
    let _ = writeln!(out, "{fence}\n");
}

fn text(text: &Text) -> String {
    text.0.iter().map(inline).collect()
}

fn inline(part: &Inline) -> String {
    match part {
        Inline::Words(words) | Inline::Name(words) | Inline::Number { shown: words, .. } => escaped(words),
        Inline::Strong(words) => format!("**{}**", escaped(words)),
        // A word of a configuration may hold a backtick.
        Inline::Code(code) if code.contains(['`', '|']) || code != visible(code).as_ref() => escaped(code),
        Inline::Code(code) => format!("`{code}`"),
    }
}
