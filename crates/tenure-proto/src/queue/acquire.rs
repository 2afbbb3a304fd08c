//! Granting, queueing and handing over.

use std::time::Duration;

use super::{
    Answer, Ask, Client, DecisionContext, Holder, Intent, Mode, NameState, Order, Position,
    Presence, QueueError, Waiter, Wake,
};
use crate::{
    Owner, Timestamp,
    rule::{Rule, kept},
};

/// The shortest time after which a waiter is to ask again.
const SHORTEST_RETRY: Duration = Duration::from_millis(1);

impl NameState {
    /// Asks for the name.
    ///
    /// Repeating an ask with the same owner returns the same token and what is left of the lease. It never extends the
    /// lease, so sending an ask twice is harmless. An exclusive holder that asks for the shared mode becomes a reader,
    /// with the same lease and token.
    ///
    /// # Errors
    /// [`QueueError`] if nothing can be granted or queued. Then nothing has changed.
    pub fn acquire(
        &mut self,
        ask: &Ask,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> Result<(Answer, Vec<Wake>), QueueError> {
        if let Mode::Permits { take, of } = ask.mode
            && (take == 0 || take > of)
        {
            return Err(QueueError::Permits { take, of });
        }
        self.expire(at);
        if let Some(answer) = self.repeat_grant(ask, at)? {
            return Ok((answer, self.offer(at)));
        }
        self.check_kind(ask, at)?;
        let mut enters = self.may_enter_now(ask, at);
        if !enters && self.remove_dead_clients(at) {
            enters = self.may_enter_now(ask, at);
        }
        if enters {
            let answer = self.grant(ask, client, at)?;
            let wake = self.offer(at);
            return Ok((answer, wake));
        }
        let position = match ask.intent {
            Intent::Try => None,
            Intent::Wait { .. } if self.has_hold(&ask.owner) => None,
            Intent::Wait { position } => Some(self.keep_position(ask, position, client, at)?),
        };
        let wake = self.offer(at);
        let answer = self.busy(ask, position, at);
        if let Answer::Busy { retry_after, position: Some(_), .. } = &answer
            && let Some(index) = self.waiter(&ask.owner)
            && let Some(waiter) = self.waiters.get_mut(index)
        {
            waiter.asks_by = at.now.saturating_add(*retry_after);
        }
        Ok((answer, wake))
    }

    /// Releases `owner` and asks for the name again as `ask.owner`, in one step. Waiters come first. If there are none,
    /// the name is granted with a new token.
    ///
    /// # Errors
    /// [`QueueError`] as for [`NameState::acquire`]. Then `owner` keeps what it had.
    pub fn turn(
        &mut self,
        owner: &Owner,
        ask: &Ask,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> Result<(Answer, Vec<Wake>), QueueError> {
        self.expire(at);
        if let Some(answer) = self.repeat_grant(ask, at)? {
            return Ok((answer, self.offer(at)));
        }
        let mut after = self.clone();
        after.forget(owner);
        after.remove_dead_clients(at);
        // Waiters come first, whatever order is requested.
        let mut wake = after.offer(at);
        let (answer, more) = after.acquire(ask, client, at)?;
        wake.extend(more);
        *self = after;
        Ok((answer, wake))
    }

    /// Refuses another kind of lock than the current one, where kinds may not mix.
    fn check_kind(&self, ask: &Ask, at: &DecisionContext<'_>) -> Result<(), QueueError> {
        if at.limits.kinds_may_mix {
            return Ok(());
        }
        let holders = self.holders.iter().filter(|one| one.kind != ask.kind);
        let waiters = self.waiters.iter().filter(|one| one.kind != ask.kind);
        let lives = |one: &&Holder| one.lingering || at.is_alive(one.client);
        let others = |one: &&Waiter| one.owner != ask.owner && at.is_alive(one.client);
        let (mut holders, mut waiters) = (holders.filter(lives), waiters.filter(others));
        let used_as = holders.next().map(|one| one.kind).or_else(|| Some(waiters.next()?.kind));
        used_as.map_or(Ok(()), |used_as| Err(QueueError::OtherKind { used_as }))
    }

    pub(super) fn forget(&mut self, owner: &Owner) {
        self.holders.retain(|holder| holder.owner != *owner || holder.lingering);
        self.waiters.retain(|waiter| waiter.owner != *owner);
    }

    fn repeat_grant(
        &mut self,
        ask: &Ask,
        at: &DecisionContext<'_>,
    ) -> Result<Option<Answer>, QueueError> {
        let others_waiting = self.others_waiting();
        let mut holders = self.holders.iter_mut().filter(|holder| !holder.lingering);
        let Some(holder) = holders.find(|holder| holder.owner == ask.owner) else {
            return Ok(None);
        };
        holder.mode = match (holder.mode, ask.mode) {
            (Mode::Exclusive, Mode::Shared) => Mode::Shared,
            (Mode::Permits { take: held, .. }, Mode::Permits { take, .. }) if held == take => {
                ask.mode
            }
            (held, asked) if held == asked => held,
            _ => return Err(QueueError::OtherMode),
        };
        if !kept(Rule::RepeatNeverExtends) {
            holder.expires = at.now.saturating_add(ask.ttl);
        }
        let left = holder.expires.since(at.now);
        Ok(Some(Answer::Granted { token: holder.token, left, others_waiting }))
    }

    fn may_enter_now(&self, ask: &Ask, at: &DecisionContext<'_>) -> bool {
        if self.has_hold(&ask.owner) {
            return false;
        }
        let index = self.waiter(&ask.owner);
        let offered = index.and_then(|index| self.waiters.get(index)).is_some_and(|waiter| {
            matches!(waiter.presence, Presence::Offered(_)) && waiter.mode == ask.mode
        });
        match ask.order {
            _ if offered => true,
            Order::Barging => {
                self.occupancy(Some(&ask.owner)).fits_within(at.limits.max_holders, ask.mode)
            }
            Order::Fifo => {
                let index = index.unwrap_or_else(|| self.index_of(ask));
                self.may_enter(ask.mode, index, &ask.owner, at)
            }
        }
    }

    /// Whether an owner that asks released the name with `keep`: its hold is there once, and it has nothing to wait
    /// for.
    fn has_hold(&self, owner: &Owner) -> bool {
        let once = kept(Rule::KeptOwnerIsThereOnce);
        once && self.holders.iter().any(|holder| holder.owner == *owner)
    }

    /// The queue index of an ask that is not in the queue yet.
    fn index_of(&self, ask: &Ask) -> usize {
        match ask.intent {
            Intent::Wait { position: Some(position) } => {
                self.waiters.partition_point(|waiter| waiter.position <= position)
            }
            Intent::Wait { position: None } | Intent::Try => self.waiters.len(),
        }
    }

    fn grant(
        &mut self,
        ask: &Ask,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> Result<Answer, QueueError> {
        let token = self.next_token(at)?;
        if let Some(index) = self.waiter(&ask.owner) {
            self.waiters.remove(index);
        }
        self.holders.push(Holder {
            owner: ask.owner,
            client,
            kind: ask.kind,
            mode: ask.mode,
            token,
            since: at.wall,
            expires: at.now.saturating_add(ask.ttl),
            lingering: false,
            label: ask.label.clone(),
        });
        let others_waiting = self.others_waiting();
        Ok(Answer::Granted { token, left: ask.ttl, others_waiting })
    }

    fn keep_position(
        &mut self,
        ask: &Ask,
        position: Option<Position>,
        client: Client,
        at: &DecisionContext<'_>,
    ) -> Result<Position, QueueError> {
        let keep_until = at.now.saturating_add(at.limits.position_ttl);
        if let Some(index) = self.waiter(&ask.owner)
            && let Some(waiter) = self.waiters.get_mut(index)
        {
            waiter.presence = Presence::Present;
            // It is present. The answer says when it asks again.
            (waiter.keep_until, waiter.asks_by) = (keep_until, Timestamp::ZERO);
            (waiter.kind, waiter.mode) = (ask.kind, ask.mode);
            return Ok(waiter.position);
        }
        if self.waiters.len() >= at.limits.max_waiters {
            self.waiters.retain(|waiter| at.is_alive(waiter.client));
        }
        if self.waiters.len() >= at.limits.max_waiters {
            return Err(QueueError::Full { waiting: self.waiters.len() });
        }
        // A position from another life of this name may be after all that were given out since.
        let position = position.unwrap_or(Position(self.next_position));
        self.next_position = self.next_position.max(position.0.saturating_add(1));
        let index = self.waiters.partition_point(|waiter| waiter.position <= position);
        self.waiters.insert(
            index,
            Waiter {
                owner: ask.owner,
                client,
                kind: ask.kind,
                mode: ask.mode,
                position,
                keep_until,
                presence: Presence::Present,
                asks_by: Timestamp::ZERO,
                came_back: false,
                since: at.wall,
                label: ask.label.clone(),
            },
        );
        Ok(position)
    }

    fn busy(&self, ask: &Ask, position: Option<Position>, at: &DecisionContext<'_>) -> Answer {
        let in_front = self
            .waiters
            .iter()
            .take_while(|waiter| position.is_none_or(|position| waiter.position < position))
            .filter(|waiter| waiter.owner != ask.owner);
        let (mut offered, mut present) = (0_u32, 0_u32);
        for waiter in in_front {
            match waiter.presence {
                Presence::Offered(_) => offered += 1,
                Presence::Present => present += 1,
                Presence::Absent => {}
            }
        }
        let ahead = present.saturating_add(offered);
        let leases = self.holders.iter().map(|holder| holder.expires);
        let offers = self.waiters.iter().filter_map(|waiter| match waiter.presence {
            Presence::Offered(until) if waiter.owner != ask.owner => Some(until),
            Presence::Offered(_) | Presence::Present | Presence::Absent => None,
        });
        let change = leases.chain(offers).min().map_or(Duration::ZERO, |end| end.since(at.now));
        // Those further back ask later, so that an unannounced end causes no stampede. The end of an offer is rarer,
        // and then those ahead have probably gone too.
        let came_back = self.waiters.iter().any(|one| one.owner == ask.owner && one.came_back);
        // Hints do not reach it, so it asks often enough to claim what it is offered.
        let look =
            if came_back { at.limits.look.min(at.limits.claim_window / 2) } else { at.limits.look };
        let patience = at.limits.ask_interval(look, ahead);
        let step = at.limits.claim_window / if offered > 0 { 4 } else { 1 };
        let stagger = step.saturating_mul(present);
        let retry_after = change
            .saturating_add(stagger)
            .min(patience)
            .min(at.limits.position_ttl / 3)
            .max(SHORTEST_RETRY);
        let holder = self.holders.first().map(|holder| holder.describe(at.now));
        Answer::Busy { retry_after, ahead, holder, position }
    }
}
