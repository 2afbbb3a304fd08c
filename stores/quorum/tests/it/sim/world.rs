//! What all processes of a run share, with the members that they are over.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tenure_core::{LockName, Store, Token, proto::quorum::majority};
use tenure_quorum::QuorumStore;
use tenure_sim::{
    SimClock,
    check::Checker,
    client::{CrashPoint, SharedContext, SimulationHooks, Terms},
};
use tenure_testkit::{
    Random,
    fault::{Faults, Kind, Tally},
};

use super::{
    members::Members,
    plan::Plan,
    process::options,
    seen::{Seen, Sight},
};

#[derive(Debug)]
pub(super) struct World {
    pub(super) stage: Arc<SharedContext>,
    pub(super) plan: Plan,
    pub(super) members: Arc<Members>,
    pub(super) seen: Arc<Seen>,
    /// What goes wrong on the way to each member.
    faults: Mutex<Vec<Faults>>,
}

impl World {
    pub(super) fn new(
        plan: Plan,
        trace: bool,
        (tally, seen): (&Arc<Tally>, &Arc<Seen>),
        random: &mut Random,
    ) -> Arc<Self> {
        let clock = SimClock::true_time();
        let members = Arc::new(Members::new(&plan, &clock, random));
        let check = Checker::new(members.clone(), clock.clone(), plan.longest(), trace);
        Arc::new(Self {
            stage: SharedContext::new(plan.habits(), plan.names, clock, check, tally.clone()),
            members,
            seen: seen.clone(),
            faults: Mutex::new(vec![plan.faults; plan.members]),
            plan,
        })
    }

    /// Makes the quorum out of members that can all be reached.
    pub(super) async fn found(&self, random: &mut Random) {
        let stores = self.members.stores.iter();
        let members = stores.map(|store| Arc::new(store.clone()) as Arc<dyn Store>).collect();
        let options = options(&self.plan, &self.stage.clock, random);
        QuorumStore::open(members, options).await.unwrap();
    }

    /// What goes wrong on the way to a member, for whoever comes.
    pub(super) fn faults(&self, member: usize) -> Faults {
        if self.stage.calm() { self.plan.calm() } else { self.faults.lock().unwrap()[member] }
    }

    pub(super) fn set_faults(&self, member: usize, faults: Faults) {
        self.faults.lock().unwrap()[member] = faults;
    }

    /// What a process was at when it ended.
    async fn autopsy(&self, prefix: &str) {
        let needed = majority(self.plan.members);
        for name in &self.stage.names {
            for parts in self.members.parts(name, prefix).await.into_values() {
                let most = parts.iter().map(|part| {
                    let same = parts.iter().filter(|other| other.token == part.token);
                    same.filter(|other| !other.lingering).count()
                });
                let sight = match most.max() {
                    Some(most) if most >= needed => Sight::EndedHolding,
                    Some(_) if parts.len() >= needed => Sight::EndedBetweenRounds,
                    _ => Sight::EndedWithMinority,
                };
                self.seen.count(sight);
            }
        }
    }
}

#[async_trait]
impl SimulationHooks for World {
    fn stage(&self) -> &Arc<SharedContext> {
        &self.stage
    }

    /// Where no call goes wrong, whoever is told that the name is taken has left nothing anywhere.
    /// Of several, those that were free are let go in the background.
    async fn denied(&self, name: &LockName, label: &str, terms: &Terms, waited: bool) {
        if waited || terms.together || !self.plan.quiet {
            return;
        }
        let parts = self.members.parts(name, label).await;
        let mut left: Vec<_> = parts.into_values().flatten().collect();
        left.retain(|part| part.label == label);
        self.stage.check.left_behind(label, name, &left);
    }

    fn won(&self, name: &LockName, token: Token) {
        self.members.won(name, token);
    }

    async fn lets_readers_in(&self, name: &LockName, token: Token) {
        let really = self.members.let_readers_in(name, token).await;
        self.stage.check.lets_readers_in(token, really);
    }

    /// It leaves nothing behind that lasts longer than a lease.
    fn ended(self: Arc<Self>, process: u64, amid: Option<CrashPoint>) {
        self.stage.tally.count(Kind::Crashed);
        match amid {
            Some(CrashPoint::Acquire) => self.seen.count(Sight::EndedAcquiring),
            Some(CrashPoint::Release) => self.seen.count(Sight::EndedReleasing),
            None => {}
        }
        tokio::spawn(async move {
            let (who, prefix) = (format!("process {process}"), format!("process {process},"));
            self.autopsy(&prefix).await;
            tokio::time::sleep(self.plan.end_of_the_dead()).await;
            for name in &self.stage.names {
                let parts = self.members.parts(name, &prefix).await;
                let mut left: Vec<_> = parts.into_values().flatten().collect();
                // Somebody else may have made what it detached last longer.
                left.retain(|part| !part.label.ends_with("(detached)"));
                self.stage.check.left_behind(&who, name, &left);
            }
        });
    }
}
