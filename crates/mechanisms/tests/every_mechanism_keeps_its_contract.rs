//! One suite for every mechanism. Register a new one in `for_each_of_unit`, a statistic in
//! `for_each_statistic`.

#[path = "../../privacy/tests/durable/mod.rs"]
mod durable;

use std::fmt::Debug;

use durable::Durable;
use sordino_mechanisms::statistics::{
    Bounds, Contributor, GaussianHistogram, Histogram, Mean, Mode, OpenGaussianHistogram, OpenHistogram,
    Quantile, RowCount, Rows, SmoothMedian, StableMedian, Sum, Variance,
};
use sordino_mechanisms::{
    AboveThreshold, Contributions, Counts, DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian,
    GaussianNoisyMax, KNorm, Laplace, MaxNoise, Mechanism, MechanismError, Nearby, PermuteAndFlip, Proposal,
    ProposeTestRelease, RandomizedResponse, ReportNoisyMax, ScoreShift, Shift, SmoothNoise,
    SmoothSensitivity, TopK,
};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_privacy::{
    Budget, Charge, Claim, ClipNorm, Count, Delta, Epsilon, Event, Neighbours, Permit, ReleaseError, Rho,
    Terms, Unit, danger,
};

const SCORES: &[i64] = &[3, 1, 4];
const NUMBERS: &[f64] = &[0.5, 2.0, f64::NAN, 1.0];
const KEYS: &[&str] = &["a", "b", "a"];

/// What a test of the suite does with each mechanism and a way to make one answer for it.
trait Check {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug;
}

fn for_each(check: impl Check) {
    for_each_of_unit(&Unit::Record, &check);
    for_each_statistic(&check);
}

/// Mechanisms that are told a sensitivity, here one that was derived for `unit`.
fn for_each_of_unit(unit: &Unit, check: &impl Check) {
    let epsilon = Epsilon::new(0.5).unwrap();
    let delta = Delta::new(1e-5).unwrap();
    let replace = Neighbours::Replace;
    let count = |value| Count::new(value).unwrap();
    let shift = || Shift::count(replace).unwrap().for_unit(unit.clone());
    let scores = || ScoreShift::new(Count::ONE, replace).unwrap().for_unit(unit.clone());
    let sums = || {
        let bounds = Contributions::new(replace, ClipNorm::new(2.0).unwrap(), count(100));
        bounds.of_dimension(count(3)).for_unit(unit.clone())
    };
    let three = count(3);

    let laplace = Laplace::new(epsilon, sums()).unwrap();
    check.check("laplace", &laplace, || laplace.sum());
    let gaussian = Gaussian::new(epsilon, delta, sums()).unwrap();
    check.check("gaussian", &gaussian, || gaussian.sum());
    let k_norm = KNorm::new(epsilon, sums()).unwrap();
    check.check("k-norm", &k_norm, || k_norm.sum());
    let stable = ProposeTestRelease::new(epsilon, delta, shift()).unwrap();
    check.check("propose, test, release", &stable, || Proposal { answer: 41, distance: 100 });
    for noise in [SmoothNoise::Laplace { delta }, SmoothNoise::Cauchy, SmoothNoise::Student] {
        let smooth = SmoothSensitivity::new(epsilon, noise, 0..=100, Count::ONE, replace).unwrap();
        let answer = || Nearby { answer: 41, sensitivity: &|k| 2 + k };
        check.check("smooth sensitivity", &smooth.for_unit(unit.clone()), answer);
    }
    let half = Epsilon::new(0.25).unwrap();
    check.check("top two", &TopK::new(half, scores(), three, count(2)).unwrap(), || SCORES);
    check.check("discrete laplace", &DiscreteLaplace::new(epsilon, shift()).unwrap(), || 41);
    check.check("counts", &Counts::new(epsilon, shift(), three).unwrap(), || SCORES);
    let rho = Rho::new(0.1).unwrap();
    check.check("discrete gaussian", &DiscreteGaussian::new(rho, shift()).unwrap(), || 41);
    check.check("exponential", &Exponential::new(epsilon, scores(), three).unwrap(), || SCORES);
    check.check("permute and flip", &PermuteAndFlip::new(epsilon, scores(), three).unwrap(), || SCORES);
    for noise in [MaxNoise::Laplace, MaxNoise::Exponential] {
        check.check("noisy max", &ReportNoisyMax::new(epsilon, scores(), three, noise).unwrap(), || SCORES);
    }
    let squared = count(2);
    let votes = GaussianNoisyMax::new(rho, squared, replace, three).unwrap().for_unit(unit.clone());
    check.check("gaussian noisy max", &votes, || SCORES);
    let response = RandomizedResponse::new(epsilon, three, replace).unwrap().for_unit(unit.clone());
    check.check("randomized response", &response, || 2);
    check.check("above threshold", &AboveThreshold::new(epsilon, shift(), 3).unwrap(), || SCORES);
}

fn for_each_statistic(check: &impl Check) {
    let (epsilon, delta) = (Epsilon::new(0.5).unwrap(), Delta::new(1e-5).unwrap());
    let (row, bounds) = (|| Contributor::record(Neighbours::Replace), Bounds::new(0.0, 3.0).unwrap());
    check.check("count", &RowCount::new(epsilon, row()).unwrap(), || Rows::new(&[true, false]));
    check.check("sum", &Sum::new(epsilon, bounds, row()).unwrap(), || Rows::new(NUMBERS));
    check.check("mean", &Mean::new(epsilon, bounds, row()).unwrap(), || Rows::new(NUMBERS));
    check.check("variance", &Variance::new(epsilon, bounds, row()).unwrap(), || Rows::new(NUMBERS));
    check.check("quantile", &Quantile::new(epsilon, 0.5, bounds, row()).unwrap(), || Rows::new(NUMBERS));
    check.check("histogram", &Histogram::new(epsilon, &["a", "b"], row()).unwrap(), || Rows::new(KEYS));
    check.check("mode", &Mode::new(epsilon, &["a", "b"], row()).unwrap(), || Rows::new(KEYS));
    check.check("smooth median", &SmoothMedian::new(epsilon, bounds, 0.1, row()).unwrap(), || {
        Rows::new(NUMBERS)
    });
    let laplace = SmoothNoise::Laplace { delta };
    let smooth = SmoothMedian::with_noise(epsilon, laplace, bounds, 0.1, row()).unwrap();
    check.check("smooth median, laplace", &smooth, || Rows::new(NUMBERS));
    let stable = StableMedian::new(epsilon, delta, bounds, 3.0, row()).unwrap();
    check.check("stable median", &stable, || Rows::new(NUMBERS));
    let open = OpenHistogram::new(epsilon, delta, row()).unwrap();
    check.check("open histogram", &open, || Rows::new(&["a"; 100]));
    let (rho, small) = (Rho::new(0.1).unwrap(), Delta::new(1e-6).unwrap());
    let gaussian = GaussianHistogram::new(rho, &["a", "b"], row()).unwrap();
    check.check("gaussian histogram", &gaussian, || Rows::new(KEYS));
    let open = OpenGaussianHistogram::new(rho, small, row()).unwrap();
    check.check("open gaussian histogram", &open, || Rows::new(&["a"; 100]));
}

/// What one release may cost: 0.5 was asked for; ρ = 0.1 of Gaussians is about ε = 2 at this δ.
fn limit(name: &str) -> f64 {
    match name {
        "discrete gaussian" => 2.1,
        "gaussian noisy max" | "gaussian histogram" | "open gaussian histogram" => 2.3,
        _ => 0.5,
    }
}

fn unmetered(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::new(1e-5).unwrap()).unwrap()
}

struct Releases;

impl Check for Releases {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let release = mechanism.release(answer(), unmetered(mechanism.claim())).unwrap();
        let guarantee = release.guarantee();
        assert!(guarantee.holds() && !guarantee.seeded, "{name}");
        assert_eq!(guarantee.event, mechanism.event(), "{name}");
        assert_eq!(guarantee.neighbours, Neighbours::Replace, "{name}");
        assert!(guarantee.epsilon.upper <= limit(name) + 1e-9, "{name}");
    }
}

#[test]
fn a_release_carries_the_guarantee_that_was_asked_for() {
    for_each(Releases);
}

struct Seeds;

impl Check for Seeds {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let run =
            |seed| mechanism.release_with(answer(), unmetered(mechanism.claim()), &mut seeded(seed)).unwrap();
        let (one, again) = (run(7), run(7));
        assert!(one.guarantee().seeded && !one.guarantee().holds(), "{name}: a seeded run promises nothing");
        assert_eq!(one.value(), again.value(), "{name}: and repeats");
        assert!((0..200).any(|seed| run(seed).value() != one.value()), "{name}: but there is noise");
    }
}

#[test]
fn a_seeded_release_says_that_it_is_void() {
    for_each(Seeds);
}

struct Ledgers;

impl Check for Ledgers {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let terms = Terms::new(Epsilon::new(10.0).unwrap(), mechanism.neighbours()).planned();
        let terms = terms.with_delta(Delta::new(1e-4).unwrap());
        let mut ledger = Durable::budget(terms);
        let mut bits = seeded(7);
        let refused = mechanism.release_with(answer(), ledger.charge(mechanism.event()).unwrap(), &mut bits);
        assert!(matches!(refused, Err(MechanismError::Release(ReleaseError::Seeded))), "{name}");
        assert_eq!(bits.next_u64(), seeded(7).next_u64(), "{name}: drew a bit before it refused");
        let release = mechanism.release(answer(), ledger.charge(mechanism.event()).unwrap()).unwrap();
        assert!(release.guarantee().holds(), "{name}");
        let permit = ledger.charge_seeded(mechanism.event()).unwrap();
        let release = mechanism.release_with(answer(), permit, &mut seeded(7)).unwrap();
        assert!(release.guarantee().seeded, "{name}");
    }
}

/// The same seed on one's own table cancels the noise.
#[test]
fn a_ledger_pays_for_no_seeded_release() {
    for_each(Ledgers);
}

struct Permits;

impl Check for Permits {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let refusal = |claim: Claim| match mechanism.release(answer(), unmetered(claim)).map(|_| ()) {
            Err(MechanismError::Release(error)) => error,
            other => panic!("{name}: {other:?}"),
        };
        let cheaper = Event::Pure { epsilon: Epsilon::new(0.01).unwrap() };
        let error = refusal(Claim::new(mechanism.neighbours(), cheaper));
        assert!(matches!(error, ReleaseError::OtherEvent { .. }), "{name}: {error}");
        if name != "randomized response" {
            // No accountant prices a randomized response under add_remove, so there is no such
            // permit.
            let error = refusal(Claim::new(Neighbours::AddRemove, mechanism.event()));
            assert!(matches!(error, ReleaseError::OtherRelation { .. }), "{name}: {error}");
        }
    }
}

/// Pitfall 4 too: noise for one relation under a budget for another.
#[test]
fn a_permit_for_something_else_is_refused() {
    for_each(Permits);
}

struct Budgets;

impl Check for Budgets {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let terms = Terms::new(Epsilon::new(limit(name)).unwrap(), Neighbours::Replace);
        let mut budget = Budget::new(terms.with_delta(Delta::new(1e-5).unwrap()));
        let permit = budget.charge_claim(mechanism.claim()).unwrap();
        mechanism.release(answer(), permit).unwrap();
        assert!(budget.charge_claim(mechanism.claim()).is_err(), "{name}: spent");
    }
}

/// Pitfall 7: one slice of a budget is spent once. (That a permit cannot be used twice is a compile
/// error.)
#[test]
fn pitfall_07_a_second_release_is_charged_again() {
    for_each(Budgets);
}

struct Json;

impl Check for Json {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, _: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let json = serde_json::to_string(&mechanism.claim()).unwrap();
        assert_eq!(Claim::from_json(&json).unwrap(), mechanism.claim(), "{name}: {json}");
    }
}

#[test]
fn a_claim_survives_its_json() {
    for_each(Json);
}

struct Units;

impl Check for Units {
    fn check<M: Mechanism>(&self, name: &str, mechanism: &M, answer: impl Fn() -> M::Answer<'static>)
    where
        M::Output: PartialEq + Debug,
    {
        let permit = |unit| danger::unmetered(mechanism.claim(), unit, Delta::new(1e-5).unwrap()).unwrap();
        for other in units().into_iter().filter(|unit| unit != mechanism.unit()) {
            let mut bits = seeded(7);
            let refused = mechanism.release_with(answer(), permit(other.clone()), &mut bits);
            let Err(MechanismError::Release(ReleaseError::OtherUnit { permitted, needed })) = refused else {
                panic!("{name}: a permit for the unit {other} was taken");
            };
            assert_eq!((&permitted, &needed), (&other, mechanism.unit()), "{name}");
            assert_eq!(bits.next_u64(), seeded(7).next_u64(), "{name}: drew a bit before it refused");
        }
        let release = mechanism.release(answer(), permit(mechanism.unit().clone())).unwrap();
        assert_eq!(release.guarantee().unit, *mechanism.unit(), "{name}");
    }
}

fn units() -> [Unit; 4] {
    [Unit::Record, Unit::Client, Unit::Column("user_id".into()), Unit::Column("household".into())]
}

/// A budget for users certified a count of rows, of which a user may have many.
#[test]
fn a_sensitivity_of_rows_does_not_promise_to_protect_users() {
    for_each(Units);
}

#[test]
fn a_sensitivity_protects_the_unit_that_it_was_derived_for_and_no_other() {
    units().iter().for_each(|unit| for_each_of_unit(unit, &Units));
}
