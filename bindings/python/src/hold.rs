//! A hold, as Python has it.

use std::{
    pin::pin,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select, select_all},
};
use pyo3::{IntoPyObjectExt, exceptions::PyResourceWarning, prelude::*, types::PyDict};
use tenure::WriteGuard;
use tokio::sync::watch;

use crate::{
    call::Call, failure::Failure, outside::outside, process::Process, settings::Length,
    wanted::Held,
};

/// One hold of a lock. While it exists, tenure renews its lease in the background.
///
/// It ends with its `with` block or a `release()`. A hold that is garbage-collected is released in the background, with
/// a `ResourceWarning`.
#[pyclass(frozen, weakref, module = "tenure")]
#[derive(Debug)]
pub(crate) struct Hold {
    process: &'static Process,
    /// Taken by the release. A forked child never locks this: another thread of its parent may have had it.
    held: RwLock<Option<Held>>,
    was_lost: AtomicBool,
    /// Becomes true at the release, so that nothing waits any longer.
    has_ended: watch::Sender<bool>,
    tokens: Vec<(String, u64)>,
    store: String,
}

impl Hold {
    pub(crate) fn new(py: Python<'_>, held: Held, store: String) -> PyResult<Self> {
        let tokens = held.parts().iter();
        let tokens = tokens.map(|part| (part.name().as_str().to_owned(), part.token().get()));
        let tokens = tokens.collect();
        let process = Process::current(py)?;
        let (held, was_lost) = (RwLock::new(Some(held)), AtomicBool::new(false));
        let has_ended = watch::Sender::new(false);
        Ok(Self { process, held, was_lost, has_ended, tokens, store })
    }

    /// Why this hold cannot be counted on, though its store did not say so.
    fn refusal(&self, reason: &'static str) -> Failure {
        let (name, token) = self.tokens.first().map_or(("", 0), |(name, token)| (&**name, *token));
        Failure::lost(name, &self.store, token, reason)
    }

    /// Asks the guard, if this process has one.
    fn with<T>(&self, ask: impl FnOnce(&Held) -> T) -> Result<T, Failure> {
        if !self.process.is_current() {
            return Err(self.refusal("forked"));
        }
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().map(ask).ok_or_else(|| self.refusal("released"))
    }

    fn checked(&self) -> Result<(), Failure> {
        let checked = self.with(Held::check)?;
        if checked.is_err() {
            self.was_lost.store(true, Ordering::Release);
        }
        Ok(checked.map(drop)?)
    }

    fn take(&self) -> Result<Held, Failure> {
        if !self.process.is_current() {
            return Err(self.refusal("forked"));
        }
        let held = self.held.write().unwrap_or_else(PoisonError::into_inner).take();
        if held.is_some() {
            self.has_ended.send_replace(true);
        }
        held.ok_or_else(|| self.refusal("released"))
    }

    fn put_back(&self, held: Held) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Some(held);
        self.has_ended.send_replace(false);
    }

    /// A call that waits for `what` of any part, for `timeout` at most or until the release. Returns whether it came.
    fn waiting(
        &self,
        py: Python<'_>,
        timeout: Option<Length>,
        what: fn(&tenure::Guard) -> BoxFuture<'static, ()>,
    ) -> PyResult<Call> {
        let parts = self.with(|held| held.parts().iter().map(what).collect());
        let parts: Vec<_> = parts.map_err(|failure| failure.into_pyerr(py))?;
        let mut ended = self.has_ended.subscribe();
        let work = async move {
            let any = select_all(parts);
            let ended = pin!(ended.wait_for(|ended| *ended));
            let came = select(any, ended).map(|which| matches!(which, Either::Left(_)));
            Ok(match timeout {
                Some(Length(timeout)) => tokio::time::timeout(timeout, came).await.unwrap_or(false),
                None => came.await,
            })
        };
        Call::new(py, work, |came, py| came.into_py_any(py))
    }

    fn run(py: Python<'_>, call: Call) -> PyResult<Py<PyAny>> {
        Ok(py.import("tenure._bridge")?.call_method1("run", (call,))?.unbind())
    }
}

#[pymethods]
impl Hold {
    /// The name of the lock; of a multi-lock, the first.
    #[getter]
    fn name(&self) -> &str {
        self.tokens.first().map_or("", |(name, _)| name)
    }

    /// The fencing token: greater than that of every earlier exclusive hold of this lock. Of a multi-lock, the token
    /// of the first name.
    #[getter]
    fn token(&self) -> u64 {
        self.tokens.first().map_or(0, |(_, token)| *token)
    }

    /// The token of each name.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tokens = PyDict::new(py);
        for (name, token) in &self.tokens {
            tokens.set_item(name, token)?;
        }
        Ok(tokens)
    }

    /// The store, without its password.
    #[getter]
    fn store(&self) -> &str {
        &self.store
    }

    /// Returns the token if you may count on the hold at this very moment. Call it before each effect that matters.
    ///
    /// Raises `Lost` from the deadline on, as soon as the store says that the lease is gone, after a release, and in a
    /// forked child.
    fn check(&self, py: Python<'_>) -> PyResult<u64> {
        self.checked().map_err(|failure| failure.into_pyerr(py))?;
        Ok(self.token())
    }

    /// Whether you may count on the hold at this very moment: whether `check()` returns.
    #[getter]
    fn held(&self) -> bool {
        self.checked().is_ok()
    }

    /// Whether the hold ended before it was released. A forked child has lost the holds of its parent.
    #[getter]
    fn lost(&self) -> bool {
        if !self.process.is_current() {
            return true;
        }
        match self.with(|held| held.check().is_err()) {
            Ok(is_lost) => {
                self.was_lost.fetch_or(is_lost, Ordering::AcqRel);
                is_lost
            }
            Err(_) => self.was_lost.load(Ordering::Acquire),
        }
    }

    /// How many seconds you may still count on the hold if it is not renewed.
    #[getter]
    fn remaining(&self) -> f64 {
        let least = |held: &Held| held.parts().iter().map(tenure::Guard::remaining).min();
        let least = self.with(least).ok().flatten();
        least.unwrap_or(Duration::ZERO).as_secs_f64()
    }

    /// Whether renewals have failed for so long that the hold will soon be lost, or it is no longer held.
    #[getter]
    fn at_risk(&self) -> bool {
        let at_risk = |held: &Held| held.parts().iter().any(tenure::Guard::is_at_risk);
        self.with(at_risk).unwrap_or(true)
    }

    /// Whether another program asks this holder to release the lock.
    #[getter]
    fn release_requested(&self) -> bool {
        let asked = |held: &Held| held.parts().iter().any(tenure::Guard::is_release_requested);
        self.with(asked).unwrap_or(false)
    }

    /// Who asks for the release and why, as they say; `None` if that is not known.
    #[getter]
    fn release_requested_by(&self) -> Option<String> {
        let by = |held: &Held| held.parts().iter().find_map(tenure::Guard::release_requested_by);
        self.with(by).ok().flatten().map(|by| by.to_string())
    }

    /// Blocks until the hold is lost, at its deadline at the latest, or for `timeout` seconds. Returns whether it is
    /// lost.
    #[pyo3(signature = (timeout=None))]
    fn wait_lost(&self, py: Python<'_>, timeout: Option<Length>) -> PyResult<bool> {
        if self.lost() {
            return Ok(true);
        }
        let call = self.waiting(py, timeout, |part| Box::pin(part.lost().map(drop)))?;
        call.wait(py)?.extract(py)
    }

    /// Waits until the hold is lost, as `wait_lost` does, in asyncio.
    #[pyo3(signature = (timeout=None))]
    fn wait_lost_async(&self, py: Python<'_>, timeout: Option<Length>) -> PyResult<Py<PyAny>> {
        let call = self.waiting(py, timeout, |part| Box::pin(part.lost().map(drop)))?;
        Self::run(py, call)
    }

    /// Blocks until another program asks for the release, or for `timeout` seconds. Returns whether one does.
    #[pyo3(signature = (timeout=None))]
    fn wait_release_requested(&self, py: Python<'_>, timeout: Option<Length>) -> PyResult<bool> {
        let call = self.waiting(py, timeout, |part| Box::pin(part.release_requested()))?;
        call.wait(py)?.extract(py)
    }

    /// Waits until another program asks for the release, in asyncio.
    #[pyo3(signature = (timeout=None))]
    fn wait_release_requested_async(
        &self,
        py: Python<'_>,
        timeout: Option<Length>,
    ) -> PyResult<Py<PyAny>> {
        Self::run(py, self.waiting(py, timeout, |part| Box::pin(part.release_requested()))?)
    }

    /// Awaits `work` for as long as the hold lasts, and returns its result. If the hold is lost, `work` is cancelled
    /// and `Lost` is raised.
    fn run_async(slf: &Bound<'_, Self>, work: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let bridge = slf.py().import("tenure._bridge")?;
        Ok(bridge.call_method1("run_while_held", (slf, work))?.unbind())
    }

    /// Releases the hold, and waits for the store's answer.
    ///
    /// Raises `Lost` if the hold had already ended, and `InDoubt` if the store does not answer within two seconds. The
    /// release is then tried again in the background.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.releasing(py)?.wait(py).map(drop)
    }

    /// Releases the hold, as `release` does, in asyncio.
    fn release_async(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::run(py, self.releasing(py)?)
    }

    /// The call that releases the hold.
    fn releasing(&self, py: Python<'_>) -> PyResult<Call> {
        let held = self.take().map_err(|failure| failure.into_pyerr(py))?;
        if held.check().is_err() {
            self.was_lost.store(true, Ordering::Release);
        }
        Call::new(py, held.release(), |(), py| Ok(py.None()))
    }

    /// Stops renewals without releasing the lock, which stays taken until its lease ends. Returns how many seconds
    /// longer you may count on it.
    fn leave_to_expire(&self, py: Python<'_>) -> PyResult<f64> {
        let left = match self.take().map_err(|failure| failure.into_pyerr(py))? {
            Held::One(guard) => guard.leave_to_expire(),
            Held::All(all) => all.leave_to_expire(),
            entered @ Held::Reentrant(_) => {
                self.put_back(entered);
                let what = "a reentrant hold is shared by all who entered it";
                return Err(Failure::usage(what).helped("release it").into_pyerr(py));
            }
        };
        Ok(left.as_secs_f64())
    }

    /// Cancels `hold_at_least`, so that the name is free as soon as this hold is released. Use this if the work failed
    /// and another process may try it again at once.
    fn cancel_hold_at_least(&self, py: Python<'_>) -> PyResult<()> {
        let cancel = |held: &Held| {
            held.parts().iter().for_each(tenure::Guard::cancel_hold_at_least);
        };
        self.with(cancel).map_err(|failure| failure.into_pyerr(py))
    }

    /// Turns the hold of a writer into that of a reader, which is returned: no other writer comes in between. This hold
    /// is over.
    ///
    /// If the store refuses, the lock is released and an error raised.
    fn downgrade(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.downgrading(py)?.wait(py)
    }

    /// Turns the hold of a writer into that of a reader, as `downgrade` does, in asyncio.
    fn downgrade_async(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Self::run(py, self.downgrading(py)?)
    }

    /// The call that turns the hold of a writer into that of a reader.
    fn downgrading(&self, py: Python<'_>) -> PyResult<Call> {
        let held = self.take().map_err(|failure| failure.into_pyerr(py))?;
        let Held::One(guard) = held else {
            self.put_back(held);
            return Err(
                Failure::usage("only the hold of a writer can become a reader's").into_pyerr(py)
            );
        };
        let (work, store) = (WriteGuard::from(guard).downgrade(), self.store.clone());
        let work = async move { Ok((Held::One(work.await?), store)) };
        Call::new(py, work, |(held, store), py| Self::new(py, held, store)?.into_py_any(py))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Releases the hold. Raises `Lost` if it was lost meanwhile, unless the block raised something.
    #[pyo3(signature = (kind, error, traceback))]
    pub(crate) fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let _ = traceback;
        let raised = kind.is_some() || error.is_some();
        match self.releasing(py) {
            Ok(releasing) => {
                let released = releasing.wait(py).map(drop);
                released.or_else(|error| after_block(error, py, raised))?;
            }
            Err(error) if self.process.is_current() => drop(error),
            // The parent's hold is not the child's to release, and the child's work was not under it.
            Err(error) => return if raised { Ok(false) } else { Err(error) },
        }
        Ok(false)
    }

    fn __aenter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("tenure._bridge")?.call_method1("itself", (slf,))?.unbind())
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __aexit__(
        slf: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = (kind, traceback);
        let bridge = slf.py().import("tenure._bridge")?;
        Ok(bridge.call_method1("leave", (slf, error))?.unbind())
    }

    /// Whether it belongs to a process that this one was forked from.
    fn _is_of_parent(&self) -> bool {
        !self.process.is_current()
    }

    /// What the end of a block does about a release that failed: a loss is raised if the block raised nothing. A
    /// release without an answer is logged, as the block was under the lock to its end.
    fn _after_block(&self, error: &Bound<'_, PyAny>, raised: bool) -> PyResult<()> {
        after_block(PyErr::from_value(error.clone()), error.py(), raised)
    }

    fn __repr__(&self) -> String {
        let state = match (self.process.is_current(), self.checked().is_ok(), self.lost()) {
            (false, ..) => "of the parent process",
            (true, true, _) => "held",
            (true, false, true) => "lost",
            (true, false, false) => "released",
        };
        format!("<tenure.Hold of {:?}, token {}, {state}>", self.name(), self.token())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Its text takes a lock, as nothing does in a child.
        let what = format!("{} was not released, and is released now", self.__repr__());
        let held = match self.held.get_mut() {
            Ok(held) => held.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if !self.process.is_current() {
            // Both are the parent's, one of whose threads may have had a lock inside.
            std::mem::forget((held, std::mem::take(&mut self.has_ended)));
            return;
        }
        let Some(held) = held else { return };
        let dropped = Python::try_attach(move |py| {
            // Dropping it may wait for the store.
            let raised = PyErr::take(py);
            outside(py, || drop(held));
            if let Ok(what) = std::ffi::CString::new(what) {
                let warned = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), &what, 1);
                if let Err(error) = warned {
                    error.write_unraisable(py, None);
                }
            }
            // It may be collected while an exception goes up.
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
        let _ = dropped;
    }
}

/// See `Hold::_after_block`.
fn after_block(error: PyErr, py: Python<'_>, raised: bool) -> PyResult<()> {
    let errors = py.import("tenure._errors")?;
    if error.is_instance(py, &errors.getattr("Lost")?) {
        return if raised { Ok(()) } else { Err(error) };
    }
    if !error.is_instance(py, &errors.getattr("Error")?) {
        return Err(error);
    }
    let logger = py.import("logging")?.call_method1("getLogger", ("tenure",))?;
    logger.call_method1("warning", ("%s", error.value(py).str()?))?;
    Ok(())
}
