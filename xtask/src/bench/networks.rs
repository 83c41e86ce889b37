//! The output of `cargo xtask bench networks`: steps of networks beside those of PyTorch, Opacus
//! and JAX, and how cost grows.

use std::fmt::Write;

use serde_json::Value;

use super::line::Summary;
use super::plot::seconds_by_size;
use crate::failure::Failure;
use crate::run;

/// The project's targets: work, and how many times as fast as PyTorch without privacy and as
/// Opacus' fastest mode.
pub(crate) const BARS: [(&str, Option<f64>, f64); 6] = [
    ("mnist-cnn:256", Some(2.0), 4.0),
    ("mnist-cnn:2048", Some(2.0), 4.0),
    // No target against PyTorch: the noise of 1.9 million weights takes a large part of the step.
    ("mlp:256", None, 1.5),
    ("mlp:2048", Some(0.9), 1.5),
    ("softmax:2048", Some(1.0), 5.0),
    ("cifar-cnn:256", Some(1.5), 3.5),
];

/// The target for the time of a private step without its noise, divided by that of a plain step.
const STEP_BAR: f64 = 1.15;

/// The target for the peak memory of a private run, divided by that of a plain one.
const MEMORY_BAR: f64 = 1.2;

/// The largest load of other processes, in processors, at which figures are meaningful. Threads
/// that wait for each other suffer most from load.
const MAX_LOAD: f64 = 0.1;

/// The plot, which is part of the book.
const PLOT: &str = "docs/images/networks.svg";

/// All measurements of one piece of work.
struct Row<'a> {
    work: &'a str,
    all: Vec<&'a Summary>,
}

impl<'a> Row<'a> {
    fn of(work: &'a str, summaries: &'a [Summary]) -> Option<Self> {
        let all: Vec<&Summary> = summaries.iter().filter(|row| row.workload == work).collect();
        (!all.is_empty()).then_some(Self { work, all })
    }

    fn system(&self, name: &str) -> Option<&'a Summary> {
        self.all.iter().copied().find(|row| row.system == name)
    }

    /// The fastest system whose name starts with `start`.
    fn best(&self, start: &str) -> Option<&'a Summary> {
        let those = self.all.iter().copied().filter(|row| row.system.starts_with(start));
        those.min_by(|a, b| a.median.total_cmp(&b.median))
    }

    /// The speed of a step as a fraction of the matrix product's peak speed.
    fn part_of_peak(&self, step: &Summary) -> Option<f64> {
        let (operations, batch) = (number(step, "operations")?, number(step, "batch")?);
        Some(operations * batch / step.median / 1e9 / self.system("sordino peak")?.median)
    }

    /// The largest load of other processes.
    fn load(&self) -> Option<f64> {
        self.all.iter().filter_map(|row| row.other_load).reduce(f64::max)
    }
}

/// A table with one line for each piece of work, then each target and whether it is met.
pub(crate) fn table(summaries: &[Summary]) -> String {
    let rows: Vec<Row<'_>> = BARS.iter().filter_map(|(work, ..)| Row::of(work, summaries)).collect();
    let mut text = format!(
        "examples a second\n{:<16} {:>9} {:>9} {:>9} {:>9} {:<24} {:>9} {:<12} {:>8} {:>8} {:>6}\n",
        "work",
        "sordino",
        "plain",
        "torch",
        "Opacus",
        "(its best mode)",
        "JAX",
        "",
        "of peak",
        "plain's",
        "load"
    );
    for row in &rows {
        let (ours, plain) = (row.system("sordino"), row.system("sordino plain"));
        let (opacus, jax) = (row.best("opacus"), row.best("jax"));
        let part = |step: Option<&Summary>| {
            step.and_then(|step| row.part_of_peak(step))
                .map_or(String::new(), |part| format!("{:.0} %", 100.0 * part))
        };
        let mode = |step: Option<&Summary>| step.map_or(String::new(), |step| step.system.clone());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16} {:>9} {:>9} {:>9} {:>9} {:<24} {:>9} {:<12} {:>8} {:>8} {:>6}",
            row.work,
            rate(ours),
            rate(plain),
            rate(row.system("torch")),
            rate(opacus),
            mode(opacus),
            rate(jax),
            mode(jax),
            part(ours),
            part(plain),
            row.load().map_or("?".to_owned(), |load| format!("{load:.2}")),
        );
    }
    rows.iter().for_each(|row| verdicts(row, &mut text));
    text.push_str(&quietness(summaries));
    text
}

/// Adds each target of one piece of work.
fn verdicts(row: &Row<'_>, text: &mut String) {
    let Some(ours) = row.system("sordino") else { return };
    let bars = BARS.iter().find(|(work, ..)| *work == row.work);
    if let Some((_, torch_bar, opacus_bar)) = bars {
        let peers = [(row.system("torch"), *torch_bar), (row.best("opacus"), Some(*opacus_bar))];
        for (peer, bar) in peers {
            let (Some(peer), Some(bar)) = (peer, bar) else { continue };
            let found = peer.median / ours.median;
            let verdict = met(found >= bar);
            let _ = writeln!(
                text,
                "{}: {found:.2} times as fast as {}; the bar of {bar} is {verdict}",
                row.work, peer.system
            );
        }
    }
    if let Some((inflation, capped)) = number(ours, "inflation").zip(number(ours, "capped")) {
        let batch = number(ours, "batch").unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "{}: float sums inflate the noise by {:.2} %; the cap on what positions may cancel binds for \
            {capped:.0} of {batch:.0} records",
            row.work,
            100.0 * inflation
        );
    }
    let Some(plain) = row.system("sordino plain") else { return };
    if let Some(noise) = row.system("sordino noise") {
        noise_line(row, ours, plain, noise, text);
    }
    if let Some((private, plain)) = number(ours, "peak_bytes").zip(number(plain, "peak_bytes")) {
        let (found, mebibyte) = (private / plain, f64::from(1 << 20));
        let _ = writeln!(
            text,
            "{}: peak memory {:.0} MiB, plain {:.0} MiB: {found:.2} times; the bar of {MEMORY_BAR} is {}",
            row.work,
            private / mebibyte,
            plain / mebibyte,
            met(found <= MEMORY_BAR)
        );
    }
}

/// Adds the time of the noise, and that of a step without it.
fn noise_line(row: &Row<'_>, ours: &Summary, plain: &Summary, noise: &Summary, text: &mut String) {
    let (Some(weights), Some(each)) = (number(noise, "parameters"), number(noise, "nanoseconds_a_draw"))
    else {
        return;
    };
    let threads = number(noise, "threads").unwrap_or(1.0);
    let found = (ours.median - noise.median) / plain.median;
    let _ = writeln!(
        text,
        "{}: noise {:.3} ms ({weights:.0} weights x {each:.1} ns / {threads:.0} threads); without it a step \
        of {:.3} ms is {found:.3} plain ones of {:.3} ms; the bar of {STEP_BAR} is {}",
        row.work,
        noise.median * 1e3,
        ours.median * 1e3,
        plain.median * 1e3,
        met(found <= STEP_BAR)
    );
}

fn quietness(summaries: &[Summary]) -> String {
    match summaries.iter().filter_map(|row| row.other_load).reduce(f64::max) {
        Some(load) if load <= MAX_LOAD => {
            format!("the machine was quiet: others kept at most {load:.2} processors busy\n")
        }
        Some(load) => {
            format!(
                "the machine was NOT quiet: others kept up to {load:.2} processors busy; repeat the run\n"
            )
        }
        None => "load: processors that others kept busy; this system does not tell\n".to_owned(),
    }
}

/// How cost grows: a table, and a plot for the book. Quick runs draw nothing.
pub(crate) fn scaling(summaries: &[Summary], quick: bool) -> Result<String, Failure> {
    let mut text = String::new();
    let points = |axis: &str| -> Vec<(f64, &Summary)> {
        let start = format!("{axis},");
        let rows = summaries.iter().filter(|row| row.workload.starts_with(&start));
        rows.filter_map(|row| Some((number(row, "size")?, row))).collect()
    };
    let (batches, depths) = (points("time by batch"), points("time by depth"));
    for (axis, unit, points) in [("batch", "an example", &batches), ("depth", "a layer", &depths)] {
        for (size, row) in points {
            let (step, each) = (row.median * 1e3, row.median * 1e6 / size);
            // Processor time is meaningful also on a machine that runs other work.
            let processors = number(row, "processor_s").map_or(f64::NAN, |seconds| seconds * 1e6 / size);
            let _ = writeln!(
                text,
                "{axis} {size:>6}: {step:>9.3} ms a step, {each:>8.1} µs {unit}, {processors:>8.1} µs of \
                processors"
            );
        }
    }
    let (few, many) = (points("memory few"), points("memory many"));
    for ((size, few), (_, many)) in few.iter().zip(&many) {
        let Some(slope) = memory_slope(few, many) else { continue };
        let weights = number(few, "parameters").unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "{size:>6} hidden neurons, {weights:>9.0} weights: {:>7.1} KiB for one more example",
            slope / 1024.0
        );
    }
    text.push_str(&quietness(summaries));
    if !quick {
        draw(&batches, &depths)?;
    }
    Ok(text)
}

/// The memory of one more example, in bytes.
fn memory_slope(few: &Summary, many: &Summary) -> Option<f64> {
    Some((many.median - few.median) / (number(many, "batch")? - number(few, "batch")?))
}

fn draw(batches: &[(f64, &Summary)], depths: &[(f64, &Summary)]) -> Result<(), Failure> {
    let points = |sizes: &[(f64, &Summary)]| sizes.iter().map(|(size, row)| (*size, row.median)).collect();
    let curves = vec![
        ("examples of a batch, MNIST network", points(batches)),
        ("layers of 256 neurons, batches of 512", points(depths)),
    ];
    let path = run::root().join(PLOT);
    std::fs::write(&path, seconds_by_size("Seconds of a private step", curves))
        .map_err(|error| Failure::file(&path, &error))?;
    println!("drawn to {}", path.display());
    Ok(())
}

fn rate(step: Option<&Summary>) -> String {
    let rate = step.and_then(|step| Some(number(step, "batch")? / step.median));
    rate.map_or("-".to_owned(), |rate| format!("{rate:.0}"))
}

fn met(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

fn number(row: &Summary, name: &str) -> Option<f64> {
    row.config.get(name).and_then(Value::as_f64)
}

#[cfg(test)]
mod tests {
    use super::super::line;
    use super::*;

    fn line(work: &str, system: &str, value: f64, config: &str) -> String {
        format!(
            "{{\"workload\":\"{work}\",\"system\":\"{system}\",\"metric\":\"s\",\"value\":{value},\
            \"config\":{{{config}}}}}\n"
        )
    }

    fn text(ours: f64) -> String {
        let config = |peak: u32| format!("\"batch\":256,\"operations\":2e6,\"peak_bytes\":{peak}");
        let ours_config = format!("{},\"inflation\":0.0031,\"capped\":2", config(11 << 20));
        let lines = line("mnist-cnn:256", "sordino", ours, &ours_config)
            + &line("mnist-cnn:256", "sordino plain", 0.008, &config(10 << 20))
            + &line(
                "mnist-cnn:256",
                "sordino noise",
                0.001,
                "\"parameters\":1000,\"nanoseconds_a_draw\":2000,\"threads\":2",
            )
            + &line("mnist-cnn:256", "sordino peak", 128.0, "")
            + &line("mnist-cnn:256", "torch", 0.02, "\"batch\":256")
            + &line("mnist-cnn:256", "opacus hooks", 0.05, "\"batch\":256")
            + &line("mnist-cnn:256", "opacus ghost", 0.04, "\"batch\":256");
        table(&line::summaries(&line::parse(&lines, Some(0.02)).unwrap()))
    }

    #[test]
    fn targets_are_met_or_missed() {
        let fast = text(0.01);
        for said in [
            "2.00 times as fast as torch; the bar of 2 is met",
            "4.00 times as fast as opacus ghost; the bar of 4 is met",
            "noise 1.000 ms (1000 weights x 2000.0 ns / 2 threads); without it a step of 10.000 ms is 1.125 \
            plain ones",
            "the bar of 1.15 is met",
            "peak memory 11 MiB, plain 10 MiB: 1.10 times; the bar of 1.2 is met",
            "inflate the noise by 0.31 %; the cap on what positions may cancel binds for 2 of 256 records",
            "the machine was quiet",
        ] {
            assert!(fast.contains(said), "{said}: {fast}");
        }
        assert!(!fast.contains("MISSED"), "{fast}");
        // 256 examples of 2 million operations in 10 ms are 51.2 of 128 billion per second.
        assert!(fast.lines().nth(2).unwrap().contains("40 %"), "{fast}");
        assert_eq!(text(0.012).matches("MISSED").count(), 3);
    }

    #[test]
    fn memory_of_an_example_is_a_slope() {
        let lines = line("memory few, 8", "sordino", 1e6, "\"size\":8,\"batch\":100,\"parameters\":5")
            + &line("memory many, 8", "sordino", 2.024e6, "\"size\":8,\"batch\":200,\"parameters\":5");
        let text = scaling(&line::summaries(&line::parse(&lines, Some(1.0)).unwrap()), true).unwrap();
        assert!(text.contains("10.0 KiB for one more example") && text.contains("NOT quiet"), "{text}");
    }
}
