//! Locks in the keys of a server.

pub(crate) mod capabilities;
pub(crate) mod fields;
pub(crate) mod health;
pub(crate) mod hints;
pub(crate) mod keys;
pub(crate) mod listing;
pub(crate) mod naming;
pub(crate) mod optimistic;
pub(crate) mod records;
pub(crate) mod reply;
pub(crate) mod scripted;
pub(crate) mod scripts;
pub(crate) mod wakeups;
pub(crate) mod wire;
