//! Promise S2: tokens are unique, and rise in the order of the holds.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{LockName, Timestamp, Token, proto::queue::Mode};

/// The tokens of all names of a run.
#[derive(Debug, Default)]
pub(in crate::check) struct Tokens {
    names: BTreeMap<LockName, NameTokens>,
}

#[derive(Debug, Default)]
struct NameTokens {
    seen: BTreeSet<Token>,
    greatest: Option<Token>,
    /// The greatest of those who held the name alone.
    greatest_alone: Option<Token>,
    accepted: Option<Token>,
    /// When the store granted the lease that is being passed on, in the time of its process.
    began: BTreeMap<u64, Timestamp>,
}

impl Tokens {
    /// A hold with `token` begins; `valid` says whether it can be counted on, and `apart` whether
    /// readers have tokens of their own. What is wrong with it, if anything is.
    pub(in crate::check) fn begins(
        &mut self,
        name: &LockName,
        token: Token,
        mode: Mode,
        valid: bool,
        apart: bool,
    ) -> Option<String> {
        let state = self.names.entry(name.clone()).or_default();
        if !state.seen.insert(token) && (apart || mode != Mode::Shared) {
            return Some(format!("{name} was held twice with token {token}"));
        }
        // Readers are unordered among themselves, and a permit's token is no fence.
        let before = match mode {
            Mode::Exclusive => state.greatest,
            Mode::Shared => state.greatest_alone,
            Mode::Permits { .. } => None,
        };
        state.greatest = state.greatest.max(Some(token));
        if mode == Mode::Exclusive {
            state.greatest_alone = state.greatest_alone.max(Some(token));
        }
        match before {
            Some(before) if valid && token < before => {
                Some(format!("{name} is held with token {token} after {before}"))
            }
            _ => None,
        }
    }

    /// The store granted a lease at `now`, which may be passed on from then.
    pub(in crate::check) fn granted(&mut self, name: &LockName, token: Token, now: Timestamp) {
        self.names.entry(name.clone()).or_default().began.insert(token.time(), now);
    }

    /// When the store granted the lease that `token` was passed on from.
    pub(in crate::check) fn granted_at(&self, name: &LockName, token: Token) -> Option<Timestamp> {
        self.names.get(name)?.began.get(&token.time()).copied()
    }

    /// A resource accepted a write. What is wrong with it, if anything is.
    pub(in crate::check) fn accepted(&mut self, name: &LockName, token: Token) -> Option<String> {
        let state = self.names.entry(name.clone()).or_default();
        let before = state.accepted;
        state.accepted = before.max(Some(token));
        let before = before.filter(|before| token < *before)?;
        Some(format!("a resource of {name} accepted token {token} after {before}"))
    }
}
