//! What exists once per process: the thread whose runtime drives waits, and the thread that delivers to asyncio.
//!
//! A forked child has neither thread. It finds no state under its own process id and makes a new one; its parent's is
//! never dropped. Nothing here is locked, so a fork at any moment leaves nothing locked in the child.

pub(crate) mod delivery;
pub(crate) mod log_thread;
mod visits;

use std::{
    io, process,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use pyo3::prelude::*;
use tokio::runtime::Handle;

use self::{
    delivery::{Deliver, Deliveries},
    log_thread::LogQueue,
    visits::Visits,
};
use crate::{
    failure::Failure,
    outside::{self, outside},
};

/// Which process this is. A number alone could be that of an ancestor that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pid: u32,
    /// How many forks of Python lie between it and the first one.
    forks: u32,
}

static FORKS: AtomicU32 = AtomicU32::new(0);

impl Identity {
    /// That of the running process.
    pub(crate) fn current() -> Self {
        Self { pid: process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }
}

/// Counts a fork, in its child.
#[pyfunction]
pub(crate) fn _forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    outside::forked();
}

/// Ends what this module's threads do in Python, as the program ends.
#[pyfunction]
pub(crate) fn _ending(py: Python<'_>) {
    if let Some(process) = Process::find() {
        outside(py, || process.visits.end());
    }
    outside::end(py);
}

/// The state of one process.
#[derive(Debug)]
pub(crate) struct Process {
    identity: Identity,
    /// Timers and sockets of waits belong to it, whichever thread polls them.
    pub(crate) runtime: Handle,
    deliveries: Deliveries,
    pub(crate) logs: LogQueue,
    visits: Visits,
    next: OnceLock<&'static Self>,
}

static FIRST: OnceLock<&'static Process> = OnceLock::new();

impl Process {
    /// The state of this process, started if it does not exist yet.
    pub(crate) fn current(py: Python<'_>) -> PyResult<&'static Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        let started = Self::start().map_err(|error| Failure::no_thread(&error).into_pyerr(py))?;
        // The interpreter lock is held, so no other thread comes here at a time, unless the build has none. Then one of
        // both is used, and the threads of the other stay idle.
        let mut cell = &FIRST;
        loop {
            if cell.set(started).is_ok() {
                return Ok(started);
            }
            match cell.get() {
                Some(found) if found.is_current() => return Ok(found),
                Some(of_parent) => cell = &of_parent.next,
                None => thread::yield_now(),
            }
        }
    }

    /// The state of this process, if it has one.
    pub(crate) fn find() -> Option<&'static Self> {
        let identity = Identity::current();
        let mut found = FIRST.get().copied();
        while let Some(process) = found {
            if process.identity == identity {
                return Some(process);
            }
            found = process.next.get().copied();
        }
        None
    }

    /// Whether this is the state of the running process, not of one that it was forked from.
    pub(crate) fn is_current(&self) -> bool {
        self.identity == Identity::current()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.identity.pid
    }

    /// Hands the outcome of a call to the event loop that waits for it.
    pub(crate) fn deliver(&self, key: u64, outcome: Result<Deliver, Failure>) {
        // If the thread is gone, the interpreter has ended. What is dropped here is released.
        drop(self.deliveries.send((key, outcome)));
    }

    fn start() -> io::Result<&'static Self> {
        let runtime = tenure_core::runtime::start("tenure-python")?;
        let visits = Visits::default();
        let (deliveries, logs) =
            (delivery::start(visits.clone())?, log_thread::start(visits.clone())?);
        let (identity, next) = (Identity::current(), OnceLock::new());
        Ok(Box::leak(Box::new(Self { identity, runtime, visits, deliveries, logs, next })))
    }
}
