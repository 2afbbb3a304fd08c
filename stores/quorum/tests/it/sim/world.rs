//! The members, and what happens to them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Clock, LockName, MemoryStore, Store, Timestamp};
use tenure_testkit::{
    Random,
    fault::{Faults, Tally},
    proto::quorum::{majority, mark},
    sim::SimClock,
};

use super::{
    check::Check,
    plan::{LONGEST, Plan},
    process::Process,
};

#[derive(Debug)]
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) clock: SimClock,
    pub(super) members: Vec<MemoryStore>,
    pub(super) check: Check,
    pub(super) tally: Arc<Tally>,
    pub(super) name: LockName,
    /// When each member last lost its memory.
    wiped: Mutex<Vec<Timestamp>>,
    wipes: AtomicU64,
    calm: AtomicU64,
}

impl World {
    pub(super) fn new(plan: Plan, random: &mut Random) -> Arc<Self> {
        let clock = SimClock::true_time();
        let members = (0..plan.members)
            .map(|_| {
                let rate = plan.rate;
                let own = clock.beside(1_000_000_000, *random.choose(&[-rate, 0, rate]));
                let skew = i64::try_from(random.below(plan.skew.unsigned_abs() + 1)).unwrap();
                own.set_wall_by(skew - plan.skew / 2);
                MemoryStore::with_clock(Arc::new(own))
            })
            .collect();
        Arc::new(Self {
            wiped: Mutex::new(vec![Timestamp::ZERO; plan.members]),
            plan,
            clock,
            members,
            check: Check::default(),
            tally: Arc::default(),
            name: LockName::new("a").unwrap(),
            wipes: AtomicU64::new(0),
            calm: AtomicU64::new(0),
        })
    }

    pub(super) fn calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed) > 0
    }

    pub(super) fn wipes(&self) -> u64 {
        self.wipes.load(Ordering::Relaxed)
    }

    /// Trouble, then calm; in the end nobody waits and nothing is left behind.
    pub(super) async fn course(self: &Arc<Self>, random: &mut Random) {
        let processes: Vec<_> =
            (0..self.plan.processes).map(|number| Process::start(number, self, random)).collect();
        let end = self.clock.now().saturating_add(self.plan.chaos);
        while self.clock.now() < end {
            let pause = random.length(Duration::from_millis(10), Duration::from_millis(300));
            tokio::time::sleep(pause).await;
            self.check.look();
            if self.plan.wipes && random.happens(400) {
                self.wipe(random);
            }
            if self.plan.outages && random.happens(400) {
                let process = random.choose(&processes);
                let cut = if random.happens(500) { self.plan.faults } else { gone(random) };
                process.set_faults(usize::try_from(random.below(5)).unwrap(), cut);
            }
        }
        self.calm.store(1, Ordering::Relaxed);
        for process in &processes {
            process.calm_down(Faults { patience: self.plan.faults.patience, ..Faults::default() });
        }
        // Those that lost their memory are counted again, and what was left ends.
        let bound = LONGEST * 4 + self.plan.faults.delay * 2 + Duration::from_secs(5);
        for process in processes {
            if tokio::time::timeout(bound, process.ended()).await.is_err() {
                return self.check.broken(format!("S6: still waiting after {bound:?}"));
            }
        }
        tokio::time::sleep(bound).await;
        for member in &self.members {
            let left = member.list("", 10).await.unwrap();
            if let Some(left) = left.names.iter().find(|(name, _)| name.as_str() != mark::NAME) {
                return self.check.broken(format!("S5: {left:?} is left behind"));
            }
        }
    }

    /// Fewer than a majority lose their memory within the time that they are kept out for.
    fn wipe(&self, random: &mut Random) {
        let now = self.clock.now();
        let member = usize::try_from(random.below(self.members.len() as u64)).unwrap();
        let mut wiped = self.wiped.lock().unwrap();
        let lately = |at: &Timestamp| *at > Timestamp::ZERO && now.since(*at) < LONGEST * 2;
        let others = wiped.iter().enumerate().filter(|(one, at)| *one != member && lately(at));
        if others.count() + 1 > self.members.len() - majority(self.members.len()) {
            return;
        }
        wiped[member] = now;
        self.members[member].forget();
        self.wipes.fetch_add(1, Ordering::Relaxed);
    }
}

fn gone(random: &mut Random) -> Faults {
    let patience = Duration::from_secs(5);
    *random.choose(&[
        Faults { request_lost: 1_000, patience, ..Faults::default() },
        Faults { reply_lost: 1_000, patience, ..Faults::default() },
        Faults { refused: 1_000, patience, ..Faults::default() },
    ])
}
