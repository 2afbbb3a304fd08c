//! Locking by scripts that run inside the server.

mod acquire;
mod history;
mod renewal;
mod slot_records;
mod together;

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{
    Fault, HoldId, LockName, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
        time::ceil_millis,
    },
    store::{HistoryWrite, Renewal, SlotsWrite, SlotsWritten, StoredHistory, StoredSlots},
};

use crate::{
    locks::{
        Context, LockingMethod, error,
        layout::{
            fields::ParseResult,
            keys::{self, Key},
            reply::{Reply, part_released},
            wire::{self, OwnerText},
        },
        scripts,
    },
    servers::BatchedReply,
};

/// Locks names by scripts: all kinds, and queues that the server keeps.
pub(crate) struct ScriptedMethod(pub(crate) Context);

impl ScriptedMethod {
    async fn inspected(&self, name: &LockName) -> Result<Reply, Fault> {
        let mut call = self.0.call(name, &[Key::Lock, Key::Line, Key::Ends]);
        let echo = self.0.echo();
        call.argument(&[&echo]);
        self.0.run(&scripts::INSPECT, &echo, call).await
    }

    /// What was answered, unless something else lies at this key.
    fn unless_foreign<T>(
        &self,
        name: &LockName,
        key: Key,
        answer: ParseResult<Option<T>>,
    ) -> Result<T, Fault> {
        let foreign = || {
            let what = if key == Key::History { "history of a lock" } else { "record of slots" };
            error::other_data(self.0.place(), &self.0.key_space().keys(name).text(key), what)
        };
        answer.map_err(|refused| self.0.refused(refused))?.ok_or_else(foreign)
    }

    /// Takes a name from all who hold it, or from this owner alone.
    async fn evict_owner(
        &self,
        name: &LockName,
        only: Option<Owner>,
    ) -> Result<Vec<Contender>, Fault> {
        let only = only.as_ref().map(wire::owner);
        let echo = self.0.echo();
        let mut call = self.0.call(name, &keys::ALL);
        call.argument(&[&echo]).argument(&[self.0.limits().as_bytes()]);
        call.argument(&[self.0.shared.watch.evicted.as_bytes()]);
        call.argument(&[only.as_ref().map_or(&[], OwnerText::as_slice)]);
        let reply = self.0.run(&scripts::EVICT, &echo, call).await?;
        let mut evicted = reply.evicted().map_err(|refused| self.0.refused(refused))?;
        self.0.correct_grant_times(&mut evicted);
        Ok(evicted)
    }
}

#[async_trait]
impl LockingMethod for ScriptedMethod {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.ask(name, ask, None).await
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        self.ask_together(asks).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.renew_all(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let text = wire::owner(owner);
        let released = |reply: Reply| reply.released().map_err(|refused| self.0.refused(refused));
        let record = self.0.shared.records.take(owner);
        if keep.is_zero() && !self.0.shared.crowded_holds.remove(owner) {
            if let Some(record) = record
                && let keys = self.0.key_space().keys(name)
                && self
                    .0
                    .transport
                    .delete_if(
                        keys.tag,
                        &keys.parts(Key::Lock),
                        &[&record.head(&text), record.label()],
                    )
                    .await?
            {
                return Ok(Released::Released);
            }
            let mut call = self.0.call(name, &[Key::Lock]);
            call.argument(&[&text]);
            match self.0.run_batched(&scripts::RELEASES, &text, call).await? {
                BatchedReply::Whole(reply) if reply.is_crowd() => {}
                BatchedReply::Whole(reply) => return released(reply),
                BatchedReply::Part(part) => {
                    if let Some(released) = part_released(part).map_err(|no| self.0.refused(no))? {
                        return Ok(released);
                    }
                }
            }
        }
        let mut call = self.0.call(name, &keys::ALL);
        call.argument(&[&text]).number(ceil_millis(keep));
        call.argument(&[self.0.limits().as_bytes()]);
        released(self.0.run(&scripts::RELEASE, &text, call).await?)
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.ask(name, ask, Some(&wire::owner(owner))).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        let owner = wire::owner(&over.owner);
        let mut call = self.0.call(name, &keys::ALL);
        wire::add_ask_arguments(&mut call, &owner, &over.as_ask());
        call.argument(&[wire::mode(over.mode).as_bytes()]);
        call.argument(&[self.0.limits().as_bytes()]).argument(&[&wire::owner(&over.from)]);
        // Nothing here belongs to a process, so nothing has to be detached from one.
        let reply = self.0.run(&scripts::TAKE_OVER, &owner, call).await?;
        let alone = reply.is_alone();
        let taken = reply.taken_over(over.ttl).map_err(|refused| self.0.refused(refused))?;
        if matches!(taken, TakenOver::Granted(_)) {
            let crowded_holds = &self.0.shared.crowded_holds;
            crowded_holds.remove(&over.from);
            if !alone {
                crowded_holds.insert(over.owner);
            }
            self.0.listen();
        }
        Ok(taken)
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let text = wire::owner(owner);
        let mut call = self.0.call(name, &keys::ALL);
        call.argument(&[&text]).number(token.get()).number(token.time());
        call.argument(&[self.0.limits().as_bytes()]);
        let reply = self.0.run(&scripts::RAISE, &text, call).await?;
        reply.raised().map_err(|refused| self.0.refused(refused))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let mut seen = self
            .inspected(name)
            .await?
            .into_snapshot()
            .map_err(|refused| self.0.refused(refused))?;
        self.0.correct_grant_times(&mut seen.holders);
        Ok(seen)
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.evict_owner(name, None).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let owner = self.inspected(name).await?.owner_of(hold);
        match owner.map_err(|refused| self.0.refused(refused))? {
            Some(owner) => Ok(self.evict_owner(name, Some(owner)).await?.pop()),
            None => Ok(None),
        }
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        self.read_record(name).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        self.write_record(name, owner, write).await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        self.read_events(name).await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.add_events(name, write).await
    }
}
