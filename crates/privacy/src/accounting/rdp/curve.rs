//! From an elementary release to its Rényi curve.
//!
//! | release | `D_a`, the larger direction |
//! |---|---|
//! | Gaussian, mu | `a mu²/2` (Mironov, *Rényi Differential Privacy*, 2017, proposition 7) |
//! | discrete Gaussian | at most `a (shift/sigma)²/2` (Canonne, Kamath, Steinke 2020, proposition 5) |
//! | zCDP, rho | `rho a` (Bun and Steinke, *Concentrated Differential Privacy*, 2016) |
//! | Laplace, eps | `ln(a/(2a-1) e^((a-1) eps) + (a-1)/(2a-1) e^(-a eps)) / (a-1)` (Mironov 2017, prop. 6) |
//! | pure, eps | randomized response's, `ln((e^(a eps) + e^((1-a) eps)) / (1 + e^eps)) / (a-1)` |
//! | (eps, delta) | the same, outside an event of probability delta |
//! | k-ary randomized response, discrete Laplace | the sum over outcomes |
//! | bounded range, eps | largest over pairs of losses t, t - eps (Dong, Durfee, Rogers 2020) |
//! | listed orders | chord of `(a-1) D_a`, which is convex; below the list its first value, above it ∞ |
//! | a group that has only a curve | `3^c` times the curve at `2^c a`, a >= 2 (Mironov 2017, prop. 2) |
//! | a selection | module `selected` |
//! | shuffled reports, samples with replacement | the sum over outcomes of a pair that stands above |
//! | samples | `sampled_gaussian`, `poisson_group`, `outcomes`, `sampled_any`, `without_replacement` |
//!
//! Dong, Durfee, Rogers: *Optimal Differential Privacy Composition for Exponential Mechanisms*.
//!
//! # Pitfalls
//! - `D_a` itself must not be interpolated: it need not be convex.
//! - What has no curve here is an error or ∞, never 0.

use super::super::selected::{self, Selection};
use super::super::step::{Sided, Step, Steps};
use super::super::table::Table;
use super::super::{closed, shuffled, with_replacement};
use super::moment::{self, ln_psi};
use super::outcomes::{self, Outcome};
use super::poisson_group::PoissonGroup;
use super::sampled_any::SampledAny;
use super::sampled_gaussian::SampledGaussian;
use super::without_replacement::WithoutReplacement;
use super::{Composition, Unsupported};
use crate::event::Trials;
use crate::numerics::logspace::ln_mixture;

/// What the accountant knows of one release.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Divergences outside the event of probability `lost`.
    pub(super) curve: Curve,
    /// Probability of an event in which nothing is promised.
    pub(super) lost: f64,
    /// The pure bound, order infinity; +∞ if there is none.
    pub(super) pure: f64,
}

/// Rényi divergence as a function of the order.
#[derive(Clone, Debug)]
pub(super) enum Curve {
    /// Proportional to the order.
    Straight {
        slope: f64,
    },
    Laplace {
        epsilon: f64,
    },
    SampledLaplace {
        epsilon: f64,
        rate: f64,
        sided: Sided,
    },
    Outcomes {
        outcomes: Vec<Outcome>,
        rate: f64,
        sided: Sided,
    },
    BoundedRange {
        epsilon: f64,
    },
    Listed {
        orders: Vec<f64>,
        epsilons: Vec<f64>,
    },
    SampledGaussian(SampledGaussian),
    SampledAny(SampledAny),
    WithoutReplacement(Box<WithoutReplacement>),
    PoissonGroup(PoissonGroup),
    /// The least of the mean over how many units are drawn, and of a chain of single units.
    PoissonGroupReplaced {
        group: PoissonGroup,
        chain: Box<Curve>,
    },
    /// A group of 2^doublings, from the curve of one unit.
    Group {
        doublings: u32,
        base: Box<Curve>,
    },
    Selected {
        selection: Selection,
        run: Box<Composition>,
        /// The worst mechanism with the selection's pure bound, if there is one.
        amplified: Option<Vec<Outcome>>,
    },
    Infinite,
}

impl Profile {
    /// The profile of one release.
    pub(super) fn new(step: &Step) -> Result<Self, Unsupported> {
        let pure = closed::pure_epsilon(step).unwrap_or(f64::INFINITY);
        let sure = |curve| Ok(Self { curve, lost: 0.0, pure });
        match step {
            Step::Approximate { epsilon, delta } => {
                Ok(Self { curve: any_pure(*epsilon), lost: *delta, pure })
            }
            Step::Poisson { rate, sided, base } => Self::poisson(step, *rate, *sided, base),
            Step::WithoutReplacement { sample, population, base } => {
                Self::without_replacement(step, *sample, *population, base)
            }
            Step::PoissonGroup { size, rate, sided, base } => {
                sure(match (&**base, sided, pure.is_finite()) {
                    (Step::Gaussian { mu }, Sided::One, _) => {
                        Curve::PoissonGroup(PoissonGroup::new(*mu, *rate, *size))
                    }
                    (Step::Gaussian { mu }, Sided::Two, _) => Curve::PoissonGroupReplaced {
                        group: PoissonGroup::new(*mu, *rate, *size),
                        chain: Box::new(Curve::Group {
                            doublings: size.next_power_of_two().trailing_zeros(),
                            base: Box::new(Self::poisson(step, *rate, *sided, base)?.curve),
                        }),
                    },
                    (_, _, true) => any_pure(pure),
                    (_, _, false) => Curve::Infinite,
                })
            }
            Step::WithReplacement { sample, population, base } => {
                Ok(Self::tabulated(with_replacement::table(*sample, *population, base), pure))
            }
            Step::Shuffled { reports, epsilon } => {
                Ok(Self::tabulated(shuffled::table(*reports, *epsilon), pure))
            }
            // Divergences are quasi-convex: no mixture over bins exceeds one bin.
            Step::BallsInBins { mu, .. } => sure(Curve::Straight { slope: 0.5 * mu * mu }),
            Step::Group { size, base } => Self::group(step, *size, base),
            Step::Selected { trials, run } => Self::selected(step, *trials, run),
            Step::Gaussian { .. }
            | Step::Laplace { .. }
            | Step::DiscreteGaussian { .. }
            | Step::DiscreteLaplace { .. }
            | Step::RandomizedResponse { .. }
            | Step::BoundedRange { .. }
            | Step::Pure { .. }
            | Step::Zcdp { .. }
            | Step::Renyi { .. }
            | Step::NonPrivate => sure(Curve::plain(step)),
        }
    }

    /// A pair that stands above the release; what is singular is lost, and the rest becomes a law
    /// of its own.
    fn tabulated(table: Table, pure: f64) -> Self {
        let ln_rest = (-table.singular).ln_1p();
        let outcomes =
            table.outcomes.into_iter().map(|(ln_q, loss)| outcomes::one_sided(ln_q - ln_rest, loss));
        Self { curve: unsampled(outcomes.collect()), lost: table.singular, pure }
    }

    /// Mironov, *Rényi Differential Privacy*, 2017, proposition 2.
    fn group(step: &Step, size: u64, base: &Step) -> Result<Self, Unsupported> {
        let one = Self::new(base)?;
        if one.lost > 0.0 {
            return Err(Unsupported::new(step, "for one unit it promises nothing in some rare event"));
        }
        let doublings = size.next_power_of_two().trailing_zeros();
        let curve = Curve::Group { doublings, base: Box::new(one.curve) };
        Ok(Self { curve, lost: 0.0, pure: size as f64 * one.pure })
    }

    fn selected(step: &Step, trials: Trials, run: &Steps) -> Result<Self, Unsupported> {
        let steps = run;
        let mut run = Composition::new(steps)?;
        let lost = run.lost() * selected::mean(trials);
        if lost >= 1.0 {
            return Err(Unsupported::new(step, "some run out of many promises nothing"));
        }
        run.tabulate_selections();
        let pure = selected::pure(trials, run.pure());
        let selection = Selection::new(trials, &run, steps);
        let amplified = pure.is_finite().then(|| outcomes::pure(pure));
        Ok(Self { curve: Curve::Selected { selection, run: Box::new(run), amplified }, lost, pure })
    }

    fn poisson(step: &Step, rate: f64, sided: Sided, base: &Step) -> Result<Self, Unsupported> {
        let pure = closed::pure_epsilon(step).unwrap_or(f64::INFINITY);
        let sure = |curve| Ok(Self { curve, lost: 0.0, pure });
        let gaussian = |mu, lattice| Curve::SampledGaussian(SampledGaussian { mu, rate, sided, lattice });
        let outcomes = |outcomes| Curve::Outcomes { outcomes, rate, sided };
        match (base, sided) {
            (Step::Gaussian { mu }, _) => sure(gaussian(*mu, None)),
            (Step::DiscreteGaussian { sigma, shift }, _) => {
                sure(gaussian(*shift as f64 / sigma, Some(1.0 / sigma)))
            }
            (Step::Laplace { epsilon }, _) if *epsilon <= outcomes::LARGEST_LAPLACE => {
                sure(Curve::SampledLaplace { epsilon: *epsilon, rate, sided })
            }
            (Step::DiscreteLaplace { scale, shift }, _) => {
                sure(outcomes(outcomes::discrete_laplace(*scale, *shift)))
            }
            // A sample of a sample is a sample.
            (Step::Poisson { rate: inner, sided: same, base }, _) if *same == sided => {
                Self::poisson(step, rate * inner, sided, base)
            }
            (Step::NonPrivate, _) => sure(Curve::Infinite),
            (
                Step::Poisson { .. }
                | Step::WithoutReplacement { .. }
                | Step::PoissonGroup { .. }
                | Step::WithReplacement { .. }
                | Step::BallsInBins { .. }
                | Step::Shuffled { .. }
                | Step::Group { .. }
                | Step::Selected { .. },
                _,
            ) => Err(Unsupported::new(
                step,
                "samples of samples are only accounted for Poisson samples of one kind",
            )),
            (Step::Laplace { .. }, Sided::Two) => Err(Unsupported::new(
                step,
                "the noise is too small for this accountant; use at least sensitivity / 500",
            )),
            (_, Sided::Two) => Err(Unsupported::new(
                step,
                "its parameters do not say how far a record is from being absent; state noise with \
                noise_multiplier",
            )),
            (Step::RandomizedResponse { categories, truth }, Sided::One) => {
                sure(outcomes::randomized_response(*categories, *truth).map_or(Curve::Infinite, outcomes))
            }
            (
                Step::Pure { epsilon } | Step::Laplace { epsilon } | Step::BoundedRange { epsilon },
                Sided::One,
            ) => sure(outcomes(outcomes::pure(*epsilon))),
            // Balle, Barthe, Gaboardi 2018, theorem 8.
            (Step::Approximate { epsilon, delta }, Sided::One) => {
                Ok(Self { curve: any_pure(ln_mixture(rate, *epsilon)), lost: rate * delta, pure })
            }
            (Step::Zcdp { .. } | Step::Renyi { .. }, Sided::One) => {
                sure(Curve::SampledAny(SampledAny { rate, base: Box::new(Curve::plain(base)) }))
            }
        }
    }

    fn without_replacement(
        step: &Step,
        sample: u64,
        population: u64,
        base: &Step,
    ) -> Result<Self, Unsupported> {
        let pure = closed::pure_epsilon(step).unwrap_or(f64::INFINITY);
        if !base.is_elementary() {
            return Err(Unsupported::new(step, "a sample of a sample has no known bound"));
        }
        if let Step::Approximate { epsilon, delta } = base {
            let rate = (sample as f64 / population as f64).min(1.0);
            return Ok(Self { curve: any_pure(ln_mixture(rate, *epsilon)), lost: rate * delta, pure });
        }
        // At whole orders the discrete Gaussian has exactly the continuous curve, hence the same
        // B(l).
        let gaussian = if let Step::Gaussian { mu } = base {
            Some(*mu)
        } else if let Step::DiscreteGaussian { sigma, shift } = base {
            Some(*shift as f64 / sigma)
        } else {
            None
        };
        let base_pure = closed::pure_epsilon(base).unwrap_or(f64::INFINITY);
        let curve = WithoutReplacement::new(sample, population, Curve::plain(base), base_pure, gaussian);
        Ok(Self { curve: Curve::WithoutReplacement(Box::new(curve)), lost: 0.0, pure })
    }
}

impl Curve {
    /// The curve of a release that is neither sampled nor approximate; ∞ for those.
    fn plain(step: &Step) -> Self {
        match step {
            Step::Gaussian { mu } => Self::Straight { slope: 0.5 * mu * mu },
            Step::DiscreteGaussian { sigma, shift } => {
                Self::Straight { slope: 0.5 * (*shift as f64 / sigma).powi(2) }
            }
            Step::Zcdp { rho } => Self::Straight { slope: *rho },
            Step::Laplace { epsilon } => Self::Laplace { epsilon: *epsilon },
            Step::DiscreteLaplace { scale, shift } => unsampled(outcomes::discrete_laplace(*scale, *shift)),
            Step::RandomizedResponse { categories, truth } => {
                outcomes::randomized_response(*categories, *truth).map_or(Self::Infinite, unsampled)
            }
            Step::BoundedRange { epsilon } => Self::BoundedRange { epsilon: *epsilon },
            Step::Pure { epsilon } => any_pure(*epsilon),
            Step::Renyi { orders, epsilons } => {
                Self::Listed { orders: orders.clone(), epsilons: epsilons.clone() }
            }
            Step::Approximate { .. }
            | Step::Poisson { .. }
            | Step::WithoutReplacement { .. }
            | Step::PoissonGroup { .. }
            | Step::WithReplacement { .. }
            | Step::BallsInBins { .. }
            | Step::Shuffled { .. }
            | Step::Group { .. }
            | Step::Selected { .. }
            | Step::NonPrivate => Self::Infinite,
        }
    }

    /// `D_order` for `order > 1`; never NaN, +∞ where unknown.
    pub(super) fn at(&self, order: f64) -> f64 {
        let divergence = match self {
            Self::Straight { slope } => slope * order,
            Self::Laplace { epsilon } => laplace(*epsilon, order),
            Self::SampledLaplace { epsilon, rate, sided } => {
                outcomes::divergence(&outcomes::laplace(*epsilon, order), *rate, *sided, order)
            }
            Self::Outcomes { outcomes, rate, sided } => outcomes::divergence(outcomes, *rate, *sided, order),
            Self::BoundedRange { epsilon } => bounded_range(*epsilon, order),
            Self::Listed { orders, epsilons } => listed(orders, epsilons, order),
            Self::SampledGaussian(curve) => curve.at(order),
            Self::SampledAny(curve) => curve.at(order),
            Self::WithoutReplacement(curve) => curve.at(order),
            Self::PoissonGroup(curve) => curve.at(order),
            Self::PoissonGroupReplaced { group, chain } => group.replaced_at(order).min(chain.at(order)),
            // Divergences rise with the order, so that below 2 the value at 2 will do.
            Self::Group { doublings, base } => {
                3f64.powi(*doublings as i32) * base.at(order.max(2.0) * 2f64.powi(*doublings as i32))
            }
            Self::Selected { selection, run, amplified } => {
                let pure = amplified.as_ref().map(|pair| outcomes::divergence(pair, 1.0, Sided::One, order));
                selection.at(run, order).min(pure.unwrap_or(f64::INFINITY))
            }
            Self::Infinite => f64::INFINITY,
        };
        if divergence.is_nan() { f64::INFINITY } else { divergence.max(0.0) }
    }

    /// The curve at a list of orders, chords between: for selections among selections, each of
    /// which asks for many orders.
    pub(super) fn tabulated(&self) -> Self {
        let orders: Vec<f64> = std::iter::successors(Some(1e-4), |excess| Some(excess * 1.2))
            .take_while(|excess| *excess < 4e6)
            .map(|excess| 1.0 + excess)
            .collect();
        let epsilons = orders.iter().map(|order| self.at(*order) * (1.0 + 1e-12)).collect();
        Self::Listed { orders, epsilons }
    }

    /// Orders at which the curve is known best.
    pub(super) fn special_orders(&self) -> Vec<f64> {
        if let Self::Listed { orders, .. } = self {
            orders.clone()
        } else if let Self::Group { doublings, base } = self {
            let halved = |order: f64| order / 2f64.powi(*doublings as i32);
            base.special_orders().into_iter().map(halved).filter(|order| *order >= 2.0).collect()
        } else if let Self::Selected { run, .. } = self {
            run.special_orders().collect()
        } else {
            Vec::new()
        }
    }
}

fn any_pure(epsilon: f64) -> Curve {
    unsampled(outcomes::pure(epsilon))
}

fn unsampled(outcomes: Vec<Outcome>) -> Curve {
    Curve::Outcomes { outcomes, rate: 1.0, sided: Sided::One }
}

/// Mironov's formula less 1 is `a/(2a-1) psi_(b/a)(a eps)` with psi of module `moment`.
fn laplace(epsilon: f64, order: f64) -> f64 {
    let excess = order - 1.0;
    moment::divergence(excess, (order / (2.0 * order - 1.0)).ln() + ln_psi(excess / order, order * epsilon))
}

/// The largest divergence over pairs of losses t and t - eps. With `b = a - 1`, `E = e^eps` and
/// `u = e^t` the moment is
/// ```text
/// (u^b (E - E^-b) - u^a (1 - E^-b)) / (E - 1),  largest at  u = b (1 - e^(-a eps)) E / (a (1 - e^(-b eps)))
/// ```
/// An error x in t changes the excess of the moment over 1 by a part `(x / eps)²` at most: nothing
/// is searched for.
fn bounded_range(epsilon: f64, order: f64) -> f64 {
    if epsilon == 0.0 {
        return 0.0;
    }
    let excess = order - 1.0;
    let top = if order * epsilon < 1e-6 {
        0.5 * epsilon // to a part in 1e7
    } else {
        let part = |x: f64| -(-x * epsilon).exp_m1() / x;
        epsilon + (part(order) / part(excess)).ln()
    };
    outcomes::divergence(&outcomes::bounded_range(epsilon, top), 1.0, Sided::One, order)
}

fn listed(orders: &[f64], epsilons: &[f64], order: f64) -> f64 {
    let right = orders.partition_point(|&listed| listed < order);
    if right == orders.len() {
        return f64::INFINITY;
    }
    if right == 0 || orders[right] == order {
        return epsilons[right]; // divergences rise with the order
    }
    let product = |i: usize| (orders[i] - 1.0) * epsilons[i];
    let share = (order - orders[right - 1]) / (orders[right] - orders[right - 1]);
    ((1.0 - share) * product(right - 1) + share * product(right)) / (order - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(step: &Step, order: f64) -> f64 {
        Profile::new(step).unwrap().curve.at(order)
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    #[test]
    fn laplace_curve() {
        for (epsilon, order, exact) in [
            (1.0, 2.0, 0.6191236299986),
            (1.0, 8.0, 0.9101988011774),
            (0.1, 2.0, 0.009644207840345),
            (3.0, 32.0, 2.978148425045),
        ] {
            close(at(&Step::Laplace { epsilon }, order), exact, 1e-12);
            let formula: f64 = order / (2.0 * order - 1.0) * f64::exp((order - 1.0) * epsilon)
                + (order - 1.0) / (2.0 * order - 1.0) * f64::exp(-order * epsilon);
            close(at(&Step::Laplace { epsilon }, order), formula.ln() / (order - 1.0), 1e-11);
        }
        // Next to order 1: Kullback-Leibler, eps + e^-eps - 1.
        close(at(&Step::Laplace { epsilon: 1.0 }, 1.0 + 1e-9), 0.3678794411714, 1e-8);
        close(at(&Step::Laplace { epsilon: 0.1 }, 1.0 + 1e-9), 0.004837418035960, 1e-8);
        // Tiny: a eps²/2 to first order.
        close(at(&Step::Laplace { epsilon: 1e-12 }, 2.0), 1e-24, 1e-9);
        // At rate 1 the sampled curve is the curve.
        let whole =
            Step::Poisson { rate: 1.0, sided: Sided::One, base: Box::new(Step::Laplace { epsilon: 1.0 }) };
        close(at(&whole, 8.0), 0.9101988011774, 1e-12);
    }

    #[test]
    fn bounded_range_curve() {
        for (epsilon, two, eight, kullback_leibler) in [
            (0.5, 0.06185960724, 0.21219232553, 0.031142092261),
            (1.0, 0.24022901392, 0.63545939856, 0.123301561482),
            (2.0, 0.86756166097, 1.59017958403, 0.474474647071),
        ] {
            let step = Step::BoundedRange { epsilon };
            close(at(&step, 2.0), two, 1e-10);
            close(at(&step, 8.0), eight, 1e-10);
            close(at(&step, 1.0 + 1e-8), kullback_leibler, 1e-7);
            let x: f64 = epsilon / epsilon.exp_m1();
            close(x - 1.0 - x.ln(), kullback_leibler, 1e-11);
            for order in [1.1, 2.0, 30.0] {
                // eps²/8-zCDP, and never worse than pure.
                assert!(at(&step, order) <= order * epsilon * epsilon / 8.0);
                assert!(at(&step, order) <= at(&Step::Pure { epsilon }, order));
            }
        }
        assert_eq!(at(&Step::BoundedRange { epsilon: 0.0 }, 2.0), 0.0);
    }

    #[test]
    fn straight_curves() {
        close(at(&Step::Gaussian { mu: 0.5 }, 3.0), 0.375, 1e-15);
        close(at(&Step::DiscreteGaussian { sigma: 4.0, shift: 2 }, 3.0), 0.375, 1e-15);
        close(at(&Step::Zcdp { rho: 0.125 }, 3.0), 0.375, 1e-15);
    }

    /// The discrete Gaussian's own sum: equal at whole orders, below at others.
    #[test]
    fn discrete_gaussian_is_below_its_line() {
        let sigma = 0.8f64;
        let weight = |k: f64| (-0.5 * (k / sigma).powi(2)).exp();
        let norm: f64 = (-60..=60).map(|k| weight(f64::from(k))).sum();
        for order in [1.5, 2.0, 2.3, 5.0, 7.7] {
            let term = |k: f64| (weight(k - 1.0) / weight(k)).powf(order) * weight(k) / norm;
            let exact = (-25..=25).map(|k| term(f64::from(k))).sum::<f64>().ln() / (order - 1.0);
            let line = at(&Step::DiscreteGaussian { sigma, shift: 1 }, order);
            assert!(exact <= line * (1.0 + 1e-12), "order {order}");
            if order.fract() == 0.0 {
                close(exact, line, 1e-11);
            }
        }
    }

    #[test]
    fn listed_orders() {
        let step = Step::Renyi { orders: vec![2.0, 4.0, 8.0], epsilons: vec![0.1, 0.2, 0.4] };
        assert_eq!((at(&step, 4.0), at(&step, 1.5), at(&step, 8.0)), (0.2, 0.1, 0.4));
        assert_eq!(at(&step, 8.1), f64::INFINITY);
        close(at(&step, 3.0), 0.5 * (0.1 + 0.6) / 2.0, 1e-15);
        // A straight line listed at its own orders is met, and exceeded between them.
        assert!(at(&step, 6.0) >= 0.3);
    }

    /// One draw from one record is the release itself: what is left besides its delta must be no
    /// less than its pure part, at any size of delta.
    #[test]
    fn what_is_singular_takes_nothing_off_the_rest() {
        for delta in [1e-6, 0.1, 0.3, 0.9] {
            let base = Step::Approximate { epsilon: 1.0, delta };
            let drawn = Step::WithReplacement { sample: 1, population: 1, base: Box::new(base.clone()) };
            let (drawn, plain) = (Profile::new(&drawn).unwrap(), Profile::new(&base).unwrap());
            close(drawn.lost, plain.lost, 1e-11);
            for order in [1.5, 2.0, 4.0, 32.0] {
                let (above, exact) = (drawn.curve.at(order), plain.curve.at(order));
                assert!(above >= exact && above < 1.01 * exact, "{delta}, {order}: {above} against {exact}");
            }
        }
    }

    #[test]
    fn samples_of_samples_multiply_their_rates() {
        let poisson = |rate, base| Step::Poisson { rate, sided: Sided::One, base: Box::new(base) };
        let gaussian = Step::Gaussian { mu: 1.0 };
        let nested = poisson(0.1, poisson(0.1, gaussian.clone()));
        close(at(&nested, 2.5), 2.17575332282e-4, 1e-10);
        let mixed =
            Step::WithoutReplacement { sample: 1, population: 2, base: Box::new(poisson(0.1, gaussian)) };
        assert!(Profile::new(&mixed).is_err());
    }

    #[test]
    fn what_promises_nothing_is_infinite() {
        for step in [Step::NonPrivate, Step::RandomizedResponse { categories: 2, truth: 1.0 }] {
            assert_eq!(at(&step, 2.0), f64::INFINITY);
            let sampled = Step::Poisson { rate: 0.1, sided: Sided::One, base: Box::new(step.clone()) };
            assert_eq!(at(&sampled, 2.0), f64::INFINITY);
            let drawn = Step::WithoutReplacement { sample: 1, population: 10, base: Box::new(step) };
            assert_eq!(at(&drawn, 2.0), f64::INFINITY);
        }
    }
}
