//! The examples of a network.

use sordino_data::{BlockView, ContributionLimit, Encoded, ROWS_PER_BLOCK, UnitRule};

/// The example in one slot.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// Numbers in the order of [`Shape`](crate::Shape); images have channels first, as in PyTorch and most files.
    pub input: &'a [f32],
    /// One class or several (negative: ignored), or numbers, depending on the loss.
    pub target: &'a [f32],
}

/// Examples in fixed slots.
pub trait Examples: Sync {
    /// The number of slots n, empty ones included.
    fn slots(&self) -> usize;

    /// The lengths of an input and of a target: public, and the same for all slots. An example of other lengths counts as
    /// an empty slot.
    fn widths(&self) -> [usize; 2];

    /// How many examples one unit may have. By default each example is a unit.
    fn limit(&self) -> ContributionLimit {
        ContributionLimit::of(&UnitRule::Record)
    }

    /// The example in a slot; `None` if the slot is empty. It is read several times in a step and must not change: its
    /// clipping weight belongs to the numbers that were measured.
    fn example(&self, slot: usize) -> Option<Example<'_>>;
}

/// Encoded records with one class or number as target.
pub struct Records<'a> {
    blocks: Vec<BlockView<'a>>,
    width: usize,
    target_width: usize,
    slots: usize,
    limit: ContributionLimit,
}

impl<'a> Records<'a> {
    /// Refers to `data` without copying.
    pub fn new(data: &'a Encoded) -> Self {
        let target_width = usize::from(data.has_target());
        let (blocks, limit) = (data.blocks().collect(), data.limit().clone());
        Self { blocks, width: data.width(), target_width, slots: data.slots(), limit }
    }
}

impl Examples for Records<'_> {
    fn slots(&self) -> usize {
        self.slots
    }

    fn widths(&self) -> [usize; 2] {
        [self.width, self.target_width]
    }

    fn limit(&self) -> ContributionLimit {
        self.limit.clone()
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        let (block, row) = (&self.blocks[slot / ROWS_PER_BLOCK], slot % ROWS_PER_BLOCK);
        let input = &block.rows[row * self.width..][..self.width];
        block.present[row]
            .then_some(Example { input, target: block.targets.get(row..row + 1).unwrap_or(&[]) })
    }
}

/// Examples one after the other in memory, with no empty slots.
#[derive(Clone, Debug)]
pub struct DenseExamples {
    /// They begin at `start`.
    inputs: Vec<f32>,
    start: usize,
    targets: Vec<f32>,
    width: usize,
    target_width: usize,
}

impl DenseExamples {
    /// `inputs` has `width` numbers for each example and `targets` has `target_width`.
    ///
    /// # Panics
    /// If a width is 0, or if there are not as many inputs as targets.
    pub fn new(inputs: Vec<f32>, width: usize, targets: Vec<f32>, target_width: usize) -> Self {
        assert!(width > 0 && target_width > 0, "an example has an input and a target");
        assert_eq!(inputs.len() / width, targets.len() / target_width, "as many inputs as targets");
        let (inputs, start) = aligned(inputs);
        Self { inputs, start, targets, width, target_width }
    }
}

/// Moves numbers to the beginning of a cache line, and returns its index in the array: a load across two cache lines takes
/// twice as long, and large arrays begin 16 bytes after one.
fn aligned(mut numbers: Vec<f32>) -> (Vec<f32>, usize) {
    const CACHE_LINE: usize = 64;
    let (count, most) = (numbers.len(), CACHE_LINE / size_of::<f32>());
    numbers.reserve_exact(most);
    let start = numbers.as_ptr().align_offset(CACHE_LINE).min(most);
    numbers.resize(count + start, 0.0);
    numbers.copy_within(..count, start);
    (numbers, start)
}

impl Examples for DenseExamples {
    fn slots(&self) -> usize {
        self.targets.len() / self.target_width
    }

    fn widths(&self) -> [usize; 2] {
        [self.width, self.target_width]
    }

    fn example(&self, slot: usize) -> Option<Example<'_>> {
        Some(Example {
            input: &self.inputs[self.start + slot * self.width..][..self.width],
            target: &self.targets[slot * self.target_width..][..self.target_width],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_examples_are_aligned_and_in_order() {
        let rows = DenseExamples::new((0..21).map(|x| x as f32).collect(), 7, vec![5.0, 6.0, 7.0], 1);
        assert_eq!((rows.slots(), rows.widths()), (3, [7, 1]));
        for rows in [&rows, &rows.clone()] {
            let last = rows.example(2).unwrap();
            assert_eq!(
                (last.input, last.target),
                (&[14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0][..], &[7.0][..])
            );
        }
        assert!(rows.example(0).unwrap().input.as_ptr().addr().is_multiple_of(64));
    }
}
