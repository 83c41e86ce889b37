//! One contract for every learner and every loss that it supports. A learner that is registered in
//! `contract/learners.rs` is held to all of it. At the end are broken twins, which must fail.

mod contract;

use contract::data::{easy, encoded, of_users, strange};
use contract::learners::{AnyPlan, L2, LOGISTIC, Learner, Level, SOFTMAX, learners};
use contract::twins::{Hasty, Impostor};
use contract::{audit, distance, fit, norms, one_record_moves_at_most, survives, the_permit_comes_first};
use proptest::prelude::*;
use sordino_data::Encoded;
use sordino_learn::danger::non_private_optimum;
use sordino_learn::{GradientDescent, LearnError, Loss, Noise};
use sordino_optim::{Clipping, OptimError, TrainingOptions};
use sordino_privacy::{
    Budget, Charge, Count, Delta, Epsilon, Event, Neighbours, ReleaseError, Terms, Unit, danger,
};

/// Calls `check` for every learner with each of its losses.
fn each(mut check: impl FnMut(&Learner, Loss, &str)) {
    for learner in learners() {
        for loss in learner.losses {
            check(&learner, *loss, &format!("{}, {} loss", learner.name, loss.name()));
        }
    }
}

fn plan(learner: &Learner, loss: Loss, data: &Encoded, level: Level) -> AnyPlan {
    (learner.plan)(loss, data.encoding(), data.slots() as u64, level).unwrap()
}

/// A usual budget.
const BUDGET: Level = Level::Budget { epsilon: 1.0, delta: 1e-6 };

#[test]
fn a_permit_for_something_else_is_refused_before_data_is_read() {
    each(|learner, loss, name| {
        let data = easy(loss);
        let other = encoded(loss, &[vec![0.0; 3]], &[1.0; 3], false);
        let plan = plan(learner, loss, &data, Level::Quiet);
        the_permit_comes_first(&*plan, &data, &other).unwrap_or_else(|error| panic!("{name}: {error}"));
    });
}

#[test]
fn a_budget_pays_for_a_fit_and_for_no_second_one() {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    for learner in learners() {
        let (name, data) = (learner.name, easy(learner.audited));
        let plan = plan(&learner, learner.audited, &data, BUDGET);
        let mut budget = Budget::new(Terms::new(epsilon, plan.claim().neighbours).with_delta(delta));
        let permit = budget.charge_claim(plan.claim()).unwrap();
        let release = plan.fit(&data, permit).unwrap();
        let guarantee = release.guarantee();
        assert!(guarantee.holds() && guarantee.metered, "{name}: {guarantee}");
        assert!(guarantee.epsilon.upper <= 1.0, "{name}: {guarantee}");
        assert!(guarantee.epsilon.upper > 0.95, "{name} leaves budget unused: {guarantee}");
        assert!(guarantee.arithmetic.get() < 0.02, "{name}: {guarantee}");
        assert!(budget.charge_claim(plan.claim()).is_err(), "{name}");
    }
}

#[test]
fn with_little_noise_every_learner_finds_the_optimum_of_every_loss() {
    each(|learner, loss, name| {
        if !learner.converges {
            return;
        }
        let data = easy(loss);
        let optimum = contract::weights(&non_private_optimum(loss, &data, L2).unwrap());
        let found = fit(&*plan(learner, loss, &data, Level::Quiet), &data, 4).unwrap();
        let distance = distance(&found, &optimum);
        assert!(distance < 1e-3, "{name}: {distance}, {found:?} against {optimum:?}");
    });
}

/// Results are finite, and no error depends on a record.
#[test]
fn unusual_data_is_learned_like_any_other() {
    each(|learner, loss, name| {
        for (case, data) in strange(loss) {
            let plan = plan(learner, loss, &data, Level::Tiny { epsilon: 1.0, delta: 1e-6 });
            let weights = fit(&*plan, &data, 2).unwrap_or_else(|error| panic!("{name}, {case}: {error}"));
            assert!(weights.iter().all(|w| w.is_finite()), "{name}, {case}");
        }
    });
}

#[test]
fn a_guarantee_says_if_the_noise_was_seeded() {
    each(|learner, loss, name| {
        let data = encoded(loss, &[vec![0.3, -0.2]], &[1.0, 0.0], true);
        let plan = plan(learner, loss, &data, Level::Tiny { epsilon: 1.0, delta: 1e-6 });
        let fit = |seed: u64| {
            let permit = contract::unmetered(plan.claim());
            plan.fit_with(&data, permit, &mut sordino_noise::danger::seeded(seed)).unwrap()
        };
        assert!(fit(1).guarantee().seeded, "{name}");
        assert_eq!(fit(1).value(), fit(1).value(), "{name}");
        assert_ne!(fit(1).value(), fit(2).value(), "{name} draws no noise");
        let unseeded = plan.fit(&data, contract::unmetered(plan.claim())).unwrap();
        assert!(!unseeded.guarantee().seeded, "{name}");
    });
}

#[test]
fn a_loss_for_another_target_is_refused_by_the_schema_alone() {
    for learner in learners() {
        let (name, data) = (learner.name, easy(learner.audited));
        let others = [LOGISTIC, Loss::Squared, SOFTMAX, Loss::Softmax { classes: 2 }];
        for loss in others.into_iter().filter(|loss| loss.check(data.encoding()).is_err()) {
            assert!((learner.plan)(loss, data.encoding(), 400, BUDGET).is_err(), "{name} {loss:?}");
        }
        let broken = Loss::SmoothHinge { width: 0.0 };
        assert!((learner.plan)(broken, easy(LOGISTIC).encoding(), 400, BUDGET).is_err(), "{name}");
    }
}

/// Users have two records each. The event is that of groups, only a permit for users pays for it,
/// and data without the limit is refused.
#[test]
fn a_unit_of_several_records_is_charged_as_a_group() {
    let user = Unit::Column("user".to_owned());
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    for learner in learners() {
        let (name, data) = (learner.name, of_users(learner.audited, true));
        let plan = plan(&learner, learner.audited, &data, Level::Tiny { epsilon: 1.0, delta: 1e-6 });
        assert!(matches!(plan.claim().event, Event::Group { .. }), "{name}: {:?}", plan.claim());
        let terms = Terms::new(epsilon, plan.claim().neighbours).with_delta(delta).for_unit(user.clone());
        let permit = Budget::new(terms).charge_claim(plan.claim()).unwrap();
        let release = plan.fit(&data, permit).unwrap();
        assert!(release.guarantee().unit == user && release.guarantee().epsilon.upper <= 1.0, "{name}");
        let of_records = plan.fit(&data, contract::unmetered(plan.claim()));
        assert!(
            matches!(of_records, Err(LearnError::Optim(OptimError::Release(ReleaseError::OtherUnit { .. })))),
            "{name}: {of_records:?}"
        );
        let permit = danger::unmetered(plan.claim(), user.clone(), Delta::ZERO).unwrap();
        let unlimited = plan.fit(&of_users(learner.audited, false), permit);
        assert!(matches!(unlimited, Err(LearnError::Optim(OptimError::OtherLimit))), "{name}: {unlimited:?}");
    }
}

/// A pair of neighbours: a record is present or absent, or replaced by its opposite. Regression has
/// forty more records; with them, one record moves the numerator and the denominator of the
/// solution, and both in the same direction.
fn neighbours(loss: Loss, relation: Neighbours) -> (Encoded, Encoded) {
    let others = if loss.is_classification() { 0 } else { 40 };
    let of = |x: f64, y: f64| {
        let with = |one: f64, others_are: f64| [vec![others_are; others], vec![one]].concat();
        encoded(loss, &[with(x, 1.0)], &with(y, 1.0), false)
    };
    match norms(relation) {
        1.0 if loss.is_classification() => (of(1.0, 1.0), of(f64::NAN, 1.0)),
        1.0 => (of(1.0, -1.0), of(f64::NAN, 1.0)),
        _ => (of(1.0, 1.0), of(1.0, 0.0)),
    }
}

const EPSILON: f64 = 2.0;
const DELTA: f64 = 0.05;

fn tiny(times: f64) -> Level {
    Level::Tiny { epsilon: times * EPSILON, delta: DELTA }
}

/// A plan that claims [`EPSILON`] and has the noise of one that costs `times` as much.
fn twin(learner: &Learner, data: &Encoded, times: f64) -> Impostor {
    let of = |times| plan(learner, learner.audited, data, tiny(times));
    Impostor { claims: of(1.0).claim(), does: of(times) }
}

/// Each audit has an error probability of 1e-7, so all of them together raise a false alarm with
/// probability below 1e-5 for new seeds.
#[test]
fn audits_find_nothing_against_any_learner() {
    for (seed, learner) in learners().iter().enumerate() {
        let pair = audited_pair(learner);
        let honest = plan(learner, learner.audited, &pair.0, tiny(1.0));
        let audit = audit(&*honest, &pair, EPSILON, DELTA, seed as u64);
        survives(&audit).unwrap_or_else(|error| panic!("{}: {error}", learner.name));
        assert!(audit.epsilon > 0.3 * EPSILON, "{}: the audit has no power; {audit}", learner.name);
    }
}

#[test]
fn audits_catch_half_of_the_noise_in_every_learner() {
    for (seed, learner) in learners().iter().enumerate() {
        let pair = audited_pair(learner);
        let audit =
            audit(&twin(learner, &pair.0, learner.half_noise_cost), &pair, EPSILON, DELTA, seed as u64);
        assert!(survives(&audit).is_err(), "{}: {audit}", learner.name);
    }
}

fn audited_pair(learner: &Learner) -> (Encoded, Encoded) {
    let relation = plan(learner, learner.audited, &easy(learner.audited), tiny(1.0)).claim().neighbours;
    neighbours(learner.audited, relation)
}

/// Numbers of all sizes, infinity and NaN.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1.0..1.0f64,
        2 => prop_oneof![Just(1.0), Just(-1.0), Just(0.0)],
        1 => prop_oneof![Just(f64::INFINITY), Just(1e300), Just(-1e-300), Just(f64::NAN)],
    ]
}

/// Two data sets of two columns that differ in one record: it is replaced, or becomes an empty
/// slot.
fn pair(loss: Loss, rows: &[[f64; 3]], place: usize, other: Option<[f64; 3]>) -> (Encoded, Encoded) {
    let of = |rows: &[[f64; 3]]| {
        let column = |j: usize| rows.iter().map(|row| row[j]).collect::<Vec<_>>();
        let target = |row: &[f64; 3]| match (loss.is_classification(), loss.outputs()) {
            (true, 1) => f64::from(u8::from(row[2] > 0.0)),
            (true, classes) => (row[2].abs() * 7.0).min(1e6).floor() % classes as f64,
            (false, _) => row[2],
        };
        encoded(loss, &[column(0), column(1)], &rows.iter().map(target).collect::<Vec<_>>(), true)
    };
    let mut changed = rows.to_vec();
    changed[place] = other.unwrap_or([f64::NAN, 0.0, 0.5]);
    // A target of NaN becomes a number: it is no class.
    let clean = |rows: Vec<[f64; 3]>| {
        rows.into_iter().map(|[a, b, y]| [a, b, if y.is_nan() { 0.3 } else { y }]).collect::<Vec<_>>()
    };
    (of(&clean(rows.to_vec())), of(&clean(changed)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// With the same noise, one record moves the weights by at most the sensitivity.
    #[test]
    fn no_record_moves_any_learner_by_more_than_is_paid_for(
        rows in prop::collection::vec(prop::array::uniform3(value()), 1..9),
        other in prop::array::uniform3(value()),
        place in any::<prop::sample::Index>(),
        seed in any::<u64>(),
    ) {
        let (place, n) = (place.index(rows.len()), rows.len() as u64);
        for learner in learners() {
            for loss in learner.losses {
                let name = format!("{}, {} loss", learner.name, loss.name());
                let (one, absent) = pair(*loss, &rows, place, None);
                let Some(most) = (learner.moves)(*loss, one.encoding(), n) else { continue };
                let plan = plan(&learner, *loss, &one, tiny(1.0));
                let norms = norms(plan.claim().neighbours);
                let two = if norms == 1.0 { absent } else { pair(*loss, &rows, place, Some(other)).1 };
                let kept = one_record_moves_at_most(&*plan, (&one, &two), norms * most, seed);
                prop_assert!(kept.is_ok(), "{name}: {kept:?}");
            }
        }
    }
}

/// Broken twins: each fails the check that is made for it.
mod broken {
    use super::*;

    fn full_batch(noise: Noise, norm: f64, neighbours: Neighbours) -> AnyPlan {
        let learner = GradientDescent::full_batch(LOGISTIC).neighbours(neighbours).steps(Count::ONE);
        let (data, _) = super::neighbours(LOGISTIC, Neighbours::ZeroOut);
        let learner = learner.clipping(Clipping::Flat { norm }).training(TrainingOptions::default());
        Box::new(learner.plan_with(data.encoding(), Count::ONE, noise).unwrap())
    }

    fn budget() -> Noise {
        Noise::Budget { epsilon: Epsilon::new(EPSILON).unwrap(), delta: Delta::new(DELTA).unwrap() }
    }

    #[test]
    fn a_fit_before_the_permit_is_caught() {
        let data = easy(LOGISTIC);
        let other = encoded(LOGISTIC, &[vec![0.0; 3]], &[1.0; 3], false);
        for learner in learners().iter().filter(|learner| learner.audited == LOGISTIC) {
            let hasty = Hasty(plan(learner, LOGISTIC, &data, tiny(1.0)));
            assert!(the_permit_comes_first(&hasty, &data, &other).is_err(), "{}", learner.name);
        }
    }

    /// The noise is for clip norm 1/4, and gradients are clipped to 1/2.
    #[test]
    fn a_sensitivity_that_is_half_of_the_true_one_is_caught() {
        let (one, two) = super::neighbours(LOGISTIC, Neighbours::ZeroOut);
        let honest = full_batch(budget(), 0.25, Neighbours::ZeroOut);
        let most = 0.25; // one step of length 1, n = 1
        assert!(one_record_moves_at_most(&*honest, (&one, &two), most, 3).is_ok());
        let broken =
            Impostor { claims: honest.claim(), does: full_batch(budget(), 0.5, Neighbours::ZeroOut) };
        assert!(one_record_moves_at_most(&broken, (&one, &two), most, 3).is_err());
    }

    /// The noise is for an absent record, and the claim is for a replaced one.
    #[test]
    fn a_relation_that_is_off_by_two_is_caught() {
        let pair = super::neighbours(LOGISTIC, Neighbours::Replace);
        let honest = full_batch(budget(), 0.5, Neighbours::Replace);
        survives(&audit(&*honest, &pair, EPSILON, DELTA, 77)).unwrap();
        let broken =
            Impostor { claims: honest.claim(), does: full_batch(budget(), 0.5, Neighbours::ZeroOut) };
        assert!(survives(&audit(&broken, &pair, EPSILON, DELTA, 77)).is_err());
    }
}
