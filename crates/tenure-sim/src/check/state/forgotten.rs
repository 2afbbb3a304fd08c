//! Which leases the store lost with its data or to an operator, also those of which nobody was told
//! yet.

use std::collections::BTreeMap;

use tenure_core::{LockName, Token};

/// The times in the last tokens that were given out before.
#[derive(Debug, Default)]
pub(in crate::check) struct Forgotten {
    all: u64,
    names: BTreeMap<LockName, u64>,
}

impl Forgotten {
    /// All leases with tokens up to this one are gone.
    pub(in crate::check) fn all(&mut self, last: u64) {
        self.all = self.all.max(last);
    }

    /// Those of one name are.
    pub(in crate::check) fn those_of(&mut self, name: &LockName, last: u64) {
        self.names.insert(name.clone(), last);
    }

    /// Whether the lease with this token is gone.
    pub(in crate::check) fn has(&self, name: &LockName, token: Token) -> bool {
        let last = self.names.get(name).copied().unwrap_or_default();
        token.time() <= last.max(self.all)
    }
}
