//! The page in a real browser, at the widths of a small phone, a phone and a desk.
//!
//! One file holds all pages in frames of these widths. Its script measures them and writes the
//! results into the document, which the browser prints. Without a browser the test prints a note
//! and passes: install Debian's `chromium`, or name a browser in `SORDINO_BROWSER`.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use sordino_report::Report;

use super::pages::{HOSTILE, logistic, named};

const WIDTHS: [u32; 3] = [320, 390, 1280];

const SECTIONS: [&str; 13] = [
    "released",
    "source",
    "guarantee",
    "weakens",
    "attacker",
    "profile",
    "quality",
    "budget",
    "method",
    "recompute",
    "pitfalls",
    "signature",
    "machine",
];

/// The measurements of one frame.
#[derive(Debug, Deserialize)]
struct Seen {
    /// The width of the window and of its content.
    inner: f64,
    scroll: f64,
    sections: Vec<String>,
    /// Plots that have a size, a title and a curve.
    plots: Vec<String>,
    /// Texts of plots that overlap or lie outside.
    collisions: Vec<String>,
    /// Ids that occur twice.
    twice: Vec<String>,
    /// Whether the browser could read the JSON copy.
    copy: String,
    /// The colours of background and text.
    colours: (String, String),
    /// The distance from the top to the end of the promise's picture.
    picture: f64,
    /// Numbers of tables that are broken over two lines.
    broken: Vec<String>,
    /// Frames and attributes in which a name has become code.
    ran: bool,
}

#[test]
fn every_section_and_plot_is_there_and_nothing_overflows() {
    let Some(browser) = browser() else { return };
    let runs = [logistic(), named(HOSTILE[7]), named(HOSTILE[0])];
    let reports = runs.each_ref().map(Report::of);
    let seen = look(&browser, "light", &reports);
    assert_eq!(seen.len(), reports.len() * WIDTHS.len());
    for (index, seen) in seen.iter().enumerate() {
        let (report, width) = (&reports[index / WIDTHS.len()], WIDTHS[index % WIDTHS.len()]);
        let context = format!("{} at {width}", report.run().source.data);
        assert_eq!(seen.inner, f64::from(width), "{context}");
        assert!(seen.scroll <= seen.inner, "{context}: {} wide", seen.scroll);
        assert_eq!(seen.sections, SECTIONS, "{context}");
        assert_eq!(
            seen.plots,
            ["plot-attacker", "plot-profile", "plot-curve-1", "plot-curve-2", "bar-budget"],
            "{context}"
        );
        assert!(seen.collisions.is_empty(), "{context}: {:?}", seen.collisions);
        assert!(seen.broken.is_empty(), "{context}: {:?}", seen.broken);
        // It fits on the first screen of a phone and of a desk, unless names are very long.
        assert!(index >= WIDTHS.len() || width == 320 || seen.picture < 844.0, "{context}: {}", seen.picture);
        assert!(seen.twice.is_empty(), "{context}: {:?}", seen.twice);
        let copy: serde_json::Value = serde_json::from_str(&seen.copy).unwrap();
        assert_eq!(copy, serde_json::to_value(report).unwrap(), "{context}");
        assert!(!seen.ran, "{context}: a name became code");
    }
}

/// The page is dark for readers who ask for it. Both forms have the contrast that WCAG 2.1 calls
/// enhanced (7 to 1).
#[test]
fn light_and_dark_are_both_legible() {
    let Some(browser) = browser() else { return };
    let run = logistic();
    let reports = [Report::of(&run)];
    let [light, dark] = ["light", "dark"].map(|scheme| {
        let (paper, ink) = look(&browser, scheme, &reports)[0].colours.clone();
        (luminance(&paper), luminance(&ink))
    });
    for (paper, ink) in [light, dark] {
        let (high, low) = (paper.max(ink), paper.min(ink));
        assert!((high + 0.05) / (low + 0.05) >= 7.0, "{paper} {ink}");
    }
    assert!(light.0 > light.1 && dark.0 < dark.1, "{light:?} {dark:?}");
}

fn browser() -> Option<PathBuf> {
    let asked = std::env::var_os("SORDINO_BROWSER").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let installed = std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
    let found = asked.or_else(|| installed.into_iter().find(|path| path.is_file()));
    if found.is_none() {
        eprintln!("skipped: no chromium in PATH and no SORDINO_BROWSER, so no page was looked at");
    }
    found
}

fn look(browser: &PathBuf, scheme: &str, reports: &[Report<'_>]) -> Vec<Seen> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pages-{scheme}-{}", reports.len()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("pages.html");
    std::fs::write(&page, frames(reports)).unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
    ]);
    // 0 is dark, 1 is light.
    let preferred = if scheme == "dark" { 0 } else { 1 };
    command.arg(format!("--blink-settings=preferredColorScheme={preferred}"));
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    command.args(["--virtual-time-budget=20000", "--dump-dom"]).arg(format!("file://{}", page.display()));
    let output = command.output().expect("the browser starts");
    let document = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = document.split_once("<pre id=\"seen\">").unwrap_or_else(|| {
        panic!("the browser printed no result: {document}\n{}", String::from_utf8_lossy(&output.stderr))
    });
    let text = rest.split_once("</pre>").unwrap().0;
    let text =
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn frames(reports: &[Report<'_>]) -> String {
    let mut out = String::from("<!doctype html><meta charset=\"utf-8\"><body>\n");
    for report in reports {
        let page = report.html().replace('&', "&amp;").replace('"', "&quot;");
        for width in WIDTHS {
            let _ = writeln!(
                out,
                "<iframe style=\"width:{width}px;height:900px;border:0\" srcdoc=\"{page}\"></iframe>"
            );
        }
    }
    let _ = write!(out, "<pre id=\"seen\"></pre><script>{SCRIPT}</script>");
    out
}

const SCRIPT: &str = r##"
addEventListener("load", () => {
  const seen = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, view = frame.contentWindow;
    page.querySelectorAll("details").forEach(part => part.open = true);
    const plots = [...page.querySelectorAll("figure > svg[role=img]")].filter(svg => {
      const box = svg.getBoundingClientRect();
      return box.width > 200 && box.height > 20
        && svg.querySelector("title").textContent && svg.querySelector("polyline, rect");
    });
    const collisions = [];
    for (const svg of plots) {
      const outer = svg.getBoundingClientRect();
      const words = [...svg.querySelectorAll("text")]
        .map(text => [text.textContent, text.getBoundingClientRect()]);
      words.forEach(([word, box], i) => {
        if (box.left < outer.left - 1 || box.right > outer.right + 1
        || box.top < outer.top - 1 || box.bottom > outer.bottom + 1)
          collisions.push(word + " is outside");
        words.slice(i + 1).forEach(([other, next]) => {
          if (Math.min(box.right, next.right) - Math.max(box.left, next.left) > 1
            && Math.min(box.bottom, next.bottom) - Math.max(box.top, next.top) > 3)
            collisions.push(word + " lies on " + other);
        });
      });
    }
    const copy = page.getElementById("sordino-run").textContent;
    JSON.parse(copy);
    const ids = [...page.querySelectorAll("[id]")].map(element => element.id);
    const style = view.getComputedStyle(page.body);
    return {
      inner: view.innerWidth, scroll: page.scrollingElement.scrollWidth,
      sections: [...page.querySelectorAll("main > section[id]")]
        .filter(s => s.querySelector("h2").textContent).map(s => s.id),
      plots: plots.map(svg => svg.parentElement.id),
      collisions, twice: ids.filter((id, i) => ids.indexOf(id) != i),
      copy,
      picture: page.getElementById("icons").getBoundingClientRect().bottom,
      broken: [...page.querySelectorAll(".rows data")]
        .filter(d => d.getClientRects().length > 1).map(d => d.textContent),
      colours: [style.backgroundColor, style.color],
      ran: page.scripts.length != 1
        || page.querySelector("img, iframe, object, embed, link, [onload], [onerror]") != null,
    };
  });
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
"##;

/// Relative luminance of `rgb(r, g, b)`, as WCAG 2.1 defines it.
fn luminance(colour: &str) -> f64 {
    let parts = colour.trim_start_matches("rgb(").trim_end_matches(')').split(", ");
    let linear = |part: &str| {
        let share = part.parse::<f64>().unwrap() / 255.0;
        if share <= 0.03928 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    parts.map(linear).zip([0.2126, 0.7152, 0.0722]).map(|(part, weight)| part * weight).sum()
}
