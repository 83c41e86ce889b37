//! Flags that describe a CSV file that has no schema.

use clap::Args;
use sordino_data::{CsvAsked, FirstLine};

#[derive(Clone, Debug, Args)]
pub(crate) struct CsvArgs {
    /// The character between two fields of a CSV file [default: what the ledger says, or what the
    /// header shows]
    #[arg(long, value_parser = delimiter, conflicts_with = "schema")]
    delimiter: Option<u8>,

    /// The character before the fraction of a number in a CSV file: `.` or `,` [default: `.`]
    #[arg(long, value_name = "MARK", value_parser = decimal, conflicts_with = "schema")]
    decimal: Option<u8>,

    /// The character between groups of three digits in a CSV file: `.`, `,`, `'`, `_` or a space
    /// [default: none]
    #[arg(long, value_name = "MARK", value_parser = thousands, conflicts_with = "schema")]
    thousands: Option<u8>,

    /// The first line of a CSV file is a record; the columns are named column_1, column_2, ...
    #[arg(long, conflicts_with_all = ["schema", "header"])]
    no_header: bool,

    /// The first line of a CSV file is a header, even if it looks like a record
    #[arg(long, conflicts_with = "schema")]
    header: bool,
}

impl CsvArgs {
    pub(crate) fn asked(&self) -> CsvAsked {
        let first_line = match (self.no_header, self.header) {
            (true, _) => FirstLine::Record,
            (false, true) => FirstLine::SurelyHeader,
            (false, false) => FirstLine::Header,
        };
        CsvAsked { delimiter: self.delimiter, decimal: self.decimal, thousands: self.thousands, first_line }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        &[byte] if byte.is_ascii() && !b"\"\r\n".contains(&byte) => Ok(byte),
        _ => Err(format!("must be one ASCII character, no quote and no line end, got `{text}`")),
    }
}

fn decimal(text: &str) -> Result<u8, String> {
    one_of(text, b".,")
}

fn thousands(text: &str) -> Result<u8, String> {
    one_of(text, b".,'_ ")
}

fn one_of(text: &str, known: &[u8]) -> Result<u8, String> {
    match text.as_bytes() {
        &[byte] if known.contains(&byte) => Ok(byte),
        _ => {
            let known: Vec<String> = known.iter().map(|byte| format!("`{}`", char::from(*byte))).collect();
            Err(format!("must be one of {}, got `{text}`", known.join(" ")))
        }
    }
}
