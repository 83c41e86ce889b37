//! The table of a comparison: each contestant beside Sordino on the same work.

use std::fmt::Write;

use serde_json::Value;

use super::line::Summary;

/// A table of all measurements. `times ours` is the contestant's time divided by Sordino's. `gap`
/// is (upper - lower) / upper with the lower end that Sordino certifies, so it bounds how far each
/// upper end is from the truth. `own gap` uses the contestant's own lower end.
pub(crate) fn of(summaries: &[Summary]) -> String {
    let mut text = format!(
        "{:<32} {:<20} {:>12} {:>11} {:>12} {:>10} {:>10} {:>6}\n",
        "work", "system", "median", "times ours", "upper", "gap", "own gap", "load"
    );
    let mut last = "";
    for row in summaries {
        let ours = summaries.iter().find(|other| other.workload == row.workload && other.system == "sordino");
        let work = if row.workload == last { "" } else { row.workload.as_str() };
        last = &row.workload;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{work:<32} {:<20} {:>12} {:>11} {:>12} {:>10} {:>10} {:>6}",
            row.system,
            amount(row.median, &row.metric),
            ours.map_or(String::new(), |ours| format!("{:.2}", times(row, ours))),
            end(row, "upper").map_or(String::new(), |upper| format!("{upper:.6}")),
            gap(row, ours).map_or(String::new(), |gap| format!("{gap:.1e}")),
            gap(row, Some(row)).map_or(String::new(), |gap| format!("{gap:.1e}")),
            row.other_load.map_or("?".to_owned(), |load| format!("{load:.2}")),
        );
    }
    text.push_str(&verdicts(summaries));
    text.push_str(&targets(summaries));
    text.push_str("load: processors that other processes kept busy, at most; above 0.1, repeat the run\n");
    text
}

/// One sentence for each contestant that has an upper end: how much faster Sordino is, and whether
/// its certified gap is at least as small. A faster answer with a larger gap is no gain.
fn verdicts(summaries: &[Summary]) -> String {
    let mut text = String::new();
    for row in summaries.iter().filter(|row| row.system != "sordino") {
        let ours = summaries.iter().find(|other| other.workload == row.workload && other.system == "sordino");
        let Some((ours, gap_ours)) = ours.and_then(|ours| Some((ours, gap(ours, Some(ours))?))) else {
            continue;
        };
        // A contestant without a lower end is measured from Sordino's.
        let Some(gap_theirs) = gap(row, Some(row)).or_else(|| gap(row, Some(ours))) else { continue };
        let tightness = if gap_ours <= gap_theirs { "at an equal or smaller gap" } else { "at a LARGER gap" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {:.1} times faster than {} {tightness} ({gap_ours:.1e} against {gap_theirs:.1e})",
            row.workload,
            times(row, ours),
            row.system,
        );
    }
    text
}

/// The project's targets: work, contestant, and how many times as fast Sordino should be.
const TARGETS: [(&str, &str, f64); 1] = [("laplace, 10^6 counts", "opendp", 50.0)];

/// One sentence for each target whose contestants were measured.
fn targets(summaries: &[Summary]) -> String {
    let mut text = String::new();
    for (workload, system, wanted) in TARGETS {
        let of = |system: &str| summaries.iter().find(|row| row.workload == workload && row.system == system);
        let (Some(ours), Some(theirs)) = (of("sordino"), of(system)) else { continue };
        let found = times(theirs, ours);
        let verdict = if found >= wanted { "met" } else { "MISSED" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{workload}: {found:.0} times faster than {system}; the target of {wanted:.0} is {verdict}"
        );
    }
    text
}

/// The contestant's time divided by Sordino's; for rates, the inverse.
fn times(row: &Summary, ours: &Summary) -> f64 {
    if row.metric == "GB/s" { ours.median / row.median } else { row.median / ours.median }
}

fn gap(row: &Summary, lower_of: Option<&Summary>) -> Option<f64> {
    let (upper, lower) = (end(row, "upper")?, end(lower_of?, "lower")?);
    Some((upper - lower) / upper)
}

fn end(row: &Summary, name: &str) -> Option<f64> {
    row.config.get(name).and_then(Value::as_f64)
}

fn amount(value: f64, metric: &str) -> String {
    match metric {
        "s" if value < 1e-3 => format!("{:.1} µs", value * 1e6),
        "s" if value < 1.0 => format!("{:.2} ms", value * 1e3),
        "ns" if value >= 100.0 => format!("{value:.0} ns"),
        _ => format!("{value:.2} {metric}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    #[test]
    fn a_contestant_is_shown_beside_sordino() {
        let lines = "{\"workload\":\"w\",\"system\":\"sordino\",\"metric\":\"s\",\"value\":0.01,\
             \"config\":{\"upper\":2.0,\"lower\":1.998}}\n\
             {\"workload\":\"w\",\"system\":\"peer\",\"metric\":\"s\",\"value\":0.5,\
             \"config\":{\"upper\":2.1,\"lower\":1.05}}";
        let text = of(&line::summaries(&line::parse(lines, None).unwrap()));
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["w", "sordino", "10.00", "ms", "1.00", "2.000000", "1.0e-3", "1.0e-3", "?"]);
        assert_eq!(rows[2], ["peer", "500.00", "ms", "50.00", "2.100000", "4.9e-2", "5.0e-1", "?"]);
        let verdict = "w: 50.0 times faster than peer at an equal or smaller gap (1.0e-3 against 5.0e-1)";
        assert!(text.contains(verdict), "{text}");
    }

    #[test]
    fn targets_are_met_or_missed() {
        let text = |theirs: f64| {
            let line = |system: &str, value: f64| {
                format!(
                    "{{\"workload\":\"laplace, 10^6 counts\",\"system\":\"{system}\",\"metric\":\"ns\",\
                     \"value\":{value},\"config\":{{}}}}\n"
                )
            };
            let lines = line("sordino", 10.0) + &line("opendp", theirs);
            of(&line::summaries(&line::parse(&lines, None).unwrap()))
        };
        assert!(text(600.0).contains("60 times faster than opendp; the target of 50 is met"));
        assert!(text(400.0).contains("40 times faster than opendp; the target of 50 is MISSED"));
    }
}
