//! The raw values of one column. They leave the parent module through a mechanism only.

use sordino_mechanisms::statistics::Rows;
use sordino_noise::Bits;

use super::DiscoverError;
use crate::error::DataError;
use crate::loader::Loader;
use crate::raw::{RawChunk, RawColumn};
use crate::schema::{Bounds, CategoryColumn, Column, NumberColumn, Schema, UnitRule};
use crate::source::{Door, Source};
use crate::survey::{Survey, Wanted};

/// The longest text that can be a category, in bytes.
const MAX_VALUE_BYTES: usize = 256;

/// One value for each record that its unit keeps, with the records' owners.
pub(super) struct ColumnRows<T> {
    pub(super) values: Vec<T>,
    pub(super) owners: Option<Vec<u64>>,
}

impl<T> ColumnRows<T> {
    /// `values`, one for each record, with the owners of the records.
    pub(super) fn of<'a, U: Copy>(&'a self, values: &'a [U]) -> Result<Rows<'a, U>, DiscoverError> {
        Ok(match &self.owners {
            Some(owners) => Rows::owned(values, owners)?,
            None => Rows::new(values),
        })
    }
}

/// A file whose content is known, and the records that its units keep.
pub(super) struct Columns<'a> {
    source: &'a Source,
    unit: &'a UnitRule,
    content: [u8; 32],
    survey: Option<Survey>,
}

impl<'a> Columns<'a> {
    /// Chooses the records that units keep.
    pub(super) fn of<R: Bits + ?Sized>(
        source: &'a Source,
        unit: &'a UnitRule,
        content: [u8; 32],
        bits: &mut R,
    ) -> Result<Self, DataError> {
        let nothing = Schema::new(unit.clone(), vec![("*".to_owned(), Column::Ignore)])?;
        let survey =
            Loader::new(source, &nothing, Door::Permissive).survey_units(Wanted::Columns(&[]), bits)?;
        Ok(Self { source, unit, content, survey })
    }

    /// The numbers of a column. A text that is no number gives NaN. So does a record that could not
    /// be read, if records are units: there is then one number for each slot, so their count does
    /// not depend on values.
    pub(super) fn numbers(&self, name: &str) -> Result<ColumnRows<f64>, DataError> {
        // These bounds are never applied: the pass returns raw values.
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
            RawColumn::Texts(_) => vec![None; chunk.rows()], // cannot happen: it is read as numbers
        })
    }

    /// The texts of a column that can be categories. The others are left out: no count needs them.
    pub(super) fn texts(&self, name: &str) -> Result<ColumnRows<String>, DataError> {
        // This value is never compared: the pass returns raw texts.
        let any = CategoryColumn::new([""])?;
        self.read(name, Column::Category(any), |chunk| match &chunk.columns[0] {
            RawColumn::Texts(raw) => {
                let value = |(text, present): (Option<&[u8]>, &bool)| {
                    let text = text.filter(|text| *present && text.len() <= MAX_VALUE_BYTES)?;
                    std::str::from_utf8(text).ok().map(str::to_owned)
                };
                raw.iter().zip(&chunk.present).map(value).collect()
            }
            RawColumn::Numbers(_) => vec![None; chunk.rows()], // cannot happen: it is read as texts
        })
    }

    /// Reads the column `name` as `column` declares it, and collects what `take` returns for each
    /// record; `None` leaves the record out. Fails if the file has another content.
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
            return Err(self.source.changed());
        }
        let owners = self.survey.as_ref().and_then(|survey| survey.kept.as_ref()).map(|kept| {
            let kept = all.iter().zip(&kept.owners);
            kept.filter_map(|(value, owner)| value.as_ref().map(|_| *owner)).collect()
        });
        Ok(ColumnRows { values: all.into_iter().flatten().collect(), owners })
    }
}
