//! Random histories of one name, played step by step with the checks of `queue_checks`.
//!
//! The checks know nothing of how the queue decides: they only compare what was there before a
//! step, what was asked and answered, and what is there afterwards.

use std::time::Duration;

use proptest::prelude::*;
use tenure_proto::{
    Renewed, Token,
    queue::{
        Answer, Ask, Client, Holder, Intent, Mode, Order, Position, Presence, QueueError, Raised,
        TakeOver, TakenOver, Waiter,
    },
};

use crate::{
    queue_checks::ensure,
    world::{LIMITS, TTL, World, ask, ms, taking_over},
};

const CONTENDERS: u8 = 6;
pub(crate) const PERMITS: u32 = 3;
const KEEP: Duration = ms(3_000);

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Ask {
        who: usize,
        mode: Mode,
        order: Order,
        waits: bool,
    },
    /// The last ask arrives once more, however late.
    Again(usize),
    Turn(usize),
    /// A fresh owner takes its hold over.
    TakeOver {
        who: usize,
        detached: bool,
    },
    Renew(usize),
    Release {
        who: usize,
        keeps: bool,
    },
    Raise(usize),
    Evict,
    Kill(usize),
    Later(u64),
}

pub(crate) fn history() -> impl Strategy<Value = Vec<Step>> {
    let who = 0..usize::from(CONTENDERS);
    let mode = prop_oneof![
        3 => Just(Mode::Exclusive),
        2 => Just(Mode::Shared),
        1 => (1..=PERMITS).prop_map(|take| Mode::Permits { take, of: PERMITS }),
    ];
    let order = prop_oneof![4 => Just(Order::Fifo), 1 => Just(Order::Barging)];
    let step = prop_oneof![
        8 => (who.clone(), mode, order, prop::bool::weighted(0.8))
            .prop_map(|(who, mode, order, waits)| Step::Ask { who, mode, order, waits }),
        6 => who.clone().prop_map(Step::Again),
        2 => who.clone().prop_map(Step::Turn),
        2 => (who.clone(), prop::bool::ANY)
            .prop_map(|(who, detached)| Step::TakeOver { who, detached }),
        2 => who.clone().prop_map(Step::Renew),
        4 => (who.clone(), prop::bool::weighted(0.2))
            .prop_map(|(who, keeps)| Step::Release { who, keeps }),
        1 => who.clone().prop_map(Step::Raise),
        1 => Just(Step::Evict),
        1 => who.prop_map(Step::Kill),
        5 => prop_oneof![1..600_u64, 1..12_000_u64].prop_map(Step::Later),
    ];
    prop::collection::vec(step, 1..60)
}

/// What a contender last asked, and the position it was told.
pub(crate) struct Contender {
    last: Ask,
    pub(crate) position: Option<Position>,
}

/// What of a name was in force just before a step.
pub(crate) struct Before {
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: Vec<Waiter>,
}

pub(crate) struct Model {
    pub(crate) world: World,
    pub(crate) contenders: Vec<Contender>,
    /// The number of the next acquisition.
    fresh: u8,
    pub(crate) greatest: Option<Token>,
}

/// Plays a history and says what went wrong first.
pub(crate) fn play(history: &[Step]) -> Result<(), String> {
    let mut model = Model::new();
    for (index, step) in history.iter().enumerate() {
        let before = model.before();
        model
            .take(step, &before)
            .and_then(|()| model.stands())
            .map_err(|broken| format!("step {index}, {step:?}: {broken}"))?;
    }
    Ok(())
}

impl Model {
    fn new() -> Self {
        let mut world = World::new();
        world.limits.max_waiters = 4;
        world.limits.max_holders = 3;
        let contenders =
            (1..=CONTENDERS).map(|number| Contender { last: ask(number), position: None });
        Self { world, contenders: contenders.collect(), fresh: CONTENDERS, greatest: None }
    }

    fn before(&self) -> Before {
        let now = self.world.now;
        let mut waiters = self.world.state.waiters.clone();
        waiters.retain(|waiter| waiter.keep_until > now);
        for waiter in &mut waiters {
            let late = waiter.asks_by.saturating_add(LIMITS.position_ttl / 5) <= now;
            let is_overdue = late && !waiter.came_back && waiter.presence == Presence::Present;
            if is_overdue || matches!(waiter.presence, Presence::Offered(until) if until <= now) {
                waiter.presence = Presence::Absent;
            }
        }
        let mut holders = self.world.state.holders.clone();
        holders.retain(|holder| holder.expires > now);
        Before { holders, waiters }
    }

    fn take(&mut self, step: &Step, before: &Before) -> Result<(), String> {
        match step {
            Step::Ask { who, mode, order, waits } => {
                let asked = self.next_ask(*who, *mode, *order, *waits, before);
                self.contenders[*who].last = asked;
                self.asks(*who, before)
            }
            Step::Again(who) => self.asks(*who, before),
            Step::Turn(who) => self.turns(*who, before),
            Step::TakeOver { who, detached } => self.takes_over(*who, *detached, before),
            Step::Renew(who) => self.renews(*who, before),
            Step::Release { who, keeps } => self.releases(*who, *keeps, before),
            Step::Raise(who) => self.raises(*who, before),
            Step::Evict => {
                self.world.decide(|state, at| state.evict(at));
                ensure(self.world.state.holders.is_empty(), "an eviction left a holder")?;
                self.others_untouched(None, before, true)?;
                self.all_who_fit_are_offered(before)
            }
            Step::Kill(who) => {
                let last = &self.contenders[*who].last;
                self.world.kill(last.owner.as_bytes()[0]);
                Ok(())
            }
            Step::Later(millis) => {
                self.world.later(ms(*millis));
                Ok(())
            }
        }
    }

    /// A contender that is in the middle of an acquisition goes on with it; else it begins one,
    /// with the position that it had.
    fn next_ask(
        &mut self,
        who: usize,
        mode: Mode,
        order: Order,
        waits: bool,
        before: &Before,
    ) -> Ask {
        let contender = &self.contenders[who];
        let mine = contender.last.owner;
        let goes_on = !self.world.dead.contains(&Client(*mine.as_bytes()))
            && (before.holders.iter().any(|holder| holder.owner == mine && !holder.lingering)
                || before.waiters.iter().any(|waiter| waiter.owner == mine));
        let intent = match (waits, contender.position) {
            (false, _) => Intent::Try,
            (true, position) if goes_on => Intent::Wait { position },
            (true, _) => Intent::Wait { position: None },
        };
        if goes_on {
            return Ask { mode, order, intent, ..contender.last.clone() };
        }
        self.contenders[who].position = None;
        self.fresh += 1;
        Ask { mode, order, intent, ..ask(self.fresh) }
    }

    fn asks(&mut self, who: usize, before: &Before) -> Result<(), String> {
        let ask = self.contenders[who].last.clone();
        let held = before.holders.iter().find(|held| held.owner == ask.owner && !held.lingering);
        let answer = self.world.try_acquire(&ask);
        self.others_untouched(Some(&ask), before, false)?;
        if let Some(held) = held {
            return self.repeated(&ask, held, &answer);
        }
        if self.world.dead.contains(&Client(*ask.owner.as_bytes())) {
            // A late message from a process that ended: what it leaves is removed with the rest.
            return match answer {
                Ok(Answer::Granted { token, .. }) => self.token_rises(token),
                Ok(Answer::Busy { .. }) | Err(_) => Ok(()),
            };
        }
        let refused = answer.is_err();
        self.answered(who, &ask, answer, before)?;
        if refused { Ok(()) } else { self.all_who_fit_are_offered(before) }
    }

    fn turns(&mut self, who: usize, before: &Before) -> Result<(), String> {
        let last = self.contenders[who].last.clone();
        let number = last.owner.as_bytes()[0];
        self.fresh += 1;
        let intent = Intent::Wait { position: None };
        let next = Ask { mode: last.mode, order: last.order, intent, ..ask(self.fresh) };
        let answer = self.world.turn(number, &next);
        if matches!(answer, Err(QueueError::Full { .. })) {
            return self.others_untouched(None, before, false);
        }
        ensure(self.holder(&last).is_none(), "a turn kept the old hold")?;
        self.others_untouched(Some(&last), before, false)?;
        let passed = before.waiters.iter().any(|waiter| {
            waiter.owner != last.owner
                && waiter.presence == Presence::Present
                && !self.world.dead.contains(&waiter.client)
        });
        let granted = matches!(answer, Ok(Answer::Granted { .. }));
        ensure(
            !(granted && passed && next.mode == Mode::Exclusive),
            "a turn was granted before those who waited",
        )?;
        self.contenders[who] = Contender { last: next.clone(), position: None };
        let mut others = before.waiters.clone();
        others.retain(|waiter| waiter.owner != last.owner);
        let after_letting_go = Before { holders: Vec::new(), waiters: others };
        self.answered(who, &next, answer, &after_letting_go)?;
        self.all_who_fit_are_offered(before)
    }

    fn takes_over(&mut self, who: usize, detached: bool, before: &Before) -> Result<(), String> {
        let last = self.contenders[who].last.clone();
        let held = before.holders.iter().find(|held| held.owner == last.owner && !held.lingering);
        let held = held.filter(|held| !self.world.dead.contains(&held.client));
        self.fresh += 1;
        let mode = held.map_or(last.mode, |held| held.mode);
        let heir = Ask { mode, intent: Intent::Try, ..ask(self.fresh) };
        let from = last.owner.as_bytes()[0];
        let over = TakeOver { mode, detached, ..taking_over(from, self.fresh) };
        let answer = self.world.take_over(&over);
        self.others_untouched(Some(&last), before, false)?;
        self.all_who_fit_are_offered(before)?;
        match (held, answer) {
            (None, Ok(TakenOver::NotHeld)) => {
                ensure(self.holder(&heir).is_none(), "a take-over created a hold")
            }
            (Some(_), Ok(TakenOver::Granted(grant))) => {
                ensure(self.holder(&last).is_none(), "who was taken over from still holds")?;
                let now = self.holder(&heir).ok_or("the heir holds nothing")?;
                ensure(now.token == grant.token && grant.left == TTL, "told another grant")?;
                ensure(now.mode == mode, "it is held otherwise")?;
                ensure((now.client == Client::NOBODY) == detached, "it is another process's")?;
                self.contenders[who] = Contender { last: heir, position: None };
                self.token_rises(grant.token)
            }
            (held, answer) => Err(format!("held {held:?}, but the take-over said {answer:?}")),
        }
    }

    fn renews(&mut self, who: usize, before: &Before) -> Result<(), String> {
        let ask = self.contenders[who].last.clone();
        let held = before.holders.iter().find(|held| held.owner == ask.owner && !held.lingering);
        let answer = self.world.renew(ask.owner.as_bytes()[0]);
        self.others_untouched(Some(&ask), before, false)?;
        match (held, answer) {
            (None, Renewed::Lost) => ensure(self.holder(&ask).is_none(), "a renewal created"),
            (Some(held), Renewed::Renewed { left, .. }) => {
                let now = self.holder(&ask).ok_or("a renewal lost a hold")?;
                ensure(now.expires >= held.expires, "a renewal shortened the lease")?;
                ensure(left >= TTL, "a renewal did not extend the lease")?;
                ensure(now.expires == self.world.now.saturating_add(left), "told another rest")
            }
            (held, answer) => Err(format!("held {held:?}, but the renewal said {answer:?}")),
        }
    }

    fn releases(&mut self, who: usize, keeps: bool, before: &Before) -> Result<(), String> {
        let ask = self.contenders[who].last.clone();
        let keep = if keeps { KEEP } else { Duration::ZERO };
        self.world.release_keeping(ask.owner.as_bytes()[0], keep);
        ensure(self.holder(&ask).is_none(), "a release left the hold")?;
        ensure(self.waiter(&ask).is_none(), "a release left the position")?;
        self.others_untouched(Some(&ask), before, false)?;
        self.all_who_fit_are_offered(before)
    }

    fn raises(&mut self, who: usize, before: &Before) -> Result<(), String> {
        let ask = self.contenders[who].last.clone();
        let target = Token::from_time(self.world.wall + 5).ok_or("the clock is out of range")?;
        let raised =
            self.world.decide(|state, at| (state.raise(&ask.owner, target, at), Vec::new()));
        let now = self.holder(&ask).map(|holder| holder.token);
        match raised {
            Raised::Raised => {
                self.greatest = self.greatest.max(Some(target));
                ensure(now == Some(target), "a raised hold has another token")?;
            }
            Raised::Stale => ensure(now > Some(target), "a greater token was refused")?,
            Raised::NotHeld => ensure(now.is_none(), "a holder was told that it is none")?,
        }
        self.others_untouched(Some(&ask), before, false)
    }

    pub(crate) fn holder(&self, ask: &Ask) -> Option<&Holder> {
        let mut holders = self.world.state.holders.iter();
        holders.find(|held| {
            held.owner == ask.owner && !held.lingering && held.expires > self.world.now
        })
    }

    pub(crate) fn waiter(&self, ask: &Ask) -> Option<&Waiter> {
        self.world.state.waiters.iter().find(|waiter| waiter.owner == ask.owner)
    }
}
