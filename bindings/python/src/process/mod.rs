//! What exists once per process: the thread whose runtime drives waits, the one that delivers to asyncio, and the one
//! that logs.
//!
//! A forked child has none of them. It finds no state under its own process id and makes a new one; its parent's is
//! never used or dropped, so what a fork at any moment leaves locked there holds up nothing.

pub(crate) mod delivery;
pub(crate) mod log_thread;
pub(crate) mod owned;
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

/// Keeps the thread that logs out of Python during a fork.
#[pyfunction]
pub(crate) fn _forking(py: Python<'_>) {
    if let Some(process) = Process::find() {
        outside(py, || process.log_visits.pause());
    }
}

/// Lets the thread that logs go on in the parent of a fork, or after a fork that failed.
#[pyfunction]
pub(crate) fn _has_forked() {
    if let Some(process) = Process::find() {
        process.log_visits.resume();
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
        outside(py, || {
            process.delivery_visits.end();
            process.log_visits.end();
        });
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
    /// Those of the thread that delivers. A slow handler of the log does not hold up asyncio.
    delivery_visits: Visits,
    log_visits: Visits,
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

    /// Whether nothing is delivered any more, as the program ends.
    pub(crate) fn is_ending(&self) -> bool {
        self.delivery_visits.have_ended()
    }

    /// Hands the outcome of a call to the event loop that waits for it.
    pub(crate) fn deliver(&self, key: u64, outcome: Result<Deliver, Failure>) {
        // If the thread is gone, the interpreter has ended. What is dropped here is released.
        drop(self.deliveries.send((key, outcome)));
    }

    fn start() -> io::Result<&'static Self> {
        let runtime = tenure_core::runtime::start("tenure-python")?;
        let (delivery_visits, log_visits) = (Visits::default(), Visits::default());
        let deliveries = delivery::start(delivery_visits.clone())?;
        let logs = log_thread::start(log_visits.clone())?;
        let (identity, next) = (Identity::current(), OnceLock::new());
        let it = Self { identity, runtime, deliveries, logs, delivery_visits, log_visits, next };
        Ok(Box::leak(Box::new(it)))
    }
}
