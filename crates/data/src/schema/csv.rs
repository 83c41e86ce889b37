//! How the CSV files of a table are written: what a header cannot say.

/// Options of CSV files. All of them are public; other formats ignore them.
///
/// | key of `[csv]` | meaning | default |
/// |---|---|---|
/// | `names` | the file has no header line; these are its columns | the first line is the header |
/// | `delimiter` | one ASCII character | `,` |
/// | `comment` | lines that start with this ASCII character are passed over | none |
/// | `missing` | texts that mean that a value is missing | the empty text |
///
/// Spaces and tabs around a field do not belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The columns of a file without a header line.
    pub names: Option<Vec<String>>,
    /// What stands between two fields.
    pub delimiter: u8,
    /// What a line starts with that is no record.
    pub comment: Option<u8>,
    /// Texts that mean that a value is missing.
    pub missing: Vec<String>,
}

impl CsvOptions {
    /// The same options, as one of all the ways to write them: texts for missing values are a set.
    pub(crate) fn canonical(&self) -> Self {
        let mut options = self.clone();
        options.missing.sort_unstable();
        options.missing.dedup();
        options
    }
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { names: None, delimiter: b',', comment: None, missing: vec![String::new()] }
    }
}
