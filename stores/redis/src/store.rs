//! The store on Redis.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Evictions, Fault, HoldId, Incarnation, LockName, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{
        Capabilities, Diagnostic, HistoryWrite, Listing, Renewal, SlotsWrite, SlotsWritten,
        StoredHistory, StoredSlots,
    },
};

use crate::{
    locks::{
        Context, LockingMethod, error,
        health::{self, ProbeContext},
        layout::wire,
        listing,
        optimistic::OptimisticMethod,
        plain::PlainMethod,
        redisson::RedissonMethod,
        scripted::ScriptedMethod,
    },
    options::{Layout, RedisOptions},
    servers::incarnation,
};

/// Locks on one Redis or Valkey server. Clones share one client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds while the
/// server keeps its data and its clock runs evenly.
/// [docs/stores/redis.md](https://github.com/tenure-rs/tenure/blob/main/docs/stores/redis.md) says what that requires
/// of its configuration, and [`Store::health`] checks it. Tokens rise
/// ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) even when the data is lost,
/// unless the clock is then behind.
#[derive(Clone)]
pub struct RedisStore {
    context: Context,
    /// How names are locked.
    method: Arc<dyn LockingMethod>,
}

impl RedisStore {
    /// Connects to the server at `url`: see [`RedisOptions::from_url`] for its format.
    ///
    /// # Errors
    /// A fault if the URL is malformed, the server cannot be reached, or it refuses this user. Behind Sentinel it is
    /// enough that a majority of the sentinels answers, because a failover may be under way.
    ///
    /// # Cancel safety
    /// Cancel-safe: a connection that is no longer needed is closed.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        Self::open_with(RedisOptions::from_url(url)?).await
    }

    /// Connects to the server with these options.
    ///
    /// # Errors
    /// As for [`RedisStore::open`].
    ///
    /// # Cancel safety
    /// Cancel-safe: a connection that is no longer needed is closed.
    pub async fn open_with(options: RedisOptions) -> Result<Self, Fault> {
        Self::boxed(options).await
    }

    /// Compiled in this crate. Each crate that awaits an `async fn` compiles its body again.
    fn boxed(options: RedisOptions) -> BoxFuture<'static, Result<Self, Fault>> {
        Box::pin(Self::opening(options))
    }

    async fn opening(options: RedisOptions) -> Result<Self, Fault> {
        let store = Self::new(options)?;
        match store.context.transport.open().await {
            // Calls wait for the failover within their own limits.
            Err(fault) if fault.is_transient() && store.context.transport.route.is_there() => {
                Ok(store)
            }
            opened => opened.map(|()| store),
        }
    }

    /// Makes the store without connecting. The first call connects.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or the operating system provides no randomness.
    pub fn new(options: RedisOptions) -> Result<Self, Fault> {
        let context = Context::new(options)?;
        Ok(Self { method: method(&context), context })
    }
}

/// The locking method that the options choose.
fn method(context: &Context) -> Arc<dyn LockingMethod> {
    match (context.layout(), context.shared.options.scripts) {
        (Layout::Plain, _) => Arc::new(PlainMethod::new(context)),
        (Layout::Redisson, _) => Arc::new(RedissonMethod::new(context)),
        (Layout::Tenure, true) => Arc::new(ScriptedMethod(context.clone())),
        (Layout::Tenure, false) => Arc::new(OptimisticMethod(context.clone())),
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("location", &self.context.transport.place).finish()
    }
}

#[async_trait]
impl Store for RedisStore {
    fn kind(&self) -> &'static str {
        "redis"
    }

    fn db_system(&self) -> Option<&'static str> {
        Some("redis")
    }

    fn location(&self) -> String {
        self.context.transport.place.clone()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.context.shared.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        let context = self.context.with_own_connections();
        Arc::new(Self { method: method(&context), context })
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.context.shared.watch.board.listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.context.shared.watch.board.evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.method.acquire(name, ask).await
    }

    async fn acquire_together(&self, asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        self.method.acquire_together(asks).await
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.method.renew(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        self.method.release(name, owner, keep).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.method.turn(name, owner, ask).await
    }

    async fn take_over(&self, name: &LockName, over: &TakeOver) -> Result<TakenOver, Fault> {
        self.method.take_over(name, over).await
    }

    async fn raise(&self, name: &LockName, owner: &Owner, token: Token) -> Result<Raised, Fault> {
        if token.time() >= wire::LAST_TIME {
            return Err(error::last_token(self.context.place()));
        }
        self.method.raise(name, owner, token).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.method.inspect(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        let look = |name: LockName| async move {
            let seen = self.method.inspect_listed(&name).await;
            (name, seen)
        };
        listing::list(&self.context.transport, prefix, limit, look).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.method.evict(name).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        self.method.evict_hold(name, hold).await
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.context.tell_eviction(name).await;
        Ok(())
    }

    async fn read_slots(&self, name: &LockName) -> Result<StoredSlots, Fault> {
        self.method.read_slots(name).await
    }

    async fn write_slots(
        &self,
        name: &LockName,
        owner: &Owner,
        write: &SlotsWrite,
    ) -> Result<SlotsWritten, Fault> {
        self.method.write_slots(name, owner, write).await
    }

    async fn read_history(&self, name: &LockName) -> Result<StoredHistory, Fault> {
        self.method.read_history(name).await
    }

    async fn add_history(&self, name: &LockName, write: &HistoryWrite) -> Result<(), Fault> {
        self.method.add_history(name, write).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        incarnation::ask(&self.context.transport).await
    }

    async fn server(&self) -> Result<Option<String>, Fault> {
        incarnation::server(&self.context.transport).await
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        let (transport, watch) = (&*self.context.transport, &self.context.shared.watch);
        health::look(ProbeContext { store: self, transport, watch }).await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
