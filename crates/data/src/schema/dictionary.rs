//! A data dictionary: a table that people keep beside their data and that says what each column may
//! hold.
//!
//! # Format
//! CSV with a header. Columns of other names (descriptions, units) are skipped, unless they look
//! misspelled.
//!
//! | column | meaning |
//! |---|---|
//! | `name` (`column`, `variable`) | the column's name, or a pattern that ends in `*` |
//! | `type` (`kind`) | `number`, `integer`, `category`, `boolean`, `ignore`, and usual words for these |
//! | `minimum` (`min`, `lower`), `maximum` (`max`, `upper`) | bounds of numbers |
//! | `values` (`levels`, `categories`) | values between `\|`, `;` or `,`; `0=no\|1=yes` gives 0, 1 |
//! | `missing`, `other` | as in a schema: `drop`, or a replacement |
//!
//! Text without values, dates and identifiers can only be ignored.
//!
//! # Guarantee
//! A dictionary is public. Messages show short names, and the part of a declaration that is wrong:
//! a program that lets others choose files must not let them choose this one.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use sordino_spelling::{hint, name as shown};

use super::template::filled;
use super::{
    Bounds, CategoryColumn, Column, CsvOptions, HeaderColumn, NumberColumn, Rule, SCHEMA_MAX_BYTES,
    SchemaError, fits,
};
use crate::error::DataError;
use crate::source::{CsvAsked, small_table};

/// The columns of a dictionary, each with its other names.
const KEYS: [(&str, &[&str]); 7] = [
    ("name", &["name", "column", "variable", "field"]),
    ("type", &["type", "kind"]),
    ("minimum", &["minimum", "min", "lower"]),
    ("maximum", &["maximum", "max", "upper"]),
    ("values", &["values", "levels", "categories"]),
    ("missing", &["missing"]),
    ("other", &["other"]),
];

/// Kinds, each with other words for it.
const TYPES: [(&str, &[&str]); 6] = [
    ("number", &["number", "numeric", "float", "real", "double", "decimal", "continuous"]),
    ("integer", &["integer", "int", "whole", "count"]),
    ("category", &["category", "categorical", "enum", "factor", "nominal", "ordinal"]),
    ("boolean", &["boolean", "bool", "logical"]),
    // Text becomes a category if the row lists values.
    ("text", &["text", "string", "character", "varchar"]),
    ("ignore", &["ignore", "id", "identifier", "date", "datetime", "time", "timestamp"]),
];

/// Declarations from a data dictionary.
#[derive(Clone, Debug, PartialEq)]
pub struct Dictionary {
    columns: HashMap<String, Column>,
}

impl Dictionary {
    /// Reads a dictionary from a CSV file; its delimiter is found in its header.
    pub fn read(path: &Path) -> Result<Self, DataError> {
        let options = CsvAsked::default().find(path)?.options;
        let rows = small_table(path, &options, SCHEMA_MAX_BYTES)?;
        let (header, rows) = rows.split_first().ok_or_else(|| DataError::Empty { path: path.to_owned() })?;
        let refused =
            |row: Option<usize>, source| DataError::Dictionary { path: path.to_owned(), row, source };
        let places = Places::of(header).map_err(|error| refused(None, error))?;
        let mut columns: HashMap<String, Column> = HashMap::new();
        for (index, row) in rows.iter().enumerate() {
            let refused = |error| refused(Some(index + 1), error);
            let cells = Cells { places: &places, row };
            let name = cells.get("name");
            if name.is_empty() {
                return Err(refused(DictionaryError::NoName));
            }
            if columns.contains_key(name) {
                return Err(refused(DictionaryError::Twice { name: shown(name).to_owned() }));
            }
            columns.insert(name.to_owned(), cells.column().map_err(refused)?);
        }
        if columns.is_empty() {
            return Err(refused(None, DictionaryError::NoColumns));
        }
        Ok(Self { columns })
    }

    /// A schema, as TOML, for a file with these columns. Refuses a dictionary that describes a
    /// column which the file lacks. Columns that are not in the dictionary are ignored.
    pub fn schema(&self, columns: &[HeaderColumn], csv: &CsvOptions) -> Result<String, DictionaryError> {
        let names: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let is_there = |known: &str| {
            names.contains(known) || (known.ends_with('*') && names.iter().any(|name| fits(known, name)))
        };
        // The first by name: a map has no order.
        let stranger = self.columns.keys().filter(|known| !is_there(known)).min();
        match stranger {
            Some(name) => {
                let hint = hint(name, columns.iter().map(|column| column.name.as_str()));
                Err(DictionaryError::NotInFile { name: shown(name).to_owned(), hint })
            }
            None => Ok(filled(columns, csv, self)),
        }
    }

    /// The number of these columns that are not in the dictionary.
    pub fn unknown(&self, columns: &[HeaderColumn]) -> usize {
        columns.iter().filter(|column| self.entry(&column.name).is_none()).count()
    }

    /// The entry for a column: by its name, or by the longest pattern that matches it.
    pub(super) fn entry(&self, name: &str) -> Option<(&str, &Column)> {
        let exact = self.columns.get_key_value(name);
        let fitting = || {
            self.columns.iter().filter(|(known, _)| fits(known, name)).max_by_key(|(known, _)| known.len())
        };
        exact.or_else(fitting).map(|(name, column)| (name.as_str(), column))
    }
}

/// The index of each key in a row.
struct Places([Option<usize>; KEYS.len()]);

impl Places {
    fn of(header: &[String]) -> Result<Self, DictionaryError> {
        let mut places = [None; KEYS.len()];
        for (index, title) in header.iter().enumerate() {
            let title = title.to_lowercase();
            let place = KEYS.iter().position(|(_, words)| words.contains(&title.as_str()));
            match place {
                Some(place) if places[place].is_some() => {
                    return Err(DictionaryError::TwoTitles { key: KEYS[place].0 });
                }
                Some(place) => places[place] = Some(index),
                // Dictionaries have other columns, such as descriptions.
                None => {}
            }
        }
        for (place, key) in [(0, "name"), (1, "type")] {
            if places[place].is_none() {
                return Err(DictionaryError::NoTitle { key });
            }
        }
        // A title that looks like a misspelled missing key is refused. `other` is not tried: too
        // many words are near it.
        let absent = |place: usize| places[place].is_none().then_some(KEYS[place].0);
        for title in header.iter().map(|title| title.to_lowercase()) {
            let is_known = KEYS.iter().any(|(_, words)| words.contains(&title.as_str()));
            let near = hint(&title, (0..KEYS.len() - 1).filter_map(absent));
            if !is_known && !near.is_empty() {
                return Err(DictionaryError::Title { title: shown(&title).to_owned(), hint: near });
            }
        }
        Ok(Self(places))
    }
}

/// One row of a dictionary.
struct Cells<'a> {
    places: &'a Places,
    row: &'a [String],
}

impl<'a> Cells<'a> {
    /// The text under a key; empty if the dictionary has no such column.
    fn get(&self, key: &str) -> &'a str {
        let place = KEYS.iter().position(|(known, _)| *known == key).and_then(|place| self.places.0[place]);
        place.and_then(|place| self.row.get(place)).map_or("", String::as_str)
    }

    fn column(&self) -> Result<Column, DictionaryError> {
        let kind = self.kind()?;
        let is_category = kind == "category" || (kind == "text" && !self.get("values").is_empty());
        if is_category {
            let values = values(self.get("values"));
            if values.is_empty() {
                return Err(self.lacks("values", "list them between `|`"));
            }
            return self.ruled(CategoryColumn::new(values).map_err(|source| self.wrong(source))?);
        }
        match kind {
            "number" | "integer" => self.number(kind == "integer"),
            "boolean" => self.ruled(CategoryColumn::boolean()),
            _ => Ok(Column::Ignore),
        }
    }

    fn kind(&self) -> Result<&'static str, DictionaryError> {
        let got = self.get("type").to_lowercase();
        if got.is_empty() {
            return Ok("ignore");
        }
        let known = TYPES.iter().find(|(_, words)| words.contains(&got.as_str()));
        known.map(|(kind, _)| *kind).ok_or_else(|| DictionaryError::Type {
            name: self.name(),
            hint: hint(&got, TYPES.iter().flat_map(|(_, words)| words.iter().copied())),
        })
    }

    fn number(&self, is_whole: bool) -> Result<Column, DictionaryError> {
        let (lower, upper) = (self.bound("minimum")?, self.bound("maximum")?);
        let column = NumberColumn::new(Bounds::new(lower, upper).map_err(|source| self.wrong(source))?);
        let column = if is_whole { column.whole() } else { column };
        let missing = match self.get("missing") {
            "" => Rule::Undeclared,
            "drop" => Rule::Drop,
            text => Rule::Become(self.parsed("missing", text)?),
        };
        Ok(Column::Number(column.missing(missing).map_err(|source| self.wrong(source))?))
    }

    fn bound(&self, key: &'static str) -> Result<f64, DictionaryError> {
        match self.get(key) {
            "" => Err(self.lacks(key, "write down what is publicly known, or set the type to ignore")),
            text => self.parsed(key, text),
        }
    }

    fn parsed(&self, key: &'static str, text: &str) -> Result<f64, DictionaryError> {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| DictionaryError::Number { name: self.name(), key })
    }

    fn ruled(&self, column: CategoryColumn) -> Result<Column, DictionaryError> {
        let rule = |key| match self.get(key) {
            "" => Rule::Undeclared,
            "drop" => Rule::Drop,
            value => Rule::Become(value),
        };
        let column = column.missing(rule("missing")).and_then(|column| column.other(rule("other")));
        column.map(Column::Category).map_err(|source| self.wrong(source))
    }

    fn name(&self) -> String {
        shown(self.get("name")).to_owned()
    }

    fn lacks(&self, key: &'static str, advice: &'static str) -> DictionaryError {
        DictionaryError::Lacks { name: self.name(), key, advice }
    }

    fn wrong(&self, source: SchemaError) -> DictionaryError {
        DictionaryError::Declaration { name: self.name(), source: Box::new(source) }
    }
}

/// The values of a list. If each has a code and a label, as in `1=male|2=female`, the codes.
fn values(text: &str) -> Vec<&str> {
    let separator = ['|', ';', ','].into_iter().find(|separator| text.contains(*separator)).unwrap_or('|');
    let values: Vec<&str> = text.split(separator).map(str::trim).filter(|value| !value.is_empty()).collect();
    let codes: Option<Vec<&str>> =
        values.iter().map(|value| value.split_once('=').map(|(code, _)| code.trim())).collect();
    codes.unwrap_or(values)
}

/// Why a data dictionary is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DictionaryError {
    /// A column of the dictionary is missing.
    #[error("there is no column `{key}`; a dictionary has name, type, minimum, maximum and values")]
    NoTitle {
        /// Its name.
        key: &'static str,
    },
    /// The name of a column looks misspelled.
    #[error("column `{title}` is not known{hint}")]
    Title {
        /// Its name.
        title: String,
        /// The nearest known name.
        hint: String,
    },
    /// Two columns mean the same.
    #[error("two columns mean `{key}`; keep one of them")]
    TwoTitles {
        /// What they mean.
        key: &'static str,
    },
    /// The dictionary has a header and nothing else.
    #[error("it describes no column; write one row for each column of the data")]
    NoColumns,
    /// A row has no name.
    #[error("the name is missing")]
    NoName,
    /// One name has two rows.
    #[error("`{name}` has an earlier row; keep one of the two")]
    Twice {
        /// The name.
        name: String,
    },
    /// A type is unknown.
    #[error("`{name}` has another type than number, integer, category, boolean or ignore{hint}")]
    Type {
        /// The column.
        name: String,
        /// The nearest known type.
        hint: String,
    },
    /// A required cell is empty.
    #[error("`{name}` has no {key}; {advice}")]
    Lacks {
        /// The column.
        name: String,
        /// What is missing.
        key: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A cell is not a number.
    #[error(
        "the {key} of `{name}` must be a finite number such as 0.5, with a decimal point and without \
        separators"
    )]
    Number {
        /// The column.
        name: String,
        /// The cell.
        key: &'static str,
    },
    /// A declaration is wrong.
    #[error("`{name}`: {source}")]
    Declaration {
        /// The column.
        name: String,
        /// What is wrong.
        source: Box<SchemaError>,
    },
    /// The dictionary describes a column that the data does not have.
    #[error("it describes `{name}`, which the data does not have; remove the row, or correct the name{hint}")]
    NotInFile {
        /// The column.
        name: String,
        /// The nearest column of the data.
        hint: String,
    },
}
