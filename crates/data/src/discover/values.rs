//! The raw values of one column, each record's by itself. They do not leave this module's parent but through a mechanism.

use sordino_mechanisms::statistics::Rows;
use sordino_noise::Bits;

use super::DiscoverError;
use crate::error::DataError;
use crate::loader::Loader;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{Bounds, CategoryColumn, Column, NumberColumn, Schema};
use crate::source::{Door, Source};

/// Longer texts are no categories.
const LONGEST_VALUE: usize = 256;

/// One value for each record that its unit keeps, and whose they are.
pub(super) struct ColumnRows<T> {
    pub(super) values: Vec<T>,
    pub(super) owners: Option<Vec<u64>>,
}

impl<T> ColumnRows<T> {
    /// Something of each record, with the owners of the records.
    pub(super) fn of<'a, U: Copy>(&'a self, values: &'a [U]) -> Result<Rows<'a, U>, DiscoverError> {
        Ok(match &self.owners {
            Some(owners) => Rows::owned(values, owners)?,
            None => Rows::new(values),
        })
    }
}

impl ColumnRows<f64> {
    /// NaN for what is no number, and for a record that could not be read: where records are units there is one for each slot,
    /// so that how many there are is not a matter of what they hold.
    pub(super) fn numbers<R: Bits + ?Sized>(
        source: &Source,
        schema: &Schema,
        name: &str,
        bits: &mut R,
    ) -> Result<Self, DiscoverError> {
        // Bounds that are never applied: raw values are what is asked for.
        let any = NumberColumn::new(Bounds::new(-1.0, 1.0).map_err(DataError::from)?);
        let is_owned = schema.unit().column().is_some();
        read(source, schema, name, Column::Number(any), bits, |chunk| match &chunk.columns[0] {
            RawColumn::Numbers(raw) => {
                let value = |(x, present): (&f64, &bool)| match (present, is_owned) {
                    (true, _) => Some(*x),
                    (false, false) => Some(f64::NAN),
                    (false, true) => None,
                };
                raw.iter().zip(&chunk.present).map(value).collect()
            }
            RawColumn::Texts(_) => vec![None; chunk.rows()], // numbers were asked for
        })
    }
}

impl ColumnRows<String> {
    /// Texts that can be categories; counts of values need no others.
    pub(super) fn texts<R: Bits + ?Sized>(
        source: &Source,
        schema: &Schema,
        name: &str,
        bits: &mut R,
    ) -> Result<Self, DiscoverError> {
        // A value that is never looked for.
        let any = CategoryColumn::new([""]).map_err(DataError::from)?;
        read(source, schema, name, Column::Category(any), bits, |chunk| match &chunk.columns[0] {
            RawColumn::Texts(raw) => {
                let value = |(text, present): (Option<&[u8]>, &bool)| {
                    let text = text.filter(|text| *present && text.len() <= LONGEST_VALUE)?;
                    std::str::from_utf8(text).ok().map(str::to_owned)
                };
                raw.iter().zip(&chunk.present).map(value).collect()
            }
            RawColumn::Numbers(_) => vec![None; chunk.rows()], // texts were asked for
        })
    }
}

/// What `take` makes of each record of the column `name`, read as `column` says; nothing leaves the record out.
fn read<T, R: Bits + ?Sized>(
    source: &Source,
    schema: &Schema,
    name: &str,
    column: Column,
    bits: &mut R,
    take: impl Fn(&RawChunk) -> Vec<Option<T>>,
) -> Result<ColumnRows<T>, DiscoverError> {
    let unit = schema.unit();
    let names = source.names().into_iter().filter(|other| unit.column() != Some(other));
    let kind = |other: String| {
        let column = if other == name { column.clone() } else { Column::Ignore };
        (other, column)
    };
    let alone = Schema::new(unit.clone(), names.map(kind).collect()).map_err(DataError::from)?;
    let loader = Loader::new(source, &alone, Door::Permissive);
    let binding = loader.binding(&[])?.only(&[name])?;
    let mut all = Vec::new();
    let owners = loader.each_chunk(&binding, bits, |chunk, _| {
        all.extend(take(&chunk));
        Ok(())
    })?;
    // A file that grew meanwhile has records that nobody owns, and none of them is kept.
    let owners = owners.map(|owners| {
        let kept = all.iter().zip(owners).filter_map(|(value, owner)| value.as_ref().map(|_| owner));
        kept.collect::<Vec<_>>()
    });
    Ok(ColumnRows { values: all.into_iter().flatten().collect(), owners })
}
