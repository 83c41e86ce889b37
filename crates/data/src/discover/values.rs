//! The raw values of one column, each record's by itself. They do not leave this
//! module's parent but through a mechanism.

use sordino_mechanisms::statistics::Rows;
use sordino_noise::Bits;

use super::DiscoverError;
use crate::error::DataError;
use crate::loader::Loader;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{Bounds, CategoryColumn, Column, NumberColumn, Schema, UnitRule};
use crate::source::{Door, Source};
use crate::survey::{Survey, Wanted};

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

/// A file whose content is known, and what its units keep.
pub(super) struct Columns<'a> {
    source: &'a Source,
    unit: &'a UnitRule,
    content: [u8; 32],
    survey: Option<Survey>,
}

impl<'a> Columns<'a> {
    /// Chooses what units keep.
    pub(super) fn of<R: Bits + ?Sized>(
        source: &'a Source,
        unit: &'a UnitRule,
        content: [u8; 32],
        bits: &mut R,
    ) -> Result<Self, DataError> {
        let nothing = Schema::new(unit.clone(), vec![("*".to_owned(), Column::Ignore)])?;
        let survey = Loader::new(source, &nothing, Door::Permissive).choice(Wanted::Columns(&[]), bits)?;
        Ok(Self { source, unit, content, survey })
    }

    /// NaN for what is no number, and for a record that could not be read: where records are units
    /// there is one for each slot, so that how many there are is not a matter of what they hold.
    pub(super) fn numbers(&self, name: &str) -> Result<ColumnRows<f64>, DataError> {
        // Bounds that are never applied: raw values are what is asked for.
        let any = NumberColumn::new(Bounds::new(-1.0, 1.0)?);
        let is_owned = self.unit.column().is_some();
        self.read(name, Column::Number(any), |chunk| match &chunk.columns[0] {
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

    /// Texts that can be categories; counts of values need no others.
    pub(super) fn texts(&self, name: &str) -> Result<ColumnRows<String>, DataError> {
        // A value that is never looked for.
        let any = CategoryColumn::new([""])?;
        self.read(name, Column::Category(any), |chunk| match &chunk.columns[0] {
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

    /// What `take` makes of each record of the column `name`, read as `column` says; nothing leaves
    /// the record out. Fails if the file has another content.
    fn read<T>(
        &self,
        name: &str,
        column: Column,
        take: impl Fn(&RawChunk) -> Vec<Option<T>>,
    ) -> Result<ColumnRows<T>, DataError> {
        let names = self.source.names().into_iter().filter(|other| self.unit.column() != Some(other));
        let kind = |other: String| {
            let column = if other == name { column.clone() } else { Column::Ignore };
            (other, column)
        };
        let alone = Schema::new(self.unit.clone(), names.map(kind).collect())?;
        let loader = Loader::new(self.source, &alone, Door::Permissive);
        let binding = loader.binding(&[])?.only(&[name])?;
        let mut all = Vec::new();
        let content = loader.kept_pass(&binding, false, self.survey.as_ref(), |chunk, _| {
            all.extend(take(&chunk.raw));
            Ok(())
        })?;
        if content != self.content {
            return Err(self.source.file().changed());
        }
        let owners = self.survey.as_ref().and_then(|survey| survey.kept.as_ref()).map(|kept| {
            let kept = all.iter().zip(&kept.owners);
            kept.filter_map(|(value, owner)| value.as_ref().map(|_| *owner)).collect()
        });
        Ok(ColumnRows { values: all.into_iter().flatten().collect(), owners })
    }
}
