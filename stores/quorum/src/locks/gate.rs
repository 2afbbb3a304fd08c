//! Who comes first of readers and writers, as far as that can be said without a queue.

use std::time::Duration;

use tenure_core::{
    Fault, LockName, Owner,
    proto::{
        Renewed,
        queue::{Ask, Intent, Mode, Order},
        quorum::gate,
    },
    store::Renewal,
};

use crate::{
    QuorumStore,
    members::{Member, looks::gate_of, within},
};

impl QuorumStore {
    /// Lets the writer of this ask come before all readers that look at the gate from now on, until
    /// it asks no more. Not waited for: it bears on nothing but the order.
    pub(crate) fn announce_writer(&self, name: &LockName, ask: &Ask) {
        let Ok(gate) = gate_of(name) else { return };
        let signature = Ask {
            owner: ask.owner,
            kind: ask.kind,
            mode: Mode::Shared,
            order: Order::Barging,
            intent: Intent::Try,
            ttl: gate::SIGNATURE,
            label: ask.label.clone(),
        };
        self.shared.holds.record_signature(&ask.owner);
        for store in self.members.iter() {
            let (store, gate, signature) = (store.clone(), gate.clone(), signature.clone());
            let shared = self.shared.clone();
            drop(self.shared.background.run(async move {
                let options = &shared.options;
                let signs = sign_at(&store, &gate, &signature);
                let _ = within(options.clock.clone(), options.member_limit, signs).await;
                if !shared.holds.has_signed(&signature.owner) {
                    let strike = store.release(&gate, &signature.owner, Duration::ZERO);
                    let _ = within(options.clock.clone(), options.member_limit, strike).await;
                }
            }));
        }
    }

    /// Strikes out what the writer signed, if it did: it entered, or does not want to any more.
    pub(crate) fn withdraw_writer(&self, name: &LockName, owner: &Owner) {
        if !self.shared.holds.remove_signature(owner) {
            return;
        }
        let Ok(gate) = gate_of(name) else { return };
        for store in self.members.iter() {
            let (store, gate, owner) = (store.clone(), gate.clone(), *owner);
            let shared = self.shared.clone();
            drop(self.shared.background.run(async move {
                let options = &shared.options;
                let strike = store.release(&gate, &owner, Duration::ZERO);
                let _ = within(options.clock.clone(), options.member_limit, strike).await;
            }));
        }
    }
}

async fn sign_at(store: &Member, gate: &LockName, signature: &Ask) -> Result<(), Fault> {
    let renewal = Renewal { name: gate.clone(), owner: signature.owner, ttl: gate::SIGNATURE };
    match store.renew(&[renewal]).await.first() {
        Some(Ok(Renewed::Lost)) => store.acquire(gate, signature).await.map(drop),
        _ => Ok(()),
    }
}
