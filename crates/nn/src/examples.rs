//! Where examples come from.

use sordino_data::{BlockView, Encoded, ROWS_PER_BLOCK};

/// What one slot holds.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// Numbers as [`Shape`](crate::Shape) says; of pictures the channels first, as PyTorch and most files have them.
    pub input: &'a [f32],
    /// A class or several (negative: ignored), or numbers, as the loss has it.
    pub target: &'a [f32],
}

/// Examples in fixed slots.
pub trait Examples: Sync {
    /// n, empty slots included.
    fn slots(&self) -> usize;

    /// Numbers of an input and of a target: public, and the same for all slots. An example of other lengths counts as an empty slot.
    fn widths(&self) -> [usize; 2];

    /// What a slot holds; nothing if it is empty. It is read several times in a step, and must stay the same: a record that is measured and then
    /// changes is added with a weight that was not made for it.
    fn example(&self, slot: usize) -> Option<Example<'_>>;
}

/// Encoded records, whose target is one class or number.
pub struct Records<'a> {
    blocks: Vec<BlockView<'a>>,
    width: usize,
    target_width: usize,
    slots: usize,
}

impl<'a> Records<'a> {
    /// Looks at `data`, and copies nothing.
    pub fn new(data: &'a Encoded) -> Self {
        let target_width = usize::from(data.has_target());
        Self { blocks: data.blocks().collect(), width: data.width(), target_width, slots: data.slots() }
    }
}

impl Examples for Records<'_> {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        [self.width, self.target_width]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        let (block, row) = (&self.blocks[slot / ROWS_PER_BLOCK], slot % ROWS_PER_BLOCK);
        let input = &block.rows[row * self.width..][..self.width];
        block.present[row]
            .then_some(Example { input, target: block.targets.get(row..row + 1).unwrap_or(&[]) })
    }
}

/// Examples one after the other in memory, every slot full.
#[derive(Clone, Debug)]
pub struct Rows {
    inputs: Vec<f32>,
    targets: Vec<f32>,
    width: usize,
    target_width: usize,
}

impl Rows {
    /// `inputs` has `width` numbers for each example and `targets` has `target_width`.
    ///
    /// # Panics
    /// If one of the widths is 0 or the numbers of examples disagree.
    pub fn new(inputs: Vec<f32>, width: usize, targets: Vec<f32>, target_width: usize) -> Self {
        assert!(width > 0 && target_width > 0, "an example has an input and a target");
        assert_eq!(inputs.len() / width, targets.len() / target_width, "as many inputs as targets");
        Self { inputs, targets, width, target_width }
    }
}

impl Examples for Rows {
    fn slots(&self) -> usize {
        self.inputs.len() / self.width
    }

    fn widths(&self) -> [usize; 2] {
        [self.width, self.target_width]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        Some(Example {
            input: &self.inputs[slot * self.width..][..self.width],
            target: &self.targets[slot * self.target_width..][..self.target_width],
        })
    }
}
