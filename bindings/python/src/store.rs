//! The class `Store`, from which Python code makes acquisitions and calls.

use std::{
    future::Future,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use pyo3::{IntoPyObjectExt, prelude::*};
use tenure::{Error, LockName, Tenure, asking::ReleaseAnswer};

use crate::{
    acquisition::Acquisition,
    call::Call,
    clock::Clock,
    failure::Failure,
    logs,
    outside::outside,
    seen::{Seen, SeenContender, SeenLeader},
    settings::Length,
    state::{Origin, StoreState},
    wanted::Wanted,
};

/// How long the end of a program waits for the releases that have begun.
const PATIENCE: Duration = Duration::from_secs(1);

/// A store by its URL, which each process opens for itself.
#[pyclass(frozen, weakref, module = "tenure._tenure")]
#[derive(Debug)]
pub(crate) struct Store {
    state: Arc<StoreState>,
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (url=None, *, directory=None, clock=None))]
    fn new(
        py: Python<'_>,
        url: Option<String>,
        directory: Option<PathBuf>,
        clock: Option<&Clock>,
    ) -> PyResult<Self> {
        logs::follow_levels(py)?;
        let origin = match (url, directory, clock) {
            (_, _, Some(clock)) => Origin::Clocked(clock.clock.clone()),
            (_, Some(directory), _) => Origin::Directory(directory),
            (Some(url), _, _) => Origin::Url(url),
            (None, None, None) => Origin::Environment,
        };
        Ok(Self { state: StoreState::new(origin) })
    }

    /// Opens the store, if this process has not opened it yet.
    fn opening(&self, py: Python<'_>) -> PyResult<Call> {
        self.call(py, async |_| Ok(()), nothing)
    }

    /// Refuses further acquisitions, and waits for what is held to be released.
    fn closing(&self, py: Python<'_>, within: Length) -> PyResult<Call> {
        let tenure = self.state.tenure();
        self.state.close();
        let work = async move {
            match tenure {
                Some(tenure) => Ok(tenure.shutdown(within.0).await?),
                None => Ok(()),
            }
        };
        Call::new(py, work, nothing)
    }

    /// The kind of the store, or `None` if this process has not opened it.
    #[getter]
    fn kind(&self) -> Option<&'static str> {
        Some(self.state.tenure()?.store().kind())
    }

    /// The store without its password, or `None` if this process has not opened it.
    #[getter]
    fn location(&self) -> Option<String> {
        Some(self.state.tenure()?.store().location())
    }

    /// Makes an acquisition of this kind of lock.
    #[allow(clippy::too_many_arguments, reason = "one call for all kinds, made in one place")]
    #[pyo3(signature = (kind, names, settings, take=1, of=1, scope=None))]
    fn acquisition(
        &self,
        py: Python<'_>,
        kind: &str,
        names: Vec<String>,
        settings: &Bound<'_, PyAny>,
        take: u32,
        of: u32,
        scope: Option<Py<PyAny>>,
    ) -> PyResult<Acquisition> {
        let name = || names.first().cloned().unwrap_or_default();
        let wanted = match (kind, &scope) {
            ("mutex", None) => Wanted::Mutex(name()),
            ("reentrant", Some(_)) => Wanted::Reentrant(name(), None),
            ("read", None) => Wanted::Read(name()),
            ("write", None) => Wanted::Write(name()),
            ("permits", None) => Wanted::Permits { name: name(), take, of },
            ("all", None) => Wanted::All(names),
            ("term", None) => Wanted::Term(name()),
            _ => {
                let what = format!("{kind:?} is not a kind of lock");
                return Err(Failure::usage(what).into_pyerr(py));
            }
        };
        Ok(Acquisition::new(self.state.clone(), wanted, scope, settings.extract()?))
    }

    /// Looks at the holders and waiters of a lock.
    fn inspecting(&self, py: Python<'_>, name: String) -> PyResult<Call> {
        let work = async move |tenure: Tenure| Ok(tenure.inspect(&name).await?);
        self.call(py, work, |seen, py| Seen(seen).into_py_any(py))
    }

    /// Takes a lock from all that hold it now, and returns them.
    #[pyo3(signature = (name, reason=None))]
    fn breaking(&self, py: Python<'_>, name: String, reason: Option<String>) -> PyResult<Call> {
        let work = async move |tenure: Tenure| {
            let seen = tenure.inspect(&name).await?;
            let broken = tenure.evict_seen(&name, &seen).await?;
            if !broken.is_empty() {
                let name = LockName::new(&name).map_err(Error::from)?;
                tenure.record_break(&name, &broken, reason);
            }
            Ok(broken)
        };
        self.call(py, work, |broken, py| {
            let broken =
                broken.into_iter().map(|holder| Py::new(py, SeenContender::holder(holder)));
            broken.collect::<PyResult<Vec<_>>>()?.into_py_any(py)
        })
    }

    /// Asks the holder of a lock to release it.
    #[pyo3(signature = (name, reason=None, wait=None))]
    fn asking_release(
        &self,
        py: Python<'_>,
        name: String,
        reason: Option<String>,
        wait: Option<Length>,
    ) -> PyResult<Call> {
        let work = async move |tenure: Tenure| {
            let mut asking = tenure.ask_release(&name);
            if let Some(reason) = reason {
                asking = asking.reason(reason);
            }
            if let Some(Length(wait)) = wait {
                asking = asking.wait(wait);
            }
            Ok(!matches!(asking.await?, ReleaseAnswer::Held(_)))
        };
        self.call(py, work, |is_free, py| is_free.into_py_any(py))
    }

    /// Looks which candidate leads.
    fn leader(&self, py: Python<'_>, name: String) -> PyResult<Call> {
        let work = async move |tenure: Tenure| Ok(tenure.election(&name).leader().await?);
        self.call(py, work, |leader, py| leader.map(SeenLeader::new).into_py_any(py))
    }

    /// Arrives at a latch, and returns how many arrivals are missing.
    #[pyo3(signature = (name, count, who, keep=None))]
    fn arriving(
        &self,
        py: Python<'_>,
        name: String,
        count: u32,
        who: String,
        keep: Option<Length>,
    ) -> PyResult<Call> {
        let work = async move |tenure: Tenure| {
            let mut latch = tenure.latch(&name, count);
            if let Some(Length(keep)) = keep {
                latch = latch.keep(keep);
            }
            Ok(latch.arrive(&who).await?)
        };
        self.call(py, work, |missing, py| missing.into_py_any(py))
    }

    /// Waits until a latch is open.
    #[pyo3(signature = (name, count, wait=None))]
    fn passing(
        &self,
        py: Python<'_>,
        name: String,
        count: u32,
        wait: Option<Length>,
    ) -> PyResult<Call> {
        let work = async move |tenure: Tenure| {
            let passing = tenure.latch(&name, count).wait();
            let passing = match wait {
                Some(Length(wait)) => passing.within(wait),
                None => passing,
            };
            Ok(passing.await?)
        };
        self.call(py, work, nothing)
    }

    /// Returns who has arrived at a latch.
    fn arrived(&self, py: Python<'_>, name: String, count: u32) -> PyResult<Call> {
        let work = async move |tenure: Tenure| Ok(tenure.latch(&name, count).arrived().await?);
        self.call(py, work, |names, py| names.into_py_any(py))
    }

    /// Forgets all arrivals at a latch.
    fn resetting(&self, py: Python<'_>, name: String, count: u32) -> PyResult<Call> {
        let work = async move |tenure: Tenure| Ok(tenure.latch(&name, count).reset().await?);
        self.call(py, work, nothing)
    }
}

impl Store {
    /// A call of the open store.
    fn call<T, W, F>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Tenure) -> W + Send + 'static,
        deliver: F,
    ) -> PyResult<Call>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Failure>> + Send,
        F: FnOnce(T, Python<'_>) -> PyResult<Py<PyAny>> + Send + 'static,
    {
        self.state.ready(py)?;
        let state = self.state.clone();
        Call::new(py, async move { work(state.opened().await?).await }, deliver)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if Arc::strong_count(&self.state) == 1 && self.state.tenure().is_some() {
            // It may wait for what is being released.
            let _ = Python::try_attach(|py| outside(py, || self.state.let_go()));
        }
    }
}

/// Lets go of these stores as the program ends, and waits for the releases that have begun: for a second at most, however
/// many stores there are.
#[pyfunction]
pub(crate) fn _finish(py: Python<'_>, stores: Vec<Py<Store>>) {
    let states: Vec<_> = stores.iter().map(|store| store.get().state.clone()).collect();
    outside(py, || {
        let (done, all_done) = mpsc::channel::<()>();
        for state in states.into_iter().filter(|state| state.tenure().is_some()) {
            let done = done.clone();
            let lets_go = move || {
                state.let_go();
                drop(done);
            };
            let thread = thread::Builder::new().name("tenure-finish".into());
            // Without a thread, what is released in the background may not arrive. Its lease ends on its own.
            drop(thread.spawn(lets_go));
        }
        drop(done);
        let _ = all_done.recv_timeout(PATIENCE);
    });
}

/// The outcome of a call that returns nothing.
fn nothing((): (), py: Python<'_>) -> PyResult<Py<PyAny>> {
    Ok(py.None())
}
