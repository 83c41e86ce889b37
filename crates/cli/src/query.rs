//! `sordino query`: one private statistic of a table.
//!
//! The order is that of every release: plan from public parameters, pay, read the data, release, book.

mod args;
mod purse;
mod question;
mod show;

pub(crate) use self::args::QueryArgs;
use self::purse::Purse;
use self::question::Question;
use crate::error::Error;
use crate::output;

pub(crate) fn run(args: QueryArgs) -> Result<(), Error> {
    let mut purse = Purse::open(&args)?;
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
