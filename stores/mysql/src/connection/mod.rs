//! Connections, and who has which.

pub(crate) mod calls;
pub(crate) mod lane;
pub(crate) mod open;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod tls;
pub(crate) mod turnstile;
