//! What the calls, the renewals and the messages of one store have in common.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use tenure_core::{
    proto::queue::{Client, Limits},
    store::Capabilities,
    threads::OwnedTask,
};

use tenure_sql::{RememberedRefusal, SweepBudget};

use crate::{
    PostgresOptions,
    connection::{lane::ConnectionFactory, lanes::ConnectionPool},
    tables::statements::Statements,
};

/// What all connections of one store have in common.
pub(crate) struct StoreContext {
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) location: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) deaf_limits: Limits,
    pub(crate) statements: Statements,
    pub(crate) client: Client,
    /// Whether messages are not heard, so that waiters have to look by themselves.
    pub(crate) is_deaf: AtomicBool,
    pub(crate) maker: ConnectionFactory,
    pub(crate) lanes: Arc<ConnectionPool>,
    pub(crate) listening: OnceLock<OwnedTask>,
    /// That this user may not make the table of histories.
    pub(crate) history_refusal: RememberedRefusal,
    pub(crate) sweep_budget: Arc<SweepBudget>,
    pub(crate) sweeping: OnceLock<OwnedTask>,
    pub(crate) tidying: OnceLock<OwnedTask>,
}
