//! Every kind, on quorums of three and of five, with all members and with a minority stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tenure_core::{MemoryStore, Store, SystemClock};
use tenure_quorum::{QuorumOptions, QuorumStore};
use tenure_testkit::{
    Random,
    conformance::Adapter,
    fault::{Faults, Tally, Unreliable},
};

/// Stores in memory on the machine's clock, some of which stop.
#[derive(Debug)]
struct Members {
    lines: Vec<Unreliable>,
    stopped: usize,
    founded: AtomicBool,
}

impl Members {
    fn new(count: usize, stopped: usize) -> Self {
        let line = |_| {
            let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
            let faults = Faults { patience: Duration::from_secs(2), ..Faults::default() };
            let (random, tally) = (Random::new(1), Arc::new(Tally::default()));
            Unreliable::without_late_calls(store, clock, faults, random, tally)
        };
        let lines = (0..count).map(line).collect();
        Self { lines, stopped, founded: AtomicBool::new(false) }
    }
}

#[async_trait]
impl Adapter for Members {
    async fn open(&self) -> Arc<dyn Store> {
        let lines = self.lines.iter().map(|line| Arc::new(line.clone()) as Arc<dyn Store>);
        // Much for a member in memory, little for a case that waits for one that is stopped.
        let options = QuorumOptions::new().member_limit(Duration::from_millis(50)).unwrap();
        if self.founded.swap(true, Ordering::Relaxed) {
            return Arc::new(QuorumStore::new(lines.collect(), options).unwrap());
        }
        let store = QuorumStore::open(lines.collect(), options).await.unwrap();
        for line in self.lines.iter().take(self.stopped) {
            line.cut();
        }
        Arc::new(store)
    }
}

mod three {
    use super::Members;

    tenure_testkit::kinds!("quorum 3", Members::new(3, 0));
}

mod five {
    use super::Members;

    tenure_testkit::kinds!("quorum 5", Members::new(5, 0));
}

mod three_with_one_stopped {
    use super::Members;

    tenure_testkit::kinds!("2 of 3", Members::new(3, 1));
}

mod five_with_two_stopped {
    use super::Members;

    tenure_testkit::kinds!("3 of 5", Members::new(5, 2));
}
