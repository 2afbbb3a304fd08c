//! A recorder that removes series which were idle, as exporters do that are told to.

use std::time::Duration;

use crate::{flawed::on_flawed, recorder::Recorded, running, settle};

const ACQUIRED: &str = "tenure_acquired_total,store=memory,kind=mutex";

#[test]
fn what_is_counted_after_a_series_was_removed_is_shown() {
    Recorded::run(async |shown| {
        let (tenure, _, clock) = running();
        let tick = async || {
            clock.advance(Duration::from_secs(1));
            settle().await;
        };
        for name in ["a", "b", "c"] {
            tenure.mutex(name).lock().await.unwrap().release().await.unwrap();
        }
        settle().await;
        assert_eq!(shown.value(ACQUIRED), 3.0);
        tick().await;
        tick().await;
        // Nothing is held or waited for, so nothing happens any more.
        shown.remove_all();
        let held = tenure.mutex("a").lock().await.unwrap();
        settle().await;
        assert_eq!(shown.value(ACQUIRED), 1.0, "after a time without a hold");
        let held_now = || shown.value("tenure_held,store=memory,kind=mutex");
        assert_eq!(held_now(), 1.0);
        tick().await;
        shown.remove_all();
        tick().await;
        assert_eq!(held_now(), 1.0, "during a hold");
        drop(tenure.mutex("b").lock().await.unwrap());
        assert_eq!(shown.value(ACQUIRED), 1.0, "during a hold");
        drop(held);
    });
}

/// Nothing of it wakes the engine.
#[test]
fn a_series_that_only_failures_count_in_is_not_lost_either() {
    Recorded::run(async |shown| {
        let (tenure, _, clock) = on_flawed();
        let contended = || shown.value("tenure_contended_total,store=flawed,kind=mutex");
        let held = tenure.mutex("a").lock().await.unwrap();
        let handle = held.detach().lease(Duration::from_secs(600)).await.unwrap().handle;
        for _ in 0..3 {
            clock.advance(Duration::from_secs(1));
            settle().await;
        }
        for _ in 0..3 {
            assert!(tenure.mutex("a").try_lock().await.unwrap().is_none());
            assert_eq!(contended(), 1.0);
            shown.remove_all();
        }
        tenure.release_detached(&handle).await.unwrap();
    });
}
