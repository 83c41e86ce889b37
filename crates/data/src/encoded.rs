//! Encoded records, in memory or mapped from a cache: rows of numbers in fixed slots.
//!
//! # Layout
//! Slots are cut into blocks of [`ROWS_PER_BLOCK`]; a block is one row-major matrix. An empty slot
//! has a row of zeros and is marked as empty. Blocks are filled one after the other and never
//! moved, so building takes little more memory than the result.

mod filling;

use std::fmt;
use std::ops::Deref;

pub(crate) use self::filling::Filling;
use crate::encoding::Encoding;
use crate::error::DataError;
use crate::limits::ContributionLimit;
use crate::table::Table;

/// Slots in a block.
pub const ROWS_PER_BLOCK: usize = 4096;

/// Encoded records: rows, targets, and which slots are empty.
pub struct Encoded {
    encoding: Encoding,
    limit: ContributionLimit,
    has_target: bool,
    blocks: Vec<Block>,
    slots: usize,
    content: Option<[u8; 32]>,
}

pub(crate) struct Block {
    pub(crate) rows: Floats,
    /// Empty if there is no target.
    pub(crate) targets: Floats,
    pub(crate) present: Vec<bool>,
}

/// One block: a row-major matrix, and the targets of its rows.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    /// The slot of its first row.
    pub first_slot: usize,
    /// `present.len()` rows of [`Encoded::width`] numbers; zeros for empty slots.
    pub rows: &'a [f32],
    /// One target for each row; empty if there is no target.
    pub targets: &'a [f32],
    /// Whether each slot holds a record.
    pub present: &'a [bool],
    memory: &'a Floats,
}

impl BlockView<'_> {
    /// Releases the memory of a mapped block. Call it when a pass has read all rows of the block,
    /// so that a pass over a cache holds a few blocks at a time. The rows may be read again at any
    /// time.
    pub fn done(&self) {
        self.memory.drop_pages();
    }
}

impl Encoded {
    /// Encodes a bounded table. Its target may be absent, for prediction.
    pub fn new(encoding: &Encoding, table: &Table) -> Result<Self, DataError> {
        let mut blocks = Vec::new();
        let mut filling = Filling::new(encoding, table, Some(table.slots()));
        let mut keep = |block| {
            blocks.push(block);
            Ok(())
        };
        filling.extend(table, |_| true, &mut keep)?;
        let has_target = filling.finish(&mut keep)?;
        Ok(Self::from_blocks(encoding, table.limit().clone(), has_target, blocks, None))
    }

    /// Joins blocks, all full except the last. `content` is the digest of the file they come from.
    pub(crate) fn from_blocks(
        encoding: &Encoding,
        limit: ContributionLimit,
        has_target: bool,
        blocks: Vec<Block>,
        content: Option<[u8; 32]>,
    ) -> Self {
        let slots = blocks.iter().map(|block| block.present.len()).sum();
        Self { encoding: encoding.clone(), limit, has_target, blocks, slots, content }
    }

    /// The encoding that made the rows.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// The limit on the records of one unit.
    pub fn limit(&self) -> &ContributionLimit {
        &self.limit
    }

    /// The digest of the file that was read ([`Source::content`](crate::Source::content)). It
    /// covers the very bytes that were encoded. `None` for a table that a program made, and for the
    /// cache of an earlier run, whose source is unknown.
    pub fn content(&self) -> Option<[u8; 32]> {
        self.content
    }

    /// n, the number of slots, empty ones included.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The number of coordinates of a row.
    pub fn width(&self) -> usize {
        self.encoding.width()
    }

    /// Whether there is a target to learn or to compare with.
    pub fn has_target(&self) -> bool {
        self.has_target
    }

    /// The row of a slot; `None` if the slot is empty.
    pub fn row(&self, slot: usize) -> Option<&[f32]> {
        let (block, row) = self.place(slot);
        block.present[row].then(|| &block.rows[row * self.width()..(row + 1) * self.width()])
    }

    /// The encoded target of a slot: a scaled number, or the index of a class. 0 for an empty slot,
    /// and if there is no target.
    pub fn target(&self, slot: usize) -> f32 {
        let (block, row) = self.place(slot);
        block.targets.get(row).copied().unwrap_or(0.0)
    }

    /// The index of a slot's class, if the target is a category.
    pub fn class(&self, slot: usize) -> usize {
        // Exact: the target is a small whole number.
        self.target(slot) as usize
    }

    /// All blocks, in order of slots.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockView<'_>> {
        self.blocks.iter().enumerate().map(|(index, block)| BlockView {
            first_slot: index * ROWS_PER_BLOCK,
            rows: &block.rows,
            targets: &block.targets,
            present: &block.present,
            memory: &block.rows,
        })
    }

    fn place(&self, slot: usize) -> (&Block, usize) {
        (&self.blocks[slot / ROWS_PER_BLOCK], slot % ROWS_PER_BLOCK)
    }
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded").field("width", &self.width()).finish_non_exhaustive()
    }
}

impl fmt::Debug for BlockView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockView").field("first_slot", &self.first_slot).finish_non_exhaustive()
    }
}

/// Numbers in memory, or in a mapped file.
pub(crate) enum Floats {
    Owned(Vec<f32>),
    #[cfg(feature = "arrow")]
    Mapped(arrow_buffer::ScalarBuffer<f32>, crate::map::MappedFile),
}

impl Floats {
    /// Releases the memory of mapped numbers.
    pub(crate) fn drop_pages(&self) {
        match self {
            Self::Owned(_) => {}
            #[cfg(feature = "arrow")]
            Self::Mapped(values, file) => file.drop_pages(values),
        }
    }
}

impl Deref for Floats {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Self::Owned(values) => values,
            #[cfg(feature = "arrow")]
            Self::Mapped(values, _) => values,
        }
    }
}
