//! The thread behind all blocking callers, one for the whole process.
//!
//! A caller polls its future itself. The future's timers and sockets belong to this thread's runtime, which wakes the
//! caller. So a thousand waiting callers cost one thread. Where the store supports it, one caller receives the store's
//! hints itself and needs no other thread to wake it.
//!
//! If the caller wants to be notified meanwhile, which may take long, the future moves to this thread and continues
//! there. The caller's own runtime, if it has one, is never entered.

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, resume_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tenure_core::{
    runtime::{PerProcess, Workers, start},
    threads::{ThreadWaker, poll_directly},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor, worker_index},
    task::{AbortHandle, block_in_place, unconstrained},
};

use super::news::{Message, NotificationSender, WaitListener, channel};

static THREAD: PerProcess<BlockingThread> = PerProcess::new();
/// A program's callback may run for as long as it likes.
static TELLS: PerProcess<Workers> = PerProcess::new();

/// How many callbacks run at a time, and how often this looks for a spare thread.
const TELLERS: usize = 256;
const LOOK: Duration = Duration::from_millis(50);

/// Tenure's own thread for blocking callers.
#[derive(Debug)]
pub(super) struct BlockingThread {
    runtime: Handle,
    process: u32,
}

impl BlockingThread {
    /// The thread of this process, started if it does not run yet.
    pub(super) fn get() -> io::Result<&'static Self> {
        THREAD.get(|| Ok(Self { runtime: start("tenure-blocking")?, process: std::process::id() }))
    }

    /// Blocks the caller until `future` is done; `None` in a forked child, where this thread does not run.
    ///
    /// A panic of `future` goes on in the caller.
    pub(super) fn wait_for<F>(&self, future: F) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.wait_at_most(Duration::MAX, future)
    }

    /// As [`BlockingThread::wait_for`], and `None` if `future` is not done within `limit`, when it is dropped.
    pub(super) fn wait_at_most<F>(&self, limit: Duration, future: F) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        if self.is_gone() {
            return None;
        }
        let mut output = None;
        self.wait_until_done(limit, Box::pin(async { output = Some(future.await) }));
        output
    }

    /// The same for every type of future, so that it is compiled once.
    fn wait_until_done(
        &self,
        limit: Duration,
        future: Pin<Box<dyn Future<Output = ()> + Send + '_>>,
    ) {
        let sleeper = Arc::new(ThreadWaker::default());
        let waker = Waker::from(sleeper.clone());
        // This never yields, so inside a tokio task it would use up the task's budget for good.
        let future = Some(Box::pin(unconstrained(future)));
        let mut work = RuntimeFuture { runtime: &self.runtime, future };
        let mut direct = None;
        if poll_directly(&mut direct, || work.poll(&waker)).is_ready() {
            return;
        }
        let until = Instant::now().checked_add(limit);
        park(|| {
            while sleeper.wait(until, &mut direct) {
                if poll_directly(&mut direct, || work.poll(&waker)).is_ready() {
                    return;
                }
            }
        });
    }

    /// As [`BlockingThread::wait_for`]. Calls `listener` on the caller's thread with the news that the future leaves in
    /// the `NotificationSender` it is made with.
    pub(super) fn wait_telling<F>(
        &self,
        listener: &WaitListener,
        asking: impl FnOnce(NotificationSender) -> F,
    ) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        if self.is_gone() {
            return None;
        }
        let (post, sender, inbox) = channel();
        let future = Some(Box::pin(asking(post)));
        let mut work = RuntimeFuture { runtime: &self.runtime, future };
        if let Poll::Ready(output) = work.poll(Waker::noop()) {
            return Some(output);
        }
        let done = move |outcome| drop(sender.send(Message::Outcome(outcome)));
        self.finish(work.future.take()?, done, || inbox.receive(listener))
    }

    /// Lets our thread finish `future` while the caller waits for that in `receive`. However the caller leaves, the
    /// future does not outlive the wait.
    fn finish<F>(
        &self,
        future: Pin<Box<F>>,
        done: impl FnOnce(CaughtOutput<F>) + Send + 'static,
        receive: impl FnOnce() -> Option<CaughtOutput<F>>,
    ) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let task = async move { done(AssertUnwindSafe(future).catch_unwind().await) };
        let _task = AbortOnDrop(self.spawn(task));
        let output = park(receive);
        output.map(|output| output.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Runs `future` in the background, until it is done or the handle aborts it.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let future: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(future);
        self.runtime.spawn(future).abort_handle()
    }

    fn is_gone(&self) -> bool {
        self.process != std::process::id()
    }
}

/// A future as its caller has it. Its timers, connections and tasks belong to our runtime, wherever it is polled and
/// also while it is dropped.
struct RuntimeFuture<'a, F: ?Sized> {
    runtime: &'a Handle,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future + ?Sized> RuntimeFuture<'_, F> {
    fn poll(&mut self, waker: &Waker) -> Poll<F::Output> {
        let _ours = self.runtime.enter();
        let Some(future) = &mut self.future else { return Poll::Pending };
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl<F: ?Sized> Drop for RuntimeFuture<'_, F> {
    fn drop(&mut self) {
        let _ours = self.runtime.enter();
        self.future = None;
    }
}

/// The output of a future, or its panic.
type CaughtOutput<F> = thread::Result<<F as Future>::Output>;

/// A future on our thread, which is aborted when this is dropped.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Blocks the caller until `future` is done.
///
/// # Errors
/// If there is no thread that could wait for it.
#[cfg(feature = "macros")]
pub(crate) fn wait_for<F>(future: F) -> io::Result<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    BlockingThread::get()?.wait_for(future).ok_or_else(forked)
}

/// Why nothing can be waited for after a fork, which leaves the thread behind.
pub(super) fn forked() -> io::Error {
    io::Error::other(
        "this process was forked from one that used tenure; open the store in the child",
    )
}

/// Blocks this thread in `wait`. On a worker of a multi-thread runtime, another thread takes over its tasks. Otherwise
/// the tasks that hold the lock might never run.
fn park<T>(wait: impl FnOnce() -> T) -> T {
    let of_many = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    // tokio would panic off a worker's thread, as inside a `LocalSet`, or if it finds no thread to take over.
    let can = of_many && worker_index().is_some() && has_a_thread_to_spare();
    if can { block_in_place(wait) } else { wait() }
}

/// Whether the system allows one more thread, as far as that can be known.
fn has_a_thread_to_spare() -> bool {
    thread::Builder::new().spawn(|| {}).is_ok_and(|spare| spare.join().is_ok())
}

/// Prepares a thread for [`run_callback`].
pub(super) fn prepare_callback_thread() {
    if let Ok(tells) = tellers() {
        // If there is none, it is tried again when it is needed.
        let _ = tells.ready();
    }
}

/// Runs `tell` on a separate thread, as soon as there is one.
pub(super) async fn run_callback(tell: impl FnOnce() + Send + 'static) {
    let tell = Arc::new(Mutex::new(Some(tell)));
    loop {
        let told = tell.clone();
        let tells = move || {
            let tell = told.lock().unwrap_or_else(PoisonError::into_inner).take();
            tell.into_iter().for_each(|tell| tell());
        };
        if tellers().and_then(|tellers| tellers.submit(tells)).is_ok() {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn tellers() -> io::Result<&'static Workers> {
    TELLS.get(|| Ok(Workers::new("tenure-tells", TELLERS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_future_is_not_held_up_by_the_share_of_the_task_it_is_waited_for_in() {
        let work = async {
            for _ in 0..1000 {
                tokio::task::coop::consume_budget().await;
            }
        };
        let thread = BlockingThread::get().unwrap();
        assert!(thread.wait_at_most(Duration::from_secs(15), work).is_some());
    }

    #[test]
    fn a_future_finds_our_runtime_when_it_is_polled_and_when_it_is_dropped() {
        struct Spawns;
        impl Drop for Spawns {
            fn drop(&mut self) {
                drop(tokio::spawn(async {}));
            }
        }
        let thread = BlockingThread::get().unwrap();
        let spawns = Spawns;
        let work = async move {
            let _spawns = spawns;
            tokio::spawn(async {}).await.unwrap();
            std::future::pending::<()>().await;
        };
        assert!(thread.wait_at_most(Duration::from_millis(10), work).is_none());
    }
}
