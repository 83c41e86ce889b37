//! Names of findings, for programs.

use serde::{Serialize, Serializer};

/// The kinds of findings, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// The noise came from a fixed seed.
    Seeded,
    /// No finite ε is promised.
    Unbounded,
    /// The event provably costs more than the guarantee states.
    CostsMore,
    /// The event could not be accounted for, or not as low as stated.
    NotConfirmed,
    /// ε is above the request.
    AboveRequest,
    /// The budget is exceeded.
    OverBudget,
    /// The relation hides the number of records, and the run states it.
    SizeStated,
    /// No budget was charged.
    Unmetered,
    /// A budget was charged, and the run does not say which.
    BudgetNotShown,
    /// ε is above 8.
    LargeEpsilon,
    /// δ is above one over the number of records.
    LargeDelta,
    /// δ could not be compared with the number of records.
    DeltaNotCompared,
    /// Settings were tuned on private data without a charge.
    TuningNotBooked,
    /// The run does not state how settings were chosen.
    TuningNotStated,
    /// Scores rest on data that was declared public.
    PublicScores,
    /// Something else is assumed to be public.
    PublicAssumption,
    /// The cost relies on a theorem about hidden steps.
    HiddenSteps,
    /// The relation compares a record with an empty one, not with another.
    ZeroOut,
    /// The unit is a record, not a person.
    RecordUnit,
    /// Others have learned from the same data before.
    EarlierReleases,
}

impl Code {
    /// All codes.
    pub const ALL: [Self; 20] = [
        Self::Seeded,
        Self::Unbounded,
        Self::CostsMore,
        Self::NotConfirmed,
        Self::AboveRequest,
        Self::OverBudget,
        Self::SizeStated,
        Self::Unmetered,
        Self::BudgetNotShown,
        Self::LargeEpsilon,
        Self::LargeDelta,
        Self::DeltaNotCompared,
        Self::TuningNotBooked,
        Self::TuningNotStated,
        Self::PublicScores,
        Self::PublicAssumption,
        Self::HiddenSteps,
        Self::ZeroOut,
        Self::RecordUnit,
        Self::EarlierReleases,
    ];

    /// Its stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seeded => "seeded",
            Self::Unbounded => "unbounded",
            Self::CostsMore => "costs_more",
            Self::NotConfirmed => "not_confirmed",
            Self::AboveRequest => "above_request",
            Self::OverBudget => "over_budget",
            Self::SizeStated => "size_stated",
            Self::Unmetered => "unmetered",
            Self::BudgetNotShown => "budget_not_shown",
            Self::LargeEpsilon => "large_epsilon",
            Self::LargeDelta => "large_delta",
            Self::DeltaNotCompared => "delta_not_compared",
            Self::TuningNotBooked => "tuning_not_booked",
            Self::TuningNotStated => "tuning_not_stated",
            Self::PublicScores => "public_scores",
            Self::PublicAssumption => "public_assumption",
            Self::HiddenSteps => "hidden_steps",
            Self::ZeroOut => "zero_out",
            Self::RecordUnit => "record_unit",
            Self::EarlierReleases => "earlier_releases",
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_lists_every_code_in_this_order() {
        let page = include_str!("../../../../docs/guide/report.md");
        let (_, findings) = page.split_once("## Findings").unwrap();
        let (findings, _) = findings.split_once("\n## ").unwrap();
        let listed = findings.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let listed: Vec<&str> = listed.map(|(name, _)| name).collect();
        assert_eq!(listed, Code::ALL.map(Code::name));
        assert!(Code::ALL.is_sorted());
    }
}
