//! Helpers are started once. In a program of its own: others would hire them in between.

use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use sordino_threads::share;

#[test]
fn the_same_helper_comes_again_awake_or_asleep() {
    let (seen, meeting) = (Mutex::new(HashSet::new()), Barrier::new(2));
    for round in 0..60 {
        share(&mut [(); 2], vec![(); 2], |(), ()| {
            meeting.wait();
            seen.lock().unwrap().insert(std::thread::current().id());
        });
        // Longer than it stays awake, and shorter.
        std::thread::sleep(Duration::from_millis(round % 5));
    }
    assert_eq!(seen.lock().unwrap().len(), 2);
}
