//! What the locks protect: a resource that compares tokens, and one that does not.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use tenure_core::{
    LockName, Token,
    proto::rule::{Rule, kept},
};

/// Two resources for each name. Both are written to with every write.
#[derive(Debug, Default)]
pub struct Resources {
    highest: Mutex<BTreeMap<LockName, HighestTokens>>,
}

#[derive(Debug, Default)]
struct HighestTokens {
    fenced: Option<Token>,
    unfenced: Option<Token>,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOutcome {
    /// Whether the resource that compares tokens accepted it.
    pub accepted: bool,
    /// Whether the other one was harmed: it accepted an older write after a newer one.
    pub harm: bool,
}

impl Resources {
    /// A write with `token` reaches both resources of `name`.
    pub fn write(&self, name: &LockName, token: Token) -> WriteOutcome {
        let mut all = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = all.entry(name.clone()).or_default();
        let harm = Some(token) < highest.unfenced;
        highest.unfenced = highest.unfenced.max(Some(token));
        let accepted = Some(token) >= highest.fenced || !kept(Rule::ResourceComparesTokens);
        if accepted {
            highest.fenced = Some(token);
        }
        WriteOutcome { accepted, harm }
    }
}
