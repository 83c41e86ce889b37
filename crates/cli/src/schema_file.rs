//! Reads a schema from its file.

use std::fs;
use std::path::Path;

use sordino_data::{SCHEMA_MAX_BYTES, Schema};

use crate::error::Error;

pub(crate) fn read(path: &Path) -> Result<Schema, Error> {
    let name = format!("`{}`", path.display());
    let failed = |source| Error::Read { name: name.clone(), source };
    if fs::metadata(path).map_err(failed)?.len() > SCHEMA_MAX_BYTES as u64 {
        return Err(Error::SchemaTooLong { name, limit: SCHEMA_MAX_BYTES as u64 });
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Schema::from_toml(&text).map_err(|source| Error::Schema { name, source: source.into() })
}
