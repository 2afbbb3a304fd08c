//! The election: its leader, and an observer's news.

use crate::{
    Token,
    queue::{Contender, Mode, Snapshot},
    rule::{Rule, kept},
};

/// A leader, as the store shows it at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The candidate's label: its address, for example.
    pub label: String,
    /// The leader's term: greater than that of every leader before it.
    pub term: Token,
    /// When the term began, in microseconds since the Unix epoch; `None` if the store does not know.
    pub since: Option<u64>,
}

/// Returns the leader. A name that only stays taken after a resignation has no leader.
#[must_use]
pub fn leader(seen: &Snapshot) -> Option<Leader> {
    let leads = |holder: &&Contender| !holder.lingering || !kept(Rule::ResignedLeadsNoMore);
    let mut holders = seen.holders.iter().filter(|holder| holder.mode == Mode::Exclusive);
    let holder = holders.find(leads)?;
    Some(Leader { label: holder.label.clone(), term: holder.token?, since: holder.since })
}

/// The state that an observer has received.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The term of the leader, or that there was none; `None` before the first request.
    told: Option<Option<Token>>,
}

impl Observed {
    /// Returns whether what was found is news. The first result is news. After it, another term is news, and so is the
    /// end of leadership. The same candidate elected again has another term.
    #[must_use]
    pub fn is_news(&mut self, found: Option<&Leader>) -> bool {
        let found = Some(found.map(|leader| leader.term));
        let led = |told: Option<Option<Token>>| told.flatten().is_some();
        if led(self.told) && led(found) && !kept(Rule::NextTermIsNews) {
            return false;
        }
        std::mem::replace(&mut self.told, found) != found || !kept(Rule::NewsToldOnce)
    }
}
