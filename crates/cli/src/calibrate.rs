//! `sordino calibrate`: how much noise is enough? Or how many steps, which sampling rate, which
//! share of a budget?

use sordino::prelude::*;
use sordino::privacy::AccountError;
use sordino::privacy::calibrate::{self, Calibrated};

use crate::args::{self, CalibrateArgs, Output, Unknown};
use crate::decimal;
use crate::error::Error;
use crate::json::{self, CalibrateObject, Writer};
use crate::output;
use crate::split;
use crate::table::Table;

pub(crate) fn run(args: CalibrateArgs) -> Result<(), Error> {
    if split::is_asked(&args) {
        return split::run(&args);
    }
    let plan = Plan::new(&args)?;
    let answer = plan.answer().map_err(|error| plan.problem.explain(error))?;
    if !plan.output.quiet {
        let default = args.delta.is_none().then_some(args::DEFAULT_DELTA_NOTE);
        default.into_iter().chain(answer.note.as_deref()).for_each(output::note);
    }
    output::result(&if plan.output.json { plan.object(&answer)? } else { plan.table(&answer) })
}

/// The checked and complete request.
#[derive(Debug)]
struct Plan {
    epsilon: Epsilon,
    delta: Delta,
    neighbours: Neighbours,
    problem: Problem,
    output: Output,
}

/// The number to find, with the numbers that are given.
#[derive(Clone, Copy, Debug)]
enum Problem {
    Noise { sampling_rate: SamplingRate, steps: Count },
    Steps { noise_multiplier: NoiseMultiplier, sampling_rate: SamplingRate },
    SamplingRate { noise_multiplier: NoiseMultiplier, steps: Count },
}

/// A training run that meets the target.
#[derive(Debug)]
struct Answer {
    noise_multiplier: NoiseMultiplier,
    sampling_rate: SamplingRate,
    steps: Count,
    epsilon: Bound,
    accountant: &'static str,
    note: Option<String>,
}

impl Plan {
    fn new(args: &CalibrateArgs) -> Result<Self, Error> {
        let delta = args.delta.unwrap_or_else(args::default_delta);
        if delta.get() == 0.0 {
            return Err(Error::PureCalibration);
        }
        Ok(Self {
            epsilon: args.epsilon,
            delta,
            neighbours: args.training.neighbours(),
            problem: problem(args)?,
            output: args.output,
        })
    }

    fn answer(&self) -> Result<Answer, AccountError> {
        let Self { epsilon, delta, neighbours, problem, .. } = *self;
        Ok(match problem {
            Problem::Noise { sampling_rate, steps } => {
                let Calibrated { value, epsilon, accountant, note } =
                    calibrate::noise_multiplier(epsilon, delta, neighbours, sampling_rate, steps)?;
                Answer { noise_multiplier: value, sampling_rate, steps, epsilon, accountant, note }
            }
            Problem::Steps { noise_multiplier, sampling_rate } => {
                let Calibrated { value, epsilon, accountant, note } =
                    calibrate::steps(epsilon, delta, neighbours, noise_multiplier, sampling_rate)?;
                Answer { noise_multiplier, sampling_rate, steps: value, epsilon, accountant, note }
            }
            Problem::SamplingRate { noise_multiplier, steps } => {
                let Calibrated { value, epsilon, accountant, note } =
                    calibrate::sampling_rate(epsilon, delta, neighbours, noise_multiplier, steps)?;
                Answer { noise_multiplier, sampling_rate: value, steps, epsilon, accountant, note }
            }
        })
    }

    fn object(&self, answer: &Answer) -> Result<String, Error> {
        json::text(&CalibrateObject {
            writer: Writer::this(),
            solved: self.problem.unknown(),
            noise_multiplier: answer.noise_multiplier.get(),
            sampling_rate: answer.sampling_rate.get(),
            steps: answer.steps.get(),
            target_epsilon: self.epsilon.get(),
            epsilon: answer.epsilon,
            delta: self.delta.get(),
            neighbours: self.neighbours,
            accountant: answer.accountant,
            note: answer.note.as_deref(),
        })
    }

    /// The found number comes first, rounded towards safety: more noise, smaller samples.
    fn table(&self, answer: &Answer) -> String {
        let noise = answer.noise_multiplier.get();
        let rate = answer.sampling_rate.get();
        let mut lines = [
            ("noise multiplier", decimal::exact(noise)),
            ("sampling rate", decimal::exact(rate)),
            ("steps", answer.steps.get().to_string()),
        ];
        let found = match self.problem {
            Problem::Noise { .. } => {
                lines[0].1 = decimal::up(noise);
                0
            }
            Problem::SamplingRate { .. } => {
                lines[1].1 = decimal::down(rate);
                1
            }
            Problem::Steps { .. } => 2,
        };
        lines[..=found].rotate_right(1);
        let mut table = Table::default();
        for (name, value) in &lines {
            table.row([name, value]);
        }
        table.row(["epsilon", &decimal::between(answer.epsilon)]);
        table.row(["target", &decimal::exact(self.epsilon.get())]);
        table.row(["delta", &decimal::exact(self.delta.get())]);
        table.row(["neighbours", &self.neighbours.to_string()]);
        table.row(["accountant", answer.accountant]);
        table.text()
    }
}

impl Problem {
    /// The JSON name of the unknown.
    fn unknown(self) -> &'static str {
        match self {
            Self::Noise { .. } => "noise_multiplier",
            Self::Steps { .. } => "steps",
            Self::SamplingRate { .. } => "sampling_rate",
        }
    }

    /// Adds to the advice "raise epsilon or delta" the other numbers that the user may change.
    fn explain(self, error: AccountError) -> Error {
        if !matches!(error, AccountError::OutOfReach { .. }) {
            return error.into();
        }
        let also = match self {
            Self::Noise { .. } => "or lower the sampling rate or the steps",
            Self::Steps { .. } => "or the noise multiplier, or lower the sampling rate",
            Self::SamplingRate { .. } => "or the noise multiplier, or lower the steps",
        };
        Error::OutOfReach { source: error, also }
    }
}

/// Finds out which number is unknown. `--solve` names it; otherwise it is the one that is not
/// given. If several are not given, it is the noise: most people ask for it, and the other two have
/// harmless defaults (every record, one step).
fn problem(args: &CalibrateArgs) -> Result<Problem, Error> {
    let training = &args.training;
    let (noise, rate, steps) = (training.noise_multiplier, training.sampling_rate, training.steps);
    let unknown = match args.solve {
        Some(unknown) => unknown,
        None => match (noise, rate, steps) {
            (None, _, _) => Unknown::Noise,
            (Some(_), Some(_), None) => Unknown::Steps,
            (Some(_), None, Some(_)) => Unknown::SamplingRate,
            (Some(_), None, None) => return Err(Error::TwoUnknowns),
            (Some(_), Some(_), Some(_)) => return Err(Error::NothingToSolve),
        },
    };
    let rate_or_all = rate.unwrap_or_else(every_record);
    let one_step = steps.unwrap_or(Count::ONE);
    match unknown {
        Unknown::Noise => {
            absent(noise, "noise", "--noise-multiplier")?;
            Ok(Problem::Noise { sampling_rate: rate_or_all, steps: one_step })
        }
        Unknown::Steps => {
            absent(steps, "steps", "--steps")?;
            let noise_multiplier = noise.ok_or(Error::SolveNeedsNoise { unknown: "steps" })?;
            Ok(Problem::Steps { noise_multiplier, sampling_rate: rate_or_all })
        }
        Unknown::SamplingRate => {
            absent(rate, "sampling-rate", "--sampling-rate")?;
            let noise_multiplier = noise.ok_or(Error::SolveNeedsNoise { unknown: "sampling-rate" })?;
            Ok(Problem::SamplingRate { noise_multiplier, steps: one_step })
        }
    }
}

fn every_record() -> SamplingRate {
    // Cannot fail: a rate is a probability above 0, and 1 is one.
    SamplingRate::new(1.0).expect("1 is a sampling rate")
}

fn absent<T>(given: Option<T>, unknown: &'static str, flag: &'static str) -> Result<(), Error> {
    match given {
        Some(_) => Err(Error::SolvedIsGiven { unknown, flag }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Verb};

    fn plan(line: &str) -> Plan {
        let verb = Arguments::try_parse_from(line.split_whitespace()).expect("flags").verb;
        let Verb::Calibrate(args) = verb else { panic!("another verb") };
        Plan::new(&args).expect("a plan")
    }

    #[test]
    fn a_note_is_part_of_the_object_and_absent_without_one() {
        let plan = plan("sordino calibrate --epsilon 2");
        let mut answer = plan.answer().unwrap();
        assert!(!plan.object(&answer).unwrap().contains("note"));
        answer.note = Some("wide".to_owned());
        assert!(plan.object(&answer).unwrap().contains(r#""note":"wide""#));
    }

    #[test]
    fn an_unreachable_target_comes_with_advice_for_the_question() {
        for (line, advice) in [
            ("--steps 9", ", or lower the sampling rate or the steps"),
            (
                "--noise-multiplier 1 --sampling-rate 0.5",
                ", or the noise multiplier, or lower the sampling rate",
            ),
            ("--noise-multiplier 1 --steps 9", ", or the noise multiplier, or lower the steps"),
        ] {
            let plan = plan(&format!("sordino calibrate --epsilon 2 {line}"));
            let none = AccountError::OutOfReach { what: "it".to_owned(), epsilon: 2.0, delta: 1e-6 };
            let error = plan.problem.explain(none.clone()).to_string();
            assert_eq!(error, format!("{none}{advice}"));
        }
    }
}
