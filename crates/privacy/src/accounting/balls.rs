//! Balls in bins: every unit joins one of B batches of an epoch, chosen uniformly, and every batch
//! is a Gaussian release.
//!
//! # Definition
//! One unit more against none (add/remove, zero-out), with noise of 1 and contributions of norm mu,
//! is the pair
//! ```text
//! P = 1/B sum_t N(mu e_t, I)   against   Q = N(0, I)   in B dimensions                         (1)
//! ```
//! and its reverse (Chua, Ghazi, Harrison, Kamath, Kumar, Leeman, Manurangsi, Sinha, Zhang,
//! *Balls-and-Bins Sampling for DP-SGD*, 2025). It dominates an epoch, adaptive queries included.
//!
//! *Proof.* The bins of all others are independent of the unit's, so fix them. Let x be drawn from
//! P or Q. From x_t and the outputs so far, which name the unit's contribution v to batch t with
//! |v| <= mu, form `x_t |v|/mu + z sqrt(1 - |v|²/mu²)` with z normal: it is N(|v|, 1) if the unit is
//! in bin t and N(0, 1) otherwise. Put it on the direction of v, with fresh noise on all others,
//! and add what the others contribute. That is the output of batch t with the unit, or without it:
//! an epoch is a post-processing of x. ∎
//! # Guarantee
//! Under Q the likelihood ratio is `S / B`, with S the sum of B independent
//! `X = exp(mu x - mu²/2)`, x normal, of mean 1. Hence
//! ```text
//! remove   delta(eps) = E[(S - K)+] / B = 1 - e^eps + E[(K - S)+] / B,   K = B e^eps           (2)
//! add      delta(eps) = e^eps E[(K - S)+] / B,                           K = B e^-eps
//! ```
//! `(K - S)+` is convex in each X, so that spreading X to the two lattice points round it, which
//! keeps its mean, bounds (2) from above; and as X >= 0, only sums below K count: whatever leaves
//! the lattice to the right may be forgotten. Errors of the masses and of the Fourier transforms
//! are added.
//! # Pitfalls
//! The difference in remove has no digit left where delta is next to the errors, about 1e-10: for
//! smaller deltas the epoch is accounted without amplification.

use realfft::RealFftPlanner;

use super::memo::Memo;
use super::table::Table;
use crate::numerics::gaussian_profile;
use crate::numerics::normal::cdf;

/// More bins than this are not convolved.
const MOST_BINS: u64 = 1 << 15;
/// Most cells of the lattice.
const MOST_CELLS: f64 = 131_072.0;
/// Points of a profile on either side of 0.
const POINTS: u32 = 800;

/// A pair above (1), remove or add; `None` where it is not computed. Smaller deltas than `smallest`
/// are not of interest.
pub(crate) fn table(bins: u64, mu: f64, remove: bool, smallest: f64) -> Option<Table> {
    // Whole powers of ten, so that neighbouring questions share the sums.
    let smallest = 10f64.powf(smallest.clamp(1e-10, 1.0).log10().floor());
    let both = TABLES.with(|known| known.get(&(bins, mu, smallest), || computed(bins, mu, smallest)));
    let (forth, back) = both.as_ref().as_ref()?;
    Some(if remove { forth.clone() } else { back.clone() })
}

thread_local! {
    static TABLES: Memo<(u64, f64, f64), Option<(Table, Table)>> = const { Memo::new() };
}

/// Both orders.
fn computed(bins: u64, mu: f64, smallest: f64) -> Option<(Table, Table)> {
    if bins > MOST_BINS || !(1e-3..=8.0).contains(&mu) {
        return None;
    }
    let b = bins as f64;
    let top = largest_epsilon(b, mu, smallest)?;
    let sums = Sums::new(bins, mu, b * top.exp())?;
    let delta = |direction: bool, epsilon: f64| {
        if direction {
            sums.put(b * epsilon.exp()) / b - epsilon.exp_m1()
                + sums.error * epsilon.exp()
                + 1e-15 * epsilon.exp()
        } else {
            epsilon.exp() / b * sums.put(b * (-epsilon).exp()) + sums.error
        }
    };
    let place = |i: u32| top * (f64::from(i) / f64::from(POINTS)).powi(2);
    let pair = |forth: bool| {
        let below = (1..=POINTS).rev().map(place);
        let below = below.map(|e| (-e, -(-e).exp_m1() + (-e).exp() * delta(!forth, e)));
        let above = (0..=POINTS).map(place).map(|e| (e, delta(forth, e)));
        let points: Vec<(f64, f64)> = below.chain(above).map(|(e, d)| (e, d.clamp(0.0, 1.0))).collect();
        Table::from_whole_profile(&points)
    };
    Some((pair(true), pair(false)))
}

/// About where delta of removal falls to `smallest`: one large X decides, or all together.
fn largest_epsilon(bins: f64, mu: f64, smallest: f64) -> Option<f64> {
    let one = gaussian_profile::epsilon(smallest.min(0.5), mu).upper;
    let together = 8.0 * ((mu * mu).exp_m1() / bins).sqrt();
    let top = 1.1 * (one.min(600.0).exp() / bins).ln_1p() + together.min(one) + 0.05;
    (top < 600.0).then(|| top.min(one + 0.05))
}

/// The law of S below some K, on a lattice, from above in the convex order.
struct Sums {
    step: f64,
    /// Sums of masses, and of masses times losses, of the cells up to each.
    partial: Vec<(f64, f64)>,
    /// The masses are off by at most this, all together.
    error: f64,
}

impl Sums {
    fn new(bins: u64, mu: f64, largest: f64) -> Option<Self> {
        let deviation = (mu * mu).exp_m1().sqrt();
        let wanted = (largest / (0.04 * deviation)).ceil();
        let cells = wanted.min(MOST_CELLS);
        if 10.0 * cells < wanted {
            return None; // too coarse to be of use
        }
        let (step, cells) = (largest / cells, cells as usize + 1);
        let (one, error) = one_bin(mu, step, cells);
        let mut convolver = Convolver::new(cells);
        let (mut total, mut power) =
            (Approximate { mass: vec![], error: 0.0 }, Approximate { mass: one, error });
        let mut left = bins;
        loop {
            if left % 2 == 1 {
                total = if total.mass.is_empty() { power.clone() } else { convolver.both(&total, &power) };
            }
            left /= 2;
            if left == 0 {
                break;
            }
            power = convolver.both(&power, &power);
        }
        let mut sum = (0.0, 0.0);
        let partial = total
            .mass
            .iter()
            .enumerate()
            .map(|(i, m)| {
                sum = (sum.0 + m, sum.1 + m * i as f64 * step);
                sum
            })
            .collect();
        // Sums of as many rounded terms.
        Some(Self { step, partial, error: total.error + cells as f64 * f64::EPSILON })
    }

    /// `E[(K - S)+]`, but for the errors of the masses.
    fn put(&self, k: f64) -> f64 {
        let cell = ((k / self.step).floor() as usize).min(self.partial.len() - 1);
        let (mass, moment) = self.partial[cell];
        k * mass - moment
    }
}

/// X spread to the lattice, and a bound on the error of all masses together.
fn one_bin(mu: f64, step: f64, cells: usize) -> (Vec<f64>, f64) {
    let mut mass = vec![0.0; cells];
    let mut error = 0.0;
    // x at which X is i steps.
    let place = |i: usize| if i == 0 { f64::NEG_INFINITY } else { (i as f64 * step).ln() / mu + 0.5 * mu };
    let between = |low: f64, high: f64| if low > 0.0 { cdf(-low) - cdf(-high) } else { cdf(high) - cdf(low) };
    let size = |low: f64, high: f64| if low > 0.0 { cdf(-low) } else { cdf(high) };
    for i in 0..cells - 1 {
        let (low, high) = (place(i), place(i + 1));
        // Q and P' of the cell: the latter is the mean of X there.
        let (p, first) = (between(low, high), between(low - mu, high - mu));
        let right = (first / step - i as f64 * p).clamp(0.0, p);
        mass[i] += p - right;
        mass[i + 1] += right;
        error += 1e-15 * (size(low, high) + size(low - mu, high - mu) / step + i as f64 * size(low, high));
    }
    // The last cell is beyond every K.
    mass[cells - 1] = 0.0;
    (mass, error.min(1.0))
}

/// Masses, and a bound on their total error.
#[derive(Clone)]
struct Approximate {
    mass: Vec<f64>,
    error: f64,
}

/// Linear convolutions of one length, cut to it.
struct Convolver {
    planner: RealFftPlanner<f64>,
    cells: usize,
    ring: usize,
}

impl Convolver {
    fn new(cells: usize) -> Self {
        Self { planner: RealFftPlanner::new(), cells, ring: (2 * cells).next_power_of_two() }
    }

    /// The errors of two transforms and one back are at most `8 log2(n) u` of the root of the sum
    /// of squares, each (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section
    /// 24.1); `sqrt(cells)` times that bounds the sum.
    fn both(&mut self, a: &Approximate, b: &Approximate) -> Approximate {
        let forward = self.planner.plan_fft_forward(self.ring);
        let inverse = self.planner.plan_fft_inverse(self.ring);
        let transform = |mass: &[f64]| {
            let (mut input, mut output) = (forward.make_input_vec(), forward.make_output_vec());
            input[..mass.len()].copy_from_slice(mass);
            // Lengths are those that the plan itself handed out.
            forward.process(&mut input, &mut output).expect("lengths match");
            output
        };
        let (mut product, other) = (transform(&a.mass), transform(&b.mass));
        product.iter_mut().zip(&other).for_each(|(x, y)| *x *= y);
        // Both ends of the product of two real transforms are real but for rounding.
        if let Some(first) = product.first_mut() {
            first.im = 0.0;
        }
        if let Some(last) = product.last_mut() {
            last.im = 0.0;
        }
        let mut mass = inverse.make_output_vec();
        inverse.process(&mut product, &mut mass).expect("lengths match");
        mass.truncate(self.cells);
        let scale = 1.0 / self.ring as f64;
        mass.iter_mut().for_each(|m| *m = (*m * scale).max(0.0));
        let norm = |x: &[f64]| x.iter().map(|m| m * m).sum::<f64>().sqrt();
        let unit = 8.0 * (self.ring as f64).log2() * f64::EPSILON;
        // ||a * b|| <= ||a|| since b adds up to 1, and the other way round.
        let rounding = 3.0 * unit * norm(&a.mass).min(norm(&b.mass)) * (self.cells as f64).sqrt();
        Approximate { mass, error: (a.error + b.error) * (1.0 + 1e-9) + rounding }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(x: f64) -> f64 {
        (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
    }

    /// Two bins: (2) by a sum over a square of outcomes, in both directions.
    #[test]
    fn two_bins_by_integration() {
        let mu = 0.9;
        for (remove, epsilon) in
            [(true, 0.0f64), (true, 0.3), (true, 1.0), (false, 0.1), (false, 0.4), (false, 0.8)]
        {
            let step = 0.01;
            let ratio = |x: f64| (mu * x - 0.5 * mu * mu).exp();
            let mut exact = 0.0;
            for i in -700..900 {
                let x = f64::from(i) * step;
                for j in -700..900 {
                    let y = f64::from(j) * step;
                    let (q, loss) = (normal(x) * normal(y), 0.5 * (ratio(x) + ratio(y)));
                    let gain = if remove { loss - epsilon.exp() } else { 1.0 - epsilon.exp() * loss };
                    exact += q * gain.max(0.0) * step * step;
                }
            }
            let found = table(2, mu, remove, 1e-9).unwrap().delta(epsilon);
            assert!(
                found >= exact * (1.0 - 1e-4) && found <= exact * 1.01 + 1e-8,
                "{remove} {epsilon}: {found} {exact}"
            );
        }
    }

    /// One bin is the Gaussian release itself, seen from both sides.
    #[test]
    fn one_bin_is_no_bin() {
        for remove in [true, false] {
            let table = table(1, 1.0, remove, 1e-9).unwrap();
            // Adding looks at small X, where the lattice is coarse for a single bin.
            for epsilon in if remove { [0.0, 0.5, 1.0, 3.0] } else { [0.0, 0.25, 0.5, 1.0] } {
                let exact = gaussian_profile::delta(epsilon, 1.0);
                let found = table.delta(epsilon);
                assert!(
                    found >= exact && found <= exact * 1.02 + 1e-8,
                    "{remove} {epsilon}: {found} {exact}"
                );
            }
        }
    }

    /// Never below the lower bound of Chua et al. 2024: the largest coordinate alone, for every
    /// threshold c.
    #[test]
    fn never_below_the_largest_coordinate() {
        let (bins, mu) = (100, 1.25);
        let table = table(bins, mu, true, 1e-9).unwrap();
        for epsilon in [0.2f64, 0.7, 1.3, 2.0] {
            let worst = (0..800)
                .map(|i| 0.01 * f64::from(i))
                .map(|c| {
                    let others = cdf(c).powi(bins as i32 - 1);
                    (1.0 - cdf(c - mu) * others) - epsilon.exp() * (1.0 - cdf(c) * others)
                })
                .fold(0.0, f64::max);
            let found = table.delta(epsilon);
            assert!(found >= worst && found < 4.0 * worst + 1e-7, "{epsilon}: {found} against {worst}");
        }
    }
}
