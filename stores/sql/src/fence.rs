//! What the fences of all databases say.

use tenure_core::{LockName, Token};

/// That a later holder was here.
#[must_use]
pub fn stale(name: &LockName, token: Token) -> String {
    format!(
        "a later holder of lock {:?} got here before token {token}; roll back, and start again \
         under a new lock",
        name.as_str()
    )
}

/// That the database refused, or was not reached, which said so.
#[must_use]
pub fn not_reached(said: &str) -> String {
    format!("the fence was not reached: {said}; roll back, and try again while the lock is held")
}

/// What a table of a fence is to be called, where `name` cannot be.
#[must_use]
pub fn no_table(name: &str) -> String {
    format!("{name:?} cannot be the table of a fence")
}
