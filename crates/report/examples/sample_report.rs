//! Writes a report on a made-up run: `cargo run -p sordino-report --example sample_report --
//! FOLDER` writes `report.html`, `report.md` and `report.json` there.

mod sample;

use std::path::PathBuf;

use sordino_report::Report;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let run = sample::logistic();
    let report = Report::of(&run);
    std::fs::write(folder.join("report.html"), report.html())?;
    std::fs::write(folder.join("report.md"), report.markdown())?;
    std::fs::write(folder.join("report.json"), serde_json::to_string_pretty(&report)?)?;
    Ok(())
}
