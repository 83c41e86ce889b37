//! Composition of tilted distributions by fast Fourier transforms, with every error counted.
//!
//! # Guarantee
//! Each part is transformed on a ring of `n` cells, raised to its count, multiplied with the others and
//! transformed back. The result differs from the true tilted distribution by at most `slack` in total:
//! - what lies outside the ring's window wraps around: bounded by Chernoff (`tilted::reach`);
//! - a transform of `p >= 0`, `sum p = 1` is wrong by at most `FFT_ERROR log2(n) u` in each entry, since
//!   each output is one sum over paths of `log2 n` twiddle factors and additions (Higham, *Accuracy and
//!   Stability of Numerical Algorithms*, 2002, section 24.1); raised to the power `T` an entry `F` is wrong
//!   by at most `(|F| + e)^T - |F|^T`; the mean of these over all entries bounds the error of each mass;
//! - moving to a coarser lattice keeps the end's direction.
//!
//! # Pitfalls
//! - A power of a transform multiplies its phase error by the count: it is part of `e`.
//! - A ring too small for the tails silently folds large losses onto small ones: hence Chernoff first.

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

/// Composes parts (each taken `count` times) that share one lattice step and one tilt.
/// Compositions that need a larger ring than `good_ring` are done block by block. `work` grows by the
/// cells of all transforms.
pub(super) fn compose(parts: Vec<(Tilted, u64)>, end: End, good_ring: f64, work: &mut f64) -> Tilted {
    PLANNER.with_borrow_mut(|planner| compose_with(parts, end, good_ring, work, planner.fresh()))
}

fn compose_with(
    mut parts: Vec<(Tilted, u64)>,
    end: End,
    good_ring: f64,
    work: &mut f64,
    planner: &mut RealFftPlanner<f64>,
) -> Tilted {
    loop {
        let deviation = deviation(&parts);
        let most = parts.iter().map(|p| p.1).max().unwrap_or(1);
        let releases: u64 = parts.iter().map(|p| p.1).sum();
        // About 18 deviations are needed when the composition is close to normal.
        if 18.0 * deviation <= good_ring || releases == 1 {
            break;
        }
        // Blocks of 2 f^2 releases on a lattice f times coarser: coarsening then adds half the variance
        // that the finer lattice added to those releases.
        let factor = (4.0 * 18.0 * deviation / good_ring).clamp(2.0, 32.0).floor();
        let block = 2 * (factor * factor) as u64;
        let tail = TAIL / most.div_ceil(block) as f64;
        parts = parts
            .into_iter()
            .flat_map(|(part, count)| {
                let mut done = Vec::with_capacity(2);
                for (size, count) in [(block, count / block), (count % block, 1)] {
                    if size > 0 && count > 0 {
                        done.push((power(&[(&part, size)], tail, planner, work).coarser(factor, end), count));
                    }
                }
                done
            })
            .collect();
    }
    let parts: Vec<(&Tilted, u64)> = parts.iter().map(|(part, count)| (part, *count)).collect();
    power(&parts, TAIL, planner, work)
}

thread_local! {
    static PLANNER: RefCell<Planner> = RefCell::new(Planner { plans: RealFftPlanner::new(), uses: 0 });
}

/// Keeps the tables of transforms between questions (a search asks many alike), and drops them now and then
/// so that they do not pile up.
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
    // What lies outside is missed there and found again inside; if the ring had to be cut shorter than
    // Chernoff asked, that may be everything.
    let cut =
        below > -lowest && lowest == -LARGEST_RING / 2.0 || above > highest && highest == LARGEST_RING / 2.0;
    let outside = if cut { 1.0 } else { 4.0 * tail };

    // Cell numbers are taken relative to whole cells near the means, so that phases stay small.
    let centres: Vec<i64> = moments.iter().map(|m| m.0.round() as i64).collect();
    let drift: f64 =
        centred.iter().zip(&centres).map(|((_, count, mean), c)| *count as f64 * (mean - *c as f64)).sum();
    let start = (lowest + drift).floor() as i64 - 1;
    let cells = ((highest + drift).ceil() as i64 + 2 - start) as usize;
    let ring = ring_size(cells);
    *work += (parts.len() + 1) as f64 * ring as f64;

    let (spectrum, ripple) = spectrum(parts, &centres, ring, planner);
    let mut mass = back(spectrum, ring, start, planner);
    mass.truncate(cells);
    mass.iter_mut().for_each(|m| *m = m.max(0.0));

    let whole = |f: &dyn Fn(&Tilted) -> f64| -> f64 { parts.iter().map(|(p, c)| *c as f64 * f(p)).sum() };
    let inherited = whole(&|p| p.error().ln_1p()).exp_m1();
    let centre: i64 = parts.iter().zip(&centres).map(|((_, c), k)| *c as i64 * k).sum();
    Tilted {
        tilt: parts[0].0.tilt,
        offset: whole(&|p| p.offset),
        step: parts[0].0.step,
        first: centre + start,
        mass,
        ln_scale: whole(&|p| p.ln_scale),
        slack: inherited + (1.0 + inherited) * outside,
        ripple: (1.0 + inherited) * ripple,
    }
}

/// The next size that transforms quickly: 2^k or 3 * 2^k.
fn ring_size(cells: usize) -> usize {
    let two = cells.next_power_of_two().max(8);
    if two / 4 * 3 >= cells { two / 4 * 3 } else { two }
}

/// Product of the powers of the parts' transforms, and a bound on the error of each entry of its transform back.
fn spectrum(
    parts: &[(&Tilted, u64)],
    centres: &[i64],
    ring: usize,
    planner: &mut RealFftPlanner<f64>,
) -> (Vec<Complex<f64>>, f64) {
    let transform = planner.plan_fft_forward(ring);
    let levels = (ring as f64).log2() + 2.0;
    let unit = FFT_ERROR * levels * f64::EPSILON / 2.0;
    let mut input = transform.make_input_vec();
    let mut output = transform.make_output_vec();
    let mut scratch = transform.make_scratch_vec();
    let mut product = vec![(Complex::new(1.0, 0.0), 1.0_f64); output.len()]; // and a bound on its size
    for ((part, count), centre) in parts.iter().zip(centres) {
        input.fill(0.0);
        for (i, m) in part.mass.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            let cell = part.first + i as i64 - centre;
            input[cell.rem_euclid(ring as i64) as usize] += m;
        }
        // Lengths are those that the plan itself handed out.
        transform.process_with_scratch(&mut input, &mut output, &mut scratch).expect("lengths match");
        let count = *count as f64;
        for ((value, bound), f) in product.iter_mut().zip(&output).filter(|(p, _)| p.1 > 0.0) {
            // `bound` allows twice `unit`: once for the transform, once for the rounding of `count * phase`.
            let square = f.norm_sqr().max(1e-300);
            let allowed = square.sqrt() + 2.0 * unit;
            if count == 1.0 {
                *value *= f;
                *bound *= allowed;
            } else if count * allowed.ln() < -700.0 {
                // Most of the spectrum of a long composition is nothing at all.
                (*value, *bound) = (Complex::ZERO, 0.0);
            } else {
                *value *= Complex::from_polar((0.5 * count * square.ln()).exp(), count * f.im.atan2(f.re));
                *bound *= (count * allowed.ln()).exp();
            }
        }
    }
    // Both halves of the spectrum count.
    let (mut error, mut total) = (0.0, 0.0);
    for (value, bound) in product.iter().filter(|p| p.1 > 0.0) {
        let size = value.norm();
        error += 2.0 * (bound - size).max(0.0);
        total += 2.0 * size;
    }
    (product.into_iter().map(|p| p.0).collect(), (error + total * unit) / ring as f64)
}

/// Transforms back, with cell `start` first.
fn back(
    mut spectrum: Vec<Complex<f64>>,
    ring: usize,
    start: i64,
    planner: &mut RealFftPlanner<f64>,
) -> Vec<f64> {
    let transform = planner.plan_fft_inverse(ring);
    let mut output = transform.make_output_vec();
    spectrum[0].im = 0.0;
    if ring.is_multiple_of(2)
        && let Some(last) = spectrum.last_mut()
    {
        last.im = 0.0;
    }
    // Lengths are those that the plan itself handed out, and the ends are real as it asks.
    transform.process(&mut spectrum, &mut output).expect("lengths match");
    let scale = 1.0 / ring as f64;
    let turn = start.rem_euclid(ring as i64) as usize;
    output.rotate_left(turn);
    output.iter_mut().for_each(|m| *m *= scale);
    output
}
