//! Locks without scripts: a mutex is read under `WATCH`, what to do is decided here, and it is written by
//! `MULTI` and `EXEC` unless somebody else wrote meanwhile, else all is done again.
//!
//! The keys are those of the scripts, and the record of who has a lock is theirs with a mark that has them
//! leave it as it is. So both exclude each other.

mod decide;
mod session;

use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tenure_core::{
    Fault, HoldId, LockName, Owner, Token,
    proto::{
        Backoff, Renewed,
        queue::{
            Answer, Ask, Contender, Intent, Order, Raised, Released, Snapshot, TakeOver, TakenOver,
            Together,
        },
    },
    store::Renewal,
};

pub(crate) use self::decide::LOOK;
use self::{
    decide::{Decision, DecisionResult, HolderState, LockSnapshot},
    session::{WatchScope, WatchTransaction},
};
use crate::{
    locks::{Context, LockingMethod, error, method::turn_in_two_steps},
    servers::transport::lending::PoolKind,
};

/// How often it is tried while others write the same keys.
const ATTEMPTS: u32 = 64;
/// The pauses in between.
const PAUSES: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(10));
/// How many holds are renewed by one transaction: each is in the way of all others.
const TOGETHER: usize = 64;

/// Locks names by transactions: mutexes alone, without queues.
pub(crate) struct OptimisticMethod(pub(crate) Context);

#[async_trait]
impl LockingMethod for OptimisticMethod {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.0.can_do(ask.mode, ask.order)?;
        let mut answer =
            self.transact(name, WatchScope::Clock, &[], |seen| decide::acquire(seen, ask)).await?;
        match &mut answer {
            Answer::Busy { holder, .. } => {
                self.0.correct_grant_times(holder);
                if matches!(ask.intent, Intent::Wait { .. }) {
                    self.0.listen();
                }
            }
            Answer::Granted { token, .. } => {
                if self.0.transport.compares() {
                    self.0.shared.records.insert(ask, *token);
                }
                self.0.listen();
            }
        }
        Ok(answer)
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(error::not_together("without scripts"))
    }

    /// Releases what this owner has, and asks again: somebody may come between.
    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.0.can_do(ask.mode, ask.order)?;
        turn_in_two_steps(self, name, owner, ask).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let record = self.0.shared.records.take(owner);
        if let Some(record) = record.filter(|_| keep.is_zero()) {
            let mut session = WatchTransaction::open(&self.0, PoolKind::Other).await?;
            let keys = self.0.key_space().keys(name);
            if session.delete_if(&keys, &record.without_scripts(owner)).await? {
                return Ok(Released::Released);
            }
        }
        let owner = [owner.to_hex()];
        self.transact(name, WatchScope::Locks, &owner, |seen| {
            decide::release(seen, &owner[0], keep)
        })
        .await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.0.can_do(over.mode, Order::Barging)?;
        let owners = [over.from.to_hex(), over.owner.to_hex()];
        let taken = self
            .transact(name, WatchScope::Clock, &owners, |seen| decide::take_over(seen, over))
            .await?;
        if matches!(taken, TakenOver::Granted(_)) {
            self.0.listen();
        }
        Ok(taken)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let owner = [owner.to_hex()];
        let raise = |seen: &LockSnapshot| decide::raise(seen, &owner[0], token);
        self.transact(name, WatchScope::Clock, &owner, raise).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let mut session = WatchTransaction::open(&self.0, PoolKind::Other).await?;
        let keys = self.0.key_space().keys(name);
        let seen = session.watch_locks(&[keys], WatchScope::Nothing, &[]).await?;
        let inspected = seen.first().map(decide::inspect).transpose();
        let mut holder = inspected.map_err(|refused| self.0.refused(refused))?.flatten();
        self.0.correct_grant_times(&mut holder);
        Ok(Snapshot::new(holder.into_iter().collect(), Vec::new()))
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let mut evicted = self.transact(name, WatchScope::Locks, &[], decide::evict).await?;
        self.0.tell_eviction(name).await;
        self.0.correct_grant_times(&mut evicted);
        Ok(evicted)
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let evict = |seen: &LockSnapshot| decide::evict_hold(seen, hold);
        let mut evicted = self.transact(name, WatchScope::Locks, &[], evict).await?;
        if evicted.is_some() {
            self.0.tell_eviction(name).await;
        }
        self.0.correct_grant_times(&mut evicted);
        Ok(evicted)
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let parts = holds.chunks(TOGETHER).map(|part| self.renew_part(part));
        let told = join_all(parts).await.into_iter().flatten().collect();
        self.0.listen();
        told
    }
}

impl OptimisticMethod {
    async fn renew_part(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        if holds.len() > 1 {
            let locks: Vec<_> = holds.iter().map(|hold| &hold.name).collect();
            let mut renewed = Vec::with_capacity(holds.len());
            let mut decide = |number: usize, seen: &LockSnapshot| {
                let decided = match holds.get(number) {
                    Some(hold) => decide::renew(seen, &hold.owner.to_hex(), hold.ttl),
                    None => Ok(Decision::Said(Renewed::Lost)),
                };
                let (effect, answer) = match decided.map(Decision::apart) {
                    Ok((effect, answer)) => (effect, Ok(answer)),
                    Err(refused) => (Decision::Said(()), Err(self.0.refused(refused))),
                };
                renewed.push(answer);
                effect
            };
            let how = (WatchScope::Locks, PoolKind::Renewal);
            match self.try_transact(&locks, how, &[], &mut decide).await {
                Ok(true) => return renewed,
                // Each has only itself in its way then.
                Ok(false) => {}
                Err(fault) if fault.is_transient() => {
                    return holds.iter().map(|_| Err(fault.clone())).collect();
                }
                // What the user may not do with one of them.
                Err(_) => {}
            }
        }
        let one = async |hold: &Renewal| {
            let owner = [hold.owner.to_hex()];
            let renew = |seen: &LockSnapshot| decide::renew(seen, &owner[0], hold.ttl);
            let how = (WatchScope::Locks, PoolKind::Renewal);
            self.transact_so(&hold.name, how, &owner, renew).await
        };
        join_all(holds.iter().map(one)).await
    }

    async fn transact<T: Send>(
        &self,
        name: &LockName,
        watched: WatchScope,
        owners: &[String],
        decide: impl Fn(&LockSnapshot) -> DecisionResult<T> + Send + Sync,
    ) -> Result<T, Fault> {
        self.transact_so(name, (watched, PoolKind::Other), owners, decide).await
    }

    /// Decides until what was decided upon was still so when it was written.
    async fn transact_so<T: Send>(
        &self,
        name: &LockName,
        how: (WatchScope, PoolKind),
        owners: &[String],
        decide: impl Fn(&LockSnapshot) -> DecisionResult<T> + Send + Sync,
    ) -> Result<T, Fault> {
        let mut pauses = Backoff::new(PAUSES.0, PAUSES.1);
        for _ in 0..ATTEMPTS {
            let mut answer = Err(error::overtaken(self.0.place()));
            let mut decide = |_, seen: &LockSnapshot| match decide(seen).map(Decision::apart) {
                Ok((effect, decided)) => {
                    answer = Ok(decided);
                    effect
                }
                Err(refused) => {
                    answer = Err(self.0.refused(refused));
                    Decision::Said(())
                }
            };
            if self.try_transact(&[name], how, owners, &mut decide).await? {
                return answer;
            }
            let mut random = [0; 8];
            // Without randomness all pause for as long as they do at least.
            let _ = getrandom::fill(&mut random);
            tokio::time::sleep(pauses.next(u64::from_ne_bytes(random))).await;
        }
        Err(error::overtaken(self.0.place()))
    }

    /// Decides once, and says whether it counts: not when somebody else wrote meanwhile. It is compiled once,
    /// as `decide` keeps the answers.
    async fn try_transact(
        &self,
        names: &[&LockName],
        (watched, purpose): (WatchScope, PoolKind),
        owners: &[String],
        decide: &mut (dyn FnMut(usize, &LockSnapshot) -> Decision<()> + Send),
    ) -> Result<bool, Fault> {
        let locks: Vec<_> = names.iter().map(|name| self.0.key_space().keys(name)).collect();
        let mut session = WatchTransaction::open(&self.0, purpose).await?;
        let seen = session.watch_locks(&locks, watched, owners).await?;
        let is_crowd = |seen: &LockSnapshot| matches!(seen.held, HolderState::Crowd(_));
        if locks.len() > 1 && seen.iter().any(is_crowd) {
            // Of that one more has to be seen.
            return Ok(false);
        }
        let (mut changes, mut counts) = (Vec::new(), false);
        for (number, (keys, seen)) in locks.iter().zip(&seen).enumerate() {
            match decide(number, seen) {
                Decision::Said(()) => {}
                Decision::Before(()) => counts = true,
                Decision::With(these, ()) => {
                    changes.extend(these.into_iter().map(|change| (keys, change)));
                }
            }
        }
        if !changes.is_empty() {
            return session.write(&changes).await;
        }
        if counts && self.0.confirms() {
            session.confirm().await?;
        }
        Ok(true)
    }
}
