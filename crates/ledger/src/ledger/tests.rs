use std::sync::atomic::{AtomicU64, Ordering};

use sordino_privacy::{Epsilon, Neighbours};
use sordino_testing::Scratch;

use super::*;
use crate::label::Label;

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// An analyst sets the clock back between two charges; nothing may look as if it had happened
/// earlier.
#[test]
fn a_clock_that_goes_back_does_not_turn_entries_around() {
    let folder = Scratch::new("ledger-clock");
    let path = folder.join("a.ledger");
    let first = next_row(&Book::new(), Body::Ledger { format_version: FORMAT_VERSION }, Time::from_millis(0))
        .unwrap();
    let mut ledger = Ledger::new(store::create(&path, &[first], FORMAT_VERSION).unwrap());
    ledger.clock = || Time::from_millis(CLOCK.load(Ordering::SeqCst));
    let terms = Terms::new(Epsilon::new(1.0).unwrap(), Neighbours::AddRemove);
    for (name, clock) in [("a", 5000), ("b", 3000), ("c", 0), ("d", 6000)] {
        CLOCK.store(clock, Ordering::SeqCst);
        let identity = Identity { name: Label::new(name).unwrap(), content: Digest::of(name.as_bytes()) };
        ledger.create_data_set(&identity, &terms).unwrap();
    }
    let times: Vec<u64> = ledger.entries().unwrap().iter().map(|entry| entry.time.millis()).collect();
    assert_eq!(times, [0, 5000, 5000, 5000, 6000]);
    drop(ledger);
    assert_eq!(Ledger::open(&path).unwrap().verify(None).unwrap().number, 5);
}

/// The hash of the documentation, typed again.
#[test]
fn the_chain_is_the_documented_one() {
    let folder = Scratch::new("ledger-chain");
    let ledger = Ledger::create(&folder.join("a.ledger")).unwrap();
    let terms = Terms::new(Epsilon::new(1.0).unwrap(), Neighbours::AddRemove);
    let identity = Identity { name: Label::new("a").unwrap(), content: Digest::of(b"a") };
    ledger.create_data_set(&identity, &terms).unwrap();
    let mut hash = Digest::of(b"sordino ledger");
    let rows = std::cell::RefCell::new(Vec::new());
    ledger
        .store
        .read(1, &mut |row| {
            rows.borrow_mut().push(row);
            Ok(())
        })
        .unwrap();
    for row in rows.borrow().iter() {
        hash = Digest::of(&[hash.bytes().as_slice(), row.body.as_bytes()].concat());
        assert_eq!(hash, row.hash);
    }
    assert_eq!(ledger.head().unwrap(), Head { number: 2, hash });
}
