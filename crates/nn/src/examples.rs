//! Where examples come from.

use sordino_data::{BlockView, ContributionLimit, Encoded, ROWS_PER_BLOCK, UnitRule};

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

    /// How many examples of one unit there are at most. An example is a unit of its own, unless the data says otherwise.
    fn limit(&self) -> ContributionLimit {
        ContributionLimit::of(&UnitRule::Record)
    }

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
    limit: ContributionLimit,
}

impl<'a> Records<'a> {
    /// Looks at `data`, and copies nothing.
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

/// Examples one after the other in memory, every slot full.
#[derive(Clone, Debug)]
pub struct Rows {
    /// From `start` on.
    inputs: Vec<f32>,
    start: usize,
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
        let (inputs, start) = at_a_line(inputs);
        Self { inputs, start, targets, width, target_width }
    }
}

/// Moves numbers so that they begin at a line of the cache, and says where in the array that is: a load that goes across two lines takes twice as
/// long, and large arrays begin a quarter of a line after one.
fn at_a_line(mut numbers: Vec<f32>) -> (Vec<f32>, usize) {
    const LINE: usize = 64;
    let (count, most) = (numbers.len(), LINE / size_of::<f32>());
    numbers.reserve_exact(most);
    let start = numbers.as_ptr().align_offset(LINE).min(most);
    numbers.resize(count + start, 0.0);
    numbers.copy_within(..count, start);
    (numbers, start)
}

impl Examples for Rows {
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
    fn rows_are_where_they_should_be() {
        let rows = Rows::new((0..21).map(|x| x as f32).collect(), 7, vec![5.0, 6.0, 7.0], 1);
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
