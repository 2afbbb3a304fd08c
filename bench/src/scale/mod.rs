//! What only shows at scale: many waiters, many names, short ttls.

pub(crate) mod names;
pub(crate) mod ttls;
pub(crate) mod waiters;
