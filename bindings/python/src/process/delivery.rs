//! Outcomes on their way to the tasks that await them in asyncio.

use std::{
    fmt, io,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use pyo3::{prelude::*, types::PyList};

use super::{Process, owned::Owned, visits::Visits};
use crate::{failure::Failure, outside::outside};

/// Turns the outcome of a call into a Python value. If it is dropped instead, what it holds is released.
pub(crate) type Deliver = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// Where outcomes go, each with the key that its caller waits under.
pub(crate) type Deliveries = mpsc::Sender<Outcome>;

type Outcome = (u64, Result<Deliver, Failure>);

/// Starts the thread that delivers for this process. It is a thread apart: a program that holds the interpreter lock
/// delays it, and must not delay the waits.
pub(crate) fn start(visits: Visits) -> io::Result<Deliveries> {
    let (deliveries, outcomes) = mpsc::channel();
    thread::Builder::new()
        .name("tenure-asyncio".into())
        .spawn(move || deliver(&outcomes, &visits))?;
    Ok(deliveries)
}

/// Delivers outcomes until the interpreter ends. Those that are left then are dropped, and so released.
fn deliver(outcomes: &mpsc::Receiver<Outcome>, visits: &Visits) {
    while let Ok(first) = outcomes.recv() {
        let batch: Vec<_> = std::iter::once(first).chain(outcomes.try_iter()).collect();
        let goes_on = visits.make(|py| {
            let (list, process) = (PyList::empty(py), Process::current(py)?);
            for (key, outcome) in batch {
                list.append((key, Py::new(py, Delivered::new(process, outcome))?))?;
            }
            py.import("tenure._bridge")?.call_method1("deliver", (list,)).map(drop)
        });
        if !goes_on {
            return;
        }
    }
}

/// The outcome of a call on its way to the task that awaits it.
#[pyclass(frozen, module = "tenure._tenure")]
pub(crate) struct Delivered(Owned<Mutex<Option<Result<Deliver, Failure>>>>);

impl Delivered {
    fn new(process: &'static Process, outcome: Result<Deliver, Failure>) -> Self {
        Self(Owned::new(process, Mutex::new(Some(outcome))))
    }

    fn remove(&self) -> Result<Option<Result<Deliver, Failure>>, Failure> {
        let Some(outcome) = self.0.get() else {
            return Err(Failure::lost_by_fork(self.0.process.pid()));
        };
        Ok(outcome.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

#[pymethods]
impl Delivered {
    /// Returns the value of the call, or raises its error. In a forked child, what the call acquired is lost.
    fn take(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.remove() {
            Ok(Some(Ok(deliver))) => deliver(py),
            Ok(Some(Err(failure))) | Err(failure) => Err(failure.into_pyerr(py)),
            Ok(None) => Err(Failure::usage("this outcome was taken before").into_pyerr(py)),
        }
    }

    /// Releases what the call acquired, as its caller has gone. Does nothing in a forked child.
    fn discard(&self, py: Python<'_>) {
        let outcome = self.remove();
        outside(py, || drop(outcome));
    }
}

impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivered").finish_non_exhaustive()
    }
}
