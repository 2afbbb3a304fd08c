//! One call, which a caller either blocks for or awaits in asyncio.

use std::{
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Mutex, PoisonError},
};

use futures_util::FutureExt;
use pyo3::prelude::*;
use tokio::task::AbortHandle;

use crate::{
    failure::Failure,
    outside::outside,
    process::{Process, delivery::Deliver, owned::Owned},
    waiting::wait_for,
};

/// What a call does.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Deliver, Failure>> + Send>>;

/// A call that is about to be made. Nothing happens before `block` or `begin`.
#[pyclass(frozen, module = "tenure._tenure")]
pub(crate) struct Call {
    parts: Owned<Parts>,
}

struct Parts {
    work: Mutex<Option<Work>>,
    task: Mutex<Option<AbortHandle>>,
}

impl Call {
    pub(crate) fn new<T, F>(
        py: Python<'_>,
        work: impl Future<Output = Result<T, Failure>> + Send + 'static,
        deliver: F,
    ) -> PyResult<Self>
    where
        T: Send + 'static,
        F: FnOnce(T, Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        let work: Work = Box::pin(async move {
            let done = work.await?;
            Ok(Box::new(move |py: Python<'_>| deliver(done, py)) as Deliver)
        });
        let process = Process::current(py)?;
        let parts = Parts { work: Mutex::new(Some(work)), task: Mutex::default() };
        Ok(Self { parts: Owned::new(process, parts) })
    }

    /// Makes the call, and blocks until it is done.
    pub(crate) fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let work = self.parts(py)?.take(py)?;
        match wait_for(py, self.parts.process, work)? {
            Ok(deliver) => deliver(py),
            Err(failure) => Err(failure.into_pyerr(py)),
        }
    }

    fn parts(&self, py: Python<'_>) -> PyResult<&Parts> {
        let forked = || Failure::forked(self.parts.process.pid()).into_pyerr(py);
        self.parts.get().ok_or_else(forked)
    }
}

impl Parts {
    fn take(&self, py: Python<'_>) -> PyResult<Work> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.ok_or_else(|| Failure::usage("this call was made before").into_pyerr(py))
    }
}

#[pymethods]
impl Call {
    /// Makes the call, and blocks until it is done.
    fn block(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.wait(py)
    }

    /// Makes the call in the background. Its outcome goes to `tenure._bridge.deliver`, with this key.
    fn begin(&self, py: Python<'_>, key: u64) -> PyResult<()> {
        let (parts, process) = (self.parts(py)?, self.parts.process);
        if process.is_ending() {
            return Err(Failure::ending().into_pyerr(py));
        }
        let work = parts.take(py)?;
        let task = process.runtime.spawn(async move {
            let outcome = AssertUnwindSafe(work).catch_unwind().await;
            let outcome = outcome.unwrap_or_else(|_| Err(Failure::panicked()));
            process.deliver(key, outcome);
        });
        *parts.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        Ok(())
    }

    /// Gives the call up: what it may have acquired is taken back.
    fn cancel(&self, py: Python<'_>) {
        let Some(parts) = self.parts.get() else { return };
        let task = parts.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let work = parts.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        outside(py, || {
            drop(work);
            task.iter().for_each(AbortHandle::abort);
        });
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
