//! Blocking a Python thread until a future is done.
//!
//! The thread polls the future itself, without the interpreter lock. The main thread looks for signals in between, as
//! Python runs their handlers there alone.

use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use tenure_core::threads::{ThreadWaker, poll_directly};
use tokio::{runtime::Handle, task::unconstrained};

use crate::{failure::Failure, outside::outside, process::Process};

/// How often the main thread looks for signals. A wait ends within 50 ms of one.
const LOOKS: Duration = Duration::from_millis(20);

/// Blocks until `future` is done. An exception of a signal's handler drops it first, so that no place is left.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    process: &Process,
    future: Pin<Box<dyn Future<Output = T> + Send>>,
) -> PyResult<T> {
    let handles_signals = is_main_thread();
    outside(py, || {
        let sleeper = Arc::new(ThreadWaker::default());
        let waker = Waker::from(sleeper.clone());
        // It never yields, so it would use up the budget of a tokio task for good.
        let mut work =
            Work { runtime: &process.runtime, future: Some(Box::pin(unconstrained(future))) };
        let mut direct = None;
        loop {
            if let Poll::Ready(done) = poll_directly(&mut direct, || work.poll(&waker)) {
                return Ok(done);
            }
            loop {
                let until = handles_signals.then(|| Instant::now() + LOOKS);
                if sleeper.wait(until, &mut direct) {
                    break;
                }
                let signalled = Python::attach(|py| py.check_signals());
                if !process.is_current() {
                    // A handler forked, and this is the child. The wait, and what it comes to, are the parent's.
                    mem::forget(work);
                    signalled?;
                    let failure = Failure::lost_by_fork(process.pid());
                    return Err(Python::attach(|py| failure.into_pyerr(py)));
                }
                signalled?;
            }
        }
    })
}

/// Whether Python runs the handlers of signals on this thread. No Python code is called to find out: the interpreter may
/// be ending.
#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    rustix::thread::gettid() == rustix::process::getpid()
}

/// It is not known here, and looking for signals does nothing elsewhere.
#[cfg(not(target_os = "linux"))]
const fn is_main_thread() -> bool {
    true
}

/// A future as its caller has it. Its timers and connections belong to the runtime, also while it is dropped.
struct Work<'a, F> {
    runtime: &'a Handle,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Work<'_, F> {
    fn poll(&mut self, waker: &Waker) -> Poll<F::Output> {
        let _ours = self.runtime.enter();
        let Some(future) = &mut self.future else { return Poll::Pending };
        future.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl<F> Drop for Work<'_, F> {
    fn drop(&mut self) {
        let _ours = self.runtime.enter();
        self.future = None;
    }
}
