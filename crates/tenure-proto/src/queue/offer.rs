//! The hand-off: whoever comes next is offered the name and has a short while to claim it.

use super::{Mode, Moment, NameState, Presence, Room, Wake};
use crate::{
    Owner, Timestamp,
    rule::{Rule, kept},
};

impl NameState {
    /// What holders take, and what is offered to others than `but`.
    pub(super) fn taken(&self, but: Option<&Owner>) -> Room {
        let offered = self
            .waiters
            .iter()
            .filter(|waiter| matches!(waiter.presence, Presence::Offered(_)))
            .filter(|waiter| but != Some(&waiter.owner))
            .map(|waiter| waiter.mode);
        Room::taken_by(self.holders.iter().map(|holder| holder.mode).chain(offered))
    }

    /// Whether `mode` at queue index `index` may enter now, with all who wait before it.
    ///
    /// Everybody before it is let in first in thought; the first who does not fit closes the door
    /// to all behind, so that a stream of small asks cannot starve a large one.
    pub(super) fn may_enter(
        &self,
        mode: Mode,
        index: usize,
        owner: &Owner,
        at: &Moment<'_>,
    ) -> bool {
        let most = at.limits.max_holders;
        let mut room = self.taken(Some(owner));
        for waiter in self.waiters.iter().take(index) {
            if waiter.presence != Presence::Present {
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

    /// Offers the name to all at the head of the queue who fit, and says whom to wake.
    pub(super) fn offer(&mut self, at: &Moment<'_>) -> Vec<Wake> {
        let mut wake = Vec::new();
        if self.waiters.is_empty() {
            return wake;
        }
        let mut room = self.taken(None);
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
            if !room.fits_within(at.limits.max_holders, waiter.mode) {
                break;
            }
            if !at.lives(waiter.client) {
                dead.push(waiter.owner);
                continue;
            }
            room.take(waiter.mode);
            waiter.presence = Presence::Offered(until);
            if !kept(Rule::AbsentWaiterPassedOver) {
                waiter.keep_until = Timestamp::NEVER;
            }
            wake.push(Wake { client: waiter.client, owner: waiter.owner });
        }
        self.waiters.retain(|waiter| !dead.contains(&waiter.owner));
        wake
    }
}
