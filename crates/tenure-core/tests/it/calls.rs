//! Which calls to the store are counted.

use std::time::Duration;

use tenure_core::FaultKind;

use crate::{
    ends_within,
    flawed::{Flaw, on_flawed},
    recorder::Recorded,
    settle,
};

const LEASE: Duration = Duration::from_secs(60);
const NAMES: [&str; 2] = ["a", "b"];

/// How many calls of each kind ended in this way: acquire, renew, release, take over, inspect.
fn calls(shown: &Recorded, outcome: &str) -> [f64; 5] {
    ["acquire", "renew", "release", "take_over", "inspect"].map(|call| {
        shown.value(&format!("tenure_call_seconds,store=flawed,call={call},outcome={outcome}"))
    })
}

#[test]
fn each_way_to_use_a_lock_has_its_calls_counted() {
    Recorded::run(async |shown| {
        let (tenure, ..) = on_flawed();
        let mut seen = [0.0; 5];
        let mut since = |expected: [f64; 5], what: &str| {
            let all = calls(shown, "answered");
            let new: Vec<_> = all.iter().zip(seen).map(|(all, seen)| all - seen).collect();
            assert_eq!(new, expected, "{what}");
            seen = all;
        };
        tenure.mutex("a").lock().await.unwrap().release().await.unwrap();
        since([1.0, 0.0, 1.0, 0.0, 0.0], "a mutex");
        tenure.all(NAMES).lock().await.unwrap().release().await.unwrap();
        since([1.0, 0.0, 2.0, 0.0, 0.0], "several names by one call");
        let writer = tenure.rwlock("a").write().await.unwrap();
        since([1.0, 0.0, 0.0, 0.0, 0.0], "a writer");
        writer.downgrade().await.unwrap().release().await.unwrap();
        since([1.0, 0.0, 1.0, 0.0, 0.0], "a downgrade");
        let guard = tenure.mutex("a").lock().await.unwrap();
        since([1.0, 0.0, 0.0, 0.0, 0.0], "a mutex that is to be detached");
        let handle = guard.detach().lease(LEASE).await.unwrap().handle;
        since([0.0, 0.0, 0.0, 1.0, 0.0], "detaching");
        tenure.renew_detached(&handle, LEASE).await.unwrap();
        since([0.0, 1.0, 0.0, 0.0, 0.0], "renewing with a handle");
        let guard = tenure.attach(&handle).await.unwrap();
        since([0.0, 0.0, 0.0, 1.0, 0.0], "attaching");
        let handle = guard.detach().lease(LEASE).await.unwrap().handle;
        tenure.release_detached(&handle).await.unwrap();
        since([0.0, 0.0, 1.0, 1.0, 0.0], "detaching once more, and releasing with the handle");
        let latch = tenure.latch("l", 1);
        latch.arrive("x").await.unwrap();
        since([1.0, 0.0, 1.0, 0.0, 1.0], "an arrival at a latch");
        latch.wait().await.unwrap();
        since([0.0, 0.0, 0.0, 0.0, 1.0], "a wait at a latch");
        for outcome in ["failed", "unanswered"] {
            assert_eq!(calls(shown, outcome), [0.0; 5], "{outcome}");
        }
    });
}

#[test]
fn each_call_that_fails_is_an_error_of_the_store() {
    Recorded::run(async |shown| {
        let (tenure, store, clock) = on_flawed();
        let errors = |error: &str| {
            shown.value(&format!("tenure_store_errors_total,store=flawed,error={error}"))
        };
        let handle = tenure.mutex("a").lock().await.unwrap().detach().await.unwrap().handle;
        let broken = || Some(Flaw::Fails(FaultKind::Corrupt));
        store.flaws(|flaws| flaws.take_over = broken());
        tenure.attach(&handle).await.unwrap_err();
        assert_eq!((errors("corrupt"), calls(shown, "failed")[3]), (1.0, 1.0));
        store.flaws(|flaws| flaws.release = broken());
        tenure.release_detached(&handle).await.unwrap_err();
        assert_eq!((errors("corrupt"), calls(shown, "failed")[2]), (2.0, 1.0));
        store.flaws(|flaws| flaws.renew = broken());
        tenure.renew_detached(&handle, LEASE).await.unwrap_err();
        assert_eq!((errors("corrupt"), calls(shown, "failed")[1]), (3.0, 1.0));
        store.flaws(|flaws| flaws.inspect = broken());
        tenure.latch("l", 1).wait().await.unwrap_err();
        assert_eq!((errors("corrupt"), calls(shown, "failed")[4]), (4.0, 1.0));
        store.flaws(|flaws| flaws.ask = broken());
        tenure.latch("l", 1).arrive("x").await.unwrap_err();
        assert_eq!((errors("corrupt"), calls(shown, "failed")[0]), (5.0, 1.0));
        let before = errors("in_doubt");
        store.fall_silent(true);
        let waits = tokio::spawn(tenure.all(["b", "c"]).try_lock().into_future());
        settle().await;
        assert!(ends_within(Duration::from_secs(30), &waits, &clock).await);
        waits.await.unwrap().unwrap_err();
        assert!(errors("in_doubt") > before, "several names by one call");
        assert_eq!(calls(shown, "unanswered")[0], 1.0);
    });
}
