//! Metrics as text, as Prometheus and node_exporter read it.

pub(crate) mod file;
pub(crate) mod merge;
pub(crate) mod text;
