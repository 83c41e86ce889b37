//! Fills blocks, and passes each on when it is full.

use std::ops::Range;

use super::{Block, Floats, ROWS_PER_BLOCK};
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::table::{BoundedColumn, Table};

/// The most numbers for which memory is reserved in advance if the number of slots is unknown.
const MAX_RESERVED: usize = 1 << 25;

/// Where full blocks go: to memory, or to a file.
pub(crate) type Take<'a> = &'a mut dyn FnMut(Block) -> Result<(), DataError>;

pub(crate) struct Filling<'a> {
    encoding: &'a Encoding,
    has_target: bool,
    rows: Vec<f32>,
    targets: Vec<f32>,
    present: Vec<bool>,
    /// The number of slots still to come, if it is known.
    left: Option<usize>,
}

impl<'a> Filling<'a> {
    /// Encodes the target too if the table has one. `slots` is the number of slots to come, if it
    /// is known.
    pub(crate) fn new(encoding: &'a Encoding, table: &Table, slots: Option<usize>) -> Self {
        let has_target = encoding.target().is_some_and(|name| table.column(name).is_ok());
        let (rows, targets, present) = Default::default();
        Self { encoding, has_target, rows, targets, present, left: slots }
    }

    /// Encodes the slots of a table that `is_taken` selects.
    pub(crate) fn extend(
        &mut self,
        table: &Table,
        is_taken: impl Fn(usize) -> bool,
        take: Take<'_>,
    ) -> Result<(), DataError> {
        let columns = self.encoding.columns(table)?;
        let target = self.encoding.target_column(table)?.filter(|_| self.has_target);
        let mut next = 0;
        while next < table.slots() {
            if !is_taken(next) {
                next += 1;
                continue;
            }
            if self.present.is_empty() {
                self.start_block()?;
            }
            // Consecutive slots that go into the same block.
            let most = table.slots().min(next + ROWS_PER_BLOCK - self.present.len());
            let end = (next + 1..most).find(|slot| !is_taken(*slot)).unwrap_or(most);
            self.fill(table, &columns, target, next..end)?;
            if self.present.len() == ROWS_PER_BLOCK {
                take(self.block())?;
            }
            next = end;
        }
        Ok(())
    }

    /// Encodes consecutive slots into the block.
    fn fill(
        &mut self,
        table: &Table,
        columns: &[&BoundedColumn],
        target: Option<&BoundedColumn>,
        slots: Range<usize>,
    ) -> Result<(), DataError> {
        let (first, numbers) = (self.rows.len(), slots.len() * self.encoding.width());
        // Allocates only if the number of slots was unknown, or was stated too low.
        reserve(&mut self.rows, numbers)?;
        self.rows.resize(first + numbers, 0.0);
        let present = table.present(slots.clone());
        self.encoding.fill_rows(columns, slots.clone(), present, &mut self.rows[first..]);
        self.present.extend_from_slice(present);
        if let Some(column) = target {
            let of = |(slot, is_present): (usize, &bool)| {
                if *is_present { self.encoding.target_of(column, slot) } else { 0.0 }
            };
            self.targets.extend(slots.zip(present).map(of));
        }
        Ok(())
    }

    /// Passes on the last block, and returns whether there is a target.
    pub(crate) fn finish(mut self, take: Take<'_>) -> Result<bool, DataError> {
        if !self.present.is_empty() {
            self.rows.shrink_to_fit();
            self.targets.shrink_to_fit();
            self.present.shrink_to_fit();
            take(self.block())?;
        }
        Ok(self.has_target)
    }

    /// Reserves memory for a block. Lack of memory is an error, not a crash: the run may already be
    /// paid for.
    fn start_block(&mut self) -> Result<(), DataError> {
        let slots = self.left.unwrap_or(ROWS_PER_BLOCK).min(ROWS_PER_BLOCK);
        self.left = self.left.map(|left| left - slots);
        let mut numbers = slots.saturating_mul(self.encoding.width());
        if self.left.is_none() {
            // There may be few rows, and wide ones: beyond the limit, memory grows with the rows.
            numbers = numbers.min(MAX_RESERVED);
        }
        reserve_exact(&mut self.rows, numbers)?;
        reserve_exact(&mut self.present, slots)?;
        reserve_exact(&mut self.targets, if self.has_target { slots } else { 0 })
    }

    fn block(&mut self) -> Block {
        Block {
            rows: Floats::Owned(std::mem::take(&mut self.rows)),
            targets: Floats::Owned(std::mem::take(&mut self.targets)),
            present: std::mem::take(&mut self.present),
        }
    }
}

fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), DataError> {
    values.try_reserve(more).map_err(|_| out_of_memory::<T>(more))
}

fn reserve_exact<T>(values: &mut Vec<T>, more: usize) -> Result<(), DataError> {
    values.try_reserve_exact(more).map_err(|_| out_of_memory::<T>(more))
}

fn out_of_memory<T>(values: usize) -> DataError {
    DataError::OutOfMemory { bytes: (size_of::<T>() as u64).saturating_mul(values as u64) }
}

#[cfg(test)]
mod tests {
    use sordino_noise::danger::seeded;

    use super::*;
    use crate::encoding::EncodingOptions;
    use crate::raw::RawTable;
    use crate::schema::Schema;
    use crate::source::Door;

    const SCHEMA: &str = "columns.x = { kind = 'number', bounds = [0, 1] }
                          columns.y = { kind = 'category', values = [0, 1, 2] }";

    fn table(slots: usize) -> Table {
        let column = |modulus: usize| (0..slots).map(|slot| (slot % modulus) as f64).collect();
        let raw = RawTable::new().numbers("x", column(2)).unwrap().numbers("y", column(3)).unwrap();
        Table::new(raw, &Schema::from_toml(SCHEMA).unwrap(), Door::Strict, &mut seeded(1)).unwrap()
    }

    fn encoding(target: Option<&str>) -> Encoding {
        let options = EncodingOptions { target: target.map(str::to_owned), ..Default::default() };
        let names = ["x".to_owned(), "y".to_owned()];
        Encoding::new(&Schema::from_toml(SCHEMA).unwrap(), &names, options).unwrap()
    }

    /// The bytes that are really reserved; `is_known` says whether the number of slots is known.
    fn taken(encoding: &Encoding, slots: usize, is_known: bool) -> u64 {
        let table = table(slots);
        let mut bytes = 0;
        let mut take = |block: Block| {
            let (Floats::Owned(rows), Floats::Owned(targets)) = (&block.rows, &block.targets) else {
                panic!("nothing is mapped here")
            };
            bytes +=
                4 * rows.capacity() + 4 * targets.capacity() + block.present.capacity() + size_of::<Block>();
            Ok(())
        };
        let mut filling = Filling::new(encoding, &table, is_known.then_some(slots));
        filling.extend(&table, |_| true, &mut take).unwrap();
        filling.finish(&mut take).unwrap();
        bytes as u64
    }

    /// A run was once charged for a table that did not fit into memory, and was then killed.
    #[test]
    fn the_bytes_of_encoded_records_are_known_in_advance() {
        for target in [None, Some("x"), Some("y")] {
            let encoding = encoding(target);
            for slots in [0, 1, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, 3 * ROWS_PER_BLOCK + 7] {
                for is_known in [false, true] {
                    let (stated, taken) = (encoding.bytes(slots as u64), taken(&encoding, slots, is_known));
                    assert_eq!(stated, taken, "{target:?}, {slots} slots, known: {is_known}");
                }
            }
            assert_eq!(encoding.bytes(u64::MAX), u64::MAX);
        }
    }

    #[test]
    fn lack_of_memory_is_an_error() {
        let refused =
            [reserve_exact(&mut Vec::<f32>::new(), usize::MAX / 4), reserve(&mut vec![1f32], usize::MAX / 8)];
        for result in refused {
            let error = result.unwrap_err();
            assert!(matches!(error, DataError::OutOfMemory { .. }), "{error}");
        }
    }
}
