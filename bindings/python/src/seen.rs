//! What is seen of locks: for people, it proves nothing.

use pyo3::prelude::*;
use tenure::inspect::{Contender, Leader, Mode, Snapshot, Waiting};

/// The holders and the waiters of a lock, at one moment.
#[pyclass(frozen, name = "Snapshot", module = "tenure", get_all)]
#[derive(Debug)]
pub(crate) struct SeenLock {
    /// The holders.
    holders: Vec<Py<SeenContender>>,
    /// The waiters, the next one first.
    waiters: Vec<Py<SeenContender>>,
}

/// A snapshot before its Python objects are made.
#[derive(Debug)]
pub(crate) struct Seen(pub(crate) Snapshot);

impl<'py> IntoPyObject<'py> for Seen {
    type Target = SeenLock;
    type Output = Bound<'py, SeenLock>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let Snapshot { holders, waiters, .. } = self.0;
        let holders = holders.into_iter().map(|holder| Py::new(py, SeenContender::holder(holder)));
        let waiters = waiters.into_iter().map(|waiter| Py::new(py, SeenContender::waiter(waiter)));
        let seen = SeenLock {
            holders: holders.collect::<PyResult<_>>()?,
            waiters: waiters.collect::<PyResult<_>>()?,
        };
        Bound::new(py, seen)
    }
}

#[pymethods]
impl SeenLock {
    /// Whether the name is held, or stays taken after a release.
    #[getter]
    fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    fn __repr__(&self) -> String {
        format!("<tenure.Snapshot: {} holders, {} waiters>", self.holders.len(), self.waiters.len())
    }
}

/// A holder or a waiter of a lock.
#[pyclass(frozen, name = "Contender", module = "tenure", get_all)]
#[derive(Debug)]
pub(crate) struct SeenContender {
    /// What the contender calls itself.
    label: String,
    /// What the label does not tell: user, host, process, operation and reason.
    details: Option<String>,
    /// The token of its hold; `None` for a waiter.
    token: Option<u64>,
    /// Since when it holds or waits, in seconds since the epoch, if the store knows.
    since: Option<f64>,
    /// What is left of its lease, in seconds, if the store knows; `None` for a waiter.
    left: Option<f64>,
    /// `exclusive`, `shared` or `permits`.
    mode: &'static str,
    /// Whether it released the name, which only stays taken for a while.
    lingering: bool,
}

impl SeenContender {
    pub(crate) fn holder(it: Contender) -> Self {
        Self {
            details: it.details(),
            token: it.token.map(tenure::Token::get),
            since: it.since.map(seconds),
            left: it.left.map(|left| left.as_secs_f64()),
            mode: mode(it.mode),
            lingering: it.lingering,
            label: it.label,
        }
    }

    fn waiter(it: Waiting) -> Self {
        let (details, since, mode) = (it.details(), it.since.map(seconds), mode(it.mode));
        Self { label: it.label, details, token: None, since, left: None, mode, lingering: false }
    }
}

#[pymethods]
impl SeenContender {
    fn __repr__(&self) -> String {
        format!("<tenure.Contender {:?}>", self.label)
    }
}

/// The leader of an election.
#[pyclass(frozen, name = "Leader", module = "tenure", get_all)]
#[derive(Debug)]
pub(crate) struct SeenLeader {
    /// The label of the candidate: its address, for example.
    label: String,
    /// The term, which is greater than that of every leader before it.
    term: u64,
    /// When the term began, in seconds since the epoch, if the store knows.
    since: Option<f64>,
}

impl SeenLeader {
    pub(crate) fn new(leader: Leader) -> Self {
        let Leader { label, term, since, .. } = leader;
        Self { label, term: term.get(), since: since.map(seconds) }
    }
}

#[pymethods]
impl SeenLeader {
    fn __repr__(&self) -> String {
        format!("<tenure.Leader {:?} of term {}>", self.label, self.term)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a time for people")]
fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

const fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
    }
}
