//! A store behind a network that loses, repeats and delays, from a seed.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tenure_core::{
    Clock, Evictions, Fault, HintBoard, LockName, Store, Wakeups,
    proto::{
        HoldId, Incarnation, Owner, Renewed, Timestamp, Token,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, SlotsWrite, SlotsWritten,
        StoredHistory, StoredSlots,
    },
};

use super::{
    Faults, Tally,
    network::{Call, Network},
};
use crate::Random;

/// A store of which some requests and answers are lost, some come late and some calls are carried
/// out twice. Clones share one connection, one seed and one count of faults.
///
/// Calls go on when their callers give them up, on the runtime that they were made in, unless it was
/// made without late calls.
#[derive(Clone)]
pub struct Unreliable {
    inner: Arc<dyn Store>,
    capabilities: Arc<Capabilities>,
    network: Arc<Network>,
    silent: HintBoard,
}

impl Unreliable {
    /// `inner` behind a network with `faults`, whose delays are measured on `clock`.
    #[must_use]
    pub fn new(
        inner: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        faults: Faults,
        random: Random,
        tally: Arc<Tally>,
    ) -> Self {
        Self::build(inner, clock, faults, random, tally, true)
    }

    /// The same, except that calls take effect at once or never: no request is late, none is
    /// carried out twice.
    #[must_use]
    pub fn without_late_calls(
        inner: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        faults: Faults,
        random: Random,
        tally: Arc<Tally>,
    ) -> Self {
        Self::build(inner, clock, faults, random, tally, false)
    }

    fn build(
        inner: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        faults: Faults,
        random: Random,
        tally: Arc<Tally>,
        calls_outlive_drop: bool,
    ) -> Self {
        let capabilities = Capabilities { calls_outlive_drop, ..inner.capabilities().clone() };
        Self {
            inner,
            capabilities: Arc::new(capabilities),
            network: Arc::new(Network::new(clock, faults, random, tally, calls_outlive_drop)),
            silent: HintBoard::new(),
        }
    }

    /// From now on these faults happen.
    pub fn set_faults(&self, faults: Faults) {
        self.network.set_faults(faults);
    }

    /// From now on no request leaves and no answer comes, as when the process has ended.
    pub fn cut(&self) {
        self.network.cut();
    }

    /// Whether the process stands still: as long as it does, no request leaves and no answer is
    /// heard. For what the process runs in the background, where nothing else holds it.
    pub fn stand_still(&self, still: bool) {
        self.network.stand_still(still);
    }

    /// When a call was sent last that went wrong in any way.
    #[must_use]
    pub fn last_trouble(&self) -> Timestamp {
        self.network.last_trouble()
    }

    /// How many calls are under way, those included whose callers gave them up.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.network.under_way()
    }

    async fn carry<T: Send + 'static>(
        &self,
        call: impl Fn(Arc<dyn Store>) -> Call<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let inner = self.inner.clone();
        self.network.carry(move || call(inner.clone())).await
    }
}

impl fmt::Debug for Unreliable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unreliable").field("inner", &self.inner).finish_non_exhaustive()
    }
}

// Whatever the contract gets must go through the network too.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Store for Unreliable {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn db_system(&self) -> Option<&'static str> {
        self.inner.db_system()
    }

    fn location(&self) -> String {
        format!("{}, behind an unreliable network", self.inner.location())
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        Arc::new(Self { inner: self.inner.for_engine(), ..self.clone() })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        if self.network.hints_lost() {
            return self.silent.listen(name, owner);
        }
        self.inner.wakeups(name, owner)
    }

    fn evictions(&self) -> Evictions {
        let network = self.network.clone();
        Evictions::merged(vec![self.inner.evictions()], move |_, _| !network.hints_lost())
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        let (name, ask) = (name.clone(), ask.clone());
        self.carry(move |store| {
            let (name, ask) = (name.clone(), ask.clone());
            Box::pin(async move { store.acquire(&name, &ask).await })
        })
        .await
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        let asks = asks.to_vec();
        self.carry(move |store| {
            let asks = asks.clone();
            Box::pin(async move { store.acquire_together(&asks).await })
        })
        .await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        let sent = holds.to_vec();
        let answer = self
            .carry(move |store| {
                let holds = sent.clone();
                Box::pin(async move { Ok(store.renew(&holds).await) })
            })
            .await;
        answer.unwrap_or_else(|fault| vec![Err(fault); holds.len()])
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.release(&name, &owner, keep).await })
        })
        .await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        let (name, owner, ask) = (name.clone(), *owner, ask.clone());
        self.carry(move |store| {
            let (name, ask) = (name.clone(), ask.clone());
            Box::pin(async move { store.turn(&name, &owner, &ask).await })
        })
        .await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        let (name, over) = (name.clone(), over.clone());
        self.carry(move |store| {
            let (name, over) = (name.clone(), over.clone());
            Box::pin(async move { store.take_over(&name, &over).await })
        })
        .await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        let (name, owner) = (name.clone(), *owner);
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.raise(&name, &owner, token).await })
        })
        .await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.inspect(&name).await })
        })
        .await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let prefix = prefix.to_owned();
        self.carry(move |store| {
            let prefix = prefix.clone();
            Box::pin(async move { store.list(&prefix, limit).await })
        })
        .await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.evict(&name).await })
        })
        .await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.evict_hold(&name, hold).await })
        })
        .await
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.hint_holders(&name).await })
        })
        .await
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.read_slots(&name).await })
        })
        .await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        let (name, owner, write) = (name.clone(), *owner, write.clone());
        self.carry(move |store| {
            let (name, write) = (name.clone(), write.clone());
            Box::pin(async move { store.write_slots(&name, &owner, &write).await })
        })
        .await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        let name = name.clone();
        self.carry(move |store| {
            let name = name.clone();
            Box::pin(async move { store.read_history(&name).await })
        })
        .await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        let (name, write) = (name.clone(), write.clone());
        self.carry(move |store| {
            let (name, write) = (name.clone(), write.clone());
            Box::pin(async move { store.add_history(&name, &write).await })
        })
        .await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        self.carry(|store| Box::pin(async move { store.incarnation().await })).await
    }

    /// Not told, as some services hide it: what else notices that two are one is then all that does.
    async fn server(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.carry(|store| Box::pin(async move { store.health().await })).await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        self.inner.liveness()
    }
}
