//! Which data set a file or a table is: its name and the hash of its content.

use std::fs::File;
use std::path::Path;

use sordino_data::{CsvOptions, DataError, Schema, Source};
use sordino_ledger::{Digest, Identity, Label};

use crate::error::RunError;

/// The name and the hash of a data file.
pub fn identity(data: &Path, name: Option<&Label>) -> Result<Identity, RunError> {
    let name = name.cloned().map_or_else(|| file_name(data), Ok)?;
    Ok(Identity { name, content: content(data)? })
}

/// The hash that identifies a data file. For IDX images it covers the file of labels too. It does
/// not depend on how text is parsed.
pub fn content(data: &Path) -> Result<Digest, RunError> {
    if data.is_dir() {
        return Err(DataError::Directory { path: data.to_owned() }.into());
    }
    if let Ok(source) = Source::open(data, &CsvOptions::default()) {
        return Ok(Digest::from_bytes(source.content()?));
    }
    let name = format!("`{}`", data.display());
    File::open(data).and_then(Digest::of_reader).map_err(|source| RunError::Read { name, source })
}

/// The identity of a table by its values, in memory or in a file. A ledger that has it beside the
/// digest of a file knows the same table as an array: see [`Ownership::link_values`].
///
/// [`Ownership::link_values`]: crate::Ownership::link_values
pub fn table_identity(table: &Source, schema: &Schema) -> Result<Digest, RunError> {
    Ok(Digest::from_bytes(table.identity(schema)?))
}

/// The default name of a data set: the name of its file.
pub(crate) fn file_name(path: &Path) -> Result<Label, RunError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let label = name.and_then(|name| Label::new(name).ok());
    label.ok_or_else(|| RunError::NoName { name: path.display().to_string().escape_debug().to_string() })
}
