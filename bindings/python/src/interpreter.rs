//! Which interpreters may use this module: the main one alone.
//!
//! Threads of this module call back into Python, which reaches the main interpreter whichever one has imported it.

use pyo3::{exceptions::PyImportError, prelude::*};

/// Refuses a subinterpreter.
pub(crate) fn check(py: Python<'_>) -> PyResult<()> {
    if id(py)? == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(
        "tenure cannot be used in a subinterpreter; use it in the main one, or in a process",
    ))
}

/// The number of the current interpreter; 0 is the main one.
fn id(py: Python<'_>) -> PyResult<i64> {
    // Its name since Python 3.13, and before. An interpreter without either, such as PyPy, has no subinterpreters.
    let found = py.import("_interpreters").or_else(|_| py.import("_xxsubinterpreters"));
    let Ok(interpreters) = found else { return Ok(0) };
    let current = interpreters.call_method0("get_current")?;
    let id = current.get_item(0).unwrap_or(current);
    id.call_method0("__index__")?.extract()
}
