//! Work that is shared by threads.

use std::sync::{Mutex, PoisonError};

/// Calls `work` for every item, each worker on its own thread and the first on this one; whoever is free takes the next item.
pub(crate) fn share<W: Send, T: Send>(workers: &mut [W], items: Vec<T>, work: impl Fn(&mut W, T) + Sync) {
    let (count, items) = (items.len(), Mutex::new(items.into_iter()));
    // A thread that panicked ends the whole scope; nobody goes on with what it left.
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = |worker: &mut W| {
        while let Some(item) = next() {
            work(worker, item);
        }
    };
    let useful = workers.len().min(count.max(1));
    let Some((first, others)) = workers[..useful].split_first_mut() else { return };
    std::thread::scope(|scope| {
        for worker in others {
            scope.spawn(|| run(worker));
        }
        run(first);
    });
}
