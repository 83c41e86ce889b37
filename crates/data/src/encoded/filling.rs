//! Blocks on their way: filled row by row, handed on when they are full.

use super::{Block, Floats, ROWS_PER_BLOCK};
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::table::Table;

/// Numbers for which memory is set aside before they come.
const MOST_RESERVED: usize = 1 << 25;

/// Where full blocks go: to memory, or to a file.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Block) -> Result<(), DataError>;

pub(crate) struct Filling<'a> {
    encoding: &'a Encoding,
    has_target: bool,
    rows: Vec<f32>,
    targets: Vec<f32>,
    present: Vec<bool>,
}

impl<'a> Filling<'a> {
    /// With a target if the table has one.
    pub(crate) fn new(encoding: &'a Encoding, table: &Table) -> Self {
        let has_target = encoding.target().is_some_and(|name| table.column(name).is_ok());
        Self { encoding, has_target, rows: Vec::new(), targets: Vec::new(), present: Vec::new() }
    }

    /// Encodes those slots of a table that `is_taken` says.
    pub(crate) fn extend(
        &mut self,
        table: &Table,
        is_taken: impl Fn(usize) -> bool,
        take: Take<'_>,
    ) -> Result<(), DataError> {
        let columns = self.encoding.columns(table)?;
        let target = self.encoding.target_column(table)?.filter(|_| self.has_target);
        for slot in (0..table.slots()).filter(|slot| is_taken(*slot)) {
            if self.present.is_empty() {
                // Very wide rows may be few: they get their memory as they come.
                self.rows.reserve_exact((ROWS_PER_BLOCK * self.encoding.width()).min(MOST_RESERVED));
            }
            let is_present = table.is_present(slot);
            self.present.push(is_present);
            if is_present {
                self.encoding.push_row(&columns, slot, &mut self.rows);
            } else {
                self.rows.resize(self.rows.len() + self.encoding.width(), 0.0);
            }
            if let Some(column) = target {
                self.targets.push(if is_present { self.encoding.target_of(column, slot) } else { 0.0 });
            }
            if self.present.len() == ROWS_PER_BLOCK {
                take(self.block())?;
            }
        }
        Ok(())
    }

    /// Hands on the last block, and says whether there is a target.
    pub(crate) fn finish(mut self, take: Take<'_>) -> Result<bool, DataError> {
        if !self.present.is_empty() {
            self.rows.shrink_to_fit();
            take(self.block())?;
        }
        Ok(self.has_target)
    }

    fn block(&mut self) -> Block {
        Block {
            rows: Floats::Owned(std::mem::take(&mut self.rows)),
            targets: Floats::Owned(std::mem::take(&mut self.targets)),
            present: std::mem::take(&mut self.present),
        }
    }
}
