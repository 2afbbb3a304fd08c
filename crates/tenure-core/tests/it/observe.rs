//! The metrics schema.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tenure_core::{ManualClock, MemoryStore, Store, Tenure};

use crate::{running, settle};

/// Runs `scene` with the engine inline and returns what was counted.
fn counted<F, S>(scene: S) -> BTreeMap<String, u64>
where
    S: FnOnce(Tenure, MemoryStore, ManualClock) -> F,
    F: Future<Output = ()>,
{
    counted_by(|| async {
        let (tenure, store, clock) = running();
        scene(tenure, store, clock).await;
    })
}

/// The same with nothing made before.
pub(crate) fn counted_by<F: Future<Output = ()>>(
    scene: impl FnOnce() -> F,
) -> BTreeMap<String, u64> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(scene());
    });
    let series = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let labels = key.key().labels().map(|label| format!(",{}={}", label.key(), label.value()));
        let name = format!("{}{}", key.key().name(), labels.collect::<String>());
        let count = match value {
            DebugValue::Counter(count) => count,
            DebugValue::Histogram(samples) => samples.len() as u64,
            DebugValue::Gauge(_) => panic!("{name} is a gauge, which the schema has none of"),
        };
        (name, count)
    });
    series.collect()
}

#[test]
fn every_documented_metric_is_counted_and_none_names_a_lock() {
    let seen = counted(|tenure, store, clock| async move {
        let mutex = tenure.mutex("secret").ttl(Duration::from_secs(3));
        let guard = mutex.lock().await.unwrap();
        let waiting = tokio::spawn(mutex.lock().into_future());
        settle().await;
        guard.release().await.unwrap();
        let passed = waiting.await.unwrap().unwrap();
        assert!(mutex.try_lock().await.unwrap().is_none());
        assert!(mutex.lock().fair().wait(Duration::ZERO).await.is_err());
        clock.advance(Duration::from_millis(1_100));
        settle().await;
        store.evict(passed.name()).await.unwrap();
        clock.advance(Duration::from_millis(1_100));
        settle().await;
        passed.check().unwrap_err();
        drop(passed);
        settle().await;
        let limited = tenure.mutex("secret").lock().max_hold(Duration::from_secs(1)).await.unwrap();
        clock.advance(Duration::from_secs(1));
        settle().await;
        drop(limited);
        settle().await;
        let taken = store.evict(&tenure_core::LockName::new("secret").unwrap()).await;
        assert!(taken.unwrap().is_empty());
        let other = Tenure::new(Arc::new(store.clone())).mutex("secret").lock().await.unwrap();
        let mut given_up = Box::pin(mutex.lock().into_future());
        assert!(futures_util::poll!(&mut given_up).is_pending());
        drop(given_up);
        settle().await;
        drop(other);
        clock.set_wall(u64::MAX / 2);
        assert!(tenure.mutex("other").try_lock().await.is_err());
    });
    let expected = [
        ("tenure_acquired_total,store=memory", 4),
        ("tenure_cleanups_total,store=memory", 1),
        ("tenure_contended_total,store=memory", 4),
        ("tenure_failed_total,store=memory", 1),
        ("tenure_hold_seconds,store=memory", 4),
        ("tenure_lost_total,store=memory,reason=max_hold", 1),
        ("tenure_lost_total,store=memory,reason=taken", 1),
        ("tenure_passes_total,store=memory", 1),
        ("tenure_renewals_total,store=memory,outcome=lost", 1),
        ("tenure_renewals_total,store=memory,outcome=renewed", 1),
        ("tenure_timed_out_total,store=memory", 1),
        ("tenure_wait_seconds,store=memory", 4),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(name, n)| (name.to_owned(), n)).into();
    assert_eq!(seen, expected);
}
