//! The store as tenure's own thread sees it: all work on files happens on other threads.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{
    Evictions, Fault, HoldId, Incarnation, LockName, Store, Wakeups,
    proto::{
        Owner, Renewed, Token,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    runtime::may_block_to_renew,
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, SlotsWrite, SlotsWritten,
        StoredHistory, StoredSlots, check_slot_record, not_together,
    },
};

use crate::{
    decisions::{self, decide::CancelFlag},
    error,
    inner::{CAPABILITIES, Inner, KIND},
    threads,
};

/// See [`Store::for_engine`].
#[derive(Clone, Debug)]
pub(crate) struct EngineView(pub(crate) Arc<Inner>);

/// Tells a job that its caller is gone.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl EngineView {
    /// Does `work` on a thread that may block. What has not begun when this future is dropped
    /// never does; what has begun is over before anybody else can look at the name.
    async fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner, &CancelFlag) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (work, _tell) = self.prepared(work);
        threads::run_blocking(work).await.unwrap_or_else(|why| Err(error::no_thread(why)))
    }

    /// The same for adding to a history, which no work on a lock waits for.
    async fn job_on_history<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner, &CancelFlag) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (work, _tell) = self.prepared(work);
        threads::run_on_history(work).await.unwrap_or_else(|why| Err(error::no_thread(why)))
    }

    /// The work with what it needs, and what tells it that its caller is gone.
    fn prepared<T>(
        &self,
        work: impl FnOnce(&Inner, &CancelFlag) -> T + Send + 'static,
    ) -> (impl FnOnce() -> T + Send + 'static, CancelOnDrop) {
        let (inner, given_up) = (self.0.clone(), CancelFlag::default());
        let tells = CancelOnDrop(given_up.clone());
        (move || work(&inner, &given_up), tells)
    }
}

#[async_trait]
impl Store for EngineView {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn location(&self) -> String {
        format!("file:{}", self.0.layout.root.path().display())
    }

    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.0.watch.register_waiter(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.0.watch.register_holders()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let (name, ask) = (name.clone(), ask.clone());
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::acquire(inner, &ask), given_up)
        })
        .await
    }

    async fn acquire_together(&self, _: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(not_together())
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let count = holds.len();
        let holds = holds.to_vec();
        let (work, _tell) = self.prepared(move |inner, given_up| inner.renew(&holds, given_up));
        let renewed = may_block_to_renew(work).await;
        renewed.unwrap_or_else(|why| vec![Err(error::no_thread(why)); count])
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::release(&owner, keep), given_up)
        })
        .await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        let (name, owner, ask) = (name.clone(), *owner, ask.clone());
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::turn(inner, &owner, &ask), given_up)
        })
        .await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        let (name, over) = (name.clone(), over.clone());
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::take_over(inner, &over), given_up)
        })
        .await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::raise(&owner, token), given_up)
        })
        .await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let name = name.clone();
        self.job(move |inner, given_up| {
            inner.decide_blocking(&name, &decisions::inspect(), given_up)
        })
        .await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let prefix = prefix.to_owned();
        self.job(move |inner, _| inner.list(&prefix, limit)).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let name = name.clone();
        self.job(move |inner, given_up| {
            let evicted = inner.decide_blocking(&name, &decisions::evict(), given_up)?;
            for client in evicted.clients {
                inner.watch.tell_evicted(client, &name);
            }
            Ok(evicted.holders)
        })
        .await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let name = name.clone();
        self.job(move |inner, given_up| {
            let mut evicted =
                inner.decide_blocking(&name, &decisions::evict_hold(hold), given_up)?;
            for client in evicted.clients {
                inner.watch.tell_evicted(client, &name);
            }
            Ok(evicted.holders.pop())
        })
        .await
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        let name = name.clone();
        self.job(move |inner, given_up| {
            let holders = inner.decide_blocking(&name, &decisions::holding_clients(), given_up)?;
            for client in holders {
                inner.watch.tell_evicted(client, &name);
            }
            Ok(())
        })
        .await
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        let name = name.clone();
        self.job(move |inner, given_up| inner.read_slots(&name, given_up)).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        check_slot_record(&write.text)?;
        let (name, owner, write) = (name.clone(), *owner, write.clone());
        self.job(move |inner, given_up| inner.write_slots(&name, &owner, &write, given_up)).await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        let name = name.clone();
        let (work, _tell) = self.prepared(move |inner, _| inner.read_history(&name));
        threads::run_reading_history(work).await.unwrap_or_else(|why| Err(error::no_thread(why)))
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        let (name, write) = (name.clone(), write.clone());
        self.job_on_history(move |inner, given_up| inner.add_history(&name, &write, given_up)).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        // What ends with a boot lies in a folder of that boot, and is never taken up by the next.
        Ok(Incarnation::from_bytes(self.0.boot))
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        self.job(|inner, _| {
            let found = inner.layout.root.directory();
            found.map(Some).map_err(|failed| error::io("look at", inner.layout.root.path(), failed))
        })
        .await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.job(|inner, _| Ok(inner.health())).await
    }

    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        self.0.members.liveness()
    }
}
