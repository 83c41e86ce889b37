//! Where a convolution's numbers are: the rows of its products.

use super::Convolution;
use crate::kernel::product::{RowTable, Segment};

/// Kernel, stride, padding and dilation of a convolution, each as (height, width).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelWindow {
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) padding: [usize; 2],
    pub(crate) dilation: [usize; 2],
}

impl KernelWindow {
    /// Outputs along one axis; `None` if the kernel does not fit.
    pub(crate) fn outputs(&self, axis: usize, length: usize) -> Option<usize> {
        let reach = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
        Some((length + 2 * self.padding[axis]).checked_sub(reach)? / self.stride[axis] + 1)
    }
}

/// Pixels with one remainder modulo the stride, for one group.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) group: usize,
    pub(super) rows: RowTable,
    /// Kernel positions in the order of the segments.
    pub(super) taps: Vec<usize>,
}

impl Convolution {
    /// The rows of equation (1): one for each output pixel of the group.
    pub(super) fn forward_rows(&self, group: usize) -> RowTable {
        let ([_, width], channels, KernelWindow { kernel, stride, dilation, .. }) =
            (self.padded(), self.inputs * self.groups, self.window);
        let mut rows = RowTable::default();
        for (y, x) in grid(self.output) {
            rows.bases.push((y * stride[0] * width + x * stride[1]) * channels);
            rows.outs.push((y * self.output[1] + x) * self.outputs * self.groups + group * self.outputs);
        }
        let taps = grid(kernel).map(|(y, x)| Segment {
            offset: (y * dilation[0] * width + x * dilation[1]) * channels + group * self.inputs,
            length: self.inputs,
        });
        rows.segments = joined(taps);
        rows
    }

    pub(super) fn phases_of(&self, group: usize) -> Vec<Phase> {
        grid(self.window.stride).map(|remainder| self.phase(group, [remainder.0, remainder.1])).collect()
    }

    /// With `iy + p = q s + φ` and `ky d = j s + φ`, pixel iy gets tap ky of output `q - j`.
    fn phase(&self, group: usize, remainder: [usize; 2]) -> Phase {
        let KernelWindow { kernel, stride, padding, dilation } = self.window;
        let (width, channels) = (self.padded_output[1], self.outputs * self.groups);
        let taps_of = |axis: usize| -> Vec<(usize, usize)> {
            let taps = (0..kernel[axis]).filter(|k| k * dilation[axis] % stride[axis] == remainder[axis]);
            taps.map(|k| (k, (k * dilation[axis] - remainder[axis]) / stride[axis])).rev().collect()
        };
        let (lines, columns) = (taps_of(0), taps_of(1));
        let furthest = [&lines, &columns].map(|taps| taps.first().map_or(0, |(_, j)| *j));
        let pixels = |axis: usize| {
            (0..self.input[axis]).filter(move |i| (i + padding[axis]) % stride[axis] == remainder[axis])
        };
        let mut rows = RowTable::default();
        for y in pixels(0) {
            for x in pixels(1) {
                let line = (y + padding[0]) / stride[0] + self.margin[0] - furthest[0];
                let column = (x + padding[1]) / stride[1] + self.margin[1] - furthest[1];
                rows.bases.push((line * width + column) * channels);
                rows.outs.push((y * self.input[1] + x) * self.inputs * self.groups + group * self.inputs);
            }
        }
        let both = || lines.iter().flat_map(|line| columns.iter().map(move |column| (*line, *column)));
        rows.segments = joined(both().map(|((_, j), (_, i))| Segment {
            offset: ((furthest[0] - j) * width + furthest[1] - i) * channels + group * self.outputs,
            length: self.outputs,
        }));
        let taps = both().map(|((y, _), (x, _))| y * kernel[1] + x).collect();
        Phase { group, rows, taps }
    }
}

/// All pairs, row by row.
fn grid(size: [usize; 2]) -> impl Iterator<Item = (usize, usize)> {
    (0..size[0]).flat_map(move |y| (0..size[1]).map(move |x| (y, x)))
}

/// Joins segments that follow each other without a gap.
fn joined(segments: impl Iterator<Item = Segment>) -> Vec<Segment> {
    let mut all: Vec<Segment> = Vec::new();
    for segment in segments {
        match all.last_mut() {
            Some(last) if last.offset + last.length == segment.offset => last.length += segment.length,
            _ => all.push(segment),
        }
    }
    all
}
