//! An owner gives analysts shares of a budget: a charge counts against the share and the whole.

mod common;

use common::{account, approximate, census, charge, folder, identity, label, pure, terms, with_census};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sordino_ledger::{Account, Ledger, LedgerError};
use sordino_privacy::{ChargeError, Delta, Epsilon, Event, NoiseMultiplier};

fn grant(ledger: &Ledger, to: &str, epsilon: f64) -> Result<u64, LedgerError> {
    ledger.grant(&label("census"), &label(to), Epsilon::new(epsilon).unwrap(), None)
}

#[test]
fn a_share_ends_before_the_budget_does_and_the_budget_before_the_shares() {
    let path = folder("share").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    grant(&ledger, "ann", 0.5).unwrap();
    grant(&ledger, "bob", 0.75).unwrap(); // together more than there is
    let (mut ann, mut bob) = (account(&path, "ann").unwrap(), account(&path, "bob").unwrap());
    charge(&mut ann, pure(0.25)).unwrap();
    charge(&mut ann, pure(0.25)).unwrap();
    let refusal = charge(&mut ann, pure(0.25)).unwrap_err();
    assert!(matches!(refusal, ChargeError::Refused(_)));
    assert!(refusal.to_string().contains("the grant of `ann` has 0 left of 0.5"), "{refusal}");
    charge(&mut bob, pure(0.5)).unwrap();
    let refusal = charge(&mut bob, pure(0.125)).unwrap_err();
    assert!(refusal.to_string().contains("the budget has 0 left of 1"), "{refusal}");
    let set = ledger.data_sets().unwrap().remove(0);
    let totals: Vec<f64> = set.grants.iter().map(|grant| grant.total().unwrap()).collect();
    assert_eq!((totals, set.total().unwrap()), (vec![0.5, 0.5], 1.0));
}

/// Otherwise a share would be escaped by taking another name.
#[test]
fn without_a_share_nobody_spends_what_is_spent_by_shares() {
    let path = folder("none").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let mut eve = account(&path, "eve").unwrap();
    charge(&mut eve, pure(0.125)).unwrap();
    grant(&ledger, "ann", 0.5).unwrap();
    // Also one who was there before.
    let error = charge(&mut eve, pure(0.125)).unwrap_err();
    assert!(format!("{error:?}").contains("NoGrant"), "{error:?}");
    let error = account(&path, "mallory").unwrap_err().to_string();
    assert!(error.contains("`mallory` has no grant for data set `census`"), "{error}");
    // Other data sets are not touched by it.
    let other = identity("sales", "the sales");
    ledger.create_data_set(&other, &terms(1.0)).unwrap();
    assert!(Account::open(&ledger, &other, label("mallory"), label("a test")).is_ok());
}

#[test]
fn what_was_spent_before_counts_and_a_new_share_refunds_nothing() {
    let path = folder("before").join("a.ledger");
    let ledger = with_census(&path, &terms(1.0));
    let mut ann = account(&path, "ann").unwrap();
    charge(&mut ann, pure(0.25)).unwrap();
    grant(&ledger, "ann", 0.375).unwrap();
    assert!(charge(&mut ann, pure(0.25)).is_err());
    grant(&ledger, "ann", 0.5).unwrap();
    charge(&mut ann, pure(0.25)).unwrap();
    grant(&ledger, "ann", 0.125).unwrap();
    assert!(charge(&mut ann, pure(0.125)).is_err());
    let set = Ledger::open(&path).unwrap().data_sets().unwrap().remove(0);
    assert_eq!((set.grants.len(), set.grants[0].total().unwrap()), (1, 0.5));
}

#[test]
fn a_share_is_part_of_a_budget_that_exists() {
    let path = folder("large").join("a.ledger");
    let ledger = with_census(&path, &approximate(1.0, 1e-6));
    assert!(matches!(grant(&ledger, "ann", 1.5), Err(LedgerError::GrantTooLarge { .. })));
    let one = Epsilon::new(0.5).unwrap();
    let delta = Delta::new(1e-5).unwrap();
    assert!(ledger.grant(&label("census"), &label("ann"), one, Some(delta)).is_err());
    assert!(matches!(
        ledger.grant(&label("sales"), &label("ann"), one, None),
        Err(LedgerError::Unknown { .. })
    ));
    // δ of the whole unless another is given, and the same kind of total.
    grant(&ledger, "ann", 0.5).unwrap();
    let mut ann = Account::open(&ledger, &census(), label("ann"), label("a test")).unwrap();
    let noise = Event::gaussian(NoiseMultiplier::new(100.0).unwrap());
    let mut granted = 0;
    while sordino_privacy::Charge::charge(&mut ann, noise.clone()).is_ok() {
        granted += 1;
    }
    let set = ledger.data_sets().unwrap().remove(0);
    assert!(granted > 20 && set.grants[0].total().unwrap() <= 0.5 + 1e-9, "{granted}");
    assert!(set.total().unwrap() < 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(23),
        ..ProptestConfig::default()
    })]

    /// No order of charges exceeds a share or a budget, and each total is the sum of its charges.
    #[test]
    fn no_share_and_no_budget_is_ever_exceeded(
        charges in prop::collection::vec((0..3usize, 1..40u32), 1..40)
    ) {
        let path = folder("any").join("a.ledger");
        let ledger = with_census(&path, &terms(1.0));
        let shares = [("ann", 0.25), ("bob", 0.5), ("cyd", 0.75)];
        for (who, share) in shares {
            grant(&ledger, who, share).unwrap();
        }
        let mut sums = [0.0; 3];
        for (who, size) in charges {
            let epsilon = f64::from(size) / 256.0;
            let fits = sums[who] + epsilon <= shares[who].1 && sums.iter().sum::<f64>() + epsilon <= 1.0;
            let mut open = Account::open(&ledger, &census(), label(shares[who].0), label("a test")).unwrap();
            prop_assert_eq!(sordino_privacy::Charge::charge(&mut open, pure(epsilon)).is_ok(), fits);
            sums[who] += if fits { epsilon } else { 0.0 };
        }
        let set = Ledger::open(&path).unwrap().data_sets().unwrap().remove(0);
        for (grant, sum) in set.grants.iter().zip(sums) {
            prop_assert_eq!(grant.total().unwrap(), sum);
        }
    }
}
