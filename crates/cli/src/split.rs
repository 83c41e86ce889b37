//! `sordino calibrate --parts` and `--split`: one budget, shared by several releases.

use sordino::prelude::*;
use sordino::privacy::calibrate::Calibrated;

use crate::args::{CalibrateArgs, Output};
use crate::decimal;
use crate::error::Error;
use crate::json::{self, SplitObject, Writer};
use crate::output;
use crate::table::Table;

/// The most parts of a budget: more than anyone plans by hand, few enough to list.
const MAX_PARTS: u64 = 10_000;

/// The note for a user who names no δ. The parts are pure, so their sum needs none; a δ above 0 is
/// the user's decision.
const NO_DELTA_NOTE: &str = "no --delta given: took delta = 0, where the parts add up to epsilon; with a \
    delta above 0 many parts may add up to more";

pub(crate) fn run(args: &CalibrateArgs) -> Result<(), Error> {
    let plan = Plan::new(args)?;
    let parts = calibrate::split(plan.epsilon, plan.delta, plan.neighbours, &plan.shares)?;
    if !plan.output.quiet {
        let default = args.delta.is_none().then_some(NO_DELTA_NOTE);
        default.into_iter().chain(parts.note.as_deref()).for_each(output::note);
    }
    output::result(&if plan.output.json { plan.object(&parts)? } else { plan.table(&parts) })
}

/// Whether the flags ask for parts of a budget.
pub(crate) fn is_asked(args: &CalibrateArgs) -> bool {
    args.parts.is_some() || !args.split.is_empty()
}

/// The checked and complete request.
#[derive(Debug)]
struct Plan {
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    shares: Vec<f64>,
    output: Output,
}

impl Plan {
    fn new(args: &CalibrateArgs) -> Result<Self, Error> {
        if let Some(flag) = args.training.flag_given().or(args.solve.map(|_| "--solve")) {
            return Err(Error::SplitAndTraining { flag });
        }
        if args.epsilon.get() == 0.0 {
            return Err(Error::NothingToSplit);
        }
        let number = args.parts.map_or(args.split.len() as u64, Count::get);
        if number > MAX_PARTS {
            return Err(Error::TooManyParts { number, limit: MAX_PARTS });
        }
        let shares = if args.parts.is_some() { vec![1.0; number as usize] } else { args.split.clone() };
        Ok(Self {
            epsilon: args.epsilon,
            delta: args.delta.unwrap_or_else(no_delta),
            neighbours: args.training.neighbours(),
            shares,
            output: args.output,
        })
    }

    fn object(&self, parts: &Calibrated<Vec<Epsilon>>) -> Result<String, Error> {
        json::text(&SplitObject {
            writer: Writer::this(),
            solved: "parts",
            parts: &parts.value,
            target_epsilon: self.epsilon.get(),
            epsilon: parts.epsilon,
            delta: self.delta.get(),
            neighbours: self.neighbours,
            accountant: parts.accountant,
            note: parts.note.as_deref(),
        })
    }

    /// The parts are rounded down, so each printed number may be spent.
    fn table(&self, parts: &Calibrated<Vec<Epsilon>>) -> String {
        let mut table = Table::default();
        match parts.value.split_first() {
            Some((first, rest)) if !rest.is_empty() && rest.iter().all(|part| part == first) => {
                table.row([&format!("each of {} parts", parts.value.len()), &decimal::down(first.get())]);
            }
            _ => {
                for (index, part) in parts.value.iter().enumerate() {
                    table.row([&format!("part {}", index + 1), &decimal::down(part.get())]);
                }
            }
        }
        table.row(["epsilon", &decimal::between(parts.epsilon)]);
        table.row(["target", &decimal::exact(self.epsilon.get())]);
        table.row(["delta", &decimal::exact(self.delta.get())]);
        table.row(["neighbours", &self.neighbours.to_string()]);
        table.row(["accountant", parts.accountant]);
        table.text()
    }
}

fn no_delta() -> Delta {
    // Cannot fail: 0 is the least δ.
    Delta::new(0.0).expect("0 is a delta")
}
