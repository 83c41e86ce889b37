//! Which data set a file is: its name and the hash of its content.

use std::path::Path;

use sordino_data::Source;
use sordino_ledger::{Digest, Identity, Label};

use crate::error::RunError;

/// The name and the hash of a data file.
pub fn identity(source: &Source, name: Option<&Label>) -> Result<Identity, RunError> {
    let name = name.cloned().map_or_else(|| file_name(source.path()), Ok)?;
    Ok(Identity { name, content: Digest::from_bytes(source.content()?) })
}

/// The data set's name where none is given.
pub(crate) fn file_name(path: &Path) -> Result<Label, RunError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let label = name.and_then(|name| Label::new(name).ok());
    label.ok_or_else(|| RunError::NoName { name: path.display().to_string().escape_debug().to_string() })
}
