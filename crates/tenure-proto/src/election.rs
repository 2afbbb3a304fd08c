//! The election: who leads, and when an observer has news.

use crate::{
    Token,
    queue::{Contender, Mode, Snapshot},
    rule::{Rule, kept},
};

/// Who leads, as the store tells it at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// What the candidate said of itself: its address, for example.
    pub label: String,
    /// Its term: greater than that of every leader before it.
    pub term: Token,
    /// Since when it leads, in microseconds since the Unix epoch; `None` where the store cannot
    /// tell.
    pub since: Option<u64>,
}

/// Who leads. A name that is only kept taken after a resignation is led by nobody.
#[must_use]
pub fn leader(seen: &Snapshot) -> Option<Leader> {
    let leads = |holder: &&Contender| !holder.lingering || !kept(Rule::ResignedLeadsNoMore);
    let mut holders = seen.holders.iter().filter(|holder| holder.mode == Mode::Exclusive);
    let holder = holders.find(leads)?;
    Some(Leader { label: holder.label.clone(), term: holder.token?, since: holder.since })
}

/// What an observer has been told.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The term of who led, or that nobody did; nothing before the first look.
    told: Option<Option<Token>>,
}

impl Observed {
    /// Whether what a look found is news: the first look is, and after it each that finds another
    /// term, or that nobody leads any more. The same candidate elected again has another term.
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
