//! Work that is shared by threads.
//!
//! A training step is a few pieces of work of a millisecond, with something small between them that one thread does. A thread that is started for each piece, or that sleeps in between, often
//! comes late: on a virtual machine a processor that has nothing to do is not there at once, and the operating system rather lets a new thread wait for the processor of whoever
//! started it, for milliseconds. So there are helpers, which are started once, and look for more work for a while before they sleep.
//!
//! Items are independent, and whoever is free takes the next: what comes out does not depend on helpers, as long as workers carry nothing from one item to the next that does.

mod helper;

use std::num::NonZero;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Calls `work` for every item, in their order as threads become free. Each worker (what one thread needs for itself) is on a thread of its own, the first on this one; where
/// there are fewer items than workers, only as many are used.
///
/// # Panics
/// Where `work` does, on whatever thread: the panic goes on here, once all threads are back. Where there are items and no workers.
pub fn share<W: Send, T: Send>(workers: &mut [W], items: Vec<T>, work: impl Fn(&mut W, T) + Sync) {
    let useful = workers.len().min(items.len());
    let Some((first, others)) = workers[..useful].split_first_mut() else {
        assert!(items.is_empty(), "expected at least one worker for {} items", items.len());
        return;
    };
    let (help, items) = (others.len(), Mutex::new(items.into_iter()));
    let run = |worker: &mut W| {
        while let Some(item) = next(&items) {
            work(worker, item);
        }
    };
    let others = Mutex::new(others.iter_mut());
    let help_out = || {
        if let Some(worker) = next(&others) {
            run(worker);
        }
    };
    helper::with(help, &help_out, || run(first));
}

/// What `work` makes of every item, in their order, on at most so many threads.
///
/// # Panics
/// As [`share`].
pub fn gather<T: Send, R: Send>(
    threads: NonZero<usize>,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let places = items.into_iter().zip(&mut results).collect();
    share(&mut vec![(); threads.get()], places, |(), (item, place)| *place = Some(work(item)));
    // Proof: `share` has returned, so every item has been worked on.
    results.into_iter().map(|result| result.expect("every item has its result")).collect()
}

/// As many threads as the system has processors for this program. Asked once: it reads files, which takes longer than a small step.
pub fn available() -> NonZero<usize> {
    static THREADS: OnceLock<NonZero<usize>> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
}

/// What is next for whoever asks; the lock is free again while it is worked on. Who panics does not hold it, so what is behind it is sound.
fn next<I: Iterator>(items: &Mutex<I>) -> Option<I::Item> {
    items.lock().unwrap_or_else(PoisonError::into_inner).next()
}
