//! Comma-separated values (RFC 4180): quotes, line ends within quotes, any delimiter. Types come
//! from the schema.
//!
//! # Blank lines
//! In a file with several columns a blank line is no record: it has no fields. In a file with one
//! column it is a record whose value is missing, so that the number of records does not depend on
//! their values.
//!
//! # Pitfalls
//! A quote that is not closed makes the records after it part of one field, up to
//! [`MAX_RECORD_BYTES`]: the file as a whole, not each record, decides which bytes form a record.
//! Neighbouring data sets are sets of *records as parsed*. An owner who lets others write lines
//! into a file must make sure that each line is one record.

use std::io::{BufRead, BufReader, Chain, Cursor, Read};

use csv_core::{ReadRecordResult, ReaderBuilder};

use super::first_line::{self, Preamble};
use super::kept::KeptFile;
use super::packed::Unpacked;
use super::{MAX_COLUMNS, MAX_RECORD_BYTES, Pick, ReadRows};
use crate::error::DataError;
use crate::misfit::{Notes, Reason};
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{CsvOptions, HeaderColumn, TypeHint};

/// The bytes of records after which a chunk ends.
const CHUNK_BYTES: usize = 32 << 20;

/// A CSV file whose header is known.
pub(super) struct CsvLayout {
    pub(super) format: &'static str,
    names: Vec<String>,
    options: CsvOptions,
}

impl CsvLayout {
    pub(super) fn new(file: &KeptFile, format: &'static str, options: CsvOptions) -> Result<Self, DataError> {
        let stated = records(file, &options, true)?.start.delimiter;
        if let Some(stated) = stated.filter(|stated| *stated != options.delimiter) {
            let (path, stated) = (file.path().to_owned(), char::from(stated));
            return Err(DataError::StatedDelimiter { path, stated });
        }
        let names = match &options.names {
            Some(names) => names.clone(),
            None => {
                let names = header(file, &options)?;
                if format == "TSV" && names.len() == 1 && names[0].contains(',') {
                    let what = "commas between fields, and a name that promises tabs".to_owned();
                    let instead = "rename it to .csv, or save it with tabs";
                    return Err(DataError::Unsupported { path: file.path().to_owned(), what, instead });
                }
                if !options.header {
                    first_line::check(file.path(), &names, options.delimiter)?;
                }
                names
            }
        };
        Ok(Self { format, names, options })
    }

    pub(super) fn has_header_line(&self) -> bool {
        self.options.names.is_none() && !self.options.header
    }

    pub(super) fn header(&self) -> Vec<HeaderColumn> {
        let column = |name: &String| HeaderColumn { name: name.clone(), hint: TypeHint::Unknown };
        self.names.iter().map(column).collect()
    }

    pub(super) fn rows(&self, file: &KeptFile, picks: Vec<Pick>) -> Result<Box<dyn ReadRows>, DataError> {
        let mut records = records(file, &self.options, self.names.len() == 1)?;
        if self.options.names.is_none() {
            let header = records.next().map_err(|source| DataError::io(file.path(), source))?;
            let is_same = || records.fields().eq(self.names.iter().map(String::as_bytes));
            if !(matches!(header, Next::Record) && is_same()) {
                return Err(file.changed());
            }
        }
        let missing = self.options.missing.iter().map(|text| text.clone().into_bytes()).collect();
        let (fields, file, options) = (self.names.len(), file.clone(), self.options.clone());
        Ok(Box::new(CsvRows { file, records, picks, fields, missing, options }))
    }
}

/// The records of the file, from its start.
fn records(file: &KeptFile, options: &CsvOptions, has_blanks: bool) -> Result<Records<Unpacked>, DataError> {
    Records::new(Unpacked::open(file)?, options, has_blanks)
        .map_err(|source| DataError::io(file.path(), source))
}

/// The number of fields in the first line; `None` if the file has no line, or one that is too long.
pub(super) fn width(file: &KeptFile, options: &CsvOptions) -> Result<Option<usize>, DataError> {
    let mut records = records(file, options, false)?;
    let next = records.next().map_err(|source| DataError::io(file.path(), source))?;
    Ok(matches!(next, Next::Record).then_some(records.ends))
}

/// The delimiter that a line `sep=;` states.
pub(super) fn stated_delimiter(file: &KeptFile, options: &CsvOptions) -> Result<Option<u8>, DataError> {
    Ok(records(file, options, false)?.start.delimiter)
}

pub(super) fn header(file: &KeptFile, options: &CsvOptions) -> Result<Vec<String>, DataError> {
    let path = file.path();
    let mut records = records(file, options, true)?;
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
    // In a file with one column, a blank line may be its name or its first record.
    match &names[..] {
        [name] if is_after_blank || name.is_empty() => Err(DataError::BlankHeader { path: path.to_owned() }),
        _ => Ok(names),
    }
}

/// The rows of a public table of at most `most` bytes, its header first, as texts.
pub(crate) fn small_table(
    path: &std::path::Path,
    options: &CsvOptions,
    most: usize,
) -> Result<Vec<Vec<String>>, DataError> {
    let file = KeptFile::open(path)?;
    let header = CsvLayout::new(&file, "CSV", options.clone())?.names;
    let mut records = records(&file, options, false)?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    loop {
        match records.next().map_err(|source| DataError::io(path, source))? {
            Next::End => return Ok(rows),
            Next::Record if bytes <= most => {}
            Next::Record | Next::TooLong => {
                let what = format!("more than {most} bytes");
                let instead = "is it a table of public facts?";
                return Err(DataError::Unsupported { path: path.to_owned(), what, instead });
            }
        }
        let (row, got) = (rows.len() as u64, records.ends);
        if got != header.len() {
            return Err(DataError::Fields { path: path.to_owned(), row, expected: header.len(), got });
        }
        let text = |field: &[u8]| std::str::from_utf8(field).map(str::to_owned);
        let texts: Result<Vec<String>, _> = records.fields().map(text).collect();
        rows.push(texts.map_err(|_| DataError::HeaderNotText { path: path.to_owned() })?);
        bytes += records.length;
    }
}

struct CsvRows {
    file: KeptFile,
    records: Records<Unpacked>,
    picks: Vec<Pick>,
    /// The number of columns in the header.
    fields: usize,
    missing: Vec<Vec<u8>>,
    options: CsvOptions,
}

impl ReadRows for CsvRows {
    fn read(&mut self, chunk: &mut RawChunk, rows: usize, misfits: &mut Notes) -> Result<(), DataError> {
        let (mut read, mut bytes) = (0, 0);
        // Long records come in shorter chunks.
        while read < rows && bytes <= CHUNK_BYTES {
            let row = chunk.first_row + chunk.rows() as u64 + 1;
            match self.records.next().map_err(|source| DataError::io(self.file.path(), source))? {
                Next::End => break,
                Next::Record if self.records.ends == self.fields => self.take(chunk, row, misfits),
                Next::Record => {
                    let (expected, got) = (self.fields, self.records.ends);
                    misfits.note(row, || Reason::Fields { expected, got });
                    chunk.push_absent();
                }
                Next::TooLong => {
                    misfits.note(row, || Reason::LongRecord { limit: MAX_RECORD_BYTES });
                    chunk.push_absent();
                }
            }
            read += 1;
            bytes += self.records.length;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<[u8; 32], DataError> {
        let digest = self.records.input.into_inner().into_inner().1.finish();
        digest.map_err(|source| DataError::io(self.file.path(), source))
    }
}

impl CsvRows {
    fn take(&self, chunk: &mut RawChunk, row: u64, misfits: &mut Notes) {
        for (pick, column) in self.picks.iter().zip(&mut chunk.columns) {
            let field = self.records.field(pick.index);
            let is_missing = self.missing.iter().any(|text| text == field);
            match column {
                _ if is_missing => column.push_missing(),
                RawColumn::Texts(texts) => texts.push(Some(field)),
                RawColumn::Numbers(values) => values.push(self.options.number(field).unwrap_or_else(|| {
                    misfits.note_unread(row, &pick.name, || self.not_a_number(field));
                    f64::NAN
                })),
            }
        }
        chunk.present.push(true);
    }

    /// What to do about a field that is no number. If other separators would make it a number, the
    /// advice names them.
    fn not_a_number(&self, field: &[u8]) -> &'static str {
        let reads = |decimal, thousands| {
            let options = CsvOptions { decimal, thousands, ..self.options.clone() };
            options.number(field).is_some()
        };
        if reads(b',', None) && reads(b'.', Some(b',')) {
            "it is one with a decimal comma, or with commas between thousands: set csv.decimal = \",\" or \
            csv.thousands = \",\" in the schema, whichever it is"
        } else if reads(b',', None) {
            "it is one with a decimal comma: set csv.decimal = \",\" in the schema if numbers are written so"
        } else if reads(b',', Some(b'.')) || reads(b',', Some(b' ')) || reads(b',', Some(b'\'')) {
            "it is one with a decimal comma and separated thousands: set csv.decimal and csv.thousands in \
            the schema"
        } else if reads(b'.', None) {
            "it is one with a decimal point: correct it, or leave csv.decimal and csv.thousands out of the \
            schema"
        } else if reads(b'.', Some(b',')) || reads(b'.', Some(b' ')) || reads(b'.', Some(b'\'')) {
            "it is one with separated thousands: set csv.thousands in the schema if numbers are written so"
        } else {
            "correct it, or list the text under csv.missing in the schema if it means that there is none"
        }
    }
}

/// The result of reading one record.
enum Next {
    Record,
    /// The record was too long and was skipped.
    TooLong,
    End,
}

/// Splits bytes into records and fields, in bounded memory.
struct Records<R> {
    input: BufReader<Chain<Cursor<Vec<u8>>, R>>,
    start: Preamble,
    core: csv_core::Reader,
    comment: Option<u8>,
    /// Whether a blank line is a record.
    has_blanks: bool,
    /// Whether the last record was a blank line.
    is_blank: bool,
    /// Whether the last record ended with `\r`, to which a `\n` may belong.
    ended_with_return: bool,
    bytes: Vec<u8>,
    field_ends: Vec<usize>,
    /// The number of fields of the record.
    ends: usize,
    /// The bytes of the record.
    length: usize,
}

impl<R: Read> Records<R> {
    /// Skips what is before the first line: a byte order mark, and a line `sep=;`.
    fn new(mut input: R, options: &CsvOptions, has_blanks: bool) -> std::io::Result<Self> {
        let mut bytes = Vec::new();
        input.by_ref().take(Preamble::MAX_BYTES).read_to_end(&mut bytes)?;
        let start = if options.names.is_some() { Preamble::of_record(&bytes) } else { Preamble::of(&bytes) };
        let rest = Cursor::new(bytes.split_off(start.length)).chain(input);
        let mut builder = ReaderBuilder::new();
        Ok(Self {
            input: BufReader::with_capacity(1 << 16, rest),
            start,
            core: builder.delimiter(options.delimiter).comment(options.comment).build(),
            comment: options.comment,
            has_blanks,
            is_blank: false,
            ended_with_return: false,
            bytes: vec![0; 1 << 12],
            field_ends: vec![0; 64],
            ends: 0,
            length: 0,
        })
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
                // The rest of this record is read and thrown away.
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    (written, self.ends, is_too_long) = (0, 0, true);
                }
                ReadRecordResult::Record if is_too_long => return Ok(Next::TooLong),
                ReadRecordResult::Record => return Ok(Next::Record),
                ReadRecordResult::End => return Ok(Next::End),
            }
        }
    }

    /// If the next line is blank, takes it as a record of one empty field; skips comments before
    /// it. The parser would skip both.
    fn take_blank(&mut self) -> std::io::Result<bool> {
        self.is_blank = false;
        if std::mem::take(&mut self.ended_with_return) {
            self.skip(b"\n")?;
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

    /// Skips these bytes, if they are next.
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
