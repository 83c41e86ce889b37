//! Largest and mean values of windows.
//!
//! Windows are `kernel` wide, `stride` apart, and lie inside of the picture (no padding). Adaptive pooling has windows from
//! `floor(i H/O)` to `ceil((i + 1) H/O)`, as PyTorch has it.
//!
//! Of several equal largest values the first is taken, in both directions.

use super::{Op, Pass, Ready, Saved};
use crate::kernel::isa::{Machine, vectorised};
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
}

impl Pool {
    /// Windows of one size. They fit: the caller has checked it.
    pub(crate) fn sliding(kind: Kind, input: Shape, kernel: [usize; 2], stride: [usize; 2]) -> Self {
        let Shape::Image { height, width, .. } = input else { unreachable!("the caller has checked it") };
        let windows = |length: usize, kernel: usize, stride: usize| {
            (0..=length - kernel).step_by(stride).map(|start| Window { start, length: kernel }).collect()
        };
        let (lines, columns) = (windows(height, kernel[0], stride[0]), windows(width, kernel[1], stride[1]));
        Self { kind, width, channels: input.channels(), input_size: input.size(), lines, columns }
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
        Self { kind, width, channels: input.channels(), input_size: input.size(), lines, columns }
    }

    fn output_size(&self) -> usize {
        self.lines.len() * self.columns.len() * self.channels
    }

    /// Where the channels of each output, and of each input of its window, begin.
    fn windows(&self) -> impl Iterator<Item = (usize, impl Iterator<Item = usize> + Clone)> {
        let (width, channels) = (self.width, self.channels);
        let outputs =
            self.lines.iter().flat_map(|line| self.columns.iter().map(move |column| (*line, *column)));
        outputs.enumerate().map(move |(out, (line, column))| {
            let pixels = (line.start..line.start + line.length).flat_map(move |y| {
                (column.start..column.start + column.length).map(move |x| (y * width + x) * channels)
            });
            (out * channels, pixels)
        })
    }
}

vectorised! {
    fn forward_image(pool: &Pool, input: &[f32], output: &mut [f32], choices: &mut [u8]) = forward_body;
}

#[inline(always)]
fn forward_body<M: Machine>(_: M, pool: &Pool, input: &[f32], output: &mut [f32], choices: &mut [u8]) {
    let channels = pool.channels;
    for (out, pixels) in pool.windows() {
        let to = &mut output[out..out + channels];
        match pool.kind {
            Kind::Largest => {
                let choices = &mut choices[out..out + channels];
                for (number, pixel) in pixels.enumerate() {
                    let from = &input[pixel..pixel + channels];
                    for ((to, from), choice) in to.iter_mut().zip(from).zip(choices.iter_mut()) {
                        // NaN wins and stays: it must reach the loss.
                        let is_taken = number == 0 || !(*from <= *to) && *to == *to;
                        *to = if is_taken { *from } else { *to };
                        *choice = if is_taken { number as u8 } else { *choice };
                    }
                }
            }
            Kind::Mean => {
                to.fill(0.0);
                let count = pixels.clone().count() as f32;
                for pixel in pixels {
                    to.iter_mut().zip(&input[pixel..pixel + channels]).for_each(|(to, from)| *to += from);
                }
                to.iter_mut().for_each(|to| *to /= count);
            }
        }
    }
}

vectorised! {
    fn backward_image(pool: &Pool, d_output: &[f32], choices: &[u8], d_input: &mut [f32]) = backward_body;
}

#[inline(always)]
fn backward_body<M: Machine>(_: M, pool: &Pool, d_output: &[f32], choices: &[u8], d_input: &mut [f32]) {
    let channels = pool.channels;
    d_input.fill(0.0);
    for (out, pixels) in pool.windows() {
        let from = &d_output[out..out + channels];
        match pool.kind {
            Kind::Largest => {
                let choices = &choices[out..out + channels];
                for (number, pixel) in pixels.enumerate() {
                    let to = &mut d_input[pixel..pixel + channels];
                    for ((to, from), choice) in to.iter_mut().zip(from).zip(choices) {
                        *to += if *choice == number as u8 { *from } else { 0.0 };
                    }
                }
            }
            Kind::Mean => {
                let part = 1.0 / pixels.clone().count() as f32;
                for pixel in pixels {
                    let to = &mut d_input[pixel..pixel + channels];
                    to.iter_mut().zip(from).for_each(|(to, from)| *to += from * part);
                }
            }
        }
    }
}

impl Op for Pool {
    fn output(&self) -> Shape {
        Shape::Image { channels: self.channels, height: self.lines.len(), width: self.columns.len() }
    }

    fn save(&self, images: usize) -> Saved {
        let choices = if self.kind == Kind::Largest { images * self.output_size() } else { 0 };
        Saved { choices: vec![0; choices], ..Saved::default() }
    }

    fn forward(&self, pass: &Pass, _ready: &Ready, input: &[f32], output: &mut [f32], saved: &mut Saved) {
        let size = self.output_size();
        let images = input.chunks_exact(self.input_size).zip(output.chunks_exact_mut(size)).take(pass.images);
        for (image, (input, output)) in images.enumerate() {
            let choices = if self.kind == Kind::Largest { image * size..(image + 1) * size } else { 0..0 };
            forward_image(pass.isa, self, input, output, &mut saved.choices[choices]);
        }
    }

    fn backward(
        &self,
        pass: &Pass,
        _ready: &Ready,
        _input: &[f32],
        d_output: &[f32],
        d_input: Option<&mut [f32]>,
        saved: &mut Saved,
    ) {
        let (size, Some(d_input)) = (self.output_size(), d_input) else { return };
        let images =
            d_output.chunks_exact(size).zip(d_input.chunks_exact_mut(self.input_size)).take(pass.images);
        for (image, (d_output, d_input)) in images.enumerate() {
            let choices = if self.kind == Kind::Largest { image * size..(image + 1) * size } else { 0..0 };
            backward_image(pass.isa, self, d_output, &saved.choices[choices], d_input);
        }
    }
}
