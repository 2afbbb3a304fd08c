//! What a case is given: a fresh place, clients of it, and a way to let time pass.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tenure_core::{Fault, FaultKind, LockName, proto::Owner};

use super::Adapter;
use crate::Random;

/// A lease that no case sees the end of.
pub(super) const LONG: Duration = Duration::from_secs(600);
/// A lease whose end a case waits for.
pub(super) const SHORT: Duration = Duration::from_millis(200);
/// How long what must come may take beyond its bound, on a slow machine.
pub(super) const MARGIN: Duration = Duration::from_secs(5);
/// How long between two looks at something that is waited for.
pub(super) const STEP: Duration = Duration::from_millis(5);

/// How many steps of a millisecond a call may take before it counts as never answered.
const PATIENCE: u32 = 20_000;

/// The surroundings of one case.
#[derive(Clone)]
pub struct Scene {
    pub(super) adapter: Arc<dyn Adapter>,
    owners: Arc<AtomicU64>,
}

impl Scene {
    /// A scene in the place of `adapter`.
    pub fn new(adapter: impl Adapter) -> Self {
        Self { adapter: Arc::new(adapter), owners: Arc::default() }
    }

    /// An owner that no other acquisition of the scene has.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let mut random = Random::new(self.owners.fetch_add(1, Ordering::Relaxed));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next().to_le_bytes());
        bytes[8..].copy_from_slice(&random.next().to_le_bytes());
        Owner::from_bytes(bytes)
    }

    /// Lets at least `length` of the store's time pass.
    pub async fn pass(&self, length: Duration) {
        self.adapter.pass(length).await;
        tokio::task::yield_now().await;
    }

    /// Makes the store lose its data; `false`, and a word why, when that cannot be shown.
    pub async fn lose_data(&self) -> bool {
        let lost = self.adapter.lose_data().await;
        if !lost {
            eprintln!("not shown: the adapter knows no way to make this store lose its data");
        }
        lost
    }

    /// Whether the store can know of such a loss.
    #[must_use]
    pub fn loss_shows(&self) -> bool {
        self.adapter.loss_shows()
    }

    /// Whether the store has to refuse this name.
    #[must_use]
    pub fn refuses_name(&self, name: &str) -> bool {
        self.adapter.refuses_name(name)
    }

    /// Whether waiters cannot be reached at any moment, so that no order among them can be shown.
    pub(super) fn without_order(&self) -> bool {
        let unreached = !self.adapter.reaches_waiters();
        if unreached {
            eprintln!("not shown: whoever no wake-up reaches may be passed over");
        }
        unreached
    }

    /// Whether connections break at any moment: not much passes over one.
    pub(super) fn connections_break(&self) -> bool {
        !self.adapter.reaches_waiters()
    }

    /// Checks that the store refuses what it declared that it cannot do, and says so.
    pub fn refused<T: fmt::Debug>(&self, what: &str, outcome: Result<T, Fault>) {
        match outcome {
            Err(fault) if fault.kind() == FaultKind::Unsupported => {
                eprintln!("not shown: the store declares that it has no {what}, and refuses it");
            }
            other => panic!("the store declares that it has no {what}, but answered {other:?}"),
        }
    }

    /// The answer to one call. Time passes while it is under way, and afterwards until no copy of
    /// it is under way any more.
    pub(super) async fn call<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let answer = tokio::select! {
            biased;
            answer = call => answer,
            () = self.impatience() => panic!("the store never answered a call"),
        };
        self.adapter.settle().await;
        answer
    }

    async fn impatience(&self) {
        for _ in 0..PATIENCE {
            self.pass(Duration::from_millis(1)).await;
        }
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("adapter", &self.adapter).finish_non_exhaustive()
    }
}

/// A name that is known to be good.
pub(super) fn name(text: &str) -> LockName {
    match LockName::new(text) {
        Ok(name) => name,
        Err(error) => panic!("{error:#}"),
    }
}
