//! The texts of the fences of all databases.

use tenure_core::{LockName, Token};

/// Returns the text for a claim or check after a later holder.
#[must_use]
pub fn stale(name: &LockName, token: Token) -> String {
    format!(
        "a later holder of lock {:?} got here before token {token}; roll back, and start again \
         under a new lock",
        name.as_str()
    )
}

/// Returns the text for a database that refused or could not be reached, with what it said.
#[must_use]
pub fn not_reached(said: &str) -> String {
    format!("the fence was not reached: {said}; roll back, and try again while the lock is held")
}

/// Returns the help for a table name that cannot be used.
#[must_use]
pub fn no_table(name: &str) -> String {
    format!("{name:?} cannot be the table of a fence")
}
