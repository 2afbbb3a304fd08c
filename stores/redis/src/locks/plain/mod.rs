//! Locking in the keys of other libraries: a string for each name, set with `SET NX PX`, and deleted by its holder
//! after comparing it.
//!
//! The value of a holder of tenure is its record, as in tenure's own layout. Any other value is a holder of another
//! library.
//!
//! Most other libraries look now and then, and would seldom find a lock free that tenure's waiters take at once. So
//! where one was seen, a name is left free for a moment after a second of tenure's holds.

mod foreign;
mod value;

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{
    Fault, FaultKind, HoldId, LockName, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Order, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
        time::ceil_millis,
    },
    store::Renewal,
};

use self::value::SeenValue;
use crate::locks::{
    Context, LockingMethod, error,
    layout::{
        keys::{Key, release_channel},
        wire,
    },
    method::turn_in_two_steps,
    scripted::ScriptedMethod,
    scripts,
    shared_names::SharedNames,
    wakeups::{LOOK, LOOK_UNHEARD},
};

/// How often an eviction looks again, as the holder that it saw has gone and another one has come.
const ATTEMPTS: u32 = 64;

/// Locks names by the keys of other libraries: mutexes alone, without queues.
pub(crate) struct PlainMethod {
    context: Context,
    /// Renews: what becomes of silent connections is the same.
    scripted: ScriptedMethod,
}

impl PlainMethod {
    pub(crate) fn new(context: &Context) -> Self {
        Self { context: context.clone(), scripted: ScriptedMethod(context.clone()) }
    }

    fn shared_names(&self) -> &SharedNames {
        &self.context.shared.shared_names
    }

    /// How long a waiter sleeps at most behind this holder.
    fn longest_look(&self, name: &LockName, holder: Option<&Contender>) -> Duration {
        let hears = self.context.shared.watch.hears_all();
        if let Some(Contender { token: None, id, .. }) = holder {
            let look = self.shared_names().insert(name, *id);
            let is_announced = self.context.shared.options.layout.unlock_channel.is_some();
            return if hears && is_announced { LOOK } else { look };
        }
        if hears { LOOK } else { LOOK_UNHEARD }
    }

    /// The key of a name, unless it is one that tenure keeps something else in.
    fn key_of(&self, name: &LockName) -> Result<String, Fault> {
        let key = self.context.key_space().keys(name).text(Key::Lock);
        if key.starts_with(&self.context.shared.options.prefix) {
            return Err(error::own_key(self.context.place()));
        }
        Ok(key)
    }

    async fn seen(&self, name: &LockName) -> Result<Option<SeenValue>, Fault> {
        self.key_of(name)?;
        let echo = self.context.echo();
        let mut call = self.context.call(name, &[Key::Lock]);
        call.argument(&[&echo]);
        let reply = self.context.run(&scripts::INSPECT_PLAIN, &echo, call).await?;
        SeenValue::read(reply).map_err(|refused| self.context.refused(refused))
    }

    /// Evicts whoever has the name, or the holder of this id.
    async fn evict_whom(
        &self,
        name: &LockName,
        only: Option<HoldId>,
    ) -> Result<Option<Contender>, Fault> {
        let key = self.key_of(name)?;
        let channel = release_channel(&self.context.shared.options, &key);
        for _ in 0..ATTEMPTS {
            let Some(seen) = self.seen(name).await? else { return Ok(None) };
            let evictable =
                seen.evictable(only).map_err(|refused| self.context.refused(refused))?;
            let Some((value, mut holder)) = evictable else { return Ok(None) };
            let echo = self.context.echo();
            let mut call = self.context.call(name, &[Key::Lock]);
            call.argument(&[&echo]).argument(&[value]).argument(&[channel.as_bytes()]);
            call.argument(&[self.context.shared.watch.evicted.as_bytes()]);
            let reply = self.context.run(&scripts::EVICT_PLAIN, &echo, call).await?;
            let fields = reply.fields().and_then(|mut fields| fields.text());
            match fields.map_err(|refused| self.context.refused(refused))?.as_str() {
                "evicted" => {
                    self.context.correct_grant_times([&mut holder]);
                    return Ok(Some(holder));
                }
                "changed" => {}
                _ => return Err(error::corrupt(self.context.place())),
            }
        }
        Err(error::overtaken(self.context.place()))
    }
}

#[async_trait]
impl LockingMethod for PlainMethod {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.key_of(name)?;
        self.context.can_do(ask.mode, ask.order)?;
        let waits = matches!(ask.intent, Intent::Wait { .. });
        // Who does not wait takes what is free.
        let lets_others_go_first = waits && self.shared_names().contains(name);
        let keys: &[_] = if lets_others_go_first {
            &[Key::Lock, Key::Clock, Key::Turns]
        } else {
            &[Key::Lock, Key::Clock]
        };
        let owner = wire::owner(&ask.owner);
        let mut call = self.context.call(name, keys);
        wire::add_ask_arguments(&mut call, &owner, ask);
        let reply = self.context.run(&scripts::ACQUIRE_PLAIN, &owner, call).await?;
        let mut answer =
            value::answer(reply, ask).map_err(|refused| self.context.refused(refused))?;
        match &mut answer {
            Answer::Busy { holder, retry_after, .. } => {
                *retry_after = self.longest_look(name, holder.as_ref()).min(*retry_after);
                self.context.correct_grant_times(holder);
                if waits {
                    self.context.listen();
                }
            }
            Answer::Granted { .. } => {
                self.shared_names().was_granted(name);
                self.context.listen();
            }
        }
        Ok(answer)
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(error::not_together("in the plain layout"))
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.scripted.renew_all(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let key = self.key_of(name)?;
        let text = wire::owner(owner);
        let channel = release_channel(&self.context.shared.options, &key);
        let is_shared = self.shared_names().contains(name);
        let keys: &[_] = if is_shared { &[Key::Lock, Key::Turns] } else { &[Key::Lock] };
        let mut call = self.context.call(name, keys);
        call.argument(&[&text]).argument(&[channel.as_bytes()]);
        if !keep.is_zero() {
            call.number(ceil_millis(keep));
        }
        let reply = self.context.run(&scripts::RELEASE_PLAIN, &text, call).await?;
        reply.released().map_err(|refused| self.context.refused(refused))
    }

    /// Releases what this owner has, and asks again: somebody may come between.
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.context.can_do(ask.mode, ask.order)?;
        turn_in_two_steps(self, name, owner, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.key_of(name)?;
        self.context.can_do(over.mode, Order::Barging)?;
        let owner = wire::owner(&over.owner);
        let mut call = self.context.call(name, &[Key::Lock, Key::Clock]);
        wire::add_ask_arguments(&mut call, &owner, &over.as_ask());
        // There are no limits.
        call.argument(&[wire::mode(over.mode).as_bytes()]).argument(&[]);
        call.argument(&[&wire::owner(&over.from)]);
        let reply = self.context.run(&scripts::TAKE_OVER_PLAIN, &owner, call).await?;
        let taken = reply.taken_over(over.ttl).map_err(|refused| self.context.refused(refused))?;
        if matches!(taken, TakenOver::Granted(_)) {
            self.context.listen();
        }
        Ok(taken)
    }

    async fn raise(&self, _: &LockName, _: &Owner, _: Token) -> Result<Raised, Fault> {
        let what = "in the plain layout tokens are not raised";
        let help = "use tenure's own layout for a member of a quorum";
        Err(Fault::new(FaultKind::Unsupported, what, help))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let seen = self.seen(name).await?;
        let holder = seen.map(|seen| seen.holder()).transpose();
        let mut holder = holder.map_err(|refused| self.context.refused(refused))?;
        self.context.correct_grant_times(&mut holder);
        Ok(Snapshot::new(holder.into_iter().collect(), Vec::new()))
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        Ok(self.evict_whom(name, None).await?.into_iter().collect())
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        self.evict_whom(name, Some(hold)).await
    }
}
