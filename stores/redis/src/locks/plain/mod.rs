//! Locking in the keys of other libraries: a string for each name, set with `SET NX PX`, and deleted by its holder
//! after comparing it.
//!
//! The value of a holder of tenure is its record, as in tenure's own layout. Any other value is a holder of another
//! library. What is rare is done by transactions, which read the value, decide here, and write unless it changed.
//!
//! Most other libraries look now and then, and would seldom find a lock free that tenure's waiters take at once. So
//! where one was seen, a name is left free for a moment after a second of tenure's holds.

mod shared_names;

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{
    Fault, FaultKind, HoldId, LockName, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
    },
    store::Renewal,
};

pub(crate) use self::shared_names::SharedNames;
use crate::locks::{
    Context, LockingMethod, error,
    layout::{
        keys::{Key, release_channel},
        wire,
    },
    method::turn_in_two_steps,
    optimistic::OptimisticMethod,
    scripted::ScriptedMethod,
    scripts,
};

/// Locks names by the keys of other libraries: mutexes alone, without queues.
pub(crate) struct PlainMethod {
    context: Context,
    /// Grants free names and renews: these scripts touch a value only if it is tenure's.
    scripted: ScriptedMethod,
    /// Sees the values of others, and does what is rare.
    optimistic: OptimisticMethod,
}

impl PlainMethod {
    pub(crate) fn new(context: &Context) -> Self {
        Self {
            context: context.clone(),
            scripted: ScriptedMethod(context.clone()),
            optimistic: OptimisticMethod(context.clone()),
        }
    }

    fn shared_names(&self) -> &SharedNames {
        &self.context.shared.shared_names
    }

    /// The key of a name, unless it is one that tenure keeps something else in.
    fn key_of(&self, name: &LockName) -> Result<String, Fault> {
        let key = self.context.key_space().keys(name).text(Key::Lock);
        if key.starts_with(&self.context.shared.options.prefix) {
            return Err(error::own_key(self.context.place()));
        }
        Ok(key)
    }
}

#[async_trait]
impl LockingMethod for PlainMethod {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.key_of(name)?;
        self.optimistic.can_do(ask.mode, ask.order)?;
        // Who does not wait takes what is free.
        let lets_others_go_first =
            matches!(ask.intent, Intent::Wait { .. }) && self.shared_names().contains(name);
        let keys = [Key::Lock, Key::Clock, Key::Turns];
        let keys = if lets_others_go_first { &keys[..] } else { &keys[..2] };
        if let Some(answer) = self.scripted.ask_for_free(name, ask, keys).await? {
            return Ok(answer);
        }
        // Somebody has it: who that is, and for how long, is read now.
        let answer = self.optimistic.acquire(name, ask).await?;
        if let Answer::Busy { holder: Some(Contender { token: None, .. }), .. } = answer {
            self.shared_names().insert(name);
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
        self.context.shared.records.take(owner);
        if !keep.is_zero() {
            return self.optimistic.release(name, owner, keep).await;
        }
        let text = wire::owner(owner);
        let channel = release_channel(&self.context.shared.options, &key);
        let turns = self.shared_names().contains(name).then_some(Key::Turns);
        let keys: Vec<_> = [Key::Lock].into_iter().chain(turns).collect();
        let mut call = self.context.call(name, &keys);
        call.argument(&[&text]).argument(&[channel.as_bytes()]);
        let reply = self.context.run(&scripts::RELEASE_PLAIN, &text, call).await?;
        reply.released().map_err(|refused| self.context.refused(refused))
    }

    /// Releases what this owner has, and asks again: somebody may come between.
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.optimistic.can_do(ask.mode, ask.order)?;
        turn_in_two_steps(self, name, owner, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.key_of(name)?;
        self.optimistic.take_over(name, over).await
    }

    async fn raise(&self, _: &LockName, _: &Owner, _: Token) -> Result<Raised, Fault> {
        let what = "in the plain layout tokens are not raised";
        let help = "use tenure's own layout for a member of a quorum";
        Err(Fault::new(FaultKind::Unsupported, what, help))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.key_of(name)?;
        self.optimistic.inspect(name).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.key_of(name)?;
        self.optimistic.evict(name).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        self.key_of(name)?;
        self.optimistic.evict_hold(name, hold).await
    }
}
