//! The fields of one table, taken one by one, with errors that say where.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sordino_spelling::{hint_or_all as hint, quoted_name as quoted};

use super::error::DescriptionError;
use super::words::{kind, shown};

/// The largest whole number of a description: no table, image or layer is wider, and such numbers
/// are exact in single precision.
const LARGEST: u64 = 1 << 24;

/// A table and its place.
pub(super) struct Fields {
    at: String,
    table: Map<String, Value>,
}

impl Fields {
    /// Refuses what is no table, and fields that are not known.
    pub(super) fn new(at: &str, value: Value, known: &[&str]) -> Result<Self, DescriptionError> {
        let Value::Object(table) = value else {
            return Err(DescriptionError::Value {
                at: "the description".to_owned(),
                name: at.to_owned(),
                expected: "a table".to_owned(),
                got: kind(&value).to_owned(),
            });
        };
        match table.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(DescriptionError::Unknown {
                at: at.to_owned(),
                what: "field",
                name: quoted(name),
                hint: hint(name, known),
            }),
            None => Ok(Self { at: at.to_owned(), table }),
        }
    }

    /// A whole number that must be there.
    pub(super) fn whole(&mut self, name: &'static str) -> Result<usize, DescriptionError> {
        self.optional_whole(name)?.ok_or_else(|| self.missing(name, "a whole number"))
    }

    pub(super) fn optional_whole(&mut self, name: &'static str) -> Result<Option<usize>, DescriptionError> {
        let Some(value) = self.table.remove(name) else { return Ok(None) };
        let number = whole(&value).ok_or_else(|| self.wrong(name, "a whole number up to 2^24", &value))?;
        Ok(Some(number))
    }

    /// One number for both axes, or two, lines first.
    pub(super) fn pair(&mut self, name: &'static str) -> Result<[usize; 2], DescriptionError> {
        self.optional_pair(name)?.ok_or_else(|| self.missing(name, PAIR))
    }

    pub(super) fn optional_pair(
        &mut self,
        name: &'static str,
    ) -> Result<Option<[usize; 2]>, DescriptionError> {
        let Some(value) = self.table.remove(name) else { return Ok(None) };
        let both = match value.as_array().map(Vec::as_slice) {
            Some([lines, columns]) => whole(lines).zip(whole(columns)),
            Some(_) => None,
            None => whole(&value).map(|number| (number, number)),
        };
        let (lines, columns) = both.ok_or_else(|| self.wrong(name, PAIR, &value))?;
        Ok(Some([lines, columns]))
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, DescriptionError> {
        match self.table.remove(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(value) => Err(self.wrong(name, "true or false", &value)),
        }
    }

    /// A number that must be there.
    pub(super) fn number(&mut self, name: &'static str) -> Result<f64, DescriptionError> {
        let value = self.table.remove(name).ok_or_else(|| self.missing(name, "a number"))?;
        value.as_f64().ok_or_else(|| self.wrong(name, "a number", &value))
    }

    /// A number that the engine computes with as it is written.
    pub(super) fn single(&mut self, name: &'static str) -> Result<f32, DescriptionError> {
        self.optional_single(name)?.ok_or_else(|| self.missing(name, "a number"))
    }

    pub(super) fn optional_single(&mut self, name: &'static str) -> Result<Option<f32>, DescriptionError> {
        let Some(value) = self.table.remove(name) else { return Ok(None) };
        let number = value.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| self.wrong(name, "a number of single precision", &value))
    }

    /// Numbers, none if they are left out.
    pub(super) fn numbers(&mut self, name: &'static str) -> Result<Vec<f64>, DescriptionError> {
        let items = self.list(name)?.unwrap_or_default();
        let number = |value: &Value| value.as_f64().ok_or_else(|| self.wrong(name, "numbers", value));
        items.iter().map(number).collect()
    }

    pub(super) fn wholes(&mut self, name: &'static str) -> Result<Option<Vec<usize>>, DescriptionError> {
        let Some(items) = self.list(name)? else { return Ok(None) };
        let number = |value: &Value| whole(value).ok_or_else(|| self.wrong(name, "whole numbers", value));
        items.iter().map(number).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, DescriptionError> {
        match self.table.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong(name, "a name in quotes", &value)),
        }
    }

    pub(super) fn list(&mut self, name: &'static str) -> Result<Option<Vec<Value>>, DescriptionError> {
        match self.table.remove(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(value) => Err(self.wrong(name, "a list", &value)),
        }
    }

    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.table.remove(name)
    }

    /// A value that has its own reader; `example` is one.
    pub(super) fn other<T: DeserializeOwned>(
        &mut self,
        name: &'static str,
        example: &str,
    ) -> Result<Option<T>, DescriptionError> {
        let Some(value) = self.table.remove(name) else { return Ok(None) };
        let got = shown(&value);
        serde_json::from_value(value).map(Some).map_err(|error| DescriptionError::Value {
            at: self.at.clone(),
            name: name.to_owned(),
            expected: format!("such as {example}{}", expected_by(&error)),
            got,
        })
    }

    pub(super) fn missing(&self, name: &'static str, expected: &str) -> DescriptionError {
        DescriptionError::Missing { at: self.at.clone(), name, expected: expected.to_owned() }
    }

    fn wrong(&self, name: &str, expected: &str, got: &Value) -> DescriptionError {
        wrong(&self.at, name, expected, got)
    }
}

/// What a reader says that it expected, without what came.
fn expected_by(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(", expected ") {
        Some((_, expected)) => format!(" (expected {expected})"),
        None if text.starts_with("missing field") => format!(" ({text})"),
        None => String::new(),
    }
}

const PAIR: &str = "a whole number, or two as [lines, columns]";

pub(super) fn wrong(at: &str, name: &str, expected: &str, got: &Value) -> DescriptionError {
    DescriptionError::Value {
        at: at.to_owned(),
        name: name.to_owned(),
        expected: expected.to_owned(),
        got: shown(got),
    }
}

fn whole(value: &Value) -> Option<usize> {
    value.as_u64().filter(|number| *number <= LARGEST).and_then(|number| usize::try_from(number).ok())
}
