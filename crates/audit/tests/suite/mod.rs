//! How every audit of the test-suite is made.
//!
//! Each has an error of 1e-6. With less than a thousand audits the whole suite raises a false alarm
//! with a probability below 1e-3 for a new seed; the seeds here are fixed. The number of outputs to
//! certify on is 20 000 (more where a test says so), or `SORDINO_AUDIT_SAMPLES`:
//! `cargo xtask experiments audit` sets it to 10^6.
#![allow(dead_code, missing_docs, reason = "shared by several programs, none of which needs all of it")]

pub(crate) mod laws;
pub(crate) mod power;

use sordino_audit::{Audit, MechanismTester, Observe, Verdict};
use sordino_mechanisms::Mechanism;
use sordino_noise::Bits;
use sordino_privacy::{Count, Delta, Epsilon, Unit, danger};

pub(crate) const ERROR: f64 = 1e-6;

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

pub(crate) fn delta(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

pub(crate) fn count(value: u64) -> Count {
    Count::new(value).unwrap()
}

/// Outputs to certify on where nothing else is asked for.
const SAMPLES: u64 = 20_000;

fn asked() -> u64 {
    let asked = std::env::var("SORDINO_AUDIT_SAMPLES").ok();
    asked.map_or(0, |asked| asked.parse::<f64>().expect("SORDINO_AUDIT_SAMPLES is a number") as u64)
}

/// A tester of the suite; `seed` keeps audits independent of each other.
pub(crate) fn tester(claimed: f64, seed: u64) -> MechanismTester<'static> {
    sharper_tester(claimed, seed, 1)
}

/// One with at least `times` as many outputs, for violations that rare outputs show.
pub(crate) fn sharper_tester(claimed: f64, seed: u64, times: u64) -> MechanismTester<'static> {
    MechanismTester::new(epsilon(claimed))
        .with_samples(searched(times), certified(times))
        .at_confidence(1.0 - ERROR)
        .seeded(seed)
}

fn certified(times: u64) -> u64 {
    asked().max(times * SAMPLES)
}

/// Outputs to search on.
pub(crate) fn searched(times: u64) -> u64 {
    certified(times).min(400_000)
}

/// Audits on the most promising of `pairs`.
pub(crate) fn on<I: Sync, O: Observe>(
    tester: &MechanismTester<'_>,
    mechanism: impl Fn(&I, &mut dyn Bits) -> O + Sync,
    pairs: &[(I, I)],
) -> Audit {
    let pairs: Vec<_> = pairs.iter().map(|(one, two)| (one, two)).collect();
    tester.test_pairs(mechanism, &pairs).unwrap()
}

/// One release through the public door, on a permit that no budget knows of. At δ = 0: what a
/// mechanism costs is not the question here, and an unbounded ε is priced at once.
pub(crate) fn release<M: Mechanism>(mechanism: &M, answer: M::Answer<'_>, bits: &mut dyn Bits) -> M::Output {
    let permit = danger::unmetered(mechanism.claim(), Unit::Record, delta(0.0)).unwrap();
    mechanism.release_with(answer, permit, bits).unwrap().into_parts().0
}

/// Nothing was found, though what is there was: at least `least`, by the rule of [`power`].
pub(crate) fn keeps(name: &str, audit: &Audit, least: f64) {
    assert_eq!(audit.verdict, Verdict::NoViolationFound, "{name}: {audit}");
    assert!(audit.epsilon <= audit.claimed_epsilon, "{name}: {audit}");
    assert!(audit.epsilon >= least, "{name}: the audit has lost its power; {audit}");
}

pub(crate) fn is_caught(name: &str, audit: &Audit) {
    assert_eq!(audit.verdict, Verdict::Violation, "{name}: {audit}");
    assert!(audit.epsilon > audit.claimed_epsilon, "{name}: {audit}");
}
