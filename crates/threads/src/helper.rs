//! Threads that wait for calls.
//!
//! # Safety
//! A call is a reference to a function on the stack of whoever [asks for help](with), and threads outlive stacks. What makes it sound is that `with` does not return, nor
//! unwind, before every call that it has made is done or taken back: it counts them in a [`Count`], and a [guard](Wait) waits for them on every way out.
//!
//! # Lifetime
//! Helpers stay for as long as the program runs, as many as were called at once at most. A child that is forked while nobody shares work has the list of them and not the threads: it takes all
//! calls back, and does the work by itself.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long who waits stays awake: longer than what one thread has to do between two pieces of work of a training step.
const PATIENCE: Duration = Duration::from_millis(2);

/// How often who is awake looks before it offers its processor to others: a microsecond.
const SOME: usize = 32;

/// Helpers that nobody has called; the last that came back is the first to go.
static IDLE: Mutex<Vec<Arc<Helper>>> = Mutex::new(Vec::new());

/// Helpers that do not wait for calls asleep. Where they are as many as processors, or more, waiting awake would take a processor from who works.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Calls `own` here, and `help` on so many helpers, unless they have not begun when `own` is done; ends when all are done.
pub(crate) fn with(helpers: usize, help: &(dyn Fn() + Sync), own: impl FnOnce()) {
    let count =
        Arc::new(Count { left: AtomicUsize::new(0), caller: thread::current(), panic: Mutex::default() });
    {
        let mut wait = Wait { count: &count, called: Vec::with_capacity(helpers) };
        // SAFETY: lifetimes aside, it is the same type. Who gets the reference is counted before, calls it once, and does not use it after it has been counted off. `wait` is dropped
        // before this function returns or unwinds, and waits until nobody is left.
        #[allow(unsafe_code, reason = "threads outlive this stack, and this function waits for them")]
        let help = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(help) };
        // Where the system has no more threads there are fewer.
        for helper in (0..helpers).map_while(|_| hire()) {
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

/// What a helper is to do, once.
struct Call {
    help: &'static (dyn Fn() + Sync),
    count: Arc<Count>,
}

/// How many calls are not done.
struct Count {
    left: AtomicUsize,
    caller: Thread,
    /// What the first that panicked has to say. It is passed on or forgotten, never dropped here: a destructor may panic itself.
    panic: Mutex<Option<ManuallyDrop<Box<dyn Any + Send>>>>,
}

/// Waits until nobody is left, whatever happens.
struct Wait<'a> {
    count: &'a Count,
    called: Vec<Arc<Helper>>,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        for helper in self.called.drain(..) {
            // A helper that has not begun need not: all work is done, or a panic is on its way. One that is done may have somebody else's call by now.
            let unread = locked(&helper.post).take_if(|call| std::ptr::eq(&*call.count, self.count));
            if unread.is_some() {
                self.count.left.fetch_sub(1, Ordering::Relaxed);
                locked(&IDLE).push(helper);
            }
        }
        // Who sees that helpers are done sees what they have written.
        wait_until(|| self.count.left.load(Ordering::Acquire) == 0, thread::park);
    }
}

/// A thread that waits for calls.
struct Helper {
    post: Mutex<Option<Call>>,
    /// Whether there is something in it, or was.
    has_post: AtomicBool,
    /// Set before anybody calls.
    thread: OnceLock<Thread>,
}

impl Helper {
    fn call(&self, call: Call) {
        *locked(&self.post) = Some(call);
        self.has_post.store(true, Ordering::Release);
        // Where it is awake this is one instruction.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Call after call, for ever.
    fn serve(self: Arc<Self>) {
        AWAKE.fetch_add(1, Ordering::Relaxed);
        loop {
            wait_until(|| self.has_post.load(Ordering::Acquire), sleep);
            self.has_post.store(false, Ordering::Relaxed);
            // Or it was taken back.
            let Some(Call { help, count }) = locked(&self.post).take() else { continue };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(help)) {
                let panic = ManuallyDrop::new(panic);
                locked(&count.panic).get_or_insert(panic);
            }
            // Before the caller goes on, and asks for help again.
            locked(&IDLE).push(Arc::clone(&self));
            if count.left.fetch_sub(1, Ordering::Release) == 1 {
                count.caller.unpark();
            }
        }
    }
}

/// A helper that waits, or a new one.
fn hire() -> Option<Arc<Helper>> {
    if let Some(helper) = locked(&IDLE).pop() {
        return Some(helper);
    }
    let helper = Arc::new(Helper {
        post: Mutex::default(),
        has_post: AtomicBool::new(false),
        thread: OnceLock::new(),
    });
    let serving = Arc::clone(&helper);
    let started = thread::Builder::new().name("sordino-helper".to_owned()).spawn(|| serving.serve()).ok()?;
    helper.thread.get_or_init(|| started.thread().clone());
    Some(helper)
}

/// Awake for a while, where there is a processor for it, then asleep. Who makes it so unparks this thread afterwards.
fn wait_until(is_so: impl Fn() -> bool, sleep: fn()) {
    let begun = Instant::now();
    loop {
        for _ in 0..SOME {
            if is_so() {
                return;
            }
            std::hint::spin_loop();
        }
        if AWAKE.load(Ordering::Relaxed) < crate::available().get() && begun.elapsed() < PATIENCE {
            // Who else wants this processor may have it.
            thread::yield_now();
        } else {
            sleep();
        }
    }
}

/// A helper's.
fn sleep() {
    AWAKE.fetch_sub(1, Ordering::Relaxed);
    thread::park();
    AWAKE.fetch_add(1, Ordering::Relaxed);
}

/// Nobody panics while holding one of these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A helper that never comes, as after `fork`: nobody waits for it, and it may be called again.
    #[test]
    fn a_call_that_nobody_reads_is_taken_back() {
        let absent = Arc::new(Helper {
            post: Mutex::default(),
            has_post: AtomicBool::new(false),
            thread: OnceLock::new(),
        });
        locked(&IDLE).push(Arc::clone(&absent));
        let (done, is_done) = channel();
        thread::spawn(move || {
            with(1, &|| unreachable!("nobody is there to do it"), || ());
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(locked(&absent.post).is_none() && absent.has_post.load(Ordering::Relaxed));
        let returned = locked(&IDLE).pop().unwrap();
        assert!(Arc::ptr_eq(&returned, &absent));
    }
}
