//! What is said about a run: for programs, for people, and in a few notes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use sordino_report::{Code, Report, Run};

use crate::error::RunError;

pub(crate) struct Pages {
    /// The run and what follows from it; the report has the same inside.
    pub(crate) json: String,
    /// The report and the model card.
    pub(crate) for_people: Option<(String, String)>,
    /// What weakens the claim beyond what doors say anyway.
    pub(crate) findings: Vec<String>,
}

impl Pages {
    /// Of a run that was paid for. A bug in a picture must not cost its model: then there is no report, and the
    /// panic's message says why.
    pub(crate) fn of(run: &Run) -> Result<Self, RunError> {
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

/// One object on one line.
fn line(object: &impl Serialize) -> Result<String, RunError> {
    let unwritable = |error: serde_json::Error| RunError::Unwritable { reason: error.to_string() };
    Ok(serde_json::to_string(object).map_err(unwritable)? + "\n")
}

/// The grave ones. That nothing was charged, or that the noise was seeded, is said in fewer words.
fn is_said(code: Code) -> bool {
    code <= Code::LargeDelta && code != Code::Seeded && code != Code::Unmetered
}
