//! Locks in the keys of a server.

pub(crate) mod capabilities;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod health;
pub(crate) mod hints;
pub(crate) mod layout;
pub(crate) mod listing;
pub(crate) mod method;
pub(crate) mod naming;
pub(crate) mod optimistic;
pub(crate) mod plain;
pub(crate) mod redisson;
pub(crate) mod scripted;
pub(crate) mod scripts;
pub(crate) mod shared_names;
pub(crate) mod wakeups;
pub(crate) mod yields;

pub(crate) use self::{context::Context, method::LockingMethod};
