//! Encoded records in memory, or mapped from a cache: rows of numbers in fixed slots.
//!
//! # Layout
//! Slots are cut into blocks of [`ROWS_PER_BLOCK`]; a block is one matrix by rows. An empty slot
//! has a row of zeros and is marked as empty. Blocks are filled one after the other and never
//! moved, so that building takes little more memory than the result.

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

/// Rows, targets and which slots are empty.
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
    /// Empty where there is no target.
    pub(crate) targets: Floats,
    pub(crate) present: Vec<bool>,
}

/// One block: a matrix by rows, with what belongs to its rows.
#[derive(Clone, Copy)]
pub struct BlockView<'a> {
    /// The slot of its first row.
    pub first_slot: usize,
    /// `present.len()` rows of [`Encoded::width`] numbers; zeros for empty slots.
    pub rows: &'a [f32],
    /// One target for each row, or none at all where there is no target.
    pub targets: &'a [f32],
    /// Whether a slot holds a record.
    pub present: &'a [bool],
    memory: &'a Floats,
}

impl BlockView<'_> {
    /// To be told once all of its rows were read in a pass over the data: the memory of a
    /// mapped block is then given back, so that a pass over a cache needs that of a few blocks.
    /// They may be read again at any time.
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

    /// From blocks of which all but the last are full, of a file of this content.
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

    /// How it was encoded.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// How many records one unit has at most, and what follows from it.
    pub fn limit(&self) -> &ContributionLimit {
        &self.limit
    }

    /// The content of the file that it was read from ([`Source::content`](crate::Source::content)):
    /// the bytes that were encoded are those that were digested. Nothing for a table that a program
    /// made, and for a cache of an earlier run, of which nobody knows it.
    pub fn content(&self) -> Option<[u8; 32]> {
        self.content
    }

    /// n: empty slots included.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.encoding.width()
    }

    /// Whether there is a target to learn or to compare with.
    pub fn has_target(&self) -> bool {
        self.has_target
    }

    /// The row of a slot; nothing if it is empty.
    pub fn row(&self, slot: usize) -> Option<&[f32]> {
        let (block, row) = self.place(slot);
        block.present[row].then(|| &block.rows[row * self.width()..(row + 1) * self.width()])
    }

    /// The encoded target of a slot: a scaled number, or a class as its number. 0 for an empty
    /// slot, and where there is no target.
    pub fn target(&self, slot: usize) -> f32 {
        let (block, row) = self.place(slot);
        block.targets.get(row).copied().unwrap_or(0.0)
    }

    /// The class of a slot, where the target is a category.
    pub fn class(&self, slot: usize) -> usize {
        // Classes were encoded from small whole numbers.
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

/// Numbers that are here, or in a mapped file.
pub(crate) enum Floats {
    Owned(Vec<f32>),
    #[cfg(feature = "arrow")]
    Mapped(arrow_buffer::ScalarBuffer<f32>, crate::map::MappedFile),
}

impl Floats {
    /// Gives back the memory of mapped numbers.
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
