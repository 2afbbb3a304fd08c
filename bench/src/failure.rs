//! What ends a run.

/// An error that ends the run.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
