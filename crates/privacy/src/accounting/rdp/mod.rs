//! The Rényi accountant: fast, never below the truth, often a tenth above it.
//!
//! # Definition
//! `D_a(P || Q) = ln E_Q[(P/Q)^a] / (a - 1)` for orders a > 1.
//! # Guarantee
//! At each fixed order, divergences of adaptively composed releases add up (Mironov, *Rényi
//! Differential Privacy*, 2017, proposition 1). A bound at *any* order gives an (epsilon, delta)
//! statement (`convert`), so the best order may be looked for after the fact. Probabilities of
//! events in which nothing is promised are set aside: with them `1 - prod (1 - delta_i)`, the rest
//! of delta is left for the conversion.
//! # Search
//! A geometric grid of orders from 1.0001 to a few millions, then a search by parabolas round the
//! best one. Whatever order is found, its bound is valid; a poor search only costs tightness.
//! # Pitfalls
//! - Orders that cannot be computed count as ∞, never as 0.
//! - Results are rounded up: divergences by 1e-12, conversions by their error.
//! - The divergence of a sampled release jumps at some order: a grid without small fractional
//!   orders misses the best one by far.

pub(crate) mod convert;
mod curve;
mod moment;
mod outcomes;
mod poisson_group;
mod sampled_any;
mod sampled_gaussian;
mod trapezoid;
mod without_replacement;

use curve::{Curve, Profile};
pub(crate) use poisson_group::ln_mixture_of;

use super::step::{Step, Steps};
use crate::numerics::search;

/// A release that this accountant cannot bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the Rényi accountant cannot bound {step}: {why}")]
pub(crate) struct Unsupported {
    /// The release.
    pub(crate) step: String,
    /// What is in the way.
    pub(crate) why: &'static str,
}

impl Unsupported {
    fn new(step: &Step, why: &'static str) -> Self {
        Self { step: format!("{step:?}"), why }
    }
}

/// An upper bound and the order that gave it: +∞ for the sum of pure
/// bounds, NaN if no order gave any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Converted {
    /// The bound, rounded up.
    pub(crate) value: f64,
    /// Where it was found.
    pub(crate) order: f64,
}

/// An upper bound on epsilon at `delta`.
pub(crate) fn epsilon(steps: &Steps, delta: f64) -> Result<Converted, Unsupported> {
    Ok(Composition::new(steps)?.epsilon(delta))
}

/// An upper bound on delta at `epsilon`.
pub(crate) fn delta(steps: &Steps, epsilon: f64) -> Result<Converted, Unsupported> {
    Ok(Composition::new(steps)?.delta(epsilon))
}

/// Everything released, ready to be asked at many orders. Building it once saves
/// the tables that some curves need.
#[derive(Clone, Debug)]
pub(crate) struct Composition {
    parts: Vec<(Profile, f64)>,
    /// ln of the probability that none of the lost events happens.
    ln_kept: f64,
    /// Sum of the pure bounds.
    pure: f64,
}

impl Composition {
    /// The curves of all steps, or the first one that has none.
    pub(crate) fn new(steps: &Steps) -> Result<Self, Unsupported> {
        let mut whole = Self { parts: Vec::new(), ln_kept: 0.0, pure: 0.0 };
        for (step, count) in steps.0.iter().filter(|(_, count)| *count > 0) {
            let (profile, count) = (Profile::new(step)?, *count as f64);
            whole.ln_kept += count * (-profile.lost).ln_1p();
            whole.pure += count * profile.pure;
            whole.parts.push((profile, count));
        }
        Ok(whole)
    }

    /// Selections become tables, so that one among selections takes no longer than one alone.
    fn tabulate_selections(&mut self) {
        for (profile, _) in &mut self.parts {
            if matches!(profile.curve, Curve::Selected { .. }) {
                profile.curve = profile.curve.tabulated();
            }
        }
    }

    /// Sum of the pure bounds; +∞ if there is none.
    pub(crate) fn pure(&self) -> f64 {
        self.pure
    }

    /// The total Rényi divergence at `order > 1`, rounded up; +∞ where it is not known. For
    /// releases that come with their own delta it holds outside the event of that probability only.
    pub(crate) fn divergence(&self, order: f64) -> f64 {
        let total: f64 = self.parts.iter().map(|(profile, count)| count * profile.curve.at(order)).sum();
        if total.is_nan() { f64::INFINITY } else { total * (1.0 + ROUND_UP) }
    }

    /// At least the probability of all events in which nothing is promised.
    pub(crate) fn lost(&self) -> f64 {
        -self.ln_kept.exp_m1() * (1.0 + ROUND_UP)
    }

    /// See [`epsilon`].
    pub(crate) fn epsilon(&self, delta: f64) -> Converted {
        let pure = Converted { value: self.pure * (1.0 + ROUND_UP), order: f64::INFINITY };
        // delta = lost + (1 - lost) rest, rounded down
        let lost = -self.ln_kept.exp_m1();
        let rest = ((delta - lost) / (1.0 - lost)) * (1.0 - ROUND_UP) - ROUND_UP * lost;
        if rest <= 0.0 {
            return if self.pure.is_finite() { pure } else { NO_BOUND };
        }
        let found = least_epsilon(|order| self.divergence(order), self.special_orders(), rest);
        if pure.value < found.value { pure } else { found }
    }

    /// See [`delta`].
    pub(crate) fn delta(&self, epsilon: f64) -> Converted {
        if self.pure * (1.0 + ROUND_UP) <= epsilon {
            return Converted { value: 0.0, order: f64::INFINITY };
        }
        let found = least_delta(|order| self.divergence(order), self.special_orders(), epsilon);
        let lost = -self.ln_kept.exp_m1();
        Converted { value: (found.value + lost * (1.0 + ROUND_UP)).min(1.0), ..found }
    }

    pub(super) fn special_orders(&self) -> impl Iterator<Item = f64> {
        self.parts.iter().flat_map(|(profile, _)| profile.curve.special_orders())
    }
}

/// The least epsilon at `delta` that any order gives, for divergences that are `curve` of the
/// order. `special` orders are looked at besides those of the grid.
pub(crate) fn least_epsilon(
    curve: impl Fn(f64) -> f64,
    special: impl IntoIterator<Item = f64>,
    delta: f64,
) -> Converted {
    let convert = |order, divergence| convert::guessed_epsilon(order, divergence, delta);
    let found = search(&curve, special, convert, |divergence| divergence + (-delta).ln_1p());
    if found.order.is_nan() {
        return found;
    }
    Converted { value: convert::epsilon(found.order, curve(found.order), delta), ..found }
}

/// The least delta at `epsilon`; 1 if no order gives any.
pub(crate) fn least_delta(
    curve: impl Fn(f64) -> f64,
    special: impl IntoIterator<Item = f64>,
    epsilon: f64,
) -> Converted {
    let convert = |order, divergence| convert::guessed_delta(order, divergence, epsilon);
    let found = search(&curve, special, convert, |divergence| -(epsilon - divergence).exp_m1());
    if found.order.is_nan() {
        return Converted { value: 1.0, ..found };
    }
    Converted { value: convert::delta(found.order, curve(found.order), epsilon), ..found }
}

/// The least `convert(order, divergence)` that the search finds. No order whose divergence is above
/// d converts to less than `floor(d)`; divergences rise with the order.
fn search(
    curve: impl Fn(f64) -> f64,
    special: impl IntoIterator<Item = f64>,
    convert: impl Fn(f64, f64) -> f64,
    floor: impl Fn(f64) -> f64,
) -> Converted {
    let mut best = NO_BOUND;
    let mut consider = |order: f64| {
        let divergence = curve(order);
        let value = convert(order, divergence);
        if value < best.value {
            best = Converted { value, order };
        }
        floor(divergence) > best.value
    };
    for excess in grid() {
        if consider(1.0 + excess) {
            break;
        }
    }
    for order in special {
        consider(order);
    }
    if best.value.is_finite() && best.value > 0.0 {
        refine(best, |order| convert(order, curve(order)))
    } else {
        best
    }
}

/// Looks between the neighbours of the best order on the grid, and at the whole orders next to what
/// it finds (curves known at whole orders have corners there).
fn refine(mut best: Converted, at: impl Fn(f64) -> f64) -> Converted {
    let centre = (best.order - 1.0).ln();
    let reach = RATIO.ln();
    let (place, _) = search::least(centre - reach, centre + reach, 1e-5, |x| at(1.0 + x.exp()));
    let found = 1.0 + place.exp();
    for order in [found, found.floor(), found.ceil()] {
        if order > 1.0 {
            let value = at(order);
            if value < best.value {
                best = Converted { value, order };
            }
        }
    }
    best
}

const NO_BOUND: Converted = Converted { value: f64::INFINITY, order: f64::NAN };

/// Relative error allowed for curves and sums.
const ROUND_UP: f64 = 1e-12;

/// Neighbouring orders less 1 on the grid are this far apart.
const RATIO: f64 = 1.7;

/// Orders less 1.
fn grid() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1e-4), |excess| Some(excess * RATIO)).take_while(|excess| *excess <= 2e6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::step::Sided;
    use super::*;
    use crate::accounting::closed;

    fn divergence(steps: &Steps, order: f64) -> Result<f64, Unsupported> {
        Ok(Composition::new(steps)?.divergence(order))
    }

    fn sampled(rate: f64, base: Step) -> Step {
        Step::Poisson { rate, sided: Sided::One, base: Box::new(base) }
    }

    fn sgd(rate: f64, sigma: f64, count: u64) -> Steps {
        Steps(vec![(sampled(rate, Step::Gaussian { mu: 1.0 / sigma }), count)])
    }

    fn close(found: f64, exact: f64, tolerance: f64) {
        assert!((found / exact - 1.0).abs() <= tolerance, "{found} against {exact}");
    }

    /// Bounds by the improved conversion on a coarse grid of orders are never below ours; those of
    /// privacy loss distributions are never above.
    #[test]
    fn private_gradient_descent() {
        for (rate, sigma, count, delta, coarse, order, distribution) in [
            (0.01, 1.0, 1_000, 1e-5, 2.1013665254, 7.8, 1.8282436456),
            (0.05, 2.0, 500, 1e-5, 2.7685845622, 7.6, 2.5320336133),
            (1.0, 10.0, 100, 1e-5, 4.7285070672, 5.4, 4.3771785191),
            (0.001, 0.5, 1_000, 1e-5, 4.3821449625, 3.4, 3.2388806260),
            (0.001, 0.5, 1_000, 1e-6, 5.3292079708, 3.5, 4.2350709651),
            (256.0 / 60_000.0, 1.1, 14_062, 1e-5, 2.5965558698, 8.1, 2.3816860022),
        ] {
            let found = epsilon(&sgd(rate, sigma, count), delta).unwrap();
            assert!(found.value <= coarse && found.value >= distribution, "{found:?} against {coarse}");
            assert!((found.order - order).abs() < 0.3, "{found:?} against order {order}");
            let back = super::delta(&sgd(rate, sigma, count), found.value).unwrap();
            close(back.value, delta, 1e-9);
        }
    }

    /// Replacing a record costs twice the distance, but not twice the epsilon of removing it: the
    /// exact answers are 4.9766 and 2.3209.
    #[test]
    fn replacing_in_private_gradient_descent() {
        let base = Box::new(Step::Gaussian { mu: 0.25 });
        let replace = Step::Poisson { rate: 0.05, sided: Sided::Two, base };
        let found = epsilon(&Steps(vec![(replace, 2_000)]), 1e-5).unwrap().value;
        assert!(found > 4.9766 && found < 5.4, "{found}");
        let found = epsilon(&sgd(0.05, 4.0, 2_000), 1e-5).unwrap().value;
        assert!(found > 2.3209 && found < 2.55, "{found}");
    }

    /// Conversions of zCDP: (2) minimised over orders, and the exact Gaussian below it.
    #[test]
    fn concentrated_privacy() {
        for (rho, delta, improved, order, gaussian) in [
            (0.5, 1e-5, 4.728386984943, 5.4318, 4.37717809568),
            (0.1, 1e-6, 2.141938928385, 11.658, 1.9945269007),
            (0.005, 1e-6, 0.429941468837, 45.706, 0.396857377644),
            (2.0, 1e-9, 14.150147553875, 4.1073, 13.5347722192),
        ] {
            let steps = Steps(vec![(Step::Zcdp { rho }, 1)]);
            let found = epsilon(&steps, delta).unwrap();
            assert!(found.value <= improved * (1.0 + 1e-11) && found.value >= gaussian, "{found:?}");
            assert!(found.value >= improved * 0.9995, "{found:?} far from {improved}");
            assert!((found.order / order - 1.0).abs() < 0.01, "{found:?}");
        }
        for (rho, epsilon, improved) in [(0.5, 4.0, 1.9579541696e-4), (0.1, 1.0, 8.9332457718e-3)] {
            let found = super::delta(&Steps(vec![(Step::Zcdp { rho }, 1)]), epsilon).unwrap();
            assert!(found.value <= improved * (1.0 + 1e-9) && found.value >= 0.95 * improved, "{found:?}");
        }
    }

    fn crowd(size: u64, sided: Sided, base: Step) -> Step {
        Step::PoissonGroup { size, rate: 0.05, sided, base: Box::new(base) }
    }

    fn one_of_each() -> Vec<Step> {
        let gaussian = Step::Gaussian { mu: 0.5 };
        vec![
            gaussian.clone(),
            Step::Laplace { epsilon: 0.3 },
            Step::DiscreteGaussian { sigma: 3.0, shift: 2 },
            Step::DiscreteLaplace { scale: 4.0, shift: 3 },
            Step::RandomizedResponse { categories: 5, truth: 0.4 },
            Step::BoundedRange { epsilon: 0.7 },
            Step::Pure { epsilon: 0.2 },
            Step::Zcdp { rho: 0.01 },
            Step::Renyi { orders: vec![2.0, 4.0, 32.0], epsilons: vec![0.1, 0.2, 1.7] },
            sampled(0.05, gaussian.clone()),
            Step::Poisson { rate: 0.05, sided: Sided::Two, base: Box::new(gaussian.clone()) },
            sampled(0.05, Step::Laplace { epsilon: 0.3 }),
            Step::Poisson { rate: 0.05, sided: Sided::Two, base: Box::new(Step::Laplace { epsilon: 0.3 }) },
            sampled(0.05, Step::DiscreteGaussian { sigma: 3.0, shift: 2 }),
            sampled(0.05, Step::DiscreteLaplace { scale: 4.0, shift: 3 }),
            sampled(0.05, Step::RandomizedResponse { categories: 5, truth: 0.4 }),
            sampled(0.05, Step::BoundedRange { epsilon: 0.7 }),
            sampled(0.05, Step::Pure { epsilon: 0.2 }),
            sampled(0.05, Step::Zcdp { rho: 0.01 }),
            sampled(
                0.05,
                Step::Renyi { orders: vec![2.0, 3.0, 4.0, 32.0], epsilons: vec![0.1, 0.1, 0.2, 1.7] },
            ),
            sampled(0.5, sampled(0.1, gaussian.clone())),
            Step::WithoutReplacement { sample: 5, population: 100, base: Box::new(gaussian) },
            Step::WithoutReplacement {
                sample: 5,
                population: 100,
                base: Box::new(Step::Laplace { epsilon: 0.3 }),
            },
            Step::WithoutReplacement { sample: 5, population: 100, base: Box::new(Step::Zcdp { rho: 0.01 }) },
            crowd(3, Sided::One, Step::Gaussian { mu: 0.5 }),
            crowd(3, Sided::One, Step::Laplace { epsilon: 0.3 }),
            crowd(3, Sided::Two, Step::Gaussian { mu: 0.5 }),
            crowd(3, Sided::Two, Step::Laplace { epsilon: 0.3 }),
            Step::WithReplacement {
                sample: 5,
                population: 100,
                base: Box::new(Step::Laplace { epsilon: 0.3 }),
            },
            Step::Shuffled { reports: 50, epsilon: 0.8 },
            Step::Group { size: 3, base: Box::new(sampled(0.05, Step::Gaussian { mu: 0.1 })) },
        ]
    }

    /// Some accountants forget the count for some events.
    #[test]
    fn the_count_multiplies_for_every_kind_of_step() {
        for step in one_of_each() {
            for order in [1.5, 3.0, 17.3] {
                let once = divergence(&Steps(vec![(step.clone(), 1)]), order).unwrap();
                let often = divergence(&Steps(vec![(step.clone(), 10)]), order).unwrap();
                assert!(once > 0.0 && once.is_finite(), "{step:?} at {order}: {once}");
                close(often, 10.0 * once, 1e-14);
            }
            let once = epsilon(&Steps(vec![(step.clone(), 1)]), 1e-6).unwrap().value;
            let often = epsilon(&Steps(vec![(step.clone(), 10)]), 1e-6).unwrap().value;
            assert!(often > 1.2 * once && often <= 10.0 * once * (1.0 + 1e-9), "{step:?}: {once}, {often}");
        }
    }

    #[test]
    fn sampling_and_order_only_help_or_hurt_as_they_should() {
        for step in one_of_each() {
            let at = |order| divergence(&Steps(vec![(step.clone(), 1)]), order).unwrap();
            let mut previous = 0.0;
            for order in [1.001, 1.2, 1.9, 2.0, 2.7, 4.0, 9.5, 32.0] {
                assert!(at(order) >= previous * (1.0 - 1e-11), "{step:?} falls at {order}");
                previous = at(order);
            }
            if let Step::Poisson { base, .. } | Step::WithoutReplacement { base, .. } = &step {
                if matches!(step, Step::Poisson { sided: Sided::Two, .. }) {
                    continue;
                }
                let whole = divergence(&Steps(vec![((**base).clone(), 1)]), 4.0).unwrap();
                assert!(at(4.0) <= whole * (1.0 + 1e-11), "{step:?} costs more than its base");
            }
        }
    }

    /// From the curve of one unit alone, a group costs at least what its own pair says.
    #[test]
    fn group_rule_is_above_the_mixture() {
        for size in [2, 3, 4, 8] {
            let one = sampled(0.05, Step::Gaussian { mu: 0.3 });
            let rule = Steps(vec![(Step::Group { size, base: Box::new(one) }, 1)]);
            let pair = Steps(vec![(crowd(size, Sided::One, Step::Gaussian { mu: 0.3 }), 1)]);
            for order in [1.5, 2.0, 3.0, 8.0] {
                let (loose, tight) = (divergence(&rule, order).unwrap(), divergence(&pair, order).unwrap());
                assert!(loose >= tight, "size {size}, order {order}: {loose} below {tight}");
            }
        }
    }

    #[test]
    fn lost_events_are_set_aside() {
        let (sure, lossy) = (Step::Pure { epsilon: 0.1 }, Step::Approximate { epsilon: 0.1, delta: 1e-8 });
        let with = epsilon(&Steps(vec![(lossy.clone(), 100)]), 1e-5).unwrap().value;
        let kept = -(100.0 * (-1e-8f64).ln_1p()).exp_m1();
        let without = epsilon(&Steps(vec![(sure, 100)]), (1e-5 - kept) / (1.0 - kept)).unwrap().value;
        close(with, without, 1e-9);
        // Exact optimal composition is 4.3068 at (0.1, 100, 1e-5).
        assert!(with > 4.30679137252 && with < 4.75, "{with}");
        let too_much = epsilon(&Steps(vec![(lossy.clone(), 2_000)]), 1e-5).unwrap();
        assert_eq!(too_much.value, f64::INFINITY);
        let spent = super::delta(&Steps(vec![(lossy, 100)]), 50.0).unwrap().value;
        assert!(spent >= kept && spent < kept * 1.001, "{spent}");
    }

    #[test]
    fn edges() {
        let nothing = Steps::default();
        assert_eq!(epsilon(&nothing, 1e-5).unwrap().value, 0.0);
        assert_eq!(super::delta(&nothing, 0.0).unwrap().value, 0.0);
        let naked = Steps(vec![(Step::NonPrivate, 1), (Step::Pure { epsilon: 1.0 }, 1)]);
        assert_eq!(epsilon(&naked, 0.5).unwrap().value, f64::INFINITY);
        assert_eq!(super::delta(&naked, 5.0).unwrap().value, 1.0);
        let pure = Steps(vec![(Step::Pure { epsilon: 1.0 }, 2)]);
        close(epsilon(&pure, 0.0).unwrap().value, 2.0, 1e-11);
        assert_eq!(epsilon(&sgd(0.1, 1.0, 1), 0.0).unwrap().value, f64::INFINITY);
        let unknown =
            Step::Poisson { rate: 0.1, sided: Sided::Two, base: Box::new(Step::Pure { epsilon: 1.0 }) };
        let refusal = epsilon(&Steps(vec![(unknown, 1)]), 1e-5).unwrap_err();
        assert!(refusal.to_string().contains("how far a record is from being absent"), "{refusal}");
    }

    proptest! {
        #![proptest_config(crate::numerics::cases(48))]

        /// The whole box in which training happens: an answer, never
        /// below the truth where it is known.
        #[test]
        fn total_over_the_box(
            ln_sigma in 0.05f64.ln()..1e4f64.ln(),
            ln_rate in 1e-9f64.ln()..0.0,
            ln_count in 0.0f64..1e9f64.ln(),
            ln_delta in 1e-18f64.ln()..0.1f64.ln(), two in any::<bool>(),
        ) {
            let (sigma, rate) = (ln_sigma.exp(), ln_rate.exp());
            let (count, delta) = (ln_count.exp() as u64, ln_delta.exp());
            let sided = if two { Sided::Two } else { Sided::One };
            let step = Step::Poisson { rate, sided, base: Box::new(Step::Gaussian { mu: 1.0 / sigma }) };
            let found = epsilon(&Steps(vec![(step.clone(), count)]), delta).unwrap();
            prop_assert!(found.value >= 0.0 && found.value.is_finite(), "{:?}", found);
            // Sampling never hurts: within a factor for the coarser of two analyses.
            let distance = if two { 2.0 / sigma } else { 1.0 / sigma };
            let whole = Steps(vec![(Step::Gaussian { mu: distance }, count)]);
            prop_assert!(found.value <= epsilon(&whole, delta).unwrap().value * (1.0 + 1e-9));
            let less = epsilon(&Steps(vec![(step, count.div_ceil(2))]), delta).unwrap();
            prop_assert!(less.value <= found.value * (1.0 + 1e-6));
        }

        /// Never below the exact Gaussian.
        #[test]
        fn above_the_closed_form(
            ln_mu in -6.0f64..3.0,
            ln_count in 0.0f64..12.0,
            ln_delta in -40.0f64..-2.5,
        ) {
            let steps = Steps(vec![(Step::Gaussian { mu: ln_mu.exp() }, ln_count.exp() as u64)]);
            let delta = ln_delta.exp();
            let exact = closed::epsilon(&steps, delta).unwrap();
            let found = epsilon(&steps, delta).unwrap().value;
            prop_assert!(found >= exact.lower, "{} below {:?}", found, exact);
            let back = super::delta(&steps, exact.upper).unwrap().value;
            let least = closed::delta(&steps, exact.upper).unwrap().lower;
            prop_assert!(back >= least, "{} below {}", back, least);
        }
    }
}
