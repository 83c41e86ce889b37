//! What is written about a run: JSON, report, model card and findings.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use sordino_report::{Code, Report, RunFacts};

use crate::error::RunError;

pub(crate) struct Pages {
    /// The facts of the run on one line; the report contains the same object.
    pub(crate) json: String,
    /// The report and the model card; `None` if they could not be drawn.
    pub(crate) for_people: Option<(String, String)>,
    /// The findings that weaken the claim, without those that front ends state by themselves.
    pub(crate) findings: Vec<String>,
}

impl Pages {
    /// Draws the pages of a run that was paid for. If drawing panics, the model is not lost: the
    /// run has no report, and the panic's message says why.
    pub(crate) fn of(run: &RunFacts) -> Result<Self, RunError> {
        let drawn = catch_unwind(AssertUnwindSafe(|| {
            let report = Report::of(run);
            let findings = report.findings().iter().filter(|finding| is_said(finding.code));
            let findings = findings.map(|finding| finding.text.clone()).collect();
            let for_people = Some((report.html(), report.markdown()));
            Ok(Self { json: line(&report)?, for_people, findings })
        }));
        match drawn {
            Ok(pages) => pages,
            Err(_) => Ok(Self { json: line(run)?, for_people: None, findings: Vec::new() }),
        }
    }
}

/// An object as JSON on one line.
pub(super) fn line(object: &impl Serialize) -> Result<String, RunError> {
    let unwritable = |error: serde_json::Error| RunError::Unwritable { reason: error.to_string() };
    Ok(serde_json::to_string(object).map_err(unwritable)? + "\n")
}

/// Whether a finding is grave. *Unmetered* and *seeded* are left out: front ends state them by
/// themselves.
fn is_said(code: Code) -> bool {
    code <= Code::LargeDelta && code != Code::Seeded && code != Code::Unmetered
}
