//! Arrow batches in memory.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::arrow;
use super::memory::{Columns, Values};
use crate::error::DataError;
use crate::schema::HeaderColumn;

/// Arrow batches in memory, one below the other. Their buffers are read in place.
#[derive(Clone)]
pub struct ArrowTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    /// The first row of each batch, and the number of all.
    starts: Vec<usize>,
}

impl ArrowTable {
    /// Refuses a batch with other columns than the schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self, DataError> {
        for batch in &batches {
            let types = |schema: &SchemaRef| -> Vec<_> {
                schema
                    .fields()
                    .iter()
                    .map(|field| (field.name().clone(), field.data_type().clone()))
                    .collect()
            };
            if types(&batch.schema()) != types(&schema) {
                let reason = "its batches have different columns".to_owned();
                return Err(DataError::Damaged { path: "the table".into(), format: "Arrow", reason });
            }
        }
        let mut starts = vec![0];
        starts.extend(batches.iter().scan(0, |row, batch| {
            *row += batch.num_rows();
            Some(*row)
        }));
        Ok(Self { schema, batches, starts })
    }
}

impl Columns for ArrowTable {
    fn header(&self) -> Vec<HeaderColumn> {
        arrow::header(&self.schema)
    }

    fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    fn read(&self, column: usize, rows: Range<usize>, out: &mut Values<'_>) {
        // The batch that has the first row: the last one that starts at it or before.
        let first = self.starts.partition_point(|start| *start <= rows.start).saturating_sub(1);
        for (batch, start) in self.batches.iter().zip(&self.starts).skip(first) {
            if *start >= rows.end {
                return;
            }
            let from = rows.start.max(*start) - start;
            let to = (rows.end - start).min(batch.num_rows());
            out.array(batch.column(column).slice(from, to - from).as_ref());
        }
    }
}

impl std::fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowTable").field("columns", &self.schema.fields().len()).finish_non_exhaustive()
    }
}
