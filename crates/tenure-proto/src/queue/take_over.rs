//! A hold that changes hands in one step.

use std::time::Duration;

use super::{Ask, Client, Grant, Kind, Label, Mode, Moment, NameState, QueueError, Wake};
use crate::{
    Owner,
    rule::{Rule, kept},
};

/// One hold that is to become another owner's.
#[derive(Clone, Debug)]
pub struct TakeOver {
    /// Whose hold it is.
    pub from: Owner,
    /// Whose it becomes: proof of a new acquisition, fresh for each.
    pub owner: Owner,
    /// What the name is used as.
    pub kind: Kind,
    /// How the name is held, before and after.
    pub mode: Mode,
    /// How long the lease is to last from now, grace included, in whole milliseconds.
    pub ttl: Duration,
    /// Who holds it then, for people.
    pub label: Label,
    /// Whether it belongs to no process from then on, and lives by its lease alone.
    pub detached: bool,
}

/// A store's answer to a [`TakeOver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenOver {
    /// The hold is the new owner's.
    Granted(Grant),
    /// The old owner holds nothing, so nothing was taken over.
    NotHeld,
}

impl NameState {
    /// Makes the hold of `over.from` that of `over.owner`, with a greater token and a lease of its own,
    /// whoever waits.
    ///
    /// Repeating it answers the same token and what is left of the lease.
    ///
    /// # Errors
    /// [`QueueError`] when it is held in another mode, or the clock fits no token; nothing is changed
    /// then.
    pub fn take_over(
        &mut self,
        over: &TakeOver,
        client: Client,
        at: &Moment<'_>,
    ) -> Result<(TakenOver, Vec<Wake>), QueueError> {
        self.expire(at);
        let others_waiting = self.others_waiting();
        if let Some(holder) = self.holders.iter().find(|holder| holder.owner == over.owner) {
            if holder.lingering {
                return Ok((TakenOver::NotHeld, self.offer(at)));
            }
            let (token, left) = (holder.token, holder.expires.since(at.now));
            check_mode(holder.mode, over.mode)?;
            return Ok((TakenOver::Granted(Grant { token, left, others_waiting }), self.offer(at)));
        }
        let found = self.holders.iter().position(|holder| {
            let own = holder.owner == over.from || !kept(Rule::OwnerCheckedOnTakeOver);
            own && !holder.lingering && at.lives(holder.client)
        });
        let Some(old) = found.and_then(|index| self.holders.get(index)).cloned() else {
            return Ok((TakenOver::NotHeld, self.offer(at)));
        };
        check_mode(old.mode, over.mode)?;
        let token = if kept(Rule::TakeOverRaisesToken) { self.next_token(at)? } else { old.token };
        let mut new = old.clone();
        (new.owner, new.kind, new.label) = (over.owner, over.kind, over.label.clone());
        new.client = if over.detached { Client::NOBODY } else { client };
        (new.token, new.since) = (token, at.wall);
        new.expires = at.now.saturating_add(over.ttl);
        // Who waited under this owner has what it waited for.
        self.waiters.retain(|waiter| waiter.owner != over.owner);
        self.holders.retain(|holder| {
            holder.owner != old.owner || holder.lingering || !kept(Rule::TakeOverEndsTheOld)
        });
        self.holders.push(new);
        let others_waiting = self.others_waiting();
        let grant = Grant { token, left: over.ttl, others_waiting };
        Ok((TakenOver::Granted(grant), self.offer(at)))
    }
}

fn check_mode(held: Mode, said: Mode) -> Result<(), QueueError> {
    if held == said { Ok(()) } else { Err(QueueError::OtherMode) }
}

impl TakeOver {
    /// The ask of the new owner for the name as if it were asked for alone: what a store checks of any
    /// ask, it checks of this one.
    #[must_use]
    pub fn as_ask(&self) -> Ask {
        let (order, intent) = (super::Order::Barging, super::Intent::Try);
        let Self { owner, kind, mode, ttl, .. } = *self;
        Ask { owner, kind, mode, order, intent, ttl, label: self.label.clone() }
    }
}
