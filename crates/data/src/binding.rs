//! Matches the columns of a file to the declarations of a schema.

use std::path::Path;

use sordino_spelling::hint;

use crate::error::DataError;
use crate::raw::Kind;
use crate::schema::{Column, Schema};
use crate::source::Pick;

/// The columns that are used, in the order of the file.
pub(crate) struct Binding {
    fields: Vec<Field>,
    /// Index and name of the column that names the unit.
    unit: Option<(usize, String)>,
}

pub(crate) struct Field {
    pub(crate) name: String,
    /// Its index in the file.
    pub(crate) index: usize,
    /// Its declaration, never `Ignore`.
    pub(crate) column: Column,
}

impl Binding {
    /// Binds all columns that are not ignored. Refuses a file that has an undeclared column, or
    /// lacks a declared one that is not in `optional`.
    pub(crate) fn all(
        place: &Path,
        names: &[String],
        schema: &Schema,
        optional: &[&str],
    ) -> Result<Self, DataError> {
        let unit = unit(place, names, schema)?;
        let mut fields = Vec::new();
        for (index, name) in names.iter().enumerate() {
            match schema.column(name) {
                Some(Column::Ignore) => {}
                Some(column) => fields.push(Field { name: name.clone(), index, column: column.clone() }),
                None if unit.as_ref().is_some_and(|(unit, _)| *unit == index) => {}
                None => {
                    let (path, hint) = (place.to_owned(), schema.nearest(name));
                    return Err(DataError::UndeclaredColumn { path, column: name.clone(), hint });
                }
            }
        }
        let absent = schema
            .absent_from(names)
            .find(|name| schema.column(name) != Some(&Column::Ignore) && !optional.contains(name));
        match absent {
            Some(name) => Err(missing(place, names, name)),
            None => Ok(Self { fields, unit }),
        }
    }

    /// Keeps these columns only, and refuses a name that is not bound.
    pub(crate) fn only(mut self, names: &[&str]) -> Result<Self, DataError> {
        for name in names {
            if !self.fields.iter().any(|field| field.name == **name) {
                let hint = hint(name, self.fields.iter().map(|field| field.name.as_str()));
                return Err(DataError::NoSuchColumn { column: (*name).to_owned(), hint });
            }
        }
        self.fields.retain(|field| names.contains(&field.name.as_str()));
        Ok(self)
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The index of the unit's column in the file.
    pub(crate) fn unit(&self) -> Option<usize> {
        self.unit.as_ref().map(|(index, _)| *index)
    }

    /// The columns that a reader has to read for the fields.
    pub(crate) fn picks(&self) -> Vec<Pick> {
        let pick = |field: &Field| Pick {
            index: field.index,
            name: field.name.clone(),
            kind: match field.column {
                Column::Number(_) => Kind::Number,
                Column::Category(_) | Column::Ignore => Kind::Text,
            },
        };
        self.fields.iter().map(pick).collect()
    }

    /// The column that a reader has to read for the unit.
    pub(crate) fn unit_pick(&self) -> Option<Pick> {
        let (index, name) = self.unit.clone()?;
        Some(Pick { index, name, kind: Kind::Text })
    }
}

fn unit(place: &Path, names: &[String], schema: &Schema) -> Result<Option<(usize, String)>, DataError> {
    let Some(column) = schema.unit().column() else { return Ok(None) };
    let index = names.iter().position(|name| name == column);
    index.map(|index| Some((index, column.to_owned()))).ok_or_else(|| missing(place, names, column))
}

fn missing(place: &Path, names: &[String], column: &str) -> DataError {
    let hint = hint(column, names.iter().map(String::as_str));
    DataError::MissingColumn { path: place.to_owned(), column: column.to_owned(), hint }
}
