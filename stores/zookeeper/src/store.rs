//! The store on ZooKeeper.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tenure_core::{
    Evictions, Fault, FaultKind, HoldId, Incarnation, LockName, Owner, Store, Token, Wakeups,
    proto::{
        Renewed,
        queue::{
            Answer, Ask, Contender, Mode, Raised, Released, Snapshot, TakeOver, TakenOver, Together,
        },
    },
    store::{Capabilities, Diagnostic, Listing, Renewal, not_together},
};

use crate::{
    ZookeeperOptions,
    capabilities::capabilities,
    contenders::{
        alone::OwnerLocks,
        data,
        entries::Acquisitions,
        full::FullQueues,
        layout::{NO_READERS, base_of},
        node::{Layout, NodePrefix},
        queue::ContenderQueue,
        token_memory::TokenMemory,
    },
    error,
    session::{Session, probe, sessions::Sessions},
};

/// Locks on a ZooKeeper ensemble, in the layout that Curator uses. Clones share one client.
///
/// Exclusion ([S1](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s1-exclusion)) holds among all
/// processes that use the same base path, through tenure or Curator. It assumes that a majority of the servers keeps
/// what it wrote, that clocks run evenly, and that the tick is not longer than [`ZookeeperOptions::tick`] says. Tokens
/// rise ([S2](https://github.com/tenure-rs/tenure/blob/main/docs/guarantees.md#s2-tokens-rise)) for as long as the
/// ensemble keeps its data.
///
/// All holds of a process belong to one session, which a separate thread keeps. They are lost together.
#[derive(Clone)]
pub struct ZookeeperStore {
    pub(crate) shared: Arc<Shared>,
}

/// What all calls have in common.
pub(crate) struct Shared {
    pub(crate) options: Arc<ZookeeperOptions>,
    pub(crate) place: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) sessions: Sessions,
    pub(crate) entries: Acquisitions,
    pub(crate) asks: OwnerLocks,
    pub(crate) full: FullQueues,
    pub(crate) tokens: TokenMemory,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Watches keep the session's client, which closes the session when its last user is gone.
        self.entries.clear();
    }
}

impl ZookeeperStore {
    /// Connects to the ensemble at `url`: see [`ZookeeperOptions::from_url`] for its format.
    ///
    /// # Errors
    /// A fault if the URL is malformed, if no server with a majority can be reached, or if it refuses this user.
    ///
    /// # Cancel safety
    /// Cancel-safe: a session that is no longer needed ends.
    pub async fn open(url: &str) -> Result<Self, Fault> {
        Self::open_with(ZookeeperOptions::from_url(url)?).await
    }

    /// Connects to the ensemble with these options.
    ///
    /// # Errors
    /// As for [`ZookeeperStore::open`].
    ///
    /// # Cancel safety
    /// As for [`ZookeeperStore::open`].
    pub async fn open_with(options: ZookeeperOptions) -> Result<Self, Fault> {
        Self::boxed(options).await
    }

    /// Compiled in this crate. Each crate that awaits an `async fn` compiles its body again.
    fn boxed(options: ZookeeperOptions) -> BoxFuture<'static, Result<Self, Fault>> {
        Box::pin(Self::opening(options))
    }

    async fn opening(options: ZookeeperOptions) -> Result<Self, Fault> {
        let store = Self::new(options)?;
        match store.shared.first_session().await {
            Ok(_) => Ok(store),
            Err(fault) if fault.is_transient() => {
                let all = probe::probe_servers(&store.shared.options).await;
                Err(probe::add_probe_causes(fault, &store.shared.place, &all))
            }
            Err(fault) => Err(fault),
        }
    }

    /// Makes the store without connecting. The first call begins the session.
    ///
    /// # Errors
    /// A fault if the options contradict each other, or no thread can be started.
    pub fn new(options: ZookeeperOptions) -> Result<Self, Fault> {
        options.check()?;
        let options = Arc::new(options);
        let place = options.location();
        let shared = Arc::new(Shared {
            capabilities: capabilities(&options),
            sessions: Sessions::new(options.clone(), place.clone())?,
            entries: Acquisitions::default(),
            asks: OwnerLocks::default(),
            full: FullQueues::default(),
            tokens: TokenMemory::default(),
            place,
            options,
        });
        shared.sessions.home.spawn(Shared::clean_up(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }
}

impl Shared {
    /// What is made for an ask.
    pub(crate) fn base_of(&self, ask: &Ask) -> Result<NodePrefix, Fault> {
        if ask.mode == Mode::Shared && !self.options.has_readers() {
            return Err(error::cannot(NO_READERS.what, NO_READERS.help));
        }
        base_of(ask.kind, ask.mode, self.options.layout, self.options.semaphore_mutex)
    }

    /// What stands in the node of an ask.
    pub(crate) fn data_of(&self, ask: &Ask, token: Option<Token>) -> Vec<u8> {
        let is_open = self.options.layout == Layout::Kazoo;
        data::encode_data(&ask.label, is_open.then_some(ask.kind), token)
    }

    /// The contenders among the children of a directory, in their order.
    pub(crate) fn queue_of(&self, children: Vec<String>) -> ContenderQueue {
        ContenderQueue::of(children, self.options.layout)
    }

    /// The token of a node that was made by this transaction.
    pub(crate) fn token_of(&self, czxid: i64) -> Option<Token> {
        self.options.tokens.token_of(czxid, self.options.epoch)
    }

    /// The session, with enough time to try more than one server, unless all of them refuse.
    pub(crate) async fn first_session(&self) -> Result<Arc<Session>, Fault> {
        let limit = self.options.session.max(self.options.response_timeout);
        tokio::select! {
            biased;
            begun = self.sessions.get_within(limit) => begun,
            () = probe::wait_all_refused(&self.options) => {
                Err(error::away(&self.place, self.options.tls.is_some()))
            }
        }
    }
}

impl fmt::Debug for ZookeeperStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZookeeperStore").field("location", &self.shared.place).finish()
    }
}

#[async_trait]
impl Store for ZookeeperStore {
    fn kind(&self) -> &'static str {
        "zookeeper"
    }

    fn location(&self) -> String {
        self.shared.place.clone()
    }

    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn for_engine(&self) -> Arc<dyn Store> {
        // Holds belong to one session, and its thread carries out all calls.
        Arc::new(self.clone())
    }

    fn wakeups(&self, name: &LockName, owner: &Owner) -> Wakeups {
        self.shared.sessions.board.listen(name, owner)
    }

    fn evictions(&self) -> Evictions {
        self.shared.sessions.board.evictions()
    }

    async fn acquire(&self, name: &LockName, ask: &Ask) -> Result<Answer, Fault> {
        self.shared.ask(name, ask).await
    }

    async fn acquire_together(&self, _asks: &[(LockName, Ask)]) -> Result<Together, Fault> {
        Err(not_together())
    }

    async fn renew(&self, holds: &[Renewal]) -> Vec<Result<Renewed, Fault>> {
        self.shared.renew(holds).await
    }

    async fn release(
        &self,
        name: &LockName,
        owner: &Owner,
        keep: Duration,
    ) -> Result<Released, Fault> {
        if !keep.is_zero() {
            return Err(error::cannot(
                "on ZooKeeper no name stays taken after its release",
                "leave out hold_at_least, or use another store",
            ));
        }
        self.shared.release(name, owner).await
    }

    async fn turn(&self, name: &LockName, owner: &Owner, ask: &Ask) -> Result<Answer, Fault> {
        self.shared.turn(name, owner, ask).await
    }

    async fn take_over(&self, _name: &LockName, _over: &TakeOver) -> Result<TakenOver, Fault> {
        Err(error::cannot(
            "on ZooKeeper a hold belongs to the session that acquired it, and ends with it",
            "release it, and lock again where the work continues; or use another store",
        ))
    }

    async fn raise(&self, _: &LockName, _: &Owner, _: Token) -> Result<Raised, Fault> {
        Err(error::cannot(
            "on ZooKeeper a token is the number of a transaction, and cannot be raised",
            "use another store as a member of a quorum",
        ))
    }

    async fn inspect(&self, name: &LockName) -> Result<Snapshot, Fault> {
        self.shared.inspect(name).await
    }

    async fn list(&self, prefix: &str, limit: usize) -> Result<Listing, Fault> {
        self.shared.list(prefix, limit).await
    }

    async fn evict(&self, name: &LockName) -> Result<Vec<Contender>, Fault> {
        self.shared.evict(name, None).await
    }

    async fn evict_hold(&self, name: &LockName, hold: HoldId) -> Result<Option<Contender>, Fault> {
        Ok(self.shared.evict(name, Some(hold)).await?.pop())
    }

    async fn hint_holders(&self, name: &LockName) -> Result<(), Fault> {
        self.shared.hint_holders(name).await
    }

    async fn incarnation(&self) -> Result<Incarnation, Fault> {
        let what = "ZooKeeper does not identify its memory";
        Err(Fault::new(FaultKind::Unsupported, what, "use another store as a member of a quorum"))
    }

    async fn health(&self) -> Result<Vec<Diagnostic>, Fault> {
        self.shared.health().await
    }

    #[cfg(unix)]
    fn liveness(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }
}
