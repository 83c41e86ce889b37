//! The certified ends against closed forms, enumeration and each other.

use proptest::prelude::*;

use super::jumps::Jumped;
use super::lattice::{Lattice, Merger, Spreader};
use super::pair::{End, Pair, View};
use super::profile::{Profile, Rest};
use super::tilted::Tilted;
use super::{Interval, compose, delta, epsilon};
use crate::accounting::step::{Sided, Step, Steps};
use crate::accounting::{rdp, reference};
use crate::numerics::cases;

fn sampled(rate: f64, base: Step) -> Step {
    Step::Poisson { rate, sided: Sided::One, base: Box::new(base) }
}

fn one(step: Step, count: u64) -> Steps {
    Steps(vec![(step, count)])
}

#[track_caller]
fn encloses(interval: Interval, truth: f64) {
    let rounding = 1e-11 * truth + 1e-300; // of the closed form itself
    assert!(
        interval.lower <= truth + rounding && truth - rounding <= interval.upper,
        "{interval:?} misses {truth}"
    );
}

proptest! {
    #![proptest_config(cases(10_000))]

    /// Random single releases and small compositions with exact profiles, ten thousand of them.
    #[test]
    fn closed_forms_lie_inside(
        kind in 0..8,
        size in 0.01..3.0_f64,
        rate in 0.001..0.999_f64,
        at in 0.0..1.2_f64,
        n in 1_u64..6,
    ) {
        let steps = match kind {
            0 => one(Step::Gaussian { mu: size }, n),
            1 => one(Step::Laplace { epsilon: size }, 1),
            2 => one(Step::RandomizedResponse { categories: 1 + n, truth: 0.5 + 0.49 * rate }, n),
            3 => one(Step::Pure { epsilon: size }, n),
            4 => one(Step::DiscreteGaussian { sigma: 1.0 / size, shift: 1 }, 1),
            5 => one(Step::DiscreteLaplace { scale: 1.0 / size, shift: n }, 1),
            6 => one(sampled(rate, Step::Gaussian { mu: size }), 1),
            _ => one(sampled(rate, Step::Laplace { epsilon: size }), 1),
        };
        let e = at * size * n as f64;
        let truth = match kind {
            0 => reference::gaussian(e, size, n),
            1 => reference::laplace(e, size),
            2 => reference::randomized_responses(e, 1 + n, 0.5 + 0.49 * rate, n),
            3 => reference::optimal_delta(size, 0.0, n, e),
            4 => reference::discrete_gaussian(e, 1.0 / size, 1),
            5 => reference::discrete_laplace(e, 1.0 / size, n as i64),
            6 => {
                let base = |e| reference::gaussian(e, size, 1);
                reference::sampled_remove(e, rate, base).max(reference::sampled_add(e, rate, base))
            }
            _ => {
                let base = |e| reference::laplace(e, size);
                reference::sampled_remove(e, rate, base).max(reference::sampled_add(e, rate, base))
            }
        };
        encloses(delta(&steps, e).unwrap(), truth);
    }
}

proptest! {
    #![proptest_config(cases(24))]

    /// Anywhere in the box there is an answer, in order, and never above
    /// the Rényi bound where it is tight.
    #[test]
    fn the_box_has_answers(
        ln_sigma in -3.0..9.2_f64,
        ln_rate in -20.7..0.0_f64,
        ln_steps in 0.0..20.7_f64,
        ln_delta in -41.4..-2.3_f64,
    ) {
        let step = sampled(ln_rate.exp(), Step::Gaussian { mu: (-ln_sigma).exp() });
        let steps = one(step, ln_steps.exp() as u64);
        let found = epsilon(&steps, ln_delta.exp()).unwrap();
        let renyi = rdp::epsilon(&steps, ln_delta.exp()).unwrap().value;
        prop_assert!(0.0 <= found.lower && found.lower <= found.upper);
        prop_assert!(found.lower <= renyi * (1.0 + 1e-9), "{found:?} above Rényi's {renyi}");
    }
}

/// Many releases: blocks, coarser lattices and the plain ring all enclose the closed form.
#[test]
fn long_compositions_of_gaussians() {
    for count in [10, 10_000, 1_000_000, 1_000_000_000] {
        let mu = 1.0 / (count as f64).sqrt();
        // A sampling rate a hair below 1 keeps the closed form away.
        let steps = one(sampled(1.0 - 1e-12, Step::Gaussian { mu }), count);
        let found = epsilon(&steps, 1e-5).unwrap();
        assert!(found.lower <= 4.377178096 && found.upper >= 4.377178095, "{count}: {found:?}");
        assert!(found.upper - found.lower < 1e-3 * found.upper, "{count}: {found:?}");
    }
}

#[test]
fn mixed_lists() {
    let steps = Steps(vec![(Step::Gaussian { mu: 0.5 }, 1), (Step::Laplace { epsilon: 0.5 }, 1)]);
    let found = epsilon(&steps, 1e-5).unwrap();
    assert!(found.lower <= 2.415186388808 && (2.415186388807..2.4151869).contains(&found.upper), "{found:?}");
    let found = delta(&steps, 1.0).unwrap();
    assert!(found.lower <= 0.029289157213 && (0.029289157212..0.0292893).contains(&found.upper), "{found:?}");
    // On a finer lattice than is worth the time by default, within 1e-7.
    let task =
        super::Task::new(&steps, View::Remove, End::Upper, super::Question::Epsilon { delta: 1e-5 }).unwrap();
    let fine = task.run(&task.plan(1e-8, f64::INFINITY).unwrap(), &mut 0.0).unwrap();
    assert!(
        fine.lower <= 2.415186388808 && (2.415186388807..2.415186488808).contains(&fine.upper),
        "{fine:?}"
    );
    // Ten Laplace releases of scale 1.
    let steps = one(Step::Laplace { epsilon: 1.0 }, 10);
    let found = delta(&steps, 5.0).unwrap();
    assert!(found.lower <= 0.20702572 && found.upper >= 0.20700884, "{found:?}");
}

/// Under replace the two mixtures face each other.
#[test]
fn replacing_a_sampled_record() {
    let step = Step::Poisson { rate: 0.05, sided: Sided::Two, base: Box::new(Step::Gaussian { mu: 0.25 }) };
    let found = epsilon(&one(step, 2000), 1e-5).unwrap();
    assert!(found.lower <= 4.97665 && found.upper >= 4.97655 && found.upper < 4.978, "{found:?}");
}

/// Both directions are composed: dropping one is noticed wherever it is the larger.
#[test]
fn both_directions_count() {
    let step = sampled(0.1, Step::Gaussian { mu: 1.0 / 0.7 });
    let at = |view| {
        let task = super::Task::new(
            &one(step.clone(), 1),
            view,
            End::Upper,
            super::Question::Delta { epsilon: 0.05 },
        );
        task.unwrap().refined(0.0)
    };
    encloses(at(View::Remove), 0.042588709443619);
    encloses(at(View::Add), 0.019704136036357);
    assert_eq!(super::views(&one(step, 1)).len(), 2);
}

/// What an overflowing exponential once made free.
#[test]
fn an_enormous_epsilon_is_not_free() {
    for size in [700.0, 709.0, 710.0, 745.0, 1000.0, 1e6] {
        for step in [
            Step::Pure { epsilon: size },
            Step::Approximate { epsilon: size, delta: 1e-9 },
            Step::BoundedRange { epsilon: size },
            sampled(0.5, Step::Pure { epsilon: size }),
        ] {
            for count in [1, 2] {
                let found = epsilon(&one(step.clone(), count), 1e-5).unwrap();
                assert!(found.upper >= size - 2.0, "{step:?} x {count}: {found:?}");
            }
        }
        let mixed = Steps(vec![(Step::Pure { epsilon: size }, 1), (Step::Gaussian { mu: 1.0 }, 1)]);
        assert!(epsilon(&mixed, 1e-5).unwrap().upper >= size - 2.0);
    }
}

/// The masses of connect-the-dots on the grid -2, -1, 0, 1, 2 for one Gaussian of distance 1, where
/// they do not touch the ends, and the composed delta that they give.
#[test]
fn spreading_is_connecting_the_dots() {
    let pair = Pair::new(&Step::Gaussian { mu: 1.0 }, View::Remove, End::Upper).unwrap();
    let mut out = Spreader::new(0.0, 1.0, -9.0, 11.0).unwrap();
    pair.walk(&|_, _| 0.001, 1e-16, 1e-16, &mut |panel| {
        out.panel(&panel);
        true
    });
    let lattice = out.finish();
    let at = |loss: i64| lattice.mass[(loss - lattice.first) as usize];
    for (loss, mass) in [(-1, 0.1262820457288), (0, 0.3191167555963), (1, 0.3432701901653)] {
        assert!((at(loss) - mass).abs() < 1e-7, "{loss}: {} against {mass}", at(loss));
    }
}

/// Merging is post-processing: it never raises delta, spreading never lowers it, and
/// halving the step brings the two closer.
#[test]
fn ends_are_ordered_and_close_in() {
    let pair = Pair::new(&sampled(0.2, Step::Gaussian { mu: 1.0 }), View::Remove, End::Upper).unwrap();
    let truth = |e: f64| reference::sampled_remove(e, 0.2, |e| reference::gaussian(e, 1.0, 1));
    let mut last = f64::INFINITY;
    for step in [0.4, 0.2, 0.1, 0.05] {
        let (mut above, mut below) =
            (Spreader::new(0.03, step, -1.0, 12.0).unwrap(), Merger::new(0.03, step));
        pair.walk(&|_, _| 0.1 * step, 1e-16, 1e-16, &mut |panel| {
            above.panel(&panel);
            below.panel(&panel);
            true
        });
        let (above, below) = (above.finish(), below.finish().unwrap());
        let profile = |l: &Lattice, e: f64| -> f64 {
            l.mass.iter().enumerate().map(|(i, m)| m * -(e - l.loss(i)).min(0.0).exp_m1()).sum()
        };
        let mut gap = 0.0_f64;
        for e in [-0.1, 0.0, 0.1, 0.33, 0.5, 1.0, 2.0] {
            let (low, high) = (profile(&below, e), profile(&above, e));
            assert!(low <= truth(e) * (1.0 + 1e-12) && truth(e) <= high * (1.0 + 1e-12), "{step} {e}");
            gap = gap.max(high - low);
        }
        assert!(gap < 0.4 * last, "{step}: {gap} after {last}");
        last = gap;
    }
}

/// The ring against convolution by the definition.
#[test]
fn transforms_convolve() {
    let masses = [0.1, 0.25, 0.4, 0.05, 0.2];
    let part = Tilted {
        tilt: 1.0,
        offset: 0.0,
        step: 0.1,
        first: -2,
        mass: masses.to_vec(),
        ln_scale: 0.0,
        slack: 0.0,
        loose: 0.0,
        ripple: 0.0,
        noise: 0.0,
    };
    let mut exact = vec![1.0];
    for _ in 0..9 {
        let mut next = vec![0.0; exact.len() + 4];
        for (i, a) in exact.iter().enumerate() {
            for (j, b) in masses.iter().enumerate() {
                next[i + j] += a * b;
            }
        }
        exact = next;
    }
    let found = compose::compose(vec![(part, 9)], End::Upper, 1e5, &mut 0.0).unwrap();
    for (i, m) in found.mass.iter().enumerate() {
        let k = found.first + i as i64 + 18;
        let truth = usize::try_from(k).ok().and_then(|k| exact.get(k)).copied().unwrap_or(0.0);
        assert!(
            (m - truth).abs() <= found.ripple.max(1e-17),
            "cell {k}: {m} against {truth}, {}",
            found.ripple
        );
    }
    assert!(found.ripple < 1e-12);
}

/// Compositions of classes of mechanisms: the class's worst above, one member below.
#[test]
fn choices_compose() {
    for count in [2, 5, 10] {
        let found = epsilon(&one(Step::BoundedRange { epsilon: 0.1 }, count), 1e-6).unwrap();
        assert!(
            0.0 < found.lower && found.lower < found.upper && found.upper <= 0.1 * count as f64,
            "{found:?}"
        );
    }
}

#[test]
fn nothing_costs_nothing() {
    assert_eq!(epsilon(&Steps::default(), 1e-6).unwrap(), Interval { lower: 0.0, upper: 0.0 });
    // A record that is never drawn with probability 1 - delta is safe at epsilon 0.
    let rare = one(sampled(1e-9, Step::Gaussian { mu: 20.0 }), 889);
    assert_eq!(epsilon(&rare, 1e-6).unwrap().upper, 0.0);
}

/// The worst (epsilon, delta) mechanisms, against optimal composition.
#[test]
fn approximate_steps_compose_optimally() {
    for (step_epsilon, step_delta, count, target) in
        [(0.1, 1e-8, 100, 3.0), (0.5, 1e-6, 10, 2.0), (1.0, 0.0, 5, 3.0)]
    {
        let steps = one(Step::Approximate { epsilon: step_epsilon, delta: step_delta }, count);
        encloses(
            delta(&steps, target).unwrap(),
            reference::optimal_delta(step_epsilon, step_delta, count, target),
        );
    }
}

/// Steps as rare and as many as claims can state. The lower object of a lottery had its
/// heaviest atom below the range that was made for it, and ended by a panic; so did a
/// composition of which nothing was left.
#[test]
fn extreme_compositions_have_wide_answers_and_no_panics() {
    let most = 1 << 53;
    for (step, count) in [
        (sampled(1e-12, Step::Gaussian { mu: 3.0 }), most),
        (sampled(1e-12, Step::Gaussian { mu: 1.0 }), most),
        (sampled(2.002801124070466e-4, Step::Laplace { epsilon: 3465.644 }), 699),
    ] {
        let steps = Steps(vec![(step, count)]);
        for found in [epsilon(&steps, 1e-6).unwrap(), delta(&steps, 2e-5).unwrap()] {
            assert!(0.0 <= found.lower && found.lower <= found.upper, "{steps:?}: {found:?}");
        }
    }
}

/// A lattice that memory does not hold, or whose cells have no numbers, is none.
#[test]
fn lattices_without_end_are_refused() {
    assert!(Spreader::new(0.0, 1e-3, -1.0, 1.0).is_some());
    for (offset, step, low, high) in [
        (0.0, 1e-12, -1.0, 1.0),
        (0.0, 1e-300, -1.0, 1.0),
        (1.0, 1e-30, 0.9, 0.9),
        (0.0, 1.0, f64::NEG_INFINITY, 0.0),
        (0.0, 1.0, 0.0, f64::INFINITY),
        (0.0, f64::NAN, 0.0, 1.0),
        (f64::NAN, 1.0, 0.0, 1.0),
        (0.0, 1.0, f64::NAN, 1.0),
        (0.0, 0.0, 0.0, 1.0),
    ] {
        assert!(Spreader::new(offset, step, low, high).is_none(), "{offset} {step} {low} {high}");
        let mut merger = Merger::new(offset, step);
        [low, high].into_iter().for_each(|loss| merger.atom(loss, 0.5));
        assert!(merger.finish().is_none(), "{offset} {step} {low} {high}");
    }
}

/// Atoms may come in any order: the same object.
#[test]
fn merging_does_not_depend_on_the_order() {
    let atoms = [(-0.31, 0.2), (-0.1, 0.1), (0.04, 0.4), (0.33, 0.2), (0.9, 0.1)];
    let merged = |order: [usize; 5]| {
        let mut merger = Merger::new(0.01, 0.05);
        order.into_iter().for_each(|i| merger.atom(atoms[i].0, atoms[i].1));
        let lattice = merger.finish().unwrap();
        (lattice.first, lattice.mass)
    };
    assert_eq!(merged([0, 1, 2, 3, 4]), merged([3, 0, 4, 1, 2]));
}

/// Where nothing is known, neither end says anything.
#[test]
fn what_is_unknown_is_neither_free_nor_lost() {
    let like = Tilted::new(&Lattice { offset: 0.0, step: 0.1, first: 0, mass: vec![1.0] }, 1.0, End::Upper);
    let empty = Tilted { mass: vec![0.0], ..like };
    for (end, expected) in [(End::Upper, 1.0), (End::Lower, 0.0)] {
        let composed = compose::compose(vec![(empty.clone(), 9)], end, 1e5, &mut 0.0).unwrap();
        let rest = match end {
            End::Upper => Rest::AtMost(0.0),
            End::Lower => Rest::AtLeast { jumped: Jumped::none(), infinite: 0.0, forgotten: 0.0 },
        };
        assert_eq!(Profile::new(composed, rest).delta(0.5), expected);
    }
}
