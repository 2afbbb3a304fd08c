//! The keys, channels and fields of Redisson.

pub(crate) mod holder;
pub(crate) mod keys;
