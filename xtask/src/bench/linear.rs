//! The output of `cargo xtask bench linear`: time, accuracy and memory of each contestant, and
//! curves of time.

use std::fmt::Write;

use serde_json::Value;

use super::line::Summary;
use super::plot::seconds_by_size;
use crate::failure::Failure;
use crate::run;

/// The plot, which is part of the book.
const PLOT: &str = "docs/images/linear.svg";

/// A table with one line for each figure, then Sordino's times relative to its peers'.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let mut text = format!(
        "{:<40} {:<20} {:>10} {:>8} {:>9} {:>8} {:>10} {:>10} {:>6} {:>6}\n",
        "work", "system", "median", "cpu s", "accuracy", "loss", "peak MiB", "peak/data", "GB/s", "load"
    );
    for row in summaries {
        let shown = |name: &str, digits: usize| {
            number(row, name).map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        let peak = number(row, "peak_bytes");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<40} {:<20} {:>10} {:>8} {:>9} {:>8} {:>10} {:>10} {:>6} {:>6}",
            row.workload,
            row.system,
            format!("{:.3} {}", row.median, row.metric),
            shown("processor_s", 2),
            shown("accuracy", 4),
            shown("loss", 4),
            peak.map_or(String::new(), |peak| format!("{:.0}", peak / f64::from(1 << 20))),
            peak.zip(number(row, "data_bytes"))
                .map_or(String::new(), |(peak, data)| format!("{:.2}", peak / data)),
            shown("gigabytes_a_second", 1),
            row.other_load.map_or("?".to_owned(), |load| format!("{load:.2}")),
        );
    }
    text.push_str(&verdicts(summaries));
    text.push_str("load: processors that other processes kept busy, at most; above 0.1, repeat the run\n");
    text
}

/// The ratios of times on the same work, each with both accuracies, because a fast but useless
/// model does not count.
fn verdicts(summaries: &[Summary]) -> String {
    let mut text = String::new();
    let is_ours = |row: &&Summary| row.system.starts_with("sordino");
    for ours in summaries.iter().filter(is_ours) {
        let peers = summaries.iter().filter(|row| row.workload == ours.workload && !is_ours(row));
        for peer in peers {
            let accuracies = number(ours, "accuracy").zip(number(peer, "accuracy"));
            let Some((own, theirs)) = accuracies else { continue };
            let _ = writeln!(
                text,
                "{}: {} takes {:.3} of {}'s time, accuracy {own:.4} against {theirs:.4}",
                ours.workload,
                ours.system,
                ours.median / peer.median,
                peer.system
            );
        }
    }
    text
}

/// Draws time by rows and by columns, for the book. Quick runs draw nothing.
pub(crate) fn plots(summaries: &[Summary], quick: bool) -> Result<(), Failure> {
    let curve = |axis: &str, by: &str, label: &'static str| {
        let start = format!("time by {axis},");
        let rows = summaries.iter().filter(|row| row.workload.starts_with(&start));
        let points: Vec<_> = rows.filter_map(|row| Some((number(row, by)?, row.median))).collect();
        (label, points)
    };
    let curves = vec![
        curve("length", "n", "rows, of 50 numbers each"),
        curve("width", "d", "numbers a row, of 100 000 rows"),
    ];
    if quick || curves.iter().any(|(_, points)| points.is_empty()) {
        return Ok(());
    }
    let path = run::root().join(PLOT);
    let folder = path.parent().unwrap_or(&path).to_owned();
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, &error))?;
    let title = "Seconds for 100 steps on full batches";
    std::fs::write(&path, seconds_by_size(title, curves)).map_err(|error| Failure::file(&path, &error))?;
    println!("drawn to {}", path.display());
    Ok(())
}

fn number(row: &Summary, name: &str) -> Option<f64> {
    row.config.get(name).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    #[test]
    fn verdicts_state_times_and_accuracies() {
        let lines = r#"{"workload":"w","system":"sordino","metric":"s","value":0.1,"config":CONFIG}
            {"workload":"w","system":"peer","metric":"s","value":0.5,"config":{"accuracy":0.69}}"#;
        let config = r#"{"accuracy":0.7,"processor_s":0.2,"peak_bytes":1048576,"data_bytes":1000000}"#;
        let lines = &lines.replace("CONFIG", config);
        let text = table(&line::summaries(&line::parse(lines, None).unwrap()));
        assert!(
            text.contains("w: sordino takes 0.200 of peer's time, accuracy 0.7000 against 0.6900"),
            "{text}"
        );
        let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(row, ["w", "sordino", "0.100", "s", "0.20", "0.7000", "1", "1.05", "?"]);
    }
}
