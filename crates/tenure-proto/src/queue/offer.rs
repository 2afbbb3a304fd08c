//! The handoff: the next waiter is offered the name and has a short time to claim it.

use super::{DecisionContext, Mode, NameState, Occupancy, Presence, Waiter, Wake};
use crate::{
    Owner, Timestamp,
    rule::{Rule, kept},
};

impl NameState {
    /// What is held, and what is offered to other waiters than `but`.
    pub(super) fn occupancy(&self, but: Option<&Owner>) -> Occupancy {
        let offered = self
            .waiters
            .iter()
            .filter(|waiter| matches!(waiter.presence, Presence::Offered(_)))
            .filter(|waiter| but != Some(&waiter.owner))
            .map(|waiter| waiter.mode);
        Occupancy::taken_by(self.holders.iter().map(|holder| holder.mode).chain(offered))
    }

    /// Whether `mode` at queue index `index` may enter now, with all waiters before it.
    ///
    /// It first counts all waiters before it as entered. The first one that does not fit stops all behind it, so that a
    /// stream of small asks cannot starve a large one.
    pub(super) fn may_enter(
        &self,
        mode: Mode,
        index: usize,
        owner: &Owner,
        at: &DecisionContext<'_>,
    ) -> bool {
        let most = at.limits.max_holders;
        let mut room = self.occupancy(Some(owner));
        for waiter in self.waiters.iter().take(index) {
            if waiter.presence != Presence::Present || waiter.is_overdue(at) {
                continue;
            }
            if !room.fits_within(most, waiter.mode) {
                if kept(Rule::FirstInLineNotOvertaken) {
                    return false;
                }
                continue;
            }
            room.take(waiter.mode);
        }
        room.fits_within(most, mode)
    }

    /// Offers the name to all waiters at the head of the queue that fit. Returns whom to wake.
    pub(super) fn offer(&mut self, at: &DecisionContext<'_>) -> Vec<Wake> {
        let mut wake = Vec::new();
        if self.waiters.is_empty() {
            return wake;
        }
        let mut room = self.occupancy(None);
        let until = if kept(Rule::AbsentWaiterPassedOver) {
            at.now.saturating_add(at.limits.claim_window)
        } else {
            Timestamp::NEVER
        };
        let mut dead = Vec::new();
        for waiter in &mut self.waiters {
            if waiter.presence != Presence::Present {
                continue;
            }
            if room.is_full(at.limits.max_holders) {
                break;
            }
            if waiter.is_overdue(at) {
                waiter.pass_over();
                continue;
            }
            if !room.fits_within(at.limits.max_holders, waiter.mode) {
                break;
            }
            if !at.is_alive(waiter.client) {
                dead.push(waiter.owner);
                continue;
            }
            if waiter.is_out_of_reach(at) {
                waiter.pass_over();
                continue;
            }
            room.take(waiter.mode);
            waiter.presence = Presence::Offered(until);
            if !kept(Rule::AbsentWaiterPassedOver) {
                waiter.keep_until = Timestamp::NEVER;
            }
            wake.push(Wake { client: waiter.client, owner: waiter.owner });
        }
        if !dead.is_empty() {
            // They are in the order of the queue.
            let mut dead = dead.into_iter().peekable();
            self.waiters.retain(|waiter| dead.next_if_eq(&waiter.owner).is_none());
        }
        wake
    }
}

impl Waiter {
    /// Whether it should have asked again long ago: an offer to it would only delay the others.
    fn is_overdue(&self, at: &DecisionContext<'_>) -> bool {
        let late = self.asks_by.saturating_add(at.limits.lateness());
        let known = self.asks_by > Timestamp::ZERO && !self.came_back;
        known && late <= at.now
    }

    /// Whether an offer would reach no process. The waiter may still be alive, so once it has come back it is given the
    /// time to claim.
    fn is_out_of_reach(&self, at: &DecisionContext<'_>) -> bool {
        !self.came_back && !(at.reachable)(self.client)
    }

    /// It keeps its position until it asks again.
    fn pass_over(&mut self) {
        (self.presence, self.came_back) = (Presence::Absent, true);
    }
}
