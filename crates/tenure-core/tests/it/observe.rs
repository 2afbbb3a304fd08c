//! The metrics.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tenure_core::{
    FaultKind, MemoryStore, Store, Tenure,
    observe::{METRICS, MetricFamilies, MetricKind},
};

use crate::{
    flawed::{Flaw, on_flawed},
    recorder::Recorded,
    running, settle,
};

const TTL: Duration = Duration::from_secs(3);

/// Runs `scene` and returns what was counted of locks, whatever their kind.
pub(crate) fn counted_by<F: Future<Output = ()>>(
    scene: impl FnOnce() -> F,
) -> BTreeMap<String, u64> {
    let mut counted = BTreeMap::new();
    Recorded::run(async |recorded| {
        scene().await;
        for (series, value) in recorded.all() {
            let kind = series.split(',').find(|label| label.starts_with("kind="));
            let name = series.split_once(',').unwrap().0;
            if let Some(kind) = kind.filter(|_| value > 0.0)
                && (name.ends_with("_total") || name.ends_with("_seconds"))
                && !name.contains("oldest")
            {
                let series = series.replace(&format!(",{kind}"), "");
                *counted.entry(series).or_default() += value as u64;
            }
        }
    });
    counted
}

#[test]
fn every_metric_is_counted_by_kind_and_none_names_a_lock() {
    Recorded::run(async |shown| {
        let (tenure, store, clock) = running();
        let mutex = tenure.mutex("secret").ttl(TTL);
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
        for _ in 0..2 {
            clock.advance(Duration::from_millis(700));
            settle().await;
        }
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
        let all = shown.all();
        let expected = [
            ("tenure_acquired_total", "", 4.0),
            ("tenure_at_risk_total", "", 1.0),
            ("tenure_cleanups_total", "", 1.0),
            ("tenure_contended_total", "", 4.0),
            ("tenure_failed_total", "", 1.0),
            ("tenure_hold_seconds", "", 4.0),
            ("tenure_lost_total", ",reason=deadline", 0.0),
            ("tenure_lost_total", ",reason=max_hold", 1.0),
            ("tenure_lost_total", ",reason=taken", 1.0),
            ("tenure_passes_total", "", 1.0),
            ("tenure_release_requests_total", "", 0.0),
            ("tenure_renewal_margin_ratio", "", 1.0),
            ("tenure_renewals_total", ",outcome=lost", 1.0),
            ("tenure_renewals_total", ",outcome=renewed", 1.0),
            ("tenure_renewals_total", ",outcome=unknown", 0.0),
            ("tenure_timed_out_total", "", 1.0),
            ("tenure_wait_seconds", "", 4.0),
        ];
        for (name, labels, value) in expected {
            assert_eq!(all[&format!("{name},store=memory,kind=mutex{labels}")], value, "{name}");
        }
        let errors =
            all.iter().filter(|(series, _)| series.starts_with("tenure_store_errors_total"));
        assert_eq!(errors.map(|(_, count)| count).sum::<f64>(), 1.0);
        assert!(all["tenure_call_seconds,store=memory,call=acquire,outcome=answered"] >= 4.0);
        assert!(all["tenure_engine_lag_seconds,store=memory"] >= 1.0);
        assert!(!all.keys().any(|series| series.contains("secret")), "{all:?}");
    });
}

#[test]
fn each_metric_is_there_and_zero_before_anything_happens() {
    Recorded::run(async |shown| {
        let _running = running();
        let all = shown.all();
        for metric in METRICS {
            let series: Vec<_> = all
                .iter()
                .filter(|(name, _)| name.split(',').next() == Some(metric.name))
                .collect();
            assert!(!series.is_empty(), "{} is missing", metric.name);
            for (name, value) in series {
                let expected = if metric.name == "tenure_build_info" { 1.0 } else { 0.0 };
                assert_eq!(*value, expected, "{name}");
                let labels = name.split(',').skip(1).map(|label| label.split_once('=').unwrap().0);
                let expected = metric.labels.iter().filter(|label| **label != "family");
                assert!(labels.eq(expected.copied()), "{name}");
            }
            if let MetricKind::Histogram { buckets } = metric.kind {
                assert!(buckets.is_sorted() && buckets.len() < 20, "{}", metric.name);
            }
        }
        let known = |name: &String| METRICS.iter().any(|one| name.starts_with(one.name));
        assert!(all.keys().all(known), "{all:?}");
    });
}

#[test]
fn gauges_show_what_is_and_return_to_zero() {
    Recorded::run(async |shown| {
        let (tenure, _, clock) = running();
        let gauge =
            |name: &str, kind| shown.value(&format!("tenure_{name},store=memory,kind={kind}"));
        let tick = async |seconds| {
            for _ in 0..seconds {
                clock.advance(Duration::from_secs(1));
                settle().await;
            }
        };
        let guard = tenure.mutex("a").lock().await.unwrap();
        tick(10).await;
        let leads = tenure.election("e").campaign().await.unwrap();
        let mutex = tenure.mutex("a");
        let waiting = tokio::spawn(mutex.lock().into_future());
        settle().await;
        let fair = mutex.fair();
        let waiting_fairly = tokio::spawn(fair.lock().into_future());
        tick(5).await;
        assert_eq!((gauge("held", "mutex"), gauge("held", "election")), (1.0, 1.0));
        assert_eq!(shown.value("tenure_leading,store=memory"), 1.0);
        assert_eq!(gauge("waiting", "mutex"), 2.0);
        assert_eq!(gauge("oldest_hold_seconds", "mutex"), 15.0);
        assert_eq!(gauge("oldest_wait_seconds", "mutex"), 5.0);
        waiting_fairly.abort();
        drop(guard);
        settle().await;
        let passed = waiting.await.unwrap().unwrap();
        tick(1).await;
        assert_eq!((gauge("held", "mutex"), gauge("waiting", "mutex")), (1.0, 0.0));
        assert!(gauge("oldest_hold_seconds", "mutex") <= 1.0);
        leads.resign().await.unwrap();
        passed.release().await.unwrap();
        tick(2).await;
        for name in ["held", "waiting", "oldest_hold_seconds", "oldest_wait_seconds"] {
            assert_eq!((gauge(name, "mutex"), gauge(name, "election")), (0.0, 0.0), "{name}");
        }
        assert_eq!(shown.value("tenure_leading,store=memory"), 0.0);
        let again = tenure.mutex("b").lock().await.unwrap();
        settle().await;
        assert_eq!(gauge("held", "mutex"), 1.0, "the engine begins again");
        drop(again);
    });
}

#[test]
fn the_end_of_a_tenure_leaves_no_gauge_behind() {
    Recorded::run(async |shown| {
        let (tenure, _, clock) = running();
        let guard = tenure.mutex("a").lock().await.unwrap();
        settle().await;
        clock.advance(Duration::from_millis(1_500));
        settle().await;
        assert_eq!(shown.value("tenure_oldest_hold_seconds,store=memory,kind=mutex"), 1.0);
        drop(guard);
        drop(tenure);
        settle().await;
        for gauge in ["held", "oldest_hold_seconds"] {
            let series = format!("tenure_{gauge},store=memory,kind=mutex");
            assert_eq!(shown.value(&series), 0.0, "{gauge}");
        }
    });
}

#[test]
fn a_hold_that_is_lost_or_abandoned_is_no_longer_held() {
    Recorded::run(async |shown| {
        let (tenure, store, clock) = on_flawed();
        let held = || shown.value("tenure_held,store=flawed,kind=mutex");
        let lost = tenure.mutex("lost").ttl(TTL).lock().await.unwrap();
        let left = tenure.mutex("left").ttl(TTL).lock().await.unwrap();
        settle().await;
        assert_eq!(held(), 2.0);
        assert!(!left.leave_to_expire().is_zero());
        store.flaws(|flaws| flaws.renew = Some(Flaw::Fails(FaultKind::Unreachable)));
        for _ in 0..35 {
            clock.advance(Duration::from_millis(100));
            settle().await;
        }
        lost.check().unwrap_err();
        assert_eq!(held(), 0.0);
    });
}

#[test]
fn families_are_a_label_and_ten_thousand_names_add_no_series() {
    Recorded::run(async |shown| {
        let families = MetricFamilies::new(["order:*", "nightly"]).unwrap();
        let builder = Tenure::builder(Arc::new(MemoryStore::new())).metric_families(families);
        let (tenure, engine) = builder.build_inline();
        tokio::spawn(engine);
        let acquired = |family| {
            shown.value(&format!("tenure_acquired_total,store=memory,kind=mutex,family={family}"))
        };
        for name in ["order:0", "nightly", "else"] {
            drop(tenure.mutex(name).lock().await.unwrap());
        }
        settle().await;
        let before = shown.all().len();
        for number in 1..10_000 {
            drop(tenure.mutex(format!("order:{number}")).lock().await.unwrap());
        }
        settle().await;
        assert_eq!(acquired("order:*") + acquired("nightly") + acquired("other"), 10_002.0);
        assert_eq!((acquired("nightly"), acquired("other")), (1.0, 1.0));
        assert_eq!(shown.all().len(), before);
    });
}

/// It waits behind a task of its process first, and then for the store.
#[test]
fn an_acquisition_that_waits_twice_is_contended_once() {
    Recorded::run(async |shown| {
        let (tenure, store, _) = running();
        let other = Tenure::new(Arc::new(store)).mutex("a").lock().await.unwrap();
        let mutex = tenure.mutex("a");
        let mut first = Box::pin(mutex.lock().into_future());
        assert!(futures_util::poll!(&mut first).is_pending());
        let second = tokio::spawn(mutex.lock().into_future());
        settle().await;
        drop(first);
        settle().await;
        let calls = shown.value("tenure_call_seconds,store=memory,call=acquire,outcome=answered");
        assert!(calls >= 3.0, "the second asked the store as well");
        assert_eq!(shown.value("tenure_contended_total,store=memory,kind=mutex"), 2.0);
        second.abort();
        drop(other);
    });
}

/// A recorder that is installed later gets what happens from then on, and gauges of what was held before.
#[test]
fn a_recorder_may_come_later() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (tenure, clock, before) = runtime.block_on(async {
        let (tenure, _, clock) = running();
        let before = tenure.mutex("before").lock().await.unwrap();
        (tenure, clock, before)
    });
    let shown = Recorded::new();
    metrics::with_local_recorder(&shown, || {
        runtime.block_on(async {
            let after = tenure.mutex("after").lock().await.unwrap();
            clock.advance(Duration::from_secs(1));
            settle().await;
            assert_eq!(shown.value("tenure_held,store=memory,kind=mutex"), 2.0);
            assert_eq!(shown.value("tenure_acquired_total,store=memory,kind=mutex"), 1.0);
            drop((before, after));
            settle().await;
        });
    });
}
