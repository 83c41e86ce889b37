//! What one column may hold.

use std::collections::HashMap;

use sordino_spelling::quoted;

use super::SchemaError;

/// The declaration of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Real or whole numbers between public bounds.
    Number(NumberColumn),
    /// One of a public list of values.
    Category(CategoryColumn),
    /// A column that is never read.
    Ignore,
}

/// What happens to a value that does not fit its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule<T> {
    /// Nothing is declared: the strict door refuses the file, the permissive door drops the record.
    Undeclared,
    /// The record is dropped: its slot stays and is empty.
    Drop,
    /// This value replaces it.
    Become(T),
}

/// Two finite numbers, the lower one below the upper one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// Refuses bounds that are not finite or not ascending, or whose width overflows.
    pub fn new(lower: f64, upper: f64) -> Result<Self, SchemaError> {
        if lower < upper && (upper - lower).is_finite() {
            // A negative zero is written as zero.
            Ok(Self { lower: lower + 0.0, upper: upper + 0.0 })
        } else {
            Err(SchemaError::Bounds { lower, upper })
        }
    }

    /// The lower end.
    pub fn lower(self) -> f64 {
        self.lower
    }

    /// The upper end.
    pub fn upper(self) -> f64 {
        self.upper
    }

    /// The nearest number within the bounds, also for infinities. NaN stays NaN.
    pub fn clamp(self, value: f64) -> f64 {
        value.clamp(self.lower, self.upper)
    }

    /// Whether `value` lies within the bounds.
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// Numbers between public bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberColumn {
    bounds: Bounds,
    is_whole: bool,
    missing: Rule<f64>,
}

impl NumberColumn {
    /// Real numbers, with no rule for missing ones.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, is_whole: false, missing: Rule::Undeclared }
    }

    /// Allows whole numbers only: a value with a fraction does not fit.
    pub fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// Sets the rule for missing values. A replacement must lie within the bounds.
    pub fn missing(self, missing: Rule<f64>) -> Result<Self, SchemaError> {
        match missing {
            Rule::Become(value) if !self.bounds.contains(value) => {
                Err(SchemaError::MissingOutside { value, lower: self.bounds.lower, upper: self.bounds.upper })
            }
            Rule::Become(_) | Rule::Drop | Rule::Undeclared => Ok(Self { missing, ..self }),
        }
    }

    /// The public bounds.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether values must be whole.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The rule for missing values.
    pub fn missing_rule(&self) -> Rule<f64> {
        self.missing
    }

    /// Whether this number is a value of the column, before clamping.
    pub(crate) fn accepts(&self, value: f64) -> bool {
        let has_fraction = value.is_finite() && value.fract() != 0.0;
        !(value.is_nan() || self.is_whole && has_fraction)
    }
}

/// One of a public list of values.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryColumn {
    values: Vec<String>,
    /// The code of each value and of each alias.
    codes: HashMap<String, u32>,
    aliases: Vec<(String, u32)>,
    is_boolean: bool,
    missing: Rule<u32>,
    other: Rule<u32>,
}

/// The most values of a category.
const MAX_VALUES: usize = 1 << 20;

impl CategoryColumn {
    /// A category of these distinct values, without rules for others.
    pub fn new<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Result<Self, SchemaError> {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        if values.is_empty() {
            return Err(SchemaError::NoValues);
        }
        if values.len() > MAX_VALUES {
            return Err(SchemaError::TooManyValues { values: values.len(), limit: MAX_VALUES });
        }
        let mut codes = HashMap::with_capacity(values.len());
        for (code, value) in values.iter().enumerate() {
            // No truncation: there are at most MAX_VALUES.
            if codes.insert(value.clone(), code as u32).is_some() {
                return Err(SchemaError::ValueTwice { value: quoted(value) });
            }
        }
        let (missing, other) = (Rule::Undeclared, Rule::Undeclared);
        Ok(Self { values, codes, aliases: Vec::new(), is_boolean: false, missing, other })
    }

    /// A category of `false` and `true`, which reads 0/1, no/yes and first letters, in any case.
    pub fn boolean() -> Self {
        let spellings = [("false", "true"), ("0", "1"), ("no", "yes"), ("f", "t"), ("n", "y")];
        let codes =
            spellings.iter().flat_map(|(no, yes)| [(no.to_string(), 0), (yes.to_string(), 1)]).collect();
        let values = vec!["false".to_owned(), "true".to_owned()];
        let (missing, other) = (Rule::Undeclared, Rule::Undeclared);
        Self { values, codes, aliases: Vec::new(), is_boolean: true, missing, other }
    }

    /// Adds another spelling of one of the values.
    pub fn alias(mut self, spelling: &str, value: &str) -> Result<Self, SchemaError> {
        let code = self.known("aliases", value)?;
        if self.codes.insert(spelling.to_owned(), code).is_some() {
            return Err(SchemaError::ValueTwice { value: quoted(spelling) });
        }
        self.aliases.push((spelling.to_owned(), code));
        Ok(self)
    }

    /// Sets the rule for missing values.
    pub fn missing(self, missing: Rule<&str>) -> Result<Self, SchemaError> {
        Ok(Self { missing: self.rule("missing", missing)?, ..self })
    }

    /// Sets the rule for values that are not listed.
    pub fn other(self, other: Rule<&str>) -> Result<Self, SchemaError> {
        Ok(Self { other: self.rule("other", other)?, ..self })
    }

    fn rule(&self, key: &'static str, rule: Rule<&str>) -> Result<Rule<u32>, SchemaError> {
        Ok(match rule {
            Rule::Undeclared => Rule::Undeclared,
            Rule::Drop => Rule::Drop,
            Rule::Become(value) => Rule::Become(self.known(key, value)?),
        })
    }

    fn known(&self, key: &'static str, value: &str) -> Result<u32, SchemaError> {
        self.code(value).ok_or_else(|| {
            let hint = sordino_spelling::hint(value, self.values.iter().map(String::as_str));
            SchemaError::NotAValue { key, value: quoted(value), hint }
        })
    }

    /// The values, by code.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Other spellings, with the values that they stand for.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        // A code is an index into `values`.
        self.aliases.iter().map(|(spelling, code)| (spelling.as_str(), self.values[*code as usize].as_str()))
    }

    /// The index of this value in the list.
    pub fn code(&self, value: &str) -> Option<u32> {
        if self.is_boolean {
            return self.codes.get(&value.to_lowercase()).copied();
        }
        self.codes.get(value).copied()
    }

    /// The declared value that this text spells.
    pub(crate) fn spelling(&self, text: &str) -> Option<&str> {
        // A code is an index into `values`.
        self.code(text).map(|code| self.values[code as usize].as_str())
    }

    /// Whether this is a column of `false` and `true`.
    pub fn is_boolean(&self) -> bool {
        self.is_boolean
    }

    /// The rule for missing values.
    pub fn missing_rule(&self) -> Rule<u32> {
        self.missing
    }

    /// The rule for values that are not listed.
    pub fn other_rule(&self) -> Rule<u32> {
        self.other
    }
}
