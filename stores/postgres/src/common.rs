//! What the calls, the renewals and the messages of one store have in common.

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use tenure_core::{
    proto::queue::{Client, Limits},
    store::{Capabilities, HintBoard, Owned},
};

use crate::{
    PostgresOptions,
    lane::{Lane, Maker},
    statements::Statements,
};

/// What all connections of one store have in common.
pub(crate) struct Common {
    pub(crate) options: Arc<PostgresOptions>,
    pub(crate) location: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) deaf_limits: Limits,
    pub(crate) statements: Statements,
    pub(crate) client: Client,
    pub(crate) board: HintBoard,
    /// Whether messages are not heard, so that waiters have to look by themselves.
    pub(crate) is_deaf: AtomicBool,
    pub(crate) maker: Maker,
    /// For what tenure's own thread asks.
    pub(crate) engine: Lane,
    /// For renewals alone.
    pub(crate) renewals: Lane,
    /// Whether that was opened.
    pub(crate) is_warm: AtomicBool,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) listening: OnceLock<Owned>,
    pub(crate) sweeping: OnceLock<Owned>,
}
