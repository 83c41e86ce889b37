//! Reads a schema from its file.

use std::fs;
use std::path::Path;

use sordino_data::{SCHEMA_MAX_BYTES, Schema};

use crate::error::RunError;

/// Reads and checks a schema.
pub fn read(path: &Path) -> Result<Schema, RunError> {
    let name = format!("`{}`", path.display());
    let failed = |source| RunError::Read { name: name.clone(), source };
    if fs::metadata(path).map_err(failed)?.len() > SCHEMA_MAX_BYTES as u64 {
        return Err(RunError::SchemaTooLong { name, limit: SCHEMA_MAX_BYTES as u64 });
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    Schema::from_toml(&text).map_err(|source| RunError::Schema { name, source: source.into() })
}
