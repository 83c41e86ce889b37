//! The default accountant is the tightest that applies, and no two accountants contradict each
//! other: over random nested events, ten thousand of them in `cargo xtask experiments accounting`.

mod random_events;

use random_events::{Random, check};

/// Random events, unless `SORDINO_RANDOM_EVENTS` says how many.
const EVENTS: u64 = 320;

#[test]
fn the_default_is_the_least_of_all_upper_ends_and_the_largest_of_all_lower_ends() {
    let asked = std::env::var("SORDINO_RANDOM_EVENTS");
    let (events, depth, thorough) =
        asked.map_or((EVENTS, 1, false), |number| (number.parse().unwrap(), 2, true));
    let mut random = Random(20_170_811);
    let (mut answered, mut wrong) = (0, Vec::new());
    for _ in 0..events {
        let (claim, delta) = (random.claim(depth), random.between(1e-10, 1e-2));
        match check(&claim, delta, thorough) {
            Ok(true) => answered += 1,
            Ok(false) => {}
            Err(story) => wrong.push(story),
        }
    }
    assert!(wrong.is_empty(), "{} of {events}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(20 * answered >= 19 * events, "only {answered} of {events} events were accounted for");
}
