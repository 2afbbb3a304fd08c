//! An acquisition, before it is made and while it lasts.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use pyo3::{IntoPyObjectExt, prelude::*};

use crate::{
    call::Call,
    failure::Failure,
    hold::Hold,
    settings::Settings,
    state::StoreState,
    wanted::{Scope, Wanted},
};

/// An acquisition of a lock. Nothing is asked before `with`, `async with`, `await` or `acquire()`.
///
/// A `with` block raises `Lost` at its end if the hold was lost meanwhile, unless its body raised something else.
///
/// One acquisition can be used again when its block has ended. Two threads or tasks that lock at a time need one each.
#[pyclass(frozen, module = "tenure")]
#[derive(Debug)]
pub(crate) struct Acquisition {
    state: Arc<StoreState>,
    wanted: Wanted,
    /// Of a reentrant lock: what returns the scope of the thread or task that calls it.
    scope: Option<Py<PyAny>>,
    settings: Settings,
    block: Mutex<Block>,
}

/// The `with` block of an acquisition.
#[derive(Debug)]
enum Block {
    Left,
    Entering,
    Inside(Py<Hold>),
}

impl Acquisition {
    pub(crate) fn new(
        state: Arc<StoreState>,
        wanted: Wanted,
        scope: Option<Py<PyAny>>,
        settings: Settings,
    ) -> Self {
        Self { state, wanted, scope, settings, block: Mutex::new(Block::Left) }
    }

    /// What is asked for by the thread or task that asks for it now.
    fn wanted(&self, py: Python<'_>) -> PyResult<Wanted> {
        let wanted = self.wanted.clone();
        let Some(scope) = &self.scope else { return Ok(wanted) };
        let scope = scope.call0(py)?.extract::<Py<Scope>>(py)?;
        Ok(wanted.within(scope.get()))
    }

    /// Nothing calls Python while it has this: another thread would wait for it with the interpreter lock.
    fn block(&self) -> MutexGuard<'_, Block> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the block, and returns the one before, whose hold must not be dropped under the guard.
    fn replace_block(&self, block: Block) -> Block {
        mem::replace(&mut *self.block(), block)
    }

    fn reserves_block(&self) -> bool {
        let mut block = self.block();
        let is_left = matches!(*block, Block::Left);
        if is_left {
            *block = Block::Entering;
        }
        is_left
    }

    fn begin_block(&self, py: Python<'_>) -> PyResult<()> {
        if self.reserves_block() {
            return Ok(());
        }
        let what = "this acquisition is in use already";
        let help = "call lock() for each block, thread and task";
        Err(Failure::usage(what).helped(help).into_pyerr(py))
    }
}

#[pymethods]
impl Acquisition {
    /// Acquires the lock, and blocks until it is free. Release the returned hold yourself.
    fn acquire(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.acquiring(py)?.wait(py)
    }

    /// The call that acquires the lock.
    fn acquiring(&self, py: Python<'_>) -> PyResult<Call> {
        self.state.ready(py)?;
        let (state, wanted) = (self.state.clone(), self.wanted(py)?);
        let settings = self.settings.clone();
        let work = async move {
            let tenure = state.opened().await?;
            let store = tenure.store().location();
            Ok((wanted.acquire(tenure, settings).await?, store))
        };
        Call::new(py, work, |(held, store), py| Hold::new(py, held, store)?.into_py_any(py))
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<Hold>> {
        self.begin_block(py)?;
        let acquired = self.acquire(py).and_then(|hold| Ok(hold.extract::<Py<Hold>>(py)?));
        drop(self.replace_block(match &acquired {
            Ok(hold) => Block::Inside(hold.clone_ref(py)),
            Err(_) => Block::Left,
        }));
        acquired
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        match self._leave() {
            Some(hold) => hold.get().__exit__(py, kind, error, traceback),
            None => Ok(false),
        }
    }

    fn __await__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let call = self.acquiring(py)?;
        let waits = py.import("tenure._bridge")?.call_method1("run", (call,))?;
        Ok(waits.call_method0("__await__")?.unbind())
    }

    fn __aenter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let bridge = slf.py().import("tenure._bridge")?;
        Ok(bridge.call_method1("enter", (slf,))?.unbind())
    }

    #[pyo3(signature = (kind, error, traceback))]
    fn __aexit__(
        &self,
        py: Python<'_>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = (kind, traceback);
        let bridge = py.import("tenure._bridge")?;
        Ok(bridge.call_method1("leave", (self._leave(), error))?.unbind())
    }

    /// Reserves this acquisition for an `async with` block.
    fn _begin(&self, py: Python<'_>) -> PyResult<()> {
        self.begin_block(py)
    }

    /// Tells it what the block that begins holds, or that it does not begin.
    #[pyo3(signature = (hold))]
    fn _entered(&self, hold: Option<Py<Hold>>) {
        drop(self.replace_block(hold.map_or(Block::Left, Block::Inside)));
    }

    /// Ends the block, and returns what it holds.
    fn _leave(&self) -> Option<Py<Hold>> {
        match self.replace_block(Block::Left) {
            Block::Inside(hold) => Some(hold),
            Block::Left | Block::Entering => None,
        }
    }

    fn __repr__(&self) -> String {
        format!("<tenure.Acquisition of {:?}>", self.wanted.name())
    }
}
