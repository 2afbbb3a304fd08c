//! What one reader sees of a gate while it asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join;
use tenure_core::{
    Fault, FaultKind, LockName,
    proto::{
        queue::{Answer, Ask, Snapshot},
        quorum::gate::{self, Line},
    },
};

use crate::members::Member;

/// What one reader has seen of a gate, for its asks of all members.
#[derive(Clone, Debug)]
pub(crate) struct GateView {
    gate: LockName,
    line: Arc<Mutex<Line>>,
}

impl GateView {
    pub(crate) fn new(name: &LockName, members: usize) -> Result<Self, Fault> {
        Ok(Self { gate: gate_of(name)?, line: Arc::new(Mutex::new(Line::new(members))) })
    }

    /// Asks one member; `None` when the gate is closed there. While nobody is known to have signed
    /// the look goes along with the ask, and otherwise before it.
    pub(crate) async fn ask(
        &self,
        member: usize,
        store: &Member,
        name: &LockName,
        ask: &Ask,
    ) -> Result<Option<Answer>, Fault> {
        if self.line().waits() {
            if self.is_closed(member, store.inspect(&self.gate).await) {
                return Ok(None);
            }
            return store.acquire(name, ask).await.map(Some);
        }
        let (answer, seen) = join(store.acquire(name, ask), store.inspect(&self.gate)).await;
        if self.is_closed(member, seen) { Ok(None) } else { answer.map(Some) }
    }

    /// A look that fails keeps nobody out.
    fn is_closed(&self, member: usize, seen: Result<Snapshot, Fault>) -> bool {
        seen.is_ok_and(|seen| self.line().is_closed(member, &seen))
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name beside the lock at which writers sign.
pub(crate) fn gate_of(name: &LockName) -> Result<LockName, Fault> {
    LockName::new(gate::name_of(name.as_str(), LockName::MAX_BYTES))
        .map_err(|error| Fault::new(FaultKind::Corrupt, error.to_string(), "choose another name"))
}
