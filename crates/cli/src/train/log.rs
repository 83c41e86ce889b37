//! Messages about the progress of a run, for `-v` and `--log`. They hold names and public numbers
//! only: never a record, a loss or a norm.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use sordino_run::RunError;

pub(crate) struct Log {
    is_verbose: bool,
    file: Option<File>,
    start: Instant,
}

impl Log {
    pub(crate) fn open(is_verbose: bool, path: Option<&Path>) -> Result<Self, RunError> {
        let open = |path: &Path| {
            let failed = |source| RunError::WriteFile { name: path.display().to_string(), source };
            OpenOptions::new().create(true).append(true).open(path).map_err(failed)
        };
        Ok(Self { is_verbose, file: path.map(open).transpose()?, start: Instant::now() })
    }

    pub(crate) fn say(&mut self, what: &str) {
        let line = format!("{:9.3} s  {what}\n", self.start.elapsed().as_secs_f64());
        // A log that cannot be written, or a closed terminal, does not stop a run that was paid
        // for.
        if self.is_verbose {
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
        if let Some(file) = &mut self.file {
            let _ = file.write_all(line.as_bytes());
        }
    }
}
