//! What the holds of this process add to the histories of their locks.

use std::sync::atomic::{AtomicBool, Ordering};

use tenure_proto::{
    LostReason, Timestamp, Token,
    history::{Ending, Event, EventEnd, Retention, SlotTry},
    queue::{Contender, Identity, Kind, Label, Mode},
};

use super::Unwritten;
use crate::{LockName, history::HistoryFamilies, notes::note_name};

/// A hold of this process, for the history of its lock.
pub(crate) struct Held<'a> {
    pub(crate) name: &'a LockName,
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    pub(crate) label: &'a Label,
    pub(crate) token: Token,
    pub(crate) since: Timestamp,
    /// If it is for a run of a slot.
    pub(crate) slot: Option<&'a SlotTry>,
}

/// Adds to the histories of locks what the holds of this process do.
#[derive(Debug)]
pub(crate) struct Journal {
    families: HistoryFamilies,
    /// Whether the last bits of a token count its passes inside a process, which the store does not know.
    pass_bits: bool,
    unwritten: Unwritten,
    has_gaps: AtomicBool,
}

impl Journal {
    pub(crate) fn new(families: HistoryFamilies, pass_bits: bool, unwritten: Unwritten) -> Self {
        Self { families, pass_bits, unwritten, has_gaps: AtomicBool::new(false) }
    }

    /// Whether no history is kept of any lock of this process.
    pub(crate) fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    pub(crate) fn unwritten(&self) -> &Unwritten {
        &self.unwritten
    }

    /// How much is kept of the history of this name, if any is.
    fn retention(&self, name: &LockName) -> Option<Retention> {
        if self.families.is_empty() {
            return None;
        }
        // A note is a lock only for its store.
        note_name(name)?;
        self.families.retention(name.as_str())
    }

    /// A hold began, `at` this time.
    pub(crate) fn began(&self, held: &Held<'_>, at: Timestamp) {
        if let Some(retention) = self.retention(held.name) {
            self.add(held.name, self.event(held, retention), at);
        }
    }

    /// A hold ended, `at` this time.
    pub(crate) fn ended(&self, held: &Held<'_>, end: EventEnd, at: Timestamp) {
        if let Some(retention) = self.retention(held.name) {
            let end = EventEnd { held: Some(at.since(held.since)), ..end };
            self.add(held.name, self.event(held, retention).ends(end), at);
        }
    }

    /// A hold was lost, `at` this time, as its store said when it was asked to release it. Nothing else is known of it
    /// by then.
    pub(crate) fn lost_late(&self, name: &LockName, token: Token, at: Timestamp) {
        if let Some(retention) = self.retention(name) {
            let event = Event::new(self.as_granted(token), Kind::default(), "", retention);
            self.add(name, event.ends(EventEnd::new(Ending::Lost(LostReason::Taken))), at);
        }
    }

    /// Somebody broke this hold, `at` this time. Whether a history is kept of it is for its store to say.
    pub(crate) fn broken(&self, name: &LockName, held: &Contender, by: Identity, at: Timestamp) {
        let (Some(token), Ok(retention)) = (held.token, Retention::entries(1)) else { return };
        if held.lingering || note_name(name).is_none() {
            return;
        }
        let kind = held.kind.unwrap_or_default();
        let event = Event::new(token, kind, held.whole_label(), retention).mode(held.mode);
        let event = event.ends(EventEnd { by: Some(by), ..EventEnd::new(Ending::Broken) });
        self.unwritten.add(name, (event, at), true);
    }

    fn event(&self, held: &Held<'_>, retention: Retention) -> Event {
        let token = self.as_granted(held.token);
        let event = Event::new(token, held.kind, held.label.clone(), retention).mode(held.mode);
        event.slot(held.slot.cloned())
    }

    fn as_granted(&self, token: Token) -> Token {
        let granted = self.pass_bits.then(|| Token::from_time(token.time()));
        granted.flatten().unwrap_or(token)
    }

    /// Nothing is logged here: the lease is locked, and a subscriber may look at it, block or panic.
    fn add(&self, name: &LockName, event: Event, at: Timestamp) {
        if !self.unwritten.add(name, (event, at), false) {
            self.has_gaps.store(true, Ordering::Relaxed);
        }
    }

    /// Whether events were left out since this was last asked, as too many waited.
    pub(super) fn take_gaps(&self) -> bool {
        self.has_gaps.swap(false, Ordering::Relaxed)
    }
}
