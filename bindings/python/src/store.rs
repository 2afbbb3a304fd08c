//! The class `Store`, from which Python code makes acquisitions and calls.

use std::{future::Future, path::PathBuf, sync::Arc};

use pyo3::{IntoPyObjectExt, prelude::*};
use tenure::{Tenure, asking::ReleaseAnswer};

use crate::{
    acquisition::Acquisition,
    call::Call,
    clock::Clock,
    failure::Failure,
    logs,
    outside::outside,
    seen::{Seen, SeenLeader},
    settings::{Length, Settings},
    state::{Origin, StoreState},
    wanted::{Scope, Wanted},
};

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

    /// Waits for the releases that have begun, for a second at most, as the program ends.
    fn finish(&self, py: Python<'_>) {
        outside(py, || self.state.let_go());
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
        settings: Settings,
        take: u32,
        of: u32,
        scope: Option<&Scope>,
    ) -> PyResult<Acquisition> {
        let name = || names.first().cloned().unwrap_or_default();
        let wanted = match (kind, scope) {
            ("mutex", None) => Wanted::Mutex(name()),
            ("reentrant", Some(scope)) => Wanted::Reentrant(name(), scope.scope.clone()),
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
        Ok(Acquisition::new(self.state.clone(), wanted, settings))
    }

    /// Looks at the holders and waiters of a lock.
    fn inspecting(&self, py: Python<'_>, name: String) -> PyResult<Call> {
        let work = async move |tenure: Tenure| Ok(tenure.inspect(&name).await?);
        self.call(py, work, |seen, py| Seen(seen).into_py_any(py))
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

/// The outcome of a call that returns nothing.
fn nothing((): (), py: Python<'_>) -> PyResult<Py<PyAny>> {
    Ok(py.None())
}
