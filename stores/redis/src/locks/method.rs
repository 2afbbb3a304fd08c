//! A way to lock: what the calls of the contract do to the keys of a name.

use std::time::Duration;

use async_trait::async_trait;
use tenure_core::{
    Fault, FaultKind, HoldId, LockName, Owner, Token,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{HistoryWrite, Renewal, SlotsWrite, SlotsWritten, StoredHistory, StoredSlots},
};

use crate::locks::capabilities::{NO_HISTORY, NO_SLOT_RECORDS};

/// A way to lock, by a layout of keys of its own or by one that it shares.
///
/// Each call does what the call of the same name of [`Store`](tenure_core::Store) promises. To add a way:
///
/// 1. Make a folder beside `scripted/` and `optimistic/` with the keys, the records and what is decided of
///    them. It takes connections, hints and settings from [`Context`](super::context::Context).
/// 2. Add to the options what chooses it, and choose it in `store.rs`.
/// 3. Declare what it cannot do in `capabilities.rs`: whoever asks for that is refused before.
/// 4. Mount the conformance suite for it in `tests/it/conformance.rs`.
#[async_trait]
pub(crate) trait LockingMethod: Send + Sync {
    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault>;

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault>;

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>>;

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault>;

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault>;

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault>;

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault>;

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault>;

    /// The same of a name whose key a walk has found: where other programs have keys, it may be no lock.
    async fn inspect_listed(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.inspect(name).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault>;

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault>;

    async fn read_slots(&self, _name: &LockName) -> Result<StoredSlots, Fault> {
        Err(NO_SLOT_RECORDS.into())
    }

    async fn write_slots(
        &self,
        _name: &LockName,
        _owner: &Owner,
        _write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        Err(NO_SLOT_RECORDS.into())
    }

    async fn read_history(&self, _name: &LockName) -> Result<StoredHistory, Fault> {
        Err(NO_HISTORY.into())
    }

    async fn add_history(&self, _name: &LockName, _write: &HistoryWrite) -> Result<(), Fault> {
        Err(NO_HISTORY.into())
    }
}

/// A turn where no queue is kept: releases what this owner has, and asks again. Somebody may come between.
pub(crate) async fn turn_in_two_steps(
    method: &impl LockingMethod,
    name: &LockName,
    owner: &Owner,
    ask: &Ask,
) -> Result<Answer, Fault> {
    let released = method.release(name, owner, Duration::ZERO).await?;
    let asked = method.acquire(name, ask).await;
    asked.map_err(|fault| if released == Released::Released { half_done(&fault) } else { fault })
}

/// Why the second of two steps was not done, when the first was.
fn half_done(fault: &Fault) -> Fault {
    Fault::new(FaultKind::InDoubt, fault.message_and_cause(), fault.help().to_owned())
}
