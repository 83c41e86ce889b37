//! Everything before the first record of a CSV file: a byte order mark, a line `sep=;`, a header.
//!
//! # Guarantee
//! The delimiter is found from the header line alone, which is no record. If the first line is a
//! record (`--no-header`), only the number of its fields is used. A message shows text of the first
//! line only if the line can be a header.

use std::path::Path;

use sordino_spelling::quoted;

use super::kept::KeptFile;
use super::layout::{file_name, foreign, is_text, promised};
use super::names::not_a_name;
use super::{csv, packed};
use crate::error::DataError;
use crate::schema::CsvOptions;

/// The delimiters that are tried, the usual one first.
const DELIMITERS: [u8; 4] = *b",;\t|";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes before the first line: a byte order mark, and a line `sep=;` from a spreadsheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Preamble {
    /// Its length in bytes.
    pub(super) length: usize,
    /// The delimiter that a line `sep=;` states.
    pub(super) delimiter: Option<u8>,
}

impl Preamble {
    /// Bytes that suffice to find it: a byte order mark and `"sep=;"` with a line end have 12.
    pub(super) const MAX_BYTES: u64 = 16;

    /// The preamble of a file whose first line is a record. `sep=;` may then be a record.
    pub(super) fn of_record(bytes: &[u8]) -> Self {
        let mark = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        Self { length: mark, delimiter: None }
    }

    /// The preamble of a file whose first line is a header.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mark = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let line = bytes[mark..].split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        let text = line.strip_suffix(b"\n").map(|text| text.strip_suffix(b"\r").unwrap_or(text));
        let text =
            text.map(|text| text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(text));
        match text.and_then(|text| text.strip_prefix(b"sep=")) {
            Some(&[delimiter]) if delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() => {
                Self { length: mark + line.len(), delimiter: Some(delimiter) }
            }
            _ => Self { length: mark, delimiter: None },
        }
    }
}

/// What the user says about the first line of a CSV file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstLine {
    /// A header; a line that looks like a record is refused.
    #[default]
    Header,
    /// A header, whatever it looks like.
    SurelyHeader,
    /// A record. The columns are named `column_1`, `column_2`, ...
    Record,
}

/// What the user says about a CSV file that has no schema yet. The rest is found from its header
/// line, or has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvAsked {
    /// The character between two fields.
    pub delimiter: Option<u8>,
    /// The character before the fraction of a number.
    pub decimal: Option<u8>,
    /// The character between groups of three digits.
    pub thousands: Option<u8>,
    /// What the first line is.
    pub first_line: FirstLine,
}

/// How a file that has no schema yet is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFound {
    /// The options.
    pub options: CsvOptions,
    /// The delimiter that was found, if it is not the default and the user did not name it.
    pub delimiter: Option<u8>,
}

impl CsvFound {
    /// A note for a user who did not name the delimiter.
    pub fn note(&self) -> Option<&'static str> {
        Some(match self.delimiter? {
            b',' => "fields are separated by `,`, as the header shows",
            b';' => "fields are separated by `;`, as the header shows",
            b'\t' => "fields are separated by tabs, as the header shows",
            b'|' => "fields are separated by `|`, as the header shows",
            _ => "fields are separated by the character that the first line states",
        })
    }
}

impl CsvAsked {
    /// `options`, overridden by what the user says. Opens no file.
    pub fn over(&self, options: CsvOptions) -> CsvOptions {
        let first_line = match self.first_line {
            FirstLine::Header => (options.header, options.names),
            FirstLine::SurelyHeader => (true, options.names),
            // The fields are not counted here, so the list of names stays empty.
            FirstLine::Record => (options.header, Some(options.names.unwrap_or_default())),
        };
        CsvOptions {
            header: first_line.0,
            names: first_line.1,
            delimiter: self.delimiter.unwrap_or(options.delimiter),
            decimal: self.decimal.unwrap_or(options.decimal),
            thousands: self.thousands.or(options.thousands),
            ..options
        }
    }

    /// Whether the user says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The options of the file at this path. Uses its first line and nothing else; for a file in
    /// another format, not even that.
    pub fn find(&self, path: &Path) -> Result<CsvFound, DataError> {
        let file = KeptFile::open(path)?;
        let magic = packed::magic(&file)?;
        let usual = CsvOptions::default();
        let mut options = CsvOptions {
            delimiter: self.delimiter.unwrap_or(usual.delimiter),
            decimal: self.decimal.unwrap_or(usual.decimal),
            thousands: self.thousands,
            header: self.first_line == FirstLine::SurelyHeader,
            ..usual
        };
        let name = file_name(path);
        if magic.is_empty() || !is_text(&name, &magic) || is_other(&name, &magic) {
            return Ok(CsvFound { options, delimiter: None });
        }
        let expected = if name.ends_with(".tsv") { b'\t' } else { b',' };
        let stated = csv::stated_delimiter(&file, &options)?;
        let found = match (self.delimiter, stated) {
            (Some(asked), _) => asked,
            (None, Some(stated)) => stated,
            (None, None) if self.first_line == FirstLine::Record => expected,
            (None, None) => delimiter(&file, expected)?,
        };
        options.delimiter = found;
        options.check()?;
        if self.first_line == FirstLine::Record {
            let width = csv::width(&file, &options)?;
            let width = width.ok_or_else(|| DataError::Empty { path: path.to_owned() })?;
            options.names = Some((1..=width).map(|place| format!("column_{place}")).collect());
        }
        if expected == b'\t' && found == expected {
            // The default delimiter stands for tabs in a `.tsv` file, and keeps its format TSV.
            options.delimiter = CsvOptions::default().delimiter;
        }
        let delimiter = (self.delimiter.is_none() && found != expected).then_some(found);
        Ok(CsvFound { options, delimiter })
    }
}

/// Whether the name or the first bytes belong to a format other than CSV.
fn is_other(name: &str, magic: &[u8]) -> bool {
    name.ends_with(".bin")
        || promised(name).is_some()
        || magic.starts_with(super::npy::MAGIC)
        || super::idx::is_magic(magic)
        || magic.starts_with(b"PAR1")
        || magic.starts_with(b"ARROW1")
        || foreign(magic).is_some()
}

/// The delimiter that splits the header line into the most fields.
fn delimiter(file: &KeptFile, expected: u8) -> Result<u8, DataError> {
    let mut widths = Vec::new();
    for delimiter in DELIMITERS {
        let width = csv::width(file, &CsvOptions { delimiter, ..CsvOptions::default() })?;
        widths.push((width.unwrap_or(0), delimiter));
    }
    let most = widths.iter().map(|(width, _)| *width).max().unwrap_or(0);
    let best: Vec<u8> = widths.iter().filter(|(width, _)| *width == most).map(|(_, d)| *d).collect();
    match best[..] {
        _ if most <= 1 => Ok(expected),
        [first, second, ..] if most > 1 => Err(DataError::TwoDelimiters {
            path: file.path().to_owned(),
            first: char::from(first),
            second: char::from(second),
        }),
        [only, ..] => Ok(only),
        [] => Ok(expected),
    }
}

/// Refuses a first line that cannot be a header with this delimiter.
pub(super) fn check(path: &Path, names: &[String], delimiter: u8) -> Result<(), DataError> {
    if let [name] = names {
        let count = |other: u8| name.bytes().filter(|byte| *byte == other).count();
        let others = DELIMITERS.into_iter().filter(|other| *other != delimiter && count(*other) > 0);
        if let Some(found) = others.max_by_key(|other| count(*other)) {
            let (path, found) = (path.to_owned(), char::from(found));
            return Err(DataError::OneColumn { path, called: called(name, found), found });
        }
    }
    match not_a_name(names.iter().map(String::as_str)) {
        Some(not) => Err(DataError::NoHeader { path: path.to_owned(), field: not.field, what: not.what }),
        None => Ok(()),
    }
}

/// ` called ...` with the first two names, if the line can be a header with this delimiter.
fn called(name: &str, delimiter: char) -> String {
    let fields: Vec<&str> = name.split(delimiter).map(|field| field.trim().trim_matches('"')).collect();
    if not_a_name(fields.iter().copied()).is_some() {
        return String::new();
    }
    let rest = if fields.len() > 2 { format!("{delimiter}…") } else { String::new() };
    let shown = fields.iter().take(2).copied().collect::<Vec<_>>().join(&delimiter.to_string());
    format!(" called {}", quoted(&format!("{shown}{rest}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_and_a_sep_line_are_skipped() {
        let of = |bytes: &[u8]| (Preamble::of(bytes).length, Preamble::of(bytes).delimiter);
        assert_eq!(of(b"sep=;\r\na;b\r\n"), (7, Some(b';')));
        assert_eq!(of(b"\xef\xbb\xbfsep=\t\na\tb\n"), (9, Some(b'\t')));
        assert_eq!(of(b"\"sep=|\"\na|b\n"), (8, Some(b'|')));
        assert_eq!(of(b"\xef\xbb\xbfage,sex\n"), (3, None));
        for line in [&b"sep=x\n"[..], b"sep=;", b"sep=;;\n", b"age\n", b"", b"\xef\xbb"] {
            assert_eq!(of(line), (0, None));
        }
    }
}
