//! A hold that changes its owner in one step.

use std::time::Duration;

use super::{Ask, Client, DecisionContext, Grant, Kind, Label, Mode, NameState, QueueError, Wake};
use crate::{
    Owner,
    rule::{Rule, kept},
};

/// A request to give one hold to another owner.
#[derive(Clone, Debug)]
pub struct TakeOver {
    /// The present owner.
    pub from: Owner,
    /// The new owner: the proof of a new acquisition, new for each.
    pub owner: Owner,
    /// The kind for which the name is used.
    pub kind: Kind,
    /// The mode, before and after.
    pub mode: Mode,
    /// The length of the lease from now, grace included, in whole milliseconds.
    pub ttl: Duration,
    /// The new holder's label, for people.
    pub label: Label,
    /// Whether the hold then belongs to no process, so that only its lease keeps it.
    pub detached: bool,
}

/// A store's answer to a [`TakeOver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenOver {
    /// The new owner has the hold.
    Granted(Grant),
    /// The old owner holds nothing, so nothing was taken over.
    NotHeld,
}

impl NameState {
    /// Gives the hold of `over.from` to `over.owner`, with a greater token and a new lease, whether or not others wait.
    ///
    /// Repeating it returns the same token and what is left of the lease.
    ///
    /// # Errors
    /// [`QueueError`] if the name is held in another mode, or the clock fits no token. Then nothing has changed.
    pub fn take_over(
        &mut self,
        over: &TakeOver,
        client: Client,
        at: &DecisionContext<'_>,
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
            own && !holder.lingering && at.is_alive(holder.client)
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
        // A waiter with this owner has what it waited for.
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
    /// Returns the new owner's ask, as if it asked for the name alone. A store checks this one as it checks any ask.
    #[must_use]
    pub fn as_ask(&self) -> Ask {
        let (order, intent) = (super::Order::Barging, super::Intent::Try);
        let Self { owner, kind, mode, ttl, .. } = *self;
        Ask { owner, kind, mode, order, intent, ttl, label: self.label.clone() }
    }
}
