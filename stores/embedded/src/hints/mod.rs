//! What processes tell each other, and how it arrives.

pub(crate) mod direct;
pub(crate) mod ear;
pub(crate) mod hint;
pub(crate) mod listening;
pub(crate) mod sender;
pub(crate) mod socket;
pub(crate) mod watch;
