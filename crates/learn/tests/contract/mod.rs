//! The contract of a learner, as checks that return what is broken. So tests can show that broken
//! learners fail them.
#![allow(dead_code, reason = "shared by several programs, none of which needs all of it")]

pub(crate) mod data;
#[path = "../../../privacy/tests/durable/mod.rs"]
mod durable;
pub(crate) mod learners;
pub(crate) mod twins;

use sordino_audit::{Audit, MechanismTester, Verdict};
use sordino_data::Encoded;
use sordino_learn::{LearnError, LearningPlan, LinearModel};
use sordino_noise::Bits;
use sordino_noise::danger::seeded;
use sordino_optim::OptimError;
use sordino_privacy::{
    Charge, Claim, Contribution, Delta, Epsilon, Event, Neighbours, Permit, ReleaseError, Terms, Unit, danger,
};

pub(crate) type TrainingPlan = dyn LearningPlan<Model = LinearModel, Error = LearnError> + Sync;

/// A permit that no budget has granted. At δ = 0, accounting for an unbounded ε takes no time.
pub(crate) fn unmetered(claim: Claim) -> Permit {
    danger::unmetered(claim, Unit::Record, Delta::ZERO).unwrap()
}

pub(crate) fn weights(model: &LinearModel) -> Vec<f64> {
    model.weights().flatten().copied().collect()
}

pub(crate) fn fit(plan: &TrainingPlan, data: &Encoded, seed: u64) -> Result<Vec<f64>, LearnError> {
    fit_with(plan, data, &mut seeded(seed))
}

fn fit_with(plan: &TrainingPlan, data: &Encoded, bits: &mut dyn Bits) -> Result<Vec<f64>, LearnError> {
    Ok(weights(plan.fit_with(data, unmetered(plan.claim()), bits)?.value()))
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Checks that a permit for another event, relation or unit, or one that does not allow seeds, is
/// refused first: before the data is checked (`other` is data that the plan was not made for), and
/// before a bit is drawn.
pub(crate) fn the_permit_comes_first(
    plan: &TrainingPlan,
    data: &Encoded,
    other: &Encoded,
) -> Result<(), String> {
    let claim = plan.claim();
    let dearer = Event::composed([claim.event.clone(), Event::Pure { epsilon: Epsilon::new(0.1).unwrap() }]);
    let is_zero_out = claim.neighbours == Neighbours::ZeroOut;
    let relation = if is_zero_out { Neighbours::ZeroOutUnordered } else { Neighbours::ReplaceOrdered };
    let of_users = Unit::Column("user".to_owned());
    let wrong = [
        (Claim::new(claim.neighbours, dearer), Unit::Record),
        (Claim::new(relation, claim.event.clone()), Unit::Record),
        (claim.clone(), of_users),
    ];
    for (wrong, unit) in wrong {
        for data in [data, other] {
            let mut bits = seeded(1);
            let permit = danger::unmetered(wrong.clone(), unit.clone(), Delta::ZERO).unwrap();
            let refused = plan.fit_with(data, permit, &mut bits);
            if !matches!(refused, Err(LearnError::Optim(OptimError::Release(_)))) {
                return Err(format!("not refused for its permit ({}): {refused:?}", wrong.event.name()));
            }
            if bits.next_u64() != seeded(1).next_u64() {
                return Err("drew noise before the permit was checked".to_owned());
            }
        }
    }
    // Anyone who knows the seed can subtract the noise that a ledger paid for.
    let terms =
        Terms::new(Epsilon::new(1e300).unwrap(), claim.neighbours).with_delta(Delta::new(0.5).unwrap());
    let mut ledger = durable::Durable::budget(terms.planned());
    for data in [data, other] {
        let mut bits = seeded(1);
        let refused = plan.fit_with(data, ledger.charge(claim.event.clone()).unwrap(), &mut bits);
        if !matches!(refused, Err(LearnError::Optim(OptimError::Release(ReleaseError::Seeded)))) {
            return Err(format!("seeded noise was not refused: {refused:?}"));
        }
        if bits.next_u64() != seeded(1).next_u64() {
            return Err("drew seeded noise that a ledger had paid for".to_owned());
        }
    }
    match plan.fit(other, unmetered(claim)) {
        Err(LearnError::Optim(OptimError::OtherEncoding | OptimError::OtherData { .. })) => Ok(()),
        got => Err(format!("data of another shape was not refused: {got:?}")),
    }
}

/// Audits a plan on a pair of neighbours.
pub(crate) fn audit(
    plan: &TrainingPlan,
    pair: &(Encoded, Encoded),
    epsilon: f64,
    delta: f64,
    seed: u64,
) -> Audit {
    let tester = MechanismTester::new(Epsilon::new(epsilon).unwrap())
        .with_delta(Delta::new(delta).unwrap())
        .with_samples(4_000, 4_000)
        .at_confidence(1.0 - 1e-7)
        .with_threads(2)
        .seeded(seed);
    let mechanism = |data: &Encoded, bits: &mut dyn Bits| fit_with(plan, data, bits).unwrap();
    tester.test(mechanism, &pair.0, &pair.1).unwrap()
}

/// An error if the audit found a violation.
pub(crate) fn survives(audit: &Audit) -> Result<(), String> {
    match audit.verdict {
        Verdict::NoViolationFound => Ok(()),
        Verdict::Violation => Err(audit.to_string()),
    }
}

/// Checks that two fits with the same noise differ by at most `most`: the rest of the difference is
/// due to one record.
pub(crate) fn one_record_moves_at_most(
    plan: &TrainingPlan,
    (one, two): (&Encoded, &Encoded),
    most: f64,
    seed: u64,
) -> Result<(), String> {
    let fit = |data| fit(plan, data, seed).map_err(|error| error.to_string());
    let moved = distance(&fit(one)?, &fit(two)?);
    // The noise has an allowance of its own for rounding to steps.
    if moved <= most * (1.0 + 2e-3) {
        Ok(())
    } else {
        Err(format!("moved by {moved}, at most {most} is paid for"))
    }
}

/// How many clip norms neighbours are apart.
pub(crate) fn norms(neighbours: Neighbours) -> f64 {
    match neighbours.contribution().unwrap() {
        Contribution::Absent => 1.0,
        Contribution::Changed => 2.0,
    }
}
