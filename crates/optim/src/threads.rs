//! Work on the coordinates of long vectors, shared by threads.

use std::num::NonZero;

use sordino_threads::share;

/// The fewest coordinates for which waking another thread pays off.
pub(crate) const MIN_PART: usize = 1 << 14;

/// Calls `work` on several threads, with the start of a part and that part of each array. The
/// arrays have the same length or are empty; the parts of an empty array are empty. A part has at
/// least [`MIN_PART`] coordinates, except the last.
pub(crate) fn in_parts<const N: usize>(
    threads: NonZero<usize>,
    arrays: [&mut [f64]; N],
    work: impl Fn(usize, [&mut [f64]; N]) + Sync,
) {
    let length = arrays.iter().map(|array| array.len()).max().unwrap_or(0);
    let part = length.div_ceil(threads.get()).max(MIN_PART);
    let mut arrays = arrays;
    let starts = (0..length).step_by(part);
    let parts: Vec<_> =
        starts.map(|start| (start, arrays.each_mut().map(|array| split_off(array, part)))).collect();
    share(&mut vec![(); parts.len()], parts, |(), (start, parts)| work(start, parts));
}

/// Takes the first `count` numbers, or as many as there are.
fn split_off<'a>(array: &mut &'a mut [f64], count: usize) -> &'a mut [f64] {
    let count = count.min(array.len());
    array.split_off_mut(..count).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coordinate_is_visited_once() {
        for length in [0, 1, MIN_PART, MIN_PART + 1, 5 * MIN_PART + 3] {
            for threads in [1, 2, 3, 8] {
                let (mut numbers, mut empty) = (vec![0.0; length], []);
                let threads = NonZero::new(threads).unwrap();
                in_parts(threads, [&mut numbers, &mut empty], |start, [part, empty]| {
                    assert!(empty.is_empty());
                    part.iter_mut().enumerate().for_each(|(j, x)| *x += (start + j + 1) as f64);
                });
                assert!(numbers.iter().enumerate().all(|(j, x)| *x == (j + 1) as f64));
            }
        }
    }
}
