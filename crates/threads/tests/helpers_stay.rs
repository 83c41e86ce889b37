//! Helpers are started once. This test has a process of its own: other tests would use the helpers too.

use std::collections::HashSet;
use std::sync::{Barrier, Mutex};
use std::time::Duration;

use sordino_threads::share;

#[test]
fn the_same_helper_serves_again_spinning_or_parked() {
    let (seen, meeting) = (Mutex::new(HashSet::new()), Barrier::new(2));
    for round in 0..60 {
        share(&mut [(); 2], vec![(); 2], |(), ()| {
            meeting.wait();
            seen.lock().unwrap().insert(std::thread::current().id());
        });
        // Shorter than a helper spins, and longer.
        std::thread::sleep(Duration::from_millis(round % 5));
    }
    assert_eq!(seen.lock().unwrap().len(), 2);
}
