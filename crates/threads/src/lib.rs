//! Shares work between threads.
//!
//! A training step is a few parallel sections of about a millisecond, with short sequential work between
//! them. Threads that are started for each section, or that sleep between sections, often start late: a
//! virtual machine takes time to wake an idle processor, and the operating system may queue a new thread
//! behind its parent for milliseconds. So helper threads are started once, and spin for a while before they
//! park.
//!
//! Items are independent, and each free thread takes the next one. Results do not depend on the number of
//! threads, as long as a worker carries nothing from one item to the next that changes results.

mod helper;

use std::num::NonZero;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Calls `work` once for every item. Threads take items in order, each thread with its own worker (what it
/// needs for itself). The first worker runs on the calling thread. At most as many workers are used as there
/// are items.
///
/// # Panics
/// If `work` panics on any thread: the panic is resumed here, once all threads are done. If there are items
/// and no workers.
pub fn share<W: Send, T: Send>(workers: &mut [W], items: Vec<T>, work: impl Fn(&mut W, T) + Sync) {
    let useful = workers.len().min(items.len());
    let Some((first, others)) = workers[..useful].split_first_mut() else {
        assert!(items.is_empty(), "expected at least one worker for {} items", items.len());
        return;
    };
    let (helpers, items) = (others.len(), Mutex::new(items.into_iter()));
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
    helper::with(helpers, &help_out, || run(first));
}

/// The result of `work` for every item, in the order of the items, on at most `threads` threads.
///
/// # Panics
/// As [`share`].
pub fn gather<T: Send, R: Send>(
    threads: NonZero<usize>,
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let pairs = items.into_iter().zip(&mut results).collect();
    share(&mut vec![(); threads.get()], pairs, |(), (item, result)| *result = Some(work(item)));
    // Proof: `share` has returned, so it has called `work` for every item.
    results.into_iter().map(|result| result.expect("every item has its result")).collect()
}

/// The number of processors that this process may use. The system is asked once: it reads files, which takes
/// longer than a small step.
pub fn available() -> NonZero<usize> {
    static THREADS: OnceLock<NonZero<usize>> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
}

/// Takes the next item. The lock is released before the item is worked on, so a panic in `work` cannot poison
/// it.
fn next<I: Iterator>(items: &Mutex<I>) -> Option<I::Item> {
    items.lock().unwrap_or_else(PoisonError::into_inner).next()
}
