//! `sordino query`: one private statistic of a table.

mod args;
mod show;

pub(crate) use self::args::QueryArgs;
use crate::error::Error;
use crate::output;

pub(crate) fn run(args: QueryArgs) -> Result<(), Error> {
    let (answer, purse) = sordino_run::query::answer(&args.query())?;
    if !args.output.quiet {
        show::notes(&answer).into_iter().for_each(output::note);
    }
    output::result(&if args.output.json {
        show::object(&args, &answer, &purse)?
    } else {
        show::text(&args, &answer, &purse)?
    })
}
