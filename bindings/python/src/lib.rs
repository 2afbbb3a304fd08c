//! tenure for Python: the native part of the package `tenure`.
//!
//! Python code in `python/tenure` makes the locks of each kind. What waits, holds and releases is here.

mod acquisition;
mod call;
mod clock;
mod failure;
mod hold;
mod interpreter;
mod logs;
mod outside;
mod process;
mod seen;
mod settings;
mod state;
mod store;
mod waiting;
mod wanted;

/// The native part of tenure. Use the package `tenure`.
///
/// A build without the interpreter lock turns it on for this module, which was never tested without.
#[pyo3::pymodule(gil_used = true)]
mod _tenure {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        acquisition::Acquisition,
        call::Call,
        clock::Clock,
        hold::Hold,
        process::{_ending, _forked, _forking, _has_forked, delivery::Delivered},
        seen::{SeenContender, SeenLeader, SeenLock},
        settings::_check_settings,
        store::{_finish, Store},
        wanted::Scope,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpreter::check(module.py())
    }
}
