//! What is said about a run: for programs, for people, and in a few notes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sordino_report::{Code, Report, Run};

use crate::error::Error;
use crate::json;

pub(crate) struct Pages {
    /// The run and what follows from it; the report has the same inside.
    pub(crate) json: String,
    /// The report and the model card.
    pub(crate) for_people: Option<(String, String)>,
    /// What weakens the claim beyond what the command says anyway.
    pub(crate) findings: Vec<String>,
}

impl Pages {
    /// Of a run that was paid for. A bug in a picture must not cost its model: then there is no report, and the
    /// panic's message says why.
    pub(crate) fn of(run: &Run) -> Result<Self, Error> {
        let drawn = catch_unwind(AssertUnwindSafe(|| {
            let report = Report::of(run);
            let findings = report.findings().iter().filter(|finding| is_said(finding.code));
            let findings = findings.map(|finding| finding.text.clone()).collect();
            let for_people = Some((report.html(), report.markdown()));
            Ok(Self { json: json::text(&report)?, for_people, findings })
        }));
        match drawn {
            Ok(pages) => pages,
            Err(_) => Ok(Self { json: json::text(run)?, for_people: None, findings: Vec::new() }),
        }
    }
}

/// The grave ones. That nothing was charged, or that the noise was seeded, is said in fewer words.
fn is_said(code: Code) -> bool {
    code <= Code::LargeDelta && code != Code::Seeded && code != Code::Unmetered
}
