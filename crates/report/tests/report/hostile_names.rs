//! Names of columns, files and models come from others. Whatever they are, the page keeps its
//! structure and runs nothing.

use super::pages::{HOSTILE, named};
use sordino_report::Report;

/// The tags of a page with the names of their attributes, in order, without their values.
fn shape(html: &str) -> Vec<String> {
    let head = |tag: &str| {
        let tag = tag.split('>').next().unwrap();
        let mut outside = String::new();
        // Every second part is the value of an attribute.
        tag.split('"').step_by(2).for_each(|part| outside.push_str(part));
        outside
    };
    // Possible line breaks do not matter.
    html.split('<').skip(1).map(head).filter(|tag| tag != "wbr").collect()
}

#[test]
fn a_name_adds_no_tag_and_no_attribute() {
    let harmless = shape(&Report::of(&named("name")).html());
    for name in HOSTILE {
        let page = shape(&Report::of(&named(name)).html());
        let differs = page.iter().zip(&harmless).find(|(here, there)| here != there);
        assert!(differs.is_none() && page.len() == harmless.len(), "{name:?}: {differs:?}");
    }
}

#[test]
fn nothing_in_a_page_can_run_or_be_fetched() {
    for name in HOSTILE {
        let html = Report::of(&named(name)).html();
        assert_eq!(html.matches("<script").count(), 1, "{name:?}");
        assert!(html.contains("<script type=\"application/json\""));
        assert!(html.contains("default-src 'none'"));
        for outside in ["src=\"", "href=\"http", "url(", "@import"] {
            assert!(!html.contains(outside), "{name:?}: {outside}");
        }
    }
}

/// Invisible characters are spelled out everywhere except in the JSON copy.
#[test]
fn a_name_cannot_turn_the_direction_of_writing() {
    let run = named(HOSTILE[4]);
    let report = Report::of(&run);
    let (page, copy) =
        report.html().split_once("<script").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    for text in [&page, &report.markdown()] {
        assert!(!text.contains('\u{202e}') && text.contains("U+202Etxet desrever"), "{text}");
    }
    assert!(copy.contains("txet desrever"));
}

/// Headings, tables and fences of the card are the same as without hostile names.
#[test]
fn a_name_does_not_change_the_shape_of_the_card() {
    let shape = |markdown: &str| -> Vec<(char, usize)> {
        let pipes = |line: &str| line.replace("\\|", "").matches('|').count();
        let lines = markdown.lines().filter(|line| line.starts_with(['#', '|', '-']));
        lines.map(|line| (line.chars().next().unwrap(), pipes(line))).collect()
    };
    let harmless = shape(&Report::of(&named("name")).markdown());
    for name in HOSTILE {
        let run = named(name);
        assert_eq!(shape(&Report::of(&run).markdown()), harmless, "{name:?}");
    }
}

/// A configuration that tries to close its own fence.
#[test]
fn code_stays_between_its_fences() {
    let mut run = named("name");
    run.configuration = Some("a = 1\n```\n# not a heading\n````\n</code></pre><script>".into());
    let report = Report::of(&run);
    assert!(report.markdown().contains("`````\na = 1\n```\n# not a heading\n````\n"));
    assert_eq!(report.html().matches("<script").count(), 1);
}
