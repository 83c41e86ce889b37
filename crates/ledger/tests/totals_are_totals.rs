//! Whatever is charged, in whatever order: totals never fall, do not depend on order, and are those
//! of an account that never saw a disk.

mod common;

use common::{account, approximate, charge, folder, pure, with_census};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sordino_privacy::{Budget, Charge, Event, Mu, NoiseMultiplier, Rho};

/// A few cases, the same at every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 12,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(17),
        ..ProptestConfig::default()
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0.001..0.5f64).prop_map(pure),
        (2.0..100.0f64).prop_map(|noise| Event::gaussian(NoiseMultiplier::new(noise).unwrap())),
        (1e-5..1e-2f64).prop_map(|rho| Event::Zcdp { rho: Rho::new(rho).unwrap() }),
        (0.01..0.3f64).prop_map(|mu| Event::Gdp { mu: Mu::new(mu).unwrap() }),
        Just(pure(0.1)),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn totals_never_fall_and_are_those_of_composing_from_scratch(
        events in prop::collection::vec(any_event(), 1..8),
        planned in any::<bool>(),
        budget in 1.0..20.0f64,
    ) {
        let whole = approximate(budget, 1e-6);
        let whole = if planned { whole.planned() } else { whole };
        // A numeric accountant's upper ends move by parts of its certified gap; sums do not.
        let tolerance = if planned { 1e-3 } else { 1e-9 };
        let folder = folder("properties");
        let path = folder.join("forward.ledger");
        with_census(&path, &whole);
        let mut accounts = [account(&path, "ann").unwrap(), account(&path, "bob").unwrap()];
        let (mut previous, mut granted) = (0.0, Vec::new());
        for (place, event) in events.iter().enumerate() {
            let here = &mut accounts[place % 2];
            if charge(here, event.clone()).is_ok() {
                granted.push(event.clone());
            }
            let total = here.total().unwrap();
            prop_assert!(total >= previous * (1.0 - tolerance), "{total} after {previous}");
            // A planned history is granted as part of a longer one that fits; the upper end for the
            // part alone may be above.
            let slack = if planned { tolerance } else { 1e-9 };
            prop_assert!(total <= budget * (1.0 + slack), "{total} of {budget}");
            previous = total;
        }
        let reopened = account(&path, "eve").unwrap().total().unwrap();
        prop_assert!((reopened - previous).abs() <= tolerance * previous, "{reopened} {previous}");

        // Backwards, and without any ledger. A budget decides on prefixes, so this one is made
        // large enough for all; the order of its Rényi filter depends on the size, so both sides of
        // the comparison have the same.
        let large = approximate(1000.0, 1e-6);
        let large = if planned { large.planned() } else { large };
        let path = folder.join("backward.ledger");
        with_census(&path, &large);
        let mut backward = account(&path, "ann").unwrap();
        let mut scratch = Budget::new(large);
        for event in granted.iter().rev() {
            charge(&mut backward, event.clone()).unwrap();
        }
        for event in granted {
            let _paid = scratch.charge(event).unwrap();
        }
        let (durable, scratch) = (backward.total().unwrap(), scratch.total().unwrap());
        prop_assert!((durable - scratch).abs() <= tolerance * scratch, "{durable} {scratch}");
    }
}
