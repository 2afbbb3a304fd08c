//! Curator's own recipes in JVMs, beside the store.
//!
//! What of Curator's known bugs the store could have is in [`bugs`]; the two that are about downgrades are in
//! [`rwlock`].

mod bugs;
mod child;
mod counting;
mod downgrade;
mod killed;
mod latch;

mod program;
mod raw;
mod revoked;
mod scene;
mod seen;
mod work;

use std::time::Duration;

/// A JVM that runs a command of the program, with the latest Curator.
pub(crate) fn jvm(servers: &str, session: Duration, command: &[&str]) -> program::Peer {
    program::Peer::start(program::Curator::Five, servers, session, command)
}
