//! Exponentially tilted lattice distributions, and where their tails end.
//!
//! # Definition
//! With tilt `t`, the distribution with masses `m_k` at losses `l_k` is held as
//! ```text
//! p_k = m_k exp(t l_k - ln_scale),   sum_k p_k = 1                        (1)
//! ```
//! Convolution commutes with tilting, and `ln_scale` adds up. With the tilt of the saddle point the
//! losses that decide `delta` are the common ones, so rounding errors are relative to `delta` and
//! not to 1, however small `delta` is.
//!
//! # Errors
//! `slack` bounds the total absolute error of the `p_k`: everything that was cut off or aliased.
//! `ripple` bounds what the last transform may have done to each single one, and `noise` to all of
//! them together. All these are errors of a mass *at its own loss*: a mass that is too large by `x`
//! brings `x` to `P` and `x exp(-l)` to `Q`.
//!
//! `coarser` carries them along. *Above*, spreading is linear: an error is spread like the mass,
//! keeping its `P` and `Q`, and no tilted mass grows by more than `exp(t step)`.
//!
//! *Below*, merging is not linear: which outcomes are merged depends on the erroneous masses. But
//! the same outcomes, in the same shares, may be merged in the true distribution, which is a
//! post-processing of it. Take all composed outcomes whose *lattice* losses add up to more than `e`
//! as the test: the true delta is at least `P[test] - e^e Q[test]`. Write true masses as computed
//! ones less errors and multiply out. The product of computed masses gives the computed delta,
//! since a computed bin has `Q = e^-x P` exactly. Every other product has some errors in it and a
//! loss `l` of its own, which lies below its lattice loss by at most the sum `d` of the `lift`s of
//! the bins that its errors are in; it contributes at most its tilted size times
//! ```text
//! e^(-t e) max |1 - e^-y| e^(-t y) over y = l - e >= -d,
//! at most   e^(-t e) (m + d e^((t+1) d))                                                       (2)
//! ```
//! with `m` the maximum over `y >= 0` (see `profile`). So two sums are kept over all such
//! products: `slack` of `size * e^((t+1) d)` and `loose` of `size * d e^((t+1) d)`. Coarsening
//! adds `lift` to every `d`; under composition the first multiplies like `1 + slack`, and the
//! second, a derivative of it, adds up.

use super::lattice::{Lattice, Merger, Spreader};
use super::pair::End;

/// A tilted distribution.
#[derive(Clone, Debug)]
pub(super) struct Tilted {
    pub(super) tilt: f64,
    pub(super) offset: f64,
    pub(super) step: f64,
    pub(super) first: i64,
    pub(super) mass: Vec<f64>,
    pub(super) ln_scale: f64,
    pub(super) slack: f64,
    pub(super) loose: f64,
    pub(super) ripple: f64,
    pub(super) noise: f64,
}

impl Tilted {
    /// What is too small for a double is too large by that above, and left out below.
    pub(super) fn new(lattice: &Lattice, tilt: f64, end: End) -> Self {
        let exponents: Vec<f64> =
            lattice.mass.iter().enumerate().map(|(i, m)| m.ln() + tilt * lattice.loss(i)).collect();
        let top = exponents.iter().copied().fold(f64::MIN, f64::max);
        let mass = |exponent: &f64| match end {
            End::Upper if *exponent > f64::NEG_INFINITY => (exponent - top).exp().max(f64::MIN_POSITIVE),
            End::Upper | End::Lower => (exponent - top).exp(),
        };
        let mass = exponents.iter().map(mass).collect();
        let Lattice { offset, step, first, .. } = *lattice;
        Self {
            tilt,
            offset,
            step,
            first,
            mass,
            ln_scale: top,
            slack: 0.0,
            loose: 0.0,
            ripple: 0.0,
            noise: 0.0,
        }
        .normalised()
    }

    /// A distribution of which nothing is known, on the lattice of `like`: for what
    /// holds no mass that could be composed.
    pub(super) fn unknown(like: &Self) -> Self {
        let (offset, first, mass, ln_scale) = (0.0, 0, vec![0.0], 0.0);
        let (slack, loose, ripple, noise) = (f64::INFINITY, 0.0, 0.0, 0.0);
        Self { tilt: like.tilt, step: like.step, offset, first, mass, ln_scale, slack, loose, ripple, noise }
    }

    /// Masses that add up to 1; the factor goes to `ln_scale`.
    fn normalised(mut self) -> Self {
        let sum: f64 = self.mass.iter().sum();
        if sum > 0.0 {
            self.mass.iter_mut().for_each(|m| *m /= sum);
            self.ln_scale += sum.ln();
        }
        self
    }

    /// Total absolute error of the masses at their own losses.
    pub(super) fn error(&self) -> f64 {
        self.slack + self.noise.min(self.ripple * self.mass.len() as f64)
    }

    /// Mean and variance of the cell number.
    pub(super) fn moments(&self) -> (f64, f64) {
        let mean: f64 = self.mass.iter().enumerate().map(|(i, m)| m * i as f64).sum();
        let variance = self.mass.iter().enumerate().map(|(i, m)| m * (i as f64 - mean).powi(2)).sum();
        (mean + self.first as f64, variance)
    }

    /// The same distribution on a lattice `factor` times coarser, on the given side of
    /// it; `None` if no lattice holds it.
    pub(super) fn coarser(&self, factor: f64, end: End) -> Option<Self> {
        let step = self.step * factor;
        // A lattice point stays where most of the mass is.
        let mode = (0..self.mass.len()).max_by(|a, b| self.mass[*a].total_cmp(&self.mass[*b])).unwrap_or(0);
        let loss = |i: usize| self.offset + self.step * (self.first + i as i64) as f64;
        let offset = loss(mode);
        // Untilted relative to the mode, so that the numbers stay moderate: cells far from it in
        // both directions may underflow, and are then counted in the slack.
        let plain = |i: usize| self.mass[i] * (-self.tilt * (loss(i) - offset)).exp();
        let usable = |i: usize| (self.tilt * (loss(i) - offset)).abs() < 600.0;
        let lost: f64 = (0..self.mass.len()).filter(|i| !usable(*i)).map(|i| self.mass[i]).sum();
        let cells = (0..self.mass.len()).filter(|i| usable(*i) && self.mass[*i] > 0.0);
        let error = self.error() + lost + UNTILTED;
        let (lattice, slack, loose) = match end {
            End::Upper => {
                let mut out = Spreader::new(offset, step, loss(0), loss(self.mass.len() - 1))?;
                cells.for_each(|i| out.atom(loss(i), plain(i)));
                (out.finish(), error * (self.tilt * step).exp(), self.loose)
            }
            End::Lower => {
                let mut out = Merger::new(offset, step);
                cells.for_each(|i| out.atom(loss(i), plain(i)));
                let merged = out.merged()?;
                let growth = ((self.tilt + 1.0) * merged.lift).exp();
                (merged.lattice, error * growth, (self.loose + merged.lift * error) * growth)
            }
        };
        let mut coarse = Self::new(&lattice, self.tilt, end);
        let ln_scale = coarse.ln_scale - self.tilt * offset;
        // Errors were relative to the old scale.
        let change = (-ln_scale).exp();
        (coarse.slack, coarse.loose) = (slack * change, loose * change);
        coarse.ln_scale = self.ln_scale + ln_scale;
        Some(coarse)
    }
}

/// Relative rounding of `exp(x)`, `|x| < 600`, twice, and of the sums in a bin.
const UNTILTED: f64 = 4e-13;

/// Cumulant generating function of a cell number, bounded from above with a few hundred atoms:
/// enough for a certified Chernoff bound. Each run of cells is spread to its two ends, keeping its
/// mean; `exp(s x)` is convex, so that can only raise its expectation.
struct Cumulant {
    atoms: Vec<(f64, f64)>,
    count: f64,
}

impl Cumulant {
    /// Cells are measured from the mean; runs are longer the farther they are from it.
    fn new(part: &Tilted, count: u64, mean: f64) -> Self {
        let cells = part.mass.len();
        let middle = (mean - part.first as f64).clamp(0.0, cells as f64) as usize;
        let mut atoms: Vec<(f64, f64)> = vec![(part.first as f64 - mean, 0.0)];
        let mut i = 0;
        while i < cells {
            let width = (i.abs_diff(middle) / 16).max(1);
            // Towards the mean a run must not pass it.
            let width = if i < middle { (width / 2 + 1).min(middle - i) } else { width }.min(cells - i);
            let run = &part.mass[i..i + width];
            let mass: f64 = run.iter().sum();
            let high: f64 = run.iter().enumerate().map(|(j, m)| m * j as f64).sum::<f64>() / width as f64;
            if let Some(last) = atoms.last_mut() {
                last.1 += mass - high;
            }
            i += width;
            atoms.push(((part.first + i as i64) as f64 - mean, high));
        }
        atoms.retain(|a| a.1 > 0.0);
        Self { atoms, count: count as f64 }
    }

    fn at(&self, s: f64) -> f64 {
        let top = self.atoms.iter().map(|a| s * a.0).fold(f64::MIN, f64::max);
        self.count * (top + self.atoms.iter().map(|(x, m)| (s * x - top).exp() * m).sum::<f64>().ln())
    }

    /// Distance of the farthest cell from the mean.
    fn span(&self) -> f64 {
        self.atoms.iter().map(|a| a.0.abs()).fold(1.0, f64::max)
    }
}

/// Cells below the mean and above it beyond which the composed distribution has at most mass `tail`
/// on each side (Chernoff bound). `parts` come with their counts and means.
pub(super) fn reach(parts: &[(&Tilted, u64, f64)], deviation: f64, tail: f64) -> (f64, f64) {
    let curves: Vec<Cumulant> =
        parts.iter().map(|(part, count, mean)| Cumulant::new(part, *count, *mean)).collect();
    let span = curves.iter().map(Cumulant::span).fold(1.0, f64::max);
    let most = (-2.0 * tail.ln()).sqrt() / deviation.max(1e-3);
    let least = (0.5 / span).min(0.3 * most);
    let side = |sign: f64| {
        let bound = |u: f64| {
            let s = u.exp();
            (curves.iter().map(|c| c.at(sign * s)).sum::<f64>() - tail.ln()) / s
        };
        // Every value of s gives a valid bound, so a short search is enough.
        let (mut low, mut high) = (least.ln(), (2.0 * most).ln());
        for _ in 0..10 {
            let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
            if bound(a) <= bound(b) { high = b } else { low = a }
        }
        bound(0.5 * (low + high))
    };
    (side(-1.0), side(1.0))
}
