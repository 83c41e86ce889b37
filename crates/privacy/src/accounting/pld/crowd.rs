//! The pair of a group on a Poisson sample: a binomial number of shifts against none.
//!
//! # Definition
//! `Q` is N(0, 1) or Laplace noise of scale 1, and `P' = sum_j B(j) Q(x - j shift)` with B the
//! binomial law of how many of the group's units were drawn. `ln(P'/Q)` never falls in x, so that
//! outcomes are walked in order. A group that becomes another is seen in the view `replace`, P'
//! against its mirror image.
//! # Guarantee
//! Ganesh, *Tight Group-Level DP Guarantees for DP-SGD with Sampling via Mixture of Gaussians
//! Mechanisms*, 2024; for Laplace noise see module `flatten::group`. At group level neither
//! direction may be left out: at rate 0.01, distance 1 and eps = 0.02 adding a group of four has
//! delta 0.0039, adding one unit none.

use super::pair::{End, Pair, View};
use super::panel::{Ends, Visit, Width};
use crate::accounting::flatten::group::LARGEST_MIXTURE;
use crate::accounting::rdp::ln_mixture_of;
use crate::accounting::step::Step;
use crate::numerics::logspace::ln_binomial;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Crowd {
    noise: Noise,
    shift: f64,
    /// `ln B(j)`, j = 0, ..., size.
    ln_chances: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noise {
    Gaussian,
    Laplace,
}

/// Groups up to this size keep all shifts at both ends.
const SMALL: u64 = 64;
/// ln of a chance that no lower end needs.
const LEAST_CHANCE: f64 = -80.0;

impl Crowd {
    /// For the lower end units beyond the [`LARGEST_MIXTURE`]th stay at home, which tells less: the
    /// half-lines that tell most have less mass under smaller shifts.
    pub(super) fn new(size: u64, rate: f64, base: &Step, end: End) -> Result<Self, String> {
        let (noise, shift) = if let Step::Gaussian { mu } = base {
            (Noise::Gaussian, *mu)
        } else if let Step::Laplace { epsilon } = base {
            (Noise::Laplace, *epsilon)
        } else {
            return Err("only sampled Gaussian and Laplace noise have a pair for groups".into());
        };
        let chance = |j: u64| ln_binomial(j as f64, size as f64, rate, 1.0 - rate);
        let mut ln_chances: Vec<f64> = (0..=size.min(LARGEST_MIXTURE)).map(chance).collect();
        if end == End::Lower && size > SMALL {
            let last = ln_chances.iter().rposition(|ln| *ln > LEAST_CHANCE).unwrap_or(0);
            ln_chances.truncate(last + 1);
            let known: f64 = ln_chances.iter().map(|ln| ln.exp()).sum();
            if let Some(most) = ln_chances.last_mut() {
                *most = (most.exp() + (1.0 - known).max(0.0)).ln();
            }
        } else if size > LARGEST_MIXTURE {
            return Err(format!("a group of {size} has too many shifts to walk through"));
        }
        Ok(Self { noise, shift, ln_chances })
    }

    pub(super) fn has_atoms(&self) -> bool {
        self.noise == Noise::Laplace
    }

    /// `ln Q(x)`.
    pub(super) fn ln_reference(&self, x: f64) -> f64 {
        match self.noise {
            Noise::Gaussian => -0.5 * x * x - 0.918_938_533_204_672_8, // ln sqrt(2 pi)
            Noise::Laplace => -x.abs() - std::f64::consts::LN_2,
        }
    }

    /// `ln(P'(x) / Q(x))`.
    pub(super) fn ratio(&self, x: f64) -> f64 {
        ln_mixture_of(&self.ln_chances, |j| {
            let moved = j * self.shift;
            match self.noise {
                Noise::Gaussian => moved * (x - 0.5 * moved),
                Noise::Laplace => (2.0 * x - moved).clamp(-moved, moved),
            }
        })
    }

    /// The farthest shift.
    fn farthest(&self) -> f64 {
        (self.ln_chances.len() - 1) as f64 * self.shift
    }

    /// Where all but the given tails of `P` lie.
    fn range(&self, view: View, left: f64, right: f64) -> (f64, f64) {
        // P[N > z] <= exp(-z² / 2) / 2 for z >= 0.
        let z = |tail: f64| (2.0 * (0.5 / tail).ln().max(0.0)).sqrt();
        if view == View::Add {
            return (-z(left), z(right));
        }
        // Each shift gets an equal part of the right tail; to the left P has less than Q.
        let part = right / self.ln_chances.len() as f64;
        let reach =
            |(j, ln_chance): (usize, &f64)| j as f64 * self.shift + z((part / ln_chance.exp()).min(0.5));
        (-z(left), self.ln_chances.iter().enumerate().map(reach).fold(0.0, f64::max))
    }
}

impl Pair {
    pub(super) fn walk_crowd(
        &self,
        crowd: &Crowd,
        width: Width,
        left: f64,
        right: f64,
        visit: Visit,
    ) -> Ends {
        match crowd.noise {
            Noise::Gaussian => {
                let (low, high) = crowd.range(self.view, left, right);
                let last = crowd.farthest();
                let (first, last) = match self.view {
                    View::Add => (-last, 0.0),
                    View::Remove => (0.0, last),
                    View::Replace => (-last, last),
                };
                let stride = |x: f64| {
                    let far = (x - first).abs().max((x - last).abs());
                    (0.25 / (1.0 + far / 3.0)).min(0.25 / crowd.farthest())
                };
                self.march(low, high, width, &stride, visit);
                Ends { left, right }
            }
            Noise::Laplace => {
                // Beyond the shifts the loss is constant and the mass that of an exponential tail,
                // which is the density at the cut. At each shift the densities have a corner.
                let size = crowd.ln_chances.len() - 1;
                let (first, corners) = match self.view {
                    View::Add => (size, size),
                    View::Remove => (0, size),
                    View::Replace => (size, 2 * size),
                };
                let corner = |i: usize| (i as f64 - first as f64) * crowd.shift;
                self.atom(corner(0), 0.0, visit);
                for i in 0..corners {
                    self.march(corner(i), corner(i + 1), width, &|_| 0.12, visit);
                }
                self.atom(corner(corners), 0.0, visit);
                Ends::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair::View;
    use super::super::sweep::one_view;
    use crate::accounting::step::{Sided, Step, Steps};
    use crate::accounting::{pld, rdp};

    fn group(size: u64, rate: f64, base: Step, count: u64) -> Steps {
        sided(size, rate, Sided::One, base, count)
    }

    fn sided(size: u64, rate: f64, sided: Sided, base: Step, count: u64) -> Steps {
        Steps(vec![(Step::PoissonGroup { size, rate, sided, base: Box::new(base) }, count)])
    }

    /// The larger of removing and adding at rate 0.01, distance 1, eps = 0.02.
    #[test]
    fn published_groups() {
        for (size, exact) in [(1, 1.0875659914e-3), (2, 3.7950396307e-3), (4, 0.0104963252562)] {
            let found = pld::delta(&group(size, 0.01, Step::Gaussian { mu: 1.0 }, 1), 0.02).unwrap();
            assert!(found.lower <= exact * (1.0 + 1e-9) && found.upper >= exact * (1.0 - 1e-9), "{found:?}");
            assert!((found.upper / exact - 1.0).abs() < 1e-4, "{size}: {found:?}");
        }
    }

    /// Each direction by itself: adding a group is not free, as adding one unit nearly is.
    #[test]
    fn published_directions() {
        for (size, remove, add) in [(2, 3.7950396307e-3, 1.288e-11), (4, 0.0104963252562, 3.8503793684e-3)] {
            let steps = group(size, 0.01, Step::Gaussian { mu: 1.0 }, 1);
            for (view, exact) in [(View::Remove, remove), (View::Add, add)] {
                let found = one_view(&steps, view, &[0.02]).unwrap()[0];
                assert!(
                    found >= exact * (1.0 - 1e-3) && found <= exact * 1.01 + 1e-14,
                    "{size} {view:?}: {found}"
                );
            }
        }
    }

    type Density<'a> = &'a dyn Fn(f64) -> f64;

    /// Hockey-stick divergences of both directions by a fine sum over the densities.
    #[test]
    fn both_directions_by_integration() {
        let choose = |n: u64, k: u64| (1..=k).fold(1.0, |c, i| c * (n - k + i) as f64 / i as f64);
        let normal = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let laplace = |x: f64| 0.5 * (-x.abs()).exp();
        let cases: [(u64, f64, Step, f64, Density); 3] = [
            (4, 0.01, Step::Gaussian { mu: 1.0 }, 1.0, &normal),
            (3, 0.3, Step::Laplace { epsilon: 0.6 }, 0.6, &laplace),
            (5, 0.1, Step::Laplace { epsilon: 0.2 }, 0.2, &laplace),
        ];
        for (size, rate, base, shift, density) in cases {
            let chance =
                |j: u64| choose(size, j) * rate.powi(j as i32) * (1.0 - rate).powi((size - j) as i32);
            let mixture = |x: f64| (0..=size).map(|j| chance(j) * density(x - j as f64 * shift)).sum::<f64>();
            for e in [0.02f64, 0.1, 0.3] {
                let step = 5e-4;
                let (mut remove, mut add) = (0.0, 0.0);
                for i in -80_000..100_000 {
                    let x = (f64::from(i) + 0.5) * step;
                    let (p, q) = (mixture(x), density(x));
                    remove += (p - e.exp() * q).max(0.0) * step;
                    add += (q - e.exp() * p).max(0.0) * step;
                }
                let exact = f64::max(remove, add);
                let replace: f64 = (-80_000..100_000)
                    .map(|i| (f64::from(i) + 0.5) * step)
                    .map(|x| (mixture(x) - e.exp() * mixture(-x)).max(0.0) * step)
                    .sum();
                for (side, exact) in [(Sided::One, exact), (Sided::Two, replace)] {
                    let found = pld::delta(&sided(size, rate, side, base.clone(), 1), e).unwrap();
                    assert!(
                        (found.upper - exact).abs() <= 1e-5 * exact + 1e-12
                            && found.lower <= exact * (1.0 + 1e-5) + 1e-12,
                        "{base:?} {side:?} at {e}: {found:?} against {exact}"
                    );
                    let steps = sided(size, rate, side, base.clone(), 1);
                    assert!(rdp::delta(&steps, e).unwrap().value >= exact * (1.0 - 1e-9), "{side:?} at {e}");
                }
            }
        }
    }

    /// Two units that become others, integer by integer: whatever their contributions are, the pair
    /// of all +1 against all -1 is not exceeded.
    #[test]
    fn no_contributions_cost_more_than_opposite_ones() {
        let (rate, noise) = (0.3f64, |k: i32| (0.25f64).tanh() * (-0.5 * f64::from(k.abs())).exp());
        let law = |x: [i32; 2], k: i32| -> f64 {
            (0..4u32)
                .map(|coins| {
                    let heads = coins.count_ones() as i32;
                    let sum: i32 = (0..2).filter(|i| coins >> i & 1 == 1).map(|i| x[i]).sum();
                    rate.powi(heads) * (1.0 - rate).powi(2 - heads) * noise(k - sum)
                })
                .sum()
        };
        for epsilon in [-0.5f64, 0.0, 0.1, 0.4, 0.9] {
            let hockey = |x: [i32; 2], y: [i32; 2]| -> f64 {
                (-90..=90).map(|k| (law(x, k) - epsilon.exp() * law(y, k)).max(0.0)).sum()
            };
            let worst = hockey([1, 1], [-1, -1]);
            for code in 0..81 {
                let at = |place: u32| code / 3i32.pow(place) % 3 - 1;
                let found = hockey([at(0), at(1)], [at(2), at(3)]);
                assert!(found <= worst + 1e-12, "{code} at {epsilon}: {found} above {worst}");
            }
        }
    }

    /// One unit is the ordinary sample; a composed group stays above and below its parts.
    #[test]
    fn composed() {
        let one = pld::epsilon(&group(1, 0.01, Step::Gaussian { mu: 1.0 }, 1000), 1e-5).unwrap();
        let base = Box::new(Step::Gaussian { mu: 1.0 });
        let plain = Steps(vec![(Step::Poisson { rate: 0.01, sided: Sided::One, base }, 1000)]);
        let plain = pld::epsilon(&plain, 1e-5).unwrap();
        assert!(one.lower <= plain.upper && plain.lower <= one.upper, "{one:?} {plain:?}");
        let four = pld::epsilon(&group(4, 0.01, Step::Gaussian { mu: 1.0 }, 1000), 1e-5).unwrap();
        let renyi = rdp::epsilon(&group(4, 0.01, Step::Gaussian { mu: 1.0 }, 1000), 1e-5).unwrap().value;
        assert!(renyi >= four.lower && renyi < 1.5 * four.upper, "{renyi} against {four:?}");
        assert!(four.lower > 2.0 * one.upper && (four.upper - four.lower) / four.upper < 1e-3, "{four:?}");
    }
}
