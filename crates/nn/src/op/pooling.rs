//! Largest and mean values of windows.
//!
//! Windows are `kernel` wide, `stride` apart, and lie inside of the picture (no padding). Adaptive pooling has windows from
//! `floor(i H/O)` to `ceil((i + 1) H/O)`, as PyTorch has it.
//!
//! Of several equal largest values the first is taken, in both directions.

use super::{Op, Pass, Ready, Saved};
use crate::kernel::isa::{LANES, Machine, vectorised};
use crate::shape::Shape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Largest,
    Mean,
}

/// A run of lines or columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    start: usize,
    length: usize,
}

#[derive(Debug)]
pub(crate) struct Pool {
    kind: Kind,
    width: usize,
    channels: usize,
    input_size: usize,
    lines: Vec<Window>,
    columns: Vec<Window>,
    /// Whether each pixel is in one window and no other.
    is_partition: bool,
}

impl Pool {
    /// Windows of one size. They fit: the caller has checked it.
    pub(crate) fn sliding(kind: Kind, input: Shape, kernel: [usize; 2], stride: [usize; 2]) -> Self {
        let Shape::Image { height, width, .. } = input else { unreachable!("the caller has checked it") };
        let windows = |length: usize, kernel: usize, stride: usize| {
            (0..=length - kernel).step_by(stride).map(|start| Window { start, length: kernel }).collect()
        };
        let (lines, columns) = (windows(height, kernel[0], stride[0]), windows(width, kernel[1], stride[1]));
        Self::new(kind, input, [height, width], lines, columns)
    }

    /// As many windows as outputs are wanted.
    pub(crate) fn adaptive(kind: Kind, input: Shape, output: [usize; 2]) -> Self {
        let Shape::Image { height, width, .. } = input else { unreachable!("the caller has checked it") };
        let windows = |length: usize, count: usize| {
            (0..count).map(move |i| {
                let start = i * length / count;
                Window { start, length: ((i + 1) * length).div_ceil(count) - start }
            })
        };
        let (lines, columns) = (windows(height, output[0]).collect(), windows(width, output[1]).collect());
        Self::new(kind, input, [height, width], lines, columns)
    }

    fn new(kind: Kind, input: Shape, size: [usize; 2], lines: Vec<Window>, columns: Vec<Window>) -> Self {
        let is_partition = follow(&lines, size[0]) && follow(&columns, size[1]);
        let (channels, input_size) = (input.channels(), input.size());
        Self { kind, width: size[1], channels, input_size, lines, columns, is_partition }
    }

    fn output_size(&self) -> usize {
        self.lines.len() * self.columns.len() * self.channels
    }

    /// Every window: where its output's channels begin, its lines and its columns.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(usize, Window, Window)) {
        let mut out = 0;
        for line in &self.lines {
            for column in &self.columns {
                f(out, *line, *column);
                out += self.channels;
            }
        }
    }

    /// Where the channels of each pixel of a window begin, in order.
    #[inline(always)]
    fn pixels(&self, lines: Window, columns: Window, mut f: impl FnMut(usize)) {
        for y in lines.start..lines.start + lines.length {
            let first = (y * self.width + columns.start) * self.channels;
            for x in 0..columns.length {
                f(first + x * self.channels);
            }
        }
    }
}

/// Whether windows follow each other without gaps, to the end.
fn follow(windows: &[Window], length: usize) -> bool {
    let end = windows
        .iter()
        .try_fold(0, |end, window| (window.start == end).then_some(window.start + window.length));
    end == Some(length)
}

/// Sixteen channels of one pixel after the other, from one on. Whole lines are instructions; parts of lines are calls, so who has only whole ones says so.
#[derive(Clone, Copy)]
struct Lanes<const WHOLE: bool> {
    first: usize,
    count: usize,
}

impl<const WHOLE: bool> Lanes<WHOLE> {
    /// The numbers at a pixel; zeros where there are fewer than sixteen.
    #[inline(always)]
    fn read(self, data: &[f32], pixel: usize) -> [f32; LANES] {
        let from = &data[pixel + self.first..];
        let Some(line) = from.first_chunk().filter(|_| WHOLE) else {
            let mut line = [0.0; LANES];
            line[..self.count].copy_from_slice(&from[..self.count]);
            return line;
        };
        *line
    }

    #[inline(always)]
    fn write(self, data: &mut [f32], pixel: usize, line: &[f32; LANES]) {
        let to = &mut data[pixel + self.first..];
        if WHOLE && let Some(to) = to.first_chunk_mut() {
            *to = *line;
        } else {
            to[..self.count].copy_from_slice(&line[..self.count]);
        }
    }
}

/// Calls a function for the channels in parts of up to sixteen.
macro_rules! in_parts {
    ($channels:expr, |$lanes:ident| $call:expr) => {
        for first in (0..$channels).step_by(LANES) {
            let count = LANES.min($channels - first);
            if count == LANES {
                let $lanes = Lanes::<true> { first, count };
                $call
            } else {
                let $lanes = Lanes::<false> { first, count };
                $call
            }
        }
    };
}

vectorised! {
    fn forward_image(pool: &Pool, input: &[f32], output: &mut [f32]) = forward_body;
}

#[inline(always)]
fn forward_body<M: Machine>(_: M, pool: &Pool, input: &[f32], output: &mut [f32]) {
    in_parts!(pool.channels, |lanes| {
        pool.each(|out, lines, columns| {
            let share = 1.0 / (lines.length * columns.length) as f32;
            let mut result = match pool.kind {
                Kind::Largest => [f32::NEG_INFINITY; LANES],
                Kind::Mean => [0.0; LANES],
            };
            pool.pixels(lines, columns, |pixel| {
                let from = lanes.read(input, pixel);
                for lane in 0..LANES {
                    let (x, best) = (from[lane], result[lane]);
                    result[lane] = match pool.kind {
                        // NaN is taken and stays: it must reach the loss.
                        Kind::Largest => {
                            if x > best || x.is_nan() {
                                x
                            } else {
                                best
                            }
                        }
                        Kind::Mean => best + x * share,
                    };
                }
            });
            lanes.write(output, out, &result);
        });
    });
}

vectorised! {
    /// `largest` has the values that were taken; of equal ones the first was.
    fn backward_image(pool: &Pool, input: &[f32], largest: &[f32], d_output: &[f32], d_input: &mut [f32]) = backward_body;
}

#[inline(always)]
fn backward_body<M: Machine>(
    _: M,
    pool: &Pool,
    input: &[f32],
    largest: &[f32],
    d_output: &[f32],
    d_input: &mut [f32],
) {
    if !pool.is_partition {
        d_input.fill(0.0);
    }
    in_parts!(pool.channels, |lanes| {
        pool.each(|out, lines, columns| {
            let slopes = lanes.read(d_output, out);
            match pool.kind {
                Kind::Largest => {
                    let best = lanes.read(largest, out);
                    give_to_largest(pool, lines, columns, lanes, slopes, best, input, d_input);
                }
                Kind::Mean => {
                    let share = 1.0 / (lines.length * columns.length) as f32;
                    pool.pixels(lines, columns, |pixel| {
                        let mut to = slopes_so_far(pool, d_input, pixel, lanes);
                        (0..LANES).for_each(|lane| to[lane] += slopes[lane] * share);
                        lanes.write(d_input, pixel, &to);
                    });
                }
            }
        });
    });
}

/// What other windows gave to a pixel.
#[inline(always)]
fn slopes_so_far<const WHOLE: bool>(
    pool: &Pool,
    d_input: &[f32],
    pixel: usize,
    lanes: Lanes<WHOLE>,
) -> [f32; LANES] {
    if pool.is_partition { [0.0; LANES] } else { lanes.read(d_input, pixel) }
}

/// Gives the slopes of up to sixteen channels to the first pixel that has the largest value.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "the innermost level of a nest of loops")]
fn give_to_largest<const WHOLE: bool>(
    pool: &Pool,
    lines: Window,
    columns: Window,
    lanes: Lanes<WHOLE>,
    slopes: [f32; LANES],
    best: [f32; LANES],
    input: &[f32],
    d_input: &mut [f32],
) {
    // What has not been given away, as bits: masks keep the loop free of branches.
    let mut left = [0; LANES];
    (0..LANES).for_each(|lane| left[lane] = slopes[lane].to_bits());
    // No closure: one that is not inlined is compiled for any processor.
    for y in lines.start..lines.start + lines.length {
        for x in columns.start..columns.start + columns.length {
            let pixel = (y * pool.width + x) * pool.channels;
            let (values, mut to) = (lanes.read(input, pixel), slopes_so_far(pool, d_input, pixel, lanes));
            for lane in 0..LANES {
                let mask = if values[lane] == best[lane] { u32::MAX } else { 0 };
                to[lane] += f32::from_bits(left[lane] & mask);
                left[lane] &= !mask;
            }
            lanes.write(d_input, pixel, &to);
        }
    }
}

impl Op for Pool {
    fn output(&self) -> Shape {
        Shape::Image { channels: self.channels, height: self.lines.len(), width: self.columns.len() }
    }

    fn save(&self, images: usize) -> Saved {
        // Activations may change the output in place; what was largest is kept.
        let kept = if self.kind == Kind::Largest { images * self.output_size() } else { 0 };
        Saved { work: vec![0.0; kept], ..Saved::default() }
    }

    fn forward(&self, pass: &Pass, _ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let size = self.output_size();
        let images = input.chunks_exact(self.input_size).zip(output.chunks_exact_mut(size)).take(pass.images);
        for (image, (input, output)) in images.enumerate() {
            forward_image(pass.isa, self, input, output);
            if self.kind == Kind::Largest {
                saved.work[image * size..][..size].copy_from_slice(output);
            }
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        _ready: &Ready,
        input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let (size, Some(d_input)) = (self.output_size(), d_input) else { return };
        let images = d_output.chunks_exact(size).zip(d_input.chunks_exact_mut(self.input_size));
        let images = images.zip(input.chunks_exact(self.input_size)).take(pass.images);
        for (image, ((d_output, d_input), input)) in images.enumerate() {
            let kept = if self.kind == Kind::Largest { image * size..(image + 1) * size } else { 0..0 };
            backward_image(pass.isa, self, input, &saved.work[kept], d_output, d_input);
        }
    }
}
