//! A writer that becomes a reader over a network that loses and delays.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tenure_core::{
    Clock, DowngradeError, LockName, MemoryStore, Store, Tenure, WriteGuard,
    proto::queue::{Mode, Snapshot},
};
use tenure_sim::SimClock;
use tenure_testkit::{
    Random,
    fault::{Faults, Tally, Unreliable},
};

/// So long that no lease ends by itself here.
const TTL: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_millis(100);
const CALM: Faults = Faults {
    refused: 0,
    request_lost: 0,
    reply_lost: 0,
    repeated: 0,
    request_late: 0,
    reply_late: 0,
    hints_lost: 0,
    delay: Duration::from_millis(500),
    patience: PATIENCE,
};

struct Far {
    clock: SimClock,
    store: MemoryStore,
    network: Unreliable,
    tenure: Tenure,
}

impl Far {
    fn new() -> Self {
        let clock = SimClock::true_time();
        let store = MemoryStore::with_clock(Arc::new(clock.clone()));
        let network = Unreliable::new(
            Arc::new(store.clone()),
            Arc::new(clock.clone()),
            CALM,
            Random::new(1),
            Arc::new(Tally::default()),
        );
        let (tenure, engine) = Tenure::builder(Arc::new(network.clone()))
            .clock(Arc::new(clock.clone()))
            .build_inline();
        tokio::spawn(engine);
        Self { clock, store, network, tenure }
    }

    async fn writer(&self) -> WriteGuard {
        self.tenure.rwlock("name").ttl(TTL).write().await.expect("a free name")
    }

    async fn seen(&self) -> Snapshot {
        let name = LockName::new("name").expect("a name");
        self.store.inspect(&name).await.expect("the store answers")
    }

    async fn after(&self, length: Duration) {
        self.clock.sleep_until(self.clock.now().saturating_add(length)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_whose_answer_never_came_leaves_a_reader_that_is_renewed() {
    let far = Far::new();
    let writer = far.writer().await;
    let token = writer.token();
    far.network.set_faults(Faults { reply_lost: 1_000, ..CALM });
    let error = writer.downgrade().await.expect_err("no answer came");
    far.network.set_faults(CALM);
    let DowngradeError::InDoubt { guard, failure } = error else { panic!("{error:#}") };
    assert!(format!("{failure:#}").starts_with("lock \"name\" in memory"), "{failure:#}");
    assert_eq!(far.seen().await.holders.first().map(|holder| holder.mode), Some(Mode::Shared));
    far.after(TTL * 3).await;
    assert_eq!(guard.check(), Ok(token));
    guard.release().await.expect("it was held");
    assert_eq!(far.seen().await, Snapshot::default());
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_that_never_left_leaves_the_writer_as_it_was() {
    let far = Far::new();
    let writer = far.writer().await;
    far.network.set_faults(Faults { refused: 1_000, ..CALM });
    let error = writer.downgrade().await.expect_err("nothing left");
    far.network.set_faults(CALM);
    let DowngradeError::StillWriting { guard, .. } = error else { panic!("{error:#}") };
    assert_eq!(far.seen().await.holders.first().map(|holder| holder.mode), Some(Mode::Exclusive));
    far.after(TTL * 3).await;
    let reader = guard.downgrade().await.expect("the store answers again");
    assert_eq!(far.seen().await.holders.first().map(|holder| holder.mode), Some(Mode::Shared));
    reader.release().await.expect("it was held");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_downgrade_that_arrives_late_is_taken_back() {
    let far = Far::new();
    let writer = far.writer().await;
    far.network.set_faults(Faults { request_late: 1_000, ..CALM });
    {
        let mut downgrade = pin!(writer.downgrade());
        let sent = poll_fn(|context| Poll::Ready(downgrade.as_mut().poll(context).is_pending()));
        assert!(sent.await);
        far.network.set_faults(CALM);
    }
    // The release overtakes the downgrade, which is then granted anew to nobody.
    let mut late = false;
    for _ in 0..20 {
        far.after(Duration::from_millis(50)).await;
        late |= !far.seen().await.holders.is_empty();
    }
    assert!(late, "the downgrade did not arrive after the release");
    far.after(TTL / 2).await;
    assert_eq!(far.seen().await, Snapshot::default());
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_that_lasts_past_the_deadline_is_a_loss() {
    let far = Far::new();
    let lock = far.tenure.rwlock("name").ttl(Duration::from_millis(300));
    let writer = lock.write().await.expect("a free name");
    far.network.set_faults(Faults { request_lost: 1_000, ..CALM });
    let error = writer.downgrade().await.expect_err("nothing arrives");
    assert!(matches!(error, DowngradeError::Lost(_)), "{error:#}");
}
