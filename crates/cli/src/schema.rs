//! `sordino schema DATA`: a schema to fill in, from the header of a file alone, or one that is found in the data and paid for.

mod found;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use sordino_data::{CsvOptions, HeaderColumn, Source, TypeHint, template};

use self::found::FindArgs;
use crate::args::Output;
use crate::error::Error;
use crate::json::{self, Writer};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  A template to fill in:
    sordino schema examples/data/breast-cancer.csv.gz
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

    /// What stands between two fields of a CSV file [default: `,`, or what the ledger says]
    #[arg(long, value_parser = delimiter)]
    delimiter: Option<u8>,

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
    let csv = CsvOptions { delimiter: args.delimiter.unwrap_or(b','), ..CsvOptions::default() };
    let source = Source::open(&args.data, &csv)?;
    if args.output.json {
        let columns = source.header().iter().map(ColumnObject::of).collect();
        let object = SchemaObject { writer: Writer::this(), format: source.format(), columns };
        return output::result(&json::text(&object)?);
    }
    output::result(&template(source.header()))?;
    if !args.output.quiet {
        output::note(
            "every column is ignored until you declare it; save this beside the data and fill it in",
        );
    }
    Ok(())
}

/// `sordino schema --json`.
#[derive(Debug, Serialize)]
struct SchemaObject<'a> {
    #[serde(flatten)]
    writer: Writer,
    format: &'a str,
    columns: Vec<ColumnObject<'a>>,
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

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(byte),
        _ => Err(format!("must be one ASCII character, no quote and no line end, got `{text}`")),
    }
}
