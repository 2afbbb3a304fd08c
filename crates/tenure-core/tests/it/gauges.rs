//! The gauges of several stores in one process, and of a recorder that comes late.

use std::{sync::Arc, time::Duration};

use metrics::with_local_recorder;
use tenure_core::{ManualClock, MemoryStore, Tenure, observe::MetricFamilies};
use tokio::runtime::Builder;

use crate::{on_manual_clock, recorder::Recorded, running, settle};

async fn tick(clocks: &[&ManualClock], seconds: u32) {
    for _ in 0..seconds {
        clocks.iter().for_each(|clock| clock.advance(Duration::from_secs(1)));
        settle().await;
    }
}

#[test]
fn gauges_are_those_of_all_stores_of_a_kind_together() {
    Recorded::run(async |shown| {
        let ((one, _, clock), (other, _, other_clock)) = (running(), running());
        let clocks = [&clock, &other_clock];
        let gauge = |name: &str| shown.value(&format!("tenure_{name},store=memory,kind=mutex"));
        let first = one.mutex("a").lock().await.unwrap();
        tick(&clocks, 3).await;
        let second = other.mutex("a").lock().await.unwrap();
        let (mutex, other_mutex) = (one.mutex("a"), other.mutex("a"));
        let waits = tokio::spawn(mutex.lock().into_future());
        let waits_too = tokio::spawn(other_mutex.lock().into_future());
        settle().await;
        tick(&clocks, 2).await;
        assert_eq!((gauge("held"), gauge("waiting")), (2.0, 2.0));
        assert_eq!((gauge("oldest_hold_seconds"), gauge("oldest_wait_seconds")), (5.0, 2.0));
        waits.abort();
        waits_too.abort();
        drop(first);
        tick(&clocks, 2).await;
        assert_eq!((gauge("held"), gauge("waiting")), (1.0, 0.0));
        assert_eq!((gauge("oldest_hold_seconds"), gauge("oldest_wait_seconds")), (4.0, 0.0));
        let leads = one.election("e").campaign().await.unwrap();
        let leads_too = other.election("e").campaign().await.unwrap();
        tick(&clocks, 1).await;
        assert_eq!(shown.value("tenure_leading,store=memory"), 2.0);
        drop((second, leads, leads_too));
        tick(&clocks, 2).await;
        assert_eq!((gauge("held"), gauge("oldest_hold_seconds")), (0.0, 0.0));
        assert_eq!(shown.value("tenure_leading,store=memory"), 0.0);
    });
}

#[test]
fn a_store_that_ends_takes_its_part_out_of_the_gauges() {
    Recorded::run(async |shown| {
        let held = || shown.value("tenure_held,store=memory,kind=mutex");
        let (one, _, clock) = running();
        let _first = one.mutex("a").lock().await.unwrap();
        let (other, engine, _, other_clock) = on_manual_clock();
        let engine = tokio::spawn(engine);
        let _second = other.mutex("a").lock().await.unwrap();
        tick(&[&clock, &other_clock], 2).await;
        assert_eq!(held(), 2.0);
        engine.abort();
        settle().await;
        assert_eq!(held(), 1.0, "nothing renews the second");
        tick(&[&clock], 2).await;
        assert_eq!(held(), 1.0);
    });
}

#[test]
fn families_are_added_up_by_their_names() {
    Recorded::run(async |shown| {
        let open = |families: &[&str]| {
            let families = MetricFamilies::new(families.iter().copied()).unwrap();
            let builder = Tenure::builder(Arc::new(MemoryStore::new())).metric_families(families);
            let (tenure, engine) = builder.clock(Arc::new(ManualClock::new())).build_inline();
            tokio::spawn(engine);
            tenure
        };
        let held = |labels| shown.value(&format!("tenure_held,store=memory,kind=mutex{labels}"));
        let (none, one, two) = (open(&[]), open(&["nightly"]), open(&["order:*", "nightly"]));
        let mut guards = Vec::new();
        for tenure in [&none, &one, &two] {
            for name in ["nightly", "order:1", "else"] {
                guards.push(tenure.mutex(name).lock().await.unwrap());
            }
            settle().await;
        }
        assert_eq!((held(",family=nightly"), held(",family=order:*")), (2.0, 1.0));
        assert_eq!((held(",family=other"), held("")), (3.0, 3.0));
        drop(guards);
    });
}

/// Nothing is acquired after it comes.
#[test]
fn a_recorder_that_comes_later_gets_the_gauges_at_the_next_renewal() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let (tenure, clock, guard) = runtime.block_on(async {
        let (tenure, _, clock) = running();
        let guard = tenure.mutex("a").ttl(Duration::from_secs(9)).lock().await.unwrap();
        settle().await;
        (tenure, clock, guard)
    });
    let shown = Recorded::new();
    with_local_recorder(&shown, || {
        runtime.block_on(async {
            tick(&[&clock], 4).await;
            let gauge = |name| shown.value(&format!("tenure_{name},store=memory,kind=mutex"));
            assert_eq!((gauge("held"), gauge("oldest_hold_seconds")), (1.0, 4.0));
            drop((guard, tenure));
            settle().await;
            assert_eq!(gauge("held"), 0.0);
        });
    });
}
