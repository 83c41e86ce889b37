//! Bounded data: every value lies within its declared bounds, whatever the file holds.
//!
//! # Guarantee
//! The function that makes a [`Table`] from raw records looks at each record alone, so
//! neighbouring inputs give neighbouring tables, slot by slot. Numbers lie within their bounds and
//! are never NaN, codes are indices into the list of values, and a record that does not fit the
//! schema leaves an empty slot. If the schema names a unit, at most `max_records` records of each
//! unit are present.
//!
//! # Pitfalls
//! The number of *present* records is a statistic of the data. The number of slots is public under
//! `zero_out` and `replace`. A mean divides by the number of slots or by a noisy count, never by
//! the number of present records.

use std::ops::Range;
use std::path::Path;

use sordino_noise::Bits;

use crate::binding::{Binding, Field};
use crate::error::DataError;
use crate::limits::{ContributionLimit, Reservoirs};
use crate::misfit::{Notes, Reason};
use crate::raw::{RawChunk, RawColumn, RawTable, Texts};
use crate::schema::{Bounds, CategoryColumn, Column, NumberColumn, Rule, Schema};
use crate::source::Door;

/// Bounded columns in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<BoundedColumn>,
    present: Vec<bool>,
    /// The number of each slot's unit, if the schema names a unit.
    owners: Option<Vec<u64>>,
    limit: ContributionLimit,
}

/// A column whose values lie within their declared bounds. Values of empty slots are placeholders:
/// ask [`Table::is_present`], or read through [`Table::numbers`] and [`Table::codes`].
#[derive(Clone, PartialEq)]
pub enum BoundedColumn {
    /// Numbers within bounds.
    Numbers {
        /// The bounds.
        bounds: Bounds,
        /// One number for each slot.
        values: Vec<f64>,
    },
    /// Categories, as indices into the list of values.
    Categories {
        /// The list of values.
        values: Vec<String>,
        /// One index for each slot.
        codes: Vec<u32>,
    },
}

impl Table {
    /// Bounds raw columns by a schema. Every column must be declared, and every declared column
    /// that is not ignored must be there.
    pub fn new<R: Bits + ?Sized>(
        raw: RawTable,
        schema: &Schema,
        door: Door,
        bits: &mut R,
    ) -> Result<Self, DataError> {
        let place = Path::new("the table");
        let binding = Binding::all(place, &raw.names, schema, &[])?;
        let RawChunk { mut present, columns, .. } = raw.chunk;
        let owners = binding.unit().map(|unit| {
            let mut units = Reservoirs::new(schema.unit().max_records());
            let names = columns[unit].spelled();
            let owners = names.iter().enumerate().map(|(slot, unit)| units.see(unit, slot, bits)).collect();
            units.keep(&mut present);
            owners
        });
        let mut columns: Vec<Option<RawColumn>> = columns.into_iter().map(Some).collect();
        let picked = binding.fields().iter().filter_map(|field| columns[field.index].take()).collect();
        let chunk = RawChunk { first_row: 0, present, columns: picked };
        let mut table = Self::empty(&binding, schema);
        let mut misfits = Notes::new(door);
        table.extend(&binding, chunk, &mut misfits)?;
        misfits.check(place)?;
        Ok(table.owned_by(owners))
    }

    /// A table without slots.
    pub(crate) fn empty(binding: &Binding, schema: &Schema) -> Self {
        let empty = |field: &Field| match &field.column {
            Column::Category(column) => {
                BoundedColumn::Categories { values: column.values().to_vec(), codes: Vec::new() }
            }
            Column::Number(column) => BoundedColumn::Numbers { bounds: column.bounds(), values: Vec::new() },
            // A binding has no ignored columns.
            Column::Ignore => BoundedColumn::Categories { values: Vec::new(), codes: Vec::new() },
        };
        Self {
            names: binding.fields().iter().map(|field| field.name.clone()).collect(),
            columns: binding.fields().iter().map(empty).collect(),
            present: Vec::new(),
            owners: None,
            limit: ContributionLimit::of(schema.unit()),
        }
    }

    /// Bounds one more chunk. Notes each record that does not fit, and leaves its slot empty.
    pub(crate) fn extend(
        &mut self,
        binding: &Binding,
        chunk: RawChunk,
        misfits: &mut Notes,
    ) -> Result<(), DataError> {
        let RawChunk { first_row, mut present, columns } = chunk;
        for ((field, raw), column) in binding.fields().iter().zip(&columns).zip(&mut self.columns) {
            let mut cells = Cells { field, first_row, present: &mut present, misfits };
            match (&field.column, raw, column) {
                (Column::Number(rules), RawColumn::Numbers(raw), BoundedColumn::Numbers { values, .. }) => {
                    cells.numbers(rules, raw, values);
                }
                (Column::Number(rules), RawColumn::Texts(raw), BoundedColumn::Numbers { values, .. }) => {
                    cells.numbers(rules, &parsed(raw), values);
                }
                (Column::Category(rules), raw, BoundedColumn::Categories { codes, .. }) => {
                    cells.categories(rules, &raw.spelled(), codes);
                }
                // `empty` made a column of the field's kind.
                (Column::Number(_) | Column::Category(_) | Column::Ignore, ..) => {}
            }
        }
        self.present.extend(present);
        if self.present.len() > u32::MAX as usize {
            return Err(DataError::TooManyRecords);
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        self.present.clear();
        for column in &mut self.columns {
            match column {
                BoundedColumn::Numbers { values, .. } => values.clear(),
                BoundedColumn::Categories { codes, .. } => codes.clear(),
            }
        }
    }

    /// The same table with the units of its slots.
    pub(crate) fn owned_by(self, owners: Option<Vec<u64>>) -> Self {
        Self { owners, ..self }
    }

    /// The unit of each record that is present, if the schema names a unit. Records of one unit
    /// have equal numbers; the numbers mean nothing else.
    pub fn owners(&self) -> Option<Vec<u64>> {
        self.owners.as_ref().map(|owners| self.present_of(owners).collect())
    }

    /// The number of slots: records that were read, dropped ones included.
    pub fn slots(&self) -> usize {
        self.present.len()
    }

    /// Whether a slot holds a record.
    pub fn is_present(&self, slot: usize) -> bool {
        self.present[slot]
    }

    /// Whether each of these slots holds a record.
    pub(crate) fn present(&self, slots: Range<usize>) -> &[bool] {
        &self.present[slots]
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The limit on the records of one unit.
    pub fn limit(&self) -> &ContributionLimit {
        &self.limit
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Result<&BoundedColumn, DataError> {
        Ok(self.column_near(0, name)?.1)
    }

    /// The column of this name and its place, which is sought at `expected` first: a search for
    /// each of many columns would take the square of their number.
    pub(crate) fn column_near(
        &self,
        expected: usize,
        name: &str,
    ) -> Result<(usize, &BoundedColumn), DataError> {
        let is_there = self.names.get(expected).is_some_and(|known| known == name);
        let place = if is_there { Some(expected) } else { self.names.iter().position(|known| known == name) };
        place.map(|place| (place, &self.columns[place])).ok_or_else(|| DataError::NoSuchColumn {
            column: name.to_owned(),
            hint: sordino_spelling::hint(name, self.names.iter().map(String::as_str)),
        })
    }

    /// The bounds of a column of numbers, and its numbers in the records that are present.
    pub fn numbers(&self, name: &str) -> Result<(Bounds, impl Iterator<Item = f64>), DataError> {
        match self.column(name)? {
            BoundedColumn::Numbers { bounds, values } => Ok((*bounds, self.present_of(values))),
            BoundedColumn::Categories { .. } => {
                let (expected, got) = ("a number", "that it is a category");
                Err(DataError::WrongKind { column: name.to_owned(), expected, got })
            }
        }
    }

    /// The values of a column of categories, and its codes in the records that are present.
    pub fn codes(&self, name: &str) -> Result<(&[String], impl Iterator<Item = u32>), DataError> {
        match self.column(name)? {
            BoundedColumn::Categories { values, codes } => Ok((values, self.present_of(codes))),
            BoundedColumn::Numbers { .. } => {
                let (expected, got) = ("a category", "that it is a number");
                Err(DataError::WrongKind { column: name.to_owned(), expected, got })
            }
        }
    }

    /// The number of records that are present: a statistic of the data, so release it with noise
    /// only.
    pub fn records(&self) -> usize {
        self.present.iter().filter(|is_present| **is_present).count()
    }

    fn present_of<'a, T: Copy>(&'a self, values: &'a [T]) -> impl Iterator<Item = T> + 'a {
        values.iter().zip(&self.present).filter_map(|(value, is_present)| is_present.then_some(*value))
    }
}

impl std::fmt::Debug for BoundedColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Numbers { bounds, .. } => {
                f.debug_struct("Numbers").field("bounds", bounds).finish_non_exhaustive()
            }
            Self::Categories { values, .. } => {
                f.debug_struct("Categories").field("values", values).finish_non_exhaustive()
            }
        }
    }
}

/// The cells of one column in one chunk.
struct Cells<'a> {
    field: &'a Field,
    first_row: u64,
    present: &'a mut [bool],
    misfits: &'a mut Notes,
}

impl Cells<'_> {
    fn numbers(&mut self, rules: &NumberColumn, raw: &[f64], out: &mut Vec<f64>) {
        let bounds = rules.bounds();
        // The reader has already noted these rows, with better advice.
        let unread = self.misfits.take_unread(&self.field.name);
        // Most chunks have nothing that does not fit, and then there is nothing to decide.
        if !rules.is_whole() && !has_missing(raw) {
            out.extend(raw.iter().map(|value| bounds.clamp(*value)));
            return;
        }
        for (row, &value) in raw.iter().enumerate() {
            if value.is_nan() && unread.binary_search(&(self.first_row + row as u64 + 1)).is_ok() {
                out.push(bounds.lower());
                continue;
            }
            if rules.accepts(value) {
                out.push(bounds.clamp(value));
                continue;
            }
            // A fraction in a column of whole numbers is not a missing value: the owner is told.
            let is_told = !value.is_nan() && self.misfits.door() == Door::Strict;
            let rule = if is_told { Rule::Undeclared } else { rules.missing_rule() };
            let expected = if rules.is_whole() { "a whole number" } else { "a number" };
            out.push(self.apply(row, rule, expected).unwrap_or(bounds.lower()));
        }
    }

    fn categories(&mut self, rules: &CategoryColumn, raw: &Texts, out: &mut Vec<u32>) {
        for (row, text) in raw.iter().enumerate() {
            let known =
                text.and_then(|text| std::str::from_utf8(text).ok()).and_then(|text| rules.code(text));
            if let Some(code) = known {
                out.push(code);
                continue;
            }
            let rule = if text.is_some() { rules.other_rule() } else { rules.missing_rule() };
            let expected = match text {
                Some(_) if rules.is_boolean() => "a boolean",
                Some(_) => "one of the declared values",
                None => "a value",
            };
            out.push(self.apply(row, rule, expected).unwrap_or(0));
        }
    }

    /// The replacement for a value that does not fit; `None` if its record is dropped.
    fn apply<T>(&mut self, row: usize, rule: Rule<T>, expected: &'static str) -> Option<T> {
        match rule {
            Rule::Become(value) => return Some(value),
            Rule::Undeclared if self.present[row] => {
                self.misfits.note(self.first_row + row as u64 + 1, || Reason::Cell {
                    column: self.field.name.clone(),
                    expected,
                    advice: advice(expected),
                });
                // The caller refuses a table with a misfit, so the record may stay. Its other
                // columns are then checked too.
                if self.misfits.door() == Door::Strict {
                    return None;
                }
            }
            Rule::Drop | Rule::Undeclared => {}
        }
        self.present[row] = false;
        None
    }
}

/// Looks at every number: without an early end it is done in vectors.
fn has_missing(raw: &[f64]) -> bool {
    raw.iter().fold(false, |has, value| has | value.is_nan())
}

fn advice(expected: &str) -> &'static str {
    match expected {
        "one of the declared values" => "add it to values, or say in the schema where others go: other = ...",
        "a boolean" => {
            "true/false, yes/no, t/f, y/n and 1/0 are understood; for others use kind = \"category\", values \
            = [...]"
        }
        "a whole number" => "set kind = \"number\", or correct the value",
        _ => "say in the schema what a missing value becomes: missing = ..., or \"drop\"",
    }
}

fn parsed(texts: &Texts) -> Vec<f64> {
    let parse = |text: &[u8]| std::str::from_utf8(text).ok()?.trim().parse().ok();
    texts.iter().map(|text| text.and_then(parse).unwrap_or(f64::NAN)).collect()
}

#[cfg(test)]
mod tests;
