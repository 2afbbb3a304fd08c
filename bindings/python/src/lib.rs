//! tenure for Python.

use pyo3::prelude::*;

#[pymodule]
mod _tenure {}
