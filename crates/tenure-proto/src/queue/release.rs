//! Renewing and releasing, and the operations of quorums and operators.

use std::{collections::BTreeSet, time::Duration};

use super::{Client, Contender, DecisionContext, Mode, NameState, Wake};
use crate::{
    HoldId, Owner, Renewed, Token,
    rule::{Rule, kept},
};

/// A store's answer to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// The owner held the name or waited for it, and no longer does.
    Released,
    /// The owner had nothing here: it never had, it released before, or its lease ended.
    NotHeld,
}

/// A store's answer to raising a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raised {
    /// The hold now has the token.
    Raised,
    /// The hold already has a greater token.
    Stale,
    /// The owner does not hold the name.
    NotHeld,
}

/// What an eviction took away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// The former holders, for people.
    pub holders: Vec<Contender>,
    /// The processes to notify that their holds are gone. This is a hint: each loses its hold by the answer to its own
    /// renewal. For a name that only stayed taken after a release, and for a detached hold, there is no process to
    /// notify.
    pub clients: BTreeSet<Client>,
}

impl NameState {
    /// Extends the lease of `owner` to at least `ttl` from now. Never shortens, claims or creates one.
    pub fn renew(&mut self, owner: &Owner, ttl: Duration, at: &DecisionContext<'_>) -> Renewed {
        if kept(Rule::RenewalNeverCreates) {
            self.expire(at);
        }
        let others_waiting = self.others_waiting();
        let mut holders = self.holders.iter_mut().filter(|holder| !holder.lingering);
        let found = if kept(Rule::OwnerCheckedOnRenewal) {
            holders.find(|holder| holder.owner == *owner)
        } else {
            holders.next()
        };
        let Some(holder) = found else { return Renewed::Lost };
        holder.expires = holder.expires.max(at.now.saturating_add(ttl));
        Renewed::Renewed { left: holder.expires.since(at.now), others_waiting }
    }

    /// Returns whether `owner` holds the name exclusively.
    pub fn holds_alone(&mut self, owner: &Owner, at: &DecisionContext<'_>) -> bool {
        if !kept(Rule::OnlyHolderWritesSlots) {
            return true;
        }
        self.expire(at);
        self.holders.iter().any(|holder| {
            holder.owner == *owner && holder.mode == Mode::Exclusive && !holder.lingering
        })
    }

    /// Releases a hold or a queue position, and offers the name to the next waiter.
    ///
    /// With `keep` above zero, a hold becomes lingering: it can no longer be renewed or released, and the name stays
    /// taken for that long, whatever becomes of its process.
    pub fn release(
        &mut self,
        owner: &Owner,
        keep: Duration,
        at: &DecisionContext<'_>,
    ) -> (Released, Vec<Wake>) {
        self.expire(at);
        let held = self.holders.iter().position(|holder| {
            let own = holder.owner == *owner && !holder.lingering;
            own || !kept(Rule::OwnerCheckedOnRelease)
        });
        let waited = self.waiter(owner);
        if let Some(holder) = held.and_then(|index| self.holders.get_mut(index))
            && !keep.is_zero()
            && kept(Rule::KeptNameStaysTaken)
        {
            holder.lingering = true;
            holder.expires = at.now.saturating_add(keep);
        } else if let Some(index) = held {
            self.holders.remove(index);
        }
        if let Some(index) = waited {
            self.waiters.remove(index);
        }
        let released =
            if held.or(waited).is_some() { Released::Released } else { Released::NotHeld };
        (released, self.offer(at))
    }

    /// Writes a greater token into the hold of `owner`. Every later grant has a token greater than that.
    pub fn raise(&mut self, owner: &Owner, token: Token, at: &DecisionContext<'_>) -> Raised {
        self.expire(at);
        let Some(holder) =
            self.holders.iter_mut().find(|holder| holder.owner == *owner && !holder.lingering)
        else {
            return Raised::NotHeld;
        };
        if token < holder.token {
            return Raised::Stale;
        }
        holder.token = token;
        self.last_time = self.last_time.max(token.time());
        Raised::Raised
    }

    /// Takes the name from all holders and offers it to the next waiter. Holds whose processes ended are not returned,
    /// as [`NameState::inspect`] does not show them either.
    ///
    /// The next grant has a token greater than theirs, which fences them off.
    pub fn evict(&mut self, at: &DecisionContext<'_>) -> (Evicted, Vec<Wake>) {
        self.evict_those(|_| true, at)
    }

    /// Evicts one hold, if it has not ended.
    pub fn evict_hold(&mut self, hold: HoldId, at: &DecisionContext<'_>) -> (Evicted, Vec<Wake>) {
        self.evict_those(|owner| HoldId::of_owner(owner) == hold, at)
    }

    fn evict_those(
        &mut self,
        evicts: impl Fn(&Owner) -> bool,
        at: &DecisionContext<'_>,
    ) -> (Evicted, Vec<Wake>) {
        self.expire(at);
        let mut evicted = Evicted::default();
        self.holders.retain(|holder| {
            let stays = !evicts(&holder.owner);
            // A dead process's holds are free already, so no process is notified.
            if !stays && (holder.lingering || at.is_alive(holder.client)) {
                evicted.holders.push(holder.describe(at.now));
                if !holder.lingering && holder.client != Client::NOBODY {
                    evicted.clients.insert(holder.client);
                }
            }
            stays
        });
        (evicted, self.offer(at))
    }

    /// Returns the processes that hold the name.
    #[must_use]
    pub fn holding_clients(&self, at: &DecisionContext<'_>) -> BTreeSet<Client> {
        let holding = self.holders.iter().filter(|holder| {
            !holder.lingering && holder.expires > at.now && at.is_alive(holder.client)
        });
        holding.map(|holder| holder.client).filter(|client| *client != Client::NOBODY).collect()
    }
}
