//! Locking in the keys of Redisson: a hash for each name, with a field for each holder.
//!
//! A mutex is an `RLock`, and with `tokens=fenced` an `RFencedLock`; a read-write lock is an `RReadWriteLock`. Each
//! hold has a field of its own whose count is one, so that every step can be repeated.

mod reply;

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{
    Fault, FaultKind, HoldId, LockName, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Kind, Mode, Order, Raised, Released, Snapshot,
            TakeOver, TakenOver, Together,
        },
        time::ceil_millis,
    },
    store::Renewal,
};

use crate::{
    client::{Script, ScriptCall},
    locks::{
        Context, LockingMethod, error,
        layout::{
            fields::{ParseResult, ReplyError},
            keys::Key,
            redisson::{
                holder::field_start,
                keys::{self, ChannelKind},
            },
            reply::Reply,
            wire::{self, OwnerText},
        },
        method::turn_in_two_steps,
        scripted::ScriptedMethod,
        scripts,
    },
};

/// Locks names by the keys of Redisson: mutexes and read-write locks, without queues.
pub(crate) struct RedissonMethod {
    context: Context,
    /// Renews: what becomes of silent connections is the same.
    scripted: ScriptedMethod,
}

impl RedissonMethod {
    pub(crate) fn new(context: &Context) -> Self {
        Self { context: context.clone(), scripted: ScriptedMethod(context.clone()) }
    }

    /// The key of a name, unless it is one that tenure keeps something else in.
    fn key_of(&self, name: &LockName) -> Result<String, Fault> {
        let key = self.context.key_space().keys(name).text(Key::Lock);
        let is_taken = [&*self.context.shared.options.prefix, keys::RESERVED];
        if is_taken.iter().any(|prefix| key.starts_with(prefix)) {
            return Err(error::own_key(self.context.place()));
        }
        if self.context.in_cluster() && !keys::is_whole_in_cluster(&key) {
            return Err(error::torn_by_braces(self.context.place()));
        }
        Ok(key)
    }

    /// A call with all keys that a grant takes.
    fn granting_call(&self, name: &LockName, key: &str) -> ScriptCall {
        let mut call = self.context.call(name, &[Key::Lock, Key::Clock]);
        call.key(&[keys::counter(key).as_bytes()]).key(&[keys::queue(key).as_bytes()]);
        call
    }

    /// How long a lease is, in milliseconds. Redisson's watchdog of readers sets the ttl of the hash to its own timeout,
    /// so the lease of another reader must not be longer; nor that of a writer, who may become one under the same lease.
    fn lease(&self, kind: Kind, ttl: Duration) -> u64 {
        let longest = self.context.shared.options.layout.lock_watchdog_timeout;
        ceil_millis(if kind == Kind::ReadWrite { ttl.min(longest) } else { ttl })
    }

    /// How the scripts call this way to hold.
    fn manner(&self, kind: Kind, mode: Mode) -> Result<&'static str, Fault> {
        let reasons = &self.context.shared.capabilities.reasons;
        let fenced = self.context.shared.options.layout.fenced_tokens;
        match (mode, kind) {
            (Mode::Exclusive, Kind::Mutex | Kind::Election) => Ok(if fenced { "f" } else { "x" }),
            (Mode::Shared | Mode::Exclusive, Kind::ReadWrite) if fenced => {
                Err(reasons.shared.map_or_else(|| error::no_counterpart(kind), Fault::from))
            }
            (Mode::Exclusive, Kind::ReadWrite) => Ok("w"),
            (Mode::Shared, Kind::ReadWrite) => Ok("s"),
            (Mode::Permits { .. }, _) => {
                Err(reasons.permits.map_or_else(|| error::no_counterpart(kind), Fault::from))
            }
            (_, kind) => Err(error::no_counterpart(kind)),
        }
    }

    async fn run<T>(
        &self,
        script: &Script,
        echo: &OwnerText,
        call: ScriptCall,
        read: impl FnOnce(Reply) -> ParseResult<T>,
    ) -> Result<T, Fault> {
        let reply = self.context.run(script, echo, call).await?;
        read(reply).map_err(|refused| self.context.refused(refused))
    }

    async fn evict_field(
        &self,
        name: &LockName,
        field: &str,
    ) -> Result<Vec<(String, Contender)>, Fault> {
        let key = self.key_of(name)?;
        let echo = self.context.echo();
        let mut call = self.context.call(name, &[Key::Lock]);
        call.key(&[keys::queue(&key).as_bytes()]);
        call.argument(&[&echo]).argument(&[field.as_bytes()]);
        self.add_channels(&mut call, &key);
        call.argument(&[self.context.shared.watch.evicted.as_bytes()]);
        self.run(&scripts::EVICT_REDISSON, &echo, call, reply::seen).await
    }

    async fn inspected(&self, name: &LockName) -> Result<Reply, Fault> {
        self.key_of(name)?;
        let echo = self.context.echo();
        let mut call = self.context.call(name, &[Key::Lock]);
        call.argument(&[&echo]);
        self.context.run(&scripts::INSPECT_REDISSON, &echo, call).await
    }

    async fn seen(&self, name: &LockName) -> Result<Vec<(String, Contender)>, Fault> {
        let seen = reply::seen(self.inspected(name).await?);
        seen.map_err(|refused| self.context.refused(refused))
    }

    /// How a release is announced.
    fn verb(&self) -> &'static str {
        if self.context.in_cluster() { "SPUBLISH" } else { "PUBLISH" }
    }

    /// Adds how and where releases are announced.
    fn add_channels(&self, call: &mut ScriptCall, key: &str) {
        call.argument(&[self.verb().as_bytes()]);
        for kind in [ChannelKind::Lock, ChannelKind::ReadWrite] {
            call.argument(&[keys::channel(kind, key).as_bytes()]);
        }
    }

    /// The holders alone, by the server's clock.
    fn holders(&self, seen: Vec<(String, Contender)>) -> Vec<Contender> {
        let mut holders: Vec<_> = seen.into_iter().map(|(_, holder)| holder).collect();
        self.context.correct_grant_times(&mut holders);
        holders
    }
}

#[async_trait]
impl LockingMethod for RedissonMethod {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let key = self.key_of(name)?;
        let manner = self.manner(ask.kind, ask.mode)?;
        if ask.order == Order::Fifo {
            return Err(self
                .context
                .shared
                .capabilities
                .reasons
                .fifo
                .map_or_else(|| error::no_counterpart(ask.kind), Fault::from));
        }
        let waits = matches!(ask.intent, Intent::Wait { .. });
        let (heard, _) = self.context.shared.watch.messages(&key);
        // Who does not wait takes what is free.
        if waits && let Some(retry_after) = self.context.shared.yielded.left(name, heard) {
            return Ok(Answer::Busy { retry_after, ahead: 0, holder: None, position: None });
        }
        let owner = wire::owner(&ask.owner);
        let mut call = self.granting_call(name, &key);
        call.argument(&[&owner]).argument(&[field_start(&owner).as_bytes()]);
        call.number(self.lease(ask.kind, ask.ttl));
        let kind =
            if ask.kind == Kind::ReadWrite { ChannelKind::ReadWrite } else { ChannelKind::Lock };
        let script = if manner == "s" {
            let most = self.context.shared.options.limits.max_holders;
            call.argument(&[ask.label.as_bytes()]).number(u64::try_from(most).unwrap_or(u64::MAX));
            let channel = keys::channel(kind, &key);
            call.argument(&[self.verb().as_bytes()]).argument(&[channel.as_bytes()]);
            &scripts::READ_REDISSON
        } else {
            let letter = if manner == "w" { "" } else { wire::letter(ask.kind) };
            call.argument(&[letter.as_bytes()]).argument(&[ask.label.as_bytes()]);
            call.argument(&[manner.as_bytes()]);
            &scripts::ACQUIRE_REDISSON
        };
        let hears = || self.context.shared.watch.hears(name, &key, kind);
        let mut answer =
            self.run(script, &owner, call, |reply| reply::answer(reply, hears)).await?;
        match &mut answer {
            Answer::Busy { holder, .. } => {
                self.context.shared.yielded.was_needed(name);
                self.context.correct_grant_times(holder);
                if waits {
                    self.context.shared.watch.want(name, &key, kind);
                    self.context.listen();
                }
            }
            Answer::Granted { .. } => self.context.listen(),
        }
        Ok(answer)
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(error::not_together("in Redisson's layout"))
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
        if !keep.is_zero() {
            return Err(error::no_keeping());
        }
        let key = self.key_of(name)?;
        let (said, own_messages) = self.context.shared.watch.messages(&key);
        let text = wire::owner(owner);
        let mut call = self.context.call(name, &[Key::Lock]);
        call.key(&[keys::queue(&key).as_bytes()]);
        call.argument(&[&text]).argument(&[field_start(&text).as_bytes()]);
        self.add_channels(&mut call, &key);
        let (released, heard) =
            self.run(&scripts::RELEASE_REDISSON, &text, call, reply::released).await?;
        // This process is one of them if it waited for the name a while ago.
        let own = |kind| self.context.shared.watch.subscriptions(name, &key, kind);
        if heard > 0 && heard > own(ChannelKind::Lock).max(own(ChannelKind::ReadWrite)) {
            self.context.shared.yielded.insert(name, said, own_messages);
        }
        Ok(released)
    }

    /// Releases what this owner has, lets others go first that heard of it, and asks again.
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.manner(ask.kind, ask.mode)?;
        turn_in_two_steps(self, name, owner, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        let key = self.key_of(name)?;
        let manner = self.manner(over.kind, over.mode)?;
        let longest = self.context.shared.capabilities.longest_detached_lease(over.kind);
        if over.detached && over.ttl > longest {
            return Err(error::too_long_without_process(longest));
        }
        let (owner, from) = (wire::owner(&over.owner), wire::owner(&over.from));
        let mut call = self.granting_call(name, &key);
        call.argument(&[&owner]);
        for owner in [&from, &owner] {
            call.argument(&[field_start(owner).as_bytes()]);
        }
        let letter = if manner == "w" { "" } else { wire::letter(over.kind) };
        call.number(self.lease(over.kind, over.ttl)).argument(&[letter.as_bytes()]);
        call.argument(&[over.label.as_bytes()]).argument(&[manner.as_bytes()]);
        let taken = self.run(&scripts::TAKE_OVER_REDISSON, &owner, call, reply::taken_over).await?;
        if matches!(taken, TakenOver::Granted(_)) {
            self.context.listen();
        }
        Ok(taken)
    }

    async fn raise(&self, _: &LockName, _: &Owner, _: Token) -> Result<Raised, Fault> {
        let what = "in Redisson's layout tokens are not raised";
        let help = "use tenure's own layout for a member of a quorum";
        Err(Fault::new(FaultKind::Unsupported, what, help))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let seen = self.seen(name).await?;
        Ok(Snapshot::new(self.holders(seen), Vec::new()))
    }

    /// Other hashes are not in use as locks.
    async fn inspect_listed(&self, name: &LockName) -> Result<Snapshot, Fault> {
        if self.key_of(name).is_err() {
            return Ok(Snapshot::default());
        }
        let inspected = self.inspected(name).await?;
        let seen = reply::seen(inspected).or_else(|refused| match refused {
            ReplyError::NoRedissonLock => Ok(Vec::new()),
            refused => Err(self.context.refused(refused)),
        })?;
        Ok(Snapshot::new(self.holders(seen), Vec::new()))
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let evicted = self.evict_field(name, "").await?;
        Ok(self.holders(evicted))
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let seen = self.seen(name).await?;
        let Some((field, _)) = seen.into_iter().find(|(_, holder)| holder.id == Some(hold)) else {
            return Ok(None);
        };
        let evicted = self.evict_field(name, &field).await?;
        Ok(self.holders(evicted).pop())
    }
}
