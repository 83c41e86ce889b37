//! `sordino query`: one private statistic of a table.
//!
//! The order is that of every release: plan from public parameters, ask the budget, pay, read the data, release, book. Through the
//! strict door the owner is told before anything is charged whether every record fits the schema.

mod args;
mod question;
mod show;

use sordino::prelude::Neighbours;

pub(crate) use self::args::QueryArgs;
use self::question::Question;
use crate::args::Relation;
use crate::error::Error;
use crate::output;
use crate::purse::{Purse, purpose};

pub(crate) fn run(args: QueryArgs) -> Result<(), Error> {
    let asked = args.neighbours.map(Relation::neighbours);
    // The verb comes first: a locked data set allows some verbs alone.
    let question = format!("{} {}", args.statistic.name(), args.column.as_deref().unwrap_or_default());
    let what = purpose("query", Some(question.trim()));
    let mut purse = Purse::open(&args.data, &args.payment, asked, Neighbours::AddRemove, what)?;
    let question = Question::new(&args, &purse)?;
    let answer = question.answer(&mut purse)?;
    if !args.output.quiet {
        show::notes(&answer).into_iter().for_each(output::note);
    }
    output::result(&if args.output.json {
        show::object(&args, &answer, &purse)?
    } else {
        show::text(&args, &answer, &purse)?
    })
}
