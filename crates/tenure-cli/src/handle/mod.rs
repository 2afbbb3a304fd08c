//! Handles of detached locks: where they are read from, and where they are kept.
//!
//! A handle is a secret. It is never taken from an argument and never shown in a message, and its file
//! belongs to one user alone.

pub(crate) mod file;
pub(crate) mod read;
pub(crate) mod replace;
pub(crate) mod words;

/// The variable that a handle may be in.
pub(crate) const VARIABLE: &str = "TENURE_HANDLE";
