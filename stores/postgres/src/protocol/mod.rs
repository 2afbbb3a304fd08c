//! What is let through of what the server says, encrypted or not.

pub(crate) mod answers;
pub(crate) mod bounded;
pub(crate) mod frames;
pub(crate) mod tls;
