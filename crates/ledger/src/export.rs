//! The ledger for other programs.

use serde::Serialize;
use sordino_privacy::{Delta, Epsilon, Event, Terms};

use crate::digest::Digest;
use crate::error::LedgerError;
use crate::grant::Grant;
use crate::label::Label;
use crate::ledger::Ledger;
use crate::record::{ChargeRecord, DataSet, State};
use crate::rules::Rules;

/// One moment of a ledger, ready to be written as JSON or CSV.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Export {
    /// The format version of the ledger.
    pub ledger_version: u32,
    /// How many entries there are.
    pub entries: u64,
    /// Hash of the last one.
    pub head: Digest,
    /// All data sets.
    pub data_sets: Vec<ExportedDataSet>,
    /// All charges.
    pub charges: Vec<ExportedCharge>,
}

/// A data set, without what was spent on it: the charges say that.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExportedDataSet {
    /// Number of the entry that created it.
    pub data_set: u64,
    /// Its names.
    pub names: Vec<Label>,
    /// Its contents.
    pub contents: Vec<Digest>,
    /// Its budget.
    pub terms: Terms,
    /// Who may spend how much of it; empty if anyone may spend all of it.
    pub grants: Vec<ExportedGrant>,
    /// The rules of its owner.
    pub rules: Option<Rules>,
}

/// A share of a budget.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExportedGrant {
    /// The analyst.
    pub to: Label,
    /// The most that they may spend.
    pub epsilon: Epsilon,
    /// δ of it.
    pub delta: Delta,
}

/// A charge; times as RFC 3339 writes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExportedCharge {
    /// Its number.
    pub charge: u64,
    /// When it was reserved.
    pub time: String,
    /// Number of the data set.
    pub data_set: u64,
    /// First name of the data set.
    pub name: Label,
    /// Who asked.
    pub who: Label,
    /// The purpose.
    pub what: Label,
    /// `reserved` or `booked`.
    pub state: &'static str,
    /// When it was booked.
    pub booked: Option<String>,
    /// Hash of the result.
    pub result: Option<Digest>,
    /// The event that it pays for.
    pub event: Event,
    /// Whether the noise comes from a fixed seed, so that nobody is protected.
    pub seeded: bool,
    /// Steps that are recorded of its run.
    pub steps: Option<u64>,
    /// Whether the run did no step after these.
    pub ended: Option<bool>,
    /// The charge whose run it resumes.
    pub follows: Option<u64>,
}

impl Ledger {
    /// Everything, as of one moment.
    pub fn export(&self) -> Result<Export, LedgerError> {
        let book = self.fresh()?;
        let charges = book
            .charges
            .iter()
            .map(|charge| Ok(ExportedCharge::new(charge, book.data_set(charge.data_set)?.names[0].clone())));
        Ok(Export {
            ledger_version: book.version,
            entries: book.head.number,
            head: book.head.hash,
            data_sets: book.data_sets.iter().map(ExportedDataSet::new).collect(),
            charges: charges.collect::<Result<_, LedgerError>>()?,
        })
    }
}

impl ExportedDataSet {
    fn new(set: &DataSet) -> Self {
        let DataSet { number, names, contents, terms, spent: _, grants, rules } = set.clone();
        let grants = grants.into_iter().map(|Grant { to, terms, .. }| {
            let Terms { epsilon, delta, .. } = terms;
            ExportedGrant { to, epsilon, delta }
        });
        Self { data_set: number, names, contents, terms, grants: grants.collect(), rules }
    }
}

impl ExportedCharge {
    fn new(charge: &ChargeRecord, name: Label) -> Self {
        let ChargeRecord { number, time, data_set, who, what, event, seeded, progress, follows, state } =
            charge.clone();
        let (booked, result) = match state {
            State::Reserved => (None, None),
            State::Booked { time, result } => (Some(time.to_string()), result),
        };
        let (time, state) = (time.to_string(), charge.state.name());
        let (steps, ended) = progress.map(|progress| (progress.steps, progress.last)).unzip();
        Self {
            charge: number,
            time,
            data_set,
            name,
            who,
            what,
            state,
            booked,
            result,
            event,
            seeded,
            steps,
            ended,
            follows,
        }
    }
}

impl Export {
    /// The charges as CSV (RFC 4180), one line each under a header.
    pub fn to_csv(&self) -> Result<String, LedgerError> {
        let mut text =
            "charge,time,data_set,name,who,what,state,booked,result,event,seeded,steps\r\n".to_owned();
        for charge in &self.charges {
            let event = serde_json::to_string(&charge.event)
                .map_err(|error| LedgerError::Unwritable { detail: error.to_string() })?;
            let cells = [
                &charge.charge.to_string(),
                &charge.time,
                &charge.data_set.to_string(),
                charge.name.as_str(),
                charge.who.as_str(),
                charge.what.as_str(),
                charge.state,
                charge.booked.as_deref().unwrap_or_default(),
                &charge.result.map(|digest| digest.to_string()).unwrap_or_default(),
                &event,
                &charge.seeded.to_string(),
                &charge.steps.map(|steps| steps.to_string()).unwrap_or_default(),
            ];
            text.push_str(&cells.map(quoted).join(","));
            text.push_str("\r\n");
        }
        Ok(text)
    }
}

/// Quoted where it must be, and never a formula: a spreadsheet runs cells that begin with these
/// signs, and labels are written by anyone.
fn quoted(cell: &str) -> String {
    let cell = if cell.starts_with(['=', '+', '-', '@']) { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}
