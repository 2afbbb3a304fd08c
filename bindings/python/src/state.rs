//! A store as one process has it open.
//!
//! A forked child finds no entry under its own process id. It opens the store anew, and never touches its parent's.

use std::{
    mem,
    path::PathBuf,
    sync::{
        Arc, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use pyo3::prelude::*;
use tenure::{Tenure, store::MemoryStore};

use crate::{clock::MovedClock, failure::Failure, process::Identity};

/// Where a store is, which a forked child remembers.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// What the configuration file and the variables name.
    Environment,
    Url(String),
    /// A directory of the embedded store.
    Directory(PathBuf),
    /// A store of this process alone, on a clock that a test moves.
    Clocked(MovedClock),
}

/// A store, open in some processes.
#[derive(Debug)]
pub(crate) struct StoreState {
    origin: Origin,
    is_closed: AtomicBool,
    first: Entry,
}

#[derive(Debug)]
struct Entry {
    process: Identity,
    opened: RwLock<Option<Tenure>>,
    /// Lets one caller at a time open it.
    gate: tokio::sync::Mutex<()>,
    next: OnceLock<Box<Self>>,
}

impl Entry {
    fn new() -> Self {
        let (process, opened) = (Identity::current(), RwLock::default());
        Self { process, opened, gate: tokio::sync::Mutex::default(), next: OnceLock::new() }
    }

    fn tenure(&self) -> Option<Tenure> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_current(&self) -> bool {
        self.process == Identity::current()
    }
}

impl StoreState {
    pub(crate) fn new(origin: Origin) -> Arc<Self> {
        Arc::new(Self { origin, is_closed: AtomicBool::new(false), first: Entry::new() })
    }

    /// Makes this state ready for use in this process. The caller has the interpreter lock, so no fork finds it half
    /// done.
    pub(crate) fn ready(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_closed.load(Ordering::Acquire) {
            let closed = Failure::usage("this tenure was closed").helped("open another");
            return Err(closed.into_pyerr(py));
        }
        if self.entry().is_some() {
            return Ok(());
        }
        if self.is_of_one_process() {
            return Err(self.not_shared().into_pyerr(py));
        }
        let mut last = &self.first;
        loop {
            match last.next.get() {
                Some(next) => last = next,
                None => drop(last.next.set(Box::new(Entry::new()))),
            }
            if last.is_current() {
                return Ok(());
            }
        }
    }

    /// The store as this process has it open. Opens it if that was not done yet.
    pub(crate) async fn opened(self: Arc<Self>) -> Result<Tenure, Failure> {
        let Some(entry) = self.entry() else { return Err(Failure::forked(self.first.process.pid)) };
        if let Some(tenure) = entry.tenure() {
            return Ok(tenure);
        }
        let _one = entry.gate.lock().await;
        if let Some(tenure) = entry.tenure() {
            return Ok(tenure);
        }
        let tenure = match &self.origin {
            Origin::Environment => Tenure::from_env().await?,
            Origin::Url(url) => Tenure::open(url).await?,
            Origin::Directory(dir) => {
                let dir = dir.to_str().ok_or_else(|| Failure::usage("the path is not UTF-8"))?;
                Tenure::open(format!("file:{dir}")).await?
            }
            Origin::Clocked(clock) => {
                let clock = Arc::new(clock.clone());
                let store = Arc::new(MemoryStore::with_clock(clock.clone()));
                Tenure::builder(store).clock(clock).build()
            }
        };
        if tenure.store().kind() == "memory" && !self.first.is_current() {
            return Err(self.not_shared());
        }
        *entry.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(tenure.clone());
        Ok(tenure)
    }

    /// The store, if this process has it open.
    pub(crate) fn tenure(&self) -> Option<Tenure> {
        self.entry()?.tenure()
    }

    /// Lets this process's store go, and waits up to a second for the releases that have begun. Call it without the
    /// interpreter lock.
    pub(crate) fn let_go(&self) {
        let Some(entry) = self.entry() else { return };
        let tenure = entry.opened.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(tenure);
    }

    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// The child would exclude nothing but itself.
    fn not_shared(&self) -> Failure {
        let parent = self.first.process.pid;
        Failure::usage(format!("a memory store of process {parent} is not shared with its forks"))
            .helped("open another store in the child")
    }

    fn is_of_one_process(&self) -> bool {
        match &self.origin {
            Origin::Clocked(_) => true,
            Origin::Url(url) => url.starts_with("memory:"),
            _ => false,
        }
    }

    fn entry(&self) -> Option<&Entry> {
        let mut found = Some(&self.first);
        while let Some(entry) = found {
            if entry.is_current() {
                return Some(entry);
            }
            found = entry.next.get().map(|next| &**next);
        }
        None
    }
}

impl Drop for StoreState {
    fn drop(&mut self) {
        // What a parent has open is not this process's to close.
        let mut entry = &mut self.first;
        loop {
            if !entry.is_current() {
                mem::forget(mem::take(&mut entry.opened));
            }
            match entry.next.get_mut() {
                Some(next) => entry = next,
                None => break,
            }
        }
    }
}
