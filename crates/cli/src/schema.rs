//! `sordino schema DATA`: a schema to fill in, made from the header of a file alone, or one that is
//! found in the data and paid for.

mod found;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use sordino_data::{CsvFound, DataError, Dictionary, HeaderColumn, Source, TypeHint, template};

use self::found::FindArgs;
use crate::args::Output;
use crate::csv::CsvArgs;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  A template to fill in:
    sordino schema examples/data/breast-cancer.csv.gz
  A file without a header line, with semicolons and decimal commas:
    sordino schema visits.csv --no-header --delimiter ';' --decimal ,
  A schema from a data dictionary (CSV: name, type, minimum, maximum, values):
    sordino schema patients.csv --from dictionary.csv
  The header as JSON:
    sordino schema examples/data/digits.csv.gz --json

  Bounds and values that nobody can declare, found with noise and paid for from a budget:
    sordino schema patients.csv --epsilon 0.5 --numbers income --categories city --schema known.toml \
      --ledger budgets.ledger --out patients.toml

Without --epsilon no value of the file is looked at: bounds and categories are yours to declare.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SchemaArgs {
    /// The file: CSV (also .gz, .zst), Parquet, Arrow IPC, NPY, IDX (MNIST) or CIFAR binary
    #[arg(value_name = "DATA")]
    data: PathBuf,

    #[command(flatten)]
    csv: CsvArgs,

    /// Declare what this data dictionary says: CSV with the columns name, type, minimum, maximum
    /// and values
    #[arg(long, value_name = "DICTIONARY", conflicts_with = "epsilon")]
    from: Option<PathBuf>,

    #[command(flatten)]
    find: FindArgs,

    #[command(flatten)]
    output: Output,
}

pub(crate) fn run(args: SchemaArgs) -> Result<(), Error> {
    if let Some(epsilon) = args.find.epsilon {
        return found::run(&args, epsilon);
    }
    if let Some(flag) = args.find.stray() {
        return Err(Error::NothingToPay { flag });
    }
    let found = args.csv.asked().find(&args.data)?;
    let source = Source::open(&args.data, &found.options)?;
    let dictionary = args.from.as_deref().map(Dictionary::read).transpose()?;
    let declared = match (&args.from, &dictionary) {
        (Some(path), Some(dictionary)) => {
            let refused = |source| DataError::Dictionary { path: path.clone(), row: None, source };
            Some(dictionary.schema(source.header(), &found.options).map_err(refused)?)
        }
        _ => None,
    };
    if args.output.json {
        let columns = source.header().iter().map(ColumnObject::of).collect();
        let is_csv = matches!(source.format(), "CSV" | "TSV");
        let delimiter = is_csv.then(|| char::from(delimiter_of(&source, &found)));
        let object = SchemaObject {
            writer: Writer::this(),
            format: source.format(),
            delimiter,
            columns,
            schema: declared.as_deref(),
        };
        return output::result(&json::text(&object)?);
    }
    output::result(&declared.unwrap_or_else(|| template(source.header(), &found.options)))?;
    if !args.output.quiet {
        notes(&args, &source, &found, dictionary.as_ref()).iter().for_each(|note| output::note(note));
    }
    Ok(())
}

fn delimiter_of(source: &Source, found: &CsvFound) -> u8 {
    if source.format() == "TSV" { b'\t' } else { found.options.delimiter }
}

fn notes(
    args: &SchemaArgs,
    source: &Source,
    found: &CsvFound,
    dictionary: Option<&Dictionary>,
) -> Vec<String> {
    let mut notes: Vec<String> = found.note().map(str::to_owned).into_iter().collect();
    let count = source.header().len();
    let columns = if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
    match (source.format(), &found.options.names) {
        ("CSV" | "TSV", Some(_)) => notes.push(format!(
            "the first line is a record, with {columns} by the delimiter `{}`; rename them in the template",
            char::from(delimiter_of(source, found)).escape_debug()
        )),
        ("CSV" | "TSV", None) => notes.push(format!(
            "the names are the first line of the file, {columns}; if that line is a record, show the \
            template to nobody and use --no-header"
        )),
        _ => {}
    }
    match (dictionary.map(|dictionary| dictionary.unknown(source.header())), &args.from) {
        (Some(0), _) => {}
        (Some(unknown), Some(from)) => {
            notes.push(format!("{unknown} of {columns} are not in `{}` and are ignored", from.display()));
        }
        _ => notes.push(
            "every column is ignored until you declare it; save this beside the data and fill it in"
                .to_owned(),
        ),
    }
    notes
}

/// `sordino schema --json`.
#[derive(Debug, Serialize)]
struct SchemaObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    delimiter: Option<char>,
    columns: Vec<ColumnObject<'a>>,
    /// The schema from a dictionary, as TOML.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ColumnObject<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
}

impl<'a> ColumnObject<'a> {
    fn of(column: &'a HeaderColumn) -> Self {
        let kind = match column.hint {
            TypeHint::Unknown => "unknown",
            TypeHint::Byte => "byte",
            TypeHint::Number => "number",
            TypeHint::Text => "text",
            TypeHint::Boolean => "boolean",
            TypeHint::Nested => "nested",
        };
        Self { name: &column.name, kind }
    }
}
