//! How a data set is parsed into records, and to whom they belong. Its owner decides that, not the
//! schema of an analyst.
//!
//! # Why it is the owner's
//! Neighbouring data sets differ in parsed records, and a column says which unit a record belongs
//! to. The choice of how to parse a file decides both. A comment character that some records start
//! with removes them, and n, which is public under `zero_out`, then tells how many there are.
//! A comment character that the header starts with hides it, and other column names can then make
//! the visit's number a patient's. So a ledger keeps the owner's reading beside the budget, and
//! everybody who spends from it reads the data that way.
//!
//! # What a schema may choose
//! An analyst's schema may choose bounds, values, kinds, rules and the number of records per unit:
//! the price accounts for these. It may ignore more columns than the owner does, never fewer.

use serde::{Deserialize, Serialize};
use sordino_privacy::Unit;
use sordino_spelling::quoted;

use crate::schema::{Column, CsvOptions, SCHEMA_MAX_BYTES, Schema, fits};
use crate::source::Source;

/// The version of the format that is written and read.
const FORMAT_VERSION: u32 = 1;
/// The longest stored reading that is read, in bytes.
pub const READING_MAX_BYTES: usize = SCHEMA_MAX_BYTES;

/// How a data set is read.
///
/// ```
/// use sordino_data::{Reading, Schema};
/// let owner = "csv.delimiter = ';'
///              columns.age = { kind = 'number', bounds = [0, 120] }
///              columns.name = { kind = 'ignore' }";
/// let reading = Reading::of(&Schema::from_toml(owner)?);
/// assert_eq!(Reading::from_text(&reading.to_text())?, reading);
///
/// // Another schema for the same data: the same file, the same unit, other bounds.
/// let schema = Schema::from_toml(&owner.replace("120", "90"))?;
/// reading.check_before_opening(&schema)?;
/// let counts_rows = Schema::from_toml(&format!("csv.comment = 'y'\n{owner}"))?;
/// assert!(reading.check_before_opening(&counts_rows).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    format: Option<String>,
    csv: CsvOptions,
    unit: Unit,
    /// Names and patterns that are ignored, sorted.
    ignored: Vec<String>,
    /// Names and patterns that are used although an ignored pattern matches them, sorted.
    used: Vec<String>,
}

impl Reading {
    /// The reading of the owner's schema.
    pub fn of(schema: &Schema) -> Self {
        let is_ignored = |(_, column): &(&str, &Column)| **column == Column::Ignore;
        let (ignored, used): (Vec<_>, Vec<_>) = schema.columns().partition(is_ignored);
        let mut ignored: Vec<String> = ignored.into_iter().map(|(name, _)| name.to_owned()).collect();
        let is_excepted = |name: &str| {
            // An ignored pattern covers a used one if it matches the text before its `*`.
            let start = name.strip_suffix('*').unwrap_or(name);
            ignored.iter().any(|pattern| fits(pattern, name) || fits(pattern, start))
        };
        let used = used.into_iter().filter(|(name, _)| is_excepted(name));
        let used = used.map(|(name, _)| name.to_owned()).collect();
        // A unit column that is not declared serves as the unit only, so nobody may use it
        // otherwise.
        let undeclared = schema.unit().column().filter(|column| schema.column(column).is_none());
        ignored.extend(undeclared.map(str::to_owned));
        let csv = schema.csv().clone();
        Self { format: None, csv, unit: schema.unit().unit(), ignored, used }.canonical()
    }

    /// The reading of an owner who states no schema: a plain file with no ignored column.
    pub fn default_for(unit: Unit) -> Self {
        let csv = CsvOptions::default();
        Self { format: None, csv, unit, ignored: Vec::new(), used: Vec::new() }.canonical()
    }

    /// Fixes the format that the owner's file has. Formats are recognised by file names too, and a
    /// file can be renamed without changing its content.
    pub fn in_format(self, source: &Source) -> Self {
        Self { format: Some(source.format().to_owned()), ..self }
    }

    /// The unit that the owner protects.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// The CSV options of the owner's file.
    pub fn csv(&self) -> &CsvOptions {
        &self.csv
    }

    /// The format of the owner's file, if it is stated.
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// Names and patterns of columns that the owner ignores. Longer patterns and names can be
    /// exceptions: ask [`ignores`](Self::ignores) about a column.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Whether the owner ignores this column, so that nobody may use it.
    pub fn ignores(&self, name: &str) -> bool {
        let has = |names: &[String]| names.binary_search_by(|known| known.as_str().cmp(name)).is_ok();
        if has(&self.ignored) || has(&self.used) {
            return has(&self.ignored);
        }
        let longest = |patterns: &[String]| {
            patterns.iter().filter(|pattern| fits(pattern, name)).map(String::len).max()
        };
        longest(&self.ignored) > longest(&self.used)
    }

    /// Checks CSV options and unit of a schema, without opening the file. Call it before opening:
    /// with the wrong options even an error about the header can show records.
    pub fn check_before_opening(&self, schema: &Schema) -> Result<(), ReadingError> {
        self.check_csv(schema.csv())?;
        self.check_unit(schema)
    }

    fn check_unit(&self, schema: &Schema) -> Result<(), ReadingError> {
        let got = schema.unit().unit();
        if got != self.unit {
            return Err(ReadingError::Unit { stated: self.unit.clone(), got });
        }
        Ok(())
    }

    /// Checks CSV options alone.
    pub fn check_csv(&self, csv: &CsvOptions) -> Result<(), ReadingError> {
        let got = csv.canonical();
        let keys = Csv::of(&self.csv).keys().into_iter().zip(Csv::of(&got).keys());
        for ((key, stated), (_, got)) in keys {
            if stated != got {
                return Err(ReadingError::Csv { key, stated: shortened(&stated), got: shortened(&got) });
            }
        }
        Ok(())
    }

    /// Checks that a schema reads the data as its owner does: the same CSV options, unit and
    /// format, and no column that the owner ignores.
    pub fn check(&self, schema: &Schema, source: &Source) -> Result<(), ReadingError> {
        // A table in memory is not parsed: its identity is that of its values.
        if source.is_memory() {
            self.check_unit(schema)?;
            return self.check_ignored(schema, source);
        }
        self.check_before_opening(schema)?;
        if let Some(stated) = self.format.as_ref().filter(|stated| *stated != source.format()) {
            return Err(ReadingError::Format { stated: stated.clone(), got: source.format() });
        }
        self.check_ignored(schema, source)
    }

    fn check_ignored(&self, schema: &Schema, source: &Source) -> Result<(), ReadingError> {
        let is_used = |name: &str| schema.column(name).is_some_and(|column| *column != Column::Ignore);
        let names = source.header().iter().map(|column| column.name.as_str());
        match names.into_iter().find(|name| self.ignores(name) && is_used(name)) {
            Some(column) => Err(ReadingError::Ignored { column: quoted(column) }),
            None => Ok(()),
        }
    }

    /// The text that a ledger keeps: JSON, the same for equal readings.
    pub fn to_text(&self) -> String {
        let stored = Stored {
            format_version: FORMAT_VERSION,
            format: self.format.clone(),
            csv: Csv::of(&self.csv),
            unit: self.unit.clone(),
            ignored: self.ignored.clone(),
            used: self.used.clone(),
        };
        // Strings and lists of them always serialise.
        serde_json::to_string(&stored).expect("a reading is JSON")
    }

    /// Reads the text of [`to_text`](Self::to_text).
    pub fn from_text(text: &str) -> Result<Self, ReadingError> {
        if text.len() > READING_MAX_BYTES {
            return Err(ReadingError::TooLong { bytes: text.len(), limit: READING_MAX_BYTES });
        }
        let unsound =
            |error: serde_json::Error| ReadingError::Text { line: error.line(), column: error.column() };
        let Version { format_version: got } = serde_json::from_str(text).map_err(unsound)?;
        if got != FORMAT_VERSION {
            return Err(ReadingError::Version { got, known: FORMAT_VERSION });
        }
        let stored: Stored = serde_json::from_str(text).map_err(unsound)?;
        let Stored { format, csv, unit, ignored, used, .. } = stored;
        let csv = csv.options().ok_or(ReadingError::Text { line: 1, column: 1 })?;
        Ok(Self { format, csv, unit, ignored, used }.canonical())
    }

    fn canonical(mut self) -> Self {
        for names in [&mut self.ignored, &mut self.used] {
            names.sort_unstable();
            names.dedup();
        }
        Self { csv: self.csv.canonical(), ..self }
    }
}

/// The version alone: newer formats may have fields that this program does not know.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format_version: u32,
    format: Option<String>,
    csv: Csv,
    unit: Unit,
    ignored: Vec<String>,
    used: Vec<String>,
}

/// [`CsvOptions`], with characters for bytes.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Csv {
    names: Option<Vec<String>>,
    delimiter: char,
    comment: Option<char>,
    missing: Vec<String>,
    // Options that later versions added. They are left out if they have their defaults, so that
    // older programs can read the text; they refuse any other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    header: bool,
    #[serde(default = "point", skip_serializing_if = "is_point")]
    decimal: char,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    thousands: Option<char>,
}

fn point() -> char {
    CsvOptions::default().decimal.into()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_point(decimal: &char) -> bool {
    *decimal == point()
}

impl Csv {
    fn of(options: &CsvOptions) -> Self {
        let CsvOptions { names, header, delimiter, comment, missing, decimal, thousands } = options.clone();
        Self {
            names,
            delimiter: delimiter.into(),
            comment: comment.map(char::from),
            missing,
            header,
            decimal: decimal.into(),
            thousands: thousands.map(char::from),
        }
    }

    fn options(self) -> Option<CsvOptions> {
        let byte = |character: char| u8::try_from(character).ok().filter(u8::is_ascii);
        let optional = |character: Option<char>| match character {
            Some(character) => byte(character).map(Some),
            None => Some(None),
        };
        Some(CsvOptions {
            names: self.names,
            header: self.header,
            delimiter: byte(self.delimiter)?,
            comment: optional(self.comment)?,
            missing: self.missing,
            decimal: byte(self.decimal)?,
            thousands: optional(self.thousands)?,
        })
    }

    /// The keys of `[csv]` that decide what is read, with their values as a schema writes them.
    /// `header` is not among them: it only says that a first line which looks like a record is a
    /// header all the same.
    fn keys(self) -> [(&'static str, String); 6] {
        let list = |texts: Vec<String>| {
            format!("[{}]", texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", "))
        };
        let left_out = || "left out".to_owned();
        let optional = |text: Option<char>| text.map_or_else(left_out, |c| format!("{:?}", c.to_string()));
        [
            ("names", self.names.map_or_else(left_out, list)),
            ("delimiter", format!("{:?}", self.delimiter.to_string())),
            ("comment", optional(self.comment)),
            ("missing", list(self.missing)),
            ("decimal", format!("{:?}", self.decimal.to_string())),
            ("thousands", optional(self.thousands)),
        ]
    }
}

/// The value in backticks, shortened for a message. Control characters are escaped already.
fn shortened(value: &str) -> String {
    const LONGEST: usize = 60;
    let start: String = value.chars().take(LONGEST).collect();
    let rest = if start.len() < value.len() { "…" } else { "" };
    format!("`{start}{rest}`")
}

/// Why a schema does not read a data set as its owner does. No message shows the content of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadingError {
    /// The schema has other CSV options than the owner.
    #[error(
        "the owner of the data has stated csv.{key} as {stated}, and the schema says {got}; how the file \
         is parsed is the owner's choice: write csv.{key} as it is stated, or leave it out if that is what \
         is stated"
    )]
    Csv {
        /// The key.
        key: &'static str,
        /// The owner's value.
        stated: String,
        /// The schema's value.
        got: String,
    },
    /// The schema has another unit.
    #[error(
        "the owner of the data protects the unit {stated}, and the schema has the unit {got}; state the \
         owner's: `unit = \"record\"`, or `unit = {{ column = \"...\", max_records = ... }}`"
    )]
    Unit {
        /// The owner's unit.
        stated: Unit,
        /// The schema's unit.
        got: Unit,
    },
    /// The file has another format.
    #[error(
        "the owner's data is read as {stated}, and this file is taken for {got}; keep the ending of the \
         name that the owner's file has"
    )]
    Format {
        /// The format of the owner's file.
        stated: String,
        /// The format of this file.
        got: &'static str,
    },
    /// The schema uses a column that the owner ignores.
    #[error(
        "the owner of the data ignores column {column}, and the schema uses it; set kind = \"ignore\" for it"
    )]
    Ignored {
        /// The column, quoted.
        column: String,
    },
    /// The text is not a stored reading.
    #[error("the stored reading of the data is not sound at line {line}, column {column}; was it changed?")]
    Text {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// The text has an unknown version.
    #[error(
        "the stored reading of the data has format_version {got}; this version of the program reads {known}: \
         update it"
    )]
    Version {
        /// The version of the text.
        got: u32,
        /// The version that is read.
        known: u32,
    },
    /// The text is too long.
    #[error("a stored reading has at most {limit} bytes, got {bytes}")]
    TooLong {
        /// The length of the text.
        bytes: usize,
        /// The longest text that is read.
        limit: usize,
    },
}

#[cfg(test)]
mod tests;
