//! The tester as its user meets it.

mod suite;

use std::sync::atomic::{AtomicU64, Ordering};

use sordino_audit::{AuditError, AuditProgress, EventSize, MechanismTester, Verdict};
use sordino_noise::{Bits, Probability};
use suite::epsilon;

fn respond(answer: &bool, bits: &mut dyn Bits) -> bool {
    *answer == Probability::new(3, 4).unwrap().flip(bits)
}

#[test]
fn the_same_seed_gives_the_same_audit_on_any_number_of_threads() {
    let audit = |threads| {
        let tester = MechanismTester::new(epsilon(1.2)).with_samples(50_000, 50_000);
        tester.seeded(9).with_threads(threads).test(respond, &true, &false).unwrap()
    };
    assert_eq!(audit(1), audit(3));
}

#[test]
fn a_fixed_event_size_is_certified_too() {
    let tester = MechanismTester::new(epsilon(0.5)).with_event_size(EventSize::Fixed(0.01)).seeded(3);
    let audit = tester.test(respond, &true, &false).unwrap();
    assert_eq!(audit.verdict, Verdict::Violation);
    // ln 3 less 95 % on 2000 and 6000 of 200 000.
    assert!(audit.epsilon > 0.95 && audit.epsilon < 3.0_f64.ln(), "{audit}");
    assert!(audit.delta > 0.0 && audit.delta < 0.03, "{audit:?}");
}

#[test]
fn progress_is_told() {
    let told = AtomicU64::new(0);
    let on_progress = |progress: AuditProgress| {
        assert!(progress.done <= progress.total);
        told.fetch_add(1, Ordering::Relaxed);
    };
    MechanismTester::new(epsilon(1.2)).on_progress(&on_progress).test(respond, &true, &false).unwrap();
    assert!(told.load(Ordering::Relaxed) > 10);
}

#[test]
fn impossible_audits_are_refused() {
    let tester = || MechanismTester::new(epsilon(1.0));
    let few = tester().with_samples(10, 1000).test(respond, &true, &false).unwrap_err();
    assert_eq!(few.to_string(), "an audit needs at least 100 samples for each input, got 10; draw more");
    for confidence in [0.0, 1.0, f64::NAN, -1.0] {
        let error = tester().at_confidence(confidence).test(respond, &true, &false).unwrap_err();
        assert!(matches!(error, AuditError::Confidence { .. }));
    }
    assert!(matches!(tester().test_pairs(respond, &[]), Err(AuditError::NoPairs)));
}
