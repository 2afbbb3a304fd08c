//! The connections of each runtime: one to each server that it calls.
//!
//! A connection lives in the runtime that opened it. When that runtime ends, so do its entries here.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
    atomic::{AtomicU64, Ordering},
};

use tenure_core::{Fault, FaultKind};
use tokio::{
    runtime::{Handle, Id},
    task::{AbortHandle, JoinHandle},
};

use crate::{
    client::{Connection, pool::Pool},
    servers::{NodeRef, Topology, TopologyClients, route::Server},
};

/// The connections of all runtimes.
#[derive(Debug, Default)]
pub(crate) struct ConnectionsByRuntime(Mutex<Vec<(Id, Arc<RuntimeConnections>)>>);

/// What one runtime has.
#[derive(Debug, Default)]
pub(crate) struct RuntimeConnections {
    /// Where one server has all locks, which is asked for with each call.
    only: OnceLock<Arc<ServerLink>>,
    links: Mutex<Vec<Arc<ServerLink>>>,
    /// Those that one caller has at a time.
    pub(crate) pool: Arc<Pool<LiveConnection>>,
    /// The same for renewals, which wait for nothing else.
    pub(crate) renewal_pool: Arc<Pool<LiveConnection>>,
    /// Who is asked where servers are.
    pub(crate) clients: TopologyClients,
    watcher: Mutex<Option<AbortHandle>>,
}

/// The connection to one server.
pub(crate) struct ServerLink {
    pub(crate) node_ref: NodeRef,
    pub(crate) open: Mutex<Option<LiveConnection>>,
    pub(crate) opening: tokio::sync::Mutex<()>,
    /// What opens a connection for callers who gave up.
    pub(crate) given_up: Mutex<Vec<OpeningTask>>,
    /// Counts attempts, so that whoever waited for one that failed does not make another.
    pub(crate) attempts: AtomicU64,
    pub(crate) last_failure: Mutex<Option<(FaultKind, String, String)>>,
}

/// What opens a connection. It is in the link then, unless one is returned.
pub(crate) type OpeningTask = JoinHandle<Result<Option<LiveConnection>, Fault>>;

#[derive(Clone, Debug)]
pub(crate) struct LiveConnection {
    pub(crate) connection: Arc<Connection>,
    pub(crate) server: Arc<Server>,
}

impl ConnectionsByRuntime {
    /// What the runtime of the caller has.
    pub(crate) fn of_current_runtime(self: &Arc<Self>) -> Result<Arc<RuntimeConnections>, Fault> {
        let runtime = Handle::try_current().map_err(|error| {
            let what = "the Redis store was called outside of a tokio runtime";
            Fault::new(FaultKind::Unsupported, what, "call it from a task of tokio").because(error)
        })?;
        let id = runtime.id();
        let mut all = self.lock();
        if let Some((_, here)) = all.iter().find(|(known, _)| *known == id) {
            return Ok(here.clone());
        }
        let here = Arc::new(RuntimeConnections::default());
        all.push((id, here.clone()));
        drop(all);
        let end = RuntimeEndGuard { id, runtimes: Arc::downgrade(self) };
        let watcher = runtime.spawn(async move {
            let _end = end;
            std::future::pending::<()>().await;
        });
        *lock(&here.watcher) = Some(watcher.abort_handle());
        Ok(here)
    }

    /// The connections of all runtimes that many share.
    pub(crate) fn shared_connections(&self) -> Vec<LiveConnection> {
        self.all().iter().flat_map(|here| here.open()).collect()
    }

    /// Who has connections of all runtimes that one caller has at a time.
    pub(crate) fn exclusive_pools(&self) -> Vec<Arc<Pool<LiveConnection>>> {
        let of = |here: &Arc<RuntimeConnections>| [here.pool.clone(), here.renewal_pool.clone()];
        self.all().iter().flat_map(of).collect()
    }

    fn all(&self) -> Vec<Arc<RuntimeConnections>> {
        self.lock().iter().map(|(_, here)| here.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Id, Arc<RuntimeConnections>)>> {
        lock(&self.0)
    }
}

impl RuntimeConnections {
    /// The connections that many share.
    pub(crate) fn open(&self) -> Vec<LiveConnection> {
        let links: Vec<_> = lock(&self.links).iter().chain(self.only.get()).cloned().collect();
        links.iter().filter_map(|link| link.current()).collect()
    }

    /// The line to this server.
    pub(crate) fn link(&self, node_ref: &NodeRef, route: &Topology) -> Arc<ServerLink> {
        if *node_ref == NodeRef::Only {
            return self.only.get_or_init(|| Arc::new(ServerLink::new(NodeRef::Only))).clone();
        }
        let mut links = lock(&self.links);
        if let Some(link) = links.iter().find(|link| link.node_ref == *node_ref) {
            return link.clone();
        }
        // Those to servers that have left end here.
        links.retain(|link| route.has(&link.node_ref));
        let link = Arc::new(ServerLink::new(node_ref.clone()));
        links.push(link.clone());
        link
    }
}

impl ServerLink {
    fn new(node_ref: NodeRef) -> Self {
        Self {
            node_ref,
            open: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            given_up: Mutex::default(),
            attempts: AtomicU64::default(),
            last_failure: Mutex::default(),
        }
    }

    /// The connection, if there is one that can be used.
    pub(crate) fn current(&self) -> Option<LiveConnection> {
        let open = lock(&self.open);
        open.as_ref().filter(|open| !open.connection.is_closed()).cloned()
    }

    /// Nobody uses this connection any more; the next call opens another.
    pub(crate) fn discard_connection(&self, open: &LiveConnection) {
        let mut current = lock(&self.open);
        if current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(&current.connection, &open.connection))
        {
            *current = None;
        }
    }

    /// What became of the attempt with this number, for those who waited for it.
    pub(crate) fn record_attempt(&self, number: u64, opened: Result<(), &Fault>) {
        let told =
            |fault: &Fault| (fault.kind(), fault.message_and_cause(), fault.help().to_owned());
        self.attempts.store(number, Ordering::Release);
        *lock(&self.last_failure) = opened.err().map(told);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Dropped with the runtime whose task it is part of.
struct RuntimeEndGuard {
    id: Id,
    runtimes: Weak<ConnectionsByRuntime>,
}

impl Drop for RuntimeEndGuard {
    fn drop(&mut self) {
        if let Some(runtimes) = self.runtimes.upgrade() {
            let mut all = runtimes.lock();
            let at = all.iter().position(|(id, _)| *id == self.id);
            let here = at.map(|at| all.swap_remove(at));
            drop(all);
            drop(here);
        }
    }
}

impl ConnectionsByRuntime {
    /// Ends what runs for them.
    pub(crate) fn abort_watchers(&self) {
        let all = std::mem::take(&mut *self.lock());
        for (_, here) in all {
            if let Some(watcher) = lock(&here.watcher).take() {
                watcher.abort();
            }
        }
    }
}

impl std::fmt::Debug for ServerLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerLink")
            .field("node_ref", &self.node_ref)
            .field("open", &lock(&self.open).is_some())
            .finish_non_exhaustive()
    }
}
