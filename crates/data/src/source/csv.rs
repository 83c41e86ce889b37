//! Comma-separated values (RFC 4180): quotes, line ends within quotes, any delimiter; types come from the schema.
//!
//! # Blank lines
//! Where there are several columns a blank line is no record: it has no fields. Where there is one column it is a record whose
//! value is missing, so that how many records there are does not depend on what they hold.
//!
//! # Pitfalls
//! A quote that is not closed makes the records after it part of one field, up to [`MAX_RECORD_BYTES`]: which bytes form a
//! record is decided by the file, not record by record. Neighbouring data sets are sets of *records as parsed*. Whoever
//! lets others write lines into a file must see to it that each line is one record.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use csv_core::{ReadRecordResult, ReaderBuilder};

use super::{Door, MAX_COLUMNS, MAX_RECORD_BYTES, Pick, ReadRows};
use crate::error::DataError;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{CsvOptions, HeaderColumn, TypeHint};

/// Bytes of records that are held at a time.
const CHUNK_BYTES: usize = 32 << 20;

/// A CSV file whose header is known.
pub(crate) struct CsvLayout {
    names: Vec<String>,
    options: CsvOptions,
}

impl CsvLayout {
    pub(super) fn new(path: &Path, options: CsvOptions) -> Result<Self, DataError> {
        let names = match &options.names {
            Some(names) => names.clone(),
            None => header(path, &options)?,
        };
        Ok(Self { names, options })
    }

    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        let column = |name: &String| HeaderColumn { name: name.clone(), hint: TypeHint::Unknown };
        self.names.iter().map(column).collect()
    }

    pub(super) fn rows(
        &self,
        path: &Path,
        picks: Vec<Pick>,
        door: Door,
    ) -> Result<Box<dyn ReadRows>, DataError> {
        let mut records = Records::new(super::open(path)?, &self.options, self.names.len() == 1);
        if self.options.names.is_none() {
            records.next().map_err(|source| DataError::io(path, source))?;
        }
        let missing = self.options.missing.iter().map(|text| text.clone().into_bytes()).collect();
        let (fields, path) = (self.names.len(), path.to_owned());
        Ok(Box::new(CsvRows { path, records, picks, fields, missing, door }))
    }
}

fn header(path: &Path, options: &CsvOptions) -> Result<Vec<String>, DataError> {
    let mut records = Records::new(super::open(path)?, options, true);
    let mut is_after_blank = false;
    loop {
        match records.next().map_err(|source| DataError::io(path, source))? {
            Next::End => return Err(DataError::Empty { path: path.to_owned() }),
            Next::TooLong => {
                let what = format!("a header of more than {MAX_RECORD_BYTES} bytes or {MAX_COLUMNS} columns");
                let (path, instead) = (path.to_owned(), "is it a CSV file?");
                return Err(DataError::Unsupported { path, what, instead });
            }
            Next::Record if records.is_blank => is_after_blank = true,
            Next::Record => break,
        }
    }
    let text = |field: &[u8]| std::str::from_utf8(field).map(str::to_owned);
    let names: Result<Vec<String>, _> = records.fields().map(text).collect();
    let names = names.map_err(|_| DataError::HeaderNotText { path: path.to_owned() })?;
    // A blank line may be the name of the one column that there is, or its first record: nobody can tell.
    match &names[..] {
        [name] if is_after_blank || name.is_empty() => Err(DataError::BlankHeader { path: path.to_owned() }),
        _ => Ok(names),
    }
}

struct CsvRows {
    path: PathBuf,
    records: Records<Box<dyn Read>>,
    picks: Vec<Pick>,
    /// Columns of the header.
    fields: usize,
    missing: Vec<Vec<u8>>,
    door: Door,
}

impl ReadRows for CsvRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize) -> Result<(), DataError> {
        let (mut read, mut bytes) = (0, 0);
        // Long records are taken fewer at a time.
        while read < rows && bytes <= CHUNK_BYTES {
            let row = chunk.first_row + chunk.rows() as u64 + 1;
            match self.records.next().map_err(|source| DataError::io(&self.path, source))? {
                Next::End => break,
                Next::Record if self.records.ends == self.fields => self.take(chunk, row)?,
                Next::Record => {
                    let (expected, got) = (self.fields, self.records.ends);
                    self.refuse(chunk, |path| DataError::Fields { path, row, expected, got })?;
                }
                Next::TooLong => {
                    let limit = MAX_RECORD_BYTES;
                    self.refuse(chunk, |path| DataError::LongRecord { path, row, limit })?;
                }
            }
            read += 1;
            bytes += self.records.length;
        }
        Ok(())
    }
}

impl CsvRows {
    fn take(&self, chunk: &mut RawChunk, row: u64) -> Result<(), DataError> {
        for (pick, column) in self.picks.iter().zip(&mut chunk.columns) {
            let field = self.records.field(pick.index);
            let is_missing = self.missing.iter().any(|text| text == field);
            match column {
                _ if is_missing => column.push_missing(),
                RawColumn::Texts(texts) => texts.push(Some(field)),
                RawColumn::Numbers(values) => match number(field) {
                    Some(value) => values.push(value),
                    None if self.door == Door::Permissive => values.push(f64::NAN),
                    None => return Err(self.not_a_number(row, &pick.name)),
                },
            }
        }
        chunk.present.push(true);
        Ok(())
    }

    fn not_a_number(&self, row: u64, column: &str) -> DataError {
        let advice =
            "correct it, or list the text under csv.missing in the schema if it means that there is none";
        let (path, column) = (self.path.clone(), column.to_owned());
        DataError::Cell { path, row, column, expected: "a number".to_owned(), advice }
    }

    fn refuse(
        &self,
        chunk: &mut RawChunk,
        error: impl FnOnce(PathBuf) -> DataError,
    ) -> Result<(), DataError> {
        match self.door {
            Door::Strict => Err(error(self.path.clone())),
            Door::Permissive => {
                chunk.push_absent();
                Ok(())
            }
        }
    }
}

fn number(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// What the next record is.
enum Next {
    Record,
    /// Passed over: it was too long.
    TooLong,
    End,
}

/// Splits bytes into records and fields, in bounded memory.
struct Records<R> {
    input: BufReader<R>,
    core: csv_core::Reader,
    comment: Option<u8>,
    /// Whether a blank line is a record.
    has_blanks: bool,
    is_at_start: bool,
    /// Whether the last record was a blank line.
    is_blank: bool,
    /// Whether the last record ended with `\r`, to which a `\n` may belong.
    ended_with_return: bool,
    bytes: Vec<u8>,
    field_ends: Vec<usize>,
    /// How many fields the record has, and bytes.
    ends: usize,
    length: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<R: Read> Records<R> {
    fn new(input: R, options: &CsvOptions, has_blanks: bool) -> Self {
        let mut builder = ReaderBuilder::new();
        Self {
            input: BufReader::with_capacity(1 << 16, input),
            core: builder.delimiter(options.delimiter).comment(options.comment).build(),
            comment: options.comment,
            has_blanks,
            is_at_start: true,
            is_blank: false,
            ended_with_return: false,
            bytes: vec![0; 1 << 12],
            field_ends: vec![0; 64],
            ends: 0,
            length: 0,
        }
    }

    fn next(&mut self) -> std::io::Result<Next> {
        if self.has_blanks && self.take_blank()? {
            return Ok(Next::Record);
        }
        let (mut written, mut is_too_long) = (0, false);
        self.ends = 0;
        loop {
            let input = self.input.fill_buf()?;
            let (bytes, ends) = (&mut self.bytes[written..], &mut self.field_ends[self.ends..]);
            let (result, read, more, fields) = self.core.read_record(input, bytes, ends);
            self.ended_with_return = input[..read].ends_with(b"\r");
            self.input.consume(read);
            written += more;
            self.ends += fields;
            self.length = written;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.bytes.len() < MAX_RECORD_BYTES => {
                    self.bytes.resize(2 * self.bytes.len(), 0);
                }
                ReadRecordResult::OutputEndsFull if self.field_ends.len() <= MAX_COLUMNS => {
                    self.field_ends.resize(2 * self.field_ends.len(), 0);
                }
                // What is read from here on is thrown away, to the end of the record.
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    (written, self.ends, is_too_long) = (0, 0, true);
                }
                ReadRecordResult::Record if is_too_long => return Ok(Next::TooLong),
                ReadRecordResult::Record => return Ok(Next::Record),
                ReadRecordResult::End => return Ok(Next::End),
            }
        }
    }

    /// Takes one blank line as a record of one empty field, if one is next; comments before it are passed over. The parser would
    /// pass over both.
    fn take_blank(&mut self) -> std::io::Result<bool> {
        self.is_blank = false;
        if std::mem::take(&mut self.ended_with_return) {
            self.skip(b"\n")?;
        }
        if std::mem::take(&mut self.is_at_start) {
            self.skip(BYTE_ORDER_MARK)?;
        }
        while self.comment.is_some() && self.input.fill_buf()?.first() == self.comment.as_ref() {
            self.input.skip_until(b'\n')?;
        }
        match self.input.fill_buf()?.first() {
            Some(b'\n') => self.input.consume(1),
            Some(b'\r') => {
                self.input.consume(1);
                self.skip(b"\n")?;
            }
            Some(_) | None => return Ok(false),
        }
        (self.is_blank, self.ends, self.length, self.field_ends[0]) = (true, 1, 0, 0);
        Ok(true)
    }

    /// Passes over these bytes, if they are next.
    fn skip(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if self.input.fill_buf()?.starts_with(bytes) {
            self.input.consume(bytes.len());
        }
        Ok(())
    }

    fn field(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.field_ends[before]);
        trimmed(&self.bytes[start..self.field_ends[index]])
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends).map(|index| self.field(index))
    }
}

fn trimmed(mut field: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = field {
        field = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = field {
        field = rest;
    }
    field
}
