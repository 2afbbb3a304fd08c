//! Connections, and which of them a call takes.

pub(crate) mod connection_count;
pub(crate) mod flights;
pub(crate) mod hidden;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod leaving;
pub(crate) mod notices;
pub(crate) mod open;
pub(crate) mod plans;
pub(crate) mod session_guard;
pub(crate) mod settings;
pub(crate) mod side_table;
