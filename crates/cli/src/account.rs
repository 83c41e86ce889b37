//! `sordino account`: what does this cost?

use sordino::prelude::*;
use sordino::privacy::{AccountError, Cost};

use crate::args::{self, AccountArgs, Output, Training};
use crate::decimal;
use crate::describe;
use crate::error::Error;
use crate::input;
use crate::json::{self, AccountObject, ComparedObject, Quantity, Writer};
use crate::output;
use crate::table::Table;

pub(crate) fn run(args: AccountArgs) -> Result<(), Error> {
    let plan = Plan::new(args)?;
    let answer = plan.question.ask(&plan.claim, plan.accountant)?;
    let compared = if plan.compare { plan.compared() } else { Vec::new() };
    if !plan.output.quiet {
        plan.notes(&answer).for_each(output::note);
    }
    output::result(&if plan.output.json {
        plan.object(&answer, &compared)?
    } else {
        plan.table(&answer, &compared)
    })
}

/// The checked and complete request.
#[derive(Debug)]
struct Plan {
    claim: Claim,
    question: Question,
    /// Whether δ is the default, which a note says.
    by_default: bool,
    accountant: Accountant,
    compare: bool,
    output: Output,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    EpsilonAt(Delta),
    DeltaAt(Epsilon),
}

/// An accountant that `--compare` asks, and its answer.
type Compared = (Accountant, Result<Cost, AccountError>);

impl Plan {
    fn new(args: AccountArgs) -> Result<Self, Error> {
        let by_default = args.delta.is_none() && args.epsilon.is_none();
        let question = match (args.delta, args.epsilon) {
            (Some(_), Some(_)) => return Err(Error::TwoQuestions),
            (Some(delta), None) => Question::EpsilonAt(delta),
            (None, Some(epsilon)) => Question::DeltaAt(epsilon),
            (None, None) => Question::EpsilonAt(args::default_delta()),
        };
        let claim = match &args.file {
            Some(path) => {
                no_training_flags(&args.training)?;
                input::claim(path, args.training.neighbours.map(|relation| relation.neighbours()))?
            }
            None => training_claim(&args.training)?,
        };
        let accountant = args.accountant.accountant();
        Ok(Self { claim, question, by_default, accountant, compare: args.compare, output: args.output })
    }

    /// The answers of all accountants. One that does not apply gives its reason, and the others
    /// still answer.
    fn compared(&self) -> Vec<Compared> {
        [Accountant::Basic, Accountant::Advanced, Accountant::Rdp, Accountant::Pld]
            .map(|accountant| (accountant, self.question.ask(&self.claim, accountant)))
            .into()
    }

    fn notes<'a>(&self, answer: &'a Cost) -> impl Iterator<Item = &'a str> {
        self.by_default.then_some(args::DEFAULT_DELTA_NOTE).into_iter().chain(answer.note.as_deref())
    }

    fn object(&self, answer: &Cost, compared: &[Compared]) -> Result<String, Error> {
        let (delta, epsilon) = match self.question {
            Question::EpsilonAt(delta) => (Quantity::Given(delta.get()), Quantity::Answer(answer.bound)),
            Question::DeltaAt(epsilon) => (Quantity::Answer(answer.bound), Quantity::Given(epsilon.get())),
        };
        json::text(&AccountObject {
            writer: Writer::this(),
            neighbours: self.claim.neighbours,
            delta,
            epsilon,
            accountant: answer.accountant,
            order: answer.order,
            note: answer.note.as_deref(),
            compare: self.compare.then(|| compared.iter().map(|line| self.compared_object(line)).collect()),
            event: &self.claim.event,
        })
    }

    fn compared_object<'a>(&self, (accountant, answer): &'a Compared) -> ComparedObject<'a> {
        let bound = answer.as_ref().ok().map(|account| account.bound);
        let (epsilon, delta) = match self.question {
            Question::EpsilonAt(_) => (bound, None),
            Question::DeltaAt(_) => (None, bound),
        };
        ComparedObject {
            accountant: accountant.to_string(),
            epsilon,
            delta,
            order: answer.as_ref().ok().and_then(|account| account.order),
            note: answer.as_ref().ok().and_then(|account| account.note.as_deref()),
            refused: answer.as_ref().err().map(ToString::to_string),
        }
    }

    fn table(&self, answer: &Cost, compared: &[Compared]) -> String {
        let bound = decimal::between(answer.bound);
        let (epsilon, delta) = match self.question {
            Question::EpsilonAt(delta) => (bound, decimal::exact(delta.get())),
            Question::DeltaAt(epsilon) => (decimal::exact(epsilon.get()), bound),
        };
        let mut table = Table::default();
        table.row(["epsilon", &epsilon]);
        table.row(["delta", &delta]);
        table.row(["neighbours", &self.claim.neighbours.to_string()]);
        table.row(["accountant", &with_order(answer.accountant, answer.order)]);
        table.row(["event", &describe::event(&self.claim.event)]);
        let mut text = table.text();
        if self.compare {
            text.push('\n');
            text.push_str(&self.comparison(compared));
        }
        text
    }

    fn comparison(&self, compared: &[Compared]) -> String {
        let asked = match self.question {
            Question::EpsilonAt(_) => "epsilon",
            Question::DeltaAt(_) => "delta",
        };
        let mut table = Table::default();
        table.row(["accountant", &format!("{asked} at least"), "at most", ""]);
        for (accountant, answer) in compared {
            let name = accountant.to_string();
            match answer {
                Ok(account) => {
                    let (low, high) = (decimal::down(account.bound.lower), decimal::up(account.bound.upper));
                    let order = account.order.map_or(String::new(), order);
                    table.row([&name, &low, &high, &order]);
                }
                Err(why) => table.row([&name, "-", "-", &why.to_string()]),
            }
        }
        table.text()
    }
}

impl Question {
    fn ask(self, claim: &Claim, accountant: Accountant) -> Result<Cost, AccountError> {
        match self {
            Self::EpsilonAt(delta) => accounting::epsilon(claim, delta, accountant),
            Self::DeltaAt(epsilon) => accounting::delta(claim, epsilon, accountant),
        }
    }
}

fn with_order(accountant: &str, at: Option<f64>) -> String {
    at.map_or_else(|| accountant.to_owned(), |at| format!("{accountant}, {}", order(at)))
}

fn order(at: f64) -> String {
    format!("order {}", decimal::down(at))
}

/// Refuses flags beside a file: the file already states the whole run.
fn no_training_flags(training: &Training) -> Result<(), Error> {
    match training.flag_given() {
        Some(flag) => Err(Error::FileAndFlags { flag }),
        None => Ok(()),
    }
}

fn training_claim(training: &Training) -> Result<Claim, Error> {
    let Some(noise_multiplier) = training.noise_multiplier else {
        return Err(match training.flag_given() {
            Some(flag) => Error::NoNoise { flag },
            None => Error::NothingToAccount,
        });
    };
    Ok(Claim::new(
        training.neighbours(),
        training_event(noise_multiplier, training.sampling_rate, training.steps),
    ))
}

/// The event of a training run. A number that is not given is left out, not filled with 1, so the
/// event shows what the user asked.
fn training_event(
    noise_multiplier: NoiseMultiplier,
    rate: Option<SamplingRate>,
    steps: Option<Count>,
) -> Event {
    let step = Event::gaussian(noise_multiplier);
    let sampled = match rate {
        Some(rate) => step.poisson_sampled(rate),
        None => step,
    };
    match steps {
        Some(steps) => sampled.repeated(steps),
        None => sampled,
    }
}
