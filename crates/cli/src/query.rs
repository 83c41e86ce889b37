//! `sordino query`: one private statistic of a table.

mod args;
mod show;

pub(crate) use self::args::QueryArgs;
use crate::error::Error;
use crate::output;

pub(crate) fn run(args: QueryArgs) -> Result<(), Error> {
    if args.plan {
        let planned = sordino_run::query::plan(&args.query())?;
        return output::result(&if args.output.json {
            show::plan_object(&args, &planned)?
        } else {
            show::plan_text(&args, &planned)?
        });
    }
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
