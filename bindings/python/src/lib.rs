//! tenure for Python: the native part of the package `tenure`.
//!
//! Python code in `python/tenure` makes the locks of each kind. What waits, holds and releases is here.

mod acquisition;
mod call;
mod failure;
mod hold;
mod logs;
mod process;
mod seen;
mod settings;
mod state;
mod store;
mod thread_waker;
mod waiting;
mod wanted;

use pyo3::prelude::*;

/// The native part of tenure. Use the package `tenure`.
#[pymodule(gil_used = false)]
mod _tenure {
    #[pymodule_export]
    use crate::{
        acquisition::Acquisition,
        call::{Call, Delivered},
        hold::Hold,
        seen::{SeenContender, SeenLeader, SeenLock},
        store::{Clock, Store},
        wanted::Scope,
    };
}
