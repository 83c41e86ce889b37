//! Largest and mean values of windows.
//!
//! Windows are `kernel` wide, `stride` apart, and lie inside the image (no padding). Windows of adaptive
//! pooling go from `floor(i H/O)` to `ceil((i + 1) H/O)`, as in PyTorch.
//!
//! Of several equal largest values, the first one gets the gradient.

use super::{LayerData, Op, Role, State, Work, reserved};
use crate::kernel::isa::{LANES, Machine, vectorised};
use crate::shape::Shape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    Largest,
    Mean,
}

/// A range of rows or columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: usize,
    length: usize,
}

/// The rows and columns that one output sees.
#[derive(Clone, Copy, Debug)]
struct PoolWindow {
    rows: Span,
    columns: Span,
}

impl PoolWindow {
    #[inline(always)]
    fn pixels(self) -> usize {
        self.rows.length * self.columns.length
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    kind: PoolKind,
    width: usize,
    channels: usize,
    input_size: usize,
    rows: Vec<Span>,
    columns: Vec<Span>,
    /// Whether each pixel is in one window and no other.
    is_partition: bool,
}

impl Pool {
    /// Windows of one size. The caller has checked that they fit.
    pub(crate) fn sliding(kind: PoolKind, input: Shape, kernel: [usize; 2], stride: [usize; 2]) -> Self {
        let Shape::Image { height, width, .. } = input else { unreachable!("the caller has checked it") };
        let windows = |length: usize, kernel: usize, stride: usize| {
            (0..=length - kernel).step_by(stride).map(|start| Span { start, length: kernel }).collect()
        };
        let (rows, columns) = (windows(height, kernel[0], stride[0]), windows(width, kernel[1], stride[1]));
        Self::new(kind, input, [height, width], rows, columns)
    }

    /// As many windows as there are outputs.
    pub(crate) fn adaptive(kind: PoolKind, input: Shape, output: [usize; 2]) -> Self {
        let Shape::Image { height, width, .. } = input else { unreachable!("the caller has checked it") };
        let windows = |length: usize, count: usize| {
            (0..count).map(move |i| {
                let start = i * length / count;
                Span { start, length: ((i + 1) * length).div_ceil(count) - start }
            })
        };
        let (rows, columns) = (windows(height, output[0]).collect(), windows(width, output[1]).collect());
        Self::new(kind, input, [height, width], rows, columns)
    }

    fn new(kind: PoolKind, input: Shape, size: [usize; 2], rows: Vec<Span>, columns: Vec<Span>) -> Self {
        let is_partition = follow(&rows, size[0]) && follow(&columns, size[1]);
        let (channels, input_size) = (input.channels(), input.size());
        Self { kind, width: size[1], channels, input_size, rows, columns, is_partition }
    }

    fn output_size(&self) -> usize {
        self.rows.len() * self.columns.len() * self.channels
    }

    /// Calls `f` for every window, with the index where its output begins.
    #[inline(always)]
    fn each(&self, mut f: impl FnMut(usize, PoolWindow)) {
        let mut out = 0;
        for rows in &self.rows {
            for columns in &self.columns {
                f(out, PoolWindow { rows: *rows, columns: *columns });
                out += self.channels;
            }
        }
    }

    /// Calls `f` for every pixel of a window, with the index where its channels begin.
    #[inline(always)]
    fn pixels(&self, window: PoolWindow, mut f: impl FnMut(usize)) {
        let PoolWindow { rows, columns } = window;
        for y in rows.start..rows.start + rows.length {
            let first = (y * self.width + columns.start) * self.channels;
            for x in 0..columns.length {
                f(first + x * self.channels);
            }
        }
    }
}

/// Whether windows cover `length` pixels without gaps or overlaps.
fn follow(windows: &[Span], length: usize) -> bool {
    let end = windows
        .iter()
        .try_fold(0, |end, window| (window.start == end).then_some(window.start + window.length));
    end == Some(length)
}

/// Sixteen channels from `first` on, or fewer. A whole vector is one instruction and a part of one is a call,
/// so `WHOLE` is known when compiling.
#[derive(Clone, Copy)]
struct Lanes<const WHOLE: bool> {
    first: usize,
    count: usize,
}

impl<const WHOLE: bool> Lanes<WHOLE> {
    /// The numbers at a pixel, followed by zeros if there are fewer than sixteen.
    #[inline(always)]
    fn read(self, data: &[f32], pixel: usize) -> [f32; LANES] {
        let from = &data[pixel + self.first..];
        let Some(vector) = from.first_chunk().filter(|_| WHOLE) else {
            let mut vector = [0.0; LANES];
            vector[..self.count].copy_from_slice(&from[..self.count]);
            return vector;
        };
        *vector
    }

    #[inline(always)]
    fn write(self, data: &mut [f32], pixel: usize, vector: &[f32; LANES]) {
        let to = &mut data[pixel + self.first..];
        if WHOLE && let Some(to) = to.first_chunk_mut() {
            *to = *vector;
        } else {
            to[..self.count].copy_from_slice(&vector[..self.count]);
        }
    }
}

/// Evaluates an expression for up to sixteen channels at a time.
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
        pool.each(|out, window| {
            let share = 1.0 / window.pixels() as f32;
            let mut result = match pool.kind {
                PoolKind::Largest => [f32::NEG_INFINITY; LANES],
                PoolKind::Mean => [0.0; LANES],
            };
            pool.pixels(window, |pixel| {
                let from = lanes.read(input, pixel);
                for lane in 0..LANES {
                    let (x, best) = (from[lane], result[lane]);
                    result[lane] = match pool.kind {
                        // NaN wins and stays: it must reach the loss.
                        PoolKind::Largest => {
                            if x > best || x.is_nan() {
                                x
                            } else {
                                best
                            }
                        }
                        PoolKind::Mean => best + x * share,
                    };
                }
            });
            lanes.write(output, out, &result);
        });
    });
}

vectorised! {
    /// `largest` has each window's largest values.
    fn backward_image(
        pool: &Pool,
        input: &[f32],
        largest: &[f32],
        d_output: &[f32],
        d_input: &mut [f32],
    ) = backward_body;
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
        pool.each(|out, window| {
            let gradient = lanes.read(d_output, out);
            match pool.kind {
                PoolKind::Largest => {
                    let best = lanes.read(largest, out);
                    give_to_largest(pool, window, lanes, [gradient, best], input, d_input);
                }
                PoolKind::Mean => {
                    let share = 1.0 / window.pixels() as f32;
                    pool.pixels(window, |pixel| {
                        let mut to = gradient_so_far(pool, d_input, pixel, lanes);
                        (0..LANES).for_each(|lane| to[lane] += gradient[lane] * share);
                        lanes.write(d_input, pixel, &to);
                    });
                }
            }
        });
    });
}

/// What other windows have given to a pixel.
#[inline(always)]
fn gradient_so_far<const WHOLE: bool>(
    pool: &Pool,
    d_input: &[f32],
    pixel: usize,
    lanes: Lanes<WHOLE>,
) -> [f32; LANES] {
    if pool.is_partition { [0.0; LANES] } else { lanes.read(d_input, pixel) }
}

/// Gives the gradient of up to sixteen channels to the first pixel that has the largest value.
#[inline(always)]
fn give_to_largest<const WHOLE: bool>(
    pool: &Pool,
    window: PoolWindow,
    lanes: Lanes<WHOLE>,
    [gradient, best]: [[f32; LANES]; 2],
    input: &[f32],
    d_input: &mut [f32],
) {
    // What has not been given away yet, as bits: masks keep the loop free of branches.
    let mut left = [0; LANES];
    (0..LANES).for_each(|lane| left[lane] = gradient[lane].to_bits());
    let PoolWindow { rows, columns } = window;
    // No closure: unless inlined, it would be compiled without vector instructions.
    for y in rows.start..rows.start + rows.length {
        for x in columns.start..columns.start + columns.length {
            let pixel = (y * pool.width + x) * pool.channels;
            let (values, mut to) = (lanes.read(input, pixel), gradient_so_far(pool, d_input, pixel, lanes));
            for lane in 0..LANES {
                let mask = if values[lane] == best[lane] { u32::MAX } else { 0 };
                to[lane] += f32::from_bits(left[lane] & mask);
                left[lane] &= !mask;
            }
            lanes.write(d_input, pixel, &to);
        }
    }
}

#[derive(Debug)]
pub(crate) struct PoolState {
    /// The largest value of each window: activations may change the output in place. Empty for means.
    largest: Vec<f32>,
}

impl State for PoolState {
    fn bytes(&self) -> usize {
        let Self { largest } = self;
        reserved(largest)
    }
}

impl Op for Pool {
    type Prepared = ();
    type State = PoolState;

    fn output(&self) -> Shape {
        Shape::Image { channels: self.channels, height: self.rows.len(), width: self.columns.len() }
    }

    fn state(&self, images: usize, _role: Role) -> PoolState {
        let numbers = if self.kind == PoolKind::Largest { images * self.output_size() } else { 0 };
        PoolState { largest: vec![0.0; numbers] }
    }

    fn forward(&self, work: Work<'_, Self>, input: &[f32], output: &mut [f32]) {
        let (pass, size) = (work.pass, self.output_size());
        let images = input.chunks_exact(self.input_size).zip(output.chunks_exact_mut(size)).take(pass.images);
        for (image, (input, output)) in images.enumerate() {
            forward_image(pass.isa, self, input, output);
            if self.kind == PoolKind::Largest {
                work.state.largest[image * size..][..size].copy_from_slice(output);
            }
        }
    }

    fn backward(&self, work: Work<'_, Self>, data: LayerData<'_>, d_input: Option<&mut [f32]>) {
        let (pass, size, Some(d_input)) = (work.pass, self.output_size(), d_input) else { return };
        let images = data.d_output.chunks_exact(size).zip(d_input.chunks_exact_mut(self.input_size));
        let images = images.zip(data.input.chunks_exact(self.input_size)).take(pass.images);
        for (image, ((d_output, d_input), input)) in images.enumerate() {
            let kept = if self.kind == PoolKind::Largest { image * size..(image + 1) * size } else { 0..0 };
            backward_image(pass.isa, self, input, &work.state.largest[kept], d_output, d_input);
        }
    }
}
