//! `sordino ledger`: budgets that outlive a process.

pub(crate) mod args;
mod history;
mod rules;
mod show;

use serde::Serialize;
use sordino::prelude::Neighbours;
use sordino::privacy::{Filter, Terms};
use sordino_data::Source;
use sordino_ledger::{Head, Ledger, LedgerError};
use sordino_run::{RunError, content, identity, link_values, read_schema};

use self::args::{
    Action, BackupArgs, CreateArgs, ExportArgs, FilterName, Format, GrantArgs, LedgerArgs, LedgerFile,
    LinkArgs, RuleArgs, VerifyArgs,
};
use crate::args::{self as flags, Output, Relation};
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;
use crate::table::Table;

/// The default relation of a budget. A budget keeps its relation for good, so the default is one
/// that every verb can spend. Training needs a public number of records, which `add_remove` hides.
const USUAL_NEIGHBOURS: Neighbours = Neighbours::ZeroOut;

/// The note for a budget that takes [`USUAL_NEIGHBOURS`].
const USUAL_NEIGHBOURS_NOTE: &str = "no --neighbours given: took zero_out, under which the number of records \
    is public; add_remove hides it, and then `sordino train` cannot spend this budget";

/// The note for rules that are given without the data file.
const NO_FORMAT_NOTE: &str = "no --data given: the rules do not fix the file's format, and a file of another \
    name may be taken for another format";

pub(crate) fn run(args: LedgerArgs) -> Result<(), Error> {
    match args.action {
        Action::Create(args) => create(args),
        Action::Link(args) => link(args),
        Action::Grant(args) => grant(args),
        Action::Rule(args) => rule(args),
        Action::Show(args) => show::run(args),
        Action::History(args) => history::run(args),
        Action::Verify(args) => verify(args),
        Action::Backup(args) => backup(args),
        Action::Export(args) => export(args),
        Action::Migrate(args) => migrate(args),
    }
}

fn create(args: CreateArgs) -> Result<(), Error> {
    // Data and rules are read first, so that an error in them leaves no empty ledger behind.
    let identity = identity(&args.data.data, args.data.name.as_ref())?;
    let (rules, unit) = rules::of(&args.rules, args.unit.as_ref(), Some(&args.data.data))?;
    let terms = Terms::new(args.epsilon, args.neighbours.map_or(USUAL_NEIGHBOURS, Relation::neighbours))
        .with_delta(args.delta.unwrap_or_else(flags::default_delta))
        .for_unit(unit);
    let terms = if args.planned { terms.planned() } else { terms };
    let terms = match args.filter {
        Some(FilterName::Gaussian) => terms.filtered_by(Filter::Gaussian),
        Some(FilterName::Renyi) | None => terms,
    };
    let terms = args.set_aside.map_or(terms.clone(), |delta| terms.setting_aside(delta));
    let path = &args.file.ledger;
    let ledger = if Ledger::exists(path)? { Ledger::open(path)? } else { Ledger::create(path)? };
    ledger.create_data_set_with(&identity, &terms, &rules)?;
    let taken = [
        (args.delta.is_none(), flags::DEFAULT_DELTA_NOTE),
        (args.neighbours.is_none(), USUAL_NEIGHBOURS_NOTE),
    ];
    let notes = taken.into_iter().filter(|(is_usual, _)| *is_usual && !args.file.output.quiet);
    notes.for_each(|(_, note)| output::note(note));
    show::print(&ledger, Some(&identity.name), args.file.output)
}

fn link(args: LinkArgs) -> Result<(), Error> {
    let identity = identity(&args.data.data, args.data.name.as_ref())?;
    let schema = args.schema.as_deref().map(read_schema).transpose()?;
    let ledger = Ledger::open(&args.file.ledger)?;
    let Some(schema) = schema else {
        ledger.link(&identity)?;
        return show::print(&ledger, Some(&identity.name), args.file.output);
    };
    // A file that the ledger knows is linked by its values alone.
    if !ledger.find_by_name(&identity.name)?.contents.contains(&identity.content) {
        ledger.link(&identity)?;
    }
    let table = Source::open(&args.data.data, schema.csv()).map_err(RunError::from)?;
    link_values(&ledger, &identity.name, &table, &schema)?;
    show::print(&ledger, Some(&identity.name), args.file.output)
}

fn grant(args: GrantArgs) -> Result<(), Error> {
    let ledger = Ledger::open(&args.file.ledger)?;
    ledger.grant(&args.name, &args.to, args.epsilon, args.delta)?;
    show::print(&ledger, Some(&args.name), args.file.output)
}

fn rule(args: RuleArgs) -> Result<(), Error> {
    let ledger = Ledger::open(&args.file.ledger)?;
    let set = ledger.find_by_name(&args.name)?;
    if let Some(data) = &args.data {
        // `--data` fixes the format, so it must be a file that the ledger knows.
        let content = content(data)?;
        if !set.contents.contains(&content) {
            return Err(LedgerError::ChangedContent { name: args.name, content }.into());
        }
    }
    let (rules, _) = rules::of(&args.rules, Some(&set.terms.unit), args.data.as_deref())?;
    ledger.rule(&args.name, &rules)?;
    if args.data.is_none() && !args.file.output.quiet {
        output::note(NO_FORMAT_NOTE);
    }
    show::print(&ledger, Some(&args.name), args.file.output)
}

/// `sordino ledger migrate --json`.
#[derive(Debug, Serialize)]
struct MigrateObject {
    #[serde(flatten)]
    writer: Writer,
    from: u32,
    to: u32,
}

fn migrate(args: LedgerFile) -> Result<(), Error> {
    let ledger = Ledger::open(&args.ledger)?;
    let (from, to) = (ledger.migrate()?, ledger.format_version()?);
    if args.output.json {
        return output::result(&json::text(&MigrateObject { writer: Writer::this(), from, to })?);
    }
    output::result(&if from == to {
        format!("nothing to do: the ledger has format version {to}, the newest\n")
    } else {
        format!("raised from format version {from} to {to}; older programs now refuse it\n")
    })
}

/// Verifies a ledger. Exits with 1 if the history was tampered with, and with 2 if the file is no
/// ledger.
fn verify(args: VerifyArgs) -> Result<(), Error> {
    let verified = Ledger::open_to_read(&args.file.ledger).and_then(|ledger| ledger.verify(args.head));
    let head =
        verified.map_err(|error| if is_tampering(&error) { Error::Tampered(error) } else { error.into() })?;
    print_head("verified", head, args.file.output)
}

fn is_tampering(error: &LedgerError) -> bool {
    matches!(
        error,
        LedgerError::Broken { .. }
            | LedgerError::Damaged { .. }
            | LedgerError::LostEntries { .. }
            | LedgerError::OtherHistory { .. }
    )
}

fn backup(args: BackupArgs) -> Result<(), Error> {
    let head = Ledger::open(&args.file.ledger)?.backup(&args.copy)?;
    print_head("copied", head, args.file.output)
}

/// `sordino ledger verify --json`, and `backup`.
#[derive(Debug, Serialize)]
struct HeadObject {
    #[serde(flatten)]
    writer: Writer,
    entries: u64,
    head: String,
}

fn print_head(done: &str, head: Head, output: Output) -> Result<(), Error> {
    if output.json {
        let object = HeadObject { writer: Writer::this(), entries: head.number, head: head.to_string() };
        return output::result(&json::text(&object)?);
    }
    let mut table = Table::default();
    table.row([done, &format!("{} entries", head.number)]);
    table.row(["head", &head.to_string()]);
    output::result(&table.text())?;
    if !output.quiet {
        output::note(
            "keep the head elsewhere: `sordino ledger verify --head` then finds a rewritten history",
        );
    }
    Ok(())
}

fn export(args: ExportArgs) -> Result<(), Error> {
    #[derive(Serialize)]
    struct ExportObject {
        #[serde(flatten)]
        writer: Writer,
        #[serde(flatten)]
        export: sordino_ledger::Export,
    }
    let export = Ledger::open_to_read(&args.ledger)?.export()?;
    output::result(&match args.format {
        Format::Json => json::text(&ExportObject { writer: Writer::this(), export })?,
        Format::Csv => export.to_csv()?,
    })
}
