//! What must be true of one name after a step, whatever the step was.

use tenure_proto::{
    Token,
    queue::{Answer, Ask, Holder, Intent, Mode, Order, Presence, QueueError, Waiter},
};

use crate::{
    queue_model::{Before, Model, PERMITS},
    world::{LIMITS, ms},
};

pub(crate) fn ensure(holds: bool, broken: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(broken.to_owned()) }
}

/// Whether all these can have the name together.
fn together(modes: &[Mode]) -> bool {
    let exclusive = modes.iter().filter(|mode| **mode == Mode::Exclusive).count();
    let shared = modes.iter().filter(|mode| **mode == Mode::Shared).count();
    let permits: u32 = modes
        .iter()
        .map(|mode| match mode {
            Mode::Permits { take, .. } => *take,
            Mode::Exclusive | Mode::Shared => 0,
        })
        .sum();
    match (exclusive, shared, permits) {
        (1, 0, 0) => true,
        (0, _, 0) => true,
        (0, 0, permits) => permits <= PERMITS,
        _ => false,
    }
}

impl Model {
    pub(crate) fn repeated(
        &self,
        ask: &Ask,
        held: &Holder,
        answer: &Result<Answer, QueueError>,
    ) -> Result<(), String> {
        let now = self.holder(ask).ok_or("an ask took the name from its own holder")?;
        ensure(now.expires == held.expires, "repeating an ask changed the lease")?;
        ensure(now.token == held.token, "repeating an ask changed the token")?;
        let downgraded = held.mode == Mode::Exclusive && ask.mode == Mode::Shared;
        match answer {
            Ok(Answer::Granted { token, left, .. }) => {
                ensure(*token == held.token, "repeating an ask answered another token")?;
                ensure(*left == held.expires.since(self.world.now), "more was answered than left")?;
                ensure(held.mode == ask.mode || downgraded, "a hold changed its mode")?;
                ensure(now.mode == ask.mode, "a holder was not given the mode it was told")
            }
            Err(QueueError::OtherMode) => {
                ensure(now.mode == held.mode, "a refused change of mode was made")?;
                ensure(held.mode != ask.mode && !downgraded, "a proper ask was refused")
            }
            other => Err(format!("a repeated ask was answered {other:?}")),
        }
    }

    pub(crate) fn answered(
        &mut self,
        who: usize,
        ask: &Ask,
        answer: Result<Answer, QueueError>,
        before: &Before,
    ) -> Result<(), String> {
        let waited = before.waiters.iter().find(|waiter| waiter.owner == ask.owner);
        let kept = before.holders.iter().any(|held| held.lingering && held.owner == ask.owner);
        match answer {
            Ok(Answer::Granted { token, left, .. }) => {
                ensure(!kept, "an owner that let go and is kept is there twice")?;
                ensure(left == ask.ttl, "a grant is for less than the ttl")?;
                ensure(self.waiter(ask).is_none(), "a holder still waits")?;
                self.in_order(ask, waited, before)?;
                self.token_rises(token)
            }
            Ok(Answer::Busy { retry_after, position, .. }) => {
                let offered = waited.is_some_and(|waiter| {
                    matches!(waiter.presence, Presence::Offered(_)) && waiter.mode == ask.mode
                });
                ensure(!offered, "an offer was not kept")?;
                ensure(retry_after >= ms(1), "a busy answer makes a loop without a pause")?;
                ensure(
                    retry_after <= LIMITS.position_ttl / 3,
                    "a position ends before it is asked for",
                )?;
                let waits = self.waiter(ask);
                if ask.intent == Intent::Try {
                    return ensure(waits.is_none() || waited.is_some(), "a try left a position");
                }
                if kept {
                    return ensure(waits.is_none(), "who is kept waits for itself");
                }
                let waits = waits.ok_or("a waiter has no position")?;
                ensure(waits.mode == ask.mode, "a waiter stands there in an earlier mode")?;
                ensure(position == Some(waits.position), "a waiter was told another position")?;
                ensure(waits.presence != Presence::Absent, "a waiter that asks is absent")?;
                let asked_for = match ask.intent {
                    Intent::Wait { position } => position,
                    Intent::Try => None,
                };
                let had = waited.map(|waiter| waiter.position).or(asked_for);
                ensure(
                    had.is_none_or(|had| had == waits.position),
                    "a position was not given back",
                )?;
                self.contenders[who].position = position;
                Ok(())
            }
            Err(QueueError::Full { waiting }) => {
                ensure(waiting == self.world.limits.max_waiters, "refused before it was full")
            }
            Err(error) => Err(format!("an ask was refused: {error:#}")),
        }
    }

    /// Nobody who is there and came earlier is passed by a grant in order.
    pub(crate) fn in_order(
        &self,
        ask: &Ask,
        waited: Option<&Waiter>,
        before: &Before,
    ) -> Result<(), String> {
        let offered = waited.is_some_and(|waiter| matches!(waiter.presence, Presence::Offered(_)));
        if ask.order == Order::Barging || offered {
            return Ok(());
        }
        let position = match (waited, ask.intent) {
            (Some(waiter), _) => Some(waiter.position),
            (None, Intent::Wait { position }) => position,
            (None, Intent::Try) => None,
        };
        let mut modes: Vec<Mode> = before
            .waiters
            .iter()
            .filter(|other| other.owner != ask.owner && other.presence != Presence::Absent)
            .filter(|other| position.is_none_or(|position| other.position <= position))
            .filter(|other| !self.world.dead.contains(&other.client))
            .map(|other| other.mode)
            .collect();
        modes.push(ask.mode);
        ensure(together(&modes), "a grant passed somebody who was there first")
    }

    pub(crate) fn token_rises(&mut self, token: Token) -> Result<(), String> {
        let rises = self.greatest.is_none_or(|greatest| token > greatest);
        self.greatest = self.greatest.max(Some(token));
        ensure(rises, "a token did not rise")
    }

    /// Nothing of other owners changed, but what their deaths and offers change.
    pub(crate) fn others_untouched(
        &self,
        ask: Option<&Ask>,
        before: &Before,
        evicted: bool,
    ) -> Result<(), String> {
        let mine = ask.map(|ask| ask.owner);
        let dead = |client| self.world.dead.contains(&client);
        let state = &self.world.state;
        for held in before.holders.iter().filter(|held| Some(held.owner) != mine) {
            let kept = state.holders.iter().any(|now| now == held);
            ensure(kept || evicted || dead(held.client), "another owner's hold was touched")?;
        }
        for waiter in before.waiters.iter().filter(|waiter| Some(waiter.owner) != mine) {
            let kept = state.waiters.iter().any(|now| {
                now.owner == waiter.owner
                    && now.position == waiter.position
                    && now.keep_until == waiter.keep_until
            });
            ensure(kept || dead(waiter.client), "another owner's position was touched")?;
        }
        Ok(())
    }

    /// The first who is there and has no offer does not fit, and whoever got one was woken.
    pub(crate) fn all_who_fit_are_offered(&self, before: &Before) -> Result<(), String> {
        let state = &self.world.state;
        let mut modes = self.in_force();
        let next = state.waiters.iter().find(|waiter| waiter.presence == Presence::Present);
        if let Some(next) = next {
            modes.push(next.mode);
            let bound = modes.len() > self.world.limits.max_holders;
            ensure(bound || !together(&modes), "somebody who fits was not let in")?;
        }
        for waiter in &state.waiters {
            let offered = matches!(waiter.presence, Presence::Offered(_));
            let was = before.waiters.iter().any(|was| {
                was.owner == waiter.owner && matches!(was.presence, Presence::Offered(_))
            });
            let woken = self.world.woken.contains(&waiter.owner);
            ensure(!offered || was || woken, "an offer was made and nobody told")?;
            ensure(offered || !woken, "somebody was woken for nothing")?;
        }
        Ok(())
    }

    /// How the name is held and offered now.
    pub(crate) fn in_force(&self) -> Vec<Mode> {
        let now = self.world.now;
        let holders = self.world.state.holders.iter().filter(|holder| holder.expires > now);
        let offers =
            self.world.state.waiters.iter().filter(
                |waiter| matches!(waiter.presence, Presence::Offered(until) if until > now),
            );
        holders.map(|holder| holder.mode).chain(offers.map(|waiter| waiter.mode)).collect()
    }

    /// What holds at every moment.
    pub(crate) fn stands(&self) -> Result<(), String> {
        let state = &self.world.state;
        let limits = &self.world.limits;
        ensure(together(&self.in_force()), "two hold or are offered what only one can have")?;
        ensure(state.waiters.len() <= limits.max_waiters, "too many wait")?;
        ensure(state.holders.len() <= limits.max_holders, "too many hold")?;
        ensure(
            state.waiters.is_sorted_by_key(|waiter| waiter.position),
            "the queue is out of order",
        )?;
        let claim_by = self.world.now.saturating_add(limits.claim_window);
        let bounded = state.waiters.iter().all(|waiter| match waiter.presence {
            Presence::Offered(until) => until <= claim_by,
            Presence::Present | Presence::Absent => true,
        });
        ensure(bounded, "an offer outlasts its claim window")
    }
}
