//! Helper threads that wait for calls.
//!
//! # Safety
//! A call refers to a function on the caller's stack, and helper threads outlive that stack. This is sound
//! because [`with`] neither returns nor unwinds before every call is done or taken back: a [`PendingCalls`]
//! counts the calls, and a [guard](WaitForCalls) waits for them on every way out.
//!
//! # Lifetime
//! Helpers live as long as the process. There are as many as were ever busy at once. A child that is forked
//! while no work is shared has the list of helpers but not their threads: it takes all calls back and does
//! the work alone.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long an idle helper spins before it parks: longer than the sequential work between two parallel sections
/// of a training step.
const SPIN_TIME: Duration = Duration::from_millis(2);

/// Checks between two yields of the processor: about a microsecond.
const SPINS_PER_YIELD: usize = 32;

/// Idle helpers, used as a stack: the last to become idle is called first, and may still be spinning.
static IDLE: Mutex<Vec<Arc<Helper>>> = Mutex::new(Vec::new());

/// Helpers that are not parked. If there are as many as processors, a spinning helper would take a processor
/// from a working one.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Calls `own` on this thread and `help` on up to `helpers` others, and returns when all calls are done. Calls
/// that no helper has started when `own` returns are taken back.
pub(crate) fn with(helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
    let count = Arc::new(PendingCalls {
        left: AtomicUsize::new(0),
        caller: thread::current(),
        panic: Mutex::default(),
    });
    {
        let mut wait = WaitForCalls { count: &count, called: Vec::with_capacity(helpers) };
        // SAFETY: only the lifetime changes. Every helper is counted before it gets the reference, calls it
        // once, and does not use it after it is counted off. `wait` is dropped before this function returns or
        // unwinds, and its destructor waits until the count is 0.
        #[allow(unsafe_code, reason = "helpers outlive this stack, and this function waits for them")]
        let help = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(help) };
        // If the system refuses a new thread, there are fewer helpers.
        for helper in (0..helpers).map_while(|_| idle_or_new()) {
            count.left.fetch_add(1, Ordering::Relaxed);
            helper.call(Call { help, count: Arc::clone(&count) });
            wait.called.push(helper);
        }
        own();
    }
    let panic = locked(&count.panic).take();
    if let Some(panic) = panic {
        resume_unwind(ManuallyDrop::into_inner(panic));
    }
}

/// A function that a helper calls once.
struct Call {
    help: &'static (dyn Fn() + Sync),
    count: Arc<PendingCalls>,
}

/// The calls of one [`with`] that are not done.
struct PendingCalls {
    left: AtomicUsize,
    caller: Thread,
    /// The payload of the first panic. It is passed on or leaked, never dropped here: its destructor may panic.
    panic: Mutex<Option<ManuallyDrop<Box<dyn Any + Send>>>>,
}

/// Waits on drop until all calls are done or taken back.
struct WaitForCalls<'a> {
    count: &'a PendingCalls,
    called: Vec<Arc<Helper>>,
}

impl Drop for WaitForCalls<'_> {
    fn drop(&mut self) {
        for helper in self.called.drain(..) {
            // A helper that has not started need not: all work is done, or a panic is unwinding. A helper that
            // is done may already have a call from another thread.
            let unread = locked(&helper.mailbox).take_if(|call| std::ptr::eq(&*call.count, self.count));
            if unread.is_some() {
                self.count.left.fetch_sub(1, Ordering::Relaxed);
                locked(&IDLE).push(helper);
            }
        }
        // Acquire: the caller sees everything that the helpers have written.
        wait_until(|| self.count.left.load(Ordering::Acquire) == 0, thread::park);
    }
}

/// A thread that waits for calls.
struct Helper {
    mailbox: Mutex<Option<Call>>,
    /// Set when a call arrives, even if it is taken back.
    has_mail: AtomicBool,
    /// Set before the first call.
    thread: OnceLock<Thread>,
}

impl Helper {
    fn call(&self, call: Call) {
        *locked(&self.mailbox) = Some(call);
        self.has_mail.store(true, Ordering::Release);
        // If the helper is not parked, this is one instruction.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Serves calls for ever.
    fn serve(self: Arc<Self>) {
        AWAKE.fetch_add(1, Ordering::Relaxed);
        loop {
            wait_until(|| self.has_mail.load(Ordering::Acquire), park_helper);
            self.has_mail.store(false, Ordering::Relaxed);
            // An empty mailbox: the call was taken back.
            let Some(Call { help, count }) = locked(&self.mailbox).take() else { continue };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(help)) {
                let panic = ManuallyDrop::new(panic);
                locked(&count.panic).get_or_insert(panic);
            }
            // Before the caller continues: it may ask for help again at once.
            locked(&IDLE).push(Arc::clone(&self));
            if count.left.fetch_sub(1, Ordering::Release) == 1 {
                count.caller.unpark();
            }
        }
    }
}

/// An idle helper, or a new one; `None` if the system refuses to start a thread.
fn idle_or_new() -> Option<Arc<Helper>> {
    if let Some(helper) = locked(&IDLE).pop() {
        return Some(helper);
    }
    let helper = Arc::new(Helper {
        mailbox: Mutex::default(),
        has_mail: AtomicBool::new(false),
        thread: OnceLock::new(),
    });
    let serving = Arc::clone(&helper);
    let started = thread::Builder::new().name("sordino-helper".to_owned()).spawn(|| serving.serve()).ok()?;
    helper.thread.get_or_init(|| started.thread().clone());
    Some(helper)
}

/// Spins until `is_done`, for a while and if there is a processor to spare; then parks. Whoever makes the
/// condition true unparks this thread afterwards.
fn wait_until(is_done: impl Fn() -> bool, park: fn()) {
    let begun = Instant::now();
    loop {
        for _ in 0..SPINS_PER_YIELD {
            if is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        if AWAKE.load(Ordering::Relaxed) < crate::available().get() && begun.elapsed() < SPIN_TIME {
            // Another thread may use this processor.
            thread::yield_now();
        } else {
            park();
        }
    }
}

/// Parks a helper, and keeps [`AWAKE`] up to date.
fn park_helper() {
    AWAKE.fetch_sub(1, Ordering::Relaxed);
    thread::park();
    AWAKE.fetch_add(1, Ordering::Relaxed);
}

/// No thread panics while it holds one of these locks, so poisoning is ignored.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// As after `fork`, when the helper's thread does not exist. The helper is idle again afterwards.
    #[test]
    fn a_call_that_no_helper_starts_is_taken_back() {
        let absent = Arc::new(Helper {
            mailbox: Mutex::default(),
            has_mail: AtomicBool::new(false),
            thread: OnceLock::new(),
        });
        locked(&IDLE).push(Arc::clone(&absent));
        let (done, is_done) = channel();
        thread::spawn(move || {
            with(1, &|| unreachable!("the helper has no thread"), || ());
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(locked(&absent.mailbox).is_none() && absent.has_mail.load(Ordering::Relaxed));
        let returned = locked(&IDLE).pop().unwrap();
        assert!(Arc::ptr_eq(&returned, &absent));
    }
}
