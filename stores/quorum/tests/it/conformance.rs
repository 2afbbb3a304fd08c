//! The suite on quorums of stores in memory, with all members and with a minority stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{Clock, ManualClock, MemoryStore, Store};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_redis::{RedisOptions, RedisStore};
use tenure_servers::RedisServer;
use tenure_testkit::{
    Random,
    conformance::Adapter,
    fault::{Faults, Tally, Unreliable},
};

use crate::support;

/// Cases ask for leases of up to twenty minutes.
const LONGEST: Duration = Duration::from_secs(1_800);

/// Stores in memory on one clock that moves by hand, some of which stop.
#[derive(Debug)]
struct Members {
    clock: ManualClock,
    stores: Vec<MemoryStore>,
    lines: Vec<Unreliable>,
    stopped: usize,
    founded: AtomicBool,
}

impl Members {
    fn new(count: usize, stopped: usize) -> Self {
        let clock = ManualClock::new();
        let shared: Arc<dyn Clock> = Arc::new(clock.clone());
        let stores: Vec<_> = (0..count).map(|_| MemoryStore::with_clock(shared.clone())).collect();
        let line = |store: &MemoryStore| {
            let (store, tally) = (Arc::new(store.clone()), Arc::new(Tally::default()));
            let faults = Faults { patience: Duration::from_secs(2), ..Faults::default() };
            Unreliable::without_late_calls(store, shared.clone(), faults, Random::new(1), tally)
        };
        let lines = stores.iter().map(line).collect();
        Self { clock, stores, lines, stopped, founded: AtomicBool::new(false) }
    }

    fn options(&self) -> QuorumOptions {
        QuorumOptions::new()
            .longest_lease(LONGEST)
            .unwrap()
            .member_limit(Duration::from_millis(20))
            .unwrap()
            .clock(Arc::new(self.clock.clone()))
    }
}

#[async_trait]
impl Adapter for Members {
    async fn open(&self) -> Arc<dyn Store> {
        let members =
            self.lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>).collect();
        if !self.founded.swap(true, Ordering::Relaxed) {
            let store = QuorumStore::open(members, self.options()).await.unwrap();
            for line in self.lines.iter().take(self.stopped) {
                line.cut();
            }
            return Arc::new(store);
        }
        Arc::new(QuorumStore::new(members, self.options()).unwrap())
    }

    async fn pass(&self, length: Duration) {
        self.clock.advance(length);
    }

    async fn lose_data(&self) -> bool {
        if self.stopped > 0 {
            return false;
        }
        for store in &self.stores {
            store.forget();
        }
        true
    }
}

/// Real servers, of which some are used without scripts.
#[derive(Debug)]
struct Servers {
    servers: Vec<RedisServer>,
    without_scripts: usize,
}

impl Servers {
    fn new(without_scripts: usize) -> Self {
        Self { servers: support::servers(3), without_scripts }
    }
}

#[async_trait]
impl Adapter for Servers {
    async fn open(&self) -> Arc<dyn Store> {
        let mut members = support::members(&self.servers);
        for (member, server) in members.iter_mut().zip(&self.servers).take(self.without_scripts) {
            let options = RedisOptions::from_url(&server.url()).unwrap().scripts(false);
            *member = Arc::new(RedisStore::new(options).unwrap());
        }
        Arc::new(support::quorum_of(members, LONGEST).await)
    }

    async fn lose_data(&self) -> bool {
        for server in &self.servers {
            server.command(&["FLUSHALL"]);
        }
        true
    }
}

mod three_servers {
    use super::Servers;

    tenure_testkit::conformance!(Servers::new(0));
}

mod three_servers_and_two_without_scripts {
    use super::Servers;

    tenure_testkit::conformance!(Servers::new(2));
}

mod three {
    use super::Members;

    tenure_testkit::conformance!(Members::new(3, 0));
}

mod five {
    use super::Members;

    tenure_testkit::conformance!(Members::new(5, 0));
}

mod three_with_one_stopped {
    use super::Members;

    tenure_testkit::conformance!(Members::new(3, 1));
}

mod five_with_two_stopped {
    use super::Members;

    tenure_testkit::conformance!(Members::new(5, 2));
}
