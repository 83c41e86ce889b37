//! `sordino explain`: what a promise means, in words, numbers and a picture.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use sordino::prelude::*;
use sordino_report::{Explanation, Promise, Whose, picture, words};
use sordino_run::RunError;

use crate::args::{self, Output, Relation};
use crate::decimal;
use crate::error::Error;
use crate::input;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

const EXAMPLES: &str = "\
Examples:
  What is promised to one of 10000 people?
    sordino explain --epsilon 1 --delta 1e-6 --people 10000
  The same for a pure promise, and what a household of four loses:
    sordino explain --epsilon 0.5 --group 4
  A release says more than one pair of epsilon and delta; with a picture:
    sordino explain --event run.json --delta 1e-5 --svg curve.svg

All numbers are rounded against the promise: what an attacker can do is rounded up.";

/// A caveat for a promise that is stated by ε and δ alone.
const PAIR: &str = "These are the numbers of the worst program that keeps epsilon and delta. A given release \
    may tell less, because its noise is known: see its report, or ask with --event FILE in place of \
    --epsilon.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// The promise to explain
    #[arg(long, allow_hyphen_values = true, required_unless_present = "event", conflicts_with = "event")]
    epsilon: Option<Epsilon>,

    /// Its delta [default: 0; with --event 1e-6]
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<Delta>,

    /// Instead of epsilon and delta: everything that this event releases (JSON as for `account`;
    /// `-` reads standard input)
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,

    /// The number of people in the data, if it is public: says what delta means for them
    #[arg(long, value_name = "N", value_parser = args::count, allow_hyphen_values = true)]
    people: Option<Count>,

    /// Also say what a group of this many people loses
    #[arg(long, value_name = "K", value_parser = args::count, allow_hyphen_values = true)]
    group: Option<Count>,

    /// What a neighbouring data set is [default: add_remove]
    #[arg(long, value_enum)]
    neighbours: Option<Relation>,

    /// Write the trade-off curve as a picture
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(args: ExplainArgs) -> Result<(), Error> {
    let promise = promise(&args)?;
    let facts = Explanation::of(&promise, args.people, args.group);
    if let Some(path) = &args.svg {
        fs::write(path, picture(&promise))
            .map_err(|source| RunError::WriteFile { name: path.display().to_string(), source })?;
        if !args.output.quiet {
            output::note(&format!("the picture is in {}", path.display()));
        }
    }
    if args.output.json {
        return output::result(&object(&facts)?);
    }
    let mut text = page(&facts);
    if args.event.is_none() {
        text.push('\n');
        text.push_str(&wrapped(PAIR));
    }
    output::result(&text)
}

fn promise(args: &ExplainArgs) -> Result<Promise, Error> {
    let relation = args.neighbours.map(Relation::neighbours);
    if let Some(path) = &args.event {
        let claim = input::claim(path, relation)?;
        return Ok(Promise::of(claim, delta_of_event(args))?);
    }
    // Cannot fail: the flags require --epsilon or --event.
    let epsilon = args.epsilon.ok_or(Error::NothingToExplain)?;
    let delta = args.delta.unwrap_or(Delta::ZERO);
    Ok(Promise::pair(epsilon, delta, relation.unwrap_or(Neighbours::AddRemove)))
}

fn delta_of_event(args: &ExplainArgs) -> Delta {
    args.delta.unwrap_or_else(|| {
        if !args.output.quiet {
            output::note(args::DEFAULT_DELTA_NOTE);
        }
        args::default_delta()
    })
}

/// Numbers first, for those who know what they look for, then sentences for everybody.
fn page(facts: &Explanation) -> String {
    let mut text = summary(facts).text();
    for paragraph in words(facts, &Whose::person()) {
        text.push('\n');
        text.push_str(&wrapped(&paragraph));
    }
    text
}

fn summary(facts: &Explanation) -> Table {
    let mut table = Table::default();
    table.row(["epsilon", &decimal::up(facts.epsilon)]);
    table.row(["delta", &decimal::exact(facts.delta)]);
    table.row(["neighbours", &facts.neighbours.to_string()]);
    table.row(["best attacker's advantage", &format!("at most {}", decimal::up(facts.advantage))]);
    for attack in &facts.attacks {
        let at = format!("detections at {} false alarms", decimal::exact(attack.false_positive_rate));
        table.row([&at, &format!("at most {}", decimal::up(attack.true_positive_rate))]);
    }
    for group in &facts.groups {
        let (epsilon, delta) = (decimal::up(group.epsilon), decimal::up(group.delta));
        table.row([&format!("a group of {}", group.size), &format!("epsilon {epsilon} at delta {delta}")]);
    }
    table
}

/// The paragraph in lines of at most 100 characters.
fn wrapped(paragraph: &str) -> String {
    const WIDTH: usize = 100;
    let (mut text, mut length) = (String::new(), 0);
    for word in paragraph.split_whitespace() {
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > WIDTH {
            text.push('\n');
            length = 0;
        }
        if length > 0 {
            text.push(' ');
            length += 1;
        }
        text.push_str(word);
        length += letters;
    }
    text.push('\n');
    text
}

/// `sordino explain --json`.
#[derive(Debug, Serialize)]
struct ExplainObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    #[serde(flatten)]
    facts: &'a Explanation,
    /// The same facts in sentences.
    words: Vec<String>,
}

fn object(facts: &Explanation) -> Result<String, Error> {
    json::text(&ExplainObject { writer: Writer::this(), facts, words: words(facts, &Whose::person()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_no_word_is_lost() {
        let text = "word ".repeat(60);
        let wrapped = wrapped(&text);
        assert!(wrapped.lines().all(|line| line.len() <= 100 && !line.ends_with(' ')));
        assert_eq!(wrapped.split_whitespace().count(), 60);
    }
}
