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
    /// Slots that are to come, where that is known.
    left: Option<usize>,
}

impl<'a> Filling<'a> {
    /// With a target if the table has one. `slots` is how many are to come, where that is known.
    pub(crate) fn new(encoding: &'a Encoding, table: &Table, slots: Option<usize>) -> Self {
        let has_target = encoding.target().is_some_and(|name| table.column(name).is_ok());
        let (rows, targets, present) = Default::default();
        Self { encoding, has_target, rows, targets, present, left: slots }
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
                self.start_block()?;
            }
            let width = self.encoding.width();
            self.rows.try_reserve(width).map_err(|_| out_of_memory(width))?;
            let is_present = table.is_present(slot);
            self.present.push(is_present);
            if is_present {
                self.encoding.push_row(&columns, slot, &mut self.rows);
            } else {
                self.rows.resize(self.rows.len() + width, 0.0);
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

    /// Sets memory aside for a block. Lack of it is an error and no crash: whoever encodes may have paid.
    fn start_block(&mut self) -> Result<(), DataError> {
        let slots = self.left.unwrap_or(ROWS_PER_BLOCK).min(ROWS_PER_BLOCK);
        self.left = self.left.map(|left| left - slots);
        let mut numbers = slots.saturating_mul(self.encoding.width());
        if self.left.is_none() {
            // Very wide rows may be few: they get their memory as they come.
            numbers = numbers.min(MOST_RESERVED);
        }
        self.rows.try_reserve_exact(numbers).map_err(|_| out_of_memory(numbers))?;
        self.present.try_reserve_exact(slots).map_err(|_| out_of_memory(slots))?;
        let targets = if self.has_target { slots } else { 0 };
        self.targets.try_reserve_exact(targets).map_err(|_| out_of_memory(targets))
    }

    fn block(&mut self) -> Block {
        Block {
            rows: Floats::Owned(std::mem::take(&mut self.rows)),
            targets: Floats::Owned(std::mem::take(&mut self.targets)),
            present: std::mem::take(&mut self.present),
        }
    }
}

fn out_of_memory(numbers: usize) -> DataError {
    DataError::OutOfMemory { bytes: size_of::<f32>() as u64 * numbers as u64 }
}
