//! Who comes first of readers and writers, as far as that can be said without a queue.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join;
use tenure_core::{
    Fault, FaultKind, LockName, Owner,
    proto::{
        Renewed,
        queue::{Answer, Ask, Intent, Mode, Order, Snapshot},
        quorum::gate::{self, Line},
    },
    store::Renewal,
};

use crate::{
    QuorumStore,
    members::{Member, within},
};

/// What one reader has seen of a gate, for its asks of all members.
#[derive(Clone, Debug)]
pub(crate) struct Looks {
    gate: LockName,
    line: Arc<Mutex<Line>>,
}

impl Looks {
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

    fn line(&self) -> std::sync::MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuorumStore {
    /// Lets the writer of this ask come before all readers that look at the gate from now on, until
    /// it asks no more. Not waited for: it bears on nothing but the order.
    pub(crate) fn sign(&self, name: &LockName, ask: &Ask) {
        let Ok(gate) = gate_of(name) else { return };
        let signature = Ask {
            owner: ask.owner,
            mode: Mode::Shared,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: gate::SIGNATURE,
            label: ask.label.clone(),
        };
        self.shared.holds.signed(&ask.owner);
        for store in self.members.iter() {
            let (store, gate, signature) = (store.clone(), gate.clone(), signature.clone());
            let shared = self.shared.clone();
            self.shared.background.run(async move {
                let options = &shared.options;
                let signs = sign_at(&store, &gate, &signature);
                let _ = within(options.clock.clone(), options.member_limit, signs).await;
                if !shared.holds.has_signed(&signature.owner) {
                    let strike = store.release(&gate, &signature.owner, Duration::ZERO);
                    let _ = within(options.clock.clone(), options.member_limit, strike).await;
                }
            });
        }
    }

    /// Strikes out what the writer signed, if it did: it entered, or does not want to any more.
    pub(crate) fn strike(&self, name: &LockName, owner: &Owner) {
        if !self.shared.holds.struck(owner) {
            return;
        }
        let Ok(gate) = gate_of(name) else { return };
        for store in self.members.iter() {
            let (store, gate, owner) = (store.clone(), gate.clone(), *owner);
            let shared = self.shared.clone();
            self.shared.background.run(async move {
                let options = &shared.options;
                let strike = store.release(&gate, &owner, Duration::ZERO);
                let _ = within(options.clock.clone(), options.member_limit, strike).await;
            });
        }
    }
}

async fn sign_at(store: &Member, gate: &LockName, signature: &Ask) -> Result<(), Fault> {
    let renewal = Renewal { name: gate.clone(), owner: signature.owner, ttl: gate::SIGNATURE };
    match store.renew(&[renewal]).await.first() {
        Some(Renewed::Lost) => store.acquire(gate, signature).await.map(drop),
        _ => Ok(()),
    }
}

fn gate_of(name: &LockName) -> Result<LockName, Fault> {
    LockName::new(gate::name_of(name.as_str(), LockName::MAX_BYTES))
        .map_err(|error| Fault::new(FaultKind::Corrupt, error.to_string(), "choose another name"))
}
