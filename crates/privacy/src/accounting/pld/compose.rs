//! Composition of tilted distributions by fast Fourier transforms, with every error counted.
//!
//! # Guarantee
//! Each part is transformed on a ring of `n` cells, raised to its count, multiplied
//! with the others and transformed back. The result differs from the true tilted
//! distribution by at most `slack` in total:
//! - what lies outside the ring's window wraps around: bounded by Chernoff (`tilted::reach`);
//! - a transform of `x` is wrong by at most `FFT_ERROR log2(n) u sum |x|` in each entry, since
//!   each output is one sum over paths of `log2 n` twiddle factors and additions (Higham,
//!   *Accuracy and Stability of Numerical Algorithms*, 2002, section 24.1). What is transformed
//!   is `p` less a mass 1 in the middle cell, of size `sum |x| = 2 (1 - p_0)`: almost nothing for
//!   rare jumps. Raised to the power `T` an entry `F` is wrong by at most `(|F| + e)^T - |F|^T`;
//!   the mean of these over all `n` entries bounds the error of each mass (`ripple`), and by
//!   Parseval's identity the root of their mean square bounds the root of the sum of squares over
//!   all masses, so that by Cauchy and Schwarz the errors of `c` cells add up to at most
//!   `sqrt(c)` times that (`noise`);
//! - moving to a coarser lattice keeps the end's direction.
//!
//! # Pitfalls
//! - A power of a transform multiplies its phase error by the count: it is part of `e`.
//! - A ring too small for the tails silently folds large losses onto
//!   small ones: hence Chernoff first.

use std::cell::RefCell;

use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

use super::pair::End;
use super::tilted::{Tilted, reach};

/// Mass that may lie outside the window on each side, relative to the tilted distribution.
const TAIL: f64 = 1e-12;
/// Unit roundoffs per level of a transform, twice what butterflies and twiddle factors cost.
const FFT_ERROR: f64 = 8.0;
/// Largest ring; beyond it the lattice is made coarser first.
const LARGEST_RING: f64 = 1_048_576.0;
/// Cells beyond it are not numbered: there `i64` and `f64` no longer agree.
const FARTHEST_CELL: u128 = 1 << 52;

/// Composes parts (each taken `count` times) that share one lattice step and one tilt. Compositions
/// that need a larger ring than `good_ring` are done block by block. `work` grows by the cells of
/// all transforms. `None` where no lattice holds what is composed.
pub(super) fn compose(parts: Vec<(Tilted, u64)>, end: End, good_ring: f64, work: &mut f64) -> Option<Tilted> {
    PLANNER.with_borrow_mut(|planner| compose_with(parts, end, good_ring, work, planner.fresh()))
}

fn compose_with(
    mut parts: Vec<(Tilted, u64)>,
    end: End,
    good_ring: f64,
    work: &mut f64,
    planner: &mut RealFftPlanner<f64>,
) -> Option<Tilted> {
    while let Some(finer) = finest(&parts) {
        // The bulk of a step on two scales, until it is on the lattice of the rest.
        let (fine, coarse): (Vec<_>, Vec<_>) = parts.into_iter().partition(|p| p.0.step < 1.5 * finer.step);
        parts = coarse;
        parts.extend(in_blocks(fine, finer.factor, end, planner, work)?);
    }
    loop {
        let deviation = deviation(&parts);
        let is_one = matches!(parts[..], [(_, 1)]);
        // About 18 deviations are needed when the composition is close to normal. What
        // has no deviation gets no better.
        if 18.0 * deviation <= good_ring || is_one || deviation.is_nan() {
            break;
        }
        let factor = (4.0 * 18.0 * deviation / good_ring).clamp(2.0, 32.0).floor();
        parts = in_blocks(parts, factor, end, planner, work)?;
    }
    let parts: Vec<(&Tilted, u64)> = parts.iter().map(|(part, count)| (part, *count)).collect();
    Some(power(&parts, TAIL, planner, work))
}

/// Blocks of releases on a lattice `factor` times coarser.
fn in_blocks(
    parts: Vec<(Tilted, u64)>,
    factor: f64,
    end: End,
    planner: &mut RealFftPlanner<f64>,
    work: &mut f64,
) -> Option<Vec<(Tilted, u64)>> {
    let mut done = Vec::with_capacity(2 * parts.len());
    for (part, count) in parts {
        let block = block(&part, factor);
        let tail = TAIL / count.div_ceil(block) as f64;
        for (size, count) in [(block, count / block), (count % block, 1)] {
            if size > 0 && count > 0 {
                done.push((power(&[(&part, size)], tail, planner, work).coarser(factor, end)?, count));
            }
        }
    }
    Some(done)
}

/// Blocks of 2 f^2 releases: making the lattice `factor` = f times coarser then adds half the
/// variance that the finer lattice added to those releases. Only those count that are not in the
/// one cell which the finer lattice was laid through, as far as the block's transform stays short.
fn block(part: &Tilted, factor: f64) -> u64 {
    let heaviest = part.mass.iter().copied().fold(0.0, f64::max);
    let least = 2.0 * factor * factor;
    let short = (0.25 * LARGEST_RING / 18.0).powi(2) / part.moments().1.max(1e-9);
    (least / (1.0 - heaviest).max(1e-9)).min(short).max(least) as u64
}

/// The finest of several lattice steps, and by which factor it may be made coarser at once.
struct Finer {
    step: f64,
    factor: f64,
}

fn finest(parts: &[(Tilted, u64)]) -> Option<Finer> {
    let steps = || parts.iter().map(|p| p.0.step);
    let (step, coarsest) = (steps().fold(f64::INFINITY, f64::min), steps().fold(0.0, f64::max));
    // Factors are powers of two, so steps that are meant to be equal are.
    let factor = (coarsest / step).round();
    (factor > 1.0).then_some(Finer { step, factor: factor.min(32.0) })
}

thread_local! {
    static PLANNER: RefCell<Planner> = RefCell::new(Planner { plans: RealFftPlanner::new(), uses: 0 });
}

/// Keeps the tables of transforms between questions (a search asks many alike), and drops them now
/// and then so that they do not pile up.
struct Planner {
    plans: RealFftPlanner<f64>,
    uses: u32,
}

impl Planner {
    fn fresh(&mut self) -> &mut RealFftPlanner<f64> {
        self.uses += 1;
        if self.uses > 200 {
            *self = Self { plans: RealFftPlanner::new(), uses: 0 };
        }
        &mut self.plans
    }
}

/// Standard deviation of the composition, in cells.
fn deviation(parts: &[(Tilted, u64)]) -> f64 {
    parts.iter().map(|(part, count)| part.moments().1 * *count as f64).sum::<f64>().sqrt()
}

/// One composition on one ring.
fn power(parts: &[(&Tilted, u64)], tail: f64, planner: &mut RealFftPlanner<f64>, work: &mut f64) -> Tilted {
    if let [(part, 1)] = parts {
        return (*part).clone();
    }
    let moments: Vec<(f64, f64)> = parts.iter().map(|(part, _)| part.moments()).collect();
    let spread = parts.iter().zip(&moments).map(|((_, c), m)| *c as f64 * m.1).sum::<f64>().sqrt();
    let centred: Vec<(&Tilted, u64, f64)> =
        parts.iter().zip(&moments).map(|((part, count), m)| (*part, *count, m.0)).collect();
    let (below, above) = reach(&centred, spread, tail);
    let support = |end: fn(&Tilted) -> f64| -> f64 {
        centred.iter().map(|(part, count, mean)| *count as f64 * (end(part) - mean)).sum()
    };
    let lowest = support(|p| p.first as f64).max(-below).max(-LARGEST_RING / 2.0);
    let highest = support(|p| (p.first + p.mass.len() as i64 - 1) as f64).min(above).min(LARGEST_RING / 2.0);
    // What lies outside is missed there and found again inside; if the ring had to be cut shorter
    // than Chernoff asked, that may be everything.
    let cut =
        below > -lowest && lowest == -LARGEST_RING / 2.0 || above > highest && highest == LARGEST_RING / 2.0;
    // Cell numbers are taken relative to whole cells near the means, so that phases stay small.
    let centres: Vec<i64> = moments.iter().map(|m| m.0.round() as i64).collect();
    let centre: i128 = parts.iter().zip(&centres).map(|((_, c), k)| i128::from(*c) * i128::from(*k)).sum();
    // Cells so far out that they have no number: nothing is known of them, as if
    // the ring had been cut to nothing.
    let is_beyond = centre.unsigned_abs() > FARTHEST_CELL;
    let centre = if is_beyond { 0 } else { centre as i64 };
    let outside = if cut || is_beyond { 1.0 } else { 4.0 * tail };

    let drift: f64 =
        centred.iter().zip(&centres).map(|((_, count, mean), c)| *count as f64 * (mean - *c as f64)).sum();
    if !drift.is_finite() || lowest > highest {
        return Tilted::unknown(parts[0].0);
    }
    let start = (lowest + drift).floor() as i64 - 1;
    let cells = ((highest + drift).ceil() as i64 + 2 - start) as usize;
    let ring = ring_size(cells);
    *work += (parts.len() + 1) as f64 * ring as f64;

    let spectrum = spectrum(parts, &centres, ring, planner);
    let (ripple, noise) = (spectrum.ripple, spectrum.noise * (cells as f64).sqrt());
    let mut mass = back(spectrum, ring, start, planner);
    mass.truncate(cells);
    mass.iter_mut().for_each(|m| *m = m.max(0.0));

    let whole = |f: &dyn Fn(&Tilted) -> f64| -> f64 { parts.iter().map(|(p, c)| *c as f64 * f(p)).sum() };
    let inherited = whole(&|p| p.error().ln_1p()).exp_m1();
    let loose = (1.0 + inherited) * whole(&|p| p.loose);
    Tilted {
        tilt: parts[0].0.tilt,
        offset: whole(&|p| p.offset),
        step: parts[0].0.step,
        first: centre + start,
        mass,
        ln_scale: whole(&|p| p.ln_scale),
        slack: inherited + (1.0 + inherited) * outside,
        loose,
        ripple: (1.0 + inherited) * ripple,
        noise: (1.0 + inherited) * noise,
    }
}

/// The next size that transforms quickly: 2^k or 3 * 2^k.
fn ring_size(cells: usize) -> usize {
    let two = cells.next_power_of_two().max(8);
    if two / 4 * 3 >= cells { two / 4 * 3 } else { two }
}

/// A product of powers of transforms.
struct Spectrum {
    values: Vec<Complex<f64>>,
    /// The values are those of the distribution less a mass 1 in cell 0.
    less_one: bool,
    /// Bounds on what is wrong with each mass, and on the root of the
    /// sum of squares over all masses.
    ripple: f64,
    noise: f64,
}

/// One entry of a product: powers by their logarithms, with bounds on what is wrong
/// with these and the sum of what was rounded; parts taken once by their values,
/// with a bound on the size of these.
#[derive(Clone, Copy)]
struct Entry {
    ln: f64,
    phase: f64,
    error: f64,
    rounded: f64,
    once: Complex<f64>,
    bound: f64,
}

const ONE: Entry =
    Entry { ln: 0.0, phase: 0.0, error: 0.0, rounded: 0.0, once: Complex::new(1.0, 0.0), bound: 1.0 };

/// Product of the powers of the parts' transforms. A mass of 1 in the middle cell is left out of
/// each transform and added to its result, so that errors are relative to the mass elsewhere.
fn spectrum(
    parts: &[(&Tilted, u64)],
    centres: &[i64],
    ring: usize,
    planner: &mut RealFftPlanner<f64>,
) -> Spectrum {
    let transform = planner.plan_fft_forward(ring);
    let unit = unit(ring);
    let mut input = transform.make_input_vec();
    let mut output = transform.make_output_vec();
    let mut scratch = transform.make_scratch_vec();
    let mut entries = vec![ONE; output.len()];
    for ((part, count), centre) in parts.iter().zip(centres) {
        input.fill(0.0);
        let mut elsewhere = 0.0;
        for (i, m) in part.mass.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            let cell = part.first + i as i64 - centre;
            if cell != 0 {
                input[cell.rem_euclid(ring as i64) as usize] += m;
                elsewhere += m;
            }
        }
        input[0] -= elsewhere; // masses add up to 1 (those in `normalised` do, and a composition is taken so)
        // Lengths are those that the plan itself handed out.
        transform.process_with_scratch(&mut input, &mut output, &mut scratch).expect("lengths match");
        // Twice `unit`: once for the transform, once for 1 + g where g is large.
        let error = 4.0 * unit * elsewhere;
        entries.iter_mut().zip(&output).for_each(|(entry, g)| entry.multiply(*g, *count as f64, error));
    }
    Spectrum::new(&entries, ring, unit)
}

/// Error of a transform, relative to the sum of the sizes of what is transformed.
fn unit(ring: usize) -> f64 {
    FFT_ERROR * ((ring as f64).log2() + 2.0) * ROUNDING
}

impl Entry {
    /// With `(1 + g)^count`, where `g` is wrong by at most `error`.
    fn multiply(&mut self, g: Complex<f64>, count: f64, error: f64) {
        if self.is_nothing() {
            return; // most of the spectrum of a long composition is nothing at all
        }
        let f = Complex::new(1.0 + g.re, g.im);
        let square = f.norm_sqr().max(1e-300);
        if count == 1.0 {
            self.once *= f;
            self.bound *= square.sqrt() + error + 8.0 * ROUNDING;
            return;
        }
        let more = g.re * (2.0 + g.re) + g.im * g.im;
        let ln = 0.5 * if more.abs() < 0.5 { more.ln_1p() } else { square.ln() };
        // ln(1 + x) <= x
        self.error +=
            count * (error / square.sqrt()).min((error + square.sqrt()).ln() - ln + 64.0 * ROUNDING);
        self.ln += count * ln;
        if !self.is_nothing() {
            let phase = f.im.atan2(f.re);
            self.phase += count * phase;
            self.rounded += count * (ln.abs() + phase.abs());
        }
    }

    fn is_nothing(&self) -> bool {
        self.ln + self.error < NOTHING
    }

    /// The product less `less`, and a bound on what is wrong with it.
    fn value(&self, less: f64) -> (Complex<f64>, f64) {
        if self.is_nothing() {
            return (Complex::new(-less, 0.0), 0.0);
        }
        let (size, once) = (self.ln.exp(), self.once.norm());
        let power =
            if less > 0.0 { less_one(self.ln, self.phase) } else { Complex::from_polar(size, self.phase) };
        // (1 + a) b - 1 = a b + (b - 1)
        let value = power * self.once + less * (self.once - 1.0);
        // The exponent is wrong by `error` and by roundings; then there
        // are a few more of the result.
        let error = self.error + 4.0 * ROUNDING * self.rounded;
        let grown = if error < 1.0 { size * error.exp_m1() } else { (self.ln + error).exp() };
        let wrong = grown * self.bound + size * (self.bound - once).max(0.0);
        (value, wrong + 8.0 * ROUNDING * (value.norm() + less * (self.once - 1.0).norm()))
    }
}

impl Spectrum {
    fn new(entries: &[Entry], ring: usize, unit: f64) -> Self {
        // Either way is right; less is rounded if most entries are near 1.
        let near = entries.iter().filter(|e| e.ln > -0.5 && e.bound > 0.6).count();
        let less_one = 2 * near > entries.len();
        let less = if less_one { 1.0 } else { 0.0 };
        let (mut ripple, mut squares) = (0.0, 0.0);
        let values = entries
            .iter()
            .map(|e| {
                let (value, wrong) = e.value(less);
                let wrong = wrong + unit * value.norm();
                ripple += 2.0 * wrong;
                squares += 2.0 * wrong * wrong;
                value
            })
            .collect();
        let n = ring as f64; // both halves of the spectrum count
        Self { values, less_one, ripple: ripple / n, noise: (squares / n).sqrt() }
    }
}

/// `exp(ln + i phase) - 1`.
fn less_one(ln: f64, phase: f64) -> Complex<f64> {
    let (half, whole) = ((0.5 * phase).sin(), ln.exp());
    Complex::new(ln.exp_m1() - 2.0 * whole * half * half, whole * phase.sin())
}

/// Logarithm of what is nothing.
const NOTHING: f64 = -700.0;
/// Unit roundoff.
const ROUNDING: f64 = f64::EPSILON / 2.0;

/// Transforms back, with cell `start` first.
fn back(spectrum: Spectrum, ring: usize, start: i64, planner: &mut RealFftPlanner<f64>) -> Vec<f64> {
    let Spectrum { mut values, less_one, .. } = spectrum;
    let transform = planner.plan_fft_inverse(ring);
    let mut output = transform.make_output_vec();
    values[0].im = 0.0;
    if ring.is_multiple_of(2)
        && let Some(last) = values.last_mut()
    {
        last.im = 0.0;
    }
    // Lengths are those that the plan itself handed out, and the ends are real as it asks.
    transform.process(&mut values, &mut output).expect("lengths match");
    let scale = 1.0 / ring as f64;
    output.iter_mut().for_each(|m| *m *= scale);
    if less_one {
        output[0] += 1.0;
    }
    let turn = start.rem_euclid(ring as i64) as usize;
    output.rotate_left(turn);
    output
}
