//! What is different about the store that the clients of a simulation are over.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use tenure_core::{LockName, Token};

use super::{SharedContext, Terms};

/// What a process was at when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// An acquire.
    Acquire,
    /// A release.
    Release,
}

/// The world of one simulation, as far as its clients tell it what they see.
#[async_trait]
pub trait SimulationHooks: fmt::Debug + Send + Sync {
    /// What all processes of the run share.
    fn stage(&self) -> &Arc<SharedContext>;

    /// An acquire was told that `name` is taken, or, if it `waited`, that it took too long.
    async fn denied(&self, name: &LockName, label: &str, terms: &Terms, waited: bool);

    /// A task was told that it holds `name` with `token`.
    fn won(&self, _name: &LockName, _token: Token) {}

    /// A writer was told that it lets readers in.
    async fn lets_readers_in(&self, _name: &LockName, _token: Token) {}

    /// A process ended without a word, perhaps amid a call of its own.
    fn ended(self: Arc<Self>, _process: u64, _amid: Option<CrashPoint>) {}
}
