//! All work is done, once, on any thread, and no panic is lost.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use sordino_threads::{gather, share};

fn threads(count: usize) -> NonZero<usize> {
    NonZero::new(count).unwrap()
}

#[test]
fn each_item_is_processed_once_and_each_worker_used_by_one_thread() {
    for workers in 1..6 {
        for items in [0, 1, 2, 3, 50, 1000] {
            let taken: Vec<AtomicUsize> = (0..items).map(|_| AtomicUsize::new(0)).collect();
            // Not atomic: a worker that two threads used would lose counts.
            let mut counts = vec![0; workers];
            share(&mut counts, taken.iter().collect(), |count, item| {
                item.fetch_add(1, Ordering::Relaxed);
                *count += 1;
            });
            assert!(taken.iter().all(|item| item.load(Ordering::Relaxed) == 1));
            assert_eq!(counts.iter().sum::<usize>(), items);
            assert!(counts[workers.min(items)..].iter().all(|count| *count == 0));
        }
    }
}

/// Each of three items waits for the other two: one thread alone would wait for ever.
#[test]
fn workers_run_at_the_same_time() {
    let meeting = Barrier::new(3);
    for _ in 0..20 {
        share(&mut [(); 3], vec![(); 3], |(), ()| {
            meeting.wait();
        });
    }
}

#[test]
fn results_are_in_the_order_of_items() {
    let squares = gather(threads(3), (0..100u64).collect(), |item| item * item);
    assert!(squares.iter().enumerate().all(|(at, square)| *square == (at * at) as u64));
    assert_eq!(squares.len(), 100);
    assert!(gather(threads(2), Vec::<u8>::new(), |item| item).is_empty());
}

#[test]
fn shared_work_may_itself_share_work() {
    let sums = gather(threads(3), (0..10u64).collect(), |item| {
        gather(threads(2), (0..item).collect(), |inner| inner + 1).iter().sum::<u64>()
    });
    assert!((0..10u64).zip(sums).all(|(item, sum)| sum == item * (item + 1) / 2));
}

#[test]
fn many_callers_do_not_disturb_each_other() {
    std::thread::scope(|scope| {
        for caller in 0..8u64 {
            scope.spawn(move || {
                for _ in 0..50 {
                    let found = gather(threads(3), (0..20).collect(), |item: u64| item * caller);
                    assert!((0..20).zip(found).all(|(item, found)| found == item * caller));
                }
            });
        }
    });
}

/// With its own message, after all threads are done; helpers keep serving.
#[test]
fn a_panic_on_a_helper_is_resumed_on_the_caller() {
    let here = std::thread::current().id();
    for _ in 0..10 {
        let meeting = Barrier::new(2);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            share(&mut [(); 2], vec![(); 2], |(), ()| {
                meeting.wait();
                assert!(std::thread::current().id() == here, "on a helper");
            });
        }));
        let message = *caught.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(message, "on a helper");
    }
    workers_run_at_the_same_time();
}

/// Helpers use the caller's stack, which must not unwind before they are done.
#[test]
fn a_panic_on_the_caller_waits_for_helpers() {
    let here = std::thread::current().id();
    for _ in 0..10 {
        let (meeting, is_done) = (Barrier::new(2), AtomicBool::new(false));
        let caught = catch_unwind(AssertUnwindSafe(|| {
            share(&mut [(); 2], vec![(); 2], |(), ()| {
                meeting.wait();
                assert!(std::thread::current().id() != here, "on the caller's thread");
                std::thread::sleep(Duration::from_millis(5));
                is_done.store(true, Ordering::Relaxed);
            });
        }));
        assert!(caught.is_err() && is_done.load(Ordering::Relaxed));
    }
}

#[test]
fn one_of_several_panics_is_resumed() {
    for _ in 0..10 {
        let meeting = Barrier::new(3);
        let all = catch_unwind(AssertUnwindSafe(|| {
            share(&mut [(); 3], vec![(); 3], |(), ()| {
                meeting.wait();
                panic!("all three");
            });
        }));
        assert_eq!(*all.unwrap_err().downcast::<&str>().unwrap(), "all three");
    }
    let inner = catch_unwind(|| {
        gather(threads(2), vec![1, 2], |_| gather(threads(2), vec![1, 2], |_| panic!("inside")));
    });
    assert_eq!(*inner.unwrap_err().downcast::<&str>().unwrap(), "inside");
    workers_run_at_the_same_time();
}

#[test]
fn sharing_does_not_return_before_helpers_are_done() {
    let here = std::thread::current().id();
    for _ in 0..10 {
        let (meeting, is_done) = (Barrier::new(2), AtomicBool::new(false));
        share(&mut [(); 2], vec![(); 2], |(), ()| {
            meeting.wait();
            if std::thread::current().id() != here {
                std::thread::sleep(Duration::from_millis(5));
                is_done.store(true, Ordering::Relaxed);
            }
        });
        assert!(is_done.load(Ordering::Relaxed));
    }
}

/// A destructor that shares work during a panic must learn that its own work failed.
#[test]
fn a_panic_on_a_helper_is_resumed_even_while_another_panic_unwinds() {
    struct SharesOnDrop<'a>(&'a AtomicBool);
    impl Drop for SharesOnDrop<'_> {
        fn drop(&mut self) {
            let (here, meeting) = (std::thread::current().id(), Barrier::new(2));
            let caught = catch_unwind(AssertUnwindSafe(|| {
                share(&mut [(); 2], vec![(); 2], |(), ()| {
                    meeting.wait();
                    assert!(std::thread::current().id() == here, "on a helper");
                });
            }));
            self.0.store(caught.is_err(), Ordering::Relaxed);
        }
    }
    let is_resumed = AtomicBool::new(false);
    let outer = catch_unwind(AssertUnwindSafe(|| {
        let _shares_on_drop = SharesOnDrop(&is_resumed);
        panic!("first");
    }));
    assert!(outer.is_err() && is_resumed.load(Ordering::Relaxed));
}

/// Of three payloads two are leaked, because dropping them would panic.
#[test]
fn a_panic_payload_whose_destructor_panics_does_no_harm() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    let meeting = Barrier::new(3);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        share(&mut [(); 3], vec![(); 3], |(), ()| {
            meeting.wait();
            std::panic::panic_any(PanicsOnDrop);
        });
    }));
    std::mem::forget(caught.unwrap_err());
    workers_run_at_the_same_time();
}

#[test]
#[should_panic(expected = "at least one worker")]
fn items_without_workers_panic() {
    share(&mut [(); 0], vec![1], |(), _| ());
}
