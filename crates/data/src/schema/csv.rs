//! How the CSV files of a table are written.

use super::SchemaError;

/// Options of CSV files. All of them are public; other formats ignore them.
///
/// | key of `[csv]` | meaning | default |
/// |---|---|---|
/// | `names` | the file has no header line; these are its columns | the first line is the header |
/// | `header` | `true`: a first line that looks like a record is the header | such a line is refused |
/// | `delimiter` | one ASCII character | `,` |
/// | `comment` | lines that start with this ASCII character are skipped | none |
/// | `missing` | texts that mean that a value is missing | the empty text |
/// | `decimal` | `.` or `,` before the fraction of a number | `.` |
/// | `thousands` | `.`, `,`, `'`, `_` or a space between groups of three digits | none |
///
/// Spaces and tabs around a field do not belong to it. A thousands separator may be the delimiter,
/// if such numbers are in quotes; a decimal comma between commas is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The columns of a file without a header line.
    pub names: Option<Vec<String>>,
    /// Whether the first line is the header even if it does not look like one.
    pub header: bool,
    /// The character between two fields.
    pub delimiter: u8,
    /// The first character of a comment line.
    pub comment: Option<u8>,
    /// Texts that mean that a value is missing.
    pub missing: Vec<String>,
    /// The character before the fraction of a number.
    pub decimal: u8,
    /// The character between groups of three digits.
    pub thousands: Option<u8>,
}

/// The allowed decimal separators.
pub(crate) const DECIMALS: &[u8] = b".,";
/// The allowed thousands separators.
pub(crate) const THOUSANDS: &[u8] = b".,'_ ";

impl CsvOptions {
    /// The same options in canonical form: `missing` is a set, so it is sorted and free of repeats.
    pub(crate) fn canonical(&self) -> Self {
        let mut options = self.clone();
        options.missing.sort_unstable();
        options.missing.dedup();
        options
    }

    /// Refuses options by which a file could be read in two ways.
    pub fn check(&self) -> Result<(), SchemaError> {
        let clash =
            |first, second, both: u8| Err(SchemaError::CsvClash { first, second, both: char::from(both) });
        if self.decimal == self.delimiter {
            return clash("decimal", "delimiter", self.decimal);
        }
        if self.thousands == Some(self.decimal) {
            return clash("decimal", "thousands", self.decimal);
        }
        if self.comment == Some(self.delimiter) {
            return clash("comment", "delimiter", self.delimiter);
        }
        if self.header && self.names.is_some() {
            return Err(SchemaError::HeaderAndNames);
        }
        Ok(())
    }

    /// The number that a field spells.
    pub(crate) fn number(&self, field: &[u8]) -> Option<f64> {
        let text = std::str::from_utf8(field).ok()?;
        if self.decimal == b'.' && self.thousands.is_none() {
            return text.parse().ok();
        }
        let decimal = char::from(self.decimal);
        let (whole, fraction) = text.split_once(decimal).map_or((text, None), |(a, b)| (a, Some(b)));
        let whole = match self.thousands {
            Some(separator) => without_groups(whole, separator)?,
            None => whole.to_owned(),
        };
        // Any point or comma that is left is neither decimal nor thousands separator.
        let is_stray = |text: &str| text.contains(['.', ',']);
        if is_stray(&whole) || fraction.is_some_and(is_stray) {
            return None;
        }
        fraction.map_or_else(|| whole.clone(), |fraction| format!("{whole}.{fraction}")).parse().ok()
    }
}

/// The digits of a whole part, without separators between groups of three. Groups of another length
/// are no number: `1.5` must not become 15.
fn without_groups(whole: &str, separator: u8) -> Option<String> {
    let is_separator = |c: char| match separator {
        // Typesetters' spaces and apostrophes.
        b' ' => matches!(c, ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}'),
        b'\'' => matches!(c, '\'' | '\u{2019}'),
        other => c == char::from(other),
    };
    let mut groups = whole.split(is_separator);
    let first = groups.next()?;
    let mut digits = first.to_owned();
    let mut is_grouped = false;
    for group in groups {
        if group.len() != 3 || !group.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        is_grouped = true;
        digits.push_str(group);
    }
    let leading = first.trim_start_matches(['+', '-']);
    let is_leading = (1..=3).contains(&leading.len()) && leading.bytes().all(|byte| byte.is_ascii_digit());
    (!is_grouped || is_leading).then_some(digits)
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            names: None,
            header: false,
            delimiter: b',',
            comment: None,
            missing: vec![String::new()],
            decimal: b'.',
            thousands: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(decimal: u8, thousands: Option<u8>, text: &str) -> Option<f64> {
        CsvOptions { decimal, thousands, ..CsvOptions::default() }.number(text.as_bytes())
    }

    #[test]
    fn decimal_commas_and_groups_are_read_as_declared() {
        for (text, value) in [("3,5", 3.5), ("-0,25", -0.25), ("7", 7.0), ("1e3", 1000.0), ("2,5e-1", 0.25)] {
            assert_eq!(number(b',', None, text), Some(value), "{text}");
        }
        for (text, value) in [("1.234,5", 1234.5), ("-12.345.678", -12_345_678.0), ("12345,5", 12345.5)] {
            assert_eq!(number(b',', Some(b'.'), text), Some(value), "{text}");
        }
        assert_eq!(number(b'.', Some(b','), "1,234,567.25"), Some(1_234_567.25));
        assert_eq!(number(b'.', Some(b'\''), "1’234'567"), Some(1_234_567.0));
        assert_eq!(number(b',', Some(b' '), "1\u{202f}234\u{a0}567,5"), Some(1_234_567.5));
    }

    /// With a thousands point, `1.5` is neither 15 nor 1.5: it is refused.
    #[test]
    fn an_ambiguous_number_is_refused() {
        for text in ["1.5", "1.2345", "1234.567", "1..234", ".234", "1.234.5", "3,5,1", "1,234.5", "-.123"] {
            assert_eq!(number(b',', Some(b'.'), text), None, "{text}");
        }
        for text in ["3.5", "1.234,5", "3,5,1", ""] {
            assert_eq!(number(b',', None, text), None, "{text}");
        }
        assert_eq!(number(b'.', None, "3,5"), None);
    }

    #[test]
    fn ambiguous_options_are_refused() {
        let usual = CsvOptions::default();
        let refused = |options: CsvOptions| options.check().unwrap_err().to_string();
        assert!(refused(CsvOptions { decimal: b',', ..usual.clone() }).contains("decimal and csv.delimiter"));
        let twice = CsvOptions { decimal: b',', thousands: Some(b','), delimiter: b';', ..usual.clone() };
        assert!(refused(twice).contains("decimal and csv.thousands"));
        assert!(CsvOptions { thousands: Some(b','), ..usual.clone() }.check().is_ok());
        assert!(usual.check().is_ok());
    }
}
