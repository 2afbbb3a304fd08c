//! The thread that waits on behalf of blocking callers, one for the whole process.
//!
//! A caller polls its future once itself, and most are done then. Else the future moves to this
//! thread and the caller parks on a channel, so a thousand callers that wait cost one thread of
//! ours. The caller's own runtime, if it has one, is never entered.

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, resume_unwind},
    pin::Pin,
    sync::{
        OnceLock,
        mpsc::{Receiver, sync_channel},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_util::FutureExt;
use tokio::{
    runtime::{Builder, Handle, RuntimeFlavor, worker_index},
    task::{AbortHandle, block_in_place},
};

use super::news::{Listener, Message, Post, channel};

static THREAD: OnceLock<Thread> = OnceLock::new();

/// Tenure's own thread for blocking callers.
#[derive(Debug)]
pub(super) struct Thread {
    runtime: Handle,
    process: u32,
}

impl Thread {
    /// The thread of this process, started if it does not run yet.
    pub(super) fn get() -> io::Result<&'static Self> {
        let thread = match THREAD.get() {
            Some(thread) => thread,
            None => Self::start()?,
        };
        if thread.is_gone() { Err(forked()) } else { Ok(thread) }
    }

    fn start() -> io::Result<&'static Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = Self { runtime: runtime.handle().clone(), process: std::process::id() };
        std::thread::Builder::new()
            .name("tenure-blocking".to_owned())
            .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        // If two came here at once, the thread of the one that lost stays idle for ever.
        Ok(THREAD.get_or_init(|| thread))
    }

    /// Blocks the caller until `future` is done; `None` in a forked child, which has no such
    /// thread.
    ///
    /// A panic of `future` goes on in the caller.
    pub(super) fn wait_for<F>(&self, future: F) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.wait_at_most(Duration::MAX, future)
    }

    /// As [`Thread::wait_for`], and `None` if `future` is not done within `limit`. It is dropped
    /// then.
    pub(super) fn wait_at_most<F>(&self, limit: Duration, future: F) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        if self.is_gone() {
            return None;
        }
        let mut future = Box::pin(future);
        if let Poll::Ready(output) = self.poll_once(future.as_mut()) {
            return Some(output);
        }
        let (sender, outcome) = sync_channel(1);
        // A caller that waited no longer does not want it.
        let done = move |outcome| drop(sender.send(outcome));
        self.finish(future, done, || receive(&outcome, limit))
    }

    /// As [`Thread::wait_for`], and tells `listener` in the caller what the future leaves in the
    /// `Post` that it is made with.
    pub(super) fn wait_telling<F>(
        &self,
        listener: &Listener,
        asking: impl FnOnce(Post) -> F,
    ) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        if self.is_gone() {
            return None;
        }
        let (post, sender, inbox) = channel();
        let mut future = Box::pin(asking(post));
        if let Poll::Ready(output) = self.poll_once(future.as_mut()) {
            return Some(output);
        }
        let done = move |outcome| drop(sender.send(Message::Outcome(outcome)));
        self.finish(future, done, || inbox.receive(listener))
    }

    /// Lets our thread finish `future`, and the caller wait for that in `receive`. However the
    /// caller leaves, the future does not outlive the wait.
    fn finish<F>(
        &self,
        future: Pin<Box<F>>,
        done: impl FnOnce(Outcome<F>) + Send + 'static,
        receive: impl FnOnce() -> Option<Outcome<F>>,
    ) -> Option<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let task = async move { done(AssertUnwindSafe(future).catch_unwind().await) };
        let _task = Task(self.spawn(task));
        let output = park(receive);
        output.map(|output| output.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Lets `future` go on by itself, until it is done or the handle aborts it.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(future).abort_handle()
    }

    /// Timers and connections that `future` makes belong to our runtime, wherever it is polled.
    fn poll_once<F: Future>(&self, future: Pin<&mut F>) -> Poll<F::Output> {
        let _ours = self.runtime.enter();
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn is_gone(&self) -> bool {
        self.process != std::process::id()
    }
}

/// What a future gave, or its panic.
type Outcome<F> = std::thread::Result<<F as Future>::Output>;

/// A future on our thread, which ends with this if it is not done.
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Blocks the caller until `future` is done.
///
/// # Errors
/// When there is no thread that could wait for it.
#[cfg(feature = "macros")]
pub(crate) fn wait_for<F>(future: F) -> io::Result<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    Thread::get()?.wait_for(future).ok_or_else(forked)
}

/// Why there is no thread in a forked child.
pub(super) fn forked() -> io::Error {
    io::Error::other("this process was forked from one that used tenure; `exec` after a fork")
}

fn receive<T>(outcome: &Receiver<T>, limit: Duration) -> Option<T> {
    outcome.recv_timeout(limit).ok()
}

/// Blocks this thread in `wait`. Where it serves a multi-thread runtime, another thread serves on
/// in its place: else the tasks that hold the lock might never run.
fn park<T>(wait: impl FnOnce() -> T) -> T {
    let of_many = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    // Elsewhere than on a worker's thread, as inside a `LocalSet`, tokio would panic.
    if of_many && worker_index().is_some() { block_in_place(wait) } else { wait() }
}
