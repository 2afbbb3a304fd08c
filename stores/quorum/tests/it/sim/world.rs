//! What all processes of a run share.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tenure_core::{Clock, LockName, Store, Timestamp, Token};
use tenure_quorum::QuorumStore;
use tenure_testkit::{
    Random,
    check::Checker,
    fault::{Faults, Tally},
    sim::{Resources, SimClock},
};

use super::{members::Members, plan::Plan, process::options, seen::Seen};

#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) clock: SimClock,
    pub(super) members: Arc<Members>,
    pub(super) check: Arc<Checker>,
    pub(super) tally: Arc<Tally>,
    pub(super) seen: Arc<Seen>,
    pub(super) names: Vec<LockName>,
    /// What goes wrong on the way to each member.
    faults: Mutex<Vec<Faults>>,
    resources: Resources,
    asks: AtomicU64,
    calm: AtomicBool,
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
        let names = ["a", "b"].iter().take(plan.names);
        Arc::new(Self {
            check: Checker::new(members.clone(), clock.clone(), plan.longest(), trace),
            clock,
            members,
            tally: tally.clone(),
            seen: seen.clone(),
            names: names.map(|name| LockName::new(*name).unwrap()).collect(),
            faults: Mutex::new(vec![plan.faults; plan.members]),
            plan,
            resources: Resources::default(),
            asks: AtomicU64::new(0),
            calm: AtomicBool::new(false),
        })
    }

    /// Makes the quorum out of members that can all be reached.
    pub(super) async fn found(&self, random: &mut Random) {
        let stores = self.members.stores.iter();
        let members = stores.map(|store| Arc::new(store.clone()) as Arc<dyn Store>).collect();
        QuorumStore::open(members, options(&self.plan, &self.clock, random)).await.unwrap();
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The number of the next ask.
    pub(super) fn next_ask(&self) -> u64 {
        self.asks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether nothing goes wrong any more.
    pub(super) fn calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    pub(super) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// What goes wrong on the way to a member, for whoever comes.
    pub(super) fn faults(&self, member: usize) -> Faults {
        if self.calm() { self.plan.calm() } else { self.faults.lock().unwrap()[member] }
    }

    pub(super) fn set_faults(&self, member: usize, faults: Faults) {
        self.faults.lock().unwrap()[member] = faults;
    }

    /// A write with `token` reaches the resources.
    pub(super) fn write(&self, name: &LockName, token: Token) {
        let written = self.resources.write(name, token);
        self.check.wrote(name, token, written.accepted, written.harm);
    }
}
