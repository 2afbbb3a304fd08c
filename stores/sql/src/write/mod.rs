//! How a row is changed: read, decided on and written back, on the condition that nobody wrote meanwhile.

pub(crate) mod attempt;
pub(crate) mod decision;
pub(crate) mod group;
pub(crate) mod request;
pub(crate) mod retry;
pub(crate) mod turn_policy;
