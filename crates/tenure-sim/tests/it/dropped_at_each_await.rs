//! Promise S5: an acquire that is dropped, at whichever await, leaves nothing beyond its ttl.

use std::{
    future::{Future, IntoFuture, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tenure_core::{
    Clock, Guard, LockName, MemoryStore, SeededEntropy, Store, Tenure, proto::queue::Snapshot,
};
use tenure_sim::SimClock;
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

const DROPS: u64 = 5_000;
const TTL: Duration = Duration::from_secs(1);
/// The longest that a call is under way.
const LATE: Duration = Duration::from_millis(100);

/// Who has the name when the acquire begins, and lets it go soon.
#[derive(Clone, Copy, Debug)]
enum Holder {
    Nobody,
    OtherProcess,
    /// So the acquire waits inside the process, and gets the lease or the lead passed on.
    SameProcess,
}

/// What is dropped.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Waits,
    Fair,
    Tries,
    /// Of two names that the store is asked for together, if it is.
    All,
    TriesAll,
}

const KINDS: [Kind; 5] = [Kind::Waits, Kind::Fair, Kind::Tries, Kind::All, Kind::TriesAll];

const FAULTS: Faults = Faults {
    refused: 50,
    request_lost: 100,
    reply_lost: 100,
    repeated: 0,
    request_late: 500,
    reply_late: 500,
    hints_lost: 300,
    delay: LATE,
    patience: Duration::from_millis(60),
};

#[test]
fn an_acquire_dropped_at_any_await_leaves_nothing_beyond_its_ttl() {
    let (mut drops, mut deepest, mut seed) = (0, 0, 0);
    while drops < DROPS {
        for holder in [Holder::Nobody, Holder::OtherProcess, Holder::SameProcess] {
            for kind in KINDS {
                let polls = (1..).find(|polls| !is_dropped(seed, holder, kind, *polls));
                let polls = polls.expect("an acquire ends");
                drops += polls - 1;
                deepest = deepest.max(polls - 1);
            }
        }
        seed += 1;
    }
    println!("{drops} acquires dropped, at up to their {deepest}th await");
    assert!(deepest >= 8, "only {deepest} awaits were reached");
}

/// Drops an acquire after so many polls, and checks what is left; `false` if it had ended before.
fn is_dropped(seed: u64, holder: Holder, kind: Kind, polls: u64) -> bool {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let clock = SimClock::true_time();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let (network, tenure) = process(&store, &clock, seed, FAULTS);
        let (_, other) = process(&store, &clock, seed + 1, calm());
        let held = match holder {
            Holder::Nobody => None,
            Holder::OtherProcess => Some(lock(&other).await),
            Holder::SameProcess => {
                network.set_faults(calm());
                let guard = lock(&tenure).await;
                network.set_faults(FAULTS);
                Some(guard)
            }
        };
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            drop(held);
        });
        let mutex = tenure.mutex("name").ttl(TTL);
        let all = tenure.all(["first", "name"]).ttl(TTL);
        let dropped = match kind {
            Kind::Waits => after_polls(mutex.lock(), polls).await.is_none(),
            Kind::Fair => after_polls(mutex.lock().fair(), polls).await.is_none(),
            Kind::Tries => after_polls(mutex.try_lock(), polls).await.is_none(),
            Kind::All => after_polls(all.lock(), polls).await.is_none(),
            Kind::TriesAll => after_polls(all.try_lock(), polls).await.is_none(),
        };
        network.set_faults(calm());
        // A call that was sent before the drop arrives this late, and then lasts for one ttl.
        let bound = TTL + LATE + Duration::from_millis(60);
        clock.sleep_until(clock.now().saturating_add(bound)).await;
        for name in ["first", "name"] {
            let name = LockName::new(name).expect("a name");
            let left = store.inspect(&name).await.expect("the store answers");
            assert_eq!(
                left,
                Snapshot::default(),
                "{name}: seed {seed}, {holder:?}, {kind:?}, dropped after {polls} polls"
            );
        }
        dropped
    })
}

fn calm() -> Faults {
    Faults { patience: FAULTS.patience, ..Faults::default() }
}

fn process(
    store: &MemoryStore,
    clock: &SimClock,
    seed: u64,
    faults: Faults,
) -> (Unreliable, Tenure) {
    let network = Unreliable::new(
        Arc::new(store.clone()),
        Arc::new(clock.clone()),
        faults,
        Random::new(seed),
        Arc::new(Tally::default()),
    );
    let (tenure, engine) = Tenure::builder(Arc::new(network.clone()))
        .clock(Arc::new(clock.clone()))
        .entropy(Arc::new(SeededEntropy::new(seed)))
        .build_inline();
    tokio::spawn(engine);
    (network, tenure)
}

async fn lock(tenure: &Tenure) -> Guard {
    tenure.mutex("name").ttl(TTL).lock().await.expect("a free name")
}

/// What a future gives within so many polls; nothing if it is dropped before.
async fn after_polls<F: IntoFuture>(future: F, polls: u64) -> Option<F::Output> {
    let mut future = Box::pin(future.into_future());
    let mut left = polls;
    poll_fn(move |context| {
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
