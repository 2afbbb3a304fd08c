//! What the calls, the renewals and the looks of one store have in common.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use tenure_core::{
    proto::queue::{Client, Limits},
    store::{Capabilities, HintBoard},
    threads::StoreThread,
};
use tenure_sql::{RememberedRefusal, SweepBudget};
use tokio::task::JoinHandle;

use crate::{
    MysqlOptions, connection::lane::ConnectionPool, database::watch::WatchedNames,
    tables::statements::Statements,
};

/// What all connections of one store have in common.
pub(crate) struct StoreContext {
    pub(crate) options: Arc<MysqlOptions>,
    pub(crate) location: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) statements: Arc<Statements>,
    pub(crate) client: Client,
    pub(crate) board: HintBoard,
    pub(crate) callers: ConnectionPool,
    pub(crate) engine: ConnectionPool,
    pub(crate) renewals: ConnectionPool,
    pub(crate) watching: ConnectionPool,
    pub(crate) histories: ConnectionPool,
    /// Whether the table of histories was seen to be one that tenure made.
    pub(crate) has_own_history: Arc<AtomicBool>,
    /// That this user may not make the table of histories.
    pub(crate) history_refusal: RememberedRefusal,
    pub(crate) watch: Arc<WatchedNames>,
    /// The bounds while nobody is woken.
    pub(crate) unwatched_limits: Limits,
    pub(crate) home: Arc<StoreThread>,
    pub(crate) watcher: OnceLock<JoinHandle<()>>,
    pub(crate) sweep_budget: Arc<SweepBudget>,
    pub(crate) sweeper: OnceLock<JoinHandle<()>>,
    pub(crate) warmed: AtomicBool,
}

impl Drop for StoreContext {
    fn drop(&mut self) {
        for task in [self.watcher.get(), self.sweeper.get()].into_iter().flatten() {
            task.abort();
        }
    }
}
