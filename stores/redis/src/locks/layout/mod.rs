//! The keys of a lock, and the records in them.

pub(crate) mod fields;
pub(crate) mod keys;
pub(crate) mod records;
pub(crate) mod reply;
pub(crate) mod wire;
