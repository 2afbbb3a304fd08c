//! The nodes of contenders: how they are named, what stands in them, and in which order they are served.

pub(crate) mod alone;
pub(crate) mod data;
pub(crate) mod encoding;
pub(crate) mod entries;
pub(crate) mod full;
pub(crate) mod layout;
pub(crate) mod node;
pub(crate) mod queue;
pub(crate) mod token_memory;
pub(crate) mod tokens;
