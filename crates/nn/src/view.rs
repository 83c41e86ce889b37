//! Views of an example: augmentation whose gradients are averaged before they are clipped.
//!
//! An example's loss is the mean over its views, so its gradient is one vector that is clipped once, and the sensitivity is
//! that of one record (De, Berrada, Hayes, Smith, Balle, *Unlocking High-Accuracy Differentially Private Image Classification
//! through Scale*, 2022). Views are public: the same for all examples.

use serde::{Deserialize, Serialize};

use crate::shape::Shape;

/// A view of an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum View {
    /// The example itself.
    Same,
    /// An image with left and right exchanged.
    Mirrored,
    /// An image moved by some rows and columns, filled up with zeros.
    Shifted {
        /// Rows, downwards.
        lines: i32,
        /// Columns, to the right.
        columns: i32,
    },
}

impl View {
    /// Writes one view of an input, images from channels first to channels last.
    pub(crate) fn write(self, shape: Shape, input: &[f32], to: &mut [f32]) {
        let Shape::Image { channels, height, width } = shape else {
            to.copy_from_slice(input);
            return;
        };
        match self {
            Self::Same if channels == 1 => to.copy_from_slice(input),
            Self::Same => transpose(input, channels, to),
            Self::Mirrored => place(input, [channels, height, width], to, |y, x| Some((y, width - 1 - x))),
            Self::Shifted { lines, columns } => {
                let within = |at: usize, by: i32, size: usize| {
                    usize::try_from(at as i64 - i64::from(by)).ok().filter(|from| *from < size)
                };
                place(input, [channels, height, width], to, |y, x| {
                    Some((within(y, lines, height)?, within(x, columns, width)?))
                });
            }
        }
    }
}

/// Channels first to channels last.
fn transpose(from: &[f32], channels: usize, to: &mut [f32]) {
    let pixels = from.len() / channels;
    for (channel, plane) in from.chunks_exact(pixels).enumerate() {
        for (pixel, number) in plane.iter().enumerate() {
            to[pixel * channels + channel] = *number;
        }
    }
}

fn place(
    from: &[f32],
    size: [usize; 3],
    to: &mut [f32],
    source: impl Fn(usize, usize) -> Option<(usize, usize)>,
) {
    let [channels, height, width] = size;
    for (pixel, to) in to.chunks_exact_mut(channels).enumerate() {
        let at = source(pixel / width, pixel % width);
        for (channel, to) in to.iter_mut().enumerate() {
            *to = at.map_or(0.0, |(y, x)| from[(channel * height + y) * width + x]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_move_pixels_and_put_channels_last() {
        let shape = Shape::Image { channels: 2, height: 2, width: 3 };
        let input: Vec<f32> = (0..12).map(|number| number as f32).collect();
        let mut to = vec![9.0; 12];
        View::Same.write(shape, &input, &mut to);
        assert_eq!(to, [0., 6., 1., 7., 2., 8., 3., 9., 4., 10., 5., 11.]);
        View::Mirrored.write(shape, &input, &mut to);
        assert_eq!(to, [2., 8., 1., 7., 0., 6., 5., 11., 4., 10., 3., 9.]);
        View::Shifted { lines: 1, columns: -1 }.write(shape, &input, &mut to);
        assert_eq!(to, [0., 0., 0., 0., 0., 0., 1., 7., 2., 8., 0., 0.]);
    }
}
